//! Summaries: what they answer, what they cost, and what happens to a file that was changed.

use std::path::{Path, PathBuf};

use rhograd::data::{CsvFile, Schema, Unit};
use rhograd::error::Fallible;
use rhograd::ledger::{Cap, Ledger, Record};
use rhograd::noise::NoiseSource;
use rhograd::privacy::{Adjacency, DatasetId, Delta, Epsilon, Rho, Scope, total_rho};
use rhograd::summary::{
    Answer, Statistic, Summarized, SummaryFile, SummaryNoise, SummaryRequest, finish_summary, summarize, summarize_from,
};
use rhograd::train::{Budget, Checkpoint};

const SCHEMA: &str = r#"{"name":"wages","task":"regression","target":"wage","target_lower":0,"target_upper":100,
    "columns":{"age":{"type":"numeric","lower":0,"upper":100},
               "job":{"type":"categorical","values":["cook","smith","clerk"],"other":"clerk"}}}"#;

/// 4,000 lines: ages 20 to 59, half cooks, a quarter smiths, a fifth without a readable wage.
fn lines() -> String {
    let mut text = String::from("age,job,wage,person\n");
    for i in 0..4000 {
        let job = ["cook", "cook", "smith", "clerk"][i % 4];
        let wage = if i % 5 == 0 { "?".to_owned() } else { (i % 41 + 10).to_string() };
        text.push_str(&format!("{},{job},{wage},{}\n", 20 + i % 40, i / 4));
    }
    text
}

fn written(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("wages.csv");
    std::fs::write(&path, text).unwrap();
    path
}

fn request(statistics: &[&str], budget: Budget) -> SummaryRequest {
    SummaryRequest {
        schema: Schema::parse(SCHEMA, Path::new("schema")).unwrap(),
        adjacency: Adjacency::AddRemove,
        budget,
        noise: SummaryNoise::Normal,
        statistics: statistics.iter().map(|text| text.parse().unwrap()).collect(),
        accept_large_delta: false,
    }
}

fn epsilon(epsilon: f64) -> Budget {
    Budget::Epsilon(Epsilon::new(epsilon).unwrap(), None)
}

fn made(text: &str, request: &SummaryRequest, ledger: &mut Ledger, seed: u64) -> Fallible<Summarized> {
    let folder = tempfile::tempdir().unwrap();
    let file = CsvFile::open(&written(folder.path(), text)).unwrap();
    summarize(file, request, ledger, NoiseSource::insecure_from_seed(seed))
}

const ALL: [&str; 9] = [
    "count",
    "mean:age",
    "mean:wage",
    "median:age",
    "quantile:wage:0.25",
    "histogram:job",
    "histogram:age",
    "stable-median:age:0.01",
    "first-above:job:500",
];

#[test]
fn answers_are_near_the_truth_and_within_the_budget() {
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        for noise in [SummaryNoise::Normal, SummaryNoise::Laplace] {
            let asked: Vec<&str> =
                ALL.into_iter().filter(|text| noise == SummaryNoise::Normal || !text.starts_with("stable")).collect();
            let asked = SummaryRequest { adjacency, noise, ..request(&asked, epsilon(20.0)) };
            let summary = made(&lines(), &asked, &mut Ledger::in_memory().unwrap(), 3).unwrap().file;
            assert!(summary.epsilon.parse::<f64>().unwrap() <= 20.0, "{}", summary.epsilon);
            assert_eq!(summary.delta == "0", noise == SummaryNoise::Laplace);
            for answered in &summary.answers {
                let close = |found: f64, truth: f64, by: f64| {
                    assert!((found - truth).abs() <= by, "{} {noise:?} {adjacency}: {found}", answered.statistic);
                };
                match (answered.statistic.as_str(), &answered.answer) {
                    ("count", Answer::Counts { counts, deviation }) => close(counts[0].1, 4000.0, 5.0 * deviation),
                    ("mean:age", Answer::Mean { mean: Some(mean), deviation: Some(deviation), numbers: Some(n) }) => {
                        close(*mean, 39.5, 5.0 * deviation + 1e-3);
                        close(*n, 4000.0, 60.0);
                    }
                    ("mean:wage", Answer::Mean { mean: Some(mean), numbers: Some(n), .. }) => {
                        close(*mean, 30.0, 0.3);
                        close(*n, 3200.0, 60.0);
                    }
                    ("median:age", Answer::Quantile { quantile, rows_off }) => {
                        close(*quantile, 39.0, 1.5);
                        assert!((1.0..400.0).contains(rows_off), "{rows_off}");
                    }
                    ("quantile:wage:0.25", Answer::Quantile { quantile, .. }) => close(*quantile, 20.0, 1.5),
                    ("histogram:job", Answer::Counts { counts, deviation }) => {
                        for ((label, rows), (name, truth)) in
                            counts.iter().zip([("cook", 2000.0), ("smith", 1000.0), ("clerk", 1000.0)])
                        {
                            assert_eq!(label, name);
                            close(*rows, truth, 5.0 * deviation + 1.0);
                        }
                    }
                    ("histogram:age", Answer::Counts { counts, deviation }) => {
                        assert_eq!(counts.len(), 20);
                        close(counts[0].1, 0.0, 5.0 * deviation + 1.0);
                        close(counts[5].1, 500.0, 5.0 * deviation + 101.0);
                    }
                    ("stable-median:age:0.01", Answer::StableMedian { median, rows_to_a_jump, threshold, .. }) => {
                        // A hundred rows of each age: fewer than that must go before the next age is the median.
                        assert_eq!(median.is_some(), rows_to_a_jump >= threshold);
                        median.iter().for_each(|median| close(*median, 39.0, 0.2));
                    }
                    ("first-above:job:500", Answer::FirstAbove { first }) => assert_eq!(first.as_deref(), Some("cook")),
                    (name, other) => panic!("{name}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn the_ledger_holds_the_cost_before_anything_is_released() {
    let asked = request(&ALL, Budget::Rho(Rho::from_f64(0.5).unwrap(), Some(Delta::new(1e-6).unwrap())));
    let mut ledger = Ledger::in_memory().unwrap();
    let summary = made(&lines(), &asked, &mut ledger, 1).unwrap().file;
    let charges: Vec<_> = summary
        .facts
        .parts
        .iter()
        .flat_map(|part| &part.releases)
        .map(|release| release.planned.charge.clone())
        .collect();
    let spent = ledger.summaries().unwrap().remove(0);
    assert_eq!(spent.spent, total_rho(&charges).unwrap());
    assert!(spent.spent <= Rho::from_f64(0.5).unwrap() && spent.spent.upper() > 0.49);
    let Some(Record::Reserve { events, private: false, .. }) = ledger.entry(1).unwrap().map(|entry| entry.record)
    else {
        panic!("nothing was charged")
    };
    assert_eq!(events, charges);

    // A cap refuses before anything is drawn; one for Gaussian noise takes nothing but it.
    let scope = Scope::of_rows(DatasetId::new("wages").unwrap(), Adjacency::AddRemove);
    let mut capped = Ledger::in_memory().unwrap();
    capped.init(&scope, Some(&Cap::rho(&Rho::from_f64(0.4).unwrap(), 1e-6).unwrap())).unwrap();
    assert!(made(&lines(), &asked, &mut capped, 1).is_err());
    assert!(capped.summaries().unwrap()[0].spent.as_dyadic().is_zero());
    let mut gaussian = Ledger::in_memory().unwrap();
    gaussian.init(&scope, Some(&Cap::gaussian_rho(&Rho::from_f64(4.0).unwrap()).unwrap())).unwrap();
    let of = |statistics: &[&str], noise| SummaryRequest { noise, ..request(statistics, epsilon(0.5)) };
    assert!(made(&lines(), &of(&["mean:age"], SummaryNoise::Laplace), &mut gaussian, 1).is_err());
    assert!(made(&lines(), &of(&["first-above:job:1"], SummaryNoise::Normal), &mut gaussian, 1).is_err());
    assert!(made(&lines(), &of(&["mean:age"], SummaryNoise::Normal), &mut gaussian, 1).is_ok());
}

/// All values of a JSON text, each changed in turn.
fn changed(value: &serde_json::Value) -> Vec<serde_json::Value> {
    use serde_json::Value;
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, inner)| {
                changed(inner).into_iter().map(|other| {
                    let mut fields = fields.clone();
                    fields.insert(key.clone(), other);
                    Value::Object(fields)
                })
            })
            .collect(),
        Value::Array(items) => (0..items.len())
            .flat_map(|at| {
                changed(&items[at]).into_iter().map(move |other| {
                    let mut items = items.clone();
                    items[at] = other;
                    Value::Array(items)
                })
            })
            .collect(),
        Value::Number(number) => vec![serde_json::json!(number.as_f64().unwrap() + 1.0), serde_json::json!(7)],
        Value::String(text) => vec![serde_json::json!(format!("{text}1"))],
        Value::Bool(it) => vec![serde_json::json!(!it)],
        Value::Null => vec![serde_json::json!("x")],
    }
}

#[test]
fn a_summary_verifies_and_no_edit_of_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open_or_create(folder.path().join("l.sqlite")).unwrap();
    let file = CsvFile::open(&written(folder.path(), &lines())).unwrap();
    let asked = request(&["mean:age", "histogram:job", "stable-median:age:0.01", "first-above:job:500"], epsilon(1.0));
    let made = summarize(file, &asked, &mut ledger, NoiseSource::from_os().unwrap()).unwrap();
    assert!(made.file.dp && made.file.in_plain_words.is_some());
    let read = SummaryFile::parse(&made.text, Path::new("s")).unwrap();
    assert_eq!(read, made.file);
    let (checks, noted) = read.verify(&made.text, Some(&mut ledger)).unwrap();
    assert!(noted && checks.len() == 4 && checks.iter().all(|check| check.held), "{checks:?}");
    assert!(SummaryFile::is_named_in(&made.text) && !SummaryFile::is_named_in("{}"));

    let value = serde_json::from_str(&made.text).unwrap();
    let edits = changed(&value);
    assert!(edits.len() > 100, "{}", edits.len());
    for edit in edits.into_iter().filter(|edit| *edit != value) {
        let text = serde_json::to_string_pretty(&edit).unwrap() + "\n";
        let Ok(file) = SummaryFile::parse(&text, Path::new("s")) else { continue };
        let (checks, noted) = file.verify(&text, Some(&mut ledger)).unwrap();
        assert!(!noted && checks.iter().any(|check| !check.held), "{text}");
    }
    // Another ledger knows nothing of it.
    let (checks, noted) = read.verify(&made.text, Some(&mut Ledger::in_memory().unwrap())).unwrap();
    assert!(!noted && !checks.iter().all(|check| check.held));
}

#[test]
fn a_run_that_was_stopped_publishes_one_summary_for_one_charge() {
    let folder = tempfile::tempdir().unwrap();
    let (data, kept) = (written(folder.path(), &lines()), folder.path().join("c"));
    let mut ledger = Ledger::open_or_create(folder.path().join("l.sqlite")).unwrap();
    let asked = request(&["mean:age", "count"], epsilon(1.0));
    let open = || CsvFile::open(&data).unwrap();
    let first = {
        let checkpoint = Checkpoint::open(&kept).unwrap();
        summarize_from(&checkpoint, "same", open(), &asked, &mut ledger, NoiseSource::from_os().unwrap()).unwrap().text
    };
    // Stopped before it was published: without a row the same bytes come again, and nothing is charged.
    let checkpoint = Checkpoint::open(&kept).unwrap();
    assert!(checkpoint.is_finished());
    let other = request(&["mean:age"], epsilon(1.0));
    assert!(finish_summary(&checkpoint, &other, &mut ledger).is_err());
    assert_eq!(finish_summary(&checkpoint, &asked, &mut ledger).unwrap().unwrap().text, first);
    drop(checkpoint);
    let account = ledger.summaries().unwrap().remove(0);
    assert_eq!((account.runs, account.completed), (1, 1));

    // A result that the ledger has noted is the only one.
    let text = std::fs::read_to_string(&kept).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    std::fs::write(&kept, lines[..3].join("\n") + "\n").unwrap();
    let checkpoint = Checkpoint::open(&kept).unwrap();
    assert_eq!(checkpoint.releases(), Some(1));
    assert!(summarize_from(&checkpoint, "same", open(), &asked, &mut ledger, NoiseSource::from_os().unwrap()).is_err());
    assert_eq!(ledger.summaries().unwrap()[0].runs, 1);
}

#[test]
fn persons_count_once_and_what_does_not_fit_is_refused_before_a_charge() {
    let unit = Unit { column: "person".into(), persons: None, max_rows: None, estimand: None };
    let schema = Schema::parse(SCHEMA, Path::new("schema")).unwrap().with_unit(unit).unwrap();
    let asked = SummaryRequest { schema, ..request(&["count", "first-above:job:3000"], epsilon(10.0)) };
    let summary = made(&lines(), &asked, &mut Ledger::in_memory().unwrap(), 5).unwrap().file;
    let Answer::Counts { counts, deviation } = &summary.answers[0].answer else { panic!("no count") };
    assert!((counts[0].1 - 1000.0).abs() < 6.0 * deviation, "{counts:?}");
    assert_eq!(summary.answers[1].answer, Answer::FirstAbove { first: None });
    assert!(summary.limits.iter().any(|limit| limit.contains("one row")), "{:?}", summary.limits);
    assert!(!summary.dp && summary.statement.starts_with("NOT PRIVATE"));

    let mut ledger = Ledger::in_memory().unwrap();
    let mut refused = |asked: SummaryRequest, why: &str| {
        let error =
            made(&lines(), &asked, &mut ledger, 1).err().unwrap_or_else(|| panic!("{why} was accepted")).to_string();
        assert!(error.contains(why), "{error}");
        assert!(ledger.summaries().unwrap().is_empty());
    };
    refused(request(&["mean:job"], epsilon(1.0)), "holds no numbers");
    refused(request(&["first-above:age:5"], epsilon(1.0)), "holds numbers");
    refused(request(&["mean:height"], epsilon(1.0)), "does not declare");
    refused(request(&[], epsilon(1.0)), "statistics");
    refused(request(&["stable-median:age:200"], epsilon(1.0)), "no two numbers");
    let laplace =
        |statistics: &[&str], budget| SummaryRequest { noise: SummaryNoise::Laplace, ..request(statistics, budget) };
    refused(laplace(&["mean:age"], epsilon(1e-12)), "integer grid");
    refused(laplace(&["stable-median:age:1"], epsilon(1.0)), "pure privacy");
    let with_delta = Budget::Epsilon(Epsilon::new(1.0).unwrap(), Some(Delta::new(1e-6).unwrap()));
    refused(laplace(&["count"], with_delta), "no use");
    let large = Budget::Epsilon(Epsilon::new(1.0).unwrap(), Some(Delta::new(0.01).unwrap()));
    refused(request(&["count"], large), "show whole rows");
    assert_eq!("count".parse::<Statistic>().unwrap(), Statistic::Count {});
}

/// Of neighbours whose ages or wages differ in one row, what comes out and what is refused does not depend on the row: the
/// layout is the same, and only noised numbers are not.
#[test]
fn one_row_moves_numbers_and_nothing_else() {
    let asked = request(&ALL, epsilon(1.0));
    let shape = |text: &str| {
        let file = made(text, &asked, &mut Ledger::in_memory().unwrap(), 1).unwrap().file;
        let lens = |file: &SummaryFile| {
            let releases = file.facts.parts.iter().flat_map(|part| &part.releases);
            releases.map(|release| (release.planned.clone(), release.values.len())).collect::<Vec<_>>()
        };
        (lens(&file), file.statement.clone(), file.limits.clone(), file.epsilon.clone())
    };
    let truth = shape(&lines());
    for odd in ["1e400,cook,nan,1\n", "\"", ",,,,,,\n", "\u{0}\n", "20,king,-5,\n", "age,job,wage,person\n", "\n\n"] {
        assert_eq!(shape(&(lines() + odd)), truth, "{odd:?}");
    }
    let header = "age,job,wage,person\n";
    assert_eq!(shape(header), truth, "no row at all");
}
