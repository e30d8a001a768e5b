//! What may be asked of the rows: one file a query, with its public numbers, its sensitivity, the proof of it and the
//! question itself.
//!
//! A new query is a file that implements [`DescribeQuery`], named in `queries!` below.

mod best_run;
mod clipped_sum;
mod direction;
mod distance;
mod gram;
mod hessian;
mod intervals;
mod kinds;
mod losses;
mod minimiser;
mod moments;
mod one_pass;
mod perturbation;
mod perturbed_minimiser;
mod phases;
mod prefix_sums;
mod scores;
mod vertices;
mod vocabulary;

use serde::{Deserialize, Serialize};

pub use best_run::BestRun;
pub(in crate::private) use best_run::covers_runs;
pub use clipped_sum::{ClippedRows, ClippedSum, Gradient};
pub use direction::{Direction, DirectionInputs};
pub use distance::Distance;
pub use gram::Gram;
pub use hessian::Hessian;
pub use intervals::{Grid, GridPrice, Intervals};
pub use kinds::Kinds;
pub use losses::{Candidates, CutLoss, Losses};
pub use minimiser::{Curvature, LOG2_REGULARISATION, MOST_SOLVED, Minimisation, Minimiser};
pub use moments::Moments;
pub use one_pass::{OnePass, PassPlan};
pub use perturbation::Perturbation;
pub use perturbed_minimiser::PerturbedMinimiser;
pub(crate) use phases::order_of;
pub(in crate::private) use phases::shuffled;
pub use phases::{PhasePlan, PhasedPass, Phases};
pub(crate) use prefix_sums::batch_of;
pub use prefix_sums::{MOST_BATCHES, PrefixPass, PrefixSums, prefix_coefficients};
pub use scores::Scores;
pub use vertices::Vertices;
pub use vocabulary::{ColumnValues, Vocabulary};

use crate::error::Fallible;
use crate::privacy::{Adjacency, Charge, Norm};

mod sealed {
    /// Only what is listed in `queries!` is a query.
    pub trait Sealed {}
}

/// All that is said of a query anywhere, told beside its proof.
///
/// What decides privacy has no default, so that nobody forgets it; sealed, so that only trusted code answers.
pub trait DescribeQuery: sealed::Sealed {
    /// The norm in which it moves, and so the permits that open it.
    type Norm: Norm
    where
        Self: Sized;

    /// How far it moves between neighbours in [`DescribeQuery::Norm`], in grid steps, saturating.
    fn sensitivity(&self, adjacency: Adjacency) -> u64;

    /// Which rows it reads, and how.
    fn row_access(&self) -> RowAccess;

    /// Whether a charge is of the kind that pays for this query, apart from the sensitivity.
    fn is_paid_by(&self, charge: &Charge) -> bool;

    /// What it is for.
    fn role(&self) -> Role;

    /// Refuses public numbers that no planner produces.
    ///
    /// # Errors
    /// When a number is out of range.
    fn check(&self) -> Fallible<()> {
        Ok(())
    }

    /// The larger sensitivity by which earlier versions charged the same query; `None` where there was none.
    fn earlier_sensitivity(&self, _adjacency: Adjacency) -> Option<u64> {
        None
    }

    /// Which rows a release reads, in the words of a statement.
    fn sampling(&self) -> String {
        "full batch".into()
    }

    /// Largest norm of one row's part, in grid steps; `None` where a statement gives the sensitivity in its place.
    fn clip_steps(&self) -> Option<u64> {
        None
    }
}

/// Which rows a query reads, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowAccess {
    /// All rows in their order, added up: rows in a file or with workers can give that, too.
    StreamedSum,
    /// All rows in memory.
    InMemory,
    /// Rows in memory, each in one of so many batches by a secret draw of its own.
    Batches(u32),
    /// Rows in memory, in a secret order that is cut into parts of public sizes.
    Order {
        /// The public number of rows that it is planned for.
        rows: u64,
        /// The number of coefficients that it is planned for.
        dimension: usize,
    },
    /// Cells that no schema describes yet: no query of a training run.
    Cells,
}

/// What a query is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// So many steps of an optimizer.
    Steps(u64),
    /// Something else that a run needs: moments, a matrix, a direction, a score.
    Preparation,
}

macro_rules! queries {
    ($($kind:ident),* $(,)?) => {
        /// What a release asked of the rows; its sensitivity is a function of these public integers alone.
        ///
        /// A statement records it beside the event that was paid for, so that whoever verifies can see that the
        /// sensitivity is the query's.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum Query {
            $(#[allow(missing_docs, reason = "the struct of the same name has them")] $kind($kind),)*
        }

        impl Query {
            /// What its own file says of it.
            pub fn kind(&self) -> &dyn DescribeQuery {
                match self {
                    $(Query::$kind(query) => query,)*
                }
            }
        }

        /// How many kinds there are.
        #[cfg(test)]
        const KINDS: usize = [$(stringify!($kind)),*].len();

        $(
            impl sealed::Sealed for $kind {}

            impl From<$kind> for Query {
                fn from(query: $kind) -> Self {
                    Query::$kind(query)
                }
            }
        )*
    };
}

queries! {
    Moments, Gram, Scores, Hessian, ClippedSum, Direction, PrefixSums, Phases, OnePass, Minimiser, Perturbation,
    PerturbedMinimiser, Losses, Vertices, BestRun, Kinds, Intervals, Vocabulary, Distance,
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
        matches!(self.kind().role(), Role::Steps(_))
    }

    /// Number of optimizer steps that one release is made of.
    pub fn steps(&self) -> u64 {
        match self.kind().role() {
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

    /// As [`Planned::is_exact`], or for the larger sensitivity that an earlier version paid for: recorded then, true still.
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

    /// Whether the release is made of sums over rows that are read in their order: all that rows in a file can give.
    pub fn is_streamable(&self) -> bool {
        !matches!(self.charge, Charge::Sampled(_)) && self.query.kind().row_access() == RowAccess::StreamedSum
    }
}

/// How far a sum of vectors of norm at most `norm` moves where no two of them form an obtuse angle: if one leaves and
/// another enters, by at most the root of two times that.
fn acute_sum_sensitivity(norm: u64, adjacency: Adjacency) -> u64 {
    match adjacency {
        Adjacency::AddRemove => norm,
        Adjacency::ReplaceOne => {
            let square = u128::from(norm) * u128::from(norm);
            square.checked_mul(2).map_or(u64::MAX, root_of)
        }
    }
}

fn root_up(square: u128) -> u128 {
    let root = square.isqrt();
    if root * root == square { root } else { root + 1 }
}

/// The root of a square, rounded up, saturating.
fn root_of(square: u128) -> u64 {
    u64::try_from(root_up(square)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
