//! Answers to questions about a file, on a data set and on its neighbours, under the same noise.

use std::io::Write;
use std::path::Path;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rhograd::data::{CsvFile, Schema};
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::privacy::{Adjacency, Rho};
use rhograd::summary::{SummaryNoise, SummaryRequest, summarize};
use rhograd::train::Budget;
use serde_json::Value;

use super::neighbours::{CHANGES, Change, KINDS, Kind, LABELS, Table};
use super::replay::{Run, agree};

/// What is asked: every statistic that is a noised sum, and two that are choices.
pub const ASKED: [&str; 7] = ["count", "mean:x", "mean:z", "histogram:x", "histogram:c", "median:z", "first-above:c:9"];

/// Pairs of neighbours for every change and kind of row.
const PAIRS: u64 = 4;

/// The schema by which a file is read, whose number of rows is private.
pub fn schema() -> String {
    LABELS.replace("\"rows\":60,", "")
}

/// The answers about a file as released values before noise, and the l2 sensitivity that each was charged with.
///
/// The noise of a seed is the same for every file, so that differences between two runs are those of the sums.
pub fn summarized(schema: &str, file: &[u8], adjacency: Adjacency) -> (Run, Vec<u64>) {
    let mut on_disk = tempfile::NamedTempFile::new().expect("a temporary file");
    on_disk.write_all(file).expect("room for a small file");
    let request = SummaryRequest {
        schema: Schema::parse(schema, Path::new("trial.schema.json")).expect("a schema"),
        adjacency,
        budget: Budget::Rho(Rho::from_f64(0.5).expect("a budget"), None),
        noise: SummaryNoise::Normal,
        statistics: ASKED.iter().map(|asked| asked.parse().expect("a statistic")).collect(),
        accept_large_delta: true,
    };
    let table = CsvFile::open(on_disk.path()).expect("a table");
    let mut ledger = Ledger::in_memory().expect("a ledger");
    let made = summarize(table, &request, &mut ledger, NoiseSource::insecure_from_seed(5)).expect("answers");
    let mut made: Value = serde_json::from_str(&made.text).expect("a file of answers");
    let (mut inputs, mut sensitivities) = (Vec::new(), Vec::new());
    // Answers follow from released values, and are no more than these.
    made["answers"] = Value::Null;
    for part in made["facts"]["parts"].as_array_mut().expect("parts") {
        for release in part["releases"].as_array_mut().expect("releases") {
            let is_sum = release["planned"]["query"]["step"].is_number();
            let values = release["values"].take();
            let integers = values.as_array().expect("values").iter();
            let integers = integers.map(|value| value.as_str().and_then(|text| text.parse().ok()).expect("an integer"));
            inputs.push(is_sum.then(|| integers.collect()));
            sensitivities.push(release["planned"]["charge"]["sensitivity"].as_u64().unwrap_or(1));
        }
    }
    (Run { inputs, public: vec![made.to_string()] }, sensitivities)
}

/// Checks answers about neighbours of every kind; the largest share of its sensitivity that each release used.
///
/// # Errors
/// What differs beside released values, or moves further than was paid for.
pub fn answers_agree(answers: impl Fn(&[u8], Adjacency) -> (Run, Vec<u64>)) -> Result<Vec<f64>, String> {
    let mut largest = Vec::new();
    for change in CHANGES {
        let adjacency = if change == Change::Replace { Adjacency::ReplaceOne } else { Adjacency::AddRemove };
        for (kind, seed) in KINDS.into_iter().flat_map(|kind| (0..PAIRS).map(move |seed| (kind, seed))) {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let table = Table::ending_in(Kind::Extreme, &mut rng);
            let neighbour = table.neighbour(change, kind, false, &mut rng);
            let (before, sensitivities) = answers(&table.bytes(), adjacency);
            let (after, _) = answers(&neighbour.bytes(), adjacency);
            let shares = agree(&before, &after, &sensitivities).map_err(|e| format!("{kind:?} {change:?}: {e}"))?;
            largest.resize(shares.len(), 0.0);
            largest.iter_mut().zip(shares).for_each(|(largest, share)| *largest = f64::max(*largest, share));
        }
    }
    Ok(largest)
}
