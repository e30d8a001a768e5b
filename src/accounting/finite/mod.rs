//! Privacy loss of two laws on finitely many outcomes, exactly as the definitions say.
//!
//! These are the tools against which accountants are tested, and building blocks for small mechanisms.
//! Results are plain double precision, neither rounded up nor down, unless a page says otherwise.
//!
//! ```
//! use rhograd::accounting::finite::{Decomposition, DeltaForms, Loss, Pair};
//! # fn main() -> rhograd::error::Fallible<()> {
//! // Randomised response: the truth three times in four.
//! let pair = Pair::new(vec![0.75, 0.25], vec![0.25, 0.75])?;
//! let loss: Loss = pair.loss();
//! assert!((loss.mean() - 0.5 * 3f64.ln()).abs() < 1e-12);
//! // Delta at epsilon 1 in four ways, which agree.
//! let forms: DeltaForms = pair.delta_forms(1.0);
//! assert!((forms.supremum - forms.integral).abs() < 1e-12);
//! // And back: a response with epsilon ln 3 that never fails.
//! let parts: Decomposition = pair.decompose(3f64.ln(), 0.0)?;
//! assert_eq!(parts.rebuilt()?.len(), pair.len());
//! # Ok(())
//! # }
//! ```

mod decompose;
mod divergence;
#[cfg(test)]
mod joint;
mod loss;
mod test;

pub use decompose::Decomposition;
pub use loss::{DeltaForms, Loss};

use crate::accounting::directed::{finite, probability};
use crate::error::{Error, Fallible};

/// How far the probabilities of a law may sum from 1.
const MASS_TOLERANCE: f64 = 1e-9;

/// Two laws `P` and `Q` on the same finitely many outcomes.
///
/// ```
/// use rhograd::accounting::finite::Pair;
/// # fn main() -> rhograd::error::Fallible<()> {
/// let pair = Pair::new(vec![0.6, 0.3, 0.1], vec![0.2, 0.3, 0.5])?;
/// assert!((pair.hockey_stick(0.0) - 0.4).abs() < 1e-15);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    p: Vec<f64>,
    q: Vec<f64>,
}

impl Pair {
    /// Two lists of probabilities of the same length, each with sum 1 within 1e-9.
    ///
    /// # Errors
    /// When the lengths differ, a number is no probability, or a sum is off.
    pub fn new(p: Vec<f64>, q: Vec<f64>) -> Fallible<Self> {
        let wrong = |problem: String| Error::parameter("distribution", problem, "use probabilities with sum 1");
        if p.len() != q.len() || p.is_empty() {
            return Err(wrong(format!("there are {} outcomes against {}", p.len(), q.len())));
        }
        for law in [&p, &q] {
            for &mass in law {
                probability("probability", mass)?;
            }
            let total: f64 = law.iter().sum();
            if (total - 1.0).abs() > MASS_TOLERANCE {
                return Err(wrong(format!("the probabilities add up to {total}")));
            }
        }
        Ok(Pair { p, q })
    }

    /// The pair that every (epsilon, delta)-DP mechanism is a post-processing of.
    ///
    /// Randomised response with probability `1 - delta`, a revealing outcome with probability delta.
    ///
    /// # Errors
    /// When epsilon is negative, infinite or NaN or delta is no probability.
    ///
    /// Reference: Kairouz, Oh and Viswanath 2015, Theorem 3.4; Murtagh and Vadhan 2016, Lemma 3.2.
    pub fn worst(epsilon: f64, delta: f64) -> Fallible<Self> {
        let (e, d) = (finite("epsilon", epsilon)?, probability("delta", delta)?);
        let low = (1.0 - d) / (1.0 + e.exp());
        let high = (1.0 - d) / (1.0 + (-e).exp());
        Ok(Pair { p: vec![d, high, low, 0.0], q: vec![0.0, low, high, d] })
    }

    /// The first law: one probability for each outcome.
    pub fn p(&self) -> &[f64] {
        &self.p
    }

    /// The second law: one probability for each outcome, in the same order.
    pub fn q(&self) -> &[f64] {
        &self.q
    }

    /// Number of outcomes.
    pub fn len(&self) -> usize {
        self.p.len()
    }

    /// Whether there is no outcome; never, as [`Pair::new`] refuses that.
    pub fn is_empty(&self) -> bool {
        self.p.is_empty()
    }

    /// The pair with its laws exchanged.
    pub fn swapped(&self) -> Self {
        Pair { p: self.q.clone(), q: self.p.clone() }
    }

    /// The product of two pairs: independent draws from both.
    ///
    /// # Errors
    /// When there are more than 2^22 outcomes.
    pub fn product(&self, other: &Self) -> Fallible<Self> {
        if self.len().saturating_mul(other.len()) > 1 << 22 {
            return Err(Error::refused("the product has more than 2^22 outcomes", "use the PLD accountant"));
        }
        let times = |a: &[f64], b: &[f64]| a.iter().flat_map(|x| b.iter().map(move |y| x * y)).collect();
        Ok(Pair { p: times(&self.p, &other.p), q: times(&self.q, &other.q) })
    }

    /// The pair of laws of a function of the outcome, given as the new outcome of every old one.
    ///
    /// # Errors
    /// When the list has another length.
    pub fn post_processed(&self, outcome_of: &[usize]) -> Fallible<Self> {
        let outcomes = outcome_of.iter().max().map_or(0, |most| most + 1);
        if outcome_of.len() != self.len() || outcomes > self.len() {
            return Err(Error::parameter("function", "does not fit the outcomes", "give one new outcome for each"));
        }
        let mut image = Pair { p: vec![0.0; outcomes], q: vec![0.0; outcomes] };
        for (i, &to) in outcome_of.iter().enumerate() {
            image.p[to] += self.p[i];
            image.q[to] += self.q[i];
        }
        Ok(image)
    }

    /// The outcomes with their masses, skipping those of mass 0 under both laws.
    fn outcomes(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.p.iter().copied().zip(self.q.iter().copied()).filter(|&(p, q)| p > 0.0 || q > 0.0)
    }
}
