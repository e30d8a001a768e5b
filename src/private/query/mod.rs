//! What may be asked of the rows: one file a query, with its public numbers, its sensitivity, the proof of it and the
//! question itself.
//!
//! A new query is a file that implements [`DescribeQuery`], named in `queries!` below.
//!
//! What a query says of itself, from public integers alone:
//!
//! ```
//! use rhograd::grid::{LabelCoding, MomentWeights, Scoring};
//! use rhograd::privacy::Adjacency;
//! use rhograd::private::query::{
//!     BestRun, ClippedSum, CrossGram, Curvature, DescribeQuery, Direction, Distance, FirstAbove, Gram, Hessian, Histogram, HistogramL1, Intervals,
//!     Kinds, LabelSums, Losses, Mean, MeanL1, MedianDistance, Minimizer, Moments, NearMedian, OnePass, PassPlan, Perturbation, PerturbedMinimizer,
//!     PhasePlan, Phases, PrefixSums, Query, Ranks, Reads, Role, RowAccess, Scores, Vertices, Vocabulary,
//! };
//! let curvature = Curvature { row_bound: 1 << 20, regularization: 1 << 40, tolerance: 1 << 20 };
//! let minimizer = Minimizer { curvature, dimension: 4 };
//! let phases = PhasePlan { lipschitz: 1 << 40, shift: 20, rows: 1000, dimension: 4, max_phases: 8 };
//! let weights = MomentWeights { count: 1, ..MomentWeights::default() };
//! let queries: [Query; 29] = [
//!     BestRun { candidates: vec![] }.into(),
//!     ClippedSum { clip_steps: 1000 }.into(),
//!     CrossGram { clip_steps: 1000 }.into(),
//!     Direction { l2_sensitivity: 1000 }.into(),
//!     Distance { weight: 1 }.into(),
//!     Gram { clip_steps: 1000 }.into(),
//!     Hessian { clip_steps: 1000 }.into(),
//!     Intervals { weight: 1, candidates: 10 }.into(),
//!     Kinds { weight: 1, columns: 3, counted: true }.into(),
//!     LabelSums { clip_steps: 1000, coding: LabelCoding::Two }.into(),
//!     Losses { most: 100, candidates: 10 }.into(),
//!     minimizer.into(),
//!     Moments { weights, columns: 3 }.into(),
//!     OnePass { plan: PassPlan::largest(1 << 40, 20, 1000, 4, 10) }.into(),
//!     Perturbation { curvature, log2_margin: 40, quarters: 1, step: 1 << 62 }.into(),
//!     PerturbedMinimizer { curvature, dimension: 4 }.into(),
//!     Phases { plan: phases }.into(),
//!     PrefixSums { clip_steps: 1000, batches: 8 }.into(),
//!     Scores { scoring: Scoring::Label, weight: 1 }.into(),
//!     Vertices { clip_steps: 1000, candidates: 10 }.into(),
//!     Vocabulary { weight: 1 }.into(),
//!     Histogram { step: 1, bins: 4 }.into(),
//!     HistogramL1 { step: 1, bins: 4 }.into(),
//!     Mean { step: 1 }.into(),
//!     MeanL1 { step: 1 }.into(),
//!     Ranks { weight: 1, candidates: 9, numerator: 1, denominator: 2 }.into(),
//!     FirstAbove { weight: 1, questions: 4 }.into(),
//!     MedianDistance { weight: 1, bound: 100 }.into(),
//!     NearMedian { step: 1, bound: 100 }.into(),
//! ];
//! assert!(queries.iter().all(|query| query.sensitivity(Adjacency::ReplaceOne) > 0));
//! // A pass over blocks of public sizes says nothing about rows that come or go.
//! assert_eq!(Phases { plan: phases }.sensitivity(Adjacency::AddRemove), u64::MAX);
//! let Reads { rows, role, clip_steps, persons, labels } = ClippedSum { clip_steps: 1000 }.reads();
//! assert_eq!((rows, role, clip_steps, persons, labels), (RowAccess::StreamedSum, Role::Steps(1), Some(1000), true, false));
//! ```

mod clipped_sum;
mod cross_gram;
mod curvature;
mod describe;
mod direction;
mod distance;
mod gram;
mod hessian;
mod intervals;
mod kinds;
mod label_sums;
mod losses;
mod marginals;
mod minimizer;
mod moments;
mod one_pass;
mod perturbation;
mod perturbed_minimizer;
mod phases;
mod prefix_sums;
mod scores;
mod stable_median;
mod summary;
mod vertices;
mod vocabulary;

use serde::{Deserialize, Serialize};

pub use clipped_sum::{ClippedRows, ClippedSum, Gradient};
pub use cross_gram::CrossGram;
pub use curvature::{Curvature, LOG2_REGULARIZATION, MAX_SOLVED};
use describe::sealed;
pub use describe::{DescribeQuery, Reads, Role, RowAccess};
pub use direction::{Direction, DirectionInputs};
pub use distance::Distance;
pub use gram::Gram;
pub use hessian::Hessian;
pub use intervals::{Grid, GridPrice, Intervals};
pub use kinds::Kinds;
pub use label_sums::LabelSums;
pub use losses::Losses;
pub use marginals::Marginals;
pub use minimizer::{Minimization, Minimizer};
pub use moments::Moments;
pub use one_pass::{OnePass, PassPlan};
pub use perturbation::Perturbation;
pub use perturbed_minimizer::PerturbedMinimizer;
pub(crate) use phases::order_of;
pub(in crate::private) use phases::shuffled;
pub use phases::{PhasePlan, PhasedPass, Phases};
pub(crate) use prefix_sums::batch_of;
pub use prefix_sums::{MAX_BATCHES, OfPasses, PrefixPasses, PrefixSums, prefix_coefficients};
pub use scores::Scores;
pub use stable_median::{MedianDistance, NearMedian, StableMedian};
pub use summary::{CellColumn, CellCounts, CountsAbove, FirstAbove, Histogram, HistogramL1, Mean, MeanL1, Ranks};
pub use vertices::Vertices;
pub use vocabulary::{ColumnValues, Vocabulary};

use crate::error::{Error, Fallible};
use crate::privacy::{Adjacency, Charge, L2, PrivacyUnit, PrivateSelectionCharge, total_rho};

macro_rules! queries {
    ($($(#[$attribute:meta])* $kind:ident),* $(,)?) => {
        /// What a release asked of the rows; its sensitivity is a function of these public integers alone.
        ///
        /// A statement records it beside the event that was paid for, so that whoever verifies can see that the
        /// sensitivity is the query's.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum Query {
            $(#[allow(missing_docs, reason = "the struct of the same name has them")] $(#[$attribute])* $kind($kind),)*
        }

        impl Query {
            /// What its own file says of it.
            pub fn kind(&self) -> &dyn DescribeQuery {
                match self {
                    $(Query::$kind(query) => query,)*
                }
            }

            /// The query itself, for those who know no list of queries.
            pub(super) fn boxed(&self) -> Box<dyn DescribeQuery> {
                match self {
                    $(Query::$kind(query) => Box::new(query.clone()),)*
                }
            }
        }

        /// How many kinds there are.
        #[cfg(test)]
        const KINDS: usize = [$(stringify!($kind)),*].len();

        $(
            impl sealed::Sealed for $kind {
                fn equals(&self, other: &dyn std::any::Any) -> bool {
                    other.downcast_ref() == Some(self)
                }
            }

            impl From<$kind> for Query {
                fn from(query: $kind) -> Self {
                    Query::$kind(query)
                }
            }
        )*
    };
}

queries! {
    Moments, Gram, Scores, Hessian, ClippedSum, Direction, PrefixSums, Phases, OnePass,
    #[serde(rename = "minimiser")] Minimizer,
    Perturbation,
    #[serde(rename = "perturbed-minimiser")] PerturbedMinimizer,
    Losses, Vertices, BestRun, Kinds, Intervals, Vocabulary, Distance, Marginals,
    Histogram, HistogramL1, Mean, MeanL1, Ranks, FirstAbove, MedianDistance, NearMedian, LabelSums, CrossGram,
}

impl Query {
    /// How far it moves between neighbours, in grid steps, saturating: l2, or for choices the range of the scores' changes.
    pub fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        self.kind().sensitivity(adjacency)
    }

    /// The query, and those of every candidate where only the best run is released.
    pub fn all(&self) -> Vec<&Query> {
        let mut all = vec![self];
        if let Query::BestRun(best) = self {
            all.extend(best.releases().flat_map(|planned| planned.query.all()));
        }
        all
    }

    /// Whether the release is one of the steps of an optimizer.
    pub fn is_step(&self) -> bool {
        matches!(self.kind().reads().role, Role::Steps(_))
    }

    /// Number of optimizer steps that one release is made of.
    pub fn steps(&self) -> u64 {
        match self.kind().reads().role {
            Role::Steps(steps) => steps,
            Role::Preparation => 0,
        }
    }
}

/// One kind of release that a run will make, as often as its charge says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// What is paid for.
    pub charge: Charge,
    /// What is asked of the rows.
    pub query: Query,
}

impl Planned {
    /// Whether the charge is of the kind that pays for the query, and for exactly its sensitivity; for the best run, so of
    /// every release of every candidate.
    pub fn is_exact(&self, adjacency: Adjacency) -> bool {
        self.pays(&|query, paid| paid == query.sensitivity(adjacency))
    }

    /// Refuses numbers that no planner produces, and a charge that is not [exact](Planned::is_exact).
    ///
    /// # Errors
    /// As said; all numbers are public.
    pub fn check(&self, adjacency: Adjacency) -> Fallible<()> {
        self.query.kind().check()?;
        if !self.is_exact(adjacency) {
            return Err(Error::refused(
                format!("\"{}\" pays for another sensitivity or mechanism than its query's", self.charge.what()),
                "plan with the query's own sensitivity",
            ));
        }
        Ok(())
    }

    /// Whether the charge pays for the sensitivity of the query exactly, or for the larger one that an earlier version paid for:
    /// recorded then, true still.
    pub fn is_recorded(&self, adjacency: Adjacency) -> bool {
        self.pays(&|query, paid| {
            paid == query.sensitivity(adjacency) || Some(paid) == query.earlier_sensitivity(adjacency)
        })
    }

    /// Whether every charge is of the kind of its query and pays for a sensitivity that `fits`.
    fn pays(&self, fits: &impl Fn(&dyn DescribeQuery, u64) -> bool) -> bool {
        let inner = match &self.query {
            Query::BestRun(best) => best.releases().all(|planned| planned.pays(fits)),
            _ => true,
        };
        let query = self.query.kind();
        inner && fits(query, self.charge.sensitivity()) && query.is_paid_by(&self.charge)
    }

    /// Whether its sensitivity is proven where neighbours differ in a person with any number of rows.
    pub fn serves_persons(&self) -> bool {
        self.query.kind().reads().persons
    }

    /// Whether its sensitivity is proven where rows add what they would, times a weight of at most 1: a sum over all rows, of each a vector of
    /// bounded norm, as it is where persons add the mean of their rows, see [`Reads::persons`].
    pub fn serves_weights(&self) -> bool {
        let Reads { rows, persons, labels, .. } = self.query.kind().reads();
        matches!(self.charge, Charge::Gaussian(_)) && rows == RowAccess::StreamedSum && persons && !labels
    }

    /// Whether its sensitivity is proven for what neighbours differ in: all of a row, of a person, or a label alone.
    pub fn serves(&self, unit: &PrivacyUnit) -> bool {
        let reads = self.query.kind().reads();
        match unit {
            PrivacyUnit::Row => !reads.labels && !self.query.kind().needs_public_columns(),
            PrivacyUnit::Person { .. } => reads.persons && !reads.labels,
            // Who replaces a row may replace its label, so what is proven for rows holds for labels, and for private cells.
            PrivacyUnit::Label => !self.query.kind().needs_public_columns(),
            PrivacyUnit::PrivateCells { .. } => !reads.labels,
        }
    }

    /// Whether the release is made of sums over rows that are read in their order: all that rows in a file can give.
    pub fn is_streamable(&self) -> bool {
        let sampled = matches!(self.charge, Charge::PoissonGaussian(_) | Charge::AllocatedGaussian(_));
        !sampled && self.query.kind().reads().rows == RowAccess::StreamedSum
    }
}

/// The best of several runs, see [`crate::private::ChargedRun::best_run`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BestRun {
    /// What a run of each candidate releases.
    pub candidates: Vec<Vec<Planned>>,
}

impl BestRun {
    /// The releases of all candidates.
    pub fn releases(&self) -> impl Iterator<Item = &Planned> {
        self.candidates.iter().flatten()
    }
}

impl DescribeQuery for BestRun {
    type Norm = L2;

    /// A run counts as one Gaussian release of sensitivity 1; its cost is that of its own releases.
    fn sensitivity(&self, _adjacency: Adjacency) -> u64 {
        1
    }

    /// A run that fails loses to the others, and a file that cannot be read must end the run: so none is read here.
    fn reads(&self) -> Reads {
        let persons = self.releases().all(Planned::serves_persons);
        let labels = self.releases().any(|planned| planned.query.kind().reads().labels);
        Reads { rows: RowAccess::InMemory, role: Role::Steps(1), clip_steps: None, persons, labels }
    }

    fn needs_public_columns(&self) -> bool {
        self.releases().any(|planned| planned.query.kind().needs_public_columns())
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::PrivateSelection(event) if covers_runs(event, &self.candidates))
    }

    fn check(&self) -> Fallible<()> {
        self.releases().try_for_each(|planned| {
            planned.charge.check()?;
            planned.query.kind().check()
        })
    }
}

/// Whether every run costs at most what is paid for a run, exactly.
pub(in crate::private) fn covers_runs(event: &PrivateSelectionCharge, candidates: &[Vec<Planned>]) -> bool {
    let Ok(most) = event.run_rho() else { return false };
    let within = |run: &Vec<Planned>| {
        let charges: Vec<Charge> = run.iter().map(|planned| planned.charge.clone()).collect();
        charges.iter().all(|charge| charge.claim().is_none() && charge.delta() == 0.0)
            && total_rho(&charges).is_ok_and(|rho| rho <= most)
    };
    !candidates.is_empty() && candidates.iter().all(within)
}

#[cfg(test)]
mod tests;
