//! Compositions in which some loss is so large that all losses together certainly exceed epsilon: their part of delta in closed form.
//!
//! Let E be the event that at least one of the outputs lies in a set of large losses. Then
//! `int_E (P - e^eps Q)_+ = P(E) - e^eps Q(E) + int_E (e^eps Q - P)_+`. With `p_i` and `q_i` the masses of the large losses of a pair that
//! occurs `n_i` times, `P(E) = 1 - prod (1 - p_i)^n_i` and likewise `Q(E)`: exact, whatever the losses add up to. What is left is not
//! negative, and hardly anything where large losses exceed epsilon by more than the others can take away: by
//! `(e^x - 1)_+ <= e^(a x) (a - 1)^(a - 1) / a^a` for `a > 1` it is at most that constant times `e^(a eps) E_P[e^(-a S); E]`.
//!
//! All other compositions have bounded losses, so that an exponential tilt may be as strong as epsilon wants it. Without this, rare samples
//! tilt badly: the tilt that moves the sum to epsilon moves it to losses far beyond, which are rare but heavy-tailed.

use super::chernoff::conversion;
use super::partition::{Inverse, Partition};
use crate::num::logs::{LnSum, ln_add_exp};
use crate::num::minimize::scan;

/// One unit of rounding.
const UNIT: f64 = f64::EPSILON / 2.0;
/// `ln` of a share that is its own `-ln(1 - share)`.
const SMALL: f64 = -30.0;
/// Range, in units of one over the scale of the losses, and points of the search for the order a, less 1.
const ORDERS: (f64, f64, u32) = (1e-2, 1e6, 32);

/// The part of delta that comes from large losses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Large {
    /// `P(E)` and `Q(E)`, from below and from above.
    with: (f64, f64),
    without: (f64, f64),
    /// The order a, and `ln` of the bound on what is left at epsilon 0.
    order: f64,
    ln_left: f64,
    /// `ln` of the bound, under Q, on those of E with a loss far below 0; `-inf` where `ln_left` covers them.
    ln_opposite: f64,
    /// The epsilon up to which that bound is meant.
    pub reach: f64,
    /// A bound on the masses, added up, of what no partition covers; under Q it counts `e^eps` times.
    lost: f64,
}

/// `1 - prod (1 - p)^n` from the sum of `n ln(1 - p)`.
fn some(ln_none: f64) -> f64 {
    -ln_none.exp_m1()
}

impl Large {
    /// The large losses of all partitions, as their threshold says, with `mu2` for the Gaussians besides, and a bound that is good at epsilon
    /// where losses are of a scale.
    pub(super) fn new(parts: &[(Partition, f64)], mu2: f64, epsilon: f64, scale: f64) -> Self {
        let (mut with, mut without, mut lost) = ((0.0, 0.0), (0.0, 0.0), 0.0);
        for (partition, count) in parts {
            let Some(masses) = partition.large() else {
                return Self::useless(epsilon);
            };
            let beyond = partition.beyond();
            let ln_none = |mass: f64| count * (-mass.min(1.0)).ln_1p();
            with.0 += ln_none(masses.with * (1.0 - masses.error));
            with.1 += ln_none(masses.with * (1.0 + masses.error) + beyond);
            without.0 += ln_none(masses.without * (1.0 - masses.error));
            without.1 += ln_none(masses.without * (1.0 + masses.error) + beyond);
            lost += 2.0 * count * beyond;
        }
        // A loss far below 0 besides the large one takes away any amount, but that is rarer still.
        let ln_without = without.1.abs().ln();
        let opposite = parts.iter().map(|(partition, count)| count * partition.opposite()).sum::<f64>();
        let one = |cut: bool, ln_opposite: f64| {
            let parts: Vec<(Inverse, f64)> = parts.iter().map(|(it, count)| (it.inverse(cut), *count)).collect();
            let bound = |over: f64| Self::ln_left(&parts, mu2, 1.0 + over) + (1.0 + over) * epsilon;
            let best = scan(ORDERS.0 / scale, ORDERS.1 / scale, ORDERS.2, bound);
            Large {
                with: (some(with.0), some(with.1)),
                without: (some(without.0), some(without.1)),
                order: 1.0 + best.at,
                ln_left: best.value - (1.0 + best.at) * epsilon,
                ln_opposite,
                reach: epsilon,
                lost,
            }
        };
        let plain = one(false, f64::NEG_INFINITY);
        if opposite == 0.0 {
            return plain;
        }
        let cut = one(true, ln_without + opposite.ln());
        if cut.ln_excess(epsilon) < plain.ln_excess(epsilon) { cut } else { plain }
    }

    /// Bounds that say nothing.
    fn useless(reach: f64) -> Self {
        Large {
            with: (0.0, 1.0),
            without: (0.0, 1.0),
            order: 1.0,
            ln_left: f64::INFINITY,
            ln_opposite: f64::NEG_INFINITY,
            reach,
            lost: 1.0,
        }
    }

    /// `ln` of the bound on what is left at epsilon 0, by the moment of order -a.
    fn ln_left(parts: &[(Inverse, f64)], mu2: f64, order: f64) -> f64 {
        // `E[e^(-a G)]` of a Gaussian loss is `e^(a (a - 1) mu^2 / 2)`.
        let mut all = order * (order - 1.0) * mu2 / 2.0;
        // `ln` of the sum of `-n ln(1 - share)`, and of 1 less the product of `(1 - share)^n`; both are the share where that is small.
        let mut ln_some = LnSum::default();
        for (part, count) in parts {
            let (ln_moment, ln_share, error) = part.moment(order);
            all += count * (ln_moment + error);
            let ln_share = ln_share + 1e-9;
            let ln_one = if ln_share < SMALL { ln_share + 1e-9 } else { (-(-ln_share.exp().min(1.0)).ln_1p()).ln() };
            ln_some.add(count.ln() + ln_one);
        }
        let ln_some = ln_some.value();
        if ln_some == f64::NEG_INFINITY {
            return ln_some;
        }
        let ln_some = if ln_some < SMALL { ln_some } else { some(-ln_some.exp()).ln() };
        let found = conversion(order - 1.0) + all + ln_some;
        let found = found + 1e-9 * (1.0 + found.abs());
        if found.is_nan() { f64::INFINITY } else { found }
    }

    /// `ln` of the bound on what is left.
    pub(super) fn ln_excess(&self, epsilon: f64) -> f64 {
        let bound = ln_add_exp(self.ln_left + self.order * epsilon, self.ln_opposite + epsilon);
        if bound.is_nan() { f64::INFINITY } else { bound }
    }

    /// `ln` of a lower bound.
    pub(super) fn lower(&self, epsilon: f64) -> f64 {
        let (with, without) = (self.with.0, epsilon.exp() * self.without.1);
        (with - without - 16.0 * UNIT * (with + without * (1.0 + epsilon)) - self.lost).max(0.0).ln()
    }

    /// `ln` of an upper bound.
    pub(super) fn upper(&self, epsilon: f64) -> f64 {
        let (with, without) = (self.with.1, epsilon.exp() * self.without.0);
        let exact = with - without + 16.0 * UNIT * (with + without * (1.0 + epsilon));
        if !exact.is_finite() {
            return f64::INFINITY;
        }
        let found = ln_add_exp((exact.max(0.0) + self.lost * (1.0 + epsilon.exp())).ln(), self.ln_excess(epsilon));
        if found.is_nan() { f64::INFINITY } else { found }
    }

    /// How fast the logarithm of a delta of this size falls with epsilon by what is here.
    pub(super) fn slope(&self, epsilon: f64, ln_delta: f64) -> f64 {
        (epsilon + self.without.1.ln() - ln_delta).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair::{Base, Pair, Sampling};
    use super::super::table::Table;
    use super::*;

    /// Masses under P and Q of a few outcomes, the last ones rare and far apart.
    fn law(seed: u64) -> Vec<(f64, f64)> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut p: Vec<f64> = (0..5).map(|k| (0.2 + next()) * 0.1f64.powi(k / 2)).collect();
        let mut q: Vec<f64> = (0..).zip(&p).map(|(k, p)| p * (f64::from(k) * (4.0 * next() - 2.0)).exp()).collect();
        for law in [&mut p, &mut q] {
            let all: f64 = law.iter().sum();
            law.iter_mut().for_each(|it| *it /= all);
        }
        p.into_iter().zip(q).collect()
    }

    /// The integral of `(P - e^eps Q)_+` over all sequences with at least one loss above the threshold, outcome by outcome.
    fn by_hand(laws: &[Vec<(f64, f64)>], threshold: f64, epsilon: f64) -> f64 {
        let mut outcomes = vec![(1.0, 1.0, false)];
        for law in laws {
            let step = |&(p, q, large): &(f64, f64, bool)| {
                law.iter().map(move |&(a, b)| (p * a, q * b, large || (a / b).ln() > threshold))
            };
            outcomes = outcomes.iter().flat_map(step).collect();
        }
        outcomes.iter().filter(|it| it.2).map(|(p, q, _)| (p - epsilon.exp() * q).max(0.0)).sum()
    }

    #[test]
    fn bounds_hold_sequence_by_sequence_and_meet_where_nothing_is_left() {
        let (mut met, mut apart, mut cut) = (0, 0, 0);
        for seed in 0..60 {
            let (one, two) = (law(seed), law(seed + 1000));
            let partition =
                |law: &[(f64, f64)]| Partition::of_table(&Table::new(law.iter().map(|(p, q)| (p.ln(), (p / q).ln()))));
            let laws: Vec<_> = [vec![one.clone(); 3], vec![two.clone(); 2]].concat();
            for threshold in [0.2, 0.8, 1.5] {
                let mut parts = vec![(partition(&one), 3.0), (partition(&two), 2.0)];
                parts.iter_mut().for_each(|it| it.0.set_large(threshold));
                for reach in [0.05, 0.5, 1.5] {
                    let large = Large::new(&parts, 0.0, reach, 1.0);
                    cut += u32::from(large.ln_opposite > f64::NEG_INFINITY);
                    for epsilon in [0.0, 0.5 * reach, reach] {
                        let truth = by_hand(&laws, threshold, epsilon);
                        let (lower, upper) = (large.lower(epsilon).exp(), large.upper(epsilon).exp());
                        let slack = 1e-9 * upper + 1e-14;
                        assert!(
                            lower <= truth + slack && truth <= upper + slack,
                            "{seed} {threshold} {epsilon}: {lower} {truth} {upper}"
                        );
                        met += u32::from(truth > 0.0 && upper <= 1.01 * truth);
                        apart += u32::from(truth > 0.0 && lower < 0.99 * truth && upper < 2.0 * truth);
                    }
                }
            }
        }
        assert!(met > 50 && apart > 20 && cut > 10, "{met} {apart} {cut}");
    }

    /// By Jensen's inequality `E[e^(-a L)] >= 1` for `a >= 1`. With shares at the upper ends rounded up, wide cells lost their lower ends,
    /// which are nearly all of it.
    #[test]
    fn moments_of_negative_order_are_bounded_from_above_in_wide_cells() {
        for (z, reach) in [(0.025, 13.5), (0.05, 27.0), (0.2, 14.0), (1.0, 12.0)] {
            let pair = Pair { base: Base::Gaussian { mu: 1.0 / z }, sampling: Sampling::Replace(1e-3) };
            for cells in [64, 200, 2000] {
                let inverse = Partition::new(pair, reach, cells).inverse(false);
                for order in [1.0, 1.001, 1.01, 1.5, 3.0] {
                    let (ln_moment, ln_share, error) = inverse.moment(order);
                    assert!(
                        ln_moment + error >= -1e-12 && ln_share == f64::NEG_INFINITY,
                        "{z} {cells} {order}: {ln_moment}"
                    );
                }
            }
        }
    }

    #[test]
    fn masses_that_underflow_bound_nothing() {
        let pair = Pair { base: Base::Gaussian { mu: 1.0 }, sampling: Sampling::Remove(1e-3) };
        let mut partition = Partition::new(pair, 45.0, 4000);
        partition.set_large(35.0);
        let large = Large::new(&[(partition, 10.0)], 0.0, 1.0, 1.0);
        assert!(large.upper(0.5) == f64::INFINITY && large.lower(0.5) == f64::NEG_INFINITY, "{large:?}");
    }
}
