//! The names of the algorithms.

use serde::{Deserialize, Serialize};

/// The training algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// [`Algorithm::Whitened`] where a Gram matrix pays, else [`Algorithm::DpGd`].
    Auto,
    /// An optimizer from outside this crate.
    Custom,
    /// The best of several candidates.
    Tuned,
    /// Full-batch DP gradient descent in coordinates whitened by a privately released Gram matrix.
    Whitened,
    /// Full-batch DP gradient descent on privately standardised features.
    DpGd,
    /// DP gradient descent on Poisson samples, accounted for by privacy-loss distributions.
    DpSgd,
    /// Full-batch DP gradient descent with the parameters of private ERM theory.
    DpGdTheory,
    /// Least squares from a noised Gram matrix and a noised `X^T y`.
    #[serde(rename = "adassp")]
    AdaSsp,
    /// Rounds of least squares on clipped residuals with one noised Gram matrix.
    #[serde(rename = "boosted-adassp")]
    BoostedAdaSsp,
    /// Newton steps with noise on gradient and Hessian.
    Newton,
    /// One pass over random batches with correlated noise.
    DpFtrl,
    /// Phases of one-pass descent over disjoint blocks of rows.
    Localization,
    /// One pass of noisy steps over growing batches, of which only the last iterate is released.
    OnePass,
    /// Newton steps with noise on the gradient and on the direction.
    NewtonDoubleNoise,
    /// The minimiser of a regularised loss, with noise added.
    OutputPerturbation,
    /// Approximate minima perturbation: noise on the gradient, and on the answer for what the solver leaves.
    Amp,
    /// The same with as little noise on the answer as the solver's accuracy allows.
    ObjectivePerturbation,
    /// A choice among a grid of models by the exponential mechanism.
    ExponentialMechanism,
    /// Frank-Wolfe steps over the l1 ball, each vertex chosen by the exponential mechanism.
    FrankWolfe,
}

impl Algorithm {
    /// Every algorithm that can be asked for by name.
    pub const ALL: [Algorithm; 17] = [
        Algorithm::Auto,
        Algorithm::Whitened,
        Algorithm::DpGd,
        Algorithm::DpSgd,
        Algorithm::DpGdTheory,
        Algorithm::AdaSsp,
        Algorithm::BoostedAdaSsp,
        Algorithm::Newton,
        Algorithm::DpFtrl,
        Algorithm::Localization,
        Algorithm::OnePass,
        Algorithm::NewtonDoubleNoise,
        Algorithm::OutputPerturbation,
        Algorithm::Amp,
        Algorithm::ObjectivePerturbation,
        Algorithm::ExponentialMechanism,
        Algorithm::FrankWolfe,
    ];

    /// The name used in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Auto => "auto",
            Algorithm::Custom => "custom",
            Algorithm::Tuned => "tuned",
            Algorithm::Whitened => "whitened",
            Algorithm::DpGd => "dp-gd",
            Algorithm::DpSgd => "dp-sgd",
            Algorithm::DpGdTheory => "dp-gd-theory",
            Algorithm::AdaSsp => "adassp",
            Algorithm::BoostedAdaSsp => "boosted-adassp",
            Algorithm::NewtonDoubleNoise => "newton-double-noise",
            Algorithm::Localization => "localization",
            Algorithm::OnePass => "one-pass",
            Algorithm::DpFtrl => "dp-ftrl",
            Algorithm::Newton => "newton",
            Algorithm::OutputPerturbation => "output-perturbation",
            Algorithm::Amp => "amp",
            Algorithm::ObjectivePerturbation => "objective-perturbation",
            Algorithm::ExponentialMechanism => "exponential-mechanism",
            Algorithm::FrankWolfe => "frank-wolfe",
        }
    }
}
