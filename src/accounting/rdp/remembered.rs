//! A curve that computes each order once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::convert::Renyi;
use crate::error::Fallible;

/// Orders that are kept; further ones are computed each time.
const MOST: usize = 100_000;

/// A curve that keeps what it has computed, for bounds that ask it for the same orders again and again.
///
/// Clones share what is kept. The values are those of the curve, bit by bit.
///
/// ```
/// use rhograd::accounting::notion::RdpCurve;
/// use rhograd::accounting::rdp::{Component, Remembered, Renyi};
/// # fn main() -> rhograd::error::Fallible<()> {
/// let curve = RdpCurve::from(Component::Gaussian { noise_multiplier: 2.0 });
/// let remembered = Remembered::from(curve.clone());
/// assert_eq!(remembered.divergence(4.0)?, curve.at(4.0)?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Remembered<R> {
    curve: R,
    known: Arc<Mutex<HashMap<u64, f64>>>,
}

impl<R: Renyi> From<R> for Remembered<R> {
    fn from(curve: R) -> Self {
        Remembered { curve, known: Arc::default() }
    }
}

impl<R: PartialEq> PartialEq for Remembered<R> {
    /// Whether the curves are equal, whatever is kept of them.
    fn eq(&self, other: &Self) -> bool {
        self.curve == other.curve
    }
}

impl<R: Renyi> Renyi for Remembered<R> {
    fn divergence(&self, alpha: f64) -> Fallible<f64> {
        let key = alpha.to_bits();
        // What another thread left is whole: values are stored in one step.
        if let Some(value) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(*value);
        }
        let value = self.curve.divergence(alpha)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MOST {
            known.insert(key, value);
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::notion::RdpCurve;
    use crate::accounting::rdp::{self, Component, Form};
    use crate::accounting::selection;
    use crate::privacy::{Delta, RunCount};

    /// Counts how often it is asked.
    struct Counted(RdpCurve, Mutex<u64>);

    impl Renyi for Counted {
        fn divergence(&self, alpha: f64) -> Fallible<f64> {
            *self.1.lock().unwrap() += 1;
            self.0.at(alpha)
        }
    }

    /// The best of several runs of a curve.
    struct Selected<'a, R>(&'a R, RunCount);

    impl<R: Renyi> Renyi for Selected<'_, R> {
        fn divergence(&self, alpha: f64) -> Fallible<f64> {
            selection::renyi(self.0, self.1, alpha)
        }
    }

    #[test]
    fn selection_asks_for_few_orders_and_its_bits_stay() {
        let base = RdpCurve::from(Component::Gaussian { noise_multiplier: 3.0 }).repeat(5);
        for (runs, times) in [
            (RunCount::TruncatedNegativeBinomial { eta: 0.5, gamma: 0.05 }, 100),
            (RunCount::Poisson { mean: 10.0 }, 4),
        ] {
            let delta = Delta::new(1e-6).unwrap();
            let plain = Counted(base.clone(), Mutex::new(0));
            let once = Remembered::from(base.clone());
            let expected = rdp::epsilon(&Selected(&plain, runs), delta, Form::Improved).unwrap();
            assert_eq!(rdp::epsilon(&Selected(&once, runs), delta, Form::Improved).unwrap(), expected);
            let whole: RdpCurve = Component::Selected { base: once.clone(), runs }.into();
            assert_eq!(rdp::epsilon(&whole, delta, Form::Improved).unwrap(), expected);
            let (asked, computed) = (*plain.1.lock().unwrap(), once.known.lock().unwrap().len() as u64);
            assert!(computed * times < asked, "{runs:?}: {computed} of {asked}");
        }
        assert_eq!(Remembered::from(base.clone()), Remembered::from(base.clone()));
        assert!(Remembered::from(base).divergence(0.5).is_err());
    }
}
