//! Basic and advanced composition of (epsilon, delta) guarantees.

use crate::accounting::directed::{add_up, ln_delta_down, positive};
use crate::accounting::notion::{ApproximateDp, ApproximateZcdp, Zcdp};
use crate::accounting::rdp::mechanisms::pure_rho;
use crate::accounting::zcdp;
use crate::error::{Error, Fallible};
use crate::num::round::up;
use crate::privacy::Delta;

/// The composition of mechanisms by adding.
///
/// `(sum epsilon_j, 1 - prod(1 - delta_j))`.
///
/// # Privacy
/// An upper bound, rounded up, for mechanisms under one relation, each possibly chosen in view of the
/// outputs before it.
///
/// Reference: Dwork and Roth 2014, Theorem 3.16; Kairouz, Oh and Viswanath 2015 for the product.
pub fn basic(parts: &[ApproximateDp]) -> ApproximateDp {
    let nothing = ApproximateDp::pure(crate::accounting::notion::PureDp::default());
    parts.iter().fold(nothing, |total, part| total.compose(*part))
}

/// The sum of the deltas, which is the classical bound and at most 1.
///
/// `min{1, sum delta_j}`, rounded up.
///
/// Reference: Dwork and Roth 2014, Theorem 3.16.
pub fn basic_sum(parts: &[ApproximateDp]) -> f64 {
    parts.iter().fold(0.0, |sum, part| add_up(sum, part.delta())).min(1.0)
}

/// The composition of `k` mechanisms with the same (epsilon, delta) by the advanced theorem.
///
/// `(epsilon sqrt(2 k ln(1/delta')) + k epsilon (e^epsilon - 1), k delta + delta')`.
///
/// # Errors
/// When the sum of deltas reaches 1.
///
/// # Privacy
/// An upper bound, rounded up, as for [`basic`].
///
/// Reference: Dwork, Rothblum and Vadhan 2010, Theorem III.3.
pub fn advanced(one: ApproximateDp, k: u64, slack: Delta) -> Fallible<ApproximateDp> {
    let (e, times) = (one.epsilon(), up(k as f64, if k > 1 << 53 { 1 } else { 0 }));
    let epsilon = if e == 0.0 || k == 0 {
        0.0
    } else {
        let root = (2.0 * times).sqrt() * (-ln_delta_down(slack)).sqrt();
        up(e * root + times * e * e.exp_m1(), 8)
    };
    let spent = if one.delta() == 0.0 || k == 0 { 0.0 } else { up(one.delta() * times, 1) };
    let delta = add_up(spent, slack.value());
    if delta.is_nan() || delta >= 1.0 {
        return Err(Error::parameter("delta", format!("adds up to {delta}"), "use smaller deltas"));
    }
    ApproximateDp::new(if epsilon.is_nan() { f64::INFINITY } else { epsilon }, delta)
}

/// The heterogeneous advanced composition of several mechanisms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advanced {
    /// `min{sum epsilon_j, rho + 2 sqrt(rho ln(1/delta'))}` with `rho = sum epsilon_j^2 / 2`.
    pub epsilon: f64,
    /// `min{sum epsilon_j, rho + 2 sqrt(rho ln(1/delta'))}` with the tight `rho = sum epsilon_j tanh(epsilon_j / 2)`.
    pub epsilon_tight: f64,
    /// The smaller of `sum epsilon_j` and what the tight rho costs by the best order, deltas combined to `1 - prod(1 - delta_j)`.
    pub epsilon_optimal: f64,
    /// What the mechanisms leave of the total delta, rounded down.
    pub slack: f64,
}

/// The composition of mechanisms with different parameters at a total delta.
///
/// `epsilon = min{sum epsilon_j, sum epsilon_j^2/2 + sqrt(2 ln(1/delta') sum epsilon_j^2)}` with
/// `delta' = delta - sum delta_j`.
///
/// # Errors
/// When the mechanisms leave nothing of the total delta.
///
/// # Privacy
/// Upper bounds, rounded up, as for [`basic`].
///
/// Reference: Kairouz, Oh and Viswanath 2015, Theorem 3.5 and section 3.4; Bun and Steinke 2016,
/// Proposition 1.4, Lemma 3.5 and section 8, the conversion by Canonne, Kamath and Steinke 2020, Proposition 12.
pub fn heterogeneous(parts: &[ApproximateDp], total: Delta) -> Fallible<Advanced> {
    let spent = basic_sum(parts);
    let slack = if spent == 0.0 { total.value() } else { (total.value() - spent).next_down() };
    if slack.is_nan() || slack <= 0.0 {
        return Err(Error::parameter(
            "delta",
            format!("is {}, but the mechanisms already spend {spent}", total.value()),
            "raise the total delta",
        ));
    }
    let (mut sum, mut half_squares, mut tight) = (0.0, 0.0, 0.0);
    for part in parts {
        let e = part.epsilon();
        sum = add_up(sum, e);
        half_squares = add_up(half_squares, if e == 0.0 { 0.0 } else { up(e * e / 2.0, 2) });
        tight = add_up(tight, if e.is_finite() { pure_rho(e)? } else { f64::INFINITY });
    }
    let slack = Delta::new(positive("delta", slack)?)?;
    let ln_delta = basic(parts).ln_delta();
    let concentrated = ApproximateZcdp::new(ln_delta, Zcdp::new(0.0, tight)?)?.to_epsilon_optimal(total)?;
    let at = |rho: f64| Ok::<_, Error>(zcdp::epsilon_classical(0.0, rho, slack)?.value().min(sum));
    let (epsilon, epsilon_tight) = (at(half_squares)?, at(tight)?);
    let epsilon_optimal = concentrated.value().min(epsilon_tight);
    Ok(Advanced { epsilon, epsilon_tight, epsilon_optimal, slack: slack.value() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_combine_from_above() {
        let parts: Vec<_> = (0..10).map(|_| ApproximateDp::new(0.1, 0.05).unwrap()).collect();
        let total = basic(&parts);
        let truth = 1.0 - 0.95f64.powi(10);
        assert!(total.delta() >= truth && total.delta() < truth * (1.0 + 1e-12) && basic_sum(&parts) > truth);
        let repeated = crate::accounting::compose::ln_union_repeated(0.05f64.ln(), 10.0).exp();
        assert!((repeated / truth - 1.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_left_is_refused() {
        let part = ApproximateDp::new(0.1, 1e-6).unwrap();
        assert!(heterogeneous(&[part], Delta::new(1e-6).unwrap()).is_err());
        assert!(advanced(part, 10_000_000, Delta::new(1e-6).unwrap()).is_err());
    }
}
