//! What sampling does to truncated concentrated privacy: a published constant beside the divergences of normal noise. Formulas are
//! checked, nothing is drawn.

use rhograd::accounting::rdp;
use rhograd::error::Fallible;
use rhograd::plot::{Panel, Scale, Series};

use crate::fit::range;
use crate::results::{Results, Row, cell};
use crate::setup::{Plant, Setup};
use crate::verdict::{Finding, Verdict};

/// The claim.
pub const CLAIM: &str = "sampling at rate s turns rho into at most 13 s^2 rho up to the order ln(1/s)/(4 rho), and into more by six times that (formula check)";

const RATES: [f64; 4] = [0.1, 0.01, 1e-3, 1e-4];
const RHOS: [f64; 3] = [0.1, 0.03, 0.01];

/// Orders, in units of the last one of the theorem; what is beyond 1 is beyond it.
const SHARES: [f64; 8] = [0.05, 0.2, 0.5, 0.8, 1.0, 2.0, 4.0, 6.0];

/// The constant of the theorem.
const CONSTANT: f64 = 13.0;

/// The last order of the theorem, where its condition on rate and rho holds.
fn last_order(rate: f64, rho: f64) -> Option<f64> {
    let reach = -rate.ln();
    (reach >= 3.0 * rho * (2.0 - rho.log2())).then_some(reach / (4.0 * rho))
}

/// Computes, draws and judges.
///
/// # Errors
/// When results cannot be written, and for a planted step size: there are no steps.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::WrongStep, "there are no steps here")?;
    let factor = if setup.plant == Some(Plant::HalfNoise) { 0.5 } else { 1.0 };
    let configuration = setup.configuration(&format!("constant {CONSTANT}"));
    let path = setup.file("results.csv");
    let mut results = Results::open(&path, &["rate", "rho", "share"], &["ratio"], &configuration, setup.earlier)?;
    for rate in RATES {
        for rho in RHOS {
            let Some(last) = last_order(rate, rho) else { continue };
            for share in SHARES {
                let key = [rate.to_string(), rho.to_string(), share.to_string()];
                if !results.has(&key) {
                    let (alpha, noise) = ((share * last).max(1.01), factor / (2.0 * rho).sqrt());
                    let divergence = rdp::poisson_gaussian(rate, noise, alpha)?.worst();
                    results.add(&key, &[cell(divergence / (rate * rate * rho * alpha))])?;
                }
            }
        }
    }
    setup.draw(&[panel(&results)])?;
    let at = |picked: &dyn Fn(f64) -> bool| range(results.column("ratio", |row| picked(row.number("share"))));
    let within = at(&|share| share <= 1.0).1;
    Ok(Verdict(vec![
        Finding::exact("largest divergence up to the last order, over the bound", within / CONSTANT, (0.0, 1.0)),
        Finding::exact("constant that normal noise needs there", within, (1.0, 2.0)),
        Finding::exact(
            "least divergence at six times that order, over the bound",
            at(&|share| share == 6.0).0 / CONSTANT,
            (1.0, f64::INFINITY),
        ),
    ]))
}

fn panel(results: &Results) -> Panel {
    let within = SHARES.into_iter().filter(|share| *share <= 1.0);
    let mut series = vec![Series::theory("the theorem", within.map(|share| (share, CONSTANT)).collect())];
    for rate in RATES {
        let picked = |row: &Row<'_>| row.is("rate", rate) && row.is("rho", 0.03);
        let points = results.rows().filter(picked).map(|row| (row.number("share"), row.number("ratio"), 0.0));
        series.push(Series::measured(format!("rate {rate}"), points.collect()));
    }
    Panel::of("sampled normal noise, rho 0.03", series)
        .x("order over ln(1/s)/(4 rho)", Scale::Log)
        .y("divergence over s^2 rho alpha", Scale::Log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_decides_where_the_theorem_speaks() {
        assert!(last_order(0.1, 0.1).is_some_and(|last| (last - 10f64.ln() / 0.4).abs() < 1e-12));
        assert_eq!(last_order(0.5, 0.1), None);
    }
}
