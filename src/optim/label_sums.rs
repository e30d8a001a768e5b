//! # `label-sums`: one noised `X^T y`, where labels alone are protected
//!
//! Where features are public and the outcome alone is secret (`--protect label`), a model with its canonical link needs one private vector: labels
//! enter its likelihood through `X^T y`. That vector is released once, with all of the budget, and everything else is computed exactly.
//!
//! **What it does.** `x` is a row in standardised features, `c` its weight, `mu` the mean that the link gives to a margin.
//!
//! 1. From features alone: their covariance `S`, the map `P = (S + 0.1)^(-1/2)` of centred features, and the clip `C`, the root of the mean of `|P x|^2` times
//!    `clamp(0.2 nu^-0.35, 0.5, 3)`, `nu` the noise over what all rows together say. A row beyond counts less: `c = min(1, C / |P x|)`.
//! 2. Release `z = sum c y P x` with noise.
//! 3. Minimise `sum c A(v . P x) - z . v + |v|_L^2 / 2`, `A' = mu`, by L-BFGS in exact integer sums, until the step left is a thousandth of what the noise
//!    does. The penalty `L` is the variance of noise and chance over that of coefficients, `c span^p` along a coordinate whose features have the variance `span`; `c` and `p` are those under which `z` is most likely. So
//!    what noise hides is shrunk, nothing is tuned, and an optimum exists whatever the noise was.
//!
//! **What is released, and why the bound is exact.** A row is weighed by a whole number `m` out of its cap: 0 or the cap for two labels, `y` times it for
//! numbers between their bounds, the cap in the sum of its own label for several. The cap is the largest with `cap |A q| <= clip_steps` in integers,
//! `A` the map in whole numbers, and labels are told in sixteenths of it. Features are public and stay as they are, so a label that is replaced moves the sum by at most 16 `clip_steps` (two labels,
//! counts), twice that (numbers), or the root of two times it (several labels: one sum loses what another gains). The same weights stand in both terms of
//! the likelihood, and features decide them. A row without a usable label stays in the part that is free, for whether it does must not tell: it counts as half of a positive,
//! as the middle of the bounds, or as an equal part of each of several labels.
//!
//! **Cost.** One Gaussian release. Passes over the rows: two before it, one quadratic in the columns, and 10 to 40 after it; for standard errors one more for each coefficient.
//!
//! **Settings and defaults.** `--clip` (by the rule; 0.05 to 100, and raised where a smaller one does not fit the map), `--l2` (0, added to the penalty). Features are always standardised: their moments are
//! free. At most 2,048 coefficients, and 2^32 rows.
//!
//! **Standard errors** of `logistic` without `--l2`, up to 256 coefficients: noise, the chance of labels, and what shrinking is expected to leave out. Intervals cover on the average
//! over coefficients (Morris 1983), so that one which is far larger than the others may be missed more often. Other families have none: the variance of their
//! labels was not released.
//!
//! **Use it when** features are public, or known to whoever is to be kept from the labels, and the schema says `"protect": "label"`: `auto` chooses it
//! then. It is refused where rows or persons are protected. It works streamed and on a cluster.
//!
//! **Models.** `logistic`, `linear`, `ridge`, `poisson`, `multinomial`: with their canonical links labels enter linearly. `huber`, `quantile` and `svm` have none.
//!
//! **Source.** Sufficient statistics: Vu and Slavkovic 2009, "Differential privacy for clinical trial data"; label privacy: Chaudhuri and Hsu 2011; noise before
//! the fit, and the clipped weights in both terms, are this project's combination; the penalty is empirical Bayes (Efron and Morris 1973, MacKay 1992). Replace-one only.

use std::collections::VecDeque;

use ndarray::{Array1, Array2};
use serde_json::json;

use super::description::{AuditRecipe, Description, Losses, Needs, Relations};
use super::release::public_gram;
use super::{Fineness, Fitted, GaussianRelease, GaussianRule, Optimizer, Planned, Problem, Settings, Start, settings};
use crate::error::{Error, Fallible};
use crate::grid::{FULL_SCALE, IntegerMap, LABEL_STEPS, LabelCoding, MAX_MULTIPLIER};
use crate::loss::{Glm, Objective, Poisson};
use crate::num::dense;
use crate::private::{ClippedRows, Gradient, LoggedRun, PrivateDataset, Query, query};

/// The map is rounded to multiples of `2^-12`.
const LOG2_MAP_UNIT: u32 = 12;

/// What is added to the eigenvalues of the covariance of standardised features.
const RIDGE: f64 = 0.1;

/// Eigenvalues below this are of features that say what others say.
const NO_VARIANCE: f64 = 1e-7;

/// Factor, power, least and most of the clip, in roots of the mean square of a row.
const CLIP: (f64, f64, f64, f64) = (0.2, -0.35, 0.5, 3.0);

/// The variance of an intercept around that of the rows without features, before labels are looked at.
const INTERCEPT: f64 = 1.0;

/// The largest penalty, over what rows say of a coordinate.
const MOST_PENALTY: f64 = 1e9;

/// All rows together count as no less than this share of one.
const LEAST_ROW: f64 = 1e-3;

/// No mean is taken to be less than this share of the largest, or nearer to it, before features are looked at.
const EXTREME: f64 = 0.1;

/// With more the map would be rounded to next to nothing, and its eigenvectors take minutes.
const MAX_COEFFICIENTS: usize = 2048;

/// Clip norms that are taken, in units of whitened features.
const CLIPS: std::ops::RangeInclusive<f64> = 0.05..=100.0;

/// Entries of the map up to this are rounded to its finest unit.
const MAX_ENTRY: f64 = 32.0;

/// The least mean of counts, as a share of their upper bound, that is told apart.
const LEAST_COUNT: f64 = 1.0 / 4096.0;

/// What is left to do at the end, over what the noise does, squared.
const SOLVED: f64 = 1e-6;

/// Passes over the rows, at most.
const MAX_PASSES: usize = 300;

/// Coordinates whose standard errors are found, at most, and rows times their square: a minute of one core.
const MAX_MEASURED: usize = 256;
const MAX_MEASURED_WORK: f64 = 3e10;

/// Steps that L-BFGS remembers.
const MEMORY: usize = 12;

pub(super) static DESCRIPTION: Description = Description {
    name: "label-sums",
    about: "One noised X^T y and all else exact, where labels alone are protected",
    releases: "`X^T y`",
    reference: "Vu and Slavkovic 2009; `auto` with `--protect label`",
    relations: Relations::ReplaceOne { why: "labels do not come or go" },
    losses: Losses::Canonical,
    settings: &[&settings::CLIP, &settings::L2],
    needs: Needs { labels_alone: true, coefficients: Some(MAX_COEFFICIENTS), ..Needs::NOTHING },
    plan: |problem| Ok(Box::new(LabelSums::plan(problem)?)),
    audit: |_| AuditRecipe {
        raw: false,
        one_run: Some("protects labels alone, and canaries differ in features"),
        ..AuditRecipe::with(Settings::NONE)
    },
};

/// The maximum of a noised likelihood of which labels are one vector.
///
/// # Privacy
/// One Gaussian release, of a sum that a replaced label moves by at most [`LabelCoding::spread`] of the clip norm. All else follows from
/// features, which are public, and from what was released.
///
/// # Reference
/// Vu and Slavkovic 2009; Chaudhuri and Hsu 2011.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelSums {
    release: GaussianRelease,
    clip_steps: u64,
    coding: LabelCoding,
    loss: Objective,
    one: f64,
    standardized: bool,
    clip: Option<f64>,
    l2: f64,
}

impl LabelSums {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When more than labels is protected, the loss has no canonical link, or the budget is too small.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        let Some(coding) = problem.loss.label_coding() else {
            return Err(DESCRIPTION.refused(
                "needs a model in which labels enter linearly",
                "use --model linear, ridge, logistic, poisson or multinomial, or protect rows with --algorithm dp-gd",
            ));
        };
        DESCRIPTION.fits(problem)?;
        let Settings { clip, l2, .. } = *problem.settings;
        if let Some(clip) = clip.filter(|clip| !CLIPS.contains(clip)) {
            let problem = format!(
                "is {clip:?}, must be in 0.05..=100 for label-sums: rows have a norm of about the root of their number of columns"
            );
            return Err(Error::parameter("--clip", problem, "leave it out, and the rule chooses it"));
        }
        let one = u64::from(problem.one.unsigned_abs()) << LOG2_MAP_UNIT;
        let largest = (MAX_MULTIPLIER as u64).saturating_mul(one);
        let steps = u64::from(LABEL_STEPS);
        let query =
            |clip_steps: u64| Query::from(query::LabelSums { clip_steps: clip_steps.saturating_mul(steps), coding });
        let rule = GaussianRule {
            what: "sum of rows by their labels",
            query: &query,
            adjacency: problem.adjacency,
            noise: problem.noise,
            count: 1,
        };
        let sensitivity = coding.spread(steps << 20) as f64 / f64::from(1 << 20);
        let wanted = Fineness { sensitivity, target: largest as f64 * sensitivity, largest, slack: 1e-9 };
        let (release, clip_steps) = rule.finest(&problem.budget, &wanted);
        if clip_steps < 64 * one {
            return Err(Error::parameter("budget", "is too small for a release of labels", "use a larger epsilon"));
        }
        let standardized = problem.standardized;
        Ok(LabelSums {
            release,
            clip_steps,
            coding,
            loss: problem.loss,
            one: problem.one.into(),
            standardized,
            clip,
            l2: l2.unwrap_or(0.0),
        })
    }

    /// What one integer of a release stands for, a row of the clip norm with a whole label being 1.
    fn grid_step(&self) -> f64 {
        1.0 / (self.clip_steps as f64 * f64::from(LABEL_STEPS))
    }

    /// What a multiplier of a whole cap stands for, in units of the margin's mean.
    fn label_unit(&self, label_scale: f64) -> f64 {
        match self.coding {
            LabelCoding::Two | LabelCoding::Classes { .. } => 1.0,
            LabelCoding::Numbers | LabelCoding::Counts => label_scale * f64::from(FULL_SCALE),
        }
    }
}

/// Coordinates that follow from public features.
struct Coordinates {
    /// From features to coordinates, rows of norm at most 1 whole.
    map: IntegerMap,
    /// Coordinates that rows have a part in; the intercept is the last of them.
    used: Vec<bool>,
    /// `sum (P x)_j^2` over all rows, for each coordinate, in those units.
    squares: Array1<f64>,
    /// The variance of the features along each coordinate but the intercept's, with what was added to it.
    spans: Vec<f64>,
    /// The clip norm, in units of whitened features.
    clip_norm: f64,
    /// Number of rows.
    rows: f64,
}

impl LabelSums {
    /// The coordinates in which labels are released.
    fn coordinates(&self, data: &PrivateDataset, outputs: f64) -> Fallible<Coordinates> {
        let gram = public_gram(data)?;
        let all = gram.nrows();
        let last = all - 1;
        // At least one, so that a file without rows trains like any other.
        let rows = gram[(last, last)].max(1.0);
        let means = gram.row(last).to_owned() / rows;
        let covariance = Array2::from_shape_fn((last, last), |(j, k)| gram[(j, k)] / rows - means[j] * means[k]);
        let numeric = data.shape().numeric();
        let typical = match (self.standardized, numeric) {
            (false, 1..) => {
                (covariance.diag().iter().take(numeric).sum::<f64>() / numeric as f64).clamp(NO_VARIANCE, 1.0)
            }
            _ => 1.0,
        };
        let ridge = RIDGE * typical;
        let (values, vectors) = dense::symmetric_eigen(covariance)?;
        let mut used: Vec<bool> = values.iter().map(|&value| value > NO_VARIANCE * typical).collect();
        used.push(true);
        let kept = values.iter().zip(&used).filter(|(_, used)| **used).map(|(&value, _)| value);
        let mean_square = 1.0 + kept.map(|value| value / (value + ridge)).sum::<f64>();
        let dimension = used.iter().filter(|used| **used).count() as f64 * outputs;
        let noise = self.release.scale() * self.grid_step();
        let relative_noise = noise * (dimension * mean_square).sqrt() / rows;
        let (factor, power, least, most) = CLIP;
        let by_rule = mean_square.sqrt() * (factor * relative_noise.powf(power)).clamp(least, most);
        let mut real = Array2::zeros((all, all));
        for j in (0..last).filter(|&j| used[j]) {
            let row = vectors.column(j).to_owned() / (values[j].max(0.0) + ridge).sqrt();
            real[(j, last)] = -row.iter().zip(&means).map(|(entry, mean)| entry * mean).sum::<f64>();
            real.row_mut(j).iter_mut().zip(&row).for_each(|(to, &entry)| *to = entry);
        }
        real[(last, last)] = 1.0;
        // Else the map would have a coarser unit, and rows less than the clip norm that noise is for.
        let widest = real.iter().fold(0.0f64, |most, entry| most.max(entry.abs())) / MAX_ENTRY;
        let clip_norm = self.clip.unwrap_or(by_rule).max(widest);
        real /= clip_norm;
        let length = |j: usize| 1.0 / ((values[j].max(0.0) + ridge).sqrt() * clip_norm);
        let squares = (0..last).map(|j| if used[j] { rows * values[j] * length(j).powi(2) } else { 0.0 });
        let squares = squares.chain([rows / clip_norm.powi(2)]).collect();
        let spans = values.iter().map(|value| value.max(0.0) + ridge).collect();
        Ok(Coordinates { map: IntegerMap::nearest(&real, LOG2_MAP_UNIT)?, used, squares, spans, clip_norm, rows })
    }
}

/// The likelihood with its noised labels, in the units of the release: a row that counts whole has norm 1, a whole label is 1.
struct Likelihood<'a> {
    rows: &'a ClippedRows<'a>,
    loss: Objective,
    /// From a mean to a whole multiplier for each unit of a cap, what a sum of them stands for, and the largest multiplier.
    scale: f64,
    step: f64,
    most: i32,
    /// What was released.
    labels: Array1<f64>,
    /// The penalty of each coordinate, and the point that it pulls to.
    penalty: Array1<f64>,
    centre: Array1<f64>,
    /// The penalty on coefficients of features.
    l2: f64,
    /// Passes so far.
    passes: usize,
}

impl Likelihood<'_> {
    /// The sum of rows weighed by what the model says of them.
    fn means(&mut self, at: &Array1<f64>) -> Fallible<Array1<f64>> {
        self.passes += 1;
        let gradient = Gradient { loss: self.loss, weights: at, label_scale: 1.0, clip_norm: 1.0 };
        let sums = self.rows.mean_sum(&gradient, self.scale, self.most)?;
        Ok(sums.into_iter().map(|sum| sum as f64 * self.step).collect())
    }

    /// The gradient.
    fn gradient(&mut self, at: &Array1<f64>) -> Fallible<Array1<f64>> {
        let means = self.means(at)?;
        let mut gradient = means - &self.labels + &self.penalty * &(at - &self.centre);
        if self.l2 > 0.0 {
            gradient += &(self.rows.to_iterate(&self.rows.to_features(at)) * self.l2);
        }
        Ok(gradient)
    }
}

impl Optimizer for LabelSums {
    fn planned(&self) -> Vec<Planned> {
        vec![self.release.planned()]
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let outputs = self.loss.outputs();
        let Coordinates { map, used, squares, spans, clip_norm, rows: count } =
            self.coordinates(data, outputs as f64)?;
        let block = used.len();
        let clipped = data.clipped_through(map, self.clip_steps)?;
        let grid_step = self.grid_step();
        let released = run.release(&self.release.planned(), grid_step, || clipped.label_sum(self.coding))?;
        let mut labels: Array1<f64> = released.values().iter().map(|&value| value as f64 * grid_step).collect();
        if labels.len() != block * outputs {
            return Err(Error::numerical("labels", "were released in other coordinates"));
        }

        // Means are rounded far below what a label is, as finely as sums of so many rows allow.
        let lines = data.public_len().map_or(count, |rows| rows as f64).max(1.0);
        let log2_finer = (32 - lines.log2().ceil() as i32).clamp(0, 8);
        let finer = 2f64.powi(log2_finer);
        let mut label_unit = self.label_unit(start.label_scale);
        let mut unit = 1.0;
        let most = (4.0 * f64::from(MAX_MULTIPLIER) * finer) as i32;
        let mut likelihood = Likelihood {
            rows: &clipped,
            loss: self.loss,
            scale: finer / label_unit,
            step: grid_step * f64::from(LABEL_STEPS) / finer,
            most,
            labels: Array1::zeros(0),
            penalty: Array1::zeros(block * outputs),
            centre: Array1::zeros(block * outputs),
            l2: self.l2 * count / label_unit,
            passes: 0,
        };

        // With coefficients of nothing all rows have one mean, so one pass tells how all rows add up.
        let at_one = match self.loss {
            Objective::Margin(Glm::Squared) => {
                let mut at = Array1::zeros(block);
                at[block - 1] = clip_norm;
                at
            }
            _ => Array1::zeros(block * outputs),
        };
        let mean_there = match self.loss {
            Objective::Margin(Glm::Logistic) => 0.5,
            Objective::Softmax { classes } => 1.0 / classes as f64,
            Objective::Margin(_) => 1.0 / label_unit,
        };
        let whole: Array1<f64> = likelihood.means(&at_one)?.iter().take(block).map(|sum| sum / mean_there).collect();
        let noise = self.release.scale() * grid_step;
        if outputs > 1 {
            // Every row has one label, so that the sums of all labels are those of all rows, which are public.
            for j in 0..block {
                let excess = (0..outputs).map(|k| labels[k * block + j]).sum::<f64>() - whole[j];
                (0..outputs).for_each(|k| labels[k * block + j] -= excess / outputs as f64);
            }
        }

        let counted = whole[block - 1].max(LEAST_ROW / clip_norm);
        let most_extreme = EXTREME.min(0.5 / outputs as f64);
        let extreme = (noise / counted).clamp((1.0 / (count + 1.0)).min(most_extreme), most_extreme);
        let shares: Vec<f64> = (0..outputs).map(|k| labels[k * block + block - 1] / counted).collect();
        let total: f64 = shares.iter().map(|share| share.max(extreme)).sum();
        if let (Objective::Margin(Glm::Poisson(Poisson { bound, .. })), [share]) = (self.loss, &shares[..]) {
            // Rates lie within a bounded factor of one unit, which is the released mean from here on.
            let mean = if share.is_finite() { share.clamp(LEAST_COUNT, 1.0) } else { 1.0 };
            // No larger than the upper bound.
            unit = (mean * label_unit).min(bound.exp());
            label_unit /= unit;
            (likelihood.scale, likelihood.l2) = (finer / label_unit, self.l2 * count / label_unit);
        }
        // What all rows weigh over what they would unclipped.
        let weight = (counted * clip_norm / count).clamp(0.0, 1.0);
        let nulls: Vec<Null> =
            shares.iter().map(|&share| Null::of(self.loss, share, extreme, total, label_unit)).collect();
        let seen = nulls.iter().enumerate().flat_map(|(k, null)| {
            let (labels, whole, squares, spans, used) = (&labels, &whole, &squares, &spans, &used);
            (0..block - 1).filter(move |&j| used[j]).map(move |j| Seen {
                square: (labels[k * block + j] - null.mean * whole[j]).powi(2),
                noise: noise * noise + null.variance * weight * squares[j],
                reach: (null.curvature * weight * squares[j]).powi(2),
                span: spans[j],
            })
        });
        let prior = Prior::of(&seen.collect::<Vec<_>>());
        let mut stiffness = Array1::from_elem(block * outputs, 1.0);
        for (k, null) in nulls.iter().enumerate() {
            for j in 0..block {
                let spread = weight * squares[j];
                let information = (null.curvature * spread).max(f64::MIN_POSITIVE);
                let expected = match j == block - 1 {
                    true => INTERCEPT * clip_norm * clip_norm,
                    false => prior.variance(spans[j]),
                };
                let penalty = match used[j] {
                    false => 1.0,
                    // However little is to be told, a coordinate is shrunk to nothing and no further.
                    true => ((noise * noise + null.variance * spread) / (expected * information))
                        .clamp(0.0, MOST_PENALTY * information),
                };
                likelihood.penalty[k * block + j] = penalty;
                stiffness[k * block + j] = information + penalty;
            }
            likelihood.centre[k * block + block - 1] = null.margin * clip_norm;
        }
        // Noise in coordinates that no row has a part in says nothing.
        labels.iter_mut().enumerate().filter(|(index, _)| !used[index % block]).for_each(|(_, label)| *label = 0.0);
        likelihood.labels = labels;

        let rounding = (count / 12.0).sqrt() / (f64::from(MAX_MULTIPLIER) * finer);
        let level = noise.max(rounding).powi(2);
        let enough = SOLVED * stiffness.iter().map(|stiffness| level / stiffness).sum::<f64>();
        let (at, solved) = minimize(&mut likelihood, &stiffness, enough)?;
        let weights = clipped.to_features(&at);
        if weights.iter().any(|weight| !weight.is_finite()) {
            return Err(Error::numerical("label-sums", "the likelihood of the released labels has no finite maximum"));
        }
        let expected: Vec<f64> =
            spans.iter().map(|&span| prior.variance(span)).chain([INTERCEPT * clip_norm * clip_norm]).collect();
        let standard_errors = match self.loss {
            // Nothing says what a penalty that was asked for moves coefficients by.
            Objective::Margin(Glm::Logistic) if solved && self.l2 == 0.0 => errors(
                &mut likelihood,
                &at,
                &Uncertain { used: &used, expected: &expected, noise: level, rows: count },
            )?,
            // Of other families the variance of a label was not released, or is not the mean's.
            _ => None,
        };
        Ok(Fitted { unit, standard_errors, ..Fitted::of(weights.to_vec()) }.stating([
            ("clip_norm_whitened", json!(clip_norm)),
            ("prior_deviation", json!(prior.at_one.sqrt() / clip_norm)),
            ("prior_power", json!(prior.power)),
            ("passes", json!(likelihood.passes)),
            ("solved", json!(solved)),
        ]))
    }
}

/// What is known of the coordinates where standard errors are asked for.
struct Uncertain<'a> {
    /// Coordinates that rows have a part in.
    used: &'a [bool],
    /// The variance of each coefficient before the release.
    expected: &'a [f64],
    /// The variance of the noise.
    noise: f64,
    /// Number of rows.
    rows: f64,
}

/// The standard error of every coefficient of two labels: of noise, of the chance of labels, and of what shrinking leaves out.
///
/// `V = (T^-1 + H Q^-1 H)^-1` with `H` the curvature of the likelihood at its maximum, found by differences of free sums, `Q = H + sigma^2` the
/// variance of what was released, and `T` the prior; rows that count for less than one have a smaller variance than `H` says. Along one
/// coordinate that is the variance of the estimate plus the square of what shrinking is expected to move it by. `None` where passes over the
/// rows would take long.
///
/// # Reference
/// Morris 1983, "Parametric empirical Bayes inference" (intervals that cover on the average over coefficients).
fn errors(of: &mut Likelihood<'_>, at: &Array1<f64>, known: &Uncertain<'_>) -> Fallible<Option<Vec<f64>>> {
    let places: Vec<usize> = (0..known.used.len()).filter(|&j| known.used[j]).collect();
    let size = places.len();
    if size > MAX_MEASURED || known.rows * (size * size) as f64 > MAX_MEASURED_WORK {
        return Ok(None);
    }
    let mut curvature = Array2::zeros((size, size));
    let here = of.means(at)?;
    for (row, &j) in places.iter().enumerate() {
        // So short that curvature hardly changes, and so long that rounding is nothing to it.
        let step = 0.02 * known.expected[j].sqrt();
        let mut moved = at.clone();
        moved[j] += step;
        let slopes = (of.means(&moved)? - &here) / step;
        places.iter().enumerate().for_each(|(column, &k)| curvature[(row, column)] = slopes[k]);
    }
    let curvature = (&curvature + &curvature.t()) / 2.0;
    let (values, vectors) = dense::symmetric_eigen(curvature)?;
    // In coordinates in which the curvature is diagonal, the information of the release is, too.
    let information = values.mapv(|value| value.max(0.0).powi(2) / (value.max(0.0) + known.noise));
    let mut precision = (&vectors * &information).dot(&vectors.t());
    places.iter().enumerate().for_each(|(row, &j)| precision[(row, row)] += 1.0 / known.expected[j]);
    let (values, vectors) = dense::symmetric_eigen(precision)?;
    let deviations = values.mapv(|value| 1.0 / value.max(f64::MIN_POSITIVE).sqrt());
    let mut squares = Array1::zeros(of.rows.data().shape().dimension());
    for (vector, deviation) in vectors.columns().into_iter().zip(&deviations) {
        let mut along = Array1::zeros(known.used.len());
        places.iter().zip(vector).for_each(|(&j, entry)| along[j] = entry * deviation);
        squares += &of.rows.to_features(&along).mapv(|entry| entry * entry);
    }
    let errors: Vec<f64> = squares.iter().map(|square: &f64| square.sqrt()).collect();
    Ok(errors.iter().all(|error| error.is_finite()).then_some(errors))
}

/// What a release says of one coordinate of one output, where the coefficients of features are nothing.
struct Seen {
    /// The square of what labels say beyond the mean of all.
    square: f64,
    /// The variance that noise, and the chance of labels, give it.
    noise: f64,
    /// What a coefficient of 1 would add, squared.
    reach: f64,
    /// The variance of the features along it.
    span: f64,
}

/// How large coefficients are, as far as a release tells: normal, of variance `at_one span^power` along a coordinate.
struct Prior {
    at_one: f64,
    power: i32,
}

impl Prior {
    /// Powers that are tried: coefficients alike in whitened coordinates, in those of the features, and more so where features vary more.
    const POWERS: std::ops::RangeInclusive<i32> = 0..=4;

    /// The prior under which the release is most likely.
    ///
    /// # Reference
    /// Efron and Morris 1973, "Stein's estimation rule and its competitors" (empirical Bayes); MacKay 1992, "Bayesian interpolation" (evidence).
    fn of(seen: &[Seen]) -> Self {
        let mean = |of: &dyn Fn(&Seen) -> f64| seen.iter().map(of).sum::<f64>() / seen.len().max(1) as f64;
        let (reach, noise) = (mean(&|it| it.reach).max(f64::MIN_POSITIVE), mean(&|it| it.noise));
        let largest = mean(&|it| it.square).max(noise).max(f64::MIN_POSITIVE) / reach;
        let mut best = (f64::NEG_INFINITY, Prior { at_one: largest, power: 0 });
        for power in Self::POWERS {
            // In units in which the mean coordinate has a variance of about what all say together, down to what hardly shows.
            let typical = mean(&|it| it.reach * it.span.powi(power)).max(f64::MIN_POSITIVE) / reach;
            for step in -64..=16 {
                let at_one = largest / typical * 2f64.powf(0.25 * f64::from(step));
                let prior = Prior { at_one, power };
                let of_one = |it: &Seen| {
                    let variance = (it.noise + prior.variance(it.span) * it.reach).max(f64::MIN_POSITIVE);
                    variance.ln() + it.square / variance
                };
                let evidence = -seen.iter().map(of_one).sum::<f64>();
                if evidence > best.0 {
                    best = (evidence, prior);
                }
            }
        }
        best.1
    }

    /// Along a coordinate of this span.
    fn variance(&self, span: f64) -> f64 {
        (self.at_one * span.powi(self.power)).max(f64::MIN_POSITIVE)
    }
}

/// What a model without features says of all rows.
struct Null {
    /// Its margin.
    margin: f64,
    /// The mean label, in whole labels.
    mean: f64,
    /// The derivative of the mean by the margin.
    curvature: f64,
    /// The variance of a label; nothing where the model says nothing of it.
    variance: f64,
}

impl Null {
    fn of(loss: Objective, share: f64, extreme: f64, total: f64, label_unit: f64) -> Self {
        match loss {
            Objective::Margin(Glm::Squared) => {
                let mean = if share.is_finite() { share.clamp(-1.0, 1.0) } else { 0.0 };
                Null { margin: mean * label_unit, mean, curvature: 1.0 / label_unit, variance: 0.0 }
            }
            // One unit is the mean.
            Objective::Margin(Glm::Poisson(_)) => {
                let mean = 1.0 / label_unit;
                Null { margin: 0.0, mean, curvature: mean, variance: mean / label_unit }
            }
            Objective::Softmax { .. } => {
                // Means add up to one.
                let mean = share.max(extreme) / total.max(extreme);
                Null { margin: mean.ln(), mean, curvature: mean * (1.0 - mean), variance: mean * (1.0 - mean) }
            }
            Objective::Margin(_) => {
                let mean = if share.is_finite() { share.clamp(extreme, 1.0 - extreme) } else { 0.5 };
                let curvature = mean * (1.0 - mean);
                Null { margin: (mean / (1.0 - mean)).ln(), mean, curvature, variance: curvature }
            }
        }
    }
}

/// The minimum of a strictly convex function by L-BFGS, from its centre, and whether it was found: the squared length of a Newton step, by
/// diagonal `stiffness`, is at most `enough`.
///
/// A step is taken by gradients alone: along a direction the slope of a convex function only rises, so a slope that has risen far above zero
/// says that the step was too long.
///
/// # Reference
/// Nocedal 1980, "Updating quasi-Newton matrices with limited storage".
fn minimize(of: &mut Likelihood<'_>, stiffness: &Array1<f64>, enough: f64) -> Fallible<(Array1<f64>, bool)> {
    let mut at = of.centre.clone();
    let mut gradient = of.gradient(&at)?;
    let mut past: VecDeque<(Array1<f64>, Array1<f64>, f64)> = VecDeque::new();
    while of.passes < MAX_PASSES {
        if (&gradient * &gradient / stiffness).sum() <= enough {
            return Ok((at, true));
        }
        let mut direction = -descent(&gradient, &past, stiffness);
        let mut slope = direction.dot(&gradient);
        if slope >= 0.0 || slope.is_nan() {
            past.clear();
            direction = -(&gradient / stiffness);
            slope = direction.dot(&gradient);
        }
        let mut length = 1.0;
        let (next, there) = loop {
            let next = &at + &(&direction * length);
            let there = of.gradient(&next)?;
            let risen = direction.dot(&there);
            if risen.is_finite() && risen <= -0.5 * slope {
                break (next, there);
            }
            if of.passes >= MAX_PASSES {
                return Ok((at, false));
            }
            // Where a line between both slopes crosses zero, but no closer than a tenth.
            length *= if risen.is_finite() { (slope / (slope - risen)).clamp(0.1, 0.9) } else { 0.1 };
        };
        let (step, change) = (&next - &at, &there - &gradient);
        let curvature = step.dot(&change);
        if curvature > 1e-14 * step.dot(&step).sqrt() * change.dot(&change).sqrt() {
            if past.len() == MEMORY {
                past.pop_front();
            }
            past.push_back((step, change, curvature));
        }
        (at, gradient) = (next, there);
    }
    let done = (&gradient * &gradient / stiffness).sum() <= enough;
    Ok((at, done))
}

/// The two loops of L-BFGS: the gradient times an estimate of the inverse Hessian.
fn descent(
    gradient: &Array1<f64>,
    past: &VecDeque<(Array1<f64>, Array1<f64>, f64)>,
    stiffness: &Array1<f64>,
) -> Array1<f64> {
    let mut direction = gradient.clone();
    let mut shares = Vec::with_capacity(past.len());
    for (step, change, curvature) in past.iter().rev() {
        let share = step.dot(&direction) / curvature;
        direction.scaled_add(-share, change);
        shares.push(share);
    }
    direction /= stiffness;
    for ((step, change, curvature), share) in past.iter().zip(shares.into_iter().rev()) {
        let rest = share - change.dot(&direction) / curvature;
        direction.scaled_add(rest, step);
    }
    direction
}
