//! Private optimizers, written against the gate: they see released values and public parameters only.
//!
//! An [`Optimizer`] is planned from a [`Problem`] before anything is charged, says what it will release, and runs
//! once the plan is paid for. The list of algorithms is here, one line each: a name in code, and what its file says of it. The
//! documentation of an algorithm's file is its page for users; links in it are those of a page in `docs/algorithms`.
//!
//! What is said of an algorithm and of its settings:
//!
//! ```
//! use rhograd::optim::{Algorithm, AuditRecipe, Averaging, Description, Losses, Needs, Relations, Sampling, Setting, Settings};
//! use rhograd::optim::settings::{Kind, Range};
//! use rhograd::privacy::Adjacency;
//! # fn main() -> rhograd::error::Fallible<()> {
//! let Description { relations, losses, needs, audit, .. } = *Algorithm::DpGd.description();
//! assert_eq!((relations, losses, needs), (Relations::Both, Losses::Any, Needs::NOTHING));
//! // How it is audited: a clip that every record reaches, and the last iterate.
//! let AuditRecipe { settings, .. } = audit(Adjacency::AddRemove);
//! assert_eq!(settings.averaging, Some(Averaging::Last));
//! assert_eq!(Sampling::NAMED[1], ("shuffle", Sampling::Shuffle));
//! let clip: &Setting = Setting::named("clip").unwrap();
//! let Kind::Number { range: Range { words, .. }, .. } = clip.kind else { unreachable!("a number") };
//! assert_eq!(words, "in [1e-12, 1e12]");
//! let mut settings = Settings::default();
//! clip.read(&mut settings, "0.5")?;
//! assert_eq!(settings.clip, Some(0.5));
//! # Ok(())
//! # }
//! ```
//!
//! Plans, made from public facts before a row is looked at:
//!
//! ```
//! use rhograd::grid::{FULL_SCALE, Shape};
//! use rhograd::loss::Curved;
//! use rhograd::optim::{
//!     AdaSsp, BoostedAdaSsp, CandidatePlanner, DpFtrl, DpGd, DpGdTheory, ExponentialMechanism, FrankWolfe, LabelSums, Localization, Newton,
//!     NewtonDoubleNoise, ObjectivePerturbation, OnePass, Optimizer, OutputPerturbation, Problem, Settings, Target,
//!     TheoryParameters, Tuned, WhitenedDpGd,
//! };
//! use rhograd::privacy::{Adjacency, Delta, Epsilon, NoiseLaw, Rho};
//! # fn main() -> rhograd::error::Fallible<()> {
//! let (shape, settings) = (Shape::new(2, &[]), Settings::default());
//! let problem = Problem {
//!     shape: &shape,
//!     adjacency: Adjacency::ReplaceOne,
//!     loss: Curved::Logistic.into(),
//!     one: FULL_SCALE,
//!     standardized: true,
//!     binned: false,
//!     rows: Some(10_000),
//!     persons: false,
//!     weighted: false,
//!     labels_alone: false, public: None,
//!     noise: NoiseLaw::FlooredNormal,
//!     budget: Rho::from_f64(0.03)?,
//!     target: Some(Target { epsilon: Epsilon::new(1.0)?, delta: Delta::new(1e-6)?, before: &[] }),
//!     settings: &settings,
//! };
//! let labels = Problem { labels_alone: true, ..problem.clone() };
//! let candidates: &CandidatePlanner<'_> = &|number, problem| match number {
//!     0 => Ok(Box::new(DpGd::plan(problem)?)),
//!     _ => Ok(Box::new(Newton::plan(problem)?)),
//! };
//! let plans: [Box<dyn Optimizer>; 16] = [
//!     Box::new(LabelSums::plan(&labels)?),
//!     Box::new(AdaSsp::plan(&problem)?),
//!     Box::new(BoostedAdaSsp::plan(&problem)?),
//!     Box::new(DpFtrl::plan(&problem)?),
//!     Box::new(DpGd::plan(&problem)?),
//!     Box::new(DpGdTheory::plan(&problem)?),
//!     Box::new(ExponentialMechanism::plan(&problem)?),
//!     Box::new(FrankWolfe::plan(&problem)?),
//!     Box::new(Localization::plan(&problem)?),
//!     Box::new(Newton::plan(&problem)?),
//!     Box::new(NewtonDoubleNoise::plan(&problem)?),
//!     Box::new(ObjectivePerturbation::plan(&problem)?),
//!     Box::new(OnePass::plan(&problem)?),
//!     Box::new(OutputPerturbation::plan(&problem)?),
//!     Box::new(Tuned::plan(&problem, vec!["dp-gd".into(), "newton".into()], candidates)?),
//!     Box::new(WhitenedDpGd::plan(&problem)?),
//! ];
//! // Each says what it will release, and what it says is what its queries move by.
//! assert!(plans.iter().all(|plan| plan.planned().iter().all(|it| it.is_exact(problem.adjacency))));
//! let theory = TheoryParameters::new(10_000.0, 3, 0.03, 1.0, 2.0, problem.adjacency)?;
//! assert!(theory.excess_risk < 0.1);
//! # Ok(())
//! # }
//! ```
//!
//! Parts of which optimizers are made, and a run of some of them:
//!
//! ```
//! use rhograd::grid::{FULL_SCALE, Shape};
//! use rhograd::kernel::{RawRow, RowsBuilder};
//! use rhograd::ledger::Ledger;
//! use rhograd::loss::Curved;
//! use rhograd::noise::NoiseSource;
//! use rhograd::optim::{
//!     Averaging, ClipRule, ClippedPlan, Descent, Estimate, Evaluation, Fineness, Fitted, GaussianRelease, GaussianRule, GramPlan,
//!     HoldoutPlan, MarginCounts, MomentParts, MomentPlan, Moments, Planned, Problem, Settings, Sizes, Spread, Start, Typical, Units,
//! };
//! use rhograd::privacy::{Adjacency, DatasetId, NoiseLaw, Rho, Scope};
//! use rhograd::private::{PrivateDataset, Query, Release, charge_run, query};
//! # fn main() -> rhograd::error::Fallible<()> {
//! let mut builder = RowsBuilder::new(Shape::new(1, &[]));
//! for i in 0..2000 {
//!     builder.push(&RawRow { numeric: vec![i % 200 * 100], codes: vec![], label: i % 2, null: false });
//! }
//! let (adjacency, noise) = (Adjacency::AddRemove, NoiseLaw::FlooredNormal);
//! let data = PrivateDataset::new(builder.build(), Scope::of_rows(DatasetId::new("example")?, adjacency));
//! let (shape, settings, loss) = (data.shape(), Settings::default(), Curved::Logistic.into());
//! let budget = Rho::from_f64(0.5)?;
//! let problem = Problem {
//!     shape, adjacency, loss, one: FULL_SCALE, standardized: true, binned: false, rows: None, persons: false,
//!     weighted: false,
//!     labels_alone: false, public: None, noise,
//!     budget: budget.clone(), target: None, settings: &settings,
//! };
//! let parts = MomentParts { count: true, features: true, target: false, shares: false, sizes: false };
//! let moments = MomentPlan::new(shape, adjacency, 0.5, parts, noise)?;
//! let gram = GramPlan::new(&problem, 0.5)?;
//! let gradient = ClippedPlan::new(FULL_SCALE as u64, adjacency, &budget, 5, noise)?;
//! let holdout = HoldoutPlan::new(loss, adjacency, 0.5, noise)?;
//! // A query for which there is no plan: a float proposes a size, the exact cost decides.
//! let query = |clip_steps| Query::from(query::ClippedSum { clip_steps });
//! let rule = GaussianRule { what: "another sum", query: &query, adjacency, noise, count: 1 };
//! let wanted = Fineness { sensitivity: 1.0, target: 1e9, largest: 1 << 30, slack: 0.0 };
//! let (another, _clip_steps): (GaussianRelease, u64) = rule.finest(&budget, &wanted);
//! assert!(another.rho() <= budget);
//!
//! let releases = [&moments.release, &gram.release, &gradient.release, &holdout.release];
//! let planned: Vec<Planned> = releases.map(GaussianRelease::planned).into();
//! let charges: Vec<_> = planned.iter().map(|planned| planned.charge.clone()).collect();
//! let mut run = charge_run(&mut Ledger::in_memory()?, data.scope(), &charges, NoiseSource::insecure_from_seed(1))?;
//! let mut listener = |_: &Release<'_>| Ok(());
//! let mut run = run.logged(&mut listener);
//! let Moments { rows, features, sizes, .. } = moments.run(&data, None, &mut run)?;
//! let _of_persons: Option<Typical> = sizes.map(|sizes: Sizes| sizes.typical(100));
//! let Spread { mean, .. } = features[0];
//! assert!((rows - 2000.0).abs() < 20.0 && (mean - 0.3).abs() < 0.02);
//! assert_eq!(gram.run(&data, &mut run)?.shape(), [2, 2]);
//! let start = Start { rows, share: 1.0, label_scale: 1.0, farthest_label: None, bins: None };
//! let clip_norm = ClipRule::by_noise([0.36, 0.15, 3.0], loss).clip_norm(2f64.sqrt(), 2.0, &start, gradient.mu());
//! let descent = Descent {
//!     loss, steps: 5, learning_rate: 1.0, momentum: 0.0, l1: 0.0, l2: 0.0, radius: None, averaging: Averaging::Last,
//! };
//! let weights = descent.run(&data.clipped(gradient.clip_steps)?, &gradient.release.planned(), clip_norm, &start, &mut run)?;
//! let Fitted { weights, .. } = Fitted::of(weights);
//! let units = Units { label_scale: 1.0, per_margin: 1.0, of_deviation: false };
//! let Evaluation { metrics, margins, .. } = holdout.run(&data, &weights, units, &mut run)?;
//! let margins: MarginCounts = margins.unwrap_or_else(|| unreachable!("labels are told by log-odds"));
//! assert_eq!((margins.edges.len(), margins.positives.len()), (19, 20));
//! let Estimate { value, .. } = metrics["accuracy"];
//! assert!((value - 0.5).abs() < 0.1, "labels have nothing to do with the feature");
//! assert_eq!(run.finish()?.len(), 4);
//! # Ok(())
//! # }
//! ```
//!
//! What drafts a schema from cells that no schema describes yet:
//!
//! ```
//! use std::path::Path;
//!
//! use rhograd::data::CsvFile;
//! use rhograd::ledger::Ledger;
//! use rhograd::noise::NoiseSource;
//! use rhograd::optim::{Frequent, KindsPlan, KindsSeen, RangesPlan, VocabularyPlan};
//! use rhograd::privacy::{Adjacency, DatasetId, Scope};
//! use rhograd::private::{Grid, PrivateCells, Release, charge_run};
//! # fn main() -> rhograd::error::Fallible<()> {
//! let file = CsvFile::open(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/datasets/fair.csv")))?;
//! let (adjacency, grid) = (Adjacency::AddRemove, Grid::within(0.0, 128.0)?);
//! let cells = PrivateCells::new(file, Scope::of_rows(DatasetId::new("fair")?, adjacency));
//! let kinds = KindsPlan::new(vec![1], true, adjacency, 0.1)?;
//! let ranges = RangesPlan::new(1, grid.candidates(), adjacency, 0.1)?;
//! let vocabulary = VocabularyPlan::new(1, adjacency, 0.1, 1e-6)?;
//! let charges = [kinds.planned(), ranges.planned(), vocabulary.planned()].map(|planned| planned.charge);
//! let mut run = charge_run(&mut Ledger::in_memory()?, cells.scope(), &charges, NoiseSource::insecure_from_seed(1))?;
//! let mut listener = |_: &Release<'_>| Ok(());
//! let mut run = run.logged(&mut listener);
//! let KindsSeen { rows, .. } = kinds.run(&cells, &mut run)?;
//! let rows = rows.unwrap_or(0.0);
//! assert!((rows - 6366.0).abs() < 50.0);
//! let bounds = ranges.run(&cells, &[(1, grid)], rows, &mut run)?;
//! assert!(bounds[0].0 < 27.0 && bounds[0].1 > 32.0);
//! let values = vocabulary.run(&cells, &[1], &mut run)?;
//! let Frequent { value, rows } = &values[0][0];
//! assert!(value == "27" && *rows > 1000.0);
//! # Ok(())
//! # }
//! ```

mod adaptive;
mod adassp;
mod additive;
mod auto;
mod boosted_adassp;
mod description;
mod dp_ftrl;
mod dp_gd;
mod dp_sgd;
mod exponential_mechanism;
mod features;
mod frank_wolfe;
mod label_sums;
mod localization;
mod newton;
mod newton_double;
mod objective_perturbation;
mod one_pass;
mod output_perturbation;
mod problem;
mod release;
mod rich;
pub mod settings;
mod step;
mod theory;
mod tuned;
mod whitened;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use crate::private::Planned;
pub use adaptive::Adaptive;
pub use adassp::AdaSsp;
pub use additive::Additive;
pub(crate) use additive::COORDINATES;
pub use boosted_adassp::BoostedAdaSsp;
pub use description::{AuditRecipe, Description, Losses, Needs, Relations};
pub use dp_ftrl::DpFtrl;
pub use dp_gd::DpGd;
pub use dp_sgd::DpSgd;
pub use exponential_mechanism::ExponentialMechanism;
pub use features::Features;
pub use frank_wolfe::FrankWolfe;
pub use label_sums::LabelSums;
pub use localization::Localization;
pub use newton::Newton;
pub use newton_double::NewtonDoubleNoise;
pub use objective_perturbation::ObjectivePerturbation;
pub use one_pass::OnePass;
pub use output_perturbation::OutputPerturbation;
pub use problem::{Fitted, Optimizer, Problem, Start, Target};
pub use release::{
    BinPlan, Bins, ClipRule, ClippedPlan, Estimate, Evaluation, Fineness, Frequent, GaussianRelease, GaussianRule,
    GramPlan, HoldoutPlan, KindsPlan, KindsSeen, MarginCounts, MomentParts, MomentPlan, Moments, RangesPlan, Sizes,
    Spread, Typical, Units, VocabularyPlan,
};
pub(crate) use release::{Given, HELD_OUT, NormalWaves, StraightPlan, WavePlan};
pub use rich::Rich;
pub use settings::{Averaging, SETTINGS, Sampling, Setting, Settings};
pub use step::Descent;
pub use theory::{DpGdTheory, TheoryParameters};
pub(crate) use tuned::TUNED;
pub use tuned::{CandidatePlanner, Tuned};
pub use whitened::WhitenedDpGd;

use crate::error::{Error, Fallible};
use crate::grid::Shape;

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
    Additive: additive::DESCRIPTION,
    Rich: rich::DESCRIPTION,
    Adaptive: adaptive::DESCRIPTION,
    DpFtrl: dp_ftrl::DESCRIPTION,
    Localization: localization::DESCRIPTION,
    OnePass: one_pass::DESCRIPTION,
    NewtonDoubleNoise: newton_double::DESCRIPTION,
    OutputPerturbation: output_perturbation::DESCRIPTION,
    Amp: objective_perturbation::AMP,
    ObjectivePerturbation: objective_perturbation::DESCRIPTION,
    ExponentialMechanism: exponential_mechanism::DESCRIPTION,
    FrankWolfe: frank_wolfe::DESCRIPTION,
    LabelSums: label_sums::DESCRIPTION,
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

    /// Whether it works on rows of which every column is cut into intervals by released counts.
    pub fn cuts_columns(self) -> bool {
        matches!(self, Algorithm::Additive | Algorithm::Rich | Algorithm::Adaptive)
    }

    /// Bytes that a row of these columns takes beside its first encoding, where the algorithm has others of its own: a code for each column
    /// and as many joint codes, norm and label; these once more beside waves.
    pub(crate) fn bytes_beside(self, shape: &Shape) -> u64 {
        let codes = 4 * (shape.numeric() + shape.categorical()) as u64 + 10;
        match self {
            Algorithm::Additive => codes,
            Algorithm::Rich => 2 * codes + 2 * WavePlan::COUNT as u64,
            // A number for each direction of lines, of which there are no more than columns and values.
            Algorithm::Adaptive => 2 * codes + 2 * shape.dimension() as u64,
            _ => 0,
        }
    }

    /// Plans an optimizer; with it comes the algorithm that it is, which for `auto` the problem decides.
    ///
    /// # Errors
    /// When the algorithm is not made for the problem, or the budget is too small.
    pub fn plan(self, problem: &Problem<'_>) -> Fallible<(Algorithm, Box<dyn Optimizer>)> {
        let algorithm = match self {
            Algorithm::Auto if problem.labels_alone => Algorithm::LabelSums,
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
