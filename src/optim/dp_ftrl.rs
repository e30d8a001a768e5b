//! # `dp-ftrl`: passes with correlated noise
//!
//! Follow the regularised leader on noised prefix sums of gradients. One pass over random batches, or several. No amplification by sampling is
//! assumed unless `--sampling-rate` makes samples.
//!
//! **What it does.** Rows are dealt to `B` batches, which every pass meets in one order. `w_t = -eta S_t`, `S_t` the noised sum of the gradients of
//! the batches of steps `1..t`, each taken where its batch was met. Momentum, averaging and penalties are post-processing.
//!
//! **What is released, and why the bound is exact.** Instead of a binary tree, in which a row takes part in `log2(B) + 1` nodes, the lower triangular
//! matrix of ones is factored into its square roots: released is `C G + Z`, `C` the Toeplitz square root with integer coefficients, and the prefix sums
//! are `A C^(-1) (C G + Z)`, `A` the matrix of ones. With several passes `C` is banded: `B` coefficients and no more, so no two uses of a row move the
//! same part. Every row draws its batch independently of everything; neighbours are coupled so that all common rows keep theirs, and the output
//! is a mixture over draws, no worse than its worst member. In each pass a row moves the release by its clipped gradient times one column of `C`: the l2
//! sensitivity is `clip_steps sqrt(sum_k c_k^2)` a pass, `clip_steps` the clip norm in grid steps, and twice that under replace-one. Passes compose as
//! Gaussian mechanisms do. With `--sampling-rate q` a row takes part in a pass with probability `q`, by an exact coin: each pass is then a
//! Poisson-sampled Gaussian mechanism.
//!
//! **Cost.** One Gaussian release a pass. With one pass of `B` batches the noise of every prefix sum and the sensitivity both grow like
//! `sqrt(1 + ln(B) / pi)`: at 128 batches the last prefix sum has 2.6 times the noise of a single full sum, less than a tree's at any number. More passes of fewer
//! batches come nearer to it: with 128 steps in all 1.6 times at 4 passes, 1.4 at 8, and 1 at 128, which is descent on all rows. With samples
//! the noise is the least that keeps epsilon by privacy-loss distributions, as in [`dp-sgd`](dp-sgd.md), and the charge is a claim.
//!
//! **Settings and defaults.** `--clip` (the rule of `dp-gd`), `--steps` (128 batches in all passes, rounded up to whole ones), `--passes` (1),
//! `--sampling-rate` (1, or at most 0.5; it needs `--epsilon`), `--learning-rate` (40 / R^2 for labels, 4 / R^2 for numbers),
//! `--momentum` (0), `--l2` (0), `--radius` (none), `--averaging` (the mean of the second half).
//!
//! **Use it when** rows should be used once, or a few times, in batches, without trusting a sampling assumption. Where rows may be used again, use `--passes 32`
//! at small budgets: the accuracy on Adult at epsilon 0.1 is 0.830 with one pass, 0.844 with 8 and 0.847 with 32 (six seeds, standard errors 0.002, 0.001,
//! 0.001), R^2 on California 0.573, 0.604, 0.615 (0.009, 0.004, 0.003); from epsilon 1 on one pass is as good. With
//! `--sampling-rate 0.25` it is as accurate; rows are picked one by one then, so it takes no less time. It needs all rows in memory, twice. A stopped run makes all passes
//! again, of which nothing was kept. Constants were picked among six to eleven settings by the Adult and California figures.
//!
//! **Models.** `logistic`, `linear`, `ridge`.
//!
//! **Source.** Kairouz, McMahan, Song, Thakkar, Thakurta, Xu 2021, "Practical and private (deep) learning without sampling or shuffling"; Denisov et al.
//! 2022 and Fichtenberger, Henzinger, Upadhyay 2023 for the factorisation; Choquette-Choo et al. 2023, "(Amplified) banded matrix factorization", for
//! several passes and samples; Kalinin and Lampert 2024 for the banded square root. Both relations.

use ndarray::Array1;
use serde_json::json;

use super::description::{AUDIT_STILL, AuditRecipe, Description, Losses, Needs, Relations};
use super::release::{Calibrated, MAX_RATE, SampledRule, Samples};
use super::step::descent::Average;
use super::step::penalty::Penalties;
use super::{
    Averaging, ClipRule, Descent, Fineness, Fitted, GaussianRule, Optimizer, Planned, Problem, Start, settings,
};
use crate::error::{Error, Fallible};
use crate::grid::MAX_MULTIPLIER;
use crate::loss::Curved;
use crate::privacy::{Charge, GaussianCharge, NoiseLaw, PoissonGaussianCharge};
use crate::private::{
    ClippedRows, Gradient, LoggedRun, MAX_BATCHES, OfPasses, Permit, PrefixPasses, PrivateDataset, Query, Released,
    prefix_coefficients, query,
};

/// Batches of all passes together.
const STEPS: u64 = 128;

pub(super) static DESCRIPTION: Description = Description {
    name: "dp-ftrl",
    about: "Passes over random batches with noise correlated between them",
    releases: "prefix sums of each pass over random batches",
    reference: "Kairouz et al. 2021, Denisov et al. 2022, Choquette-Choo et al. 2023",
    relations: Relations::Both,
    losses: Losses::Curved,
    settings: settings::OF_BATCH_PASSES,
    needs: Needs::ROWS,
    plan: |problem| Ok(Box::new(DpFtrl::plan(problem)?)),
    audit: |_| AuditRecipe {
        pairs: 0,
        known_draws: true,
        one_run: Some("gives each row a random part of the run"),
        ..AuditRecipe::with(AUDIT_STILL)
    },
};

/// DP-FTRL: `w_t = -eta S_t`, `S_t` the noised sum of the gradients of batches `1..=t`, each taken where its batch was met.
///
/// Instead of a binary tree, in which a row takes part in
/// `log2(B) + 1` nodes, the lower triangular matrix `A` of ones is factored into its square roots: released is `C G + Z`, and
/// the prefix sums are `A C^(-1) (C G + Z)`. With `B` batches of one pass the noise of every prefix sum and the sensitivity both
/// grow like `sqrt(1 + ln(B) / pi)`, so that at 128 batches the last prefix sum has 2.6 times the noise of a single full sum, and
/// at any number less than a tree's. With several passes `C` has `B` coefficients, so that no two uses of a row move the same part.
/// Step size `c / R^2`. Momentum and averaging are post-processing. Batches hold about `n / B` rows each.
///
/// # Privacy
/// For each pass one Gaussian mechanism of l2 sensitivity `clip_steps sqrt(sum_k c_k^2)`, or a Poisson-sampled one, see
/// [`crate::private::PrefixPasses`]; both adjacencies.
///
/// # Reference
/// Kairouz, McMahan, Song, Thakkar, Thakurta, Xu 2021, "Practical and private (deep) learning without sampling or shuffling";
/// Denisov et al. 2022 and Fichtenberger, Henzinger, Upadhyay 2023 for the factorisation; Choquette-Choo et al. 2023, "(Amplified) banded
/// matrix factorization"; Kalinin and Lampert 2024.
#[derive(Clone, Debug, PartialEq)]
pub struct DpFtrl {
    sums: query::PrefixSums,
    charge: Charge,
    /// Standard deviation of the noise, in grid steps.
    scale: f64,
    /// Probability with which a row takes part in a pass.
    rate: f64,
    clip: ClipRule,
    descent: Descent,
    row_norm: f64,
}

impl DpFtrl {
    /// Plans with the whole budget of the problem; `--steps` is the number of batches in all passes, rounded up to whole ones.
    ///
    /// # Errors
    /// When the budget is too small, there are too many batches or fewer than passes, or samples are asked for with a budget that is no
    /// epsilon or with discrete noise.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        DESCRIPTION.fits(problem)?;
        let loss = DESCRIPTION.curved_loss(problem)?;
        problem.settings.check()?;
        let passes = problem.settings.passes.unwrap_or(1);
        let steps = problem.settings.steps.unwrap_or(STEPS.max(passes));
        if passes > steps {
            let problem = format!("is {passes}, and there are {steps} steps in all");
            return Err(Error::parameter("--passes", problem, "use more --steps, at least one for each pass"));
        }
        let steps = steps.next_multiple_of(passes);
        let Some(parts) = u32::try_from(steps).ok().filter(|parts| *parts <= MAX_BATCHES) else {
            let problem = format!("is {steps}, at most {MAX_BATCHES} batches are possible with --algorithm dp-ftrl");
            return Err(Error::parameter("--steps", problem, "use fewer"));
        };
        let rate = problem.settings.sampling_rate.unwrap_or(1.0);
        if !(rate > 0.0 && rate <= MAX_RATE || rate == 1.0) {
            let problem = format!("is {rate:?}, must be in (0, {MAX_RATE}], or 1 for all rows in every pass");
            return Err(Error::parameter("--sampling-rate", problem, "leave it out for all rows in every pass"));
        }
        // Measured on Adult and California housing with three seeds: momentum 0.9 is as good at epsilon 1, worse at 0.1.
        let length = match loss {
            Curved::Logistic => 40.0,
            Curved::Squared => 4.0,
        };
        let square = problem.typical_square();
        let descent = Descent { steps, ..Descent::of(problem, steps, length / square, 0.0, Averaging::Tail) };
        let Sums { charge, sums, scale } = releases(problem, parts / passes.max(1) as u32, passes, rate)?;
        Ok(DpFtrl { sums, charge, scale, rate, clip: ClipRule::of(problem), descent, row_norm: square.sqrt() })
    }

    fn planned(&self) -> Planned {
        Planned { charge: self.charge.clone(), query: self.sums.into() }
    }

    /// The clip norm over the noise of the mean over passes, in the last prefix sum.
    fn mu(&self) -> f64 {
        let coefficients = coefficients(self.sums.batches);
        let noise = match self.charge.count() {
            // Up to rounding the coefficients of the inverse, times those of the prefix sums, are those of the root again.
            1 => {
                let first = coefficients.first().copied().unwrap_or(1.0);
                norm(&coefficients) / (first * first)
            }
            passes => norm(&mixed(&coefficients, self.descent.steps)) / passes as f64,
        };
        self.rate * self.sums.clip_steps as f64 / (self.scale * noise)
    }
}

/// What passes release, and the scale of the noise.
struct Sums {
    sums: query::PrefixSums,
    charge: Charge,
    scale: f64,
}

/// The releases of the passes on the finest grid that the budget allows.
fn releases(problem: &Problem<'_>, batches: u32, passes: u64, rate: f64) -> Fallible<Sums> {
    let Problem { adjacency, noise, .. } = *problem;
    let one = u64::from(problem.one.unsigned_abs());
    let what = match passes {
        1 => "prefix sums of clipped gradients over one pass",
        _ => "prefix sums of clipped gradients over a pass of several",
    };
    let sums = |clip_steps| query::PrefixSums { clip_steps, batches };
    let query = |clip_steps| Query::from(sums(clip_steps));
    let rule = GaussianRule { what, query: &query, adjacency, noise, count: passes };
    let column = norm(&coefficients(batches));
    if rate < 1.0 {
        let Some(target) = problem.target.as_ref() else {
            let problem = "cannot pay for passes over samples, whose cost is no rho";
            return Err(Error::parameter("--rho", problem, "give --epsilon, or leave --sampling-rate out"));
        };
        if noise != NoiseLaw::FlooredNormal {
            let problem = "must be normal for passes over samples";
            return Err(Error::parameter("--noise", problem, "leave it out, or leave --sampling-rate out"));
        }
        let rule = SampledRule { rule, samples: Samples::Coins(rate), sensitivity: column, one };
        let Calibrated { charge, size, multiplier } = rule.calibrate(target)?;
        return Ok(Sums { charge, sums: sums(size), scale: multiplier * size as f64 * column });
    }
    let largest = MAX_MULTIPLIER as u64 * one;
    let sensitivity = column * adjacency.sum_sensitivity(1) as f64;
    let wanted = Fineness { sensitivity, target: largest as f64 * sensitivity, largest, slack: 0.0 };
    let (release, clip_steps) = rule.finest(&problem.budget, &wanted);
    if clip_steps < 16 * one {
        return Err(Error::parameter(
            "budget",
            "is too small for this many batches",
            "use a larger epsilon or fewer --steps",
        ));
    }
    Ok(Sums { charge: release.planned().charge, sums: sums(clip_steps), scale: release.scale() })
}

/// The coefficients of `C`.
fn coefficients(batches: u32) -> Vec<f64> {
    prefix_coefficients(batches).into_iter().map(|c| c as f64).collect()
}

/// `sqrt(sum_k c_k^2)`.
fn norm(coefficients: &[f64]) -> f64 {
    coefficients.iter().map(|c| c.powi(2)).sum::<f64>().sqrt()
}

/// The first coefficients of `A C^(-1)`, `A` the matrix of prefix sums: with them the noise of the parts enters a prefix sum.
///
/// `sum_j c_j a_(k-j) = 1` for every `k`.
fn mixed(coefficients: &[f64], parts: u64) -> Vec<f64> {
    let first = coefficients.first().copied().unwrap_or(1.0);
    let mut mixed: Vec<f64> = Vec::new();
    for _ in 0..parts {
        let earlier: f64 = coefficients.iter().skip(1).zip(mixed.iter().rev()).map(|(c, a)| c * a).sum();
        mixed.push((1.0 - earlier) / first);
    }
    mixed
}

/// Turns released parts `C G + Z` into estimates of the `G` of each batch, by forward substitution.
struct Unmixed {
    coefficients: Vec<f64>,
    gradients: Vec<Array1<f64>>,
}

impl Unmixed {
    /// `G_t = (part_t - sum_(k >= 1) c_k G_(t-k)) / c_0`.
    fn push(&mut self, part: Array1<f64>) -> &Array1<f64> {
        let mut gradient = part;
        for (&c, earlier) in self.coefficients.iter().skip(1).zip(self.gradients.iter().rev()) {
            gradient.scaled_add(-c, earlier);
        }
        let index = self.gradients.len();
        self.gradients.push(gradient / self.coefficients.first().copied().unwrap_or(1.0));
        &self.gradients[index]
    }
}

impl Optimizer for DpFtrl {
    fn planned(&self) -> Vec<Planned> {
        vec![self.planned()]
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let clip_norm = self.clip.clip_norm(self.row_norm, data.shape().dimension() as f64, start, self.mu());
        let grid_step = clip_norm / self.sums.clip_steps as f64;
        let rows = data.clipped(self.sums.clip_steps)?;
        let descent = Steps { of: self, data, rows: &rows, start, clip_norm };
        let weights = match &self.charge {
            Charge::PoissonGaussian(_) => run
                .release_all_by(&self.planned(), grid_step, |permits| descent.make::<PoissonGaussianCharge>(permits))?,
            _ => run.release_all_by(&self.planned(), grid_step, |permits| descent.make::<GaussianCharge>(permits))?,
        };
        if !weights.iter().all(|w| w.is_finite()) {
            return Err(Error::numerical("training", "the iterates diverged; use a smaller learning rate"));
        }
        let fitted = Fitted::of(weights.to_vec()).stating(self.descent.settings());
        let mut stated = vec![("batches", json!(self.sums.batches))];
        if self.charge.count() > 1 {
            stated.push(("passes", json!(self.charge.count())));
        }
        if let Some(rate) = self.charge.sampling_rate() {
            stated.push(("sampling_rate", json!(rate)));
        }
        Ok(fitted.stating(stated))
    }
}

/// The steps of all passes.
struct Steps<'a> {
    of: &'a DpFtrl,
    data: &'a PrivateDataset,
    rows: &'a ClippedRows<'a>,
    start: &'a Start<'a>,
    clip_norm: f64,
}

impl Steps<'_> {
    /// Makes them and returns the coefficients, with what each pass released.
    fn make<M: OfPasses>(&self, permits: Vec<Permit<M>>) -> Fallible<(Array1<f64>, Vec<Released>)> {
        let DpFtrl { sums, rate, descent, .. } = self.of;
        let Steps { rows, start, clip_norm, .. } = *self;
        let grid_step = clip_norm / sums.clip_steps as f64;
        let per_batch = rate * start.rows / f64::from(sums.batches);
        let eta = descent.learning_rate;
        let penalties = Penalties::new(rows, 0.0, eta * descent.l2, descent.radius)?;
        let mut unmixed = Unmixed { coefficients: coefficients(sums.batches), gradients: Vec::new() };
        let mut weights = Array1::<f64>::zeros(rows.coordinates());
        let mut direction = weights.clone();
        let mut average = Average::new(descent.averaging, descent.steps, weights.len());
        average.add(0, &weights);
        let mut passes = PrefixPasses::open(permits, self.data, *sums)?;
        for step in 1..=descent.steps {
            let asked = Gradient { loss: descent.loss, weights: &weights, label_scale: start.label_scale, clip_norm };
            let part = passes.next(&asked)?.iter().map(|&v| v as f64).collect();
            let gradient = unmixed.push(part) * (grid_step / per_batch);
            direction = &direction * descent.momentum + gradient;
            let shrunk = penalties.shrink(&weights - &(&direction * eta));
            if penalties.shrinks() {
                direction = (&weights - &shrunk) / eta;
            }
            weights = penalties.project(rows, shrunk);
            average.add(step, &weights);
        }
        Ok((average.finish(weights), passes.finish()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Standard deviation of the last prefix sum over the passes, where a full sum that costs as much has 1.
    fn noise(batches: u32, passes: u64) -> f64 {
        let coefficients = coefficients(batches);
        norm(&mixed(&coefficients, u64::from(batches) * passes)) * norm(&coefficients) / (passes as f64).sqrt()
    }

    #[test]
    fn more_passes_have_less_noise() {
        for (batches, passes, expected) in [(128, 1, 2.61), (32, 4, 1.59), (16, 8, 1.36), (4, 32, 1.13), (1, 128, 1.0)]
        {
            assert!((noise(batches, passes) - expected).abs() < 0.01, "{passes}: {}", noise(batches, passes));
        }
    }

    #[test]
    fn released_parts_are_unmixed_over_the_band() {
        let (batches, steps) = (3u32, 10usize);
        let coefficients = coefficients(batches);
        let gradients: Vec<Array1<f64>> =
            (0..steps).map(|t| Array1::from(vec![t as f64 - 4.0, (t * t) as f64])).collect();
        let mut unmixed = Unmixed { coefficients: coefficients.clone(), gradients: Vec::new() };
        for t in 0..steps {
            let mixed = coefficients.iter().zip(gradients[..=t].iter().rev());
            let part = mixed.fold(Array1::zeros(2), |sum: Array1<f64>, (c, gradient)| sum + gradient * *c);
            assert!((unmixed.push(part) - &gradients[t]).iter().all(|error| error.abs() < 1e-9), "{t}");
        }
        // Prefix sums are what the coefficients of the inverse and of ones make of parts.
        let mixed = mixed(&coefficients, steps as u64);
        for k in 0..steps {
            let sum: f64 = coefficients.iter().zip(mixed[..=k].iter().rev()).map(|(c, a)| c * a).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{k}");
        }
    }
}
