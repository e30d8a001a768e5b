//! A request for a run as options of the command line, shared by what trains and what audits.

use clap::{Args, ValueEnum};

use super::arguments::{AdjacencyArgument, delta, epsilon, rho};
use super::family::FamilyArguments;
use crate::error::{Error, Fallible};
use crate::optim::{Averaging, Settings};
use crate::privacy::NoiseLaw;
use crate::train::{Algorithm, Budget, Candidate, DEFAULT_GRID, TrainConfig};

#[derive(Clone, Copy, ValueEnum)]
enum AlgorithmArgument {
    /// whitened, or dp-gd where a Gram matrix would be mostly noise
    Auto,
    /// Full-batch DP gradient descent in coordinates whitened by a private Gram matrix
    Whitened,
    /// Full-batch DP gradient descent on privately standardised features
    DpGd,
    /// DP gradient descent on Poisson samples, accounted for by privacy-loss distributions
    DpSgd,
    /// Full-batch DP gradient descent with the parameters of private ERM theory
    DpGdTheory,
    /// Least squares from a noised Gram matrix and a noised X^T y (AdaSSP)
    #[value(name = "adassp")]
    AdaSsp,
    /// Rounds of AdaSSP on clipped residuals with one noised Gram matrix
    #[value(name = "boosted-adassp")]
    BoostedAdaSsp,
    /// Newton steps with noise on gradient and Hessian
    Newton,
    /// One pass over random batches with noise correlated between them
    DpFtrl,
    /// Phases of one-pass descent over disjoint blocks of rows (replace-one only)
    Localization,
    /// One pass of noisy steps over growing batches; only the last iterate is released (replace-one only)
    OnePass,
    /// Newton steps with noise on the gradient and on the direction
    NewtonDoubleNoise,
    /// The minimiser of a regularised loss, with noise added
    OutputPerturbation,
    /// Noise on the gradient of a regularised loss, a little more on its minimiser
    Amp,
    /// amp with next to no noise on the minimiser
    ObjectivePerturbation,
    /// A choice among a grid of models with at most three coefficients
    ExponentialMechanism,
    /// Frank-Wolfe steps over the l1 ball, for many columns
    FrankWolfe,
}

#[derive(Clone, Copy, ValueEnum)]
enum AveragingArgument {
    Last,
    Mean,
    Tail,
}

#[derive(Clone, Copy, ValueEnum)]
enum NoiseArgument {
    /// Floor of an exact normal: the exact Gaussian trade-off holds
    Normal,
    /// Discrete Gaussian: only the zCDP bound holds, so it needs a little more noise
    DiscreteGaussian,
}

/// What is to be trained, and within which budget.
#[derive(Args)]
pub(super) struct RequestArguments {
    #[command(flatten)]
    family: FamilyArguments,
    /// Training algorithm
    #[arg(long, value_enum, default_value = "auto")]
    algorithm: AlgorithmArgument,
    /// Privacy budget epsilon
    #[arg(long, allow_hyphen_values = true, conflicts_with = "rho")]
    epsilon: Option<f64>,
    /// Delta of the guarantee [default: a tenth of one over the public row count, at most 1e-5; 1e-6 without one]
    #[arg(long, allow_hyphen_values = true)]
    delta: Option<f64>,
    /// Accept a delta above a tenth of one over the declared rows, or above 1e-3: with that probability whole rows may show,
    /// and the statement says so
    #[arg(long)]
    accept_large_delta: bool,
    /// Privacy budget as rho of zCDP
    #[arg(long, allow_hyphen_values = true)]
    rho: Option<f64>,
    /// Which data sets are neighbours
    #[arg(long, value_enum, default_value = "add-remove")]
    adjacency: AdjacencyArgument,
    /// Clip norm of one row's gradient [default: by rule]
    #[arg(long, value_name = "C", allow_hyphen_values = true)]
    clip: Option<f64>,
    /// Number of gradient steps [default: by rule]
    #[arg(long, value_name = "T")]
    steps: Option<u64>,
    /// Step size on the mean loss [default: by rule]
    #[arg(long, value_name = "ETA", allow_hyphen_values = true)]
    learning_rate: Option<f64>,
    /// Momentum in [0, 1) [default: by rule]
    #[arg(long, allow_hyphen_values = true)]
    momentum: Option<f64>,
    /// Probability with which a row joins a step of dp-sgd [default: 0.02]
    #[arg(long, value_name = "Q", allow_hyphen_values = true)]
    sampling_rate: Option<f64>,
    /// l1 penalty on all coefficients but intercepts, which sets small ones to zero; runs without whitening
    #[arg(long, default_value_t = 0.0, allow_hyphen_values = true)]
    l1: f64,
    /// l2 penalty on all coefficients but the intercept [default: none; 0.01 for ridge]
    #[arg(long, allow_hyphen_values = true)]
    l2: Option<f64>,
    /// Radius of the ball that models are kept in: l2, l1 for frank-wolfe, a box for exponential-mechanism [default: by rule]
    #[arg(long, allow_hyphen_values = true)]
    radius: Option<f64>,
    /// Which iterate is returned [default: tail; mean for dp-gd-theory]
    #[arg(long, value_enum)]
    averaging: Option<AveragingArgument>,
    /// Choose among candidates by their noised losses, all of it paid from the same budget
    ///
    /// GRID names values of settings, as in --tune='algorithm=whitened,dp-gd;steps=8,16': algorithm, clip, steps,
    /// learning-rate, momentum, l1, l2, radius, averaging. Few candidates are run once each; many are run a secret random
    /// number of times (Papernot and Steinke 2022), whichever leaves each run more budget. [--tune alone:
    /// algorithm=whitened,dp-gd]
    #[arg(long, value_name = "GRID", num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT_GRID)]
    tune: Option<String>,
    /// Do not standardise features by privately released moments
    #[arg(long)]
    no_standardise: bool,
    /// Public number of rows, known without counting the file [default: the schema's "rows"]
    #[arg(long, value_name = "N")]
    rows: Option<u64>,
    /// Share of the budget for metrics on rows held out of training, released with the model
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    evaluate_budget: Option<f64>,
    /// Share of rows that is held out, with --evaluate-budget: each by a coin of its own, exactly that many with replace-one
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, requires = "evaluate_budget", allow_hyphen_values = true)]
    holdout: f64,
    /// Law of the integer noise
    #[arg(long, value_enum, default_value = "normal")]
    noise: NoiseArgument,
}

impl RequestArguments {
    /// The request; a budget must be given.
    pub(super) fn config(&self) -> Fallible<TrainConfig> {
        if self.epsilon.is_none() && self.rho.is_none() {
            return Err(Error::parameter(
                "--epsilon",
                "is missing, and so is --rho",
                "give a budget, as in --epsilon 1",
            ));
        }
        self.config_or_epsilon_one()
    }

    /// The request, for epsilon 1 where no budget is given.
    pub(super) fn config_or_epsilon_one(&self) -> Fallible<TrainConfig> {
        let delta = delta(self.delta)?;
        let budget = match (self.epsilon, self.rho) {
            (_, Some(rho)) => Budget::Rho(self::rho(rho)?, delta),
            (epsilon, None) => Budget::Epsilon(self::epsilon(epsilon.unwrap_or(1.0))?, delta),
        };
        let config = TrainConfig {
            adjacency: self.adjacency.into(),
            model: self.family.kind()?,
            algorithm: match self.algorithm {
                AlgorithmArgument::Auto => Algorithm::Auto,
                AlgorithmArgument::Whitened => Algorithm::Whitened,
                AlgorithmArgument::DpGd => Algorithm::DpGd,
                AlgorithmArgument::DpSgd => Algorithm::DpSgd,
                AlgorithmArgument::DpGdTheory => Algorithm::DpGdTheory,
                AlgorithmArgument::AdaSsp => Algorithm::AdaSsp,
                AlgorithmArgument::BoostedAdaSsp => Algorithm::BoostedAdaSsp,
                AlgorithmArgument::NewtonDoubleNoise => Algorithm::NewtonDoubleNoise,
                AlgorithmArgument::Localization => Algorithm::Localization,
                AlgorithmArgument::OnePass => Algorithm::OnePass,
                AlgorithmArgument::DpFtrl => Algorithm::DpFtrl,
                AlgorithmArgument::Newton => Algorithm::Newton,
                AlgorithmArgument::OutputPerturbation => Algorithm::OutputPerturbation,
                AlgorithmArgument::Amp => Algorithm::Amp,
                AlgorithmArgument::ObjectivePerturbation => Algorithm::ObjectivePerturbation,
                AlgorithmArgument::ExponentialMechanism => Algorithm::ExponentialMechanism,
                AlgorithmArgument::FrankWolfe => Algorithm::FrankWolfe,
            },
            noise: match self.noise {
                NoiseArgument::Normal => NoiseLaw::FlooredNormal,
                NoiseArgument::DiscreteGaussian => NoiseLaw::DiscreteGaussian,
            },
            settings: Settings {
                clip: self.clip,
                steps: self.steps,
                learning_rate: self.learning_rate,
                momentum: self.momentum,
                l1: self.l1,
                l2: self.l2,
                radius: self.radius,
                sampling_rate: self.sampling_rate,
                averaging: self.averaging.map(|averaging| match averaging {
                    AveragingArgument::Last => Averaging::Last,
                    AveragingArgument::Mean => Averaging::Mean,
                    AveragingArgument::Tail => Averaging::Tail,
                }),
            },
            standardise: self.no_standardise.then_some(false),
            rows: self.rows,
            evaluate_budget: self.evaluate_budget,
            holdout: self.holdout,
            accept_large_delta: self.accept_large_delta,
            ..TrainConfig::new(budget)
        };
        let tune = self.tune.as_ref().map(|grid| Candidate::grid(grid, &config)).transpose()?;
        Ok(TrainConfig { tune: tune.unwrap_or_default(), ..config })
    }
}
