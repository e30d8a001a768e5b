//! Releases that are withheld unless a noised count or distance is beyond a threshold.

use serde::{Deserialize, Serialize};

use super::gaussian::GaussianCharge;
use super::kind::{ChargeKind, Cost, NoiseLaw, Releases, possible};
use crate::error::Fallible;
use crate::num::Dyadic;
use crate::privacy::{Adjacency, DpEvent, Mechanism};

/// Something that is opened only where a noised integer reaches a threshold, made `noised.count` times.
///
/// Between neighbours the integers that both have move by at most `noised.sensitivity` grid steps in l2 norm. What only one
/// of them has is at most `row` grid steps there, so that noise lifts it to the threshold with probability at most `delta`.
/// Each release is delta-approximate zCDP with the rho of its noise, `sensitivity^2 / 2^(2 log2_scale + 1)`.
///
/// Reference: Korolova, Kenthapadi, Mishra and Ntoulas 2009; Bun, Nissim and Stemmer 2016 (histograms); Dwork and Lei 2009
/// (distances); Bun and Steinke 2016, Definition 8.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThresholdCharge {
    /// The noise on the counts, or on the distance.
    pub noised: GaussianCharge,
    /// What one row counts, in grid steps.
    pub row: u64,
    /// Noised integers below stay secret, with everything that belongs to them.
    pub threshold: u64,
    /// Probability, rounded upward, with which one release opens what only one of two neighbours has.
    pub delta: f64,
}

impl ThresholdCharge {
    /// Delta of all releases together, rounded upward.
    pub fn total_delta(&self) -> f64 {
        let count = self.noised.count as f64;
        if self.noised.count == 1 { self.delta } else { (self.delta * count.next_up()).next_up() }
    }
}

impl ChargeKind for ThresholdCharge {
    fn releases(&self) -> Releases<'_> {
        self.noised.releases()
    }

    fn single(&self) -> Self {
        ThresholdCharge { noised: self.noised.single(), ..self.clone() }
    }

    fn cost(&self) -> Cost<'_> {
        Cost::Exact(self.noised.rho(), self.total_delta())
    }

    /// The noise, and a failure that shows everything.
    ///
    /// Neighbours that differ in a count differ by Gaussian noise; those that differ in what is there at all differ with
    /// probability delta; one of either kind under replace-one. All are dominated by the two together.
    fn event(&self, adjacency: Adjacency) -> DpEvent {
        let fails = Mechanism::Approximate { epsilon: 0.0, delta: self.delta };
        let count = self.noised.count;
        let noise = self.noised.relative(adjacency);
        DpEvent::Composed { events: vec![DpEvent::repeated(noise, count), DpEvent::repeated(fails, count)] }
    }

    fn has_loss_distribution(&self) -> bool {
        true
    }

    fn pure_epsilon(&self) -> Option<Dyadic> {
        None
    }

    fn check(&self) -> Fallible<()> {
        self.noised.check()?;
        let within = self.row > 0 && self.threshold > self.row && self.row <= self.noised.sensitivity;
        let fails = self.delta > 0.0 && self.delta < 1.0;
        possible(within && fails && self.noised.noise == NoiseLaw::FlooredNormal)
    }

    fn manner(&self) -> &'static str {
        "as one of what is stable"
    }

    fn mechanism(&self) -> &'static str {
        self.noised.noise.describe()
    }
}
