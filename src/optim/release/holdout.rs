//! Quality on a private hold-out: one release of sums, from which metrics follow.

use super::metrics::{Evaluation, Sums, Units};
use crate::error::{Error, Fallible};
use crate::grid::{ScoreStep, Scoring};
use crate::loss::Objective;
use crate::optim::{Fineness, GaussianRelease, GaussianRule};
use crate::privacy::{Adjacency, NoiseLaw, Rho};
use crate::private::{LoggedRun, PrivateDataset, Query, query};

/// What the release from rows held out is called.
pub(crate) const HELD_OUT: &str = "scores on a hold-out";

/// Size of the grid: a row's entries are near `2^20` grid steps.
const TARGET: f64 = (1u64 << 20) as f64;

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
    /// The release.
    pub release: GaussianRelease,
}

impl HoldoutPlan {
    /// Plans a release of what a model with this loss is measured by, at a cost of at most `rho`.
    ///
    /// # Errors
    /// When the share is too small or too large for the integer grid.
    pub fn new(loss: Objective, adjacency: Adjacency, rho: f64, noise: NoiseLaw) -> Fallible<Self> {
        let scoring = loss.tuning().scoring;
        let moved = match adjacency {
            Adjacency::AddRemove => scoring.parts(),
            Adjacency::ReplaceOne => scoring.apart(),
        };
        let sensitivity = (moved as f64).sqrt();
        let query =
            |weight: u64| Query::from(query::Scores { scoring, weight: u32::try_from(weight).unwrap_or(u32::MAX) });
        let rule = GaussianRule { what: HELD_OUT, query: &query, adjacency, noise, count: 1 };
        let wanted = Fineness { sensitivity, target: TARGET * sensitivity, largest: u64::MAX, slack: 1e-6 };
        let (release, weight) = rule.finest(&Rho::from_f64(rho)?, &wanted);
        match u32::try_from(weight) {
            Ok(weight) if weight >= 64 => Ok(HoldoutPlan { loss, scoring, weight, release }),
            _ => Err(Error::parameter(
                "--evaluate-budget",
                "leaves too small or too large a budget for a release",
                "give it a larger share, or evaluate on public data",
            )),
        }
    }

    /// This release under another name, on rows that were not held out.
    pub(in crate::optim) fn called(self, what: &str) -> Self {
        HoldoutPlan { release: self.release.called(what), ..self }
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
        let released = run.release(&self.release.planned(), self.step(), || holdout.scores(loss, &step))?;
        let values: Vec<f64> = released.values().iter().map(|&v| v as f64 * self.step()).collect();
        let sigma = self.release.scale() * self.step();
        Ok(Sums { values: &values, sigma, units }.evaluation(scoring, loss))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Glm;

    #[test]
    fn the_plan_stays_within_its_share() {
        let losses = [Objective::from(Glm::Logistic), Glm::Squared.into(), Objective::Softmax { classes: 7 }];
        for loss in losses {
            for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
                for rho in [1e-8, 1e-3, 1.0] {
                    let plan = HoldoutPlan::new(loss, adjacency, rho, NoiseLaw::FlooredNormal).unwrap();
                    let cost = plan.release.rho();
                    assert!(cost <= Rho::from_f64(rho).unwrap());
                    assert!(cost.upper() > 0.98 * rho, "{} of {rho}", cost.upper());
                }
            }
        }
    }
}
