//! The algorithms that are compared, each with the knob that trades gradients for risk.

use rhograd::accounting::gaussian;
use rhograd::accounting::rdp::{self, Form};
use rhograd::error::{Error, Fallible};
use rhograd::privacy::{Delta, Epsilon};

use crate::corners::{Batch, Corners, Descent, Outcome, Solver, localization, one_pass};
use crate::setup::Plant;

/// Budget of every run.
const EPSILON: f64 = 8.0;
const DELTA: f64 = 1e-6;

/// Rows per coordinate: as n grows, both terms of the optimal rate keep their proportion.
const ROWS_PER_COORDINATE: u64 = 16;

/// Norm of the mean row in units of the optimal rate.
const BIAS: f64 = 8.0;

/// Rows per sampled step.
const ROWS_PER_STEP: u64 = 16;

/// Rows from which on methods of many steps are fitted.
const FITTED: u64 = 1024;

/// Orders at which sampled steps are accounted for.
const ORDERS: [f64; 10] = [1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 20.0];

/// An algorithm. This is the place to add one: a name, an exponent, row counts, a knob and a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Full-batch noisy descent; the knob is steps per row.
    FullBatch,
    /// Noisy descent on Poisson samples, `n / 16` steps; the knob is the expected size of a sample.
    Sampled,
    /// Localization with a solver that needs no smoothness; the knob is the share of the rows that is used.
    PhasedErm,
    /// Localization by single passes; the knob is the share of the rows that is used.
    Localization,
    /// One pass with noise on the iterate; the knob is the share of the rows that is used.
    OnePass,
}

/// A run with its knob set.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    Descent(Descent),
    Phased { rows: u64, rho: f64, solver: Solver },
    OnePass { rows: u64, rho: f64 },
}

impl Method {
    pub(super) const ALL: [Method; 5] =
        [Method::FullBatch, Method::Sampled, Method::PhasedErm, Method::Localization, Method::OnePass];

    pub(super) fn name(self) -> &'static str {
        match self {
            Method::FullBatch => "full-batch dp-gd",
            Method::Sampled => "poisson dp-sgd",
            Method::PhasedErm => "phased erm",
            Method::Localization => "localization",
            Method::OnePass => "one-pass",
        }
    }

    /// The exponent of the gradients in n, where the number of coordinates grows with n.
    pub(super) fn exponent(self) -> f64 {
        match self {
            Method::FullBatch | Method::PhasedErm => 2.0,
            Method::Sampled => 1.5,
            Method::Localization | Method::OnePass => 1.0,
        }
    }

    /// Row counts at which it is measured; the solver of phased ERM is slow.
    pub(super) fn rows(self, quick: bool) -> &'static [u64] {
        match (self, quick) {
            (Method::PhasedErm, true) => &[256, 512, 1024],
            (Method::PhasedErm, false) => &[128, 256, 512, 1024, 2048, 4096],
            (_, true) => &[1024, 2048, 4096],
            (_, false) => &[128, 256, 512, 1024, 2048, 4096, 8192, 16384],
        }
    }

    /// Whether the exponent is fitted to it: with few rows a few steps are all that many-step methods take, and the slope bends.
    pub(super) fn is_fitted(self, n: u64) -> bool {
        !matches!(self, Method::FullBatch | Method::Sampled) || n >= FITTED
    }

    /// Settings of the knob, from few gradients to many.
    pub(super) fn knobs(self) -> &'static [f64] {
        match self {
            Method::FullBatch => &[1.0 / 256.0, 1.0 / 128.0, 1.0 / 64.0, 1.0 / 32.0, 1.0 / 16.0, 1.0 / 8.0],
            Method::Sampled => &[0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0],
            _ => &[1.0 / 16.0, 1.0 / 8.0, 0.25, 0.5, 1.0],
        }
    }

    /// Calibrates a run to the budget, replace-one.
    ///
    /// # Errors
    /// When the budget cannot be met.
    pub(super) fn plan(self, n: u64, knob: f64) -> Fallible<Plan> {
        let rho = rho()?;
        let share = |knob: f64| (knob * n as f64).round() as u64;
        Ok(match self {
            Method::FullBatch => Plan::Descent(Descent::full(n, share(knob).max(1), rho)),
            Method::Sampled => {
                let (steps, rate) = (n / ROWS_PER_STEP, knob / n as f64);
                let sigma = noise_multiplier(steps, rate)? / knob;
                Plan::Descent(Descent { n, steps, batch: Batch::Poisson(rate), sigma })
            }
            Method::PhasedErm => Plan::Phased { rows: share(knob), rho, solver: Solver::Erm },
            Method::Localization => Plan::Phased { rows: share(knob), rho, solver: Solver::OnePass },
            Method::OnePass => Plan::OnePass { rows: share(knob), rho },
        })
    }
}

impl Plan {
    /// One run.
    ///
    /// # Errors
    /// When noise cannot be drawn.
    pub(super) fn run(&self, corners: &Corners, seed: u64, plant: Option<Plant>) -> Fallible<Outcome> {
        match *self {
            Plan::Descent(descent) => descent.run(corners, seed, plant),
            Plan::Phased { rows, rho, solver } => localization(corners, (rows, rho), solver, seed, plant),
            Plan::OnePass { rows, rho } => one_pass(corners, (rows, rho), seed, plant),
        }
    }
}

/// The instance for n rows.
pub(super) fn corners(n: u64) -> Fallible<Corners> {
    Corners::new((n / ROWS_PER_COORDINATE) as usize, BIAS * scale(n)?)
}

/// The optimal rate without its constants: `sqrt(1/n + 2 d / (rho n^2))`.
pub(super) fn scale(n: u64) -> Fallible<f64> {
    let (d, n) = (coordinates(n), n as f64);
    Ok((1.0 / n + 2.0 * d / (rho()? * n * n)).sqrt())
}

/// Coordinates of the instance for n rows.
pub(super) fn coordinates(n: u64) -> f64 {
    (n / ROWS_PER_COORDINATE) as f64
}

/// What the budget allows Gaussian releases.
fn rho() -> Fallible<f64> {
    gaussian::max_rho(Epsilon::new(EPSILON)?, Delta::new(DELTA)?)
}

/// The least noise over the norm of a row, within a hundredth, for which sampled steps keep the budget under replace-one.
fn noise_multiplier(steps: u64, rate: f64) -> Fallible<f64> {
    let delta = Delta::new(DELTA)?;
    let keeps = |z: f64| -> Fallible<bool> {
        let at = |alpha| rdp::poisson_gaussian_replace_one(rate, z, alpha).map(|r| (alpha, steps as f64 * r));
        let values = ORDERS.into_iter().map(at).collect::<Fallible<Vec<_>>>()?;
        Ok(rdp::epsilon_over_orders(&values, delta, Form::Improved)?.value <= EPSILON)
    };
    let (mut low, mut high) = (0.1, 0.5);
    while !keeps(high)? {
        (low, high) = (high, 2.0 * high);
        if high > 1e4 {
            return Err(Error::numerical("gradient-complexity", "no noise keeps the budget"));
        }
    }
    while high / low > 1.01 {
        let middle = (low * high).sqrt();
        if keeps(middle)? { high = middle } else { low = middle }
    }
    Ok(high)
}
