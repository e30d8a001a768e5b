//! What optimizers do with released values: steps, metrics, penalties, averages and errors.

pub(super) mod curvature;
pub(super) mod descent;
pub(super) mod fixed;
pub(super) mod newton;
pub(super) mod noise;
pub(super) mod penalty;
pub(super) mod standard_errors;

pub use descent::Descent;
