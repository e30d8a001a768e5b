//! What a plan claims, and what the errors of an attack prove about it.

use crate::accounting::notion::{ApproximateDp, GaussianDp, TradeOff};
use crate::accounting::{claim, gaussian};
use crate::error::Fallible;
use crate::privacy::{Charge, Delta, total_rho};
use crate::statistics::evidence::{Counts, epsilon_lower, mu_lower, range_lower};
use crate::train::Plan;

/// Where the curve of a run that is neither Gaussian nor one choice is tested: the few errors of an attack say most
/// about large deltas.
const DELTAS: [f64; 8] = [0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5];

/// An epsilon below this is no point to test: rates would have to be equal up to delta.
const MIN_EPSILON: f64 = 0.3;

/// Bounds on epsilon are certified to this times a width that is finer than any attack.
const ABOUT: f64 = 10.0;

/// What all releases of a run together guarantee under its relation.
#[derive(Clone, Debug, PartialEq)]
pub enum Guarantee {
    /// No attack does better than telling `N(0, 1)` from `N(mu, 1)`, `mu = sqrt(2 rho)`: Gaussian releases on all rows.
    Gaussian {
        /// The mu of all releases together, rounded upward.
        mu: f64,
    },
    /// The log-likelihood ratios of the one choice that is released lie in an interval of this length.
    Range {
        /// Its length, rounded upward.
        epsilon: f64,
    },
    /// Epsilon at several deltas, for everything else.
    Curve {
        /// Pairs of delta and the epsilon at it, rounded upward.
        points: Vec<(f64, f64)>,
    },
}

/// What was shown, beside what is claimed: mu, the range, or epsilon at the delta.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// The claim.
    pub claimed: f64,
    /// The lower bound that an attack proves with its confidence.
    pub proved: f64,
    /// The delta of both, for a curve.
    pub delta: Option<f64>,
}

impl Shown {
    /// Whether the claim is false, with the confidence of the bound.
    pub fn refutes(&self) -> bool {
        self.proved > self.claimed
    }
}

impl Guarantee {
    /// The guarantee that the charges of a plan add up to.
    ///
    /// # Errors
    /// When no finite bound on epsilon is found.
    ///
    /// # Privacy
    /// Upper bounds all. One choice is tested for its bounded range, from which its epsilon and rho follow.
    ///
    /// # Reference
    /// Dong, Roth and Su 2022, Corollary 2.1 (Gaussian composition); Durfee and Rogers 2019 (bounded range).
    pub fn of(plan: &Plan) -> Fallible<Self> {
        let charges = plan.charges();
        if charges.iter().all(Charge::is_gaussian) {
            return Ok(Guarantee::Gaussian { mu: gaussian::mu_upper_from_rho(total_rho(&charges)?.upper())? });
        }
        if let [Charge::Exponential(event)] = charges.as_slice()
            && event.count == 1
        {
            return Ok(Guarantee::Range { epsilon: event.epsilon_up() });
        }
        let at = |delta: f64| {
            claim::epsilon(&charges, plan.scope.adjacency, Delta::new(delta)?, ABOUT).map(|epsilon| (delta, epsilon))
        };
        let points = DELTAS.into_iter().map(at).collect::<Fallible<Vec<_>>>()?;
        let telling: Vec<_> = points.iter().copied().filter(|(_, epsilon)| *epsilon >= MIN_EPSILON).collect();
        Ok(Guarantee::Curve { points: if telling.is_empty() { points } else { telling } })
    }

    /// The least false negative rate that any attack of this false positive rate can have: the claim as a trade-off.
    ///
    /// # Errors
    /// When the rate is no probability, or the guarantee no guarantee.
    ///
    /// # Reference
    /// Dong, Roth and Su 2022, Definition 2.6 and Proposition 2.5; for a range epsilon the product of the odds of both errors is
    /// at least `e^-epsilon`.
    pub fn least_false_negative_rate(&self, false_positive_rate: f64) -> Fallible<f64> {
        let rate = false_positive_rate;
        match self {
            Guarantee::Gaussian { mu } => GaussianDp::new(*mu)?.to_trade_off()?.false_negative_rate(rate),
            Guarantee::Range { epsilon } => Ok((1.0 - rate) / (1.0 - rate + epsilon.exp() * rate)),
            Guarantee::Curve { points } => points.iter().try_fold(0.0, |least: f64, &(delta, epsilon)| {
                let pair = TradeOff::approximate(ApproximateDp::new(epsilon, delta)?)?;
                Ok(least.max(pair.false_negative_rate(rate)?))
            }),
        }
    }

    /// The number of points at which the guarantee can be tested.
    pub(super) fn points(&self) -> usize {
        match self {
            Guarantee::Gaussian { .. } | Guarantee::Range { .. } => 1,
            Guarantee::Curve { points } => points.len(),
        }
    }

    /// What counts prove at one of the points.
    pub(super) fn test(&self, point: usize, counts: Counts, confidence: f64) -> Fallible<Shown> {
        match self {
            Guarantee::Gaussian { mu } => {
                Ok(Shown { claimed: *mu, proved: mu_lower(counts, confidence)?, delta: None })
            }
            Guarantee::Range { epsilon } => {
                Ok(Shown { claimed: *epsilon, proved: range_lower(counts, confidence)?, delta: None })
            }
            Guarantee::Curve { points } => {
                let (delta, claimed) = points[point];
                let proved = epsilon_lower(counts, delta, confidence)?.epsilon;
                Ok(Shown { claimed, proved, delta: Some(delta) })
            }
        }
    }
}
