//! # `adaptive`: straight lines, and curves of columns where they show
//!
//! Counts of every column and a covariance first; then a sixth of the steps' budget finds out how much each column bends, and the rest goes to lines and to the
//! bends that showed. `--features auto` is short for it.
//!
//! **What it does.**
//!
//! 1. Release counts of every column, as [`additive`](additive.md) does, and cut columns into intervals by them. Intervals are cut on at eighths of a
//!    deviation, so that a straight line is told by its value in each part. Lines are flat beyond as many released deviations as features are cut at elsewhere. A
//!    numeric target is centred as there and scaled by its released deviation, one to two times what its tenths say.
//! 2. Release the clipped Gram matrix of the columns in deviations and of the values of categories. Lines and values are whitened by it, with a ridge, as in
//!    [`whitened`](whitened.md).
//! 3. Each numeric column gets coordinates beside its line: a random walk over intervals, less its projection on the line. Before anything is known, one
//!    with a share `s` of the variance is weighted as in `additive`, or left out below 0.25.
//! 4. Explore: a third of the steps with 17% of the budget, from zero. What a coordinate was found to be is normal with variance
//!    `v + r^2 tau s`, with `v` the noise of the steps and of sampling, `r` how far steps have gone, and `tau` how much the column bends: 0 with probability `pi`, else one of
//!    `2^-16, 2^-15, .. 1`. `pi` is learned from all columns, beginning at 0.8 (empirical Bayes).
//! 5. Settle: the other steps go on from there, in coordinates of the weights `sqrt(E[tau s / (tau s + 4 u)])`, `u` the variance that a coordinate of weight 1 will
//!    have; those below 0.25 are left out. The mean of their iterates is returned, with each coordinate
//!    shrunk to what is expected of it.
//! 6. The result is a number for every part and value, as with `additive`: lines and bends are added up.
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
//! 20% with numbers. Time: a pass for the counts and one for the covariance, which is quadratic in the number of columns and values; then a multiplication by
//! each direction, and a look-up for each column, in each step. Rows take two more bytes for each direction of lines.
//!
//! **Settings and defaults.** `--clip` (by the rule), `--steps` (24: 8 explore and 16 settle), `--learning-rate` and `--momentum` (those of `additive`), `--l2` (the least ridge of
//! lines, and of bends before they are known; 0 but 0.01 for `ridge`; of bends never below 0.003 for labels), `--averaging` (the mean of all that settle). `--tune` is refused: what it would choose is found on the way.
//!
//! **Use it when** you do not know whether effects are straight. It is near the better of `linear` and `additive` wherever it was measured, and mostly above both from
//! epsilon 0.5 or 1 on: see [additive.md](../additive.md). Standard errors, bands and a proof for persons it does not have, and
//! an audit has no crafted neighbours for it: audit `rich`, which makes releases of the same kinds.
//!
//! **Source.** Counts: Hay, Rastogi, Miklau, Suciu 2010. Empirical Bayes: Efron and Morris 1973. The clipped steps are those of Bassily, Smith, Thakurta 2014. Lines beside
//! bends, and budget by what was found, are this project's. Both relations.

use ndarray::{Array1, Array2, Axis};
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
use crate::grid::IntegerMap;
use crate::loss::WhitenedTuning;
use crate::privacy::Rho;
use crate::private::{LoggedRun, PrivateDataset};

/// Beyond this the release of the covariance costs more than it gains.
const MAX_COEFFICIENTS: usize = 2048;

/// Steps: the first third explores.
const STEPS: u64 = 24;

/// The share of the budget for steps that those have that explore.
const EXPLORING: f64 = 0.17;

/// The probability that a column does not bend, and for how many columns this belief counts.
const STRAIGHT: f64 = 0.8;
const BELIEF: f64 = 2.0;

/// How much a column may bend: powers of two from here to 1, over the variance of a margin in its own units.
const LEAST_BEND: i32 = -16;

/// A coordinate is worth this times its noise: its norm widens the clip of all others.
const COST: f64 = 4.0;

/// Rounds in which weights and the noise that they lead to settle.
const ROUNDS: usize = 4;

/// Rounds in which the share of straight columns settles.
const STRAIGHT_ROUNDS: usize = 30;

/// Of what was explored, this share is still in what the other steps return.
const KEPT: f64 = 0.5;

/// The least curvature that sampling is judged by.
const LEAST_CURVATURE: f64 = 1e-3;

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
/// `sqrt(E[tau_j s / (tau_j s + 4 u)])` of the coordinates in which the second phase goes on.
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
    /// How far a coordinate has gone before.
    begun: f64,
}

impl Adaptive {
    /// The share of the budget for the release of the covariance.
    pub(crate) fn covariance(number: bool) -> f64 {
        if number { 0.20 } else { 0.12 }
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
        let whole = Descent::of(problem, STEPS, rule.rate * rate, rule.momentum, Averaging::Mean);
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
        let measured = || ClipRule::by_noise([rule.clip * factor, least, most], problem.loss);
        let clip = clip.map_or_else(measured, ClipRule::Fixed);
        let explore = Phase { plan: explore, descent: descent(first, Averaging::Tail), begun: 0.0 };
        let settle = Phase { plan: settle, descent: descent(second, whole.averaging), begun: KEPT };
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

/// The bends of all numeric columns beside their lines.
struct Bends<'a> {
    straight: &'a Straight,
    bins: &'a Bins,
    columns: Vec<Column>,
}

/// For each column the weight of each of its coordinates, 0 where it is left out.
type Weights = Vec<Vec<f64>>;

/// What is known of a column's bend.
struct Shown {
    /// How much it may bend, with probabilities.
    law: Vec<(f64, f64)>,
    /// For each coordinate, at weight 1, what is expected of it for each output.
    means: Vec<Vec<f64>>,
}

/// What a phase found of a coordinate.
struct Seen {
    index: usize,
    /// The share of the variance of its column that it was believed to have.
    share: f64,
    weight: f64,
    /// How far steps have gone.
    reached: f64,
    /// Of the noise of steps and of sampling.
    variance: f64,
    /// For each output.
    values: Vec<f64>,
}

impl Seen {
    /// The variance of the true coordinate where its column bends by `tau`.
    fn size(&self, tau: f64) -> f64 {
        tau * self.share / (self.weight * self.weight)
    }

    /// The log-likelihood of a bend.
    fn fit(&self, tau: f64) -> f64 {
        let all = self.variance + self.reached * self.reached * self.size(tau);
        self.values.iter().map(|x| -0.5 * (all.ln() + x * x / all)).sum()
    }

    /// What is expected of the true coordinate, over what was found.
    fn kept(&self, law: &[(f64, f64)]) -> f64 {
        let of =
            |tau: f64| self.reached * self.size(tau) / (self.reached * self.reached * self.size(tau) + self.variance);
        law.iter().map(|&(tau, probability)| probability * of(tau)).sum::<f64>().min(1.0)
    }
}

/// The probabilities of so many bends, of which the first is none, given how well each fits.
fn law_of(fits: &[f64], straight: f64) -> Vec<f64> {
    let best = fits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let each = (1.0 - straight) / fits.len().saturating_sub(1).max(1) as f64;
    let prior = |place: usize| if place == 0 { straight } else { each };
    let raw: Vec<f64> = fits.iter().enumerate().map(|(place, fit)| (fit - best).exp() * prior(place)).collect();
    let total: f64 = raw.iter().sum();
    // Nothing is learned from what no bend fits.
    if !(total.is_finite() && total > 0.0) {
        return (0..fits.len()).map(prior).collect();
    }
    raw.into_iter().map(|raw| raw / total).collect()
}

impl<'a> Bends<'a> {
    fn new(straight: &'a Straight, bins: &'a Bins, decay: f64) -> Fallible<Self> {
        let of = |pieces: &Pieces| Column::beside(&pieces.shares, &pieces.line_by_interval(), decay);
        let columns = bins.numeric.par_iter().map(of).collect::<Fallible<_>>()?;
        Ok(Bends { straight, bins, columns })
    }

    /// The weights before anything is known; `signal` is the number of rows over the noise of all steps together.
    fn first(&self, rule: &Rule, signal: f64) -> Weights {
        let lines: f64 = self.straight.squares.iter().sum();
        let ridge = settled(rule.least, |ridge| {
            let shrunk = |share: &f64| if *share > 0.0 { share / (share + ridge) } else { 0.0 };
            let effective: f64 = self.columns.iter().flat_map(|column| &column.variances).map(shrunk).sum();
            rule.strength * (effective + lines) / (signal * signal)
        });
        self.weighted(|_, share| share / (share + ridge))
    }

    /// The weights to go on with, where a coordinate of weight 1 will have this variance.
    fn next(&self, shown: &[Shown], variance: f64) -> Weights {
        self.weighted(|column, share| {
            let kept = |&(tau, p): &(f64, f64)| p * tau * share / (tau * share + COST * variance);
            shown[column].law.iter().map(kept).sum()
        })
    }

    /// Roots of what is kept of each share of each column, 0 where it is little.
    fn weighted(&self, kept: impl Fn(usize, f64) -> f64) -> Weights {
        let weight =
            |column: usize, share: f64| Some(kept(column, share).sqrt()).filter(|w| *w > MIN_WEIGHT).unwrap_or(0.0);
        let of = |(index, column): (usize, &Column)| column.variances.iter().map(|&s| weight(index, s)).collect();
        self.columns.iter().enumerate().map(of).collect()
    }

    /// The mean squared norm of a row, the intercept included, and the number of its coordinates.
    fn sizes(&self, weights: &Weights) -> (f64, usize) {
        let bends = weights.iter().flatten().filter(|weight| **weight > 0.0);
        let square = 1.0 + self.straight.squares.iter().sum::<f64>() + bends.clone().map(|w| w * w).sum::<f64>();
        (square, 1 + self.straight.squares.len() + bends.count())
    }

    /// From lines and parts to coordinates.
    fn map(&self, weights: &Weights) -> Fallible<IntegerMap> {
        let table = |((column, weights), pieces): ((&Column, &Vec<f64>), &Pieces)| -> Fallible<Array2<f64>> {
            let kept: Vec<usize> = (0..weights.len()).filter(|&index| weights[index] > 0.0).collect();
            let scale: Array1<f64> = kept.iter().map(|&index| weights[index]).collect();
            let leading = column.leading(kept.last().map_or(0, |last| last + 1))?;
            Ok(in_parts(&(&leading.select(Axis(1), &kept) * &scale), pieces))
        };
        let all: Vec<_> = self.columns.iter().zip(weights).zip(&self.bins.numeric).collect();
        let bends = all.into_par_iter().map(table).collect::<Fallible<Vec<_>>>()?;
        let flat = self.bins.categorical.iter().map(|shares| Array2::zeros((shares.len(), 0)));
        IntegerMap::of_blocks(self.straight.numbers.clone(), bends.into_iter().chain(flat).collect(), LOG2_TABLE_UNIT)
    }

    /// What a phase found of each column's bend; `sampling` is the variance of a coordinate of mean square 1 for want of rows.
    fn shown(
        &self,
        found: &[Vec<f64>],
        weights: &Weights,
        noise: &StepNoise<'_>,
        (sampling, begun): (f64, f64),
    ) -> Vec<Shown> {
        let mut at = self.straight.squares.len();
        let mut seen_of = |(column, own): (&Column, &Vec<f64>)| -> Vec<Seen> {
            let mut seen = Vec::new();
            for (index, &weight) in own.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
                let square = weight * weight;
                let reached = noise.reached(square).clamp(0.0, 1.0);
                let reached = reached + (1.0 - reached) * begun;
                let variance = noise.variance(square) + reached * reached * sampling / square;
                let values = found.iter().map(|own| own[at]).collect();
                seen.push(Seen { index, share: column.variances[index], weight, reached, variance, values });
                at += 1;
            }
            seen
        };
        let seen: Vec<Vec<Seen>> = self.columns.iter().zip(weights).map(&mut seen_of).collect();
        let bends: Vec<f64> =
            std::iter::once(0.0).chain((LEAST_BEND..=0).map(|power| f64::from(power).exp2())).collect();
        let fit = |seen: &Vec<Seen>| bends.iter().map(|&tau| seen.iter().map(|seen| seen.fit(tau)).sum()).collect();
        let fits: Vec<Vec<f64>> = seen.iter().map(fit).collect();
        // The share of columns that do not bend, by all of them.
        let straight = (0..STRAIGHT_ROUNDS).fold(STRAIGHT, |share, _| {
            let straight: f64 = fits.iter().map(|fits| law_of(fits, share)[0]).sum();
            (BELIEF * STRAIGHT + straight) / (BELIEF + fits.len() as f64)
        });
        let shown = |((seen, fits), column): ((&Vec<Seen>, &Vec<f64>), &Column)| {
            let law: Vec<(f64, f64)> = bends.iter().copied().zip(law_of(fits, straight)).collect();
            let mut means = vec![vec![0.0; found.len()]; column.variances.len()];
            for seen in seen {
                let kept = seen.weight * seen.kept(&law);
                means[seen.index] = seen.values.iter().map(|x| kept * x).collect();
            }
            Shown { law, means }
        };
        seen.iter().zip(&fits).zip(&self.columns).map(shown).collect()
    }

    /// Lines as found and bends as expected, in coordinates of these weights, for each output.
    fn point(&self, found: &[Vec<f64>], shown: &[Shown], weights: &Weights) -> Vec<Vec<f64>> {
        let of = |(k, own): (usize, &Vec<f64>)| {
            let (lines, rest) = own.split_at(self.straight.squares.len());
            let bends = weights.iter().zip(shown).flat_map(|(weights, shown)| {
                let kept = weights.iter().zip(&shown.means).filter(|(weight, _)| **weight > 0.0);
                kept.map(|(weight, means)| means[k] / weight).collect::<Vec<f64>>()
            });
            lines.iter().copied().chain(bends).chain(rest.last().copied()).collect()
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
        let bends = Bends::new(straight, bins, self.rule.decay)?;
        let signal = start.rows * self.explore.plan.mu().hypot(self.settle.plan.mu());
        let mut weights = bends.first(&self.rule, signal);
        let mut from = Array1::zeros(bends.sizes(&weights).1 * outputs);
        let folded = |features: &[f64]| straight.folded(features);
        for (phase, last) in [(&self.explore, false), (&self.settle, true)] {
            let sizes = bends.sizes(&weights);
            let clip_norm = self.clip_norm(phase, sizes.0, sizes.1, start);
            let rows = data.clipped_through(bends.map(&weights)?, phase.plan.clip_steps)?;
            let pass = Pass { planned: &phase.plan.release.planned(), clip_norm, metric: None };
            let found = phase.descent.run_from(from, &rows, &pass, start, run)?;
            let features = |point: &Array1<f64>| -> Vec<f64> {
                let features = rows.to_features(point).to_vec();
                features.chunks(features.len() / outputs).flat_map(folded).collect()
            };
            let law = margin(bins, &features(&found));
            let noise = self.noise(phase, &law, sizes, start);
            let sampling = 1.0 / (noise.curvature().max(LEAST_CURVATURE) * start.rows);
            let found: Vec<Vec<f64>> = found.to_vec().chunks(sizes.1).map(<[f64]>::to_vec).collect();
            let shown = bends.shown(&found, &weights, &noise, (sampling, phase.begun));
            if last {
                let weights = features(&bends.point(&found, &shown, &weights).concat().into());
                let mut settings = phase.descent.settings();
                settings.insert("l2".into(), json!(self.rule.least));
                settings.insert(COORDINATES.into(), json!(sizes.1));
                return Ok(Fitted { weights, standard_errors: None, deviations: Vec::new(), unit: 1.0, settings });
            }
            let mut next = weights.clone();
            for _ in 0..ROUNDS {
                next = bends.next(&shown, self.noise(&self.settle, &law, bends.sizes(&next), start).variance(1.0));
            }
            from = bends.point(&found, &shown, &next).concat().into();
            weights = next;
        }
        Err(Error::refused("a run without steps", "use more steps"))
    }
}
