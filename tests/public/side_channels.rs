//! What can be seen without paying: exit codes, the set of files, the layout of what is printed, the log.
//!
//! The same arguments on other rows must leave all of them as they are, whatever stands in those rows.

use crate::invariants::markers;
use crate::invariants::neighbours::{Change, LABELS};
use crate::invariants::people::{People, SORTS, of_persons};
use crate::support;

use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rhograd::optim::{Algorithm, Relations};
use serde_json::Value;

use markers::{disguises, is_absent};
use support::{Folder, HEADER, Outcome, REGRESSION, SCHEMA, rows};

const SCHEMAS: [&str; 2] = [SCHEMA, REGRESSION];

/// Everything about a run that must not depend on the rows, the noise left out.
#[derive(Debug, PartialEq)]
struct Trace {
    code: Option<i32>,
    page: Vec<String>,
    files: Vec<String>,
    log: Vec<Value>,
    model: Value,
    ledger: Value,
}

/// A word without its digits, if it is a number or a hexadecimal name.
fn mask(word: &str) -> String {
    let core = word.trim_matches(|c: char| "(),;.".contains(c));
    let number = core.parse::<f64>().is_ok();
    let name = core.len() == 32 && core.bytes().all(|b| b.is_ascii_hexdigit());
    if number || name { word.replace(core, "#") } else { word.into() }
}

/// The printed page without numbers; effects are printed in the order of released coefficients, so sorted.
fn layout(page: &str) -> Vec<String> {
    // Noised counts decide how many points of a reliability curve there are, if any.
    let of_curve = |line: &String| line.starts_with("probability predicted") || line.contains("), about # ");
    let lines = page.lines().map(|line| line.split_whitespace().map(mask).collect::<Vec<_>>().join(" "));
    let mut lines: Vec<String> = lines.filter(|line| !of_curve(line)).collect();
    lines.sort();
    lines
}

/// Removes from a value what noise decides; `clip_follows` says that the clip follows from a release.
fn without_noise(value: &mut Value, clip_follows: bool) {
    const NOISY: [&str; 11] = [
        "clip_loosening",
        "intercept",
        "coefficient",
        "coefficients",
        "centre",
        "scale",
        "digest",
        "effective_dimension",
        "evaluation",
        "ridge",
        "standard_errors",
    ];
    // The run's random name and what follows from it.
    const NAMED: [&str; 3] = ["position", "run", "head"];
    const CLIPPED: [&str; 6] = ["clip_norm", "sigma", "sensitivity", "unit", "log_sha256", "spent_after"];
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields.iter_mut() {
                let key = key.as_str();
                let in_events = key == "charge" || key == "query";
                if NOISY.contains(&key) || NAMED.contains(&key) || (clip_follows && CLIPPED.contains(&key)) {
                    *inner = match &*inner {
                        Value::Array(items) => items.len().into(),
                        _ => Value::Null,
                    };
                } else if !in_events {
                    without_noise(inner, clip_follows);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| without_noise(item, clip_follows)),
        _ => {}
    }
}

/// Whether the clip follows from a released row count or Gram matrix.
fn clip_follows(schema: &str, flags: &str) -> bool {
    let counted = !schema.contains("\"rows\"") && !flags.contains("--rows");
    let whitened = !flags.contains("--algorithm") && !flags.contains("--no-standardise");
    // AdaSSP's clip follows from how the target is scaled, the grid of a direction from the released gradient.
    let scaled = flags.contains("adassp") || flags.contains("double-noise");
    !flags.contains("--clip") && (counted || whitened || scaled)
}

/// Few steps, where steps mean anything; a pass over growing batches needs its own number.
fn steps(flags: &str) -> &'static str {
    let name = flags.split("--algorithm ").nth(1).and_then(|rest| rest.split(' ').next());
    let named = Algorithm::ALL.into_iter().find(|algorithm| Some(algorithm.name()) == name);
    let takes = |algorithm: Algorithm| algorithm.description().settings.iter().any(|setting| setting.name == "steps");
    if name != Some("one-pass") && named.is_none_or(takes) { "--steps 5" } else { "" }
}

/// Trains on `data` and looks at everything that comes out.
fn trace(schema: &str, data: &[u8], flags: &str) -> Trace {
    let folder = Folder::trial(schema, data);
    let outcome = folder.run(&format!("train trial.csv --overwrite --epsilon 1 {} {flags}", steps(flags)));
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let clip_follows = clip_follows(schema, flags);
    let mut model = folder.json("trial.model.json");
    without_noise(&mut model, clip_follows);
    let log = folder.text("trial.log.jsonl");
    let log = log.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        without_noise(&mut line, clip_follows);
        line
    });
    let mut ledger = Value::Null;
    if !flags.contains("--no-ledger") {
        ledger = folder.spending("trial.ledger.sqlite");
        without_noise(&mut ledger, clip_follows);
    }
    Trace {
        code: outcome.code,
        page: layout(&outcome.stdout),
        files: folder.names(),
        log: log.collect(),
        model,
        ledger,
    }
}

/// A good file with one line put in at `at`.
fn with_line(count: u64, at: usize, line: &[u8]) -> Vec<u8> {
    let text = rows(count);
    let mut lines: Vec<&[u8]> = text.trim_end().split('\n').map(str::as_bytes).collect();
    lines.insert(at.min(lines.len() - 1) + 1, line);
    let mut bytes = lines.join(&b'\n');
    bytes.push(b'\n');
    bytes
}

/// Lines that a careless reader stumbles over, with whether they are a record of the trial schema.
fn odd_lines() -> Vec<(&'static str, Vec<u8>, bool)> {
    let text = |s: &str| s.as_bytes().to_vec();
    vec![
        ("not a number", text("nan,nan,u,n,yes"), true),
        ("infinite", text("inf,-inf,u,n,no"), true),
        ("overflowing", text("1e999,-1e999,u,n,no"), true),
        ("denormal", text("5e-324,-5e-324,u,n,yes"), true),
        ("huge digits", text(&format!("{},0,u,n,yes", "9".repeat(400))), true),
        ("hexadecimal", text("0x10,0x10,u,n,yes"), true),
        ("empty cells", text(",,,,yes"), true),
        ("unknown category", text("1,0,never seen,n,yes"), true),
        ("quoted", text("\"1\",\"0\",\"u\",\"n,with comma\",\"yes\""), true),
        ("NUL bytes in a cell", text("1,0,u\0\0,n,yes"), true),
        ("invalid UTF-8 in a cell", b"1,0,\xff\xfe,\xc0\xaf,yes".to_vec(), true),
        ("a very long cell", text(&format!("1,0,{},n,yes", "u".repeat(1_000_000))), true),
        ("a line that is too long", text(&format!("1,0,{},n,yes", "u".repeat(2_000_000))), false),
        ("a line that is too long, with quotes", text(&format!("1,0,\"{},n,yes", "\"\"".repeat(1_000_000))), false),
        ("millions of commas", text(&",".repeat(3_000_000)), false),
        ("what begins a Parquet file", text("PAR1"), false),
        ("a label that ends a Parquet file", text("1,0,u,n,PAR1"), false),
        ("a cell that ends a Parquet file", text("1,0,u,PAR1,yes"), true),
        ("blanks around cells", text("  1 , 0 ,u , n, yes "), true),
        ("unknown label", text("1,0,u,n,maybe"), false),
        ("empty label", text("1,0,u,n,"), false),
        ("too few cells", text("1,0,u"), false),
        ("too many cells", text("1,0,u,n,yes,1,2,3"), false),
        ("one cell too many", text("1,0,u,n,yes,"), false),
        ("no cell", text(""), false),
        ("blanks", text("     "), false),
        ("commas", text(&",".repeat(100_000)), false),
        ("an open quote", text("\"1,0,u,n,yes"), false),
        ("an open quote at the end", text("1,0,u,n,\"yes"), true),
        ("an open quote in the middle", text("1,0,\"u,n,yes"), false),
        ("a quote inside a cell", text("1,0,u,n\"x\",yes"), true),
        ("only quotes", text(&"\"".repeat(1001)), false),
        ("NUL bytes", vec![0; 64], false),
        ("invalid UTF-8", vec![0xff; 64], false),
        ("a carriage return inside", text("1,0,u\r1,0,u,n,yes"), false),
        ("a very long line", vec![b'x'; 2_000_000], false),
        ("a byte order mark", b"\xef\xbb\xbf".to_vec(), false),
        ("the header again", text(HEADER.trim_end()), false),
    ]
}

#[test]
fn any_number_of_rows_looks_the_same() {
    for schema in SCHEMAS {
        let expected = trace(schema, rows(1000).as_bytes(), "");
        for count in [0, 1, 2, 31, 33] {
            assert_eq!(trace(schema, rows(count).as_bytes(), ""), expected, "{count} rows");
        }
        for (name, data) in [("header only", HEADER.trim_end()), ("no line end at all", "x,z,c,note,y\n1,0,u,n,yes")] {
            assert_eq!(trace(schema, data.as_bytes(), ""), expected, "{name}");
        }
    }
}

#[test]
fn any_number_of_rows_looks_the_same_under_every_noise_and_algorithm() {
    let flags = [
        "--noise discrete-gaussian",
        "--no-standardise",
        "--seed 4",
        "--no-ledger",
        "--rows 1000 --algorithm dp-gd-theory",
        "--clip 0.5 --l2 0.1 --radius 1 --averaging last --momentum 0",
        "--algorithm dp-sgd --clip 0.5",
        "--evaluate-budget 0.2 --clip 0.5",
        "--algorithm adassp",
        "--algorithm boosted-adassp",
        "--algorithm newton",
        "--algorithm newton-double-noise",
        "--algorithm dp-ftrl",
        "--algorithm dp-ftrl --passes 3 --sampling-rate 0.25",
        "--cache kept.rows",
    ];
    for flags in flags {
        let expected = trace(SCHEMA, rows(1000).as_bytes(), flags);
        for count in [0, 1] {
            assert_eq!(trace(SCHEMA, rows(count).as_bytes(), flags), expected, "{count} rows, {flags}");
        }
    }
}

#[test]
fn any_number_of_rows_but_none_trains_under_replace_one() {
    for count in [1, 2, 1000] {
        let folder = Folder::trial(SCHEMA, rows(count).as_bytes());
        folder.succeed("train trial.csv --overwrite --epsilon 1 --steps 5 --adjacency replace-one");
        assert_eq!(folder.names().len(), 6);
    }
}

#[test]
fn any_number_of_rows_trains_with_passes_of_public_size() {
    for schema in SCHEMAS {
        for count in [0, 1, 2, 33, 1000] {
            let passes = Algorithm::ALL.into_iter().filter(|it| it.description().relations != Relations::Both);
            for algorithm in passes {
                let folder = Folder::trial(schema, rows(count).as_bytes());
                let protect = if algorithm.description().needs.labels_alone { "--protect label" } else { "" };
                folder.succeed(&format!(
                    "train trial.csv --overwrite --epsilon 1 --adjacency replace-one --algorithm {} {protect}",
                    algorithm.name()
                ));
                folder.succeed("verify trial.model.json");
                assert_eq!(folder.names().len(), 6);
            }
        }
    }
}

#[test]
fn a_replaced_row_changes_nothing_but_noised_values_under_replace_one() {
    let flags = "--adjacency replace-one --algorithm";
    for name in ["localization", "one-pass", "adassp", "dp-ftrl"] {
        let trace = |line: &str| trace(SCHEMA, &with_line(150, 3, line.as_bytes()), &format!("{flags} {name}"));
        let expected = trace("1,0,u,n,yes");
        for line in ["9.9,0.9,w,n,no", "1e999,nan,new,n,yes", "1", "\""] {
            assert_eq!(trace(line), expected, "{name} {line:?}");
        }
    }
}

#[test]
fn no_row_at_all_trains_under_replace_one() {
    let folder = Folder::trial(SCHEMA, HEADER.as_bytes());
    folder.succeed("train trial.csv --overwrite --epsilon 1 --steps 5 --adjacency replace-one");
}

#[test]
fn no_odd_row_shows_in_exit_code_layout_files_log_or_statement() {
    for schema in SCHEMAS {
        let expected = trace(schema, rows(200).as_bytes(), "");
        for (name, line, _) in odd_lines() {
            assert_eq!(trace(schema, &with_line(200, 77, &line), ""), expected, "{name}");
        }
    }
}

#[test]
fn the_last_bytes_of_a_file_do_not_decide_how_it_is_read() {
    let first = |text: &str| -> String {
        let moved = text.lines().map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let note = if cells[3] == "note" { "PAR1" } else { cells[3] };
            format!("{note},{},{},{},{}\n", cells[0], cells[1], cells[2], cells[4])
        });
        moved.collect()
    };
    let data = first(&rows(200));
    let expected = trace(SCHEMA, data.as_bytes(), "");
    for line in ["n,1,0,u,PAR1", "n,1,0,PAR1,yes", "PAR1", "\u{15}PAR1"] {
        assert_eq!(trace(SCHEMA, format!("{data}{line}").as_bytes(), ""), expected, "{line}");
    }
}

#[test]
fn a_file_of_odd_rows_alone_looks_like_any_other() {
    let expected = trace(SCHEMA, rows(1000).as_bytes(), "");
    for (name, line, _) in odd_lines() {
        let mut data = HEADER.as_bytes().to_vec();
        data.extend_from_slice(&line);
        assert_eq!(trace(SCHEMA, &data, ""), expected, "{name}, no line end");
    }
    let mut all = HEADER.as_bytes().to_vec();
    for (_, line, _) in odd_lines() {
        all.extend_from_slice(&line);
        all.push(b'\n');
    }
    assert_eq!(trace(SCHEMA, &all, ""), expected, "all of them");
}

/// The bytes of model and log of a seeded run, and the printed page.
fn replay(schema: &str, data: &[u8], flags: &str) -> (Vec<u8>, Vec<u8>, String) {
    let folder = Folder::trial(schema, data);
    let outcome = folder
        .succeed(&format!("train trial.csv --overwrite --epsilon 1 {} --seed 9 --no-ledger {flags}", steps(flags)));
    (folder.bytes("trial.model.json"), folder.bytes("trial.log.jsonl"), outcome.stdout)
}

#[test]
fn line_endings_and_a_byte_order_mark_change_no_bit() {
    let data = rows(300);
    let expected = replay(SCHEMA, data.as_bytes(), "");
    let with_mark = format!("\u{feff}{data}");
    for (name, other) in [
        ("CRLF", data.replace('\n', "\r\n")),
        ("a byte order mark", with_mark.clone()),
        ("both", with_mark.replace('\n', "\r\n")),
        ("no last line end", data.trim_end().to_string()),
        ("quotes", data.replace(",u,", ",\"u\",")),
        ("blanks", data.replace(',', " , ")),
    ] {
        assert!(replay(SCHEMA, other.as_bytes(), "") == expected, "{name}");
    }
}

#[test]
fn the_order_of_rows_changes_no_bit() {
    let data = rows(500);
    let mut lines: Vec<&str> = data.trim_end().lines().collect();
    lines[1..].reverse();
    assert!(replay(SCHEMA, lines.join("\n").as_bytes(), "") == replay(SCHEMA, data.as_bytes(), ""));
}

#[test]
fn a_line_that_is_no_record_changes_no_bit_wherever_it_stands() {
    // With a fixed clip the log holds public numbers only.
    let flags = "--clip 0.5";
    let expected = replay(SCHEMA, rows(200).as_bytes(), flags);
    for (name, line, is_record) in odd_lines() {
        for at in [0, 31, 200] {
            let (model, log, _) = replay(SCHEMA, &with_line(200, at, &line), flags);
            assert!(log == expected.1, "{name} at {at} shows in the log");
            assert_eq!(model != expected.0, is_record, "{name} at {at}");
        }
    }
}

#[test]
fn an_odd_record_counts_as_the_record_that_the_written_rule_makes_of_it() {
    // Missing and unreadable numbers are the middle, numbers beyond a bound are the bound.
    for (odd, plain) in [
        ("nan,,u,n,yes", "5,0,u,n,yes"),
        ("?,0x10,u,n,yes", "5,0,u,n,yes"),
        ("1e999,-1e999,u,n,no", "10,-1,u,n,no"),
        ("inf,-inf,w,n,no", "10,-1,w,n,no"),
        ("11,-7,u,n,no", "10,-1,u,n,no"),
        ("1,0,never,n,yes", "1,0,other,n,yes"),
        ("1,0,u,n,\"yes", "1,0,u,m,yes"),
    ] {
        let of = |line: &str| replay(SCHEMA, &with_line(200, 50, line.as_bytes()), "");
        assert!(of(odd) == of(plain), "{odd:?} is not read as {plain:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn garbage_in_one_line_changes_what_no_other_row_counts(
        line in proptest::collection::vec(
            prop_oneof![3 => Just(b'"'), 3 => Just(b','), 2 => Just(b'\r'), 1 => Just(0u8), 8 => any::<u8>()], 0..60),
        at in 0usize..100,
    ) {
        // A label that is not declared makes the line no record, whatever stands before it.
        let line: Vec<u8> = line.into_iter().filter(|b| *b != b'\n').collect();
        static EXPECTED: std::sync::OnceLock<(Vec<u8>, Vec<u8>, String)> = std::sync::OnceLock::new();
        let expected = EXPECTED.get_or_init(|| replay(SCHEMA, rows(100).as_bytes(), ""));
        prop_assert!(&replay(SCHEMA, &with_line(100, at, &line), "") == expected);
    }
}

/// Everything that can be seen of two seeded runs on neighbours but the noised values themselves.
fn replays_agree(schema: &str, flags: &str) {
    let data = rows(150);
    let (model, log, page) = replay(schema, data.as_bytes(), flags);
    let public = |bytes: &[u8]| {
        let mut model: Value = serde_json::from_slice(bytes).unwrap();
        without_noise(&mut model, clip_follows(schema, flags));
        model
    };
    for line in ["9.9,0.9,w,n,yes", "0,-1,v,n,no", "1e999,nan,new,n,yes", "1,0,u,n,maybe", "1", "\"", ""] {
        let (other_model, other_log, other_page) = replay(schema, &with_line(150, 3, line.as_bytes()), flags);
        assert_eq!(public(&other_model), public(&model), "{line:?}, {flags}");
        assert_eq!(layout(&other_page), layout(&page), "{line:?}, {flags}");
        if !clip_follows(schema, flags) {
            assert!(other_log == log, "the log holds public numbers only: {line:?}, {flags}");
        }
    }
}

#[test]
fn a_row_more_changes_nothing_but_noised_values() {
    for schema in SCHEMAS {
        for flags in [
            "",
            "--clip 0.5",
            "--algorithm dp-gd",
            "--algorithm dp-gd --clip 0.5",
            "--algorithm adassp",
            "--algorithm boosted-adassp",
            "--algorithm newton --clip 0.5",
            "--algorithm newton-double-noise",
            "--algorithm dp-ftrl",
            "--noise discrete-gaussian --rows 100",
            "--no-standardise --rows 100",
        ] {
            replays_agree(schema, flags);
        }
        replays_agree(schema, "--algorithm dp-gd-theory --rows 100");
    }
}

const SOLVERS: [&str; 4] = [
    "--algorithm output-perturbation --rows 1000",
    "--algorithm amp --rows 1000",
    "--algorithm objective-perturbation --rows 1000",
    "--algorithm frank-wolfe --rows 1000",
];

/// One column, so that a grid of models can be searched.
const ONE_COLUMN: &str = r#"{"name":"trial","task":"classification","target":"y","positive":"yes","negative":"no",
    "rows":1000,"columns":{"x":{"type":"numeric","lower":0,"upper":10}}}"#;

#[test]
fn any_number_of_rows_looks_the_same_to_solvers_and_choices() {
    let grid = [(ONE_COLUMN, "--algorithm exponential-mechanism")];
    let cases = SCHEMAS.iter().flat_map(|schema| SOLVERS.iter().map(move |flags| (*schema, *flags))).chain(grid);
    for (schema, flags) in cases {
        let expected = trace(schema, rows(300).as_bytes(), flags);
        for count in [0, 1, 33] {
            assert_eq!(trace(schema, rows(count).as_bytes(), flags), expected, "{count} rows, {flags}");
        }
        replays_agree(schema, flags);
    }
}

#[test]
fn solvers_end_on_rows_that_pull_as_hard_as_they_can() {
    // All labels equal, separable, and constant columns: the unregularised minimiser is at infinity.
    for flags in SOLVERS {
        for line in ["10,1,u,n,yes", "0,-1,v,n,no"] {
            let data = format!("{HEADER}{}", format!("{line}\n").repeat(3000));
            trace(SCHEMA, data.as_bytes(), flags);
            trace(REGRESSION, data.as_bytes(), flags);
        }
    }
}

/// Exit code, files, what is printed, log, model and ledger of runs on persons, all rows of one of whom come, go or change.
#[test]
fn a_person_more_changes_nothing_but_noised_values() {
    for (seed, flags) in [
        "",
        "--algorithm dp-gd --clip 0.5",
        "--algorithm newton --evaluate-budget 0.2",
        "--algorithm dp-sgd --sampling-rate 0.1",
        "--algorithm whitened --evaluate-budget 0.2",
    ]
    .into_iter()
    .enumerate()
    {
        let schema = of_persons(LABELS);
        let rng = &mut ChaCha8Rng::seed_from_u64(seed as u64);
        let people = People::new(12, rng);
        let replaced = format!("{flags} --adjacency replace-one");
        let (expected, instead) = (trace(&schema, &people.bytes(), flags), trace(&schema, &people.bytes(), &replaced));
        let slow = flags.contains("sgd");
        for sort in SORTS.into_iter().step_by(if slow { 4 } else { 1 }) {
            let joined = people.neighbour(Change::Insert, sort, false, rng);
            assert_eq!(trace(&schema, &joined.bytes(), flags), expected, "{sort:?}, {flags}\n{joined:?}");
        }
        for (at, sort) in SORTS.into_iter().enumerate().step_by(4) {
            let gone = people.neighbour(Change::Delete, sort, false, rng);
            assert_eq!(trace(&schema, &gone.bytes(), flags), expected, "{at} gone, {flags}\n{gone:?}");
            let other = people.neighbour(Change::Replace, sort, false, rng);
            assert_eq!(trace(&schema, &other.bytes(), &replaced), instead, "{sort:?}, {replaced}\n{other:?}");
        }
    }
}

#[test]
fn the_default_delta_does_not_count_rows() {
    let delta = |schema: &str, count: u64| {
        let folder = Folder::trial(schema, rows(count).as_bytes());
        folder.succeed("train trial.csv --overwrite --epsilon 1 --steps 5 --json").json()["delta"].clone()
    };
    assert_eq!(delta(REGRESSION, 5), delta(REGRESSION, 50_000));
    assert_eq!(delta(SCHEMA, 5), delta(SCHEMA, 50_000));
}

const MARKER: &str = "7f3a9c51e08d46b2a4c1d97e5b60f823";

#[track_caller]
fn must_lack(marker: &str, place: &str, haystack: &[u8]) {
    is_absent(marker, place, haystack).unwrap_or_else(|found| panic!("{found}"));
}

fn is_nowhere(marker: &str, folder: &Folder, outcome: &Outcome, case: &str) {
    for (name, content) in folder.contents() {
        if name != "trial.csv" {
            must_lack(marker, &format!("{name} ({case})"), &content);
        }
    }
    must_lack(marker, &format!("standard output ({case})"), outcome.stdout.as_bytes());
    must_lack(marker, &format!("standard error ({case})"), outcome.stderr.as_bytes());
}

#[test]
fn the_search_for_markers_finds_them() {
    for hidden in disguises(MARKER) {
        let haystack = [b"before".to_vec(), hidden, b"after".to_vec()].concat();
        assert!(is_absent(MARKER, "a test", &haystack).is_err());
    }
}

#[test]
fn no_cell_shows_up_anywhere() {
    let digits = "314159265358979323846264338327950288419";
    let places = [
        "M,0,u,n,yes",
        "1,M,u,n,yes",
        "1,0,M,n,yes",
        "1,0,u,M,yes",
        "1,0,u,n,M",
        "1,0,u,n,yes,M",
        "M",
        "\"M",
        "1,0,\"uM,n,yes",
    ];
    for schema in SCHEMAS {
        for place in places {
            for marker in [MARKER, digits] {
                let folder = Folder::trial(schema, with_line(100, 50, place.replace('M', marker).as_bytes()));
                let outcome = folder.succeed("train trial.csv --overwrite --epsilon 1 --steps 5");
                is_nowhere(&marker[..16], &folder, &outcome, place);
                is_nowhere(marker, &folder, &outcome, place);
            }
        }
    }
}

#[test]
fn no_cell_shows_up_when_a_run_is_refused() {
    for place in ["M,0,u,n,yes", "1,0,M,n,yes", "1,0,u,n,M", "M"] {
        let folder = Folder::trial(SCHEMA, with_line(100, 50, place.replace('M', MARKER).as_bytes()));
        folder.succeed("ledger init trial.ledger.sqlite trial --rho 0.0001");
        for (arguments, code) in [("", 1), ("--steps 0", 2), ("--algorithm whitened --l1 1", 2)] {
            let outcome = folder.run(&format!("train trial.csv --overwrite --epsilon 1 {arguments}"));
            assert_eq!(outcome.code, Some(code), "{outcome:?}");
            is_nowhere(MARKER, &folder, &outcome, place);
        }
    }
}

#[test]
fn a_column_that_the_schema_does_not_declare_shows_up_nowhere() {
    let data = rows(100).replace("note", MARKER);
    let folder = Folder::trial(SCHEMA, data.as_bytes());
    let outcome = folder.succeed("train trial.csv --overwrite --epsilon 1 --steps 5");
    is_nowhere(MARKER, &folder, &outcome, "the name of a column");
    assert!(folder.succeed("verify trial.model.json --ledger trial.ledger.sqlite").stdout.ends_with("\nverified\n"));
}

#[test]
fn a_column_that_the_schema_does_not_declare_changes_no_bit() {
    let data = rows(200);
    let other: String = data
        .lines()
        .enumerate()
        .map(|(i, line)| {
            let cells: Vec<&str> = line.split(',').collect();
            format!(
                "{},{},{},{},{}\n",
                cells[0],
                cells[1],
                cells[2],
                if i == 0 { cells[3] } else { "secret" },
                cells[4]
            )
        })
        .collect();
    assert!(replay(SCHEMA, other.as_bytes(), "") == replay(SCHEMA, data.as_bytes(), ""));
}
