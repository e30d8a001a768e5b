//! # `rich`: curves, and what columns do together
//!
//! The effects of [`additive`](additive.md) and, beside them, a block of 400 cosines of all columns at once: smooth interactions of any order, convex and
//! untuned. `--features rich` is short for it.
//!
//! **What it does.**
//!
//! 1. Release the counts of every column and cut it into intervals, as [`additive`](additive.md) does.
//! 2. Give each interval of a number its normal score: the quantile of the normal law at the middle of its released shares, with the mean 0 and the variance 1; between
//!    the middles of intervals scores run linearly where effects do, and beyond 4 they are cut. A category is a 1 at its value, less the share of that value.
//! 3. Release the covariance `S` of scores and values: the sum of `z z^T` over rows, each clipped to 1.5 times the typical norm.
//! 4. Draw 400 directions `w ~ N(0, 1.3^2 / columns)`, orthogonal in blocks (Yu et al. 2016), and offsets `b`, from a seed that is public and the same in every
//!    run. A feature is `sqrt(2) cos(w . z + b)` (Rahimi and Recht 2007).
//! 5. Draw 8,192 rows, from a seed that is public, too: scores normal with the covariance `S` (plus the noise of an entry on its diagonal), and then each column with its released shares, in the order of
//!    its scores. Their features have a mean and a covariance, whose eigenvectors are coordinates; one with a share `q` of the variance is weighted by
//!    `sqrt(q / (q + lambda))`, with `lambda` settled by the noise as for single columns, and left out below 0.25. No covariance of the 400 features of the true rows is released. A
//!    normal law alone is wrong where columns have few values, and steps were too long then.
//! 6. From zero, `T` steps of gradient descent on all coordinates together, clipped as in [`additive`](additive.md). For counts they are a quarter as long as there: what curves and waves both
//!    can say is steeper, and the slope of a count grows with the count.
//!
//! **What is released, and why the bound is exact.**
//!
//! - *Counts*: as in [`additive`](additive.md).
//! - *Covariance*: a clipped Gram matrix, as in [`whitened`](whitened.md). A row adds an integer weight times `z z^T`, its Frobenius norm at most the clip,
//!   checked in integers. Sensitivity: the clip under add-remove, `sqrt(2)` times that under replace-one.
//! - *Clipped sums*: a row is its intervals, its values, and 400 integers that follow from these alone: a phase is a sum of integers modulo 2^16, its cosine
//!   stands in a table. A row contributes `m_i A q_i` with `m_i^2 |A q_i|^2 <= bound^2` checked in exact integers, whatever the cosines are. The drawn
//!   rows are used for the choice of coordinates alone. Sensitivity: the bound under add-remove, twice that under replace-one.
//!
//! **Cost.** Three Gaussian charges, one for the number of rows where that is not public, and one for a hold-out; together they compose to one Gaussian mechanism. Counts take 10% of the
//! budget for labels and 6% for numbers, the covariance 3%. Time: one pass for the counts, one for the covariance, one to make the features, and 800 bytes a
//! row and step. In memory rows take 800 bytes more than those of [`additive`](additive.md). Streamed and on a cluster they do not: features are made again in
//! each pass from the intervals, and some ten megabytes of rows have them at a time.
//!
//! **Settings and defaults.** Those of [`additive`](additive.md): `--clip` (by the rule), `--steps` (24 for labels, 16 for numbers), `--learning-rate`, `--momentum`
//! (0.6), `--l2` (the least `lambda` of both blocks; never below 0.003 and 0.01 for labels), `--averaging` (the mean of the second half).
//!
//! **Use it when** columns work together, above all for numbers: see [additive.md](../additive.md). It works streamed and on a cluster, and takes at most 2,048
//! coefficients before columns are cut. A unit of persons and standard errors it does not have.
//!
//! **Source.** Features: Rahimi and Recht 2007, Yu, Suresh, Choromanski, Holtmann-Rice, Kumar 2016. Their whitening by drawn rows is this project's; the clipped steps are those of
//! Bassily, Smith, Thakurta 2014. Both relations.

use super::description::{Description, Losses, Needs, Relations};
use super::{Additive, Bins, Fitted, Optimizer, Planned, Problem, Start, additive, settings};
use crate::error::{Error, Fallible};
use crate::grid::IntegerMap;
use crate::private::{LoggedRun, PrivateDataset};

/// With more, one eigenvalue problem takes minutes.
const MAX_COEFFICIENTS: usize = 2048;

pub(super) static DESCRIPTION: Description = Description {
    name: "rich",
    about: "Effects of every value, and smooth ones of all columns together",
    releases: "counts of every column, a covariance, T clipped sums",
    reference: "Rahimi and Recht 2007 for the features; steps as in `whitened`",
    relations: Relations::Both,
    losses: Losses::Any,
    settings: settings::OF_ADDITIVE,
    // Of so many values a covariance is kept.
    needs: Needs { coefficients: Some(MAX_COEFFICIENTS), ..Needs::NOTHING },
    plan: |problem| Ok(Box::new(Rich::plan(problem)?)),
    audit: additive::DESCRIPTION.audit,
};

/// Additive effects, and waves of all columns beside them.
///
/// # Privacy
/// One Gaussian release of a clipped sum per step, both adjacencies; the coordinates follow from released counts and from a released
/// covariance. Together with these exactly one Gaussian mechanism.
#[derive(Clone, Debug, PartialEq)]
pub struct Rich(Additive);

impl Rich {
    /// The share of the budget for the release of the covariance.
    pub(crate) const COVARIANCE_SHARE: f64 = 0.03;

    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the budget is too small for the number of steps.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        if problem.persons {
            return Err(Error::parameter(
                "--unit",
                "has no proof for --algorithm rich: of a person with several rows the waves have no common clip",
                "use --features additive, or --algorithm auto, whitened, dp-gd, dp-sgd or newton",
            ));
        }
        Additive::plan_as(&DESCRIPTION, problem).map(Rich)
    }
}

impl Optimizer for Rich {
    fn planned(&self) -> Vec<Planned> {
        self.0.planned()
    }

    fn coordinates(&self, bins: &Bins, rows: f64) -> Fallible<Option<IntegerMap>> {
        self.0.coordinates(bins, rows)
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        if start.bins.is_none_or(|bins| bins.waves.is_none()) {
            return Err(Error::refused("waves need a release of a covariance", "train with `train`"));
        }
        self.0.run(data, start, run)
    }
}
