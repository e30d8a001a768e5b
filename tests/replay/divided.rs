//! Hold-outs of persons, at the gate: neighbours differ in the person who appears last, so that the same key divides the others in
//! the same way.

use std::path::Path;

use ndarray::Array1;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::data::{CsvFile, Schema};
use rhograd::grid::{FULL_SCALE, MomentWeights, PERSON_WEIGHT, ScoreStep, Scoring, gram_one};
use rhograd::kernel::Persons;
use rhograd::ledger::Ledger;
use rhograd::loss::Glm;
use rhograd::noise::{NoiseSource, integer_noise};
use rhograd::preprocess::{EncodedRows, Encoder};
use rhograd::privacy::{Adjacency, Charge, DatasetId, GaussianCharge, L2, NoiseLaw, PrivacyUnit, Scope};
use rhograd::private::{DescribeQuery, Gradient, HoldOut, PrivateDataset, Sensitive, charge_run, query};

use crate::adjacency;
use crate::invariants::neighbours::{CHANGES, Change, LABELS};
use crate::invariants::people::{MAX_ROWS, People, SORTS, WHO, of_persons};
use crate::invariants::replay::moved;

const BOUND: u64 = 1 << 26;

const LOG2_SCALE: u32 = 30;

/// Pairs of each change.
const PAIRS: usize = 10 * SORTS.len();

const MOMENTS: MomentWeights = MomentWeights {
    count: 1000 * FULL_SCALE as u32,
    features: 1000,
    squares: 1000,
    label: 1000,
    label_square: 1000,
    shares: 1000 * FULL_SCALE as u32,
    sizes: 1000 * FULL_SCALE as u32,
};

const SCORING: Scoring = Scoring::Label;

const WEIGHT: u32 = 1 << 16;

fn gram_bound() -> u64 {
    PERSON_WEIGHT * 127 * 3 * u64::from(gram_one(FULL_SCALE).unsigned_abs()).pow(2)
}

fn dataset(people: &People, adjacency: Adjacency) -> PrivateDataset {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trial.csv");
    std::fs::write(&path, people.bytes()).unwrap();
    let schema = Schema::parse(&of_persons(LABELS), Path::new("trial.schema.json")).unwrap();
    let file = CsvFile::open(&path).unwrap();
    let encoded = Encoder::new(&schema, &file, true).unwrap().encode_grouped(&file, &|_| Ok(())).unwrap().0;
    let EncodedRows { rows, persons, .. } = encoded;
    let unit = PrivacyUnit::person(WHO).unwrap();
    let scope = Scope { dataset: DatasetId::new("trial").unwrap(), adjacency, unit };
    PrivateDataset::new(Persons::gather(rows, &persons.unwrap(), MAX_ROWS as u32), scope)
}

/// What each part of the persons is asked.
fn asked(part: &PrivateDataset, weights: &Array1<f64>) -> Vec<Sensitive<L2>> {
    let gradient = Gradient { loss: Glm::Logistic.into(), weights, label_scale: 1.0, clip_norm: 0.1 };
    let scored = ScoreStep { weights: weights.as_slice().unwrap(), label_scale: 1.0, scoring: SCORING, weight: WEIGHT };
    vec![
        part.moments(&MOMENTS).unwrap(),
        part.clipped(BOUND).unwrap().gradient_sum(&gradient).unwrap(),
        part.gram(gram_bound(), 127).unwrap(),
        part.scores(Glm::Logistic.into(), &scored).unwrap(),
    ]
}

/// By how much each answer may move.
fn sensitivities(adjacency: Adjacency) -> [u64; 4] {
    [
        query::Moments { weights: MOMENTS, columns: 2 }.sensitivity(adjacency),
        query::ClippedSum { clip_steps: BOUND }.sensitivity(adjacency),
        query::Gram { clip_steps: gram_bound() }.sensitivity(adjacency),
        query::Scores { scoring: SCORING, weight: WEIGHT }.sensitivity(adjacency),
    ]
}

/// What goes into all releases on those held out and on the others, under one key.
fn inputs(people: &People, adjacency: Adjacency, key: u64, weights: &Array1<f64>) -> [Vec<Vec<i128>>; 2] {
    let noise = NoiseLaw::FlooredNormal;
    let event =
        |sensitivity| GaussianCharge { what: "trial".into(), sensitivity, log2_scale: LOG2_SCALE, noise, count: 1 };
    let both = [sensitivities(adjacency); 2].concat();
    let charges: Vec<Charge> = both.into_iter().map(|sensitivity| event(sensitivity).into()).collect();
    let source = || NoiseSource::insecure_from_seed(key);
    let data = dataset(people, adjacency);
    let mut run = charge_run(&mut Ledger::in_memory().unwrap(), data.scope(), &charges, source()).unwrap();
    let how = match data.public_len() {
        Some(persons) => HoldOut::Exactly { rows: persons / 2 },
        // A half: exp(-x) = 1/2.
        None => HoldOut::Coins { exponent: (2f64.ln() * 2f64.powi(64)) as u64 },
    };
    let (held_out, rest) = run.hold_out(data, how).unwrap();
    let mut release = 0;
    [held_out, rest].map(|part| {
        let mut input = |value| {
            let released = run.permit::<GaussianCharge>().unwrap().release(value).unwrap();
            let noise = integer_noise(noise, LOG2_SCALE, released.values().len(), &source(), release).unwrap();
            release += 1;
            released.values().iter().zip(noise).map(|(value, noise)| value - i128::from(noise)).collect()
        };
        asked(&part, weights).into_iter().map(&mut input).collect()
    })
}

#[test]
fn a_person_is_held_out_or_not_and_moves_that_part_within_its_sensitivity() {
    let mut rng = ChaCha8Rng::seed_from_u64(83);
    for change in CHANGES {
        let adjacency = adjacency(change);
        let (mut largest, mut in_part) = ([0.0f64; 4], [0usize; 2]);
        for pair in 0..PAIRS {
            let table = People::new(9, &mut rng);
            let sort = SORTS[pair % SORTS.len()];
            let neighbour = table.neighbour(change, sort, true, &mut rng);
            let weights = (0..6).map(|_| rng.random_range(-1.0..1.0)).collect();
            let [before, after] = [&table, &neighbour].map(|people| inputs(people, adjacency, pair as u64, &weights));
            let differ = [0, 1].map(|part| before[part] != after[part]);
            assert_ne!(differ, [true; 2], "{change:?} {sort:?}: a person in both parts\n{table:?}\n{neighbour:?}");
            for part in 0..2 {
                in_part[part] += usize::from(differ[part]);
                let each = before[part].iter().zip(&after[part]).zip(sensitivities(adjacency));
                for (largest, ((before, after), sensitivity)) in largest.iter_mut().zip(each) {
                    let share =
                        moved(before, after, sensitivity).unwrap_or_else(|e| panic!("{change:?} {sort:?}: {e}"));
                    *largest = largest.max(share);
                }
            }
        }
        println!("{change:?}: {largest:.3?}, in the parts {in_part:?}");
        let least = if change == Change::Replace { 0.4 } else { 0.75 };
        assert!(largest.iter().all(|share| *share > least) && largest[1] > 0.8, "{change:?}: {largest:?}");
        assert!(in_part.iter().all(|count| *count > PAIRS / 5), "{change:?}: {in_part:?}");
    }
}
