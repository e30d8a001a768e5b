//! Renyi divergence at one order that may fail with a small probability.

use super::convert::{Form, epsilon_at_order};
use super::curve::RdpCurve;
use super::mechanisms::pure;
use super::single_order::ln_delta_lossless;
use crate::accounting::directed::{add_up, delta_from_ln, ln_probability, ln_union, nonnegative};
use crate::accounting::notion::{ApproximateDp, ApproximateZcdp, Zcdp};
use crate::error::{Error, Fallible};
use crate::privacy::{Delta, Epsilon};

/// delta-approximate Renyi privacy at one order: `P = (1-delta) P' + delta P''` and `Q = (1-delta) Q' + delta Q''` with
/// `D_alpha(P'||Q') <= r`.
///
/// It says so of neighbours in either order, each with a decomposition of its own, under the relation of the mechanism that it
/// was found for. Closed under post-processing: what is done to the output is done to each part of the mixture.
///
/// ```
/// use rhograd::accounting::notion::ApproximateDp;
/// use rhograd::accounting::rdp::ApproximateRenyi;
/// use rhograd::privacy::Delta;
/// # fn main() -> rhograd::error::Fallible<()> {
/// // Ten mechanisms that are (0.1, 1e-8)-DP, at order 30.
/// let one = ApproximateRenyi::of_approximate_dp(ApproximateDp::new(0.1, 1e-8)?, 30.0)?;
/// let ten = (1..10).try_fold(one, |all, _| all.compose(one))?;
/// assert!(ten.renyi() <= 1.5 && (ten.delta() - 1e-7).abs() < 1e-13);
/// assert!(ten.to_epsilon(Delta::new(1e-6)?)?.value() < 1.9);
/// # Ok(())
/// # }
/// ```
///
/// # Reference
/// Bun and Steinke 2016, Definition 8.1 at one order; Steinke 2022.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ApproximateRenyi {
    alpha: f64,
    renyi: f64,
    ln_delta: f64,
}

impl ApproximateRenyi {
    /// A bound from an order, the divergence there and the logarithm of delta.
    ///
    /// # Errors
    /// When `alpha` is not a finite number above 1, `renyi` is negative or NaN, or `ln_delta` is positive or NaN.
    pub fn new(alpha: f64, renyi: f64, ln_delta: f64) -> Fallible<Self> {
        if !(alpha > 1.0 && alpha.is_finite()) {
            let cure = "use a finite order such as 2; an infinite one is (epsilon, delta) itself";
            return Err(Error::parameter("alpha", format!("is {alpha}, must be above 1"), cure));
        }
        let renyi = nonnegative("renyi divergence", renyi)?;
        Ok(ApproximateRenyi { alpha, renyi, ln_delta: ln_probability("ln delta", ln_delta)? })
    }

    /// What every curve of Renyi divergences says at an order, without a failure.
    ///
    /// `(alpha, r(alpha), 0)`.
    ///
    /// # Errors
    /// When `alpha` is not a finite number above 1.
    pub fn of_curve(curve: &RdpCurve, alpha: f64) -> Fallible<Self> {
        Self::new(alpha, curve.at(alpha)?, f64::NEG_INFINITY)
    }

    /// What (epsilon, delta)-DP says at an order.
    ///
    /// The largest divergence of an epsilon-DP mechanism, and the same delta; at most `alpha epsilon^2 / 2`. Both laws are mixtures of
    /// two that are epsilon-close, and of anything with weight delta (Kairouz, Oh and Viswanath 2015).
    ///
    /// # Errors
    /// When `alpha` is not a finite number above 1.
    ///
    /// # Privacy
    /// An upper bound, rounded up; attained by the mixture of randomised response and telling all.
    ///
    /// # Reference
    /// Steinke 2022; Bun and Steinke 2016, Lemma 8.3.
    pub fn of_approximate_dp(guarantee: ApproximateDp, alpha: f64) -> Fallible<Self> {
        Self::new(alpha, pure(guarantee.epsilon(), alpha)?, guarantee.ln_delta())
    }

    /// What delta-approximate zCDP says at an order.
    ///
    /// `(alpha, xi + rho alpha, delta)`.
    ///
    /// # Errors
    /// When `alpha` is not a finite number above 1.
    pub fn of_approximate_zcdp(guarantee: ApproximateZcdp, alpha: f64) -> Fallible<Self> {
        let zcdp = guarantee.zcdp();
        Self::new(alpha, crate::accounting::zcdp::renyi(zcdp.xi(), zcdp.rho(), alpha)?, guarantee.ln_delta())
    }

    /// The order.
    pub fn alpha(self) -> f64 {
        self.alpha
    }

    /// The divergence at the order, of the parts that do not fail.
    pub fn renyi(self) -> f64 {
        self.renyi
    }

    /// The logarithm of the failure probability.
    pub fn ln_delta(self) -> f64 {
        self.ln_delta
    }

    /// The failure probability, rounded up.
    pub fn delta(self) -> f64 {
        delta_from_ln(self.ln_delta)
    }

    /// The bound at a smaller order, where the same divergence holds.
    ///
    /// Renyi divergences do not fall with the order, and the mixture stays.
    ///
    /// # Errors
    /// When `alpha` is at most 1 or above the order of this bound.
    ///
    /// # Reference
    /// van Erven and Harremoes 2014, Theorem 3.
    pub fn at_smaller_order(self, alpha: f64) -> Fallible<Self> {
        if alpha > self.alpha {
            return Err(Error::parameter("alpha", "is above the order of the bound", "take a smaller one"));
        }
        Self::new(alpha, self.renyi, self.ln_delta)
    }

    /// Both mechanisms, the second possibly chosen in view of the first output.
    ///
    /// `(alpha, r + r', 1 - (1 - delta)(1 - delta'))`, rounded up. The part of both laws in which neither failed is again a pair of
    /// laws, in which divergences of an order add.
    ///
    /// # Errors
    /// When the orders differ: bring the larger one down with [`ApproximateRenyi::at_smaller_order`].
    ///
    /// # Reference
    /// Mironov 2017, Proposition 1; Bun and Steinke 2016, Lemma 8.2 (there with the sum of deltas).
    pub fn compose(self, other: Self) -> Fallible<Self> {
        if self.alpha != other.alpha {
            return Err(Error::parameter("alpha", "differs between both", "bring both to the smaller order"));
        }
        let renyi = add_up(self.renyi, other.renyi);
        Ok(ApproximateRenyi { renyi, ln_delta: ln_union(self.ln_delta, other.ln_delta), ..self })
    }

    /// The delta at an epsilon.
    ///
    /// `delta + (1 - delta) delta'` with `delta'` the largest one that the divergence allows, [`ln_delta_lossless`].
    ///
    /// # Errors
    /// Never for a valid value; the conversion checks again.
    ///
    /// # Privacy
    /// An upper bound, rounded up.
    ///
    /// # Reference
    /// Asoodeh, Liao, Calmon, Kosut and Sankar 2021; Bun and Steinke 2016, Lemma 8.8.
    pub fn to_approximate_dp(self, epsilon: Epsilon) -> Fallible<ApproximateDp> {
        let rest = ln_delta_lossless(self.alpha, self.renyi, epsilon)?;
        ApproximateDp::from_epsilon_and_ln_delta(epsilon.value(), ln_union(self.ln_delta, rest))
    }

    /// The epsilon at a total delta.
    ///
    /// `r + ln(1 - 1/alpha) - (ln delta' + ln alpha)/(alpha - 1)` at `delta' = (total - delta)/(1 - delta)`; infinite when delta leaves
    /// nothing of the total.
    ///
    /// # Errors
    /// Never for a valid value; the conversion checks again.
    ///
    /// # Privacy
    /// An upper bound, rounded up.
    ///
    /// # Reference
    /// Canonne, Kamath and Steinke 2020, Proposition 12; Bun and Steinke 2016, Lemma 8.8.
    pub fn to_epsilon(self, total: Delta) -> Fallible<Epsilon> {
        match ApproximateZcdp::new(self.ln_delta, Zcdp::default())?.remaining_delta(total) {
            Some(delta) => Epsilon::new(epsilon_at_order(self.alpha, self.renyi, delta, Form::Improved)?),
            None => Ok(Epsilon::INFINITE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::finite::Pair;
    use crate::accounting::notion::PureDp;

    /// The law that tells all with probability delta and is a given one otherwise, and its neighbour.
    fn mixture(inner: &Pair, delta: f64) -> Pair {
        let spread = |law: &[f64], ends: [f64; 2]| {
            law.iter().map(|p| (1.0 - delta) * p).chain(ends.map(|end| delta * end)).collect::<Vec<_>>()
        };
        Pair::new(spread(inner.p(), [1.0, 0.0]), spread(inner.q(), [0.0, 1.0])).unwrap()
    }

    #[test]
    fn mixtures_keep_the_bound_alone_and_composed() {
        let inners = [([0.6, 0.4], [0.4, 0.6]), ([0.1, 0.9], [0.2, 0.8]), ([0.5, 0.5], [0.5, 0.5])];
        let inners = inners.map(|(p, q)| Pair::new(p.to_vec(), q.to_vec()).unwrap());
        for alpha in [1.2f64, 2.0, 10.0] {
            for (one, two) in inners.iter().flat_map(|a| inners.iter().map(move |b| (a, b))) {
                for (d, e) in [(0.0, 0.0), (0.01, 0.0), (0.1, 1e-3)] {
                    let of = |pair: &Pair, delta: f64| {
                        ApproximateRenyi::new(alpha, pair.renyi(alpha).unwrap(), delta.ln()).unwrap()
                    };
                    let both = of(one, d).compose(of(two, e)).unwrap();
                    let law = mixture(one, d).product(&mixture(two, e)).unwrap();
                    for t in [0.0f64, 0.1, 0.5, 1.0, 3.0] {
                        let bound = both.to_approximate_dp(Epsilon::new(t).unwrap()).unwrap().delta();
                        let found = law.hockey_stick(t);
                        assert!(found <= bound + 1e-12, "{alpha} {d} {e} {t}: {found} {bound}");
                        // The epsilon at this delta is not below this one: that conversion is the looser one.
                        if bound < 1.0 && bound > both.delta() * 1.001 {
                            let back = both.to_epsilon(Delta::new(bound).unwrap()).unwrap().value();
                            assert!(back >= t - 1e-6, "{alpha} {t}: {back}");
                        }
                    }
                    // A failure cannot be converted away.
                    if d > 0.0 {
                        assert_eq!(both.to_epsilon(Delta::new(d).unwrap()).unwrap(), Epsilon::INFINITE);
                        assert!(law.hockey_stick(30.0) >= d - 1e-12);
                    }
                }
            }
        }
    }

    #[test]
    fn the_delta_of_a_mixture_is_needed_and_enough() {
        // The worst law of an order and a divergence, mixed with failures, has a profile right below the bound.
        let (p, q) = (0.3f64, 0.05f64);
        let pair = Pair::new(vec![p, 1.0 - p], vec![q, 1.0 - q]).unwrap();
        let (alpha, delta) = (3.0, 0.02);
        let bound = ApproximateRenyi::new(alpha, pair.renyi(alpha).unwrap(), f64::ln(delta)).unwrap();
        let law = mixture(&pair, delta);
        let closest = (0..400).map(|i| f64::from(i) / 200.0).map(|t| {
            let delta = bound.to_approximate_dp(Epsilon::new(t).unwrap()).unwrap().delta();
            assert!(law.hockey_stick(t) <= delta + 1e-12);
            law.hockey_stick(t) / delta
        });
        let closest = closest.fold(0.0, f64::max);
        assert!(closest > 0.999, "{closest}");
        assert!(law.renyi(alpha).unwrap().is_infinite());
    }

    #[test]
    fn what_is_done_to_the_output_keeps_the_bound() {
        let pair = Pair::new(vec![0.5, 0.3, 0.2], vec![0.3, 0.3, 0.4]).unwrap();
        let law = mixture(&pair, 0.05);
        let bound = ApproximateRenyi::new(2.5, pair.renyi(2.5).unwrap(), f64::ln(0.05)).unwrap();
        for code in 0..243usize {
            let outcome_of: Vec<usize> = (0..5).map(|i| code / 3usize.pow(i) % 3).collect();
            let after = law.post_processed(&outcome_of).unwrap();
            for t in [0.0, 0.2, 0.6, 2.0] {
                let delta = bound.to_approximate_dp(Epsilon::new(t).unwrap()).unwrap().delta();
                assert!(after.hockey_stick(t) <= delta + 1e-12);
            }
        }
    }

    #[test]
    fn conversions_agree_with_those_of_other_notions() {
        let delta = Delta::new(1e-5).unwrap();
        for alpha in [1.5, 4.0, 20.0] {
            let failing = ApproximateZcdp::new(f64::ln(1e-6), Zcdp::new(0.1, 0.05).unwrap()).unwrap();
            let bound = ApproximateRenyi::of_approximate_zcdp(failing, alpha).unwrap();
            let best = failing.to_epsilon_optimal(delta).unwrap().value();
            assert!(bound.to_epsilon(delta).unwrap().value() >= best - 1e-9);
            let dp = ApproximateDp::new(0.8, 1e-6).unwrap();
            let bound = ApproximateRenyi::of_approximate_dp(dp, alpha).unwrap();
            assert!(bound.renyi() <= alpha * 0.32 && bound.ln_delta() == dp.ln_delta());
            // Beyond its epsilon only failures are left; one order forgets that.
            assert!(bound.to_approximate_dp(Epsilon::new(0.9).unwrap()).unwrap().delta() >= 1e-6);
            let curve = PureDp::new(0.8).unwrap().to_rdp_curve();
            let exact = ApproximateRenyi::of_curve(&curve, alpha).unwrap();
            assert_eq!((exact.renyi(), exact.delta()), (bound.renyi(), 0.0));
        }
    }

    #[test]
    fn orders_do_not_mix() {
        let two = ApproximateRenyi::new(2.0, 0.1, f64::ln(0.01)).unwrap();
        let three = ApproximateRenyi::new(3.0, 0.2, f64::ln(0.02)).unwrap();
        assert!(two.compose(three).is_err() && two.at_smaller_order(2.5).is_err());
        let both = two.compose(three.at_smaller_order(2.0).unwrap()).unwrap();
        assert!((both.renyi() - 0.3).abs() < 1e-15 && (both.delta() - 0.0298).abs() < 1e-15);
        assert!([1.0, 0.5, f64::NAN, f64::INFINITY].iter().all(|&a| ApproximateRenyi::new(a, 0.1, -1.0).is_err()));
        assert!(ApproximateRenyi::new(2.0, -0.1, -1.0).is_err() && ApproximateRenyi::new(2.0, 0.1, 0.1).is_err());
    }
}
