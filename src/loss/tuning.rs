//! What was measured about a loss: numbers that decide how well a model fits, and never what it costs.

use crate::grid::Scoring;

/// Constants by which optimizers are run with a loss, told in the file of the loss.
///
/// Measured on Adult, BRFSS diabetes, California housing, protein structure and randhie; see docs/defaults.md.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Step size times the typical squared norm of a row, on rows as they are.
    pub step: f64,
    /// Factor, least and most of the clip rule on rows as they are.
    pub clip: [f64; 3],
    /// Steps in whitened coordinates.
    pub whitened: WhitenedTuning,
    /// What a hold-out measures.
    pub scoring: Scoring,
    /// Where the loss of a candidate model is cut; `None` where losses may fall below zero, and so count for nothing there.
    ///
    /// Lower ones hardly punish what is confidently wrong; for numbers it is two standard deviations.
    pub loss_cap: Option<f64>,
}

/// Constants of steps in whitened coordinates.
///
/// The curvature there is at most the loss's smoothness, so all but the Poisson step are stable whatever the rows
/// are; its own is stable where the mean rate along every direction is at most three times the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WhitenedTuning {
    /// Share of the budget for the Gram matrix.
    pub share: f64,
    /// Ridge over the operator norm of the noise.
    pub ridge: f64,
    /// Gradient steps.
    pub steps: u64,
    /// Step size.
    pub rate: f64,
    /// Weight of the previous direction.
    pub momentum: f64,
    /// Factor, least and most of the clip rule.
    pub clip: [f64; 3],
    /// Whether a clip moves the optimum where labels can lie far out, so that it is loosened there: where slopes grow without bound.
    pub follows_labels: bool,
    /// Whether the mean of the second half of the iterates is returned, and not the last one.
    pub averaged: bool,
}

impl WhitenedTuning {
    /// For classification, with a step size of `rate`.
    pub(super) fn labels(rate: f64) -> Self {
        let (clip, follows_labels) = ([0.19, 0.15, 1.2], false);
        WhitenedTuning {
            share: 0.12,
            ridge: 1.0,
            rate,
            momentum: 0.0,
            steps: 12,
            clip,
            follows_labels,
            averaged: false,
        }
    }

    /// For regression, with a step size of `rate`.
    pub(super) fn numbers(rate: f64) -> Self {
        let (clip, follows_labels) = ([0.36, 0.15, 3.0], false);
        WhitenedTuning {
            share: 0.25,
            ridge: 0.25,
            rate,
            momentum: 0.0,
            steps: 12,
            clip,
            follows_labels,
            averaged: true,
        }
    }
}
