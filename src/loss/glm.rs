//! The losses by name, for configurations and files.

use serde::{Deserialize, Serialize};

use super::{Logistic, Loss, Squared};

/// A loss of the margin, chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Glm {
    /// [`Logistic`].
    Logistic,
    /// [`Squared`].
    Squared,
}

/// Calls the same code with the loss that a [`Glm`] names, so that loops are compiled for it.
pub trait LossVisitor {
    /// What the code returns.
    type Output;

    /// Runs with one loss.
    fn visit<L: Loss>(self, loss: L) -> Self::Output;
}

impl Glm {
    /// Runs `visitor` with the loss itself.
    pub fn with<V: LossVisitor>(self, visitor: V) -> V::Output {
        match self {
            Glm::Logistic => visitor.visit(Logistic),
            Glm::Squared => visitor.visit(Squared),
        }
    }

    /// The largest second derivative.
    pub fn smoothness(self) -> f64 {
        match self {
            Glm::Logistic => Logistic.smoothness(),
            Glm::Squared => Squared.smoothness(),
        }
    }
}
