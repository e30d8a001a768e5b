//! What sampling does to truncated concentrated differential privacy.

use super::truncated::TruncatedCdp;
use crate::accounting::directed::{UNIT, probability};
use crate::error::{Error, Fallible};
use crate::num::logs::{LnSum, ln_add_exp, ln_choose};
use crate::num::round::{down, up};

/// Largest order up to which sums are taken.
const MAX_OMEGA: f64 = 20_000.0;

/// Orders up to here are looked at one by one, and then every one that is this much larger.
const DENSE: u64 = 64;
const RATIO: f64 = 1.01;

impl TruncatedCdp {
    /// The guarantee of the mechanism on a random subset of fixed size: a share `s` of the rows, drawn without replacement.
    ///
    /// `(slope, omega)` with `slope = max_a D_(a+1) / a` over integers `a < omega` and
    /// `(a - 1) D_a = ln(1 + C(a,2) s^2 min{4 (e^(2 rho) - 1), 2 e^(2 rho)} + sum_(j=3)^a C(a,j) s^j min{2^j m_j, 2 e^(j (j-1) rho)})`,
    /// `m_j = min_b [j^j b^b / (b+j)^(b+j)] (e^(rho (b+j) (b+j-1)) + e^(rho b (b+1)))`.
    ///
    /// *Proof.* Let `R` be the law of the output where the row at issue is not drawn, `P` and `Q` those where it is, on one data set and on the other. A draw
    /// with the row becomes one without it by replacing it with a row that was left out, so any two of the three are mixtures, with the same weights, of outputs on neighbours: their divergences
    /// are at most `rho alpha` (joint convexity). What is told is `(1-s) R + s P` against `(1-s) R + s Q`; by the binomial theorem the moment at an
    /// integer order is `1 + sum_(j>=2) C(a,j) s^j z_j`, where `z_j` is at most the largest mean under one of them of `|(P - Q) / R|^j`, for `|x|^j / y^(j-1)` is convex in `(x, y)`
    /// (Wang, Balle and Kasiviswanathan 2019, Theorem 9). By Minkowski's inequality that is `2^j` times the `j`-th absolute moment of `y - 1` for a ratio `y` of
    /// two of the laws. For every `y > 0` and `b > 0`, `|y - 1|^j <= [j^j b^b / (b+j)^(b+j)] (y^(b+j) + y^(-b))`: the factor is the maximum of `(1-u)^j u^b`, with `u` the smaller of
    /// `y` and `1/y`. The means of both powers are moments of divergences at the orders `b + j` and `b + 1`. The third moment is also at most the root of the product of the second and the
    /// fourth. Divergences do not fall with the order, so what holds at `a + 1` holds from `a` on.
    ///
    /// # Errors
    /// When `fraction` is no probability, `omega` is not above 1 or above 20,000, or its next whole number is not below the omega of the mechanism.
    ///
    /// # Privacy
    /// An upper bound under **replace-one** for samples of fixed size, never above the mechanism's own, rounded up. Bun, Dwork, Rothblum and Steinke state
    /// `13 s^2 rho` up to `ln(1/s) / (4 rho)` for `s` and `rho` up to 0.1 with `ln(1/s) >= 3 rho (2 + log2(1/rho))`; wherever it was compared (see the tests), this is at most 0.7 of that.
    ///
    /// # Reference
    /// Bun, Dwork, Rothblum and Steinke 2018, who have such a theorem; Wang, Balle and Kasiviswanathan 2019, Theorem 9; the moments are our own.
    ///
    /// ```
    /// use rhograd::accounting::zcdp::TruncatedCdp;
    /// # fn main() -> rhograd::error::Fallible<()> {
    /// let mechanism = TruncatedCdp::new(0.01, f64::INFINITY)?;
    /// let sampled = mechanism.sampled_without_replacement(0.01, 100.0)?;
    /// assert!(sampled.rho() < 9.0 * 0.01f64.powi(2) * 0.01);
    /// # Ok(())
    /// # }
    /// ```
    pub fn sampled_without_replacement(self, fraction: f64, omega: f64) -> Fallible<Self> {
        let s = probability("sampling fraction", fraction)?;
        let sampled = TruncatedCdp::new(0.0, omega)?;
        if omega > MAX_OMEGA {
            return Err(Error::parameter(
                "omega",
                format!("is {omega}, must be at most {MAX_OMEGA}"),
                "use a smaller order: conversions to delta seldom need more",
            ));
        }
        if omega.ceil() >= self.omega() {
            return Err(Error::parameter(
                "omega",
                format!(
                    "is {omega}, and its next whole number must be below the omega {} of the mechanism",
                    self.omega()
                ),
                "use a smaller order",
            ));
        }
        if s == 0.0 || self.rho() == 0.0 {
            return Ok(sampled);
        }
        let last = omega.ceil() as u64;
        let moments = Moments::new(self, last.max(4))?;
        let (mut slope, mut below) = (0.0f64, 1u64);
        while below < last {
            let next = if below < DENSE { below + 1 } else { ((below as f64 * RATIO) as u64 + 1).min(last) };
            let found = up(moments.divergence(s, next) / below as f64, 1);
            // What is no number is no bound, and stays.
            slope = if found.is_nan() || found > slope { found } else { slope };
            if slope.is_nan() {
                return TruncatedCdp::new(self.rho(), omega);
            }
            below = next;
        }
        TruncatedCdp::new(slope.min(self.rho()), omega)
    }
}

/// Logarithms of bounds on the moments `z_j` of a mechanism, by `j`.
struct Moments(Vec<f64>);

impl Moments {
    fn new(mechanism: TruncatedCdp, last: u64) -> Fallible<Self> {
        let (rho, omega) = (mechanism.rho(), mechanism.omega());
        let two = up(2.0 * rho, 1);
        let square = if two < 700.0 { up(two.exp_m1(), 2).ln() } else { two };
        let mut found = vec![0.0; 2];
        found.push(up((4f64.ln() + square).min(2f64.ln() + two), 4));
        for j in 3..=last {
            let order = j as f64;
            if order >= omega {
                found.push(f64::INFINITY);
                continue;
            }
            let plain = 2f64.ln() + order * (order - 1.0) * rho;
            let mut least = plain.min(order * 2f64.ln() + absolute(rho, omega, order));
            if j == 3 {
                let four = if omega > 4.0 { absolute(rho, omega, 4.0) } else { f64::INFINITY };
                least = least.min(3.0 * 2f64.ln() + (square + four) / 2.0);
            }
            found.push(least + 8.0 * UNIT * (least.abs() + 2.0 * order));
        }
        if found.iter().any(|moment| moment.is_nan()) {
            return Err(Error::numerical("moments of truncated concentrated privacy", "one is no number"));
        }
        Ok(Moments(found))
    }

    /// At least `D_a` of the sampled mechanism.
    fn divergence(&self, s: f64, a: u64) -> f64 {
        let (order, ln_s) = (a as f64, s.ln());
        let mut sum = LnSum::default();
        for (j, moment) in (0..=a).zip(&self.0).skip(2) {
            let (chosen, power) = (ln_choose(a, j), j as f64 * ln_s);
            // Errors of a term's logarithm are those of its parts.
            sum.add(chosen + power + moment + 32.0 * UNIT * (order * (1.0 + order.ln()) + power.abs() + moment.abs()));
        }
        let value = sum.value();
        let ln_moment = if value > 30.0 { value + (-value).exp() } else { value.exp().ln_1p() };
        up(ln_moment / (order - 1.0) * (1.0 + 1e-12), 8)
    }
}

/// At least `ln E |y - 1|^j` for a ratio `y` of two laws whose divergences are at most `rho alpha` below `omega`; `j` is below it.
fn absolute(rho: f64, omega: f64, j: f64) -> f64 {
    // Where the slope of the larger exponent meets that of the factor; any place is a bound.
    let (mut low, mut high) = (1e-18f64, (omega - j).min(1e150));
    for _ in 0..60 {
        let middle = low.sqrt() * high.sqrt();
        if rho * (2.0 * (middle + j) - 1.0) < (j / middle).ln_1p() { low = middle } else { high = middle }
    }
    let b = down(high, 2);
    let factor = -j * (b / j).ln_1p() - b * (j / b).ln_1p();
    let (up_to, down_to) = (rho * (b + j) * (b + j - 1.0), rho * b * (b + 1.0));
    let size = factor.abs() + up_to + b + j;
    let value = factor + ln_add_exp(up_to, down_to) + 32.0 * UNIT * size;
    if value.is_nan() || b + j >= omega { f64::INFINITY } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::special::normal_density;

    /// `D_a` of `(1-s) N(0) + s N(distance)` against `(1-s) N(0) + s N(-distance)`, by a sum.
    fn normal(s: f64, distance: f64, a: f64) -> f64 {
        let (steps, reach) = (40_000, 12.0 + a * distance);
        let width = 2.0 * reach / f64::from(steps);
        let law = |x: f64, at: f64| (1.0 - s) * normal_density(x) + s * normal_density(x - at);
        let term = |i: i32| {
            let x = (f64::from(i) + 0.5) * width - reach;
            let q = law(x, -distance);
            if q > 0.0 { q * (a * (law(x, distance) / q).ln()).exp() * width } else { 0.0 }
        };
        (0..steps).map(term).sum::<f64>().ln() / (a - 1.0)
    }

    #[test]
    fn the_factor_bounds_powers_of_every_ratio() {
        for j in [2.0f64, 3.0, 7.0, 40.0] {
            for b in [0.01f64, 0.5, 3.0, 200.0] {
                let factor = j * j.ln() + b * b.ln() - (b + j) * (b + j).ln();
                let mut closest = f64::NEG_INFINITY;
                for i in -4000..=4000 {
                    let y = (f64::from(i) / 500.0).exp();
                    let over = j * (y - 1.0).abs().ln() - factor - ln_add_exp((b + j) * y.ln(), -b * y.ln());
                    closest = closest.max(over);
                }
                assert!(closest <= 1e-9 && closest > -0.8, "{j} {b}: {closest}");
            }
        }
    }

    #[test]
    fn sampled_normal_noise_keeps_the_bound() {
        for (s, rho) in [(0.1, 0.1), (0.01, 0.05), (0.3, 0.02), (0.5, 0.5), (0.9, 0.1)] {
            let mechanism = TruncatedCdp::new(rho, f64::INFINITY).unwrap();
            let sampled = mechanism.sampled_without_replacement(s, 24.0).unwrap();
            let mut closest = 0.0f64;
            for a in [1.01, 1.5, 2.0, 3.5, 8.0, 16.0, 23.9] {
                // The two that are drawn differ by twice the distance, which is what the base is about.
                let found = normal(s, (2.0 * rho).sqrt() / 2.0, a);
                assert!(found <= sampled.rho() * a, "{s} {rho} {a}: {found} {}", sampled.rho() * a);
                closest = closest.max(found / (sampled.rho() * a));
            }
            assert!(closest > 0.05 && sampled.rho() <= rho, "{s} {rho}: {closest}");
        }
    }

    #[test]
    fn the_published_constant_holds_with_room() {
        let mut largest = 0.0f64;
        for rho in [0.1, 0.05, 0.02, 0.01, 0.005, 0.002] {
            for s in [0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-6] {
                let (reach, last) = (-f64::ln(s), -f64::ln(s) / (4.0 * rho));
                if reach < 3.0 * rho * (2.0 - rho.log2()) || last < 1.5 {
                    continue;
                }
                // The base may end at twice that order.
                for omega in [f64::INFINITY, (reach / (2.0 * rho)).max(last.ceil() + 1.0)] {
                    let sampled = TruncatedCdp::new(rho, omega).unwrap().sampled_without_replacement(s, last).unwrap();
                    largest = largest.max(sampled.rho() / (s * s * rho));
                }
            }
        }
        assert!(largest > 8.0 && largest < 9.1, "{largest}");
    }

    #[test]
    fn ends_are_bounds_or_refused() {
        let mechanism = TruncatedCdp::new(0.1, 10.0).unwrap();
        assert_eq!(mechanism.sampled_without_replacement(0.0, 5.0).unwrap().rho(), 0.0);
        assert_eq!(mechanism.sampled_without_replacement(1.0, 5.0).unwrap().rho(), 0.1);
        assert_eq!(mechanism.sampled_without_replacement(1e-9, 1.5).unwrap().omega(), 1.5);
        for (fraction, omega) in [(0.1, 9.5), (0.1, 10.0), (0.1, 1.0), (0.1, f64::NAN), (f64::NAN, 5.0), (1.1, 5.0)] {
            assert!(mechanism.sampled_without_replacement(fraction, omega).is_err(), "{fraction} {omega}");
        }
        let endless = TruncatedCdp::new(0.1, f64::INFINITY).unwrap();
        assert!(endless.sampled_without_replacement(0.1, 20_001.0).is_err());
        for rho in [f64::MIN_POSITIVE, 1e-12, 1.0, 1e3, 1e300, f64::INFINITY] {
            let found =
                TruncatedCdp::new(rho, f64::INFINITY).unwrap().sampled_without_replacement(1e-3, 300.0).unwrap();
            assert!(found.rho() <= rho && found.rho() > 0.0, "{rho}: {}", found.rho());
        }
    }
}
