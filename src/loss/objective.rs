//! What training minimises: a loss of one margin, or of one margin per label.

use super::{Glm, Loss, LossVisitor, Softmax};

/// A loss as optimizers see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    /// A loss of one margin.
    Margin(Glm),
    /// [`Softmax`] over the margins of several labels.
    Softmax {
        /// Number of labels.
        classes: usize,
    },
}

impl From<Glm> for Objective {
    fn from(loss: Glm) -> Self {
        Objective::Margin(loss)
    }
}

impl Objective {
    /// Margins per row, each with a coefficient vector of its own.
    pub fn outputs(self) -> usize {
        match self {
            Objective::Margin(_) => 1,
            Objective::Softmax { classes } => classes,
        }
    }

    /// The largest l2 norm of the gradient with respect to the margins, infinite if there is none.
    pub fn lipschitz(self) -> f64 {
        match self {
            Objective::Margin(loss) => loss.with(Lipschitz),
            Objective::Softmax { .. } => Softmax::lipschitz(),
        }
    }
}

struct Lipschitz;

impl LossVisitor for Lipschitz {
    type Output = f64;

    fn visit<L: Loss>(self, loss: L) -> f64 {
        loss.lipschitz()
    }
}
