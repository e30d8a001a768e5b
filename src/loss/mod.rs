//! Losses of generalized linear models: value, slope, and their certified constants.

mod approx;
#[cfg(test)]
mod check;
mod curved;
mod fixed;
mod glm;
mod hinge;
mod huber;
mod logistic;
mod monotone;
mod objective;
mod pinball;
mod poisson;
mod softmax;
mod squared;
mod tuning;

pub use curved::Curved;
pub use fixed::{BoundedLoss, FRACTION_BITS, FixedSlope, SLOPE_ERROR};
pub use glm::{Glm, LossVisitor};
pub use hinge::Hinge;
pub use huber::Huber;
pub use logistic::Logistic;
pub use monotone::{LOG2_SLOPE, MonotoneSlope};
pub use objective::Objective;
pub use pinball::Pinball;
pub use poisson::Poisson;
pub use softmax::Softmax;
pub use squared::Squared;
pub use tuning::{Tuning, WhitenedTuning};

/// A loss `l(t, y)` of the margin `t = w . x` and the label `y`.
pub trait Loss: Copy + Send + Sync {
    /// `l(t, y)`.
    fn value(&self, margin: f64, label: f64) -> f64;

    /// `dl/dt` in single precision, free of branches so that loops over it vectorise.
    ///
    /// Must be a pure function of its arguments. Its error is harmless to privacy: the clip is
    /// decided afterwards, in integers.
    fn slope(&self, margin: f32, label: f32) -> f32;

    /// The largest `|dl/dt|`, infinite if there is none.
    fn lipschitz(&self) -> f64;

    /// The largest `d^2l/dt^2`.
    fn smoothness(&self) -> f64;
}
