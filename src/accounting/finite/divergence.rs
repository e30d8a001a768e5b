//! Divergences between the two laws of a pair.

use super::Pair;
use crate::accounting::directed::order;
use crate::error::Fallible;
use crate::num::logs::LnSum;
use crate::num::round::{down, up};

impl Pair {
    /// The hockey-stick divergence.
    ///
    /// `sup_S P(S) - e^epsilon Q(S) = sum (P - e^epsilon Q)_+`; at epsilon 0 the total variation.
    ///
    /// Reference: Balle, Barthe and Gaboardi 2018, section 2.
    pub fn hockey_stick(&self, epsilon: f64) -> f64 {
        let growth = epsilon.exp();
        let excess = |(p, q): (f64, f64)| if q == 0.0 { p } else { (p - growth * q).max(0.0) };
        self.outcomes().map(excess).sum()
    }

    /// Delta at epsilon: [`Pair::hockey_stick`], rounded up.
    ///
    /// # Privacy
    /// Never below the truth for masses that are as given.
    ///
    /// Reference: as [`Pair::hockey_stick`].
    ///
    /// ```
    /// use rhograd::accounting::finite::Pair;
    /// # fn main() -> rhograd::error::Fallible<()> {
    /// let pair = Pair::new(vec![0.75, 0.25], vec![0.25, 0.75])?;
    /// assert!(pair.delta(0.0) >= 0.5 && pair.delta(0.0) < 0.5 + 1e-14 && pair.delta(2.0) == 0.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn delta(&self, epsilon: f64) -> f64 {
        if epsilon.is_nan() {
            return 1.0;
        }
        let growth = down(epsilon.exp(), 4);
        let excess = |(p, q): (f64, f64)| if q == 0.0 { p } else { p - down(growth * q, 1) };
        let all = self.outcomes().map(excess).filter(|it| *it > 0.0).fold(0.0, |sum, it| up(sum + up(it, 1), 1));
        f64::min(all, 1.0)
    }

    /// The Renyi divergence of `P` from `Q`.
    ///
    /// `ln(sum P^a Q^{1-a}) / (a-1)`; order 1 is the Kullback-Leibler divergence, infinity the largest
    /// loss. Infinite where `P` has mass on an outcome that `Q` never gives.
    ///
    /// # Errors
    /// When `alpha` is below 1.
    ///
    /// Reference: Renyi 1961; van Erven and Harremoes 2014, Definition 2.
    pub fn renyi(&self, alpha: f64) -> Fallible<f64> {
        let a = order(alpha)?;
        if a == f64::INFINITY {
            return Ok(self.max_divergence());
        }
        if a == 1.0 {
            return Ok(self.kullback_leibler());
        }
        let (mut sum, b) = (LnSum::default(), a - 1.0);
        for (p, q) in self.outcomes().filter(|&(p, _)| p > 0.0) {
            if q == 0.0 {
                return Ok(f64::INFINITY);
            }
            sum.add(p.ln() + b * (p / q).ln());
        }
        // For nearly equal laws the logarithm of the sum is a rounding error of either sign.
        let direct = (sum.value() / b).max(0.0);
        let shifted: f64 = self.outcomes().map(|(p, q)| moment_excess(p, q, a)).sum();
        Ok(if shifted.abs() < 0.1 { shifted.ln_1p() / b } else { direct }.max(0.0))
    }

    /// The Kullback-Leibler divergence of `P` from `Q`, in nats.
    ///
    /// `E_P[ln(P/Q)]`; infinite where `P` has mass on an outcome that `Q` never gives.
    ///
    /// Reference: Kullback and Leibler 1951.
    pub fn kullback_leibler(&self) -> f64 {
        // p ln(p/q) - p + q is nonnegative term by term.
        let term = |(p, q): (f64, f64)| {
            if p == 0.0 {
                q
            } else if q == 0.0 {
                f64::INFINITY
            } else {
                p * -((q - p) / p).ln_1p() + (q - p)
            }
        };
        let total: f64 = self.outcomes().map(term).sum();
        let excess: f64 = self.p.iter().sum::<f64>() - self.q.iter().sum::<f64>();
        (total + excess).max(0.0)
    }

    /// The largest privacy loss.
    ///
    /// `max ln(P/Q)` over outcomes of `P`.
    ///
    /// Reference: Dwork and Roth 2014, Definition 3.6.
    pub fn max_divergence(&self) -> f64 {
        self.outcomes().filter(|&(p, _)| p > 0.0).map(|(p, q)| (p / q).ln()).fold(0.0, f64::max)
    }
}

/// `q ((1+w)^a - 1 - a w)` with `w = p/q - 1`, whose sum is the moment less 1.
fn moment_excess(p: f64, q: f64, a: f64) -> f64 {
    if q == 0.0 {
        return if p == 0.0 { 0.0 } else { f64::INFINITY };
    }
    let w = (p - q) / q;
    if p == 0.0 { q * (a - 1.0) } else { q * ((a * w.ln_1p()).exp_m1() - a * w) }
}
