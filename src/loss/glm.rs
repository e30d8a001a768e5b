//! The losses by name, chosen at run time.

use serde::{Deserialize, Serialize};

use super::{Hinge, Huber, Logistic, Loss, Pinball, Poisson, Squared, Tuning};

/// A loss of the margin, chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Glm {
    /// [`Logistic`].
    Logistic,
    /// [`Squared`].
    Squared,
    /// [`Huber`].
    Huber(Huber),
    /// [`Pinball`].
    Pinball(Pinball),
    /// [`Hinge`].
    Hinge(Hinge),
    /// [`Poisson`].
    Poisson(Poisson),
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
            Glm::Huber(loss) => visitor.visit(loss),
            Glm::Pinball(loss) => visitor.visit(loss),
            Glm::Hinge(loss) => visitor.visit(loss),
            Glm::Poisson(loss) => visitor.visit(loss),
        }
    }

    /// What was measured about the loss.
    pub fn tuning(self) -> Tuning {
        match self {
            Glm::Logistic => Logistic.tuning(),
            Glm::Squared => Squared.tuning(),
            Glm::Huber(loss) => loss.tuning(),
            Glm::Pinball(loss) => loss.tuning(),
            Glm::Hinge(loss) => loss.tuning(),
            Glm::Poisson(loss) => loss.tuning(),
        }
    }
}
