//! Losses whose second derivative is a known function of the margin alone.

use serde::{Deserialize, Serialize};

/// A loss that second-order methods have a theory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Curved {
    /// [`super::Logistic`].
    Logistic,
    /// [`super::Squared`].
    Squared,
}

impl Curved {
    /// The largest second derivative.
    pub fn smoothness(self) -> f64 {
        2f64.powi(-(self.log2_smooth() as i32))
    }

    /// The largest second derivative is `2^-log2_smooth`, exactly.
    pub fn log2_smooth(self) -> u32 {
        match self {
            Curved::Logistic => 2,
            Curved::Squared => 0,
        }
    }
}
