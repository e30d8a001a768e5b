//! The mechanism that the model follows from.

use serde::{Deserialize, Serialize};

use super::facts::{DIGITS, Facts, ReleaseFacts};
use crate::error::Fallible;
use crate::model_kind::Link;
use crate::num::round::decimal_up;
use crate::optim::Algorithm;
use crate::privacy::{Charge, PrivacyUnit};
use crate::private::RowAccess;

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
            name: main.charge.mechanism().into(),
            sampling: sampling(facts, main),
            clip_norm: main.clip_norm(),
            norm: match (&main.charge, facts.model.link()) {
                (Charge::Exponential(_), _) => "range of the scores of candidates".into(),
                (Charge::PrivateSelection(_), _) => "a run as one Gaussian release of sensitivity 1".into(),
                (_, Link::Softmax) => "l2 over all labels together, intercepts included".into(),
                _ => "l2, intercept included".into(),
            },
            // Of two parts with multipliers of their own, the one that the others here are of.
            steps: if facts.algorithm == Algorithm::Adaptive { main.charge.count() } else { facts.steps() },
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
fn sampling(facts: &Facts, release: &ReleaseFacts) -> String {
    let (of, who) = match facts.unit {
        PrivacyUnit::Row | PrivacyUnit::Label | PrivacyUnit::PrivateCells { .. } => ("", "row"),
        PrivacyUnit::Person { .. } => (" of persons, each with all rows", "person"),
    };
    match (&release.charge, release.charge.sampling_rate()) {
        (Charge::AllocatedGaussian(event), _) => {
            format!("each {who} in one step, drawn evenly, of each pass of {}", event.steps_of_pass)
        }
        (_, Some(rate)) => {
            let rate = format!("Poisson{of}, rate at most {}", decimal_up(rate, DIGITS));
            match release.query.kind().reads().rows {
                RowAccess::Batches(batches) => {
                    format!("{rate} in each pass over {batches} batches, of which each row has one by a secret draw")
                }
                _ => rate,
            }
        }
        (_, None) => release.query.kind().sampling(release.charge.count()),
    }
}

impl ReleaseFacts {
    /// Largest norm of one row's part in the sum, in the reader's units.
    fn clip_norm(&self) -> f64 {
        let steps = self.query.kind().reads().clip_steps.unwrap_or(self.charge.sensitivity());
        steps as f64 * self.unit
    }
}
