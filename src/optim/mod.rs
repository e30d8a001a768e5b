//! Private optimizers, written against the gate: they see released values and public parameters only.
//!
//! An [`Optimizer`] is planned from a [`Problem`] before anything is charged, says what it will release, and runs
//! once the plan is paid for.

mod adassp;
mod auto;
mod boosted_adassp;
mod description;
mod dp_ftrl;
mod dp_gd;
mod dp_sgd;
mod exponential_mechanism;
mod frank_wolfe;
mod localization;
mod newton;
mod newton_double;
mod objective_perturbation;
mod one_pass;
mod output_perturbation;
mod problem;
mod registry;
mod release;
pub mod settings;
mod step;
mod theory;
mod tuned;
mod whitened;

pub use crate::private::Planned;
pub use adassp::AdaSsp;
pub use boosted_adassp::BoostedAdaSsp;
pub use description::{AuditRecipe, Description, Losses, Needs, Relations};
pub use dp_ftrl::DpFtrl;
pub use dp_gd::DpGd;
pub use dp_sgd::DpSgd;
pub use exponential_mechanism::ExponentialMechanism;
pub use frank_wolfe::FrankWolfe;
pub use localization::Localization;
pub use newton::Newton;
pub use newton_double::NewtonDoubleNoise;
pub use objective_perturbation::ObjectivePerturbation;
pub use one_pass::OnePass;
pub use output_perturbation::OutputPerturbation;
pub use problem::{Fitted, Optimizer, Problem, Start, Target};
pub use registry::Algorithm;
pub(crate) use release::HELD_OUT;
pub use release::{
    ClipRule, ClippedPlan, Estimate, Evaluation, Fineness, Frequent, GaussianRelease, GaussianRule, GramPlan,
    HoldoutPlan, KindsPlan, KindsSeen, MomentParts, MomentPlan, Moments, RangesPlan, Spread, Units, VocabularyPlan,
};
pub use settings::{Averaging, SETTINGS, Setting, Settings};
pub use step::Descent;
pub use theory::{DpGdTheory, TheoryParameters};
pub(crate) use tuned::TUNED;
pub use tuned::{CandidatePlanner, Tuned};
pub use whitened::WhitenedDpGd;
