//! Faults of summaries: what a reader or a schema does before rows are counted.

use std::collections::BTreeMap;

use rhograd_faults::invariants::summaries::{answers_agree, schema, summarized};

use crate::{MOVES, SHOWS};

/// A fault that looks at the file when it says how to read it, or changes the file before it is read.
#[track_caller]
fn finds(by: impl Fn(&str) -> String, file: impl Fn(&str) -> String, reason: &str) {
    let honest = schema();
    answers_agree(|file, adjacency| summarized(&honest, file, adjacency)).unwrap();
    let faulty = |bytes: &[u8], adjacency| {
        let text = String::from_utf8_lossy(bytes);
        summarized(&by(&text), file(&text).as_bytes(), adjacency)
    };
    let found = answers_agree(faulty).unwrap_err();
    assert!(found.contains(reason), "{found}");
}

fn as_declared(_: &str) -> String {
    schema()
}

/// The numbers in the first column.
fn numbers(file: &str) -> Vec<f64> {
    let cells = file.lines().skip(1).filter_map(|line| line.split(',').next()?.parse().ok());
    cells.filter(|number: &f64| number.is_finite()).collect()
}

#[test]
fn fault_46_bounds_are_those_of_the_rows() {
    let of_rows = |file: &str| {
        let numbers = numbers(file);
        let (lower, upper) = numbers.iter().fold((0.0, 1.0), |(l, u), x| (f64::min(l, *x), f64::max(u, *x)));
        schema().replace("\"lower\":0,\"upper\":10", &format!("\"lower\":{lower:?},\"upper\":{upper:?}"))
    };
    finds(of_rows, str::to_owned, SHOWS);
}

#[test]
fn fault_47_values_are_those_of_enough_rows() {
    let of_rows = |file: &str| {
        let mut rows: BTreeMap<&str, u32> = BTreeMap::new();
        let word = |value: &str| !value.is_empty() && value.bytes().all(|b| b.is_ascii_lowercase() || b == b' ');
        let values = file.lines().skip(1).filter_map(|line| line.split(',').nth(2)).filter(|value| word(value));
        values.for_each(|value| *rows.entry(value).or_default() += 1);
        // Counted without noise.
        let enough: Vec<&str> = rows.into_iter().filter(|(_, rows)| *rows >= 4).map(|(value, _)| value).collect();
        schema().replace("[\"u\",\"v\",\"w\"]", &format!("{enough:?}"))
    };
    finds(of_rows, str::to_owned, SHOWS);
}

#[test]
fn fault_48_a_line_is_read_twice() {
    let twice = |file: &str| {
        let mut lines = file.lines();
        let header = lines.next().unwrap_or_default();
        lines.fold(format!("{header}\n"), |text, line| text + line + "\n" + line + "\n")
    };
    finds(as_declared, twice, MOVES);
}

#[test]
fn fault_49_gaps_are_filled_with_the_mean_of_the_column() {
    let filled = |file: &str| {
        let numbers: Vec<f64> = numbers(file).into_iter().map(|x| x.clamp(0.0, 10.0)).collect();
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let line = |line: &str| match line.split_once(',') {
            Some((cell, rest)) if cell.parse::<f64>().is_ok_and(f64::is_finite) => format!("{cell},{rest}\n"),
            Some((_, rest)) => format!("{mean},{rest}\n"),
            None => format!("{line}\n"),
        };
        let mut lines = file.lines();
        let header = format!("{}\n", lines.next().unwrap_or_default());
        header + &lines.map(line).collect::<String>()
    };
    finds(as_declared, filled, MOVES);
}
