//! One run with many secret coins: as many trials as canaries, at the price of one.

use super::attack::errors;
use super::canaries::Canaries;
use super::craft::Craft;
use super::fault::Fault;
use super::guarantee::Guarantee;
use crate::accounting::gaussian;
use crate::data::Unit;
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::noise::NoiseSource;
use crate::privacy::{Charge, Delta, Epsilon, Rho, total_rho};
use crate::private::{Planned, Query};
use crate::statistics::effect::{EffectLimits, mu_limits};
use crate::statistics::one_run::{Guesses, epsilon_lower};
use crate::train::{Budget, Loaded, Rehearsal, TrainConfig};

/// One in so many canaries with the highest scores is guessed to be there, and as many with the lowest not to be.
const GUESSED: usize = 10;

/// The delta of the bound from guesses, times the canaries, is at most this times the probability of error, else delta would
/// take it all: with one in a million a thousand canaries come close to a thousandth.
const DELTA_SHARE: f64 = 0.1;

/// An audit of one configuration by one run of it.
///
/// The records are canaries at right angles, saturating the clip at every step. Released sums along their axes are
/// independent given the coins, and normal, if noise is; the mean of those that are there is `mu` deviations from that of the
/// others, `mu = sqrt(2 rho)`.
#[derive(Clone, Debug)]
pub struct OneRun {
    /// The configuration, budget included; what is left open is chosen as in a [`super::Campaign`].
    pub config: TrainConfig,
    /// The person as the unit of privacy: each canary has as many rows as count. `None` for single rows.
    pub unit: Option<Unit>,
    /// The planted faults: noise times this or its inverse, whichever is below one, and a clip times the other.
    pub fault: f64,
    /// The number of canaries.
    pub canaries: usize,
    /// Confidence that an honest trainer is not refuted.
    pub confidence: f64,
    /// Seed of coins and noise.
    pub seed: u64,
}

/// What one run showed.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Limits of mu; each holds with half of the probability of error.
    pub mu: EffectLimits,
    /// What canaries added to the sum, over the clip of the claim.
    pub signal: f64,
    /// The deviation of the sum along an axis, over the noise that the claim needs.
    pub noise: f64,
    /// Guesses about the most telling scores.
    pub guesses: Guesses,
    /// The lower bound on epsilon that they prove whatever the law of the scores, with the other half, at
    /// [`OneRunFinding::guess_delta`].
    pub epsilon: f64,
    /// False positive and false negative rate at several thresholds.
    pub errors: Vec<(f64, f64)>,
}

/// What the runs of an audit showed.
#[derive(Clone, Debug)]
pub struct OneRunFinding {
    /// What is claimed of all releases together.
    pub guarantee: Guarantee,
    /// Its mu, rounded upward.
    pub mu: f64,
    /// Delta of the plan.
    pub delta: Delta,
    /// The claimed epsilon at it, rounded upward.
    pub epsilon: Epsilon,
    /// The smaller delta at which guesses show most.
    pub guess_delta: Delta,
    /// The claimed epsilon at that.
    pub guess_epsilon: Epsilon,
    /// What a canary shows of the clip: the mu that an honest run can show, over the claim.
    pub share: f64,
    /// Canaries that the coins put in.
    pub present: usize,
    /// The reading of the trainer.
    pub honest: Reading,
    /// Those of the trainers with a fault.
    pub faulty: Vec<(Fault, Reading)>,
}

impl OneRunFinding {
    /// Whether a reading is above the claim, with the confidence.
    pub fn above(&self, reading: &Reading) -> bool {
        reading.mu.lower > self.mu || reading.epsilon > self.guess_epsilon.value()
    }

    /// Whether the claim is refuted.
    pub fn refuted(&self) -> bool {
        self.above(&self.honest)
    }

    /// Whether the canaries show what they should: else their gradients were not all as long as the clip, and the audit
    /// looks at less than the claim.
    pub fn saturated(&self) -> bool {
        self.honest.mu.upper >= self.share * self.mu
    }

    /// Whether every planted fault was found by canaries that show what they should.
    pub fn powerful(&self) -> bool {
        self.saturated() && self.faulty.iter().all(|(_, reading)| self.above(reading))
    }

    /// The epsilon at delta of a Gaussian release with some mu, a limit of a reading.
    ///
    /// # Errors
    /// When the search fails.
    pub fn epsilon_of(&self, mu: f64) -> Fallible<Epsilon> {
        gaussian::epsilon(mu.max(0.0), self.delta)
    }
}

impl OneRun {
    /// The number of runs that are made: one of each faulty trainer, and one of this.
    pub fn runs(&self) -> usize {
        if self.unit.is_some() { 4 } else { 3 }
    }

    /// Makes all runs, those with a planted fault first; `hear` is told how many are done.
    ///
    /// # Errors
    /// When the configuration releases anything but clipped sums of all rows, the request cannot be planned, or a number is
    /// out of range.
    pub fn run(&self, mut hear: impl FnMut(usize)) -> Fallible<OneRunFinding> {
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            let problem = format!("is {}, must be in (0, 1)", self.confidence);
            return Err(Error::parameter("--confidence", problem, "use 0.9999"));
        }
        let ratio = Fault::of(self.fault)?.ratio();
        fits(&self.config)?;
        let craft = Craft::of(&self.config, self.unit.as_ref());
        let canaries = Canaries::toss(&self.config, craft.unit.clone(), self.canaries, self.seed)?;
        let config = &craft.config;
        let honest = canaries.load(config)?;
        let claim = Claim::of(&honest)?;
        let delta = honest.plan().delta;
        let mut faulty = Vec::new();
        for fault in [Fault::Noise(ratio), Fault::Clip(1.0 / ratio)] {
            let rho = Rho::from_f64(claim.rho.lower() / (ratio * ratio))?;
            let louder = TrainConfig { budget: Budget::Rho(rho, Some(delta)), ..config.clone() };
            let loaded = canaries.load(&fault.plant(&louder)?)?;
            let came_out = fault.at(Claim::of(&loaded)?.multiplier / claim.multiplier);
            faulty.push((came_out, self.trained(&loaded, &canaries)?));
            hear(faulty.len());
        }
        if let Some(unit) = &craft.unit {
            let loaded = canaries.load_by_rows(&craft.by_rows())?;
            faulty.push((Fault::Rows(unit.max_rows()), self.trained(&loaded, &canaries)?));
            hear(faulty.len());
        }
        let own = self.trained(&honest, &canaries)?;
        hear(self.runs());
        let fine = DELTA_SHARE * (1.0 - self.half()) / self.canaries as f64;
        let guess_delta = Delta::new(delta.value().min(fine))?;
        let read = |run: &Run| self.reading(run, &canaries, &claim, own.grid, guess_delta);
        Ok(OneRunFinding {
            mu: claim.mu,
            delta,
            epsilon: gaussian::epsilon(claim.mu, delta)?,
            guess_delta,
            guess_epsilon: gaussian::epsilon(claim.mu, guess_delta)?,
            share: canaries.share(claim.clip_steps) * claim.of_sums / claim.mu,
            present: canaries.coins.iter().filter(|coin| **coin).count(),
            faulty: faulty.iter().map(|(fault, run)| Ok((*fault, read(run)?))).collect::<Fallible<_>>()?,
            honest: read(&own)?,
            guarantee: Guarantee::Gaussian { mu: claim.mu },
        })
    }

    /// The confidence of each of two bounds that hold together.
    fn half(&self) -> f64 {
        1.0 - (1.0 - self.confidence) / 2.0
    }

    /// Trains once and adds up what is released.
    fn trained(&self, loaded: &Loaded, canaries: &Canaries) -> Fallible<Run> {
        let Claim { log2_scale, steps, .. } = Claim::of(loaded)?;
        let mut sum: Vec<f64> = Vec::new();
        let mut unit = 0.0;
        let mut ledger = Ledger::in_memory()?;
        let noise = NoiseSource::insecure_from_seed(self.seed);
        Rehearsal::charge(loaded, &mut ledger, noise, 1)?.run(&mut |release| {
            if !matches!(release.query, Query::ClippedSum(_)) {
                return Ok(());
            }
            sum.resize(release.released.values().len(), 0.0);
            sum.iter_mut().zip(release.released.values()).for_each(|(sum, value)| *sum += *value as f64);
            unit = release.grid_step;
            Ok(())
        })?;
        let deviation = 2f64.powi(log2_scale as i32) * (steps as f64).sqrt();
        let scores = canaries.along(&sum).into_iter().map(|part| part / deviation).collect();
        Ok(Run { scores, grid: deviation * unit })
    }

    /// Lengths are in units of the clip and the noise of the claim, whose deviation is `grid` long.
    fn reading(&self, run: &Run, canaries: &Canaries, claim: &Claim, grid: f64, delta: Delta) -> Fallible<Reading> {
        let of = |kind: bool| -> Vec<f64> {
            run.scores.iter().zip(&canaries.coins).filter(|(_, coin)| **coin == kind).map(|(score, _)| *score).collect()
        };
        let (absent, present) = (of(false), of(true));
        let mu = mu_limits(&absent, &present, self.half())?;
        let longer = run.grid / grid;
        let guesses = guesses(&run.scores, &canaries.coins);
        Ok(Reading {
            signal: mu.difference * longer / claim.of_sums,
            noise: mu.deviation * longer,
            guesses,
            epsilon: epsilon_lower(guesses, delta.value(), self.half())?,
            errors: errors([&absent, &present]),
            mu,
        })
    }
}

/// The scores of one run.
struct Run {
    /// Along each axis, over the noise of the sum of all releases.
    scores: Vec<f64>,
    /// The length of one such deviation in units of features.
    grid: f64,
}

/// What a plan of equal clipped sums claims.
struct Claim {
    mu: f64,
    /// The part of mu that is about the sums; the rest, where persons are the unit, about how many rows they have.
    of_sums: f64,
    rho: Rho,
    clip_steps: u64,
    log2_scale: u32,
    steps: u64,
    /// The noise over the sensitivity.
    multiplier: f64,
}

impl Claim {
    fn of(loaded: &Loaded) -> Fallible<Self> {
        let plan = loaded.plan();
        let planned = plan.planned();
        let one = match planned.as_slice() {
            [one] => one,
            // How many rows persons have, and nothing by which rows would be encoded anew.
            [Planned { query: Query::Moments(_), charge }, one] if !plan.standardize && charge.is_gaussian() => one,
            _ => return Err(mixed()),
        };
        match (&one.query, &one.charge) {
            (Query::ClippedSum(sum), Charge::Gaussian(event)) if one.charge.is_gaussian() => {
                let rho = total_rho(&plan.charges())?;
                let mu = gaussian::mu_upper_from_rho(rho.upper())?;
                let of_sums = gaussian::mu_upper_from_rho(total_rho(std::slice::from_ref(&one.charge))?.upper())?;
                let multiplier = one.charge.noise_multiplier();
                let (log2_scale, steps) = (event.log2_scale, event.count);
                Ok(Claim { mu, of_sums, rho, clip_steps: sum.clip_steps, log2_scale, steps, multiplier })
            }
            _ => Err(mixed()),
        }
    }
}

fn mixed() -> Error {
    let problem = "needs a run that releases nothing but clipped sums over all rows, with floored normal noise";
    let cure = "leave out standardisation, --evaluate-budget, --tune and --noise, or leave --one-run out";
    Error::parameter("--one-run", problem, cure)
}

/// Refuses algorithms in which canaries do not stay apart.
fn fits(config: &TrainConfig) -> Fallible<()> {
    let Some(why) = (config.algorithm.description().audit)(config.adjacency).one_run else { return Ok(()) };
    let problem = format!("does not fit --algorithm {}, which {why}", config.algorithm.name());
    Err(Error::parameter("--one-run", problem, "leave --one-run out, or audit --algorithm dp-gd"))
}

/// A fixed number of guesses, about the highest and the lowest scores.
fn guesses(scores: &[f64], coins: &[bool]) -> Guesses {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    let some = order.len() / GUESSED;
    let low = order.iter().take(some).filter(|canary| !coins[**canary]).count();
    let high = order.iter().rev().take(some).filter(|canary| coins[**canary]).count();
    Guesses { canaries: scores.len() as u64, made: 2 * some as u64, right: (low + high) as u64 }
}
