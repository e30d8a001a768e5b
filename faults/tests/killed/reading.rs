//! Faults of what is read, and how.

use std::collections::BTreeSet;

use rhograd::kernel::Rows;
use rhograd_faults::invariants::markers::is_absent;
use rhograd_faults::invariants::neighbours::{LABELS, Table};
use rhograd_faults::{Honest, Parts, encoded, lines_of};

use super::{MOVES, SHOWS, pair_finds};

/// The cells of a column, line by line.
fn column(file: &[u8], index: usize) -> Vec<String> {
    let cell = |line: Vec<u8>| String::from_utf8_lossy(&line).lines().nth(1)?.split(',').nth(index).map(str::to_owned);
    lines_of(file).filter_map(cell).collect()
}

fn ordinary() -> Table {
    Table::of("2,0,u,yes", 60).and(Table::of("2,0,v,yes", 40))
}

/// The categories are those that occur.
struct DomainOfRows;

impl Parts for DomainOfRows {
    fn schema(&self, file: &[u8]) -> String {
        let seen: BTreeSet<String> = column(file, 2).into_iter().collect();
        LABELS.replace(r#"["u","v","w"]"#, &format!("{seen:?}").replace('{', "[").replace('}', "]"))
    }
}

#[test]
fn fault_21_categories_are_read_off_the_rows() {
    pair_finds(&DomainOfRows, [ordinary(), ordinary().and(Table::of("2,0,never seen,yes", 1))], SHOWS);
}

/// Numbers are centred by their exact mean.
struct MeanOfRows;

impl Parts for MeanOfRows {
    fn schema(&self, file: &[u8]) -> String {
        let numbers: Vec<f64> = column(file, 0).iter().filter_map(|cell| cell.parse().ok()).collect();
        let mean = numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
        LABELS.replace(r#""lower":0,"upper":10"#, &format!(r#""lower":{},"upper":{}"#, mean - 5.0, mean + 5.0))
    }
}

#[test]
fn fault_22_numbers_are_scaled_by_the_mean_of_the_rows() {
    pair_finds(&MeanOfRows, [ordinary(), ordinary().and(Table::of("10,0,u,no", 1))], MOVES);
}

/// A quote may span lines.
struct QuotesSpanLines;

impl Parts for QuotesSpanLines {
    fn rows(&self, file: &[u8]) -> Rows {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file);
        let mut joined = Vec::new();
        for record in reader.byte_records() {
            let cells: Vec<Vec<u8>> = record.unwrap().iter().map(one_line).collect();
            joined.extend_from_slice(&cells.join(&b','));
            joined.push(b'\n');
        }
        encoded(&joined, &self.schema(file))
    }
}

/// One line of what was several.
fn one_line(cell: &[u8]) -> Vec<u8> {
    cell.iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }).collect()
}

#[test]
fn fault_32_a_quote_swallows_the_lines_below() {
    pair_finds(&QuotesSpanLines, [ordinary(), Table::of("\"1,0,u,yes", 1).and(ordinary())], MOVES);
}

const MARKER: &str = "7f3a9c51e08d46b2a4c1d97e5b60f823";

/// What a run says about a file to whoever asks: the model's shape and the releases that it makes.
fn said(parts: &dyn Parts, file: &[u8]) -> String {
    format!("{:?} {:?}", parts.rows(file).shape(), parts.sums(file)(&[0.0; 6]).len())
}

/// A reader that quotes what it cannot read.
fn quoting(file: &[u8]) -> Result<String, String> {
    match column(file, 0).iter().enumerate().find(|(_, cell)| cell.parse::<f64>().is_err()) {
        Some((line, cell)) => Err(format!("line {}: {cell:?} is no number", line + 2)),
        None => Ok(said(&Honest, file)),
    }
}

#[test]
fn fault_29_a_cell_stands_in_an_error() {
    let file = ordinary().and(Table::of(&format!("{MARKER},0,u,yes"), 1)).bytes();
    is_absent(MARKER, "what is said", said(&Honest, &file).as_bytes()).unwrap();
    assert!(is_absent(MARKER, "the error", quoting(&file).unwrap_err().as_bytes()).is_err());
}
