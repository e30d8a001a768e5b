//! What every query says of itself.

use std::any::Any;

use crate::error::Fallible;
use crate::privacy::{Adjacency, Charge, Norm};

pub(super) mod sealed {
    use std::any::Any;

    /// Only what is listed in `queries!` is a query.
    pub trait Sealed: Any + Send + Sync {
        /// Whether something else is the same query, to the last number.
        fn equals(&self, other: &dyn Any) -> bool;
    }
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

    /// Which rows it reads and what for.
    fn reads(&self) -> Reads;

    /// Whether a charge is of the kind that pays for this query, apart from the sensitivity.
    fn is_paid_by(&self, charge: &Charge) -> bool;

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

    /// Whether its sensitivity holds only where the public columns of neighbours agree.
    fn needs_public_columns(&self) -> bool {
        false
    }

    /// Which rows so many releases of a charge read, in the words of a statement.
    fn sampling(&self, _releases: u64) -> String {
        "full batch".into()
    }
}

/// Which rows a query reads and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    /// Which rows, and how.
    pub rows: RowAccess,
    /// What for.
    pub role: Role,
    /// Largest norm of one row's part, in grid steps; `None` where a statement gives the sensitivity in its place.
    pub clip_steps: Option<u64>,
    /// Whether its sensitivity is proven for persons with any number of rows, too: where a person adds a mean of what rows add, or less. A
    /// sum over all rows with Gaussian noise is then proven for rows with weights as well, of which each adds a part of what it would.
    pub persons: bool,
    /// Whether its sensitivity is that of a label which is replaced, and not of all that stands in a row: only where labels alone are
    /// protected may it be asked.
    pub labels: bool,
}

impl dyn DescribeQuery {
    /// Whether it is the same query, to the last number.
    pub(in crate::private) fn is_same(&self, other: &dyn DescribeQuery) -> bool {
        let other: &dyn Any = other;
        self.equals(other)
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

/// How far a sum of vectors of norm at most `norm` moves where no two of them form an obtuse angle: if one leaves and
/// another enters, by at most the root of two times that.
pub(super) fn acute_sum_sensitivity(norm: u64, adjacency: Adjacency) -> u64 {
    match adjacency {
        Adjacency::AddRemove => norm,
        Adjacency::ReplaceOne => {
            let square = u128::from(norm) * u128::from(norm);
            square.checked_mul(2).map_or(u64::MAX, root_of)
        }
    }
}

pub(super) fn root_up(square: u128) -> u128 {
    let root = square.isqrt();
    if root * root == square { root } else { root + 1 }
}

/// The root of a square, rounded up, saturating.
pub(super) fn root_of(square: u128) -> u64 {
    u64::try_from(root_up(square)).unwrap_or(u64::MAX)
}
