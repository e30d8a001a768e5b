//! Scores of public candidates, for choices by the exponential mechanism.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::pass::Pass;
use super::{Gradient, PrivateDataset, Query, Sensitive};
use crate::error::{Error, Fallible};
use crate::grid::{FULL_SCALE, MAX_MULTIPLIER};
use crate::loss::{Glm, Objective};
use crate::privacy::{Range, Sensitivity};

/// Public candidate models, one in each row, in coefficients of features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidates {
    /// The models.
    pub points: Array2<f64>,
}

/// How a model is scored on a row: the loss, cut at `cap` and rounded to one of `most` steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutLoss {
    /// The loss.
    pub loss: Glm,
    /// What an encoded label of 1 stands for.
    pub label_scale: f64,
    /// Losses beyond count as this one.
    pub cap: f64,
    /// `cap` in grid steps.
    pub most: u32,
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
        let query = Query::Losses { most: u64::from(scoring.most), candidates: candidates.points.nrows() as u64 };
        Ok(self.ranged(sums, &query))
    }

    /// The entries of the clipped gradient sum and their negatives: the slopes towards the vertices of an l1 ball.
    ///
    /// A row adds `m_i q_i` with an integer `m_i` in `-most..=most`; the slope `clip_norm` of the loss stands for `most`.
    ///
    /// # Privacy
    /// No encoded value exceeds [`FULL_SCALE`], so a row's entries are at most `bound = most * FULL_SCALE` in size, and
    /// the changes of all scores lie in an interval of length `2 bound`, or `4 bound` under replace-one.
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
        let bound = most as u64 * FULL_SCALE as u64;
        let query = Query::Vertices { bound, candidates: values.len() as u64 };
        Ok(self.ranged(values, &query))
    }

    fn ranged(&self, values: Vec<i128>, query: &Query) -> Sensitive<Range> {
        let sensitivity = Sensitivity::new(query.sensitivity(self.scope().adjacency));
        Sensitive { values, sensitivity, scope: self.scope().clone() }
    }
}
