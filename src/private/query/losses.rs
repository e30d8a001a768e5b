//! Losses of public candidates, for choices by the exponential mechanism.

use serde::{Deserialize, Serialize};

use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::error::Fallible;
use crate::privacy::{Adjacency, Charge, Range};
use crate::private::rows::pass::Pass;
use crate::private::{Candidates, CutLoss, PrivateDataset, Sensitive};

/// The cut losses of public candidates, see [`PrivateDataset::losses`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Losses {
    /// Largest loss of a row, in grid steps.
    pub most: u64,
    /// Number of candidates.
    pub candidates: u64,
}

impl DescribeQuery for Losses {
    type Norm = Range;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        // A row's losses lie in an interval of this length, and so do their changes.
        adjacency.sum_sensitivity(self.most)
    }

    fn reads(&self) -> Reads {
        Reads {
            rows: RowAccess::StreamedSum,
            role: Role::Steps(1),
            clip_steps: Some(self.most),
            persons: false,
            labels: false,
        }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Exponential(event) if event.candidates == self.candidates)
    }
}

impl PrivateDataset {
    /// The sum of cut losses of every candidate.
    ///
    /// # Privacy
    /// A row adds to each score an integer in `0..=most`. So under add-remove the changes of all scores lie in an interval
    /// of length `most`, under replace-one in one of length `2 most`.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn losses(&self, scoring: &CutLoss, candidates: &Candidates) -> Fallible<Sensitive<Range>> {
        let sums = self.store().sum(&Pass::Losses { scoring: *scoring, candidates: candidates.clone() })?;
        let query = Losses { most: u64::from(scoring.most), candidates: candidates.points.nrows() as u64 };
        Ok(self.sensitive(sums, query))
    }
}
