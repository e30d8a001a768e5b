//! Everything that reads a file or a command line, on inputs that were changed at random.
//!
//! Inputs come from the files in `seeds/` and from what the program itself writes. Whatever makes a parser answer in a way
//! not seen before is kept and changed further, so the search follows the parser and not chance alone. Without any setting
//! it does a fixed number of steps from a fixed seed. To search for longer, each parser for so many seconds:
//!
//! ```text
//! RHOGRAD_FUZZ_SECONDS=600 cargo test --release --test fuzz -- --nocapture
//! ```
//!
//! An input that breaks a promise is written to a file; put it into `seeds/` when the fault is mended.
#![cfg(all(unix, feature = "cli"))]

mod forge;
mod home;
mod mutate;
#[path = "../cli/support.rs"]
mod support;
mod targets;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use home::Home;
use mutate::Mutator;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Longer than any input here takes, even where a machine has much else to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// Inputs that are changed further; more are not kept.
const MAX_KEPT: usize = 2000;

/// Longest input.
const MAX_LENGTH: usize = 1 << 17;

/// What is fuzzed: how it judges an input. The answer is a text that tells behaviours apart.
type Judge = fn(&Home, &[u8]) -> String;

/// Files of a folder in `seeds/`.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds").join(name);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// An answer without the numbers and texts that it quotes.
fn kind(answer: &str) -> String {
    let mut quoted = false;
    let mut kind: String = answer
        .chars()
        .filter(|c| {
            quoted ^= *c == '"' || *c == '`';
            !quoted && !c.is_ascii_digit()
        })
        .collect();
    kind.truncate((0..=kind.len().min(200)).rev().find(|&at| kind.is_char_boundary(at)).unwrap_or(0));
    kind
}

/// Ends the whole program if one input takes for ever, and tells which one.
struct Watch(Arc<Mutex<Current>>);

/// The input that is being judged, and since when.
type Current = Option<(Instant, Vec<u8>)>;

impl Watch {
    fn start(name: &'static str) -> Self {
        let now: Arc<Mutex<Current>> = Arc::default();
        let seen = Arc::downgrade(&now);
        std::thread::spawn(move || {
            while let Some(now) = seen.upgrade() {
                if let Some((since, input)) = &*now.lock().unwrap()
                    && since.elapsed() > PATIENCE
                {
                    eprintln!("{name}: an input takes for ever: {}", write_down(name, input).display());
                    std::process::abort();
                }
                drop(now);
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        Watch(now)
    }

    fn begin(&self, input: &[u8]) {
        *self.0.lock().unwrap() = Some((Instant::now(), input.to_vec()));
    }

    fn end(&self) {
        *self.0.lock().unwrap() = None;
    }
}

fn write_down(name: &str, input: &[u8]) -> PathBuf {
    let digest = rhograd::train::sha256_hex(input);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}-{}", &digest[..12]));
    std::fs::write(&path, input).unwrap();
    path
}

/// Judges seeds and changed inputs; returns how often each kind of answer was given.
fn search(name: &'static str, judge: Judge, own: fn(&Home) -> Vec<u8>, tokens: &[&str], steps: u64) {
    let home = Home::new();
    let watch = Watch::start(name);
    let seconds = std::env::var("RHOGRAD_FUZZ_SECONDS").ok().map(|text| text.parse::<u64>().expect("seconds"));
    let seed = if seconds.is_some() { rand::random() } else { 1 };
    let (mut rng, started) = (StdRng::seed_from_u64(seed), Instant::now());
    let mut answers: BTreeMap<String, u64> = BTreeMap::new();
    let mut ask = |input: &[u8]| {
        watch.begin(input);
        let answer = catch_unwind(AssertUnwindSafe(|| judge(&home, input)))
            .unwrap_or_else(|_| panic!("{name}: a promise is broken by {}", write_down(name, input).display()));
        watch.end();
        let count = answers.entry(kind(&answer)).or_default();
        *count += 1;
        *count == 1
    };
    let mut kept = seeds(name);
    kept.push(own(&home));
    let first = kept.len();
    for input in &kept {
        ask(input);
    }
    let mut done = 0;
    while seconds.map_or(done < steps, |limit| started.elapsed().as_secs() < limit) {
        // Half of the time from what is known to be good.
        let parent = if rng.random() { rng.random_range(0..first) } else { rng.random_range(0..kept.len()) };
        let other = kept[rng.random_range(0..kept.len())].clone();
        let mut input = Mutator { rng: &mut rng, tokens, other: &other }.change(&kept[parent]);
        input.truncate(MAX_LENGTH);
        if ask(&input) && kept.len() < MAX_KEPT {
            kept.push(input);
        }
        done += 1;
    }
    println!("{name}: {done} inputs from seed {seed}, {} kinds of answer", answers.len());
    assert!(answers.len() >= 5, "{name}: only {answers:#?}");
    let accepted = answers.keys().filter(|kind| kind.starts_with("accepted")).collect::<BTreeSet<_>>();
    assert!(!accepted.is_empty(), "{name}: nothing was accepted, so nothing was tried: {answers:#?}");
}

#[test]
fn no_table_breaks_a_reader_and_no_line_changes_another() {
    search("csv", targets::csv, |home| home.bytes("data.csv"), mutate::CELLS, 3000);
}

#[test]
fn no_schema_is_taken_for_another() {
    search("schema", targets::schema, |home| home.bytes("data.schema.json"), mutate::JSON, 6000);
}

#[test]
fn no_model_passes_for_what_it_is_not() {
    search("model", targets::model, |home| home.bytes("data.model.json"), mutate::JSON, 500);
}

#[test]
fn no_log_passes_but_the_one_that_was_written() {
    search("log", targets::log, |home| home.bytes("data.log.jsonl"), mutate::JSON, 500);
}

#[test]
fn no_ledger_passes_for_what_it_is_not() {
    search("ledger", targets::ledger, |home| home.bytes("data.ledger.sqlite"), mutate::JSON, 500);
}

#[test]
fn no_checkpoint_holds_a_release_that_was_never_made() {
    search("checkpoint", targets::checkpoint, |home| home.bytes("run.checkpoint"), mutate::JSON, 3000);
}

#[test]
fn no_cache_gives_other_rows_or_breaks_a_run() {
    search("cache", targets::cache, |home| home.bytes("data.rows"), mutate::JSON, 1000);
}

#[test]
fn every_question_gets_one_answer() {
    search("queries", targets::queries, |_| seeds("queries").remove(0), mutate::JSON, 3000);
}

#[test]
fn every_command_line_ends_as_documented() {
    search("arguments", targets::arguments, |_| b"train data.csv --epsilon 1".to_vec(), mutate::ARGUMENTS, 150);
}

#[test]
fn a_panic_and_a_new_answer_are_noticed() {
    assert_eq!(kind("a.csv:17, \"x y\": 3 rows; cure"), "a.csv:, \":  rows; cure");
    let judge: Judge = |_, input| {
        assert!(!input.windows(2).any(|pair| pair == b"!!"), "found");
        format!("accepted {}", ["a", "b", "c", "d", "e", "f"][input.len() % 6])
    };
    let quiet = catch_unwind(|| search("self", judge, |_| b"!".to_vec(), &["!"], 2000));
    let message = *quiet.unwrap_err().downcast::<String>().unwrap();
    let path = message.strip_prefix("self: a promise is broken by ").unwrap();
    assert!(std::fs::read(path).unwrap().windows(2).any(|pair| pair == b"!!"));
    std::fs::remove_file(path).unwrap();
}
