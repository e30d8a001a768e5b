//! Losses of generalized linear models: value, slope, and their certified constants.
//!
//! By type where the loss is known, by name where a file says which:
//!
//! ```
//! use rhograd::loss::{Glm, Hinge, Huber, Logistic, Loss, LossVisitor, Objective, Pinball, Poisson, Softmax, Squared};
//! use rhograd::loss::{OwnForm, OwnLoss, Tuning, WhitenedTuning};
//!
//! /// The slope of any loss, compiled for each.
//! struct SlopeAt(f32, f32);
//!
//! impl LossVisitor for SlopeAt {
//!     type Output = f32;
//!
//!     fn visit<L: Loss>(self, loss: L) -> f32 {
//!         loss.slope(self.0, self.1)
//!     }
//! }
//! # fn main() -> rhograd::error::Fallible<()> {
//! assert!((Logistic.value(0.0, 1.0) - 2f64.ln()).abs() < 1e-12);
//! assert_eq!(Squared.slope(2.0, 0.5), 1.5);
//! let huber = Glm::Huber(Huber { threshold: 1.0 });
//! assert_eq!(huber.with(SlopeAt(5.0, 0.5)), 1.0);
//! let others = [
//!     Glm::Hinge(Hinge { width: 0.5 }),
//!     Glm::Pinball(Pinball { level: 0.8, width: 0.1 }),
//!     Glm::Poisson(Poisson { bound: 3.0, most: 3f64.exp() }),
//! ];
//! assert!(others.iter().all(|loss| loss.as_loss().smoothness() >= 1.0));
//! // What optimizers take: a loss of one margin, or of one margin per label.
//! assert_eq!(Objective::from(huber).outputs(), 1);
//! assert_eq!(Objective::Softmax { classes: 3 }.outputs(), 3);
//! assert!((Softmax::value(&[0.0; 3], 1) - 3f64.ln()).abs() < 1e-12);
//! // Step sizes and clips that were measured for it.
//! let Tuning { whitened: WhitenedTuning { steps, .. }, .. } = Logistic.tuning();
//! assert_eq!(steps, 16);
//! // One of your own, as a table.
//! assert_eq!(OwnLoss::of_residual("log-cosh", |r| r.cosh().ln(), f64::tanh)?.form(), OwnForm::Residual);
//! # Ok(())
//! # }
//! ```
//!
//! Slopes in integers, for algorithms whose guarantee rests on them:
//!
//! ```
//! use rhograd::loss::{BoundedLoss, Curved, FixedSlope, MonotoneSlope, SLOPE_ERROR};
//! // At a margin of 0 the logistic slope is a half less the label, in units of 2^-62.
//! let slope = FixedSlope::new(BoundedLoss::Logistic, 1.0).at(0, 1);
//! assert!((slope + (1 << 61)).unsigned_abs() <= SLOPE_ERROR);
//! // At a margin of 3 the slope of the square is 3 less the label, in units of 2^-30.
//! assert_eq!(MonotoneSlope::new(Curved::Squared, 1 << 20, 1.0).at(3 << 20, 1), 2 << 30);
//! ```

mod approx;
#[cfg(test)]
mod check;
mod curved;
mod description;
mod fixed;
#[macro_use]
mod glm;
mod hinge;
mod huber;
mod logistic;
mod monotone;
mod objective;
mod own;
mod own_name;
mod pinball;
mod poisson;
mod softmax;
mod squared;
mod tuning;

pub use curved::Curved;
pub use description::Loss;
pub use fixed::{BoundedLoss, FRACTION_BITS, FixedSlope, SLOPE_ERROR};
pub use glm::LossVisitor;
pub use hinge::Hinge;
pub use huber::Huber;
pub use logistic::Logistic;
pub use monotone::{LOG2_SLOPE, MonotoneSlope};
pub use objective::Objective;
pub use own::{OwnForm, OwnLoss};
pub use pinball::Pinball;
pub use poisson::Poisson;
pub use softmax::Softmax;
pub use squared::Squared;
pub use tuning::{Tuning, WhitenedTuning};

// Those without parameters first. Workers know them by their place: new ones go to the end.
losses!(Logistic, Squared; Huber(Huber), Pinball(Pinball), Hinge(Hinge), Poisson(Poisson), Own(OwnLoss));
