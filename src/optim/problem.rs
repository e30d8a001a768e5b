//! What an optimizer is planned from, what it promises to release, and what it returns.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::Averaging;
use crate::error::{Error, Fallible};
use crate::grid::Shape;
use crate::loss::{Curved, Objective};
use crate::privacy::{Adjacency, Charge, Delta, Epsilon, NoiseLaw, Rho};
use crate::private::{LoggedRun, Planned, PrivateDataset};

/// Choices of the user; `None` means "by the optimizer's own rule".
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Settings {
    /// Clip norm of one row's gradient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// Number of gradient releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Step size on the mean loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
    /// Momentum in `[0, 1)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub momentum: Option<f64>,
    /// l1 penalty on all coefficients but intercepts.
    pub l1: f64,
    /// l2 penalty on all coefficients but intercepts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l2: Option<f64>,
    /// Radius of the ball that iterates are kept in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// Which iterate is returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub averaging: Option<Averaging>,
    /// Probability with which a row joins a step of an algorithm that samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling_rate: Option<f64>,
}

impl Settings {
    /// Refuses flags that an algorithm has no use for, so that nobody believes they did something.
    ///
    /// # Errors
    /// When one of `flags` was given.
    pub(super) fn refuse(&self, algorithm: &str, flags: &[&'static str]) -> Fallible<()> {
        let given = [
            ("--clip", self.clip.is_some()),
            ("--steps", self.steps.is_some()),
            ("--learning-rate", self.learning_rate.is_some()),
            ("--momentum", self.momentum.is_some()),
            ("--l1", self.l1 > 0.0),
            ("--l2", self.l2.is_some_and(|l2| l2 > 0.0)),
            ("--radius", self.radius.is_some()),
            ("--averaging", self.averaging.is_some()),
            ("--sampling-rate", self.sampling_rate.is_some()),
        ];
        match given.iter().find(|(flag, given)| *given && flags.contains(flag)) {
            Some((flag, _)) => {
                let cure = match *flag {
                    "--l1" => "leave it out, or use --algorithm dp-gd",
                    "--l2" => {
                        "leave it out, or use --algorithm whitened; --model ridge sets it, --model linear does not"
                    }
                    _ => "leave it out",
                };
                Err(Error::parameter(*flag, format!("means nothing to --algorithm {algorithm}"), cure))
            }
            None => Ok(()),
        }
    }
}

/// The public facts that an optimizer is planned from; nothing here depends on rows.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    /// The columns.
    pub shape: &'a Shape,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// The loss.
    pub loss: Objective,
    /// The integer that will stand for 1.0 in an encoded row.
    pub unit: i16,
    /// The number of rows, where it is public; it may be zero.
    pub rows: Option<u64>,
    /// Law of the noise.
    pub noise: NoiseLaw,
    /// What the optimizer may spend if it makes only Gaussian releases from all rows.
    pub budget: Rho,
    /// The same as an epsilon that everything together must keep, where the budget was given so.
    pub target: Option<Target<'a>>,
    /// Choices of the user.
    pub settings: &'a Settings,
}

/// A budget for everything together, for optimizers whose cost is no rho.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Epsilon of all releases together.
    pub epsilon: Epsilon,
    /// Its delta.
    pub delta: Delta,
    /// What is released before the optimizer starts.
    pub before: &'a [Charge],
}

impl Problem<'_> {
    /// A bound on the typical squared norm of a standardised row: one for each feature and the intercept.
    pub fn typical_square(&self) -> f64 {
        (self.shape.numeric() + self.shape.categorical() + 1) as f64
    }

    /// Number of coefficients, those of all outputs together.
    pub fn dimension(&self) -> usize {
        self.shape.dimension() * self.loss.outputs()
    }

    /// The loss, where it is one that second-order methods and their constants were made for.
    ///
    /// # Errors
    /// When it is another one; `algorithm` is the name of who asks.
    pub(super) fn curved(&self, algorithm: &str) -> Fallible<Curved> {
        Curved::of(self.loss).ok_or_else(|| {
            Error::parameter(
                "--model",
                format!("must be logistic, linear or ridge with --algorithm {algorithm}"),
                "use another --model, or --algorithm dp-gd, which trains all of them",
            )
        })
    }

    /// The same problem with another budget.
    pub fn with_budget(&self, budget: Rho) -> Self {
        Problem { budget, ..self.clone() }
    }
}

/// What is known when an optimizer starts, all public or released.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// Number of rows, at least one.
    pub rows: f64,
    /// What an encoded label of 1 stands for.
    pub label_scale: f64,
}

/// The result of an optimizer.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// One coefficient per feature, in the units of encoded rows; one such block per output.
    pub weights: Vec<f64>,
    /// Standard error of each coefficient, sampling and noise together, where a theory gives one.
    pub standard_errors: Option<Vec<f64>>,
    /// Settings that a reader of the statement may want; public or released.
    pub settings: BTreeMap<String, Value>,
}

/// A private training algorithm with all its public parameters fixed.
///
/// # Privacy
/// [`Optimizer::run`] gets no more releases than [`Optimizer::planned`] asked for, and each opens only a value
/// whose sensitivity was paid for, with a line in the log. An implementation outside this crate can therefore waste budget but not
/// overspend it.
pub trait Optimizer: std::fmt::Debug + Send + Sync {
    /// Every release that a run will make, in order.
    fn planned(&self) -> Vec<Planned>;

    /// Makes the releases and returns the model.
    ///
    /// # Errors
    /// When a release is not the next one of the plan or fails, or the released values lead nowhere.
    fn run(&self, data: &PrivateDataset, start: &Start, run: &mut LoggedRun<'_>) -> Fallible<Fitted>;
}
