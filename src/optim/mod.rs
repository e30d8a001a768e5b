//! Private optimizers, written against the gate: they see released values and public parameters only.
//!
//! An [`Optimizer`] is planned from a [`Problem`] before anything is charged, says what it will release, and runs
//! once the plan is paid for.

mod adassp;
mod algorithm;
mod boosted_adassp;
mod clipped;
mod curvature;
mod descent;
mod domain;
mod dp_ftrl;
mod dp_gd;
mod dp_sgd;
mod exponential_mechanism;
mod fixed_steps;
mod frank_wolfe;
mod gaussian_release;
mod gram;
mod holdout;
mod localization;
mod metrics;
mod moments;
mod newton;
mod newton_double;
mod newton_steps;
mod objective_perturbation;
mod one_pass;
mod output_perturbation;
mod penalty;
mod problem;
mod requirements;
mod selected;
mod theory;
mod tuned;
mod uncertainty;
mod whitened;

pub use crate::private::Planned;
pub use adassp::AdaSsp;
pub use algorithm::Algorithm;
pub use boosted_adassp::BoostedAdaSsp;
pub use clipped::{ClipRule, ClippedPlan};
pub use descent::{Averaging, Descent};
pub use domain::{Frequent, KindsPlan, KindsSeen, RangesPlan, VocabularyPlan};
pub use dp_ftrl::DpFtrl;
pub use dp_gd::DpGd;
pub use dp_sgd::DpSgd;
pub use exponential_mechanism::ExponentialMechanism;
pub use frank_wolfe::FrankWolfe;
pub use gaussian_release::{Fineness, GaussianRelease, GaussianRule};
pub use gram::GramPlan;
pub(crate) use holdout::HELD_OUT;
pub use holdout::HoldoutPlan;
pub use localization::Localization;
pub use metrics::{Estimate, Evaluation, Units};
pub use moments::{MomentParts, MomentPlan, Moments, Spread};
pub use newton::Newton;
pub use newton_double::NewtonDoubleNoise;
pub use objective_perturbation::ObjectivePerturbation;
pub use one_pass::OnePass;
pub use output_perturbation::OutputPerturbation;
pub use problem::{Fitted, Optimizer, Problem, Settings, Start, Target};
pub use theory::{DpGdTheory, TheoryParameters};
pub(crate) use tuned::TUNED;
pub use tuned::{CandidatePlanner, Tuned};
pub use whitened::WhitenedDpGd;
