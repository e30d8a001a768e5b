//! Slopes towards the vertices of an l1 ball, for choices by the exponential mechanism.

use serde::{Deserialize, Serialize};

use super::{DescribeQuery, Gradient, Reads, Role, RowAccess};
use crate::error::{Error, Fallible};
use crate::grid::{FULL_SCALE, MAX_MULTIPLIER};
use crate::loss::Objective;
use crate::privacy::{Adjacency, Charge, Range};
use crate::private::rows::pass::Pass;
use crate::private::{PrivateDataset, Sensitive};

/// The slopes towards the vertices of an l1 ball, see [`PrivateDataset::vertices`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vertices {
    /// Largest entry of a row's gradient.
    #[serde(rename = "bound")]
    pub clip_steps: u64,
    /// Number of vertices.
    pub candidates: u64,
}

impl DescribeQuery for Vertices {
    type Norm = Range;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        adjacency.sum_sensitivity(self.clip_steps.saturating_mul(2))
    }

    fn reads(&self) -> Reads {
        Reads {
            rows: RowAccess::StreamedSum,
            role: Role::Steps(1),
            clip_steps: Some(self.clip_steps),
            persons: false,
            labels: false,
        }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Exponential(event) if event.candidates == self.candidates)
    }
}

impl PrivateDataset {
    /// The entries of the clipped gradient sum and their negatives: the slopes towards the vertices of an l1 ball.
    ///
    /// A row adds `m_i q_i` with an integer `m_i` in `-most..=most`; the slope `clip_norm` of the loss stands for `most`.
    ///
    /// # Privacy
    /// No encoded value exceeds [`FULL_SCALE`], so a row's entries are at most `clip_steps = most * FULL_SCALE` in size, and
    /// the changes of all scores lie in an interval of length `2 clip_steps`, or `4 clip_steps` under replace-one.
    ///
    /// # Errors
    /// When the loss has one margin per label, or rows in a file cannot be read.
    pub fn vertices(&self, gradient: &Gradient<'_>, most: i16) -> Fallible<Sensitive<Range>> {
        let Objective::Margin(loss) = gradient.loss else {
            return Err(Error::refused("vertices are scored by a loss of one margin", "use a gradient sum"));
        };
        let most = most.clamp(0, MAX_MULTIPLIER);
        let sums = self.store().sum(&Pass::Entrywise {
            loss,
            weights: gradient.weights.to_vec(),
            label_scale: gradient.label_scale,
            multiplier_scale: f64::from(most) / gradient.clip_norm,
            most,
        })?;
        let values: Vec<i128> = sums.iter().copied().chain(sums.iter().map(|&v| -v)).collect();
        let clip_steps = most as u64 * FULL_SCALE as u64;
        let query = Vertices { clip_steps, candidates: values.len() as u64 };
        Ok(self.sensitive(values, query))
    }
}
