//! Faults of rows with weights: a row is paid for as if it had the largest weight that is declared.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rhograd::grid::{LabelCoding, WEIGHT_ONE, weight_code, weight_of};
use rhograd::kernel::{Caps, label_sum};
use rhograd_faults::invariants::neighbours::{Change, HEADER, Kind, LABELS, Table};
use rhograd_faults::invariants::replay::moved;
use rhograd_faults::{BOUND, encoded};

use super::MOVES;

/// The largest weight that is declared; some numbers in the second column are larger.
const LARGEST: f64 = 0.5;

/// The sum of what rows add alone, each times its weight.
fn weighted(table: &Table, weigh: impl Fn(f64) -> u64) -> Vec<i128> {
    let schema = LABELS.replace(r#""z":{"type":"numeric","lower":-1,"upper":1},"#, "");
    let mut sum: Vec<i128> = Vec::new();
    for line in table.bytes().split(|&byte| byte == b'\n').skip(1).filter(|line| !line.is_empty()) {
        let rows = encoded(&[HEADER.as_bytes(), line].concat(), &schema);
        let alone = label_sum(&rows, &Caps::new(&rows, BOUND), LabelCoding::Two);
        let cell = line.split(|&byte| byte == b',').nth(1).and_then(|cell| std::str::from_utf8(cell).ok());
        let weight = cell.and_then(|cell| cell.parse().ok()).filter(|weight| (0.0..=100.0).contains(weight));
        let weight = i128::from(weight.map_or(0, &weigh));
        sum.resize(alone.len(), 0);
        sum.iter_mut().zip(alone).for_each(|(sum, own)| *sum += i128::from(own) * weight);
    }
    sum
}

/// The largest share of the stated sensitivity that a row which comes or goes uses.
fn largest(weigh: impl Fn(f64) -> u64) -> Result<f64, String> {
    let mut rng = ChaCha8Rng::seed_from_u64(58);
    let stated = LabelCoding::Two.spread(16 * BOUND) * WEIGHT_ONE;
    (0..80).try_fold(0.0, |most: f64, number| {
        let table = Table::ending_in(Kind::Ordinary, &mut rng);
        let kind = if number % 2 == 0 { Kind::Extreme } else { Kind::Ordinary };
        let other = table.neighbour(Change::Insert, kind, false, &mut rng);
        let [before, after] = [&table, &other].map(|table| weighted(table, &weigh));
        Ok(most.max(moved(&before, &after, stated)?))
    })
}

#[test]
fn fault_58_a_weight_above_the_largest_that_is_declared_is_let_through() {
    let used = largest(|weight| weight_of(weight_code(weight / LARGEST))).unwrap();
    assert!(used > 0.4, "{used}");
    let found = largest(|weight| (weight / LARGEST * WEIGHT_ONE as f64).round() as u64).unwrap_err();
    assert!(found.contains(MOVES), "{found}");
}
