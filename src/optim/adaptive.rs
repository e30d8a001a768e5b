//! # `adaptive`: straight lines, and curves of columns where they show
//!
//! Counts of every column and a covariance first; then a quarter of the steps' budget finds out how much each column bends, and the rest goes to lines and to the
//! bends that showed. `--features auto` is short for it.
//!
//! **What it does.**
//!
//! 1. Release counts of every column, as [`additive`](additive.md) does, and cut columns into intervals by them. Intervals are cut on at eighths of a
//!    deviation, so that a straight line is told by its value in each part. Lines are flat beyond as many released deviations as features are cut at elsewhere. A
//!    numeric target is centred as there and scaled by its released deviation, one to two times what its tenths say.
//! 2. Release the clipped Gram matrix of the columns in deviations and of the values of categories. Its covariance is drawn to what counts say already: the
//!    variance of each number, the covariance of the values of each category, and nothing of two columns. A block of two columns that is `G` off that, with noise of
//!    total variance `v`, is kept to `1 - 2 v / |G|^2`, or not at all (James and Stein). Lines and values are whitened by the result, with a ridge for the noise
//!    that is left, as in [`whitened`](whitened.md).
//! 3. Each numeric column gets coordinates beside its line: a random walk over intervals, less its projection on the line. Before anything is known, one
//!    with a share `s` of the variance is weighted as in `additive`, or left out below 0.25.
//! 4. Explore: a third of the steps with 25% of the budget, from zero. With `r` how far steps have gone, what a coordinate was found to be is normal about `r b` with
//!    the variance `v` of the noise of the steps; `b` is normal with variance `tau s + e`, `e` that of sampling, and `tau` how much the column bends: 0 with probability `pi`, else one of
//!    `2^-16, 2^-15, .. 1`. `pi` is learned from all columns, beginning at 0.8, apart from those in which single values stand out, beginning at 0.3 (empirical
//!    Bayes). A direction of lines of variance `s` is a family of its own, and the whole law of their `tau` is learned.
//! 5. Settle: the other steps go on from there, bends with weights `sqrt(E[tau s / (tau s + 4 u)])`, `u` the variance that a coordinate of weight 1 will
//!    have; those below 0.25 are left out. What both phases found of a coordinate, less what was left of where it began, is added up by its precision, and shrunk to
//!    what is expected of `b`, lines too.
//! 6. The result is a number for every part and value, as with `additive`: lines and bends are added up. Bands are of the noise of the steps.
//!
//! **What is released, and why the bound is exact.**
//!
//! - *Counts* and *clipped sums*: as in [`additive`](additive.md).
//! - *Gram matrix*: of the columns in deviations and of the values of categories, as in [`rich`](rich.md); rows longer than typical are clipped in exact integers.
//! - *Lines*: a row's feature along a direction is an integer: the sum of one frequency of each column times its score, in 16 bits. It follows from
//!   the row and from released quantities alone. A row contributes `m_i A q_i` with `m_i^2 |A q_i|^2 <= bound^2` checked in exact integers.
//! - What explores and what settles are charged apart, and as much whatever was found; everything between is post-processing.
//!
//! **Cost.** Gaussian charges alone (one for the number of rows where that is not public, and one for a hold-out, among them), which compose to one Gaussian mechanism: 10% of the budget for counts and 12% for the covariance with labels, 6% and
//! 8% with numbers. Time: a pass for the counts and one for the covariance, which is quadratic in the number of columns and values; then a multiplication by
//! each direction, and a look-up for each column, in each step. Rows take two more bytes for each direction of lines.
//!
//! **Settings and defaults.** `--clip` (by the rule), `--steps` (24: 8 explore and 16 settle; with squared and Huber loss up to 60, as the root of the budget), `--learning-rate` and `--momentum` (those of `additive`), `--l2` (the least ridge of
//! lines, and of bends before they are known; 0 but 0.01 for `ridge`; of bends never below 0.003 for labels), `--averaging` (the mean of all that settle). `--tune` is refused: what it would choose is found on the way.
//!
//! **Use it when** you do not know whether effects are straight. It is near the better of `linear` and `additive` wherever it was measured, and mostly above both from
//! epsilon 0.5 or 1 on: see [additive.md](../additive.md). Standard errors and a proof for persons it does not have, and
//! an audit has no crafted neighbours for it: audit `rich`, which makes releases of the same kinds.
//!
//! **Source.** Counts: Hay, Rastogi, Miklau, Suciu 2010. Blocks of the covariance: James and Stein 1961. Empirical Bayes: Efron and Morris 1973. The clipped steps are those of Bassily, Smith, Thakurta 2014. Lines beside
//! bends, and budget by what was found, are this project's. Both relations.

use ndarray::{Array1, Array2, ArrayView1, Axis};
use rayon::prelude::*;
use serde_json::json;

use super::additive::{self, COORDINATES, Column, LOG2_TABLE_UNIT, MIN_WEIGHT, Rule, in_parts, margin, settled};
use super::description::{Description, Losses, Needs, Relations};
use super::release::Straight;
use super::release::bins::{Bins, Pieces};
use super::step::descent::Pass;
use super::step::noise::StepNoise;
use super::step::standard_errors::Margin;
use super::{
    Averaging, ClipRule, ClippedPlan, Descent, Fitted, Optimizer, Planned, Problem, Settings, Start, settings,
};
use crate::error::{Error, Fallible};
use crate::grid::{IntegerMap, Scoring};
use crate::loss::WhitenedTuning;
use crate::privacy::Rho;
use crate::private::{LoggedRun, PrivateDataset};

/// Beyond this the release of the covariance costs more than it gains.
const MAX_COEFFICIENTS: usize = 2048;

/// Steps: the first third explores.
const STEPS: u64 = 24;

/// The share of the budget for steps that those have that explore.
const EXPLORING: f64 = 0.25;

/// With squared and Huber loss and a budget of more than this in Gaussian DP, steps are more, as its root, up to this many times: noise is not what is left then.
const AMPLE: f64 = 0.25;
const MOST: f64 = 2.5;

/// The factor of the clip rule with squared and Huber loss over that of curves alone.
const WIDER: f64 = 1.25;

/// How many columns, or directions of lines, what is believed of them before counts for.
const BELIEF: f64 = 2.0;

/// The probability that a column does not bend; the second of one in which single values stand out.
const STRAIGHT: (f64, f64) = (0.8, 0.3);

/// The probability that there is nothing along a direction of lines.
const NOTHING: f64 = 0.3;

/// How large an effect may be: powers of two from here to 1, over the variance of a margin in its own units.
const LEAST_SIZE: i32 = -16;

/// A coordinate is worth this times its noise: its norm widens the clip of all others.
const COST: f64 = 4.0;

/// Rounds in which weights and the noise that they lead to settle.
const ROUNDS: usize = 4;

/// Rounds in which the law of sizes settles.
const LAW_ROUNDS: usize = 30;

/// No coordinate is taken to be more than this times what was found of it.
const FARTHEST: f64 = 1.2;

/// The least curvature that sampling is judged by.
const LEAST_CURVATURE: f64 = 1e-3;

/// Noise is no less than this.
const LEAST_NOISE: f64 = 1e-30;

/// The least and the most of its way that a coordinate is taken to have gone; steps with momentum go too far at first.
const LEAST_WAY: f64 = 1e-3;
const MOST_WAY: f64 = 2.0;

pub(super) static DESCRIPTION: Description = Description {
    name: "adaptive",
    about: "Straight lines, and curves of columns where released sums show them",
    releases: "counts of every column, a covariance, T clipped sums in two parts",
    reference: "counts and steps as in `additive`; Efron and Morris 1973",
    relations: Relations::Both,
    losses: Losses::Any,
    settings: settings::OF_ADDITIVE,
    needs: Needs { coefficients: Some(MAX_COEFFICIENTS), ..Needs::NOTHING },
    plan: |problem| Ok(Box::new(Adaptive::plan(problem)?)),
    audit: additive::DESCRIPTION.audit,
};

/// Straight lines of all columns, whitened together, and for each column the bends beside its line that released sums show.
///
/// A first phase of steps explores; by empirical Bayes `tau_j`, how much column `j` bends, follows from it, and so do the weights
/// `sqrt(E[tau_j s / (tau_j s + 4 u)])` of the coordinates in which the second phase goes on. What both found is added up by its precision and shrunk.
///
/// # Privacy
/// Two Gaussian releases of clipped sums, each of several steps, both adjacencies. What is charged does not depend on what was found; coordinates
/// follow from released quantities. Together with the releases before them exactly one Gaussian mechanism.
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptive {
    explore: Phase,
    settle: Phase,
    clip: ClipRule,
    rule: Rule,
    follows_labels: bool,
}

/// Steps that are charged together.
#[derive(Clone, Debug, PartialEq)]
struct Phase {
    plan: ClippedPlan,
    descent: Descent,
}

impl Adaptive {
    /// The share of the budget for the release of the covariance.
    pub(crate) fn covariance(number: bool) -> f64 {
        if number { 0.08 } else { 0.12 }
    }

    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the budget is too small for the number of steps, or persons are the unit.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        DESCRIPTION.fits(problem)?;
        if !problem.binned {
            return Err(Error::parameter(
                "algorithm",
                "adaptive needs releases of counts and of a covariance before it, which nothing else makes",
                "name it alone, and not as a part of something else",
            ));
        }
        if problem.persons {
            return Err(Error::parameter(
                "--unit",
                "has no proof for --algorithm adaptive: its covariance is clipped row by row",
                "use --features additive, or --algorithm auto, whitened, dp-gd, dp-sgd or newton",
            ));
        }
        let Settings { clip, l2, .. } = *problem.settings;
        let tuning = problem.loss.tuning();
        let WhitenedTuning { clip: [factor, least, most], rate, follows_labels, .. } = tuning.whitened;
        let rule = Rule::of(&tuning, false);
        let rule = Rule { least: rule.least.max(l2.unwrap_or(0.0)), ..rule };
        let number = tuning.scoring == Scoring::Number;
        let mu = (2.0 * problem.budget.lower()).sqrt();
        let more = if number { (mu / AMPLE).sqrt().clamp(1.0, MOST) } else { 1.0 };
        let steps = (STEPS as f64 * more) as u64;
        let whole = Descent::of(problem, steps, rule.rate * rate, rule.momentum, Averaging::Mean);
        let first = whole.steps / 3;
        if first == 0 {
            return Err(Error::parameter(
                "--steps",
                "of adaptive are 3 at least: a third of them explores",
                "use more",
            ));
        }
        let descent = |steps, averaging| Descent { steps, averaging, l2: 0.0, ..whole.clone() };
        let planned = |budget: &Rho, steps: u64| ClippedPlan::through(problem, LOG2_TABLE_UNIT, budget, steps);
        let explore = planned(&Rho::from_f64(problem.budget.lower() * EXPLORING)?, first)?;
        let second = whole.steps - first;
        let settle = planned(&problem.budget.minus(&explore.release.rho()), second)?;
        let wide = rule.clip * if number { WIDER } else { 1.0 };
        let measured = || ClipRule::by_noise([wide * factor, least, most], problem.loss);
        let clip = clip.map_or_else(measured, ClipRule::Fixed);
        let explore = Phase { plan: explore, descent: descent(first, Averaging::Tail) };
        let settle = Phase { plan: settle, descent: descent(second, whole.averaging) };
        Ok(Adaptive { explore, settle, clip, rule, follows_labels })
    }

    /// The clip norm of a phase, for rows of this mean squared norm in so many coordinates.
    fn clip_norm(&self, phase: &Phase, square: f64, coordinates: usize, start: &Start<'_>) -> f64 {
        let (norm, d, mu) = (square.sqrt(), (coordinates * phase.descent.loss.outputs()) as f64, phase.plan.mu());
        let wider = if self.follows_labels { self.clip.loosening(norm, d, start, mu) } else { 1.0 };
        wider * self.clip.clip_norm(norm, d, start, mu)
    }

    /// The noise of a phase in coordinates of a mean squared norm, for margins of this law.
    fn noise<'a>(&self, phase: &'a Phase, law: &Margin, sizes: (f64, usize), start: &Start<'_>) -> StepNoise<'a> {
        let (square, coordinates) = sizes;
        let clip = self.clip_norm(phase, square, coordinates, start);
        let noise = clip / phase.plan.clip_steps as f64 * phase.plan.release.scale() / start.rows;
        StepNoise::new(&phase.descent, law, clip / square.sqrt(), noise)
    }
}

/// Straight lines in whitened directions, and the bends of all numeric columns beside them.
struct Effects<'a> {
    straight: &'a Straight,
    bins: &'a Bins,
    columns: Vec<Column>,
    /// What is learned of together, with the share of the variance that each coordinate is believed to have: a direction of lines, then the bends of a column.
    families: Vec<Vec<f64>>,
}

/// For each family the weight of each of its coordinates, 0 where it is left out.
type Weights = Vec<Vec<f64>>;

/// What is known of a family.
struct Shown {
    /// How large its effect may be, with probabilities.
    law: Vec<(f64, f64)>,
    /// For each coordinate, at weight 1, what is expected of it for each output.
    means: Vec<Vec<f64>>,
    /// The variance that the noise of the steps gives each of these.
    noise: Vec<f64>,
}

/// What was found of a coordinate at weight 1, by all phases: each tells `r b` with noise of variance `v`, where `b` is the best and `r` the share of the way
/// to it that was gone.
#[derive(Clone, Default)]
struct Found {
    /// The sum of `r^2 / v`.
    precision: f64,
    /// The sum of `r / v`.
    trust: f64,
    /// For each output the sum of `r y / v`, `y` what a phase tells.
    told: Vec<f64>,
    /// Whether the steps of the last phase did not settle.
    unsettled: bool,
}

impl Found {
    /// Adds what a phase tells, with how far it has gone and the variance of its noise; nothing where its steps do not settle. Then what it found stands alone, and
    /// only until another phase tells more.
    fn add(&mut self, values: &[f64], gone: Option<(f64, f64)>) {
        if self.unsettled || gone.is_none() {
            *self = Found { unsettled: gone.is_none(), ..Found::default() };
        }
        let (way, variance) = gone.unwrap_or((1.0, LEAST_NOISE));
        self.precision += way * way / variance;
        self.trust += way / variance;
        self.told.resize(values.len(), 0.0);
        self.told.iter_mut().zip(values).for_each(|(told, value)| *told += way * value / variance);
    }

    /// The log-likelihood of a variance of the best.
    fn fit(&self, variance: f64) -> f64 {
        let seen = 1.0 + variance * self.precision;
        self.told.iter().map(|told| 0.5 * (told * told * variance / seen - seen.ln())).sum()
    }

    /// What is expected of the best over what was told, for a coordinate of these sizes, each with a probability; little more than was found.
    ///
    /// The best of these rows is off that of all there could be by sampling: its variance is given as what is looked for, too, or as what is not.
    fn kept(&self, sizes: impl Iterator<Item = (f64, f64)>, [wanted, unwanted]: [f64; 2]) -> f64 {
        let of = |size: f64| (size + wanted) / (1.0 + (size + wanted + unwanted) * self.precision);
        let kept: f64 = sizes.map(|(size, probability)| probability * of(size)).sum();
        // The curvature that ways follow from is an estimate.
        if self.trust > 0.0 { kept.min(FARTHEST / self.trust) } else { 0.0 }
    }
}

/// The probabilities of so many sizes, given how well each fits.
fn law_of(fits: &[f64], prior: &[f64]) -> Vec<f64> {
    let best = fits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let raw: Vec<f64> = fits.iter().zip(prior).map(|(fit, prior)| (fit - best).exp() * prior).collect();
    let total: f64 = raw.iter().sum();
    // Nothing is learned from what no size fits.
    if !(total.is_finite() && total > 0.0) {
        return prior.to_vec();
    }
    raw.into_iter().map(|raw| raw / total).collect()
}

/// How far steps have gone and the variance of their noise, as they are taken; nothing where steps do not settle.
fn gone(way: f64, variance: f64) -> Option<(f64, f64)> {
    let settles = (0.0..=MOST_WAY).contains(&way) && variance.is_finite();
    settles.then(|| (way.max(LEAST_WAY), variance.max(LEAST_NOISE)))
}

/// The law of sizes before anything is known, of which the first is none.
fn uniform(none: f64, sizes: usize) -> Vec<f64> {
    let each = (1.0 - none) / sizes.saturating_sub(1).max(1) as f64;
    (0..sizes).map(|place| if place == 0 { none } else { each }).collect()
}

/// The law of sizes that fits all of a group, beginning at `first`; `alike` where all sizes but none stay equally probable.
fn learned(group: &[&Vec<f64>], first: &[f64], alike: bool) -> Vec<f64> {
    let round = |law: Vec<f64>, _| -> Vec<f64> {
        let mut sum: Vec<f64> = first.iter().map(|probability| BELIEF * probability).collect();
        for fits in group {
            sum.iter_mut().zip(law_of(fits, &law)).for_each(|(sum, probability)| *sum += probability);
        }
        let law: Vec<f64> = sum.into_iter().map(|sum| sum / (BELIEF + group.len() as f64)).collect();
        if alike { uniform(law.first().copied().unwrap_or(0.0), law.len()) } else { law }
    };
    (0..LAW_ROUNDS).fold(first.to_vec(), round)
}

impl<'a> Effects<'a> {
    fn new(straight: &'a Straight, bins: &'a Bins, decay: f64) -> Fallible<Self> {
        let of = |pieces: &Pieces| Column::beside(&pieces.shares, &pieces.line_by_interval(), decay);
        let columns: Vec<Column> = bins.numeric.par_iter().map(of).collect::<Fallible<_>>()?;
        let lines = straight.variances.iter().map(|variance| vec![*variance]);
        let families = lines.chain(columns.iter().map(|column| column.variances.clone())).collect();
        Ok(Effects { straight, bins, columns, families })
    }

    fn lines(&self) -> usize {
        self.straight.squares.len()
    }

    /// The weights before anything is known; `signal` is the number of rows over the noise of all steps together.
    fn first(&self, rule: &Rule, signal: f64) -> Weights {
        let lines: f64 = self.straight.squares.iter().sum();
        let ridge = settled(rule.least, |ridge| {
            let shrunk = |share: &f64| if *share > 0.0 { share / (share + ridge) } else { 0.0 };
            let effective: f64 = self.columns.iter().flat_map(|column| &column.variances).map(shrunk).sum();
            rule.strength * (effective + lines) / (signal * signal)
        });
        self.weighted(|family, share| if family < self.lines() { 1.0 } else { share / (share + ridge) })
    }

    /// The weights to go on with, where a coordinate of weight 1 will have this variance. Lines stay: to leave out those that did not show lost more with
    /// small budgets than it gained elsewhere.
    fn next(&self, shown: &[Shown], variance: f64) -> Weights {
        self.weighted(|family, share| {
            let kept = |&(tau, p): &(f64, f64)| p * tau * share / (tau * share + COST * variance);
            if family < self.lines() { 1.0 } else { shown[family].law.iter().map(kept).sum() }
        })
    }

    /// Roots of what is kept of each coordinate, 0 where it is little; of lines times what whitening keeps.
    fn weighted(&self, kept: impl Fn(usize, f64) -> f64) -> Weights {
        let weight = |family: usize, share: f64| {
            let weight = Some(kept(family, share).sqrt()).filter(|weight| *weight > MIN_WEIGHT).unwrap_or(0.0);
            weight * self.straight.squares.get(family).map_or(1.0, |square| square.sqrt())
        };
        let of = |(family, shares): (usize, &Vec<f64>)| shares.iter().map(|&share| weight(family, share)).collect();
        self.families.iter().enumerate().map(of).collect()
    }

    /// The mean squared norm of a row, the intercept included, and the number of its coordinates.
    fn sizes(&self, weights: &Weights) -> (f64, usize) {
        let kept = weights.iter().flatten().filter(|weight| **weight > 0.0);
        (1.0 + kept.clone().map(|weight| weight * weight).sum::<f64>(), 1 + kept.count())
    }

    /// From lines and parts to coordinates.
    fn map(&self, weights: &Weights) -> Fallible<IntegerMap> {
        let table = |((column, weights), pieces): ((&Column, &Vec<f64>), &Pieces)| -> Fallible<Array2<f64>> {
            let kept: Vec<usize> = (0..weights.len()).filter(|&index| weights[index] > 0.0).collect();
            let scale: Array1<f64> = kept.iter().map(|&index| weights[index]).collect();
            let leading = column.leading(kept.last().map_or(0, |last| last + 1))?;
            Ok(in_parts(&(&leading.select(Axis(1), &kept) * &scale), pieces))
        };
        let (lines, bends) = weights.split_at(self.lines());
        let lines = self.straight.weighted(&lines.concat());
        let all: Vec<_> = self.columns.iter().zip(bends).zip(&self.bins.numeric).collect();
        let bends = all.into_par_iter().map(table).collect::<Fallible<Vec<_>>>()?;
        let flat = self.bins.categorical.iter().map(|shares| Array2::zeros((shares.len(), 0)));
        IntegerMap::of_blocks(lines, bends.into_iter().chain(flat).collect(), LOG2_TABLE_UNIT)
    }

    /// Adds what a phase that began at `from` found, a point of each output in coordinates of these weights.
    fn add(&self, found: &mut [Vec<Found>], points: [&[Vec<f64>]; 2], weights: &Weights, noise: &StepNoise<'_>) {
        let [from, to] = points;
        let mut at = 0;
        for (own, weights) in found.iter_mut().zip(weights) {
            for (own, &weight) in own.iter_mut().zip(weights).filter(|(_, weight)| **weight > 0.0) {
                let square = weight * weight;
                let gone = gone(noise.reached(square), square * noise.variance(square));
                let way = gone.map_or(1.0, |(way, _)| way);
                // What is left of where the phase began tells nothing more.
                let told = from.iter().zip(to).map(|(from, to)| weight * (to[at] - (1.0 - way) * from[at]));
                own.add(&told.collect::<Vec<_>>(), gone);
                at += 1;
            }
        }
    }

    /// What is known of each family; `sampling` is the variance of a coordinate of weight 1 for want of rows.
    fn shown(&self, found: &[Vec<Found>], outputs: usize, sampling: f64) -> Vec<Shown> {
        let sizes: Vec<f64> =
            std::iter::once(0.0).chain((LEAST_SIZE..=0).map(|power| f64::from(power).exp2())).collect();
        let fit = |(found, shares): (&Vec<Found>, &Vec<f64>)| -> Vec<f64> {
            let of = |&tau: &f64| found.iter().zip(shares).map(|(own, share)| own.fit(tau * share + sampling)).sum();
            sizes.iter().map(of).collect()
        };
        let fits: Vec<Vec<f64>> = found.iter().zip(&self.families).map(fit).collect();
        // Of a family without a coordinate nothing was found.
        let seen = |family: usize| found[family].iter().any(|own| own.precision > 0.0);
        let lines: Vec<&Vec<f64>> = fits.iter().take(self.lines()).collect();
        let lines = learned(&lines, &uniform(NOTHING, sizes.len()), false);
        let [smooth, spiky] = [(true, STRAIGHT.0), (false, STRAIGHT.1)].map(|(linear, straight)| {
            let all = (self.lines()..).zip(&self.bins.numeric);
            let own = all.filter(|(family, pieces)| pieces.linear == linear && seen(*family));
            let own: Vec<&Vec<f64>> = own.filter_map(|(family, _)| fits.get(family)).collect();
            learned(&own, &uniform(straight, sizes.len()), true)
        });
        let prior = |family: usize| match family.checked_sub(self.lines()).and_then(|at| self.bins.numeric.get(at)) {
            None => &lines,
            Some(pieces) if pieces.linear => &smooth,
            Some(_) => &spiky,
        };
        let shown = |(family, (found, fits)): (usize, (&Vec<Found>, &Vec<f64>))| {
            let law: Vec<(f64, f64)> = sizes.iter().copied().zip(law_of(fits, prior(family))).collect();
            // Lines are those of these rows: shrunk further, each by what it is, they would differ with the directions that noise gives them.
            let sampling = if family < self.lines() { [sampling, 0.0] } else { [0.0, sampling] };
            let of = |(own, share): (&Found, &f64)| -> (Vec<f64>, f64) {
                let kept = own.kept(law.iter().map(|(tau, probability)| (tau * share, *probability)), sampling);
                let means = (0..outputs).map(|k| kept * own.told.get(k).copied().unwrap_or(0.0)).collect();
                (means, kept * kept * own.precision)
            };
            let (means, noise) = found.iter().zip(&self.families[family]).map(of).unzip();
            Shown { law, means, noise }
        };
        found.iter().zip(&fits).enumerate().map(shown).collect()
    }

    /// For each part and value the deviation that the noise of the steps gives what it adds, in coordinates that have a weight.
    fn deviations(&self, shown: &[Shown], weights: &Weights) -> Fallible<Vec<Vec<f64>>> {
        let of_family = |(shown, weights): (&Shown, &Vec<f64>)| -> Vec<f64> {
            let kept = shown.noise.iter().zip(weights);
            kept.map(|(noise, weight)| if *weight > 0.0 { *noise } else { 0.0 }).collect()
        };
        let noise: Vec<Vec<f64>> = shown.iter().zip(weights).map(of_family).collect();
        let (lines, bends) = noise.split_at(self.lines());
        let lines = lines.concat();
        let of = |(place, shares): (usize, &Vec<f64>)| -> Fallible<Vec<f64>> {
            let straight = self.straight.variances_of(place, shares, &lines);
            let Some((column, pieces)) = self.columns.get(place).zip(self.bins.numeric.get(place)) else {
                return Ok(straight.mapv(f64::sqrt).to_vec());
            };
            let noise = &bends[place];
            let count = noise.iter().rposition(|variance| *variance > 0.0).map_or(0, |last| last + 1);
            let table = in_parts(&column.leading(count)?, pieces).mapv(|entry| entry * entry);
            let bent = table.dot(&ArrayView1::from(&noise[..count]));
            Ok((straight + bent).mapv(f64::sqrt).to_vec())
        };
        let shares = self.bins.shares();
        shares.par_iter().enumerate().map(of).collect()
    }

    /// What is expected, in coordinates of these weights, with the intercept as found, for each output.
    fn point(&self, found: &[Vec<f64>], shown: &[Shown], weights: &Weights) -> Vec<Vec<f64>> {
        let of = |(k, own): (usize, &Vec<f64>)| {
            let all = weights.iter().zip(shown).flat_map(|(weights, shown)| {
                let kept = weights.iter().zip(&shown.means).filter(|(weight, _)| **weight > 0.0);
                kept.map(|(weight, means)| means[k] / weight).collect::<Vec<f64>>()
            });
            all.chain(own.last().copied()).collect()
        };
        found.iter().enumerate().map(of).collect()
    }
}

impl Optimizer for Adaptive {
    fn planned(&self) -> Vec<Planned> {
        [&self.explore, &self.settle].map(|phase| phase.plan.release.planned()).to_vec()
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let Some((bins, straight)) = start.bins.and_then(|bins| Some((bins, bins.straight.as_ref()?))) else {
            return Err(Error::refused("lines need releases of counts and of a covariance", "train with `train`"));
        };
        let outputs = self.settle.descent.loss.outputs();
        let effects = Effects::new(straight, bins, self.rule.decay)?;
        let signal = start.rows * self.explore.plan.mu().hypot(self.settle.plan.mu());
        let mut weights = effects.first(&self.rule, signal);
        let mut from = vec![vec![0.0; effects.sizes(&weights).1]; outputs];
        let mut all: Vec<Vec<Found>> =
            effects.families.iter().map(|shares| vec![Found::default(); shares.len()]).collect();
        let folded = |features: &[f64]| straight.folded(features);
        for (phase, last) in [(&self.explore, false), (&self.settle, true)] {
            let sizes = effects.sizes(&weights);
            let clip_norm = self.clip_norm(phase, sizes.0, sizes.1, start);
            let rows = data.clipped_through(effects.map(&weights)?, phase.plan.clip_steps)?;
            let pass = Pass { planned: &phase.plan.release.planned(), clip_norm, metric: None };
            let to = phase.descent.run_from(from.concat().into(), &rows, &pass, start, run)?;
            let features = |point: &Array1<f64>| -> Vec<f64> {
                let features = rows.to_features(point).to_vec();
                features.chunks(features.len() / outputs).flat_map(folded).collect()
            };
            let law = margin(bins, &features(&to));
            let noise = self.noise(phase, &law, sizes, start);
            let sampling = 1.0 / (noise.curvature().max(LEAST_CURVATURE) * start.rows);
            let to: Vec<Vec<f64>> = to.to_vec().chunks(sizes.1).map(<[f64]>::to_vec).collect();
            effects.add(&mut all, [&from, &to], &weights, &noise);
            let shown = effects.shown(&all, outputs, sampling);
            if last {
                let model = features(&effects.point(&to, &shown, &weights).concat().into());
                let mut settings = phase.descent.settings();
                settings.insert("l2".into(), json!(self.rule.least));
                settings.insert(COORDINATES.into(), json!(sizes.1));
                // Of steps that do not settle nobody knows what their noise does.
                let unsettled = all.iter().flatten().any(|own| own.unsettled);
                let deviations = if unsettled { Vec::new() } else { effects.deviations(&shown, &weights)? };
                return Ok(Fitted { weights: model, standard_errors: None, deviations, unit: 1.0, settings });
            }
            let mut next = weights.clone();
            for _ in 0..ROUNDS {
                next = effects.next(&shown, self.noise(&self.settle, &law, effects.sizes(&next), start).variance(1.0));
            }
            from = effects.point(&to, &shown, &next);
            weights = next;
        }
        Err(Error::refused("a run without steps", "use more steps"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_phases_tell_more_than_either() {
        let (best, mut found) = (3.0, Found::default());
        found.add(&[0.8 * best], Some((0.8, 0.01)));
        found.add(&[1.1 * best], Some((1.1, 0.04)));
        // Whatever its size may be, it is what both say, by their precisions 64 and 30.25.
        let kept = found.kept([(1e9, 1.0)].into_iter(), [0.0, 0.0]);
        assert!((kept * found.told[0] - best).abs() < 1e-6);
        assert!((kept * kept * found.precision - 1.0 / 94.25).abs() < 1e-9);
        // Of what is nothing all goes, but for what these rows happen to say where that is looked for.
        assert_eq!(found.kept([(0.0, 1.0)].into_iter(), [0.0, 0.1]), 0.0);
        let of_rows = found.kept([(0.0, 1.0)].into_iter(), [0.1, 0.0]);
        assert!((of_rows - 0.1 / (1.0 + 0.1 * 94.25)).abs() < 1e-12);
        // Of a way hardly begun little is concluded.
        let mut begun = Found::default();
        begun.add(&[0.01], Some((0.01, 1e-12)));
        assert!((begun.kept([(1e9, 1.0)].into_iter(), [0.0, 0.0]) * begun.told[0] - 0.012).abs() < 1e-9);
        // Nothing was found of what no phase looked at.
        assert_eq!(Found::default().kept([(1.0, 1.0)].into_iter(), [1.0, 0.0]), 0.0);
    }

    #[test]
    fn steps_that_do_not_settle_tell_what_they_found() {
        assert_eq!(gone(0.9, 0.01), Some((0.9, 0.01)));
        assert_eq!(gone(0.0, 0.0), Some((LEAST_WAY, LEAST_NOISE)));
        for (way, variance) in [(f64::NAN, f64::NAN), (-1e9, 1e20), (2.5, 0.1), (0.9, f64::INFINITY), (0.9, f64::NAN)] {
            assert_eq!(gone(way, variance), None);
        }
        let sizes = || [(0.5, 0.7), (0.0, 0.3)].into_iter();
        let mut found = Found::default();
        found.add(&[1.0], Some((0.9, 0.01)));
        found.add(&[3.0], None);
        assert!((found.kept(sizes(), [0.1, 0.0]) * found.told[0] - 3.0).abs() < 1e-9);
        // A phase that settles after one that did not is believed as if it were the first.
        let mut alone = Found::default();
        alone.add(&[2.0], Some((0.9, 0.01)));
        found.add(&[2.0], Some((0.9, 0.01)));
        assert_eq!((found.told, found.precision, found.unsettled), (alone.told, alone.precision, false));
    }

    #[test]
    fn sizes_are_learned_from_all_of_a_group() {
        let sizes = [0.0, 0.25, 1.0];
        let of = |value: f64| -> Vec<f64> {
            let mut found = Found::default();
            found.add(&[value], Some((1.0, 0.01)));
            sizes.iter().map(|size| found.fit(*size)).collect()
        };
        let (nothing, large) = (of(0.02), of(1.3));
        let law = learned(&[&nothing, &nothing, &nothing, &nothing], &uniform(0.5, 3), true);
        assert!(law[0] > 0.7 && law[1] == law[2], "{law:?}");
        let law = learned(&[&large, &large, &large], &uniform(0.5, 3), false);
        assert!(law[0] < 0.3 && law[2] > law[1], "{law:?}");
        assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(law_of(&large, &uniform(0.5, 3))[0] < 1e-6);
        // What fits nothing teaches nothing.
        assert_eq!(law_of(&[f64::NAN; 3], &uniform(0.5, 3)), uniform(0.5, 3));
    }
}
