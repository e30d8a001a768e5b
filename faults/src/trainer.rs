//! The trainer made of parts, and its replay on neighbours.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rhograd::privacy::Adjacency;

use crate::invariants::neighbours::{CHANGES, Change, KINDS, Kind, Table};
use crate::invariants::people::{People, SORTS};
use crate::invariants::replay::{Run, agree};
use crate::{BOUND, LOG2_SCALE, Parts, STEPS};

/// Trains on a file; `tape` holds the values to release in place of fresh ones.
pub fn trained(parts: &dyn Parts, file: &[u8], run: u64, tape: Option<&[Vec<i128>]>) -> (Run, Vec<Vec<i128>>) {
    let (sums, source) = (parts.sums(file), parts.source(run));
    let rows = parts.rows(file);
    let (rows, dimension) = (rows.len(), rows.shape().dimension());
    let (mut weights, mut released) = (vec![0.0; dimension], Vec::new());
    let (mut inputs, mut public) = (Vec::new(), vec![format!("{dimension} coefficients")]);
    for step in 0..STEPS {
        let sum: Vec<i128> = sums(&weights).into_iter().map(i128::from).collect();
        if parts.stops(&sum) {
            break;
        }
        let fresh = || {
            let noise = parts.noise(&source, step as u32, sum.len());
            sum.iter().zip(noise).map(|(sum, noise)| sum + i128::from(noise)).collect()
        };
        let opened: Vec<i128> = tape.and_then(|tape| tape.get(step).cloned()).unwrap_or_else(fresh);
        let unit = parts.rate(rows) / (BOUND as f64 * parts.divisor(rows));
        for (weight, along) in weights.iter_mut().zip(parts.direction(&sum, &opened)) {
            *weight -= along as f64 * unit;
        }
        public.push(format!("release {step} with noise 2^{LOG2_SCALE}"));
        inputs.push(Some(sum));
        released.push(opened);
    }
    public.push(format!("model {weights:?}"));
    (Run { inputs, public }, released)
}

/// Checks the replay of a trainer on one pair of neighbours; the largest share of the sensitivity that was used.
///
/// # Errors
/// What differs between both runs beside the released values, or moves further than the sensitivity allows.
pub fn recorded(parts: &dyn Parts, adjacency: Adjacency, before: &Table, after: &Table) -> Result<f64, String> {
    recorded_files(parts, adjacency, [&before.bytes(), &after.bytes()])
}

/// Checks the replay of a trainer on a file and its neighbour.
///
/// # Errors
/// What differs, or moves further than the sensitivity allows.
pub fn recorded_files(parts: &dyn Parts, adjacency: Adjacency, [before, after]: [&[u8]; 2]) -> Result<f64, String> {
    let (run, released) = trained(parts, before, 7, None);
    let (replay, _) = trained(parts, after, 7, Some(&released));
    let shares = agree(&run, &replay, &[parts.sensitivity(adjacency); STEPS])?;
    Ok(shares.into_iter().fold(0.0, f64::max))
}

/// Checks the replay of a trainer on neighbours of every kind; the largest share of a sensitivity that was used.
///
/// # Errors
/// What differs, or moves further than the sensitivity allows, in the first pair of neighbours in which something does.
pub fn replays(parts: &dyn Parts) -> Result<f64, String> {
    let mut rng = ChaCha8Rng::seed_from_u64(34);
    let table = Table::ending_in(Kind::Ordinary, &mut rng);
    over_changes(parts, &table.bytes(), &mut |change| {
        [KINDS; 4].concat().into_iter().map(|kind| table.neighbour(change, kind, false, &mut rng).bytes()).collect()
    })
}

/// Checks the replay of a trainer on neighbours that differ in all rows of one person of every sort; the largest share of a
/// sensitivity that was used.
///
/// # Errors
/// What differs, or moves further than the sensitivity allows, in the first pair of neighbours in which something does.
pub fn replays_of_persons(parts: &dyn Parts) -> Result<f64, String> {
    let mut rng = ChaCha8Rng::seed_from_u64(36);
    let people = People::new(14, &mut rng);
    over_changes(parts, &people.bytes(), &mut |change| {
        [SORTS; 4].concat().into_iter().map(|sort| people.neighbour(change, sort, false, &mut rng).bytes()).collect()
    })
}

fn over_changes(
    parts: &dyn Parts,
    file: &[u8],
    neighbours: &mut dyn FnMut(Change) -> Vec<Vec<u8>>,
) -> Result<f64, String> {
    let mut largest = 0.0f64;
    for change in CHANGES {
        let adjacency = if change == Change::Replace { Adjacency::ReplaceOne } else { Adjacency::AddRemove };
        let mut share = 0.0f64;
        for neighbour in neighbours(change) {
            share = share.max(recorded_files(parts, adjacency, [file, &neighbour])?);
        }
        if share < 0.9 {
            return Err(format!("{change:?} uses {share} of the sensitivity: the check sees too little"));
        }
        largest = largest.max(share);
    }
    Ok(largest)
}
