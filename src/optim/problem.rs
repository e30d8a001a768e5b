//! What an optimizer is planned from, what it promises to release, and what it returns.

use std::collections::BTreeMap;

use serde_json::Value;

use super::release::Bins;
use super::settings::Settings;
use crate::error::Fallible;
use crate::grid::{IntegerMap, PublicColumns, Shape, WEIGHT_ONE};
use crate::loss::Objective;
use crate::privacy::{Adjacency, Charge, Delta, Epsilon, MAX_LOG2_FINE, MAX_LOG2_SCALE, NoiseLaw, Rho};
use crate::private::{LoggedRun, Planned, PrivateDataset};

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
    pub one: i16,
    /// Whether features are standardised by released moments.
    pub standardized: bool,
    /// Whether every column is cut into intervals by released counts.
    pub binned: bool,
    /// The number of rows, or of persons where they are the unit, if it is public; it may be zero.
    pub rows: Option<u64>,
    /// Whether persons with any number of rows are the unit of privacy.
    pub persons: bool,
    /// Whether rows have weights: what they add is then a whole number of times smaller, and grids are finer.
    pub weighted: bool,
    /// Whether labels alone are protected, and features are public.
    pub labels_alone: bool,
    /// Which columns are public, where some are and others are not.
    pub public: Option<&'a PublicColumns>,
    /// Law of the noise.
    pub noise: NoiseLaw,
    /// What the optimizer may spend if it makes only Gaussian releases from all rows.
    pub budget: Rho,
    /// The budget as an epsilon that everything together must keep, where it was given so.
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

    /// How many grid steps stand for one step of what a row adds: 1, or as many as weights are told apart by.
    pub fn finer(&self) -> u64 {
        if self.weighted { WEIGHT_ONE } else { 1 }
    }

    /// The finest grid of a release, as a power of two of steps to a deviation of its noise.
    pub fn finest_grid(&self) -> u32 {
        if self.weighted { MAX_LOG2_FINE } else { MAX_LOG2_SCALE }
    }

    /// Number of coefficients, those of all outputs together.
    pub fn dimension(&self) -> usize {
        self.shape.dimension() * self.loss.outputs()
    }
}

/// What is known when an optimizer starts, all public or released.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start<'a> {
    /// Number of rows, or of persons where they are the unit; at least one.
    pub rows: f64,
    /// The mean square of the length of what a person adds to a sum of gradients, where that of a row is 1: the mean over persons of one
    /// over the number of their rows, or [`Typical::share`](super::Typical) where rows are weighed; 1 where rows are the unit.
    pub share: f64,
    /// What an encoded label of 1 stands for.
    pub label_scale: f64,
    /// How far from their centre labels can lie, in deviations, by their public bounds; `None` where they are not centred.
    pub farthest_label: Option<f64>,
    /// The intervals that every column was cut into, where they were released.
    pub bins: Option<&'a Bins>,
}

/// The result of an optimizer.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// One coefficient per feature, in the units of encoded rows; one such block per output.
    pub weights: Vec<f64>,
    /// Standard error of each coefficient, sampling and noise together, where a theory gives one.
    pub standard_errors: Option<Vec<f64>>,
    /// For each column that was cut into intervals, or has values, the standard deviation that the noise of the steps gives each of its
    /// coefficients; empty where no theory gives one.
    pub deviations: Vec<Vec<f64>>,
    /// What one unit of a count's map is multiplied by, 1 where an optimizer leaves it; a function of what was released.
    pub unit: f64,
    /// Settings that a reader of the statement may want; public or released.
    pub settings: BTreeMap<String, Value>,
}

impl Fitted {
    /// Coefficients alone.
    pub fn of(weights: impl Into<Vec<f64>>) -> Self {
        Fitted {
            weights: weights.into(),
            standard_errors: None,
            deviations: Vec::new(),
            unit: 1.0,
            settings: BTreeMap::new(),
        }
    }

    /// With settings stated besides.
    #[must_use]
    pub fn stating<K: Into<String>>(mut self, settings: impl IntoIterator<Item = (K, Value)>) -> Self {
        self.settings.extend(settings.into_iter().map(|(name, value)| (name.into(), value)));
        self
    }
}

/// A private training algorithm with all its public parameters fixed.
///
/// # Privacy
/// [`Optimizer::run`] gets no more releases than [`Optimizer::planned`] asked for, and each opens only a value
/// whose sensitivity was paid for, with a line in the log. An implementation outside this crate can therefore waste budget but not
/// overspend it, not even by a run that it charges to a ledger of its own: the rows that it gets answer to the run that it gets. It is
/// code that its user trusts all the same: nothing keeps it from reading the file itself.
pub trait Optimizer: std::fmt::Debug + Send + Sync {
    /// Every release that a run will make, in order.
    fn planned(&self) -> Vec<Planned>;

    /// The map through which its steps see rows, where that follows from released intervals and so differs from run to run; `rows` is
    /// their public or released number. An audit compares runs along it.
    ///
    /// # Errors
    /// When no map follows from the intervals.
    fn coordinates(&self, _bins: &Bins, _rows: f64) -> Fallible<Option<IntegerMap>> {
        Ok(None)
    }

    /// Makes the releases and returns the model.
    ///
    /// # Errors
    /// When a release is not the next one of the plan or fails, or the released values lead nowhere.
    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted>;
}
