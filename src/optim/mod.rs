//! Private optimizers, written against the gate: they see released values and public parameters only.
//!
//! An [`Optimizer`] is planned from a [`Problem`] before anything is charged, says what it will release, and runs
//! once the plan is paid for. The list of algorithms is here, one line each: a name in code, and what its file says of it. The
//! documentation of an algorithm's file is its page for users; links in it are those of a page in `docs/algorithms`.

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
mod release;
pub mod settings;
mod step;
mod theory;
mod tuned;
mod whitened;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

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

use crate::error::{Error, Fallible};

/// Writes the enum of algorithms, the list of them and the way to their descriptions.
macro_rules! algorithms {
    ($($name:ident: $file:ident::$description:ident),* $(,)?) => {
        /// A training algorithm, by name; [`Algorithm::description`] says all else.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Algorithm {
            $(
                #[doc = concat!("What `src/optim/", stringify!($file), ".rs` describes and plans.")]
                $name,
            )*
            /// An optimizer from outside this crate.
            Custom,
            /// The best of several candidates.
            Tuned,
        }

        impl Algorithm {
            /// Every algorithm that can be asked for by name, in the order of `rhograd train --help`.
            pub const ALL: [Algorithm; [$(stringify!($name)),*].len()] = [$(Algorithm::$name),*];

            /// What it is, takes and needs.
            pub fn description(self) -> &'static Description {
                match self {
                    $(Algorithm::$name => &$file::$description,)*
                    Algorithm::Custom => &CUSTOM,
                    Algorithm::Tuned => &tuned::DESCRIPTION,
                }
            }

            /// The source file of an algorithm that can be asked for by name.
            fn source(self) -> &'static str {
                match self {
                    $(Algorithm::$name => include_str!(concat!(stringify!($file), ".rs")),)*
                    Algorithm::Custom | Algorithm::Tuned => "",
                }
            }
        }
    };
}

algorithms! {
    Auto: auto::DESCRIPTION,
    Whitened: whitened::DESCRIPTION,
    DpGd: dp_gd::DESCRIPTION,
    DpSgd: dp_sgd::DESCRIPTION,
    DpGdTheory: theory::DESCRIPTION,
    AdaSsp: adassp::DESCRIPTION,
    BoostedAdaSsp: boosted_adassp::DESCRIPTION,
    Newton: newton::DESCRIPTION,
    DpFtrl: dp_ftrl::DESCRIPTION,
    Localization: localization::DESCRIPTION,
    OnePass: one_pass::DESCRIPTION,
    NewtonDoubleNoise: newton_double::DESCRIPTION,
    OutputPerturbation: output_perturbation::DESCRIPTION,
    Amp: objective_perturbation::AMP,
    ObjectivePerturbation: objective_perturbation::DESCRIPTION,
    ExponentialMechanism: exponential_mechanism::DESCRIPTION,
    FrankWolfe: frank_wolfe::DESCRIPTION,
}

/// What is known of an optimizer from outside: nothing but that the gate holds it to what it paid for.
static CUSTOM: Description = Description {
    name: "custom",
    about: "An optimizer from outside",
    releases: "what it planned",
    reference: "its author",
    relations: Relations::Both,
    losses: Losses::Any,
    settings: SETTINGS,
    needs: Needs::NOTHING,
    plan: |_| Err(Error::parameter("algorithm", "has no planner of its own", "use `load_with`")),
    audit: |_| AuditRecipe { one_run: Some("has releases of any kind"), ..AuditRecipe::with(Settings::NONE) },
};

impl Algorithm {
    /// The name used in files and on the command line.
    pub fn name(self) -> &'static str {
        self.description().name
    }

    /// The algorithm of a name that can be asked for.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// Its page, in Markdown: what it does, what it releases and why the bound is exact, its cost, its settings, when to use it.
    ///
    /// This is the documentation of its source file. It is empty for what has no name to be asked for.
    ///
    /// ```
    /// let page = rhograd::optim::Algorithm::DpSgd.page();
    /// assert!(page.starts_with("# `dp-sgd`: "));
    /// ```
    pub fn page(self) -> String {
        let lines = self.source().lines().map_while(|line| line.strip_prefix("//!"));
        lines.flat_map(|line| [line.strip_prefix(' ').unwrap_or(line), "\n"]).collect()
    }

    /// The name of its page: what the title of the page names first, for two that differ in one constant share a page.
    pub fn page_name(self) -> String {
        self.page().split('`').nth(1).unwrap_or_default().to_owned()
    }

    /// Plans an optimizer; with it comes the algorithm that it is, which for `auto` the problem decides.
    ///
    /// # Errors
    /// When the algorithm is not made for the problem, or the budget is too small.
    pub fn plan(self, problem: &Problem<'_>) -> Fallible<(Algorithm, Box<dyn Optimizer>)> {
        let algorithm = match self {
            Algorithm::Auto if auto::whitens(problem) => Algorithm::Whitened,
            Algorithm::Auto => Algorithm::DpGd,
            other => other,
        };
        Ok((algorithm, (algorithm.description().plan)(problem)?))
    }
}

impl Serialize for Algorithm {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.name().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Algorithm {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        let all = Self::ALL.into_iter().chain([Algorithm::Custom, Algorithm::Tuned]);
        all.into_iter().find(|algorithm| algorithm.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Algorithm::name).join(", ");
            serde::de::Error::custom(format!("unknown algorithm {name:?}, known are {names}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Adjacency;

    #[test]
    fn an_audit_fills_in_only_what_the_algorithm_takes() {
        for algorithm in Algorithm::ALL {
            let description = algorithm.description();
            for &adjacency in description.relations.all() {
                let filled = (description.audit)(adjacency).settings;
                filled.only(description.settings, description.name).unwrap();
                filled.check().unwrap();
            }
        }
    }

    #[test]
    fn every_name_is_one_algorithm_and_is_read_back() {
        for algorithm in Algorithm::ALL.into_iter().chain([Algorithm::Custom, Algorithm::Tuned]) {
            let text = serde_json::to_string(&algorithm).unwrap();
            assert_eq!(text, format!("{:?}", algorithm.name()));
            assert_eq!(serde_json::from_str::<Algorithm>(&text).unwrap(), algorithm);
        }
        assert!(serde_json::from_str::<Algorithm>("\"sgd\"").is_err());
        assert_eq!([Algorithm::named("custom"), Algorithm::named("tuned")], [None, None]);
        assert_eq!(Algorithm::named("dp-gd"), Some(Algorithm::DpGd));
        assert_eq!(Relations::Both.all(), [Adjacency::AddRemove, Adjacency::ReplaceOne]);
    }
}
