//! A value computed from rows, together with what it answers and how far it moves between neighbours.

use super::DescribeQuery;
use crate::privacy::{Norm, Scope, Sensitivity};

/// An integer vector computed from private rows, with the query that it answers and its sensitivity in norm `N`.
///
/// It has no `Clone`, `Debug`, `Serialize` or accessor; the one thing to do with it is to hand it to a
/// paid [`super::Permit`] of the same norm.
///
/// # Privacy
/// Whoever constructs one claims the sensitivity, so the one constructor takes it from the query, which has its
/// argument and a test on neighbouring data sets.
#[must_use = "a sensitive value is of no use unless a permit releases it"]
pub struct Sensitive<N: Norm> {
    pub(super) values: Vec<i128>,
    pub(super) query: Box<dyn DescribeQuery>,
    pub(super) sensitivity: Sensitivity<N>,
    pub(super) origin: Origin,
}

impl<N: Norm> Sensitive<N> {
    /// The answer to a query, with the sensitivity that the query has: the one place where a value gets one.
    pub(super) fn of(values: Vec<i128>, query: impl DescribeQuery<Norm = N>, origin: &Origin) -> Self {
        let sensitivity = Sensitivity::new(query.sensitivity(origin.scope.adjacency));
        Sensitive { values, query: Box::new(query), sensitivity, origin: origin.clone() }
    }
}

/// Where a value comes from, which decides who may open it.
#[derive(Clone)]
pub(super) struct Origin {
    /// The data set, and the relation that its guarantees are about.
    pub(super) scope: Scope,
    /// The number of the one run that may open it, where the rows were given to a run.
    pub(super) run: Option<u64>,
}

impl From<Scope> for Origin {
    fn from(scope: Scope) -> Self {
        Origin { scope, run: None }
    }
}
