//! The run of a draft that releases intervals and values.

use super::roles::Roles;
use crate::data::Task;
use crate::error::Fallible;
use crate::optim::{Frequent, Planned, RangesPlan, VocabularyPlan};
use crate::privacy::Adjacency;
use crate::private::{Grid, LoggedRun, PrivateCells};

/// Released intervals and values of columns.
pub(super) struct Domain {
    pub(super) bounds: Vec<(usize, (f64, f64))>,
    pub(super) values: Vec<(usize, Vec<Frequent>)>,
    /// Rows below which values stay secret, and the deviation of their noise.
    pub(super) threshold: Option<(f64, f64)>,
}

/// What is released of which column.
pub(super) struct DomainPlan {
    /// Columns of numbers, with their public ranges.
    numeric: Vec<(usize, Option<(f64, f64)>)>,
    valued: Vec<usize>,
    /// Intervals of any size, for columns without a public range.
    coarse: Option<RangesPlan>,
    /// Intervals between parts of a range.
    fine: Option<RangesPlan>,
    values: Option<VocabularyPlan>,
}

impl DomainPlan {
    /// Plans with a rho and a failure probability: a column of values gets one share of the rho, one of numbers half a share
    /// for each of its choices.
    ///
    /// # Errors
    /// When the budget is out of range.
    pub(super) fn new(
        roles: &Roles,
        task: Option<Task>,
        adjacency: Adjacency,
        (rho, fails): (f64, f64),
    ) -> Fallible<Self> {
        let (numeric, valued) = (roles.numeric(), roles.valued(task));
        let unknown = numeric.iter().filter(|(_, range)| range.is_none()).count();
        let half_shares = 2 * valued.len() + numeric.len() + unknown;
        // A little less, so that rounding cannot make the parts more than the whole.
        let of = |halves: usize| rho * (1.0 - 1e-12) * halves as f64 / half_shares.max(1) as f64;
        let ranges = |columns: usize, grid: Grid| match columns {
            0 => Ok(None),
            _ => RangesPlan::new(columns as u64, grid.candidates(), adjacency, of(columns)).map(Some),
        };
        let coarse = ranges(unknown, Grid::geometric())?;
        let fine = ranges(numeric.len(), Grid::within(0.0, 1.0)?)?;
        let values = match valued.len() {
            0 => None,
            columns => Some(VocabularyPlan::new(columns as u64, adjacency, of(2 * columns), fails)?),
        };
        Ok(DomainPlan { numeric, valued, coarse, fine, values })
    }

    /// What to pay for, in order.
    pub(super) fn planned(&self) -> Vec<Planned> {
        let ranges = [&self.coarse, &self.fine].into_iter().flatten().map(RangesPlan::planned);
        ranges.chain(self.values.iter().map(VocabularyPlan::planned)).collect()
    }

    /// Makes the releases, given about how many rows there are.
    ///
    /// # Errors
    /// When a release is not the next one of the run, or the file cannot be read.
    pub(super) fn run(&self, cells: &PrivateCells, rows: f64, run: &mut LoggedRun<'_>) -> Fallible<Domain> {
        let choose = |plan: &Option<RangesPlan>, grids: &[(usize, Grid)], run: &mut LoggedRun<'_>| match plan {
            Some(plan) => plan.run(cells, grids, rows, run),
            None => Ok(Vec::new()),
        };
        let unknown = self.numeric.iter().filter(|(_, range)| range.is_none());
        let unknown: Vec<_> = unknown.map(|(column, _)| (*column, Grid::geometric())).collect();
        let mut rough = choose(&self.coarse, &unknown, run)?.into_iter();
        let mut grids = Vec::new();
        for (column, public) in &self.numeric {
            // There is one choice for each column without a public range, in the same order.
            let (lower, upper) = public.or_else(|| rough.next()).unwrap_or((-1.0, 1.0));
            grids.push((*column, Grid::within(lower, upper)?));
        }
        let bounds = choose(&self.fine, &grids, run)?;
        let opened = match &self.values {
            Some(plan) => plan.run(cells, &self.valued, run)?,
            None => Vec::new(),
        };
        Ok(Domain {
            bounds: grids.into_iter().map(|(column, _)| column).zip(bounds).collect(),
            values: self.valued.iter().copied().zip(opened).collect(),
            threshold: self.values.as_ref().map(|plan| (plan.threshold(), plan.deviation())),
        })
    }
}
