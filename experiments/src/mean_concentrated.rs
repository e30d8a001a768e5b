//! A notion that is not closed under post-processing, on an exact example: formulas are checked, nothing is drawn.

use rhograd::accounting::mean_concentrated::MeanConcentrated;
use rhograd::error::Fallible;
use rhograd::num::special::normal_tail;
use rhograd::plot::{Panel, Scale, Series};

use crate::fit::range;
use crate::results::{Results, cell};
use crate::setup::{Plant, Setup};
use crate::verdict::{Finding, Verdict};

/// The claim.
pub const CLAIM: &str =
    "a threshold on normal noise leaves its Renyi divergences, and breaks its mean-concentrated bound (formula check)";

/// Distance of both laws in deviations, as claimed.
const MU: f64 = 1.0;

/// The largest threshold, in quarters.
const QUARTERS: u32 = 48;

/// Orders at which divergences are looked at.
const ORDERS: [f64; 5] = [1.1, 1.5, 2.0, 4.0, 16.0];

/// Renyi divergence of two outcomes.
fn renyi(p: f64, q: f64, alpha: f64) -> f64 {
    let power = |ln_p: f64, ln_q: f64| alpha * ln_p + (1.0 - alpha) * ln_q;
    let (yes, no) = (power(p.ln(), q.ln()), power((-p).ln_1p(), (-q).ln_1p()));
    let most = yes.max(no);
    (most + ((yes - most).exp() + (no - most).exp()).ln()) / (alpha - 1.0)
}

/// Computes, draws and judges.
///
/// # Errors
/// When results cannot be written, and for a planted step size: there are no steps.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::WrongStep, "there are no steps here")?;
    // With half the noise the laws are twice as far apart as claimed.
    let apart = if setup.plant == Some(Plant::HalfNoise) { 2.0 * MU } else { MU };
    let configuration = setup.configuration(&format!("mu {MU}, orders {ORDERS:?}"));
    let path = setup.file("results.csv");
    let values = ["mean", "spread", "divergence"];
    let mut results = Results::open(&path, &["threshold"], &values, &configuration, setup.earlier)?;
    for quarter in 0..=QUARTERS {
        let threshold = f64::from(quarter) / 4.0;
        let key = [threshold.to_string()];
        if !results.has(&key) {
            let (p, q) = (normal_tail(threshold - apart), normal_tail(threshold));
            let found = MeanConcentrated::of_two_outcomes(p, q)?;
            let share = ORDERS.map(|alpha| renyi(p, q, alpha) / (MU * MU / 2.0 * alpha));
            results.add(&key, &[cell(found.mean()), cell(found.spread()), cell(range(share).1)])?;
        }
    }
    let normal = MeanConcentrated::gaussian(MU)?;
    let column = |name: &str| results.column(name, |_| true);
    setup.draw(&panels(&results, normal))?;
    let largest = |name: &str, unit: f64| range(column(name)).1 / unit;
    Ok(Verdict(vec![
        Finding::exact(
            "largest spread after a threshold, over that before",
            largest("spread", normal.spread()),
            (1.02, 2.0),
        ),
        Finding::exact("largest mean of the loss after, over that before", largest("mean", normal.mean()), (0.0, 1.0)),
        Finding::exact("largest Renyi divergence after, over that before", largest("divergence", 1.0), (0.0, 1.0)),
    ]))
}

fn panels(results: &Results, normal: MeanConcentrated) -> Vec<Panel> {
    let of = |name: &str| results.rows().map(|row| (row.number("threshold"), row.number(name))).collect::<Vec<_>>();
    let flat = |value: f64| of("mean").into_iter().map(|(x, _)| (x, value)).collect::<Vec<_>>();
    let exact = |points: Vec<(f64, f64)>| points.into_iter().map(|(x, y)| (x, y, 0.0)).collect::<Vec<_>>();
    vec![
        Panel::of(
            "is N(0, 1) or N(1, 1) above a threshold?",
            vec![
                Series::theory("normal laws", flat(normal.spread())),
                Series::measured("threshold", exact(of("spread"))),
            ],
        )
        .x("threshold", Scale::Linear)
        .y("spread of the privacy loss", Scale::Linear),
        Panel::of(
            "the same, by Renyi divergences",
            vec![Series::theory("normal laws", flat(1.0)), Series::measured("threshold", exact(of("divergence")))],
        )
        .x("threshold", Scale::Linear)
        .y("largest divergence over alpha/2", Scale::Linear),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divergences_of_two_outcomes_are_those_of_the_definition() {
        let direct: f64 = (0.3f64 * 0.3 / 0.2 + 0.7 * 0.7 / 0.8_f64).ln();
        assert!((renyi(0.3, 0.2, 2.0) - direct).abs() < 1e-14);
    }
}
