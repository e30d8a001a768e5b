//! Quality on a private hold-out: one release of sums, from which metrics follow.

use super::Planned;
use super::metrics::{Evaluation, Sums, Units};
use crate::error::{Error, Fallible};
use crate::grid::{ScoreStep, Scoring};
use crate::loss::{Glm, Objective};
use crate::privacy::{Adjacency, GaussianEvent, MAX_LOG2_SCALE, NoiseLaw};
use crate::private::{LoggedRun, PrivateDataset, Query, query};

/// What the release from rows held out is called.
pub(crate) const HELD_OUT: &str = "scores on a hold-out";

/// Size of the grid: a row's entries are near `2^20` grid steps.
const TARGET_BITS: f64 = 20.0;

/// One release of scores on rows that took no part in training.
///
/// # Privacy
/// One Gaussian release of a vector whose norm is bounded row by row, see [`Scoring::parts`], and under replace-one of vectors
/// whose difference is, see [`Scoring::apart`]. The hold-out is drawn without a look at the rows, so a row is in one part
/// whatever stands in it, and the releases of both compose like any others.
#[derive(Clone, Debug, PartialEq)]
pub struct HoldoutPlan {
    loss: Objective,
    scoring: Scoring,
    weight: u32,
    log2_scale: u32,
    noise: NoiseLaw,
    adjacency: Adjacency,
    what: &'static str,
}

impl HoldoutPlan {
    /// Plans a release of what a model with this loss is measured by, at a cost of at most `rho`.
    ///
    /// # Errors
    /// When the share is too small or too large for the integer grid.
    pub fn new(loss: Objective, adjacency: Adjacency, rho: f64, noise: NoiseLaw) -> Fallible<Self> {
        let scoring = scoring_of(loss);
        let moved = match adjacency {
            Adjacency::AddRemove => scoring.parts(),
            Adjacency::ReplaceOne => scoring.apart(),
        };
        let reach = (moved as f64).sqrt();
        let per_scale = (2.0 * rho).sqrt() / reach;
        let log2_scale = (TARGET_BITS - per_scale.log2()).floor().clamp(0.0, f64::from(MAX_LOG2_SCALE)) as u32;
        let weight = (per_scale * 2f64.powi(log2_scale as i32) * (1.0 - 1e-6)).floor();
        if !(weight >= 64.0 && weight <= f64::from(u32::MAX)) {
            return Err(Error::parameter(
                "--evaluate-budget",
                "leaves too small or too large a budget for a release",
                "give it a larger share, or evaluate on public data",
            ));
        }
        Ok(HoldoutPlan { loss, scoring, weight: weight as u32, log2_scale, noise, adjacency, what: HELD_OUT })
    }

    /// The same release under another name, on rows that were not held out.
    pub(super) fn called(self, what: &'static str) -> Self {
        HoldoutPlan { what, ..self }
    }

    /// What is asked of the rows.
    pub fn query(&self) -> Query {
        query::Scores { scoring: self.scoring, weight: self.weight }.into()
    }

    /// What to pay for.
    pub fn planned(&self) -> Planned {
        Planned { charge: self.event().into(), query: self.query() }
    }

    /// The release, as integers.
    pub fn event(&self) -> GaussianEvent {
        GaussianEvent {
            what: self.what.into(),
            sensitivity: self.query().sensitivity(self.adjacency),
            log2_scale: self.log2_scale,
            noise: self.noise,
            count: 1,
        }
    }

    /// What one grid step stands for, in rows.
    pub fn step(&self) -> f64 {
        1.0 / f64::from(self.weight)
    }

    /// Makes the release and reads off the metrics of public coefficients.
    ///
    /// # Errors
    /// When it is not the next release of the plan, or fails.
    pub fn run(
        &self,
        holdout: &PrivateDataset,
        weights: &[f64],
        units: Units,
        run: &mut LoggedRun<'_>,
    ) -> Fallible<Evaluation> {
        let HoldoutPlan { loss, scoring, weight, .. } = *self;
        let step = ScoreStep { weights, label_scale: units.label_scale, scoring, weight };
        let released = run.release(&self.planned(), self.step(), || holdout.scores(loss, &step))?;
        let values: Vec<f64> = released.values().iter().map(|&v| v as f64 * self.step()).collect();
        let sigma = 2f64.powi(self.log2_scale as i32) * self.step();
        Ok(Sums { values: &values, sigma, units }.evaluation(scoring, loss))
    }
}

/// What a model with this loss is measured by.
fn scoring_of(loss: Objective) -> Scoring {
    match loss {
        Objective::Softmax { classes } => Scoring::Class { labels: classes },
        Objective::Margin(Glm::Logistic) => Scoring::Label,
        Objective::Margin(Glm::Hinge(_)) => Scoring::Score,
        Objective::Margin(Glm::Squared | Glm::Huber(_)) => Scoring::Number,
        Objective::Margin(Glm::Pinball(_)) => Scoring::Quantile,
        Objective::Margin(Glm::Poisson(_)) => Scoring::Count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Rho;

    #[test]
    fn the_plan_stays_within_its_share() {
        let losses = [Objective::from(Glm::Logistic), Glm::Squared.into(), Objective::Softmax { classes: 7 }];
        for loss in losses {
            for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
                for rho in [1e-8, 1e-3, 1.0] {
                    let plan = HoldoutPlan::new(loss, adjacency, rho, NoiseLaw::FlooredNormal).unwrap();
                    let cost = plan.event().rho();
                    assert!(cost <= Rho::from_f64(rho).unwrap());
                    assert!(cost.upper() > 0.98 * rho, "{} of {rho}", cost.upper());
                }
            }
        }
    }
}
