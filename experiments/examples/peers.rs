//! What `benches/peers` measured, as pictures and as tables: `cargo run -p rhograd-experiments --example peers`.

use std::collections::BTreeMap;
use std::path::Path;

use rhograd::error::{Error, Fallible};
use rhograd::plot::{Figure, Format, Panel, Scale, Series};
use rhograd_experiments::fit::Summary;

/// What was measured by one program, and which pictures show it.
struct Page {
    /// The file with a line for each fit.
    lines: &'static str,
    /// The picture of accuracy against epsilon.
    picture: &'static str,
    /// The picture of seconds and memory against rows, where there is one.
    costs: Option<&'static str>,
    /// Each data set with its training rows and its metric.
    sets: &'static [(&'static str, usize, &'static str)],
    private: &'static [&'static str],
    not_private: &'static [&'static str],
}

const PAGES: [Page; 3] = [
    Page {
        lines: "utility/peers.csv",
        picture: "utility/peers.svg",
        costs: None,
        sets: &[
            ("adult", 32_561, "accuracy"),
            ("adult", 32_561, "auc"),
            ("california_housing", 16_346, "r2"),
            ("fair", 5_093, "auc"),
            ("randhie", 16_152, "r2"),
        ],
        private: &["rhograd linear", "rhograd additive", "rhograd rich", "dp-ebm"],
        not_private: &["ebm, no privacy", "boosted trees, no privacy"],
    },
    Page {
        lines: "../benches/peers/results.csv",
        picture: "utility/systems.svg",
        costs: Some("utility/systems-costs.svg"),
        sets: &[
            ("fair", 5_093, "auc"),
            ("randhie", 16_152, "r2"),
            ("california_housing", 16_346, "r2"),
            ("adult", 32_561, "auc"),
            ("protein_casp", 36_584, "r2"),
        ],
        private: &[
            "rhograd linear",
            "rhograd additive",
            "rhograd rich",
            "dp-ebm",
            "diffprivlib linear",
            "diffprivlib forest",
            "jax-privacy dp-sgd",
            "opacus dp-sgd",
            "mst, then linear",
            "aim, then linear",
        ],
        not_private: &["linear, no privacy", "boosted trees, no privacy"],
    },
    // The picture of README.
    Page {
        lines: "../benches/peers/results.csv",
        picture: "utility/beside.svg",
        costs: None,
        sets: &[("adult", 32_561, "auc"), ("california_housing", 16_346, "r2")],
        private: &[
            "rhograd linear",
            "rhograd rich",
            "dp-ebm",
            "diffprivlib linear",
            "jax-privacy dp-sgd",
            "opacus dp-sgd",
        ],
        not_private: &["linear, no privacy", "boosted trees, no privacy"],
    },
];

/// What is drawn of a worthless model: below it nothing is told apart.
const FLOOR: f64 = -0.2;

const EPSILONS: [f64; 5] = [0.1, 0.5, 1.0, 2.0, 8.0];

/// Values by data set, method, epsilon as written, and metric.
type Values = BTreeMap<[String; 4], Vec<f64>>;

fn read(path: &Path) -> Fallible<Values> {
    let wrong = |e: csv::Error| Error::input(path, e.to_string(), "write it by benches/peers/additive.py");
    let mut lines = csv::Reader::from_path(path).map_err(wrong)?;
    let header = lines.headers().map_err(wrong)?.clone();
    let mut values = Values::new();
    for line in lines.records() {
        let line = line.map_err(wrong)?;
        for (name, cell) in header
            .iter()
            .zip(&line)
            .filter(|(name, _)| ["accuracy", "auc", "r2", "seconds", "megabytes"].contains(name))
        {
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

fn panel(page: &Page, values: &Values, data: &str, metric: &str) -> Panel {
    let mut series = Vec::new();
    for method in page.not_private {
        if let Some(found) = summary(values, data, metric, method, "inf") {
            series.push(Series::theory(*method, EPSILONS.map(|epsilon| (epsilon, found.mean)).to_vec()));
        }
    }
    for method in page.private {
        let at = |epsilon: &f64| {
            let found = summary(values, data, metric, method, &epsilon.to_string())?;
            (found.mean > FLOOR).then_some((*epsilon, found.mean, found.deviation))
        };
        let points: Vec<_> = EPSILONS.iter().filter_map(at).collect();
        if !points.is_empty() {
            series.push(Series::measured(*method, points));
        }
    }
    let metric = if metric == "r2" { "R^2" } else { metric };
    let y = format!("test {metric}");
    Panel::of(data, series).x("epsilon (delta = 1e-5)", Scale::Log).y(y, Scale::Linear)
}

/// What a fit takes, against the rows of the data sets.
fn costs(page: &Page, values: &Values, of: &str, y: &str) -> Panel {
    let mut series = Vec::new();
    for method in page.private.iter().chain(page.not_private) {
        let at = |&(data, rows, _): &(&str, usize, &str)| {
            let found = ["1", "inf"].iter().find_map(|epsilon| summary(values, data, of, method, epsilon))?;
            Some((rows as f64, found.mean, found.deviation))
        };
        let points: Vec<_> = page.sets.iter().filter_map(at).collect();
        if !points.is_empty() {
            series.push(Series::measured(*method, points));
        }
    }
    Panel::of(y, series).x("training rows", Scale::Log).y(y, Scale::Log)
}

/// A table in Markdown, of one data set and metric.
fn table(page: &Page, values: &Values, data: &str, metric: &str) -> String {
    let shown = |found: Option<Summary>| match found {
        Some(found) => format!("{:.3} ({:.3})", found.mean, found.deviation),
        None => "-".into(),
    };
    let mut text = format!("| {data}, {metric} | 0.1 | 0.5 | 1 | 2 | 8 |\n|---|---|---|---|---|---|\n");
    for method in page.private {
        let cells = EPSILONS.map(|epsilon| shown(summary(values, data, metric, method, &epsilon.to_string())));
        if cells.iter().any(|cell| cell != "-") {
            text.push_str(&format!("| {method} | {} |\n", cells.join(" | ")));
        }
    }
    for method in page.not_private {
        text.push_str(&format!("| *{method}* | {} |||||\n", shown(summary(values, data, metric, method, "inf"))));
    }
    text
}

fn draw(path: &Path, panels: &[Panel]) -> Fallible<()> {
    std::fs::write(path, Figure::of(panels).to_bytes(Format::Svg)?).map_err(|e| Error::io(path, "write it", e))
}

fn main() -> Fallible<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for page in &PAGES {
        let values = read(&folder.join(page.lines))?;
        let mut drawn: Vec<&str> = Vec::new();
        let mut panels = Vec::new();
        for &(data, _, metric) in page.sets {
            if !drawn.contains(&data) {
                drawn.push(data);
                panels.push(panel(page, &values, data, metric));
            }
            println!("{}", table(page, &values, data, metric));
        }
        draw(&folder.join(page.picture), &panels)?;
        if let Some(picture) = page.costs {
            let seconds = costs(page, &values, "seconds", "seconds from files to predictions");
            let memory = costs(page, &values, "megabytes", "megabytes at most");
            draw(&folder.join(picture), &[seconds, memory])?;
        }
    }
    Ok(())
}
