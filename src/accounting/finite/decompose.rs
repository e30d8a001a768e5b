//! An (epsilon, delta)-close pair as randomised response with a small probability of failure.

use super::Pair;
use crate::accounting::directed::{finite, probability};
use crate::error::{Error, Fallible};

/// `P = (1-delta) (e^eps A + B)/(e^eps + 1) + delta P'`, and `Q` with `A`, `B` and `P'`, `Q'` exchanged.
#[derive(Clone, Debug, PartialEq)]
pub struct Decomposition {
    /// The epsilon of the randomised response.
    pub epsilon: f64,
    /// The probability of failure.
    pub delta: f64,
    /// What is drawn where the response is true.
    pub a: Vec<f64>,
    /// What is drawn where the response is a lie.
    pub b: Vec<f64>,
    /// What `P` draws on failure.
    pub p_failure: Vec<f64>,
    /// What `Q` draws on failure.
    pub q_failure: Vec<f64>,
}

impl Pair {
    /// The pair as a post-processing of randomised response and failure.
    ///
    /// The parts of `P` and `Q` below `e^epsilon` times the other are cut to equal mass `1 - delta` within
    /// the band between them, which keeps them epsilon-close; then
    /// `A = (e^eps P1 - Q1)/(e^eps - 1)` and `B = (e^eps Q1 - P1)/(e^eps - 1)`.
    ///
    /// # Errors
    /// When epsilon is not finite and positive, delta is no probability below 1, or the pair is not
    /// (epsilon, delta)-close in both orders.
    ///
    /// Reference: Kairouz, Oh and Viswanath 2015, Theorem 3.4; Murtagh and Vadhan 2016, Lemma 3.2.
    ///
    /// ```
    /// use rhograd::accounting::finite::Pair;
    /// # fn main() -> rhograd::error::Fallible<()> {
    /// let pair = Pair::new(vec![0.6, 0.3, 0.1], vec![0.2, 0.3, 0.5])?;
    /// let parts = pair.decompose(0.7, 0.3)?;
    /// assert!((parts.rebuilt()?.p()[0] - 0.6).abs() < 1e-14);
    /// # Ok(())
    /// # }
    /// ```
    pub fn decompose(&self, epsilon: f64, delta: f64) -> Fallible<Decomposition> {
        let (e, d) = (finite("epsilon", epsilon)?, probability("delta", delta)?);
        let growth = e.exp();
        let needed = self.hockey_stick(e).max(self.swapped().hockey_stick(e));
        // Hockey-stick divergences of laws with sum 1 carry a few rounding errors per outcome.
        let tolerance = 1e-15 * (self.len() as f64 + 8.0);
        if e == 0.0 || d >= 1.0 || needed.is_nan() || needed > d + tolerance || !growth.is_finite() {
            return Err(Error::parameter(
                "delta",
                format!("is {d}, but the pair needs {needed} at epsilon {e}"),
                "use a positive epsilon and a larger delta below 1",
            ));
        }
        let (p1, q1) = self.close_parts(growth, 1.0 - d);
        let part = |x: &[f64], y: &[f64]| -> Vec<f64> {
            x.iter().zip(y).map(|(x, y)| ((growth * x - y) / e.exp_m1() / (1.0 - d)).max(0.0)).collect()
        };
        let rest = |whole: &[f64], part: &[f64]| -> Vec<f64> {
            let left = whole.iter().zip(part).map(|(w, x)| (w - x).max(0.0));
            left.map(|x| if d > 0.0 { x / d } else { 0.0 }).collect()
        };
        Ok(Decomposition {
            epsilon: e,
            delta: d,
            a: part(&p1, &q1),
            b: part(&q1, &p1),
            p_failure: rest(&self.p, &p1),
            q_failure: rest(&self.q, &q1),
        })
    }

    /// Parts of both laws with the given mass that are within the growth of each other.
    fn close_parts(&self, growth: f64, mass: f64) -> (Vec<f64>, Vec<f64>) {
        let cut = |x: &[f64], y: &[f64]| -> Vec<f64> { x.iter().zip(y).map(|(x, y)| x.min(growth * y)).collect() };
        let (mut p, mut q) = (cut(&self.p, &self.q), cut(&self.q, &self.p));
        let total = |x: &[f64]| x.iter().sum::<f64>();
        let excess = total(&q) - total(&p);
        // The heavier part is lowered towards the lighter one where it lies above it.
        let (heavy, light) = if excess > 0.0 { (&mut q, &p.clone()) } else { (&mut p, &q.clone()) };
        let above: f64 = heavy.iter().zip(light).map(|(h, l)| (h - l).max(0.0)).sum();
        if above > 0.0 {
            let share = (excess.abs() / above).min(1.0);
            for (h, l) in heavy.iter_mut().zip(light) {
                *h -= share * (*h - l).max(0.0);
            }
        }
        for part in [&mut p, &mut q] {
            let scale = mass / total(part).max(f64::MIN_POSITIVE);
            part.iter_mut().for_each(|x| *x *= scale.min(1.0));
        }
        (p, q)
    }
}

impl Decomposition {
    /// The pair that the parts make.
    ///
    /// # Errors
    /// When the parts were changed and no longer make laws.
    pub fn rebuilt(&self) -> Fallible<Pair> {
        let truth = 1.0 / (1.0 + (-self.epsilon).exp());
        let mix = |a: &[f64], b: &[f64], failure: &[f64]| -> Vec<f64> {
            let response = |i: usize| truth * a[i] + (1.0 - truth) * b[i];
            (0..a.len()).map(|i| ((1.0 - self.delta) * response(i) + self.delta * failure[i]).min(1.0)).collect()
        };
        Pair::new(mix(&self.a, &self.b, &self.p_failure), mix(&self.b, &self.a, &self.q_failure))
    }
}
