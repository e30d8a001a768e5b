//! The answer to an objective with noise on its gradient, given the exact minimiser.

use serde::{Deserialize, Serialize};

use super::minimizer::Offset;
use super::{Curvature, DescribeQuery, Minimization, Perturbation, Reads, Role, RowAccess};
use crate::error::Fallible;
use crate::privacy::{Adjacency, Charge, L2};
use crate::private::{PrivateDataset, Sensitive};

/// The answer of [`crate::private::Permit::solve`], given the exact minimiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerturbedMinimizer {
    /// What fixes how far the answer is from the exact minimiser.
    pub curvature: Curvature,
    /// Number of coefficients.
    pub dimension: usize,
}

impl DescribeQuery for PerturbedMinimizer {
    type Norm = L2;

    fn sensitivity(&self, _adjacency: Adjacency) -> u64 {
        // Given the exact minimiser, neighbours differ by what the solver leaves and no more.
        self.curvature.spread(self.dimension)
    }

    fn reads(&self) -> Reads {
        Reads { rows: RowAccess::InMemory, role: Role::Preparation, clip_steps: None, persons: false, labels: false }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }

    fn check(&self) -> Fallible<()> {
        self.curvature.check()
    }
}

impl PrivateDataset {
    /// The minimiser of the same objective with noise on its gradient, `noise` steps of length `step / 2^62`.
    ///
    /// # Privacy
    /// Given the exact minimiser for the noise before it was rounded, the answer is within the tolerance and half a step
    /// in each coordinate, on either of two neighbours: [`Curvature::spread`]. Whoever calls has paid for the minimiser.
    pub(in crate::private) fn perturbed_minimizer(
        &self,
        problem: &Minimization,
        noise: &[i64],
        perturbation: &Perturbation,
    ) -> Fallible<Sensitive<L2>> {
        let dimension = self.shape().dimension();
        problem.check(dimension)?;
        perturbation.check()?;
        let root = u128::from((dimension as u64).isqrt() + 1);
        let values = noise.iter().map(|&b| i128::from(b) * i128::from(perturbation.step)).collect();
        let offset = Offset { values, error: root * u128::from(perturbation.step) };
        let values = self.solve(problem, Some(offset))?;
        Ok(self.sensitive(values, PerturbedMinimizer { curvature: problem.curvature, dimension }))
    }
}
