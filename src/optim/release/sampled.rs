//! Gaussian releases on samples of the rows, with the least noise that keeps an epsilon.

use super::GaussianRule;
use crate::accounting::claim;
use crate::error::{Error, Fallible};
use crate::grid::MAX_MULTIPLIER;
use crate::optim::Target;
use crate::privacy::{AllocatedGaussianCharge, Charge, Claim, MAX_LOG2_SCALE, PoissonGaussianCharge};

/// Largest sampling rate: beyond it full batches are better in every way.
pub(in crate::optim) const MAX_RATE: f64 = 0.5;

/// Relative accuracy of the calibrated noise multiplier.
const ACCURACY: f64 = 1e-3;

/// How rows come to releases, with what fixes it.
pub(in crate::optim) enum Samples {
    /// Coins of this probability.
    Coins(f64),
    /// Passes of so many steps.
    Passes(u32),
}

/// Releases with their size and the noise multiplier relative to their sensitivity.
pub(in crate::optim) struct Calibrated {
    pub(in crate::optim) charge: Charge,
    pub(in crate::optim) size: u64,
    pub(in crate::optim) multiplier: f64,
}

/// What fixes sampled releases but for their noise.
pub(in crate::optim) struct SampledRule<'a> {
    /// The release of a sample.
    pub(in crate::optim) rule: GaussianRule<'a>,
    pub(in crate::optim) samples: Samples,
    /// The l2 sensitivity of a query over its size, where rows are added or removed.
    pub(in crate::optim) sensitivity: f64,
    /// The integer that an encoded number of 1 is.
    pub(in crate::optim) one: u64,
}

impl SampledRule<'_> {
    /// The releases of noise multiplier about `z` on the finest grid that the kernel allows, with their size; they claim nothing yet.
    fn charge(&self, z: f64) -> Calibrated {
        let largest = (MAX_MULTIPLIER as u64).saturating_mul(self.one) as f64;
        let log2_scale = (largest * self.sensitivity * z).log2().floor().clamp(0.0, f64::from(MAX_LOG2_SCALE)) as u32;
        let size = (2f64.powi(log2_scale as i32) / (z * self.sensitivity)).floor().min(largest) as u64;
        let releases = self.rule.at(size, log2_scale).event().clone();
        let claim = Claim { epsilon: 1.0, delta: 0.5, rho: 1.0 };
        let charge = match self.samples {
            Samples::Coins(rate) => {
                // Rounded down; the rate that is accounted for is recomputed from this integer.
                let exponent = (-(-rate).ln_1p() * 2f64.powi(64)).floor() as u64;
                PoissonGaussianCharge { sampled: releases, exponent, claim }.into()
            }
            Samples::Passes(steps_of_pass) => {
                AllocatedGaussianCharge { allocated: releases, steps_of_pass, claim }.into()
            }
        };
        let multiplier = 2f64.powi(log2_scale as i32) / (size as f64 * self.sensitivity);
        Calibrated { charge, size, multiplier }
    }

    /// The least noise for which everything together keeps the target; the answer is checked as it will be charged.
    pub(in crate::optim) fn calibrate(&self, target: &Target<'_>) -> Fallible<Calibrated> {
        let about = match self.samples {
            Samples::Coins(_) => target.epsilon.value(),
            // Bounds as wide as the search is fine are found in a tenth of the time, and are still bounds.
            Samples::Passes(_) => 10.0 * target.epsilon.value(),
        };
        let epsilon = |z: f64| {
            let charges: Vec<Charge> = target.before.iter().cloned().chain([self.charge(z).charge]).collect();
            claim::epsilon(&charges, self.rule.adjacency, target.delta, about).ok()
        };
        // How far above the target epsilon is, in logarithms.
        let excess = |z: f64| epsilon(z).map_or(f64::INFINITY, |epsilon| (epsilon / target.epsilon.value()).ln());
        let (mut low, mut high) = (0.1, 1.0);
        let (mut above, mut below) = (f64::INFINITY, excess(high));
        while below > 0.0 {
            (low, high, above) = (high, 2.0 * high, below);
            below = excess(high);
            if high > 1e6 {
                return Err(Error::parameter(
                    "--epsilon",
                    "is too small for this many sampled steps",
                    "use a larger epsilon, fewer --steps or a smaller --sampling-rate",
                ));
            }
        }
        while high / low > 1.0 + ACCURACY {
            let middle = match self.samples {
                Samples::Passes(_) if above.is_finite() && below.is_finite() => {
                    // Where a line through both ends is zero, and a little further: epsilon is nearly a power of the noise.
                    let zero = low * (high / low).powf(above / (above - below));
                    let little = 1.0 + 0.4 * ACCURACY;
                    (zero * little).min(high / little).max(low * little)
                }
                _ => (low * high).sqrt(),
            };
            let found = excess(middle);
            if found <= 0.0 { (high, below) = (middle, found) } else { (low, above) = (middle, found) }
        }
        let Calibrated { charge, size, multiplier } = self.charge(high);
        if size < 16 * self.one {
            return Err(Error::parameter(
                "budget",
                "is too small for this many steps",
                "use a larger epsilon or fewer --steps",
            ));
        }
        let (adjacency, delta, about) = (self.rule.adjacency, target.delta, target.epsilon.value());
        let charge = match charge {
            Charge::AllocatedGaussian(event) => claim::make_allocated(event, adjacency, delta, about)?.into(),
            Charge::PoissonGaussian(event) => claim::make(event, adjacency, delta, about)?.into(),
            other => other,
        };
        Ok(Calibrated { charge, size, multiplier })
    }
}
