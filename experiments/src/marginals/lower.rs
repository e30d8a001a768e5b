//! Lower bounds with their constants on the rows that marginals need, and on the error of a mean. All under replace-one.

use rhograd::accounting::gaussian::max_mu;
use rhograd::error::Fallible;
use rhograd::privacy::{Delta, Epsilon};

use super::{ACCURACY, DELTA, EPSILON, Part};

/// A name with its points.
type Bound = (&'static str, Vec<(f64, f64)>);

/// The lower bound, where one is known.
pub(super) fn bound(part: Part) -> Fallible<Option<Bound>> {
    // Where nothing is excluded, nothing is drawn.
    let points = |least: &dyn Fn(f64) -> f64| {
        let points = part.sizes().iter().map(|size| (*size as f64, least(*size as f64)));
        points.filter(|point| part == Part::Mean || point.1 >= 1.0).collect()
    };
    Ok(match part {
        Part::LaplaceMarginals => Some(("lower bound, pure DP (packing)", points(&pure_rows))),
        Part::GaussianMarginals => {
            let mu = max_mu(Epsilon::new(EPSILON)?, Delta::new(DELTA)?)?;
            Some(("lower bound, ρ-zCDP (fingerprints)", points(&|d| concentrated_rows(d, mu * mu / 2.0))))
        }
        Part::Mean => Some(("lower bound, pure DP (two points)", points(&|n| mean_error(n)))),
        Part::NoisyCounts | Part::StableMode => None,
    })
}

/// Rows below which no pure epsilon-DP release of d marginals has a mean absolute error of [`ACCURACY`], by packing (Hardt and Talwar 2010,
/// with the constant of this argument).
///
/// Corners of the cube that differ pairwise in at least `s d` places, `s < 1/2`, are at least `2^(d (1 - h(s)))` by Gilbert and Varshamov, `h` the
/// binary entropy. Of n rows let k be one of these corners and the others zero: two such tables have marginals `s k/n` apart in the mean absolute
/// distance. With `k = 2 t a n / s` for an error a, the balls of radius `t a` about the marginals are disjoint, and by Markov each answer lies in its
/// ball with probability `1 - 1/t` at least. The table of zeros is k rows away from each, so its answer lies in each ball with `e^(-epsilon k)` times
/// that: `d (1 - h(s)) ln 2 + ln(1 - 1/t) <= epsilon k`. k is rounded up, which costs one row of it.
fn pure_rows(d: f64) -> f64 {
    let entropy = |s: f64| -(s * s.log2() + (1.0 - s) * (1.0 - s).log2());
    let mut best = 0f64;
    for s in (1..50).map(|share| f64::from(share) / 100.0) {
        // No more rows are replaced than there are: 2 t a <= s.
        for t in (1..200).map(|step| 1.0 + f64::from(step) / 20.0).filter(|t| 2.0 * t * ACCURACY <= s) {
            let balls = d * (1.0 - entropy(s)) * std::f64::consts::LN_2 + (1.0 - 1.0 / t).ln();
            best = best.max((balls / EPSILON - 1.0) * s / (2.0 * t * ACCURACY));
        }
    }
    best
}

/// A number of rows with which no rho-zCDP release of d marginals has the root mean square error of Gaussian noise whose mean absolute error is
/// [`ACCURACY`], the largest that this argument excludes; 0 where it excludes none.
///
/// By steps 1 to 3 of the lower bound of `erm-rate`, on rows that are all filled: the root mean square distance `a` of the answer from what the
/// rows are drawn from has `a^2 + n a sqrt(rho / (2 d)) >= 1/12`, and is at most that from the marginals and `1/sqrt(6 n)` together.
fn concentrated_rows(d: f64, rho: f64) -> f64 {
    let error = ACCURACY * (std::f64::consts::PI / 2.0).sqrt();
    let impossible = |n: f64| {
        let a = error + 1.0 / (6.0 * n).sqrt();
        a * a + n * a * (rho / (2.0 * d)).sqrt() < 1.0 / 12.0
    };
    // From above, within a hundredth: few rows are not excluded either, since their marginals say little of what they are drawn from.
    let rows = (0..).map(|step| 1e9 / 1.01f64.powi(step)).take_while(|n| *n >= 1.0);
    rows.map(f64::floor).find(|n| impossible(*n)).unwrap_or(0.0)
}

/// The mean absolute error that no pure epsilon-DP mean of n numbers in `[0, 1]` stays below: for tables that differ in k rows, so in the mean by
/// `k/n`, the errors on both add up to `k/n` times what their laws share, at least `2 / (1 + e^(k epsilon))`.
fn mean_error(n: f64) -> f64 {
    let least = |k: f64| k / n / (1.0 + (k * EPSILON).exp());
    (1..=8).map(|k| least(f64::from(k))).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::mechanisms;
    use super::*;

    #[test]
    fn lower_bounds_have_their_rates_and_lie_below_the_mechanisms() {
        // Pure privacy: linear in d; at s = 0.15, t = 1.2 by hand: (1 - 0.60984) ln 2 = 0.27044 a coordinate, times 6.25.
        assert!((pure_rows(8192.0) / pure_rows(4096.0) - 2.0).abs() < 0.02);
        assert!(pure_rows(4096.0) >= (4096.0 * 0.270_43 - 6.0f64.ln() - 1.0) * 6.25 - 1.0);
        let rho = 0.0239;
        let grows = concentrated_rows(4e8, rho) / concentrated_rows(1e8, rho);
        assert!((grows - 2.0).abs() < 0.1, "{grows}");
        // One row of two tables, epsilon 1: 1/(1 + e).
        assert!((mean_error(1.0) - 0.268_941).abs() < 1e-6);
        for part in [Part::LaplaceMarginals, Part::GaussianMarginals, Part::Mean] {
            for (size, least) in bound(part).unwrap().unwrap().1 {
                let reached = mechanisms::expected(part, size as u64).unwrap();
                assert!(least < reached, "{part:?} at {size}: {least} of {reached}");
            }
        }
        assert!(bound(Part::NoisyCounts).unwrap().is_none());
    }
}
