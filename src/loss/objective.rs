//! What training minimises: a loss of one margin, or of one margin per label.

use serde::{Deserialize, Serialize};

use super::{BoundedLoss, Curved, Glm, Softmax, Tuning};
use crate::grid::LabelCoding;

/// A loss as optimizers see it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

impl From<Curved> for Objective {
    fn from(loss: Curved) -> Self {
        Objective::Margin(match loss {
            Curved::Logistic => Glm::Logistic,
            Curved::Squared => Glm::Squared,
        })
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

    /// How labels weigh rows in its score, where its link is the canonical one: there they enter the likelihood linearly. `None` elsewhere.
    pub fn label_coding(self) -> Option<LabelCoding> {
        match self {
            Objective::Margin(Glm::Logistic) => Some(LabelCoding::Two),
            Objective::Margin(Glm::Squared) => Some(LabelCoding::Numbers),
            Objective::Margin(Glm::Poisson(_)) => Some(LabelCoding::Counts),
            Objective::Softmax { classes } => u16::try_from(classes).ok().map(|labels| LabelCoding::Classes { labels }),
            Objective::Margin(_) => None,
        }
    }

    /// What was measured about it.
    pub fn tuning(self) -> Tuning {
        match self {
            Objective::Margin(loss) => loss.as_loss().tuning(),
            Objective::Softmax { classes } => Softmax::tuning(classes),
        }
    }

    /// The largest l2 norm of the gradient with respect to the margins, infinite if there is none.
    pub fn lipschitz(self) -> f64 {
        match self {
            Objective::Margin(loss) => loss.as_loss().lipschitz(),
            Objective::Softmax { .. } => Softmax::lipschitz(),
        }
    }

    /// What the margins of a row (one, or one per label) predict: the number of the most probable label, the rate of a count, or the margin.
    pub fn prediction(self, margins: &[f64]) -> f64 {
        let margin = margins.first().copied().unwrap_or(f64::NAN);
        match self {
            Objective::Margin(loss) => loss.as_loss().prediction(margin),
            Objective::Softmax { .. } => {
                (0..margins.len()).max_by(|&a, &b| margins[a].total_cmp(&margins[b])).map_or(f64::NAN, |k| k as f64)
            }
        }
    }

    /// The loss as second-order methods know it, see [`super::Loss::curved`].
    pub fn curved(self) -> Option<Curved> {
        match self {
            Objective::Margin(loss) => loss.as_loss().curved(),
            Objective::Softmax { .. } => None,
        }
    }

    /// The loss that is minimised in its place where minimisers are certified, see [`super::Loss::bounded`].
    pub fn bounded(self) -> Option<BoundedLoss> {
        match self {
            Objective::Margin(loss) => loss.as_loss().bounded(),
            Objective::Softmax { .. } => None,
        }
    }

    /// What the reported loss is called.
    pub fn metric(self) -> &'static str {
        match self {
            Objective::Margin(loss) => loss.as_loss().metric(),
            Objective::Softmax { .. } => "log_loss",
        }
    }

    /// The loss by which predictions are reported, see [`super::Loss::reported`]; for several labels what training minimises.
    pub fn reported(self, margins: &[f64], label: f64) -> f64 {
        let margin = margins.first().copied().unwrap_or(f64::NAN);
        match self {
            Objective::Margin(loss) => loss.as_loss().reported(margin, label),
            // A label that no margin belongs to is as wrong as can be.
            Objective::Softmax { .. } if label < 0.0 || label as usize >= margins.len() => f64::INFINITY,
            Objective::Softmax { .. } => Softmax::value(margins, label as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Hinge, Pinball, Poisson};

    #[test]
    fn a_loss_with_a_theory_is_itself_and_as_smooth() {
        for curved in [Curved::Logistic, Curved::Squared] {
            let Objective::Margin(loss) = Objective::from(curved) else { panic!("one margin") };
            assert_eq!(loss.as_loss().curved(), Some(curved));
            assert_eq!(loss.as_loss().smoothness(), curved.smoothness());
        }
    }

    #[test]
    fn predictions_and_reported_losses_are_those_of_the_textbook() {
        let softmax = Objective::Softmax { classes: 3 };
        assert_eq!(softmax.prediction(&[0.5, 2.0, -1.0]), 1.0);
        assert!((softmax.reported(&[0.0; 3], 2.0) - 3f64.ln()).abs() < 1e-12);
        assert_eq!(softmax.reported(&[0.0; 3], 3.0), f64::INFINITY);
        let counts = Objective::from(Glm::Poisson(Poisson { bound: 2.0, most: 9.0 }));
        assert_eq!(counts.prediction(&[5.0]), 2f64.exp());
        assert_eq!(counts.reported(&[0.0], 0.0), 2.0);
        let hinge = Objective::from(Glm::Hinge(Hinge { width: 0.5 }));
        assert_eq!([hinge.reported(&[1.0], 1.0), hinge.reported(&[1.0], 0.0)], [0.0, 2.0]);
        let pinball = Objective::from(Glm::Pinball(Pinball { level: 0.75, width: 0.5 }));
        assert_eq!([pinball.reported(&[0.0], 1.0), pinball.reported(&[0.0], -1.0)], [0.75, 0.25]);
        assert!((Objective::from(Glm::Logistic).reported(&[0.0], 1.0) - 2f64.ln()).abs() < 1e-12);
    }
}
