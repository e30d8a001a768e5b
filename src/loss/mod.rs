//! Losses of generalized linear models: value, slope, and their certified constants.

mod fixed;
mod glm;
mod logistic;
mod squared;

pub use fixed::{FixedSlope, LOG2_SLOPE};
pub use glm::{Glm, LossVisitor};
pub use logistic::Logistic;
pub use squared::Squared;

/// A loss `l(t, y)` of the margin `t = w . x` and the label `y`.
pub trait Loss: Copy + Send + Sync {
    /// `l(t, y)`.
    fn value(&self, margin: f64, label: f64) -> f64;

    /// `dl/dt` in single precision, free of branches so that loops over it vectorise.
    ///
    /// Must be a pure function of its arguments. Its error is harmless to privacy: the clip is
    /// decided afterwards, in integers.
    fn slope(&self, margin: f32, label: f32) -> f32;

    /// `d^2l/dt^2` in single precision, never negative; like [`Loss::slope`] pure, and its error harmless to privacy.
    fn curvature(&self, margin: f32) -> f32;

    /// The largest `|dl/dt|`, infinite if there is none.
    fn lipschitz(&self) -> f64;

    /// The largest `d^2l/dt^2`.
    fn smoothness(&self) -> f64;
}
