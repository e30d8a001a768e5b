//! What sampling does to truncated concentrated privacy: a published constant beside the one that is certified here, and the divergences of normal
//! noise. Formulas are checked, nothing is drawn.

use rhograd::accounting::rdp;
use rhograd::accounting::zcdp::TruncatedCdp;
use rhograd::error::Fallible;
use rhograd::plot::{Panel, Scale, Series};

use crate::fit::range;
use crate::results::{Results, Row, cell};
use crate::setup::{Plant, Setup};
use crate::verdict::{Finding, Verdict};

/// The claim.
pub const CLAIM: &str = "sampling at rate s turns rho into at most 13 s^2 rho up to the order ln(1/s)/(4 rho), 9.1 s^2 rho by our account, and into more by six times that order (formula check)";

const RATES: [f64; 4] = [0.1, 0.01, 1e-3, 1e-4];
const RHOS: [f64; 3] = [0.1, 0.03, 0.01];

/// The one that the picture shows.
const SHOWN: f64 = 0.03;

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
    let mut constants = Vec::new();
    for rho in RHOS {
        constants.extend(certified(rho, factor)?.into_iter().map(|(_, constant)| constant));
    }
    setup.draw(&[panel(&results, &certified(SHOWN, factor)?)])?;
    let at = |picked: &dyn Fn(f64) -> bool| range(results.column("ratio", |row| picked(row.number("share"))));
    let within = at(&|share| share <= 1.0).1;
    Ok(Verdict(vec![
        Finding::exact(
            "constant certified for samples of a fixed size, over the theorem's",
            range(constants).1 / CONSTANT,
            (0.5, 1.0),
        ),
        Finding::exact("largest divergence up to the last order, over the bound", within / CONSTANT, (0.0, 1.0)),
        Finding::exact("constant that normal noise needs there", within, (1.0, 2.0)),
        Finding::exact(
            "least divergence at six times that order, over the bound",
            at(&|share| share == 6.0).0 / CONSTANT,
            (1.0, f64::INFINITY),
        ),
    ]))
}

/// Constants that the accountant certifies for samples of a fixed size of a mechanism with this rho, by the share of the last order.
///
/// # Errors
/// When one cannot be computed.
fn certified(rho: f64, factor: f64) -> Fallible<Vec<(f64, f64)>> {
    let mut found = Vec::new();
    for rate in RATES {
        let Some(last) = last_order(rate, rho) else { continue };
        let mechanism = TruncatedCdp::new(rho / (factor * factor), f64::INFINITY)?;
        for share in SHARES.into_iter().filter(|share| *share <= 1.0 && share * last > 1.0) {
            let sampled = mechanism.sampled_without_replacement(rate, share * last)?;
            found.push((share, sampled.rho() / (rate * rate * rho)));
        }
    }
    Ok(found)
}

fn panel(results: &Results, certified: &[(f64, f64)]) -> Panel {
    let within = SHARES.into_iter().filter(|share| *share <= 1.0);
    let mut series = vec![Series::theory("the theorem", within.map(|share| (share, CONSTANT)).collect())];
    let most = |share: f64| range(certified.iter().filter(|(at, _)| *at == share).map(|(_, constant)| *constant)).1;
    let shares = SHARES.into_iter().filter(|share| certified.iter().any(|(at, _)| at == share));
    series.push(Series::theory(
        "certified here, largest of all rates",
        shares.map(|share| (share, most(share))).collect(),
    ));
    for rate in RATES {
        let picked = |row: &Row<'_>| row.is("rate", rate) && row.is("rho", SHOWN);
        let points = results.rows().filter(picked).map(|row| (row.number("share"), row.number("ratio"), 0.0));
        series.push(Series::measured(format!("rate {rate}"), points.collect()));
    }
    Panel::of(format!("sampled normal noise, rho {SHOWN}"), series)
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
