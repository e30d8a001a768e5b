//! Losses of generalized linear models: value, slope, and their certified constants.

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
