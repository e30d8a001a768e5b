//! Private optimizers, written against the gate: they see released values and public parameters only.

mod dp_gd;
mod moments;
mod theory;

pub use dp_gd::{Averaging, DpGd, Progress};
pub use moments::{MomentParts, MomentPlan, Moments};
pub use theory::TheoryParameters;
