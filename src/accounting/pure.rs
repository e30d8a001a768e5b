//! Pure differential privacy.

use crate::accounting::directed::{add_up, group_size, nonnegative};
use crate::error::Fallible;
use crate::num::round::up;

/// Pure epsilon-differential privacy: `P(S) <= e^epsilon Q(S)` for every event and both orders.
///
/// Closed under post-processing: the same epsilon holds for anything computed from the output.
///
/// Reference: Dwork, McSherry, Nissim and Smith 2006, Definition 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct PureDp {
    epsilon: f64,
}

impl PureDp {
    /// Checks `epsilon >= 0`; infinity means no guarantee.
    ///
    /// # Errors
    /// When `epsilon` is negative or NaN.
    pub fn new(epsilon: f64) -> Fallible<Self> {
        Ok(PureDp { epsilon: nonnegative("epsilon", epsilon)? })
    }

    /// Its epsilon.
    pub fn epsilon(self) -> f64 {
        self.epsilon
    }

    /// Both mechanisms, the second possibly chosen in view of the first output.
    ///
    /// `epsilon + epsilon'`, rounded up.
    ///
    /// Reference: Dwork and Roth 2014, Theorem 3.14.
    pub fn compose(self, other: Self) -> Self {
        PureDp { epsilon: add_up(self.epsilon, other.epsilon) }
    }

    /// The guarantee for groups of `k` rows.
    ///
    /// `k epsilon`, rounded up.
    ///
    /// # Errors
    /// When `k` is 0.
    ///
    /// Reference: Dwork and Roth 2014, Theorem 2.2.
    pub fn group(self, k: u64) -> Fallible<Self> {
        let k = group_size(k)?;
        Ok(if k == 1 || self.epsilon == 0.0 { self } else { PureDp { epsilon: up(self.epsilon * k as f64, 2) } })
    }
}
