//! What the release of the schema cost, and what it adds to the run.

use super::facts::{DIGITS, Facts};
use crate::accounting::notion::{ApproximateZcdp, Zcdp};
use crate::data::SchemaRelease;
use crate::error::Fallible;
use crate::num::round::{decimal_up, up};
use crate::privacy::{Delta, add_deltas, total_rho};

/// Whether the epsilon of a released schema follows from the rho that it states.
pub(crate) fn states_its_cost(release: &SchemaRelease) -> Fallible<bool> {
    let (Some((rho, fails)), Ok(epsilon), Ok(delta)) =
        (release.cost(), release.epsilon.parse::<f64>(), release.delta.parse().map(Delta::new))
    else {
        return Ok(false);
    };
    let ln_fails = if fails == 0.0 { f64::NEG_INFINITY } else { up(fails.ln(), 2).min(0.0) };
    let cost = ApproximateZcdp::new(ln_fails, Zcdp::new(0.0, rho)?)?;
    // Rounding the rho that is stated may lift epsilon by as much.
    let least = cost.to_epsilon_optimal(delta?)?.value() * (1.0 - 1e-5);
    Ok(epsilon >= least)
}

/// What the release of the schema adds, and what it and the run are together, where the run's cost is a rho.
///
/// Reference: Bun and Steinke 2016, Lemmas 8.2 and 8.8.
pub(super) fn with_schema(facts: &Facts, release: &SchemaRelease) -> Fallible<String> {
    let alone = format!(
        "the schema was itself released from these rows, at {}-approximate {}-zCDP, which is not in the numbers above",
        release.approximate_delta, release.rho
    );
    let Some((rho, fails)) = release.cost().filter(|_| !facts.is_claimed()) else { return Ok(alone) };
    let rho = up(rho + total_rho(&facts.charges())?.upper(), 1);
    let ln_fails = if fails == 0.0 { f64::NEG_INFINITY } else { up(fails.ln(), 2) };
    let together = ApproximateZcdp::new(ln_fails, Zcdp::new(0.0, rho)?)?;
    let delta = Delta::new(add_deltas(facts.delta()?.value(), fails))?;
    let epsilon = decimal_up(together.to_epsilon_optimal(delta)?.value(), DIGITS);
    let delta = decimal_up(delta.value(), DIGITS);
    Ok(format!("{alone}; both together are ({epsilon}, {delta})-differentially private"))
}
