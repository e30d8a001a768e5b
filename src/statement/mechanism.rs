//! The mechanism that the model follows from.

use serde::{Deserialize, Serialize};

use super::DIGITS;
use super::facts::{Facts, ReleaseFacts};
use crate::error::Fallible;
use crate::model_kind::ModelKind;
use crate::num::round::decimal_up;
use crate::privacy::{Charge, NoiseLaw};
use crate::private::Query;

part! {
    /// The mechanism of the gradient steps.
    MechanismPart {
        /// Law of the noise.
        name: String,
        /// Subsampling.
        sampling: String,
        /// Clip norm.
        clip_norm: f64,
        /// Norm that is clipped.
        norm: String,
        /// Gradient releases.
        steps: u64,
        /// Noise standard deviation over l2 sensitivity; for choices `1/epsilon` of one.
        noise_multiplier: f64,
        /// Noise standard deviation on each coordinate of what is released; for choices the scale of scores.
        sigma: f64,
        /// Arithmetic of clip, sum and noise.
        arithmetic: String,
        /// Source of randomness.
        rng: String,
    }
}

impl MechanismPart {
    pub(super) fn of(facts: &Facts) -> Fallible<Self> {
        let main = facts.main_release()?;
        let multiplier = main.charge.noise_multiplier();
        Ok(MechanismPart {
            name: match main.charge.noise() {
                Some(NoiseLaw::FlooredNormal) => "floor of an exact normal (Karney 2016)".into(),
                Some(NoiseLaw::DiscreteGaussian) => "discrete Gaussian (Canonne, Kamath, Steinke 2020)".into(),
                None if matches!(main.charge, Charge::BestRun(_)) => {
                    "best of a secret geometric number of runs, each with the Gaussian noise or choices recorded for it"
                        .into()
                }
                None => "exponential mechanism, sampled exactly by rejection".into(),
            },
            sampling: sampling(main),
            clip_norm: main.clip_norm(),
            norm: match (&main.charge, facts.model) {
                (Charge::Selection(_), _) => "range of the scores of candidates".into(),
                (Charge::BestRun(_), _) => "a run as one Gaussian release of sensitivity 1".into(),
                (_, ModelKind::Multinomial) => "l2 over all labels together, intercepts included".into(),
                _ => "l2, intercept included".into(),
            },
            steps: facts.steps(),
            noise_multiplier: multiplier,
            sigma: main.charge.sensitivity() as f64 * main.unit * multiplier,
            arithmetic: "exact integers".into(),
            rng: if facts.secret_noise {
                "ChaCha20 keyed by the operating system, fresh for this run".into()
            } else {
                "ChaCha20 with a fixed seed: not private".into()
            },
        })
    }
}

/// Which rows a release reads.
fn sampling(release: &ReleaseFacts) -> String {
    if let Charge::Sampled(event) = &release.charge {
        return format!("Poisson, rate at most {}", decimal_up(event.rate(), DIGITS));
    }
    match &release.query {
        Query::PrefixSums { batches, .. } => {
            format!(
                "one pass over {batches} batches; each row is in one, by a secret draw of its own; no amplification claimed"
            )
        }
        Query::Phases { plan } => {
            format!("one pass over {} disjoint blocks in secret order; no amplification claimed", plan.phases())
        }
        Query::OnePass { plan } => {
            let steps = plan.steps;
            format!("one pass over {steps} disjoint batches in secret order; amplified by iteration, not by the order")
        }
        Query::Moments { .. }
        | Query::Gram { .. }
        | Query::Scores { .. }
        | Query::Hessian { .. }
        | Query::Direction { .. }
        | Query::ClippedSum { .. }
        | Query::Minimiser { .. }
        | Query::Perturbation(_)
        | Query::PerturbedMinimiser { .. }
        | Query::Losses { .. }
        | Query::Vertices { .. }
        | Query::BestRun { .. }
        | Query::Kinds { .. }
        | Query::Intervals { .. }
        | Query::Vocabulary { .. }
        | Query::Distance { .. } => "full batch".into(),
    }
}

impl ReleaseFacts {
    /// Largest norm of one row's part in the sum, in the reader's units.
    fn clip_norm(&self) -> f64 {
        match &self.query {
            Query::ClippedSum { bound } | Query::PrefixSums { bound, .. } => *bound as f64 * self.unit,
            Query::Minimiser { curvature, .. } => curvature.movement() as f64 * self.unit,
            Query::Losses { most, .. } => *most as f64 * self.unit,
            Query::Vertices { bound, .. } => *bound as f64 * self.unit,
            Query::Moments { .. }
            | Query::Gram { .. }
            | Query::Scores { .. }
            | Query::Hessian { .. }
            | Query::Direction { .. }
            | Query::Phases { .. }
            | Query::OnePass { .. }
            | Query::Perturbation(_)
            | Query::BestRun { .. }
            | Query::Kinds { .. }
            | Query::Intervals { .. }
            | Query::Vocabulary { .. }
            | Query::Distance { .. }
            | Query::PerturbedMinimiser { .. } => self.charge.sensitivity() as f64 * self.unit,
        }
    }
}
