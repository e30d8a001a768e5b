//! Faults of persons as the unit of privacy.
//!
//! Power: of 100 fair coins more than 80 fall on one side with a probability below 1e-9, and 20 rows with a coin each are all left out
//! with one of 1e-6.

use ndarray::Array1;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::error::Fallible;
use rhograd::kernel::{NOBODY, Persons};
use rhograd::ledger::Ledger;
use rhograd::loss::Glm;
use rhograd::noise::{NoiseSource, integer_noise};
use rhograd::privacy::{
    Adjacency, Charge, Claim, DatasetId, GaussianCharge, NoiseLaw, PoissonGaussianCharge, PrivacyUnit, Scope,
};
use rhograd::private::{ChargedRun, Gradient, HoldOut, PrivateDataset, Released, charge_run};
use rhograd_faults::invariants::neighbours::Change;
use rhograd_faults::invariants::people::{MAX_ROWS, People, Sort};
use rhograd_faults::{
    BOUND, CLIP_NORM, HonestOfPersons, LOG2_SCALE, Parts, Sums, clipped, clipped_persons, encoded_persons,
    replays_of_persons,
};

use super::MOVES;

/// A trainer on persons whose sums are made in another way.
struct Summed(fn(&[u8]) -> Sums);

impl Parts for Summed {
    fn rows(&self, file: &[u8]) -> rhograd::kernel::Rows {
        HonestOfPersons.rows(file)
    }

    fn sums(&self, file: &[u8]) -> Sums {
        (self.0)(file)
    }
}

/// The replay on persons of every sort passes the trainer without the fault, and finds the fault.
#[track_caller]
fn replay_finds(fault: fn(&[u8]) -> Sums) {
    let used = replays_of_persons(&HonestOfPersons).unwrap();
    assert!(used > 0.99, "{used}");
    let found = replays_of_persons(&Summed(fault)).unwrap_err();
    assert!(found.contains(MOVES), "{found}");
}

/// The sums over the rows for which `belongs` holds, by person.
fn of_some(file: &[u8], belongs: impl Fn(usize) -> bool) -> Sums {
    let (rows, mut person_of) = encoded_persons(file);
    person_of.iter_mut().enumerate().filter(|(row, _)| !belongs(*row)).for_each(|(_, person)| *person = NOBODY);
    clipped_persons(rows, &person_of)
}

fn added(parts: Vec<Sums>) -> Sums {
    Box::new(move |weights| {
        let sums: Vec<Vec<i64>> = parts.iter().map(|sums| sums(weights)).collect();
        (0..weights.len()).map(|j| sums.iter().map(|sum| sum[j]).sum()).collect()
    })
}

#[test]
fn fault_36_rows_are_clipped_and_not_persons() {
    replay_finds(|file| clipped(encoded_persons(file).0, BOUND, CLIP_NORM));
}

#[test]
fn fault_37_a_person_is_cut_in_two_by_a_block() {
    const BLOCK: usize = 32;
    replay_finds(|file| {
        let blocks = encoded_persons(file).1.len().div_ceil(BLOCK);
        added((0..blocks).map(|block| of_some(file, move |row| row / BLOCK == block)).collect())
    });
}

/// Numbers of rows and of persons, each with its part.
type Divide = dyn Fn(&[u8], u64) -> [Vec<i128>; 2];

fn scope() -> Scope {
    let unit = PrivacyUnit::person("who").unwrap();
    Scope { dataset: DatasetId::new("trial").unwrap(), adjacency: Adjacency::AddRemove, unit }
}

fn gradient(weights: &Array1<f64>) -> Gradient<'_> {
    Gradient { loss: Glm::Logistic.into(), weights, label_scale: 1.0, clip_norm: CLIP_NORM }
}

/// Noise so large that the accountant confirms a generous claim at once.
const LOG2_NOISE: u32 = LOG2_SCALE + 6;

fn event(count: u64) -> GaussianCharge {
    let noise = NoiseLaw::FlooredNormal;
    GaussianCharge { what: "gradient".into(), sensitivity: BOUND, log2_scale: LOG2_NOISE, noise, count }
}

/// The persons of a file behind rhograd's gate.
fn persons(file: &[u8]) -> PrivateDataset {
    let (rows, person_of) = encoded_persons(file);
    PrivateDataset::new(Persons::gather(rows, &person_of, MAX_ROWS as u32), scope())
}

fn paid(charge: impl Into<Charge>, key: u64) -> ChargedRun {
    let source = NoiseSource::insecure_from_seed(key);
    charge_run(&mut Ledger::in_memory().unwrap(), &scope(), &[charge.into()], source).unwrap()
}

/// What went into a release of a run with this key.
fn input(released: &Released, key: u64, release: u32) -> Vec<i128> {
    let (values, source) = (released.values(), NoiseSource::insecure_from_seed(key));
    let noise = integer_noise(NoiseLaw::FlooredNormal, LOG2_NOISE, values.len(), &source, release).unwrap();
    values.iter().zip(noise).map(|(value, noise)| value - i128::from(noise)).collect()
}

/// A person with many rows leaves, and no more than one part of the persons moves; over some keys, either does.
fn a_person_is_in_one_part(divide: &Divide) -> Result<(), String> {
    let [with, without] = leaving();
    let mut moved = [0; 2];
    for key in 0..40 {
        let (before, after) = (divide(&with, key), divide(&without, key));
        let differ = [0, 1].map(|part| before[part] != after[part]);
        if differ == [true; 2] {
            return Err(format!("both parts move under key {key}"));
        }
        (0..2).for_each(|part| moved[part] += usize::from(differ[part]));
    }
    if moved.contains(&0) { Err(format!("too little is seen: {moved:?}")) } else { Ok(()) }
}

/// A file in which the last person has 20 rows that pull as hard as they can, and the file without that person.
fn leaving() -> [Vec<u8>; 2] {
    let others = People::new(14, &mut ChaCha8Rng::seed_from_u64(38));
    let with = others.clone().and(People::of("10,1,u,no", 1, 20));
    [with.bytes(), others.bytes()]
}

/// The coins of rows or of persons.
fn held_out(numbers: usize, key: u64) -> Vec<bool> {
    let mut coins = ChaCha8Rng::seed_from_u64(key);
    (0..numbers).map(|_| coins.random()).collect()
}

#[test]
fn fault_38_a_hold_out_splits_persons() {
    a_person_is_in_one_part(&|file, key| {
        let weights = Array1::zeros(6);
        let mut run = paid(event(2), key);
        // A half: exp(-x) = 1/2.
        let half = HoldOut::Coins { exponent: (2f64.ln() * 2f64.powi(64)) as u64 };
        let (out, rest) = run.hold_out(persons(file), half).unwrap();
        [(&out, 0), (&rest, 1)].map(|(part, release)| {
            let sum = part.clipped(BOUND).unwrap().gradient_sum(&gradient(&weights)).unwrap();
            input(&run.permit::<GaussianCharge>().unwrap().release(sum).unwrap(), key, release)
        })
    })
    .unwrap();
    let by_rows = a_person_is_in_one_part(&|file, key| {
        let out = held_out(1000, key);
        [true, false].map(|part| {
            let sums = of_some(file, |row| out[row] == part);
            sums(&[0.0; 6]).into_iter().map(i128::from).collect()
        })
    });
    assert!(by_rows.unwrap_err().contains("both parts move"));
}

/// Steps on samples with a rate of one half.
const STEPS: usize = 100;

/// A person with many rows is in half of the samples, as the accountant takes for granted.
fn persons_are_sampled(inputs: &dyn Fn(&[u8]) -> Vec<Vec<i128>>) -> Result<(), String> {
    let [with, without] = leaving();
    let (with, without) = (inputs(&with), inputs(&without));
    let moved = with.iter().zip(&without).filter(|(with, without)| with != without).count();
    if with.len() == STEPS && (20..=80).contains(&moved) { Ok(()) } else { Err(format!("in {moved} of {STEPS}")) }
}

#[test]
fn fault_39_rows_are_sampled_and_not_persons() {
    const KEY: u64 = 39;
    let weights = Array1::zeros(6);
    persons_are_sampled(&|file| {
        let exponent = (2f64.ln() * 2f64.powi(64)) as u64;
        let claim = Claim { epsilon: 20.0, delta: 1e-6, rho: 20.0 };
        let mut run = paid(PoissonGaussianCharge { sampled: event(STEPS as u64), exponent, claim }, KEY);
        let data = persons(file);
        let clipped = data.clipped(BOUND).unwrap();
        let mut step = |release| {
            let permit = run.permit::<PoissonGaussianCharge>().unwrap();
            input(&permit.release(&clipped, &gradient(&weights)).unwrap(), KEY, release)
        };
        (0..STEPS as u32).map(&mut step).collect()
    })
    .unwrap();
    let by_rows = persons_are_sampled(&|file| {
        let step = |step| {
            let chosen = held_out(1000, step);
            of_some(file, |row| chosen[row])(&[0.0; 6]).into_iter().map(i128::from).collect()
        };
        (0..STEPS as u64).map(step).collect()
    });
    assert_eq!(by_rows, Err("in 100 of 100".into()));
}

/// An account that was opened for one unit takes no charge for another, and counts nothing of it.
fn units_stay_apart(reserve: &dyn Fn(&mut Ledger, &Scope) -> Fallible<()>) -> Result<(), String> {
    let units = [PrivacyUnit::Row, PrivacyUnit::person("who").unwrap(), PrivacyUnit::person("home").unwrap()];
    for own in &units {
        for other in &units {
            let (own, other) = (Scope { unit: own.clone(), ..scope() }, Scope { unit: other.clone(), ..scope() });
            let mut ledger = Ledger::in_memory().unwrap();
            reserve(&mut ledger, &own).unwrap();
            let before = ledger.summary(&own.dataset).unwrap().spent;
            let taken = reserve(&mut ledger, &other).is_ok();
            let counted = ledger.summary(&own.dataset).unwrap().spent > before;
            if (taken, counted) != (own.unit == other.unit, own.unit == other.unit) {
                return Err(format!("a run about a {} in an account about a {}", other.unit, own.unit));
            }
        }
    }
    Ok(())
}

#[test]
fn fault_40_an_account_of_persons_takes_a_run_about_rows() {
    units_stay_apart(&|ledger, scope| ledger.reserve(scope, &[event(1)], true).map(drop)).unwrap();
    let mixed = units_stay_apart(&|ledger, scope| {
        // The account keeps the unit that it has.
        let unit = ledger.summary(&scope.dataset).map_or(scope.unit.clone(), |summary| summary.unit);
        ledger.reserve(&Scope { unit, ..scope.clone() }, &[event(1)], true).map(drop)
    });
    assert!(mixed.unwrap_err().starts_with("a run about a person"));
}

/// Lines without an identifier are all somebody's.
fn named(file: &[u8]) -> Vec<u8> {
    let name = |line: &[u8]| {
        let at = line.iter().position(|&byte| byte == b',').unwrap_or(line.len());
        let id = String::from_utf8_lossy(&line[..at]).into_owned();
        let missing = ["", "NA", "nan", "null"].contains(&id.trim().trim_matches('"').trim());
        if missing && !line.is_empty() { [b"nobody", &line[at..]].concat() } else { line.to_vec() }
    };
    file.split(|&byte| byte == b'\n').map(name).collect::<Vec<_>>().join(&b'\n')
}

#[test]
fn fault_41_rows_without_an_identifier_are_one_person() {
    let rng = &mut ChaCha8Rng::seed_from_u64(41);
    let people = People::new(14, rng);
    assert!(named(&people.bytes()) == people.bytes());
    let mut neighbours = (0..9).map(|_| people.neighbour(Change::Insert, Sort::PartlyNamed, false, rng).bytes());
    assert!(neighbours.any(|file| named(&file).windows(6).any(|window| window == b"nobody")));
    replay_finds(|file| HonestOfPersons.sums(&named(file)));
}
