//! Attacks on the small trainer, and an auditor that cannot see.
//!
//! Power: at 4,000 runs in each world the limits of both rates are within 0.03 of the truth, and a quarter more signal moves
//! them by 0.05 (an added row) and 0.016 (a replaced one, where the limits are within 0.008).

use rhograd::privacy::Adjacency;
use rhograd::statistics::evidence::{Counts, mu_lower};
use rhograd_faults::invariants::neighbours::Table;
use rhograd_faults::{BOUND, CLIP_NORM, Honest, LOG2_SCALE, Parts, Sums, clipped};

use super::noise::Scaled;

/// Probability that the bound of an audit of an honest trainer is wrong.
const MISS: f64 = 1e-6;

const RUNS: u64 = 4000;

/// A clip of 1.25 times what is paid for.
struct WideClip;

impl Parts for WideClip {
    fn sums(&self, file: &[u8]) -> Sums {
        clipped(self.rows(file), BOUND / 4 * 5, CLIP_NORM)
    }
}

/// The claim is refuted by what tells the first releases of two worlds apart.
fn refuted(parts: &dyn Parts, adjacency: Adjacency) -> bool {
    let rows = Table::of("1,0.5,v,yes", 3);
    let with = |line| rows.clone().and(Table::of(line, 1)).bytes();
    let worlds = match adjacency {
        Adjacency::AddRemove => [rows.bytes(), with("10,1,u,yes")],
        Adjacency::ReplaceOne => [with("10,1,u,no"), with("10,1,u,yes")],
    };
    let [absent, present] = worlds.map(|file| parts.sums(&file)(&[0.0; 6]));
    let along: Vec<f64> = absent.iter().zip(&present).map(|(a, p)| (p - a) as f64).collect();
    let score = |values: &mut dyn Iterator<Item = i64>| values.zip(&along).map(|(v, a)| v as f64 * a).sum::<f64>();
    let middle = (score(&mut absent.iter().copied()) + score(&mut present.iter().copied())) / 2.0;
    let says_present = |sum: &[i64], run: u64| {
        let noise = parts.noise(&parts.source(run), 0, sum.len());
        score(&mut sum.iter().zip(noise).map(|(sum, noise)| sum + noise)) > middle
    };
    let counts = Counts {
        false_positives: (0..RUNS).filter(|&run| says_present(&absent, run)).count() as u64,
        negatives: RUNS,
        false_negatives: (RUNS..2 * RUNS).filter(|&run| !says_present(&present, run)).count() as u64,
        positives: RUNS,
    };
    let claimed = parts.sensitivity(adjacency) as f64 / 2f64.powi(LOG2_SCALE as i32);
    mu_lower(counts, 1.0 - MISS).unwrap() > claimed
}

#[test]
fn an_audit_finds_a_wide_clip_and_little_noise_in_both_worlds() {
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        assert!(!refuted(&Honest, adjacency), "{adjacency}: the honest trainer");
        assert!(refuted(&WideClip, adjacency), "{adjacency}: the clip");
        assert!(refuted(&Scaled(0.8), adjacency), "{adjacency}: the noise");
    }
}

/// An auditor shows most of what leaks, and nothing where nothing does.
fn sees_leaks(auditor: fn(Counts) -> f64) -> Result<(), String> {
    // Errors of 1,000 runs in each world, and the mu between which the answer must lie.
    for (errors, least, most) in [(0, 4.0, f64::INFINITY), (100, 2.2, 2.57), (400, 0.2, 0.51), (500, 0.0, 0.0)] {
        let counts = Counts { false_positives: errors, negatives: 1000, false_negatives: errors, positives: 1000 };
        let shown = auditor(counts);
        if !(least..=most).contains(&shown) {
            return Err(format!("{errors} errors show a mu of {shown}"));
        }
    }
    Ok(())
}

/// Rates by dividing whole numbers.
fn whole_rates(counts: Counts) -> f64 {
    let hits = (counts.positives - counts.false_negatives) / counts.positives;
    let alarms = counts.false_positives / counts.negatives;
    if hits > alarms { 6.0 } else { 0.0 }
}

#[test]
fn fault_34_the_auditor_divides_whole_numbers() {
    sees_leaks(|counts| mu_lower(counts, 0.999).unwrap()).unwrap();
    assert!(sees_leaks(whole_rates).unwrap_err().starts_with("100 errors"));
}
