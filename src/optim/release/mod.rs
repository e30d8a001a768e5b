//! What optimizers release: how each value is planned within a budget, and what is read from it.

pub(super) mod bins;
mod clipped;
mod domain;
mod gaussian;
pub(super) mod gram;
mod holdout;
mod lines;
mod metrics;
mod moments;
pub(super) mod normal_waves;
mod sampled;
pub(super) mod selected;
mod straight;
mod tree;
pub(super) mod wave_law;
mod waves;

pub use bins::{BinPlan, Bins};
pub use clipped::{ClipRule, ClippedPlan};
pub use domain::{Frequent, KindsPlan, KindsSeen, RangesPlan, VocabularyPlan};
pub use gaussian::{Fineness, GaussianRelease, GaussianRule};
pub use gram::GramPlan;
pub(super) use gram::public_gram;
pub(crate) use holdout::HELD_OUT;
pub use holdout::HoldoutPlan;
pub(in crate::optim) use lines::Straight;
pub use metrics::{Estimate, Evaluation, MarginCounts, Units};
pub use moments::{MomentParts, MomentPlan, Moments, Sizes, Spread, Typical};
pub(crate) use normal_waves::{Given, NormalWaves};
pub(in crate::optim) use sampled::{Calibrated, MAX_RATE, SampledRule, Samples};
pub(crate) use straight::StraightPlan;
pub(crate) use waves::WavePlan;
