//! What `benches/peers/additive.py` measured, as a picture and as tables: `cargo run -p rhograd-experiments --example peers`.

use std::collections::BTreeMap;
use std::path::Path;

use rhograd::error::{Error, Fallible};
use rhograd::plot::{Figure, Format, Panel, Scale, Series};
use rhograd_experiments::fit::Summary;

/// Each data set with its metric.
const SETS: [(&str, &str); 4] =
    [("adult", "accuracy"), ("california_housing", "r2"), ("fair", "auc"), ("randhie", "r2")];
const EPSILONS: [f64; 5] = [0.1, 0.5, 1.0, 2.0, 8.0];
const PRIVATE: [&str; 4] = ["rhograd linear", "rhograd additive", "rhograd rich", "dp-ebm"];
const NOT_PRIVATE: [&str; 2] = ["ebm, no privacy", "boosted trees, no privacy"];

/// Values by data set, method, epsilon as written, and metric.
type Values = BTreeMap<[String; 4], Vec<f64>>;

fn read(path: &Path) -> Fallible<Values> {
    let wrong = |e: csv::Error| Error::input(path, e.to_string(), "write it by benches/peers/additive.py");
    let mut lines = csv::Reader::from_path(path).map_err(wrong)?;
    let header = lines.headers().map_err(wrong)?.clone();
    let mut values = Values::new();
    for line in lines.records() {
        let line = line.map_err(wrong)?;
        for (name, cell) in header.iter().zip(&line).filter(|(name, _)| ["accuracy", "auc", "r2"].contains(name)) {
            if let Ok(value) = cell.parse() {
                let key = [&line[0], &line[1], &line[2], name].map(String::from);
                values.entry(key).or_default().push(value);
            }
        }
    }
    Ok(values)
}

fn summary(values: &Values, data: &str, metric: &str, method: &str, epsilon: &str) -> Option<Summary> {
    values.get(&[data, method, epsilon, metric].map(String::from)).map(|found| Summary::of(found))
}

fn panel(values: &Values, (data, metric): (&str, &str)) -> Panel {
    let mut series = Vec::new();
    for method in NOT_PRIVATE {
        if let Some(found) = summary(values, data, metric, method, "inf") {
            series.push(Series::theory(method, EPSILONS.map(|epsilon| (epsilon, found.mean)).to_vec()));
        }
    }
    for method in PRIVATE {
        let at = |epsilon: &f64| {
            let found = summary(values, data, metric, method, &epsilon.to_string())?;
            Some((*epsilon, found.mean, found.deviation))
        };
        series.push(Series::measured(method, EPSILONS.iter().filter_map(at).collect()));
    }
    let metric = if metric == "r2" { "R^2" } else { metric };
    let y = format!("test {metric}");
    Panel::of(data, series).x("epsilon (delta = 1e-5)", Scale::Log).y(y, Scale::Linear)
}

/// A table in Markdown, of one data set and metric.
fn table(values: &Values, (data, metric): (&str, &str)) -> String {
    let shown = |found: Option<Summary>| match found {
        Some(found) => format!("{:.3} ({:.3})", found.mean, found.deviation),
        None => "-".into(),
    };
    let mut text = format!("| {data}, {metric} | 0.1 | 0.5 | 1 | 2 | 8 |\n|---|---|---|---|---|---|\n");
    for method in PRIVATE {
        let cells = EPSILONS.map(|epsilon| shown(summary(values, data, metric, method, &epsilon.to_string())));
        text.push_str(&format!("| {method} | {} |\n", cells.join(" | ")));
    }
    for method in NOT_PRIVATE {
        text.push_str(&format!("| *{method}* | {} |||||\n", shown(summary(values, data, metric, method, "inf"))));
    }
    text
}

fn main() -> Fallible<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("utility");
    let values = read(&folder.join("peers.csv"))?;
    let panels: Vec<Panel> = SETS.iter().map(|&set| panel(&values, set)).collect();
    let picture = folder.join("peers.svg");
    std::fs::write(&picture, Figure::of(&panels).to_bytes(Format::Svg)?)
        .map_err(|e| Error::io(&picture, "write it", e))?;
    for set in [("adult", "accuracy"), ("adult", "auc"), SETS[1], SETS[2], SETS[3]] {
        println!("{}", table(&values, set));
    }
    Ok(())
}
