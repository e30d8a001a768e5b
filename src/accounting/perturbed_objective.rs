//! Epsilon of a perturbed objective together with Gaussian releases, by a dominating pair of laws.
//!
//! Notation: `v` is how far the sum of gradients moves between neighbours, `c` the largest `|v|` over the noise, `m` the mu of
//! all other releases together, `M^2 = c^2 + m^2`, `J = ln(1 + beta/Lambda)`, `Z` and `G` independent standard normals, and
//! `H_M` the profile of the Gaussian mechanism.

use super::directed::nonnegative;
use super::gaussian::{self, mu_upper_from_rho};
use crate::error::Fallible;
use crate::num::root::bisect;
use crate::num::round::up;
use crate::privacy::{Adjacency, Delta, Rho};

/// Shares of delta for small noise under replace-one; the best of them counts.
const SHARES: [f64; 4] = [0.001, 0.01, 0.1, 0.3];

/// The root of three, rounded up; [`corner`] never needs more.
const ROOT_OF_THREE: f64 = 1.732_050_808;

/// Epsilon at delta of a perturbed objective and of Gaussian releases on all rows, in any adaptive order.
///
/// `gradient` is the rho of the noise on the gradient and `others` that of the Gaussian releases, both as recorded under the
/// relation. A minimiser stands for one value `b` of the noise, so the log-likelihood ratio of neighbours at it is at most
/// `J + sup_v (b.v / sigma^2 + |v|^2 / (2 sigma^2))`, however `v` depends on `b`.
///
/// Under add-remove `v` lies on a segment and the supremum is `c |Z| + c^2/2`, in both directions. With the Gaussian
/// releases, the ratio of a dominating pair is `J + c |Z| + m G + M^2/2`, the larger of two that are those of the Gaussian
/// mechanism of mu `M`, moved by `J`: `delta(epsilon) <= 2 H_M(epsilon - J)`.
///
/// Under replace-one `v` lies in a parallelogram of two unit directions, whose corners `v` have `|v| / sigma = a, b` along
/// orthogonal directions, `a^2 + b^2 = c^2`. The supremum is above `r = c k + c^2/2` with probability at most
/// `2 F(a^2/c^2) + 2 F(b^2/c^2)`, `F(y) = P[Z > (k + c (1 - y) / 2) / sqrt y]`. From `k = corner` on `F` is convex, and it is zero at
/// zero, so this is at most `2 F(1) = P[|Z| > k]`: the ratio is at most `J + c max(|Z|, corner) + c^2/2` in distribution. Hence
/// `delta(epsilon) <= 2 H_M(epsilon - J) + H_m(epsilon - J - c corner - c^2/2)`; a share of delta is for the second part.
///
/// # Errors
/// When `curvature`, `beta / Lambda`, is negative or no number, or a search fails.
///
/// # Privacy
/// An upper bound under the given relation, for the exact minimiser with a generalised linear loss as in
/// [`super::erm::objective_perturbation`], in any dimension.
///
/// # Reference
/// Redberg, Koskela and Wang 2023 (the profile under add-remove); Zhu, Dong and Wang 2022, Theorem 10 (composition of dominating
/// pairs). The bounds on the sum of both and under replace-one are derived here.
pub fn epsilon(gradient: &Rho, others: &Rho, curvature: f64, adjacency: Adjacency, delta: Delta) -> Fallible<f64> {
    let jacobian = up(nonnegative("curvature", curvature)?.ln_1p(), 2);
    let together = mu_upper_from_rho(gradient.plus(others).upper())?;
    let at = |mu: f64, share: f64| -> Fallible<f64> {
        Ok(gaussian::epsilon(mu, Delta::new(delta.value() * share)?)?.value())
    };
    let beyond = match adjacency {
        Adjacency::AddRemove => at(together, 0.5)?,
        Adjacency::ReplaceOne => {
            let mu = mu_upper_from_rho(gradient.upper())?;
            let small = up(mu * (corner(mu) + mu / 2.0), 3);
            let others = mu_upper_from_rho(others.upper())?;
            let with = |share: f64| -> Fallible<f64> {
                // The shares and their rounding stay below delta.
                Ok(at(together, 0.5 * (1.0 - share))?.max(up(small + at(others, 0.999 * share)?, 1)))
            };
            SHARES.into_iter().map(with).try_fold(f64::INFINITY, |least, found| found.map(|found| least.min(found)))?
        }
    };
    Ok(up(jacobian + beyond, 1))
}

/// A `k` from which on `y -> P[Z > (k + c (1 - y) / 2) / sqrt y]` is convex on `[0, 1]`.
///
/// With `K = k + c/2` and `z = c y / 2` its second derivative has the sign of `(K - z)(K + z)^2 - y (3 K + z)`: the first term
/// is concave in y and the second convex, and at `y = 0` the difference is positive, so it is enough that it is not
/// negative at `y = 1`, where it is `k (k + c)^2 - 3 k - 2 c`. That changes its sign once, below the root of three.
fn corner(c: f64) -> f64 {
    let convex = |k: f64| k * (k + c) * (k + c) * (1.0 - 1e-12) >= 3.0 * k + 2.0 * c;
    bisect(0.0, ROOT_OF_THREE, 1e-9, |k| Some(convex(k))).map_or(ROOT_OF_THREE, |root| root.holds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::erm::{Jacobian, objective_perturbation};
    use crate::num::special::normal_tail;
    use crate::privacy::Epsilon;

    #[test]
    fn alone_it_is_the_published_profile() {
        for (z, curvature, delta) in [(10.0, 0.02, 1e-6), (1.0, 0.2, 1e-3), (0.3, 0.5, 0.05)] {
            let rho = Rho::from_f64(0.5 / (z * z)).unwrap();
            let delta = Delta::new(delta).unwrap();
            let found = epsilon(&rho, &Rho::zero(), curvature, Adjacency::AddRemove, delta).unwrap();
            let at = |e| {
                objective_perturbation(1.0, z, curvature, 1.0, Jacobian::RankOne, Epsilon::new(e).unwrap()).unwrap()
            };
            assert!(at(found * (1.0 + 1e-9)) <= delta.ln() && at(found * (1.0 - 1e-9)) > delta.ln(), "{z}: {found}");
        }
    }

    #[test]
    fn from_the_corner_on_one_direction_is_the_worst() {
        for c in [1e-4, 0.1, 1.0, 3.0, 6.0] {
            let k = corner(c);
            assert!(k <= ROOT_OF_THREE && (c < 2.0 || k < 0.9), "{c} {k}");
            let beyond = |k: f64, y: f64| normal_tail((k + c * (1.0 - y) / 2.0) / y.sqrt());
            for step in 1..200 {
                let y = f64::from(step) / 200.0;
                for k in [k, k + 0.01, k + 1.0] {
                    assert!(beyond(k, y) + beyond(k, 1.0 - y) <= beyond(k, 1.0) * (1.0 + 1e-12), "{c} {k} {y}");
                }
            }
        }
        // Below it, it need not be: two equal directions are worse than one.
        assert!(2.0 * normal_tail(0.4 / 0.5f64.sqrt()) > normal_tail(0.4));
    }
}
