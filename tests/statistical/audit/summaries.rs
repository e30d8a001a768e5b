//! Summaries under attack, from the file of rows to the numbers in the file of answers: neighbours never show more than is claimed, and
//! show it where the run was given more than it claims.
//!
//! False alarms: 9 honest claims, each refuted with a probability of at most [`MISS`], under fixed seeds.

use std::path::Path;

use rhograd::data::{CsvFile, Schema};
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::privacy::{Adjacency, Epsilon, Rho};
use rhograd::statistics::evidence::{Counts, epsilon_lower, mu_lower};
use rhograd::summary::{SummaryNoise, SummaryRequest, summarize};
use rhograd::train::Budget;
use serde_json::Value;

use super::case::MISS;

const TRIALS: u64 = 1000;

/// Epsilon of pure runs, and mu of Gaussian ones.
const EPSILON: f64 = 2.0;
const MU: f64 = 3.0;

const SCHEMA: &str = r#"{"name":"trial","task":"regression","target":"x","target_lower":-1,"target_upper":1,
    "columns":{"c":{"type":"categorical","values":["u","v"]}}}"#;

/// Numbers and codes, as `src/private/query/summary.rs` counts them: what a row at the upper bound adds to a mean.
const AT_UPPER: [f64; 2] = [16_384.0, 32_767.0];

/// An attack: a question about two neighbouring files, and what it looks at.
struct Attack {
    statistic: &'static str,
    adjacency: Adjacency,
    /// Lines without and with the row.
    worlds: [&'static str; 2],
    /// What the sums are without noise, in steps.
    sums: [&'static [f64]; 2],
}

impl Attack {
    /// Where a release lies between the sums of both files: 0 without the row, 1 with it.
    fn place(&self, values: &[f64], step: f64) -> f64 {
        let [without, with] = self.sums;
        let along: Vec<f64> = with.iter().zip(without).map(|(b, a)| b - a).collect();
        let length: f64 = along.iter().map(|x| x * x).sum();
        let moved = values.iter().zip(without).zip(&along);
        moved.map(|((value, from), along)| (value / step - from) * along).sum::<f64>() / length
    }

    /// How often a file is taken for the one with the row, of all trials: `place` at `bar` or beyond.
    fn taken(&self, world: usize, noise: SummaryNoise, budget: &Budget, bar: f64) -> u64 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trial.csv");
        std::fs::write(&path, format!("x,c\n{}", self.worlds[world])).unwrap();
        let request = SummaryRequest {
            schema: Schema::parse(SCHEMA, Path::new("schema")).unwrap(),
            adjacency: self.adjacency,
            budget: budget.clone(),
            noise,
            statistics: vec![self.statistic.parse().unwrap()],
            accept_large_delta: false,
        };
        let one = |trial: u64| {
            let source = NoiseSource::insecure_from_seed(2 * trial + world as u64);
            let file = CsvFile::open(&path).unwrap();
            let made = summarize(file, &request, &mut Ledger::in_memory().unwrap(), source).unwrap();
            let made: Value = serde_json::from_str(&made.text).unwrap();
            let release = &made["facts"]["parts"][0]["releases"][0];
            let values = release["values"].as_array().unwrap().iter();
            let values: Vec<f64> = values.map(|value| value.as_str().unwrap().parse().unwrap()).collect();
            // Of a choice the place is the answer itself.
            release["planned"]["query"]["step"].as_f64().map_or(values[0], |step| self.place(&values, step))
        };
        (0..TRIALS).filter(|&trial| one(trial) >= bar).count() as u64
    }

    fn counts(&self, noise: SummaryNoise, budget: &Budget, bar: f64) -> Counts {
        let [false_positives, true_positives] = [0, 1].map(|world| self.taken(world, noise, budget, bar));
        Counts { false_positives, negatives: TRIALS, false_negatives: TRIALS - true_positives, positives: TRIALS }
    }

    /// What a run with this epsilon shows, where the bar lies at the sum with the row: half of all Laplace noise is beyond it.
    fn pure(&self, epsilon: f64) -> f64 {
        let budget = Budget::Epsilon(Epsilon::new(epsilon).unwrap(), None);
        let counts = self.counts(SummaryNoise::Laplace, &budget, 1.0);
        epsilon_lower(counts, 0.0, 1.0 - MISS).unwrap().epsilon
    }

    /// What a run with this mu shows, where the bar lies half way.
    fn gaussian(&self, mu: f64) -> f64 {
        let budget = Budget::Rho(Rho::from_f64(mu * mu / 2.0).unwrap(), None);
        mu_lower(self.counts(SummaryNoise::Normal, &budget, 0.5), 1.0 - MISS).unwrap()
    }
}

const SUMS: [Attack; 4] = [
    Attack {
        statistic: "count",
        adjacency: Adjacency::AddRemove,
        worlds: ["0,u\n", "0,u\n0,u\n"],
        sums: [&[1.0], &[2.0]],
    },
    Attack {
        statistic: "mean:x",
        adjacency: Adjacency::AddRemove,
        worlds: ["1,u\n", "1,u\n1,u\n"],
        sums: [&AT_UPPER, &[2.0 * AT_UPPER[0], 2.0 * AT_UPPER[1]]],
    },
    Attack {
        statistic: "mean:x",
        adjacency: Adjacency::ReplaceOne,
        worlds: ["-1,u\n", "1,u\n"],
        sums: [&[AT_UPPER[0], -AT_UPPER[1]], &AT_UPPER],
    },
    Attack {
        statistic: "histogram:c",
        adjacency: Adjacency::ReplaceOne,
        worlds: ["0,u\n", "0,v\n"],
        sums: [&[1.0, 0.0], &[0.0, 1.0]],
    },
];

#[test]
fn sums_with_gaussian_noise_show_what_they_claim_and_no_more() {
    for attack in &SUMS {
        let (honest, faulty) = (attack.gaussian(MU), attack.gaussian(1.5 * MU));
        let name = format!("{} {}", attack.statistic, attack.adjacency);
        assert!(honest <= MU && honest > 0.7 * MU, "{name}: {honest}");
        assert!(faulty > MU, "{name}: noise of two thirds goes unnoticed: {faulty}");
    }
}

#[test]
fn sums_with_laplace_noise_show_what_they_claim_and_no_more() {
    for attack in &SUMS {
        let (honest, faulty) = (attack.pure(EPSILON), attack.pure(2.0 * EPSILON));
        let name = format!("{} {}", attack.statistic, attack.adjacency);
        assert!(honest <= EPSILON, "{name}: {honest}");
        // A vector's noise has other directions than that of the attack; a single count has none.
        let least = if attack.statistic == "count" { 0.5 } else { 0.1 };
        assert!(honest > least * EPSILON, "{name}: {honest}");
        assert!(attack.statistic != "count" || faulty > EPSILON, "{name}: noise times 0.5 goes unnoticed: {faulty}");
    }
}

#[test]
fn a_bar_shows_no_more_than_it_claims() {
    // The answer is the number of the first value above, or -1.
    let attack = Attack {
        statistic: "first-above:c:2",
        adjacency: Adjacency::AddRemove,
        worlds: ["0,u\n", "0,u\n0,u\n"],
        sums: [&[], &[]],
    };
    let shown = |epsilon: f64| {
        let budget = Budget::Epsilon(Epsilon::new(epsilon).unwrap(), None);
        let counts = attack.counts(SummaryNoise::Laplace, &budget, 0.0);
        epsilon_lower(counts, 0.0, 1.0 - MISS).unwrap().epsilon
    };
    let (honest, faulty) = (shown(EPSILON), shown(12.0 * EPSILON));
    assert!(honest <= EPSILON, "{honest}");
    // One question uses a quarter of the budget, for bar and count have noise of their own.
    assert!(faulty > EPSILON, "a bar with a twelfth of the noise goes unnoticed: {faulty}");
}
