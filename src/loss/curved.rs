//! Losses whose second derivative is a known function of the margin alone.

use serde::{Deserialize, Serialize};

use super::{Glm, Logistic, Loss, Objective, Squared};

/// A loss that second-order methods have a theory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Curved {
    /// [`Logistic`].
    Logistic,
    /// [`Squared`].
    Squared,
}

impl Curved {
    /// The loss behind an objective, `None` where it is another one.
    pub fn of(objective: Objective) -> Option<Self> {
        match objective {
            Objective::Margin(Glm::Logistic) => Some(Curved::Logistic),
            Objective::Margin(Glm::Squared) => Some(Curved::Squared),
            Objective::Margin(_) | Objective::Softmax { .. } => None,
        }
    }

    /// The largest second derivative.
    pub fn smoothness(self) -> f64 {
        match self {
            Curved::Logistic => Logistic.smoothness(),
            Curved::Squared => Squared.smoothness(),
        }
    }

    /// The largest second derivative is `2^-log2_smooth`, exactly.
    pub fn log2_smooth(self) -> u32 {
        match self {
            Curved::Logistic => 2,
            Curved::Squared => 0,
        }
    }
}

impl From<Curved> for Objective {
    fn from(loss: Curved) -> Self {
        Objective::Margin(match loss {
            Curved::Logistic => Glm::Logistic,
            Curved::Squared => Glm::Squared,
        })
    }
}
