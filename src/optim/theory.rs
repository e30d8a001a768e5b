//! # `dp-gd-theory`: the textbook's parameters
//!
//! [`dp-gd`](dp-gd.md) with the number of steps, step size and averaging of the theory of private empirical risk minimisation, for experiments on rates.
//!
//! **What it does.** Projected noisy gradient descent; the result is the mean of `x_0 .. x_(T-1)`, of which the last needs no gradient, so `T - 1`
//! releases. With `n` rows, `d` coefficients, Lipschitz constant `L` (`--clip`) and a ball of diameter `D = 2 radius`:
//!
//! ```text
//! T     = ceil(2 n^2 rho / (c^2 d))        c = 1 under add-remove, 2 under replace-one
//! sigma = (c L / n) sqrt(T / (2 rho))      noise of the mean gradient
//! eta   = D / sqrt(T (L^2 + d sigma^2))
//! ```
//!
//! The expected excess risk of the mean is at most `D sqrt((L^2 + d sigma^2) / T)`. `T` is where optimization error and noise are equal. The second
//! moment of the noised gradient is `L^2 + d sigma^2`, without a factor 2, because the noise is independent and centred.
//!
//! **What is released, and why the bound is exact.** As for `dp-gd`.
//!
//! **Cost.** `T - 1` equal Gaussian releases. Steps grow like `n^2 epsilon^2`: at epsilon 1 on Adult 705,353 of them, about three minutes, for accuracy
//! 0.789 with radius 1 and 0.847 with radius 10. More than 2^31 are refused.
//!
//! **Settings and defaults.** `--clip` (`R`, the root of the number of features and one), `--steps`, `--learning-rate`, `--radius` (1), `--averaging` (the mean), all by the formulas above where
//! they are left out; `--momentum` (0), `--l1`, `--l2` (0). By default it releases no moments and does not standardise. It needs a public number of rows (`--rows`, or
//! replace-one).
//!
//! **Use it when** you reproduce a rate. For a model use `auto`.
//!
//! **Source.** Bassily, Smith, Thakurta 2014. Both relations.

use super::description::{AUDIT_STILL, AuditRecipe, Description, Losses, Needs, Relations};
use super::{Averaging, ClipRule, Descent, DpGd, Fitted, Optimizer, Planned, Problem, Settings, Start, settings};
use crate::error::{Error, Fallible};
use crate::privacy::Adjacency;
use crate::private::{LoggedRun, PrivateDataset};

pub(super) static DESCRIPTION: Description = Description {
    name: "dp-gd-theory",
    about: "Full-batch DP gradient descent with the parameters of private ERM theory",
    releases: "T clipped sums",
    reference: "Bassily, Smith, Thakurta 2014",
    relations: Relations::Both,
    losses: Losses::Any,
    settings: settings::OF_DESCENT,
    needs: Needs { row_count: true, ..Needs::NOTHING },
    plan: |problem| Ok(Box::new(DpGdTheory::plan(problem)?)),
    audit: |_| AuditRecipe {
        // It never releases moments.
        raw: false,
        ..AuditRecipe::with(AUDIT_STILL)
    },
};

/// Steps, noise and step size that balance optimization error and noise for a convex, Lipschitz loss.
///
/// With `n` rows, `d` coefficients, Lipschitz constant `L`, and a domain of diameter `R`, the mean of
/// the iterates `x_0..x_{T-1}` has expected excess risk at most `R sqrt((L^2 + d sigma^2) / T)`, where
/// `sigma` is the noise on the mean gradient. The number of steps is where the two parts are equal,
/// `T = ceil(2 n^2 rho / (c^2 d))` with `c = 2` under replace-one and `c = 1` under add-remove. Under replace-one and
/// `rho = epsilon^2 / (8 ln(1/delta))` this is `ceil(n^2 epsilon^2 / (16 d ln(1/delta)))`.
///
/// Reference: Bassily, Smith, Thakurta 2014, with the second moment `L^2 + d sigma^2` (the noise is
/// independent and centred, so no factor 2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TheoryParameters {
    /// Number of iterates averaged, `T`; the last needs no gradient, so `T - 1` releases.
    pub iterates: u64,
    /// Noise standard deviation on the mean gradient if all `T` steps are charged.
    pub sigma: f64,
    /// Step size `R / sqrt(T (L^2 + d sigma^2))`.
    pub learning_rate: f64,
    /// The bound on the expected excess risk.
    pub excess_risk: f64,
}

impl TheoryParameters {
    /// Computes the parameters for a zCDP budget `rho`.
    ///
    /// # Errors
    /// When an argument is not positive and finite, or more than `2^31` steps would be needed.
    pub fn new(
        rows: f64,
        dimension: usize,
        rho: f64,
        lipschitz: f64,
        diameter: f64,
        adjacency: Adjacency,
    ) -> Fallible<Self> {
        let arguments = [("rows", rows), ("rho", rho), ("clip", lipschitz), ("radius", diameter)];
        for (name, value) in arguments {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::parameter(name, format!("is {value}, must be positive and finite"), "correct it"));
            }
        }
        let d = dimension.max(1) as f64;
        let factor = adjacency.sum_sensitivity(1) as f64;
        let steps = (2.0 * rows * rows * rho / (factor * factor * d)).ceil().max(1.0);
        if steps > 2f64.powi(31) {
            return Err(Error::parameter(
                "steps",
                format!("the theory asks for {steps:.3e} steps"),
                "set --steps, or use --algorithm dp-gd",
            ));
        }
        let sensitivity = factor * lipschitz / rows;
        let sigma = sensitivity * (steps / (2.0 * rho)).sqrt();
        let second_moment = lipschitz * lipschitz + d * sigma * sigma;
        Ok(TheoryParameters {
            iterates: steps as u64,
            sigma,
            learning_rate: diameter / (steps * second_moment).sqrt(),
            excess_risk: diameter * (second_moment / steps).sqrt(),
        })
    }
}

/// Textbook DP-GD: the mean of the iterates of projected descent with the parameters of [`TheoryParameters`].
///
/// # Privacy
/// One Gaussian release of a clipped sum per step, both adjacencies; the number of rows must be public.
#[derive(Clone, Debug, PartialEq)]
pub struct DpGdTheory(DpGd);

impl DpGdTheory {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the number of rows is not public, or the theory asks for too many steps.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        let Settings { clip, radius, .. } = *problem.settings;
        DESCRIPTION.fits(problem)?;
        let rows = DESCRIPTION.public_rows(problem)?;
        let radius = radius.unwrap_or(1.0);
        // Rows have norm at most the root of the number of features when every value is in [-1, 1].
        let lipschitz = clip.unwrap_or_else(|| problem.typical_square().sqrt());
        let theory = TheoryParameters::new(
            rows.max(1) as f64,
            problem.dimension(),
            problem.budget.lower(),
            lipschitz,
            2.0 * radius,
            problem.adjacency,
        )?;
        // The mean is over x_0..x_{T-1}; the last of them needs no further gradient.
        let steps = (theory.iterates - 1).max(1);
        let descent = Descent::of(problem, steps, theory.learning_rate, 0.0, Averaging::Mean);
        let descent = Descent { radius: Some(radius), ..descent };
        DpGd::with(problem, descent, ClipRule::Fixed(lipschitz)).map(DpGdTheory)
    }
}

impl Optimizer for DpGdTheory {
    fn planned(&self) -> Vec<Planned> {
        self.0.planned()
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        self.0.run(data, start, run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_worked_example() {
        // n = 10000, d = 20, epsilon = 1, delta = 1e-6, L = 1, R = 2, replace-one, evaluated with 60 digits.
        let rho = 1.0 / (8.0 * 1e6f64.ln());
        let p = TheoryParameters::new(10_000.0, 20, rho, 1.0, 2.0, Adjacency::ReplaceOne).unwrap();
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        assert_eq!(p.iterates, 22_620);
        assert!(close(p.sigma, 0.223_609_248_045_299_55), "{}", p.sigma);
        assert!(close(p.learning_rate, 0.009_402_997_443_373_67), "{}", p.learning_rate);
        assert!(close(p.excess_risk, 0.018_806_200_964_980_22), "{}", p.excess_risk);
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(TheoryParameters::new(bad, 2, 1.0, 1.0, 1.0, Adjacency::AddRemove).is_err());
            assert!(TheoryParameters::new(10.0, 2, bad, 1.0, 1.0, Adjacency::AddRemove).is_err());
        }
        assert!(TheoryParameters::new(1e9, 1, 1.0, 1.0, 1.0, Adjacency::AddRemove).is_err());
    }
}
