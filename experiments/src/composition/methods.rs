//! Ways to compute the epsilon of k Gaussian releases, and how they must be ordered.

use rhograd::accounting::compose::{Group, Optimal, advanced};
use rhograd::accounting::notion::ApproximateDp;
use rhograd::accounting::{gaussian, pld, rdp, zcdp};
use rhograd::error::Fallible;
use rhograd::privacy::{Adjacency, Delta, DpEvent, Mechanism};

use super::DELTA;
use crate::setup::Plant;

/// Sampling rate of the steps that the PLD accountant is given: so near to 1 that the releases cost what full ones do, and
/// not 1, for which it would use the closed form that it is compared with.
const NEARLY_ALL: f64 = 1.0 - 1e-9;

/// Width of the certified interval that the PLD accountant is asked for, relative to epsilon.
const PLD_WIDTH: f64 = 1e-3;

/// A way to compute an epsilon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// The Gaussian trade-off (Balle and Wang 2018, Theorem 8), with mu growing by the root of k.
    Exact,
    /// Privacy-loss distributions.
    Pld,
    /// Renyi divergences at the best real order (Mironov 2017).
    Rdp,
    /// rho = k/(2 z^2) at the best order (Canonne, Kamath, Steinke 2020, Proposition 12).
    ZcdpOptimal,
    /// `rho + 2 sqrt(rho ln(1/delta))` (Bun and Steinke 2016, Lemma 3.5).
    ZcdpClassical,
    /// The best that holds for k mechanisms of which only (epsilon, delta) is known (Kairouz, Oh, Viswanath 2015).
    Optimal,
    /// Dwork, Rothblum, Vadhan 2010, Theorem III.3.
    Advanced,
    /// The sum.
    Basic,
}

impl Method {
    pub(super) const ALL: [Method; 8] = [
        Method::Exact,
        Method::Pld,
        Method::Rdp,
        Method::ZcdpOptimal,
        Method::ZcdpClassical,
        Method::Optimal,
        Method::Advanced,
        Method::Basic,
    ];

    /// Pairs whose first epsilon is never above the second: the first knows all that the second does, and uses it better.
    pub(super) const ORDER: [(Method, Method); 7] = [
        (Method::Exact, Method::Pld),
        (Method::Pld, Method::Rdp),
        (Method::Rdp, Method::ZcdpOptimal),
        (Method::ZcdpOptimal, Method::ZcdpClassical),
        (Method::Exact, Method::Optimal),
        (Method::Optimal, Method::Advanced),
        (Method::Optimal, Method::Basic),
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Method::Exact => "exact",
            Method::Pld => "PLD",
            Method::Rdp => "RDP",
            Method::ZcdpOptimal => "zCDP, best order",
            Method::ZcdpClassical => "zCDP, classical",
            Method::Optimal => "optimal composition",
            Method::Advanced => "advanced composition",
            Method::Basic => "basic composition",
        }
    }

    /// Epsilon of `k` releases at the common delta, and a lower bound where the method gives one.
    ///
    /// With half the noise planted, the exact trade-off is that of the releases as they are made, while the others go by
    /// the noise that was promised.
    pub(super) fn epsilon(self, z: f64, k: u64, plant: Option<Plant>) -> Fallible<(f64, f64)> {
        let delta = Delta::new(DELTA)?;
        let event = DpEvent::repeated(Mechanism::Gaussian { noise_multiplier: z }, k);
        let relation = Adjacency::AddRemove;
        let known = |epsilon: f64| (epsilon, epsilon);
        Ok(match self {
            Method::Exact => {
                let made = if plant == Some(Plant::HalfNoise) { z / 2.0 } else { z };
                known(gaussian::epsilon((k as f64).sqrt() / made, delta)?.value())
            }
            Method::Pld => {
                let event = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: z }, NEARLY_ALL, k);
                let width = PLD_WIDTH * zcdp::epsilon_classical(0.0, k as f64 / (2.0 * z * z), delta)?.value();
                let found = pld::epsilon(&event, relation, delta, width)?;
                (found.upper, found.lower)
            }
            Method::Rdp => known(rdp::curve(&event, relation)?.to_approximate_dp(delta)?.epsilon()),
            Method::ZcdpOptimal => known(zcdp::of_event(&event, relation)?.to_epsilon_optimal(delta)?.value()),
            Method::ZcdpClassical => known(zcdp::of_event(&event, relation)?.to_epsilon_classical(delta)?.value()),
            Method::Optimal => known(optimal(z, k)?),
            Method::Advanced => {
                let one = single(z, DELTA / (2.0 * k as f64))?;
                known(advanced(one, k, Delta::new(DELTA / 2.0)?)?.epsilon())
            }
            Method::Basic => known(k as f64 * single(z, DELTA / k as f64)?.epsilon()),
        })
    }
}

/// The optimal composition, at the best of several shares of delta that the releases may fail with.
///
/// The last share leaves next to nothing, which is basic composition.
fn optimal(z: f64, k: u64) -> Fallible<f64> {
    let mut best = f64::INFINITY;
    for share in [0.1, 0.5, 0.9, 0.99, 1.0 - 1e-9] {
        let group = Group { guarantee: single(z, share * DELTA / k as f64)?, count: k };
        best = best.min(Optimal::new(&[group])?.epsilon(Delta::new(DELTA)?)?.value());
    }
    Ok(best)
}

/// What the classical theorems know of one release: its exact epsilon at its share of delta.
fn single(z: f64, delta: f64) -> Fallible<ApproximateDp> {
    ApproximateDp::new(gaussian::epsilon(1.0 / z, Delta::new(delta)?)?.value(), delta)
}
