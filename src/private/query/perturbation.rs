//! Noise on the gradient of an objective.

use serde::{Deserialize, Serialize};

use super::curvature::{Curvature, LOG2_MARGINS, LOG2_REGULARIZATION, MAX_SOLVED};
use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::error::{Error, Fallible};
use crate::loss::FRACTION_BITS;
use crate::num::round::{down, up};
use crate::privacy::{Adjacency, Charge, L2};

/// The noise on the gradient of an objective in [`crate::private::Permit::solve`].
///
/// One step of the noise stands for `step / 2^62` in the units of [`Curvature::row_bound`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Perturbation {
    /// Rows, penalty and tolerance.
    pub curvature: Curvature,
    /// `e`, see [`super::Minimization`].
    pub log2_margin: u32,
    /// The loss is at most `quarters / 4` smooth in the margin.
    pub quarters: u64,
    /// Length of a step of the noise over `2^62`.
    pub step: u64,
}

impl Perturbation {
    /// How far one row's gradient moves the sum, in steps of the noise.
    pub fn movement(&self) -> u64 {
        let steps = (u128::from(self.curvature.row_bound) << FRACTION_BITS).div_ceil(u128::from(self.step.max(1)));
        u64::try_from(steps).unwrap_or(u64::MAX)
    }

    /// Curvature of one record over that of the penalty, rounded upward:
    /// `(quarters / 4) 2^-e row_bound^2 / lambda`.
    pub fn curvature_ratio(&self) -> f64 {
        let bound = self.curvature.row_bound as f64;
        let square = up(up(bound, 1) * up(bound, 1), 1) * self.quarters as f64;
        let power = LOG2_REGULARIZATION as i32 - 2 - self.log2_margin as i32;
        up(square / down(self.curvature.regularization as f64, 1), 2) * 2f64.powi(power)
    }
}

impl DescribeQuery for Perturbation {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        adjacency.sum_sensitivity(self.movement())
    }

    fn reads(&self) -> Reads {
        Reads { rows: RowAccess::InMemory, role: Role::Steps(1), clip_steps: None, persons: false, labels: false }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Objective(event) if self.curvature_ratio() <= event.curvature)
    }

    /// Refuses numbers for which the certificate could fail on some data.
    ///
    /// # Errors
    /// When a number is out of range; all are public.
    fn check(&self) -> Fallible<()> {
        self.curvature.check()?;
        let allowed = self.curvature.allowed();
        let floored = u128::from(self.step) * (MAX_SOLVED as u128);
        if self.step > 0 && floored <= allowed / 4 && LOG2_MARGINS.contains(&self.log2_margin) {
            return Ok(());
        }
        Err(Error::parameter("--clip", "leaves no room for noise on the gradient", "leave it out"))
    }
}
