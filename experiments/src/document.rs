//! All figures in one page, with the claims that they are about and the numbers that were judged.

use std::fmt::Write as _;
use std::path::Path;

use rhograd::error::{Error, Fallible};

use crate::EXPERIMENTS;
use crate::verdict::{EXACT, Outcome};

/// How the page looks on a screen and on paper, where each experiment starts on a page of its own.
const STYLE: &str = "body{font:16px/1.4 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#111;background:#fff}\
    figure{margin:1rem 0}svg{width:100%;height:auto}td:first-child{width:40%}tr{break-inside:avoid}table{border-collapse:collapse;width:100%;font-size:.85rem}\
    td,th{padding:.2rem .5rem;border-bottom:1px solid #ccc;text-align:left}td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\
    .bad{font-weight:bold}@media print{section{break-before:page}nav{break-after:page}body{margin:0;max-width:none}}";

/// Writes the page from the results of full runs under `home`, one folder an experiment.
///
/// # Errors
/// When no experiment has results, a file cannot be read or written, or a table is none.
pub fn write(home: &Path, out: &Path) -> Fallible<usize> {
    let (mut list, mut sections, mut found) = (String::new(), String::new(), 0);
    for experiment in &EXPERIMENTS {
        let folder = home.join(experiment.name);
        let (Some(plot), Some(fits)) = (read(&folder.join("plot.svg"))?, read(&folder.join("fits.csv"))?) else {
            continue;
        };
        let (rows, outcome) = table(&fits)?;
        let (name, claim) = (experiment.name, escaped(experiment.claim));
        let class = if outcome == Outcome::Held { "" } else { " class=\"bad\"" };
        let _ =
            writeln!(list, "<li><a href=\"#{name}\">{name}</a>: {claim} <span{class}>{}</span></li>", outcome.word());
        // The header of an XML file has no place within a page.
        let picture = plot.find("<svg").map_or("", |at| &plot[at..]);
        let _ = writeln!(
            sections,
            "<section id=\"{name}\"><h2>{name}</h2><p>{claim}: <span{class}>{}</span>.</p>\n\
             <figure role=\"img\" aria-label=\"{claim}\">{picture}</figure>\n\
             <table><tr><th>quantity</th><th>estimate</th><th>95% interval</th><th>claimed</th><th>verdict</th></tr>\n{rows}</table></section>",
            outcome.word()
        );
        found += 1;
    }
    if found == 0 {
        return Err(Error::parameter("figures", "no experiment has results here", "run them: rhograd-experiments all"));
    }
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>rhograd: experiments</title><style>{STYLE}</style></head>\n\
         <body><h1>Experiments</h1><nav><p>A claim held where the whole 95% interval, or the exact number, lies in the claimed range.</p><ol>\n{list}</ol></nav>\n{sections}</body></html>\n"
    );
    std::fs::write(out, page).map_err(|e| Error::io(out, "write it", e))?;
    Ok(found)
}

/// The text of a file, if it is there.
fn read(path: &Path) -> Fallible<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path, "read it", error)),
    }
}

/// Rows of the table, and the worst verdict in it.
fn table(fits: &str) -> Fallible<(String, Outcome)> {
    let failed = |problem: String| Error::numerical("fits", problem);
    let (mut rows, mut worst) = (String::new(), Outcome::Held);
    let mut reader = csv::Reader::from_reader(fits.as_bytes());
    let header = reader.headers().map_err(|e| failed(e.to_string()))?.clone();
    let place = |name: &str| header.iter().position(|it| it == name);
    for record in reader.records() {
        let record = record.map_err(|e| failed(e.to_string()))?;
        let cell = |name: &str| {
            let found = place(name).and_then(|at| record.get(at));
            found.ok_or_else(|| failed(format!("there is no column {name}")))
        };
        let (quantity, estimate, verdict) = (cell("quantity")?, cell("estimate")?, cell("verdict")?);
        let (low, high, from, to) = (cell("lower_95")?, cell("upper_95")?, cell("claimed_from")?, cell("claimed_to")?);
        let outcomes = [Outcome::Held, Outcome::Undecided, Outcome::Failed];
        let outcome = outcomes.into_iter().find(|outcome| outcome.word() == verdict);
        worst = worst.max(outcome.ok_or_else(|| failed(format!("{verdict:?} is no verdict")))?);
        // Tables of older runs do not say what is exact.
        let kind = cell("interval").unwrap_or_default();
        let interval = match kind {
            EXACT => EXACT.to_owned(),
            _ if low == high => "none".to_owned(),
            _ => format!("{} to {}", short(low), short(high)),
        };
        let class = if outcome == Some(Outcome::Held) { "" } else { " class=\"bad\"" };
        let _ = writeln!(
            rows,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{interval}</td><td class=\"n\">{} to {}</td><td{class}>{verdict}</td></tr>",
            escaped(quantity),
            short(estimate),
            short(from),
            short(to)
        );
    }
    Ok((rows, worst))
}

/// A number with four digits.
fn short(cell: &str) -> String {
    match cell.parse::<f64>() {
        Ok(value) if value.is_infinite() => if value > 0.0 { "&infin;" } else { "-&infin;" }.to_owned(),
        Ok(value) if value == 0.0 || (1e-3..1e5).contains(&value.abs()) => format!("{}", (value * 1e4).round() / 1e4),
        Ok(value) => format!("{value:.3e}"),
        Err(_) => escaped(cell),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{Finding, Verdict};

    #[test]
    fn the_page_has_every_claim_with_its_figure_and_the_worst_of_its_verdicts() {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("figures.html");
        assert!(write(home.path(), &out).is_err() && !out.exists());
        let folder = home.path().join(EXPERIMENTS[0].name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("plot.svg"), "<?xml version=\"1.0\"?>\n<svg><text>here</text></svg>").unwrap();
        let inf = f64::INFINITY;
        let verdict = Verdict(vec![Finding::exact("a < b", 0.5, (0.0, inf)), Finding::new("c", 0.95, 0.1, (0.0, 1.0))]);
        verdict.write(&folder.join("fits.csv")).unwrap();
        assert_eq!(write(home.path(), &out).unwrap(), 1);
        let page = std::fs::read_to_string(&out).unwrap();
        for part in
            [EXPERIMENTS[0].claim, "<svg><text>here", "a &lt; b", ">exact<", "&infin;", "0.85 to 1.05", "undecided"]
        {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("<?xml"));
        let older = "quantity,estimate,lower_95,upper_95,claimed_from,claimed_to,verdict\nx,1,1,1,0,2,held\n";
        std::fs::write(folder.join("fits.csv"), older).unwrap();
        assert_eq!(write(home.path(), &out).unwrap(), 1);
        assert!(std::fs::read_to_string(&out).unwrap().contains(">none<"));
        std::fs::write(folder.join("fits.csv"), "quantity\nx\n").unwrap();
        assert!(write(home.path(), &out).is_err());
    }

    #[test]
    fn every_full_run_in_the_repository_has_its_page() {
        let out = tempfile::tempdir().unwrap();
        let found = write(Path::new(env!("CARGO_MANIFEST_DIR")), &out.path().join("figures.html")).unwrap();
        assert!(found >= EXPERIMENTS.len() - 1, "{found} of {}", EXPERIMENTS.len());
    }
}
