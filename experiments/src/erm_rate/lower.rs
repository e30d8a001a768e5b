//! A lower bound with its constant on the excess risk that any rho-zCDP algorithm has on one-way marginals.

use super::points::Point;
use super::{DIAMETER, LIPSCHITZ};

/// A lower bound on the expected excess risk over the instance with `m` filled rows, and the best `m`.
///
/// Of n rows m are corners `s_i` of the cube, of norm L, whose coordinates are coins of probability `P_j` uniform on
/// `[0, 1]`; the others are zero. Write everything in units of L and of the radius r = R/2.
///
/// 1. *Fingerprinting* (Steinke and Ullman 2015; constant 1/12 attained by the answer 1/2): for any answer `p` about `P`,
///    `sum_i E<p - P, X_i - P> + E|p - P|^2 >= d/12`.
/// 2. *Privacy*: with a fresh row in place of `X_i` the inner product has mean 0 and, given the rest, is subgaussian
///    with proxy `|p - P|^2 / 4` (Hoeffding). The divergence between the two laws is at most rho, so by Donsker and
///    Varadhan the mean is at most `sqrt(rho E|p - P|^2 / 2)`. With `E|p - P|^2 = d a^2` follows
///    `a^2 + m a sqrt(rho / (2 d)) >= 1/12`.
/// 3. The sample mean q has `E|q - P|^2 = d / (6 m)`, so the root mean square distance of `p` from q is at least
///    `a - 1/sqrt(6 m)` per coordinate.
/// 4. *From estimation to risk*: for the answer `-c x` of a minimiser x in the unit ball,
///    `|c x + s|^2 <= (c - |s|)^2 + 2 c (|s| + <x, s>)`, s the mean of the m rows. With `c^2 = E|s|^2 = 1/3 + 2/(3m)` and
///    `E(c - |s|)^2 <= (1 - c^2) / d`, the excess risk is at least
///    `(m/n) (4 (a - 1/sqrt(6m))^2 - (1 - c^2)/d) / (2c)`.
///
/// Replace-one. Zero where the steps lose too much, which is at few coordinates and large epsilon.
pub(super) fn bound(point: &Point, rho: f64) -> (f64, u64) {
    let (n, d) = (point.n as f64, point.d as f64);
    let at = |m: u64| {
        let m = m as f64;
        let w = m * (rho / (2.0 * d)).sqrt();
        let a = ((w * w + 1.0 / 3.0).sqrt() - w) / 2.0;
        let distance = (a - 1.0 / (6.0 * m).sqrt()).max(0.0);
        let c = (1.0 / 3.0 + 2.0 / (3.0 * m)).sqrt();
        let scale = LIPSCHITZ * DIAMETER / 2.0;
        scale * m / n * ((4.0 * distance * distance - (1.0 - c * c) / d) / (2.0 * c)).max(0.0)
    };
    let better = |best: (f64, u64), m: u64| if at(m) > best.0 { (at(m), m) } else { best };
    (1..=point.n).fold((0.0, point.n), better)
}

#[cfg(test)]
mod tests {
    use super::super::points::Instance;
    use super::*;

    #[test]
    fn the_bound_has_the_rate_and_a_step_computed_by_hand() {
        let point = |n, d| Point { instance: Instance::Hard, n, d, epsilon: 0.25, delta: 1e-6, sweeps: Vec::new() };
        let rho = 0.25f64.powi(2) / (8.0 * 1e6f64.ln());
        let of = |n, d| bound(&point(n, d), rho).0;
        assert!((of(16_000, 160) / of(8_000, 160) - 0.5).abs() < 1e-3);
        let growth = of(1_000_000, 64_000) / of(1_000_000, 16_000);
        // The root of 64000 / 16000, but for what sampling takes away.
        assert!((growth - 2.0).abs() < 0.1, "{growth}");
        // Without privacy, one row: a = 1/sqrt(12) < 1/sqrt(6), so nothing is known.
        assert_eq!(bound(&point(1, 160), 0.0).0, 0.0);
    }
}
