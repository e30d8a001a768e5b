//! `rhograd account calibrate`: one parameter of a run from the others.

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::output::{delta_up, number};
use crate::accounting::Conversion;
use crate::accounting::{gaussian, pld};
use crate::calculator::calibrate;
use crate::error::{Error, Fallible};
use crate::privacy::{Adjacency, Delta, Epsilon};

pub(super) const EXAMPLES: &str = "\
Examples:
  # the least noise
  rhograd account calibrate --epsilon 1 --delta 1e-6 --steps 100 --clip 1
  rhograd account calibrate --rho 0.05 --steps 100 --adjacency replace-one
  # the most steps
  rhograd account calibrate --epsilon 1 --delta 1e-6 --noise-multiplier 50
  # epsilon
  rhograd account calibrate --delta 1e-6 --noise-multiplier 50 --steps 100
  # delta
  rhograd account calibrate --epsilon 1 --noise-multiplier 50 --steps 100
  # rho
  rhograd account calibrate --noise-multiplier 50 --steps 100
  # the rho that may be spent
  rhograd account calibrate --epsilon 1 --delta 1e-6 --solve rho

With Poisson sampling:
  rhograd account calibrate --epsilon 1 --delta 1e-6 --steps 1000 --rate 0.01
  rhograd account calibrate --epsilon 1 --delta 1e-6 --noise-multiplier 1 --rate 0.01
  # the largest rate
  rhograd account calibrate --epsilon 1 --delta 1e-6 --noise-multiplier 1 --steps 1000
  rhograd account calibrate --delta 1e-6 --noise-multiplier 1 --steps 1000 --rate 0.01

With passes of which each row draws one step (dp-sgd --sampling shuffle):
  rhograd account calibrate --epsilon 1 --delta 1e-6 --steps 1000 --steps-of-pass 50
  rhograd account calibrate --delta 1e-6 --noise-multiplier 2.8 --steps 1000 --steps-of-pass 50

What is left out is solved for, --solve says it outright; --steps is 1 where it is neither given
nor solved for.

sigma is the noise standard deviation on the clipped sum, rounded up; the noise multiplier is sigma
over the l2 sensitivity, which is the clip norm under add-remove and twice that under replace-one,
with sampling too. Without --rate or --steps-of-pass there is one answer for each conversion of zCDP (`exact` holds for
Gaussian noise only), with it one by privacy loss distributions (`pld`). Every answer was checked to
meet the target; the next decimal (of 12 digits, with sampling of 5) or whole number was not seen to.

Exit code: 0 done, 1 nothing meets the target or everything does, 2 bad usage.";

/// A parameter that can be solved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Unknown {
    /// The least noise, as multiplier and as sigma
    NoiseMultiplier,
    /// The most steps
    Steps,
    /// The largest Poisson sampling rate
    Rate,
    /// rho of the run, or the most rho that (epsilon, delta) allows
    Rho,
    /// epsilon of the run at delta
    Epsilon,
    /// delta of the run at epsilon
    Delta,
}

#[derive(Args)]
pub(super) struct CalibrateArguments {
    /// Target epsilon
    #[arg(long, allow_hyphen_values = true)]
    epsilon: Option<f64>,
    /// Target delta
    #[arg(long, allow_hyphen_values = true)]
    delta: Option<f64>,
    /// Target rho
    #[arg(long, allow_hyphen_values = true)]
    rho: Option<f64>,
    /// Noise standard deviation over l2 sensitivity
    #[arg(long, allow_hyphen_values = true)]
    noise_multiplier: Option<f64>,
    /// Number of releases
    #[arg(long)]
    steps: Option<u64>,
    /// Poisson sampling rate
    #[arg(long, allow_hyphen_values = true)]
    rate: Option<f64>,
    /// Steps of one pass, of which each row draws one
    #[arg(long, conflicts_with = "rate")]
    steps_of_pass: Option<u64>,
    /// What to solve for [default: what is left out]
    #[arg(long, value_enum)]
    solve: Option<Unknown>,
    /// Clip norm of one row, for sigma
    #[arg(long, default_value_t = 1.0, allow_hyphen_values = true)]
    clip: f64,
    /// Neighbouring relation
    #[arg(long, value_enum, default_value = "add-remove")]
    adjacency: Adjacency,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) type Answer = Map<String, Value>;

pub(super) fn calibrate(arguments: &CalibrateArguments) -> Fallible<Answer> {
    let unknown = arguments.unknown()?;
    arguments.check(unknown)?;
    if let Some(steps_of_pass) = arguments.steps_of_pass {
        return arguments.of_passes(unknown, pld::Passes { steps: arguments.steps(), steps_of_pass });
    }
    match (unknown, arguments.rate) {
        (Unknown::NoiseMultiplier, None) => arguments.noise(),
        (Unknown::NoiseMultiplier, Some(rate)) => arguments.sampled_noise(rate),
        (Unknown::Steps, None) => arguments.most_steps(),
        (Unknown::Steps, Some(rate)) => arguments.sampled_steps(rate),
        (Unknown::Rate, _) => arguments.largest_rate(),
        (Unknown::Rho, _) => arguments.rho(),
        (Unknown::Epsilon, None) => arguments.epsilon(),
        (Unknown::Epsilon, Some(rate)) => arguments.sampled_epsilon(rate),
        (Unknown::Delta, None) => arguments.delta(),
        (Unknown::Delta, Some(rate)) => arguments.sampled_delta(rate),
    }
}

fn one(name: &str, value: Value) -> Answer {
    Map::from_iter([(name.to_owned(), value)])
}

fn delta_by(name: &str, ln_delta: f64) -> [(String, Value); 2] {
    [(format!("delta_{name}"), number(delta_up(ln_delta))), (format!("log_delta_{name}"), number(ln_delta))]
}

/// The rho that may be spent for epsilon at delta, by every conversion, and the mu.
pub(super) fn max_rhos(epsilon: Epsilon, delta: Delta) -> Fallible<Answer> {
    let by =
        |conversion: Conversion| Ok((format!("max_rho_{conversion}"), number(conversion.max_rho(epsilon, delta)?)));
    let mut answer: Answer = Conversion::ALL.into_iter().map(by).collect::<Fallible<_>>()?;
    answer.insert("max_mu_exact".into(), number(gaussian::max_mu(epsilon, delta)?));
    Ok(answer)
}

/// What rho is worth as epsilon at delta, by every conversion.
pub(super) fn epsilons(rho: f64, delta: Delta) -> Fallible<Answer> {
    let by =
        |conversion: Conversion| Ok((format!("epsilon_{conversion}"), number(conversion.epsilon(rho, delta)?.value())));
    Conversion::ALL.into_iter().map(by).collect()
}

/// What rho is worth as delta at epsilon, by every conversion.
pub(super) fn deltas(rho: f64, epsilon: Epsilon) -> Fallible<Answer> {
    let by = |conversion: Conversion| Ok(delta_by(conversion.name(), conversion.ln_delta(rho, epsilon)?));
    Ok(Conversion::ALL.into_iter().map(by).collect::<Fallible<Vec<_>>>()?.into_iter().flatten().collect())
}

/// What is asked, and what is there to answer with.
impl CalibrateArguments {
    /// The parameter to solve for: the one that is named, or the one that is left out.
    fn unknown(&self) -> Fallible<Unknown> {
        if let Some(unknown) = self.solve {
            return Ok(unknown);
        }
        let budget = self.rho.is_some() || (self.epsilon.is_some() && self.delta.is_some());
        Ok(match (self.noise_multiplier, self.epsilon, self.delta) {
            (None, None, Some(_)) if self.rho.is_some() => Unknown::Epsilon,
            (None, Some(_), None) if self.rho.is_some() => Unknown::Delta,
            (None, _, _) => Unknown::NoiseMultiplier,
            (Some(_), _, _) if budget && self.steps.is_none() => Unknown::Steps,
            (Some(_), Some(_), Some(_)) if self.rho.is_none() => Unknown::Rate,
            (Some(_), None, Some(_)) => Unknown::Epsilon,
            (Some(_), Some(_), None) => Unknown::Delta,
            (Some(_), _, _) => Unknown::Rho,
        })
    }

    /// Refuses a parameter that is asked for and given, and combinations that nothing is known about.
    fn check(&self, unknown: Unknown) -> Fallible<()> {
        let given = match unknown {
            Unknown::NoiseMultiplier => ("--noise-multiplier", self.noise_multiplier.is_some()),
            Unknown::Steps => ("--steps", self.steps.is_some()),
            Unknown::Rate => ("--rate", self.rate.is_some()),
            Unknown::Rho => ("--rho", self.rho.is_some()),
            Unknown::Epsilon => ("--epsilon", self.epsilon.is_some()),
            Unknown::Delta => ("--delta", self.delta.is_some()),
        };
        if given.1 {
            let cure = "leave it out, or leave out what you want to know";
            return Err(Error::parameter(given.0, "is both given and to be solved for", cure));
        }
        if self.steps == Some(0) {
            return Err(Error::parameter("--steps", "is 0", "use at least 1"));
        }
        if self.steps_of_pass.is_some() && self.steps.is_none() {
            let cure = "give the number of steps in all";
            return Err(Error::parameter("--steps", "is missing beside --steps-of-pass", cure));
        }
        let sampled = self.rate.is_some() || unknown == Unknown::Rate;
        if sampled && (self.rho.is_some() || unknown == Unknown::Rho) {
            let problem = "leaves rho as it is: zCDP gains nothing from sampling";
            return Err(Error::parameter("--rate", problem, "use --epsilon and --delta"));
        }
        match (unknown, self.rho, self.epsilon, self.delta, self.noise_multiplier) {
            (Unknown::Epsilon | Unknown::Delta, Some(_), _, _, Some(_)) => {
                Err(Error::parameter("--rho", "and --noise-multiplier both say what is spent", "drop one"))
            }
            (Unknown::NoiseMultiplier | Unknown::Steps, Some(_), Some(_), _, _)
            | (Unknown::NoiseMultiplier | Unknown::Steps, Some(_), _, Some(_), _) => {
                Err(Error::parameter("--rho", "and --epsilon or --delta are two targets", "drop one"))
            }
            _ => Ok(()),
        }
    }

    fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// l2 sensitivity of a sum of rows of norm 1.
    fn factor(&self) -> f64 {
        self.adjacency().sum_sensitivity(1) as f64
    }

    fn steps(&self) -> u64 {
        self.steps.unwrap_or(1)
    }

    fn target(&self) -> Fallible<(Epsilon, Delta)> {
        let (Some(epsilon), Some(delta)) = (self.epsilon, self.delta) else {
            let cure = "give --epsilon and --delta, or --rho";
            return Err(Error::parameter("account calibrate", "needs a target", cure));
        };
        Ok((Epsilon::new(epsilon)?, Delta::new(delta)?))
    }

    fn given_noise(&self) -> Fallible<f64> {
        let missing = || Error::parameter("--noise-multiplier", "is missing", "give it, or solve for it");
        self.noise_multiplier.ok_or_else(missing)
    }

    fn given_epsilon(&self) -> Fallible<Epsilon> {
        let missing = || Error::parameter("--epsilon", "is missing", "delta is solved for at an epsilon: give it");
        self.epsilon.ok_or_else(missing).and_then(Epsilon::new)
    }

    fn given_delta(&self) -> Fallible<Delta> {
        let missing = || Error::parameter("--delta", "is missing", "epsilon is solved for at a delta: give it");
        self.delta.ok_or_else(missing).and_then(Delta::new)
    }

    /// The rho that is spent without sampling.
    fn spent(&self) -> Fallible<f64> {
        match self.rho {
            Some(rho) => Ok(rho),
            None => calibrate::rho(self.given_noise()?, self.steps()),
        }
    }

    /// The noise multiplier relative to the clip norm, as events record it.
    fn recorded_noise(&self) -> Fallible<f64> {
        self.given_noise().map(|noise_multiplier| noise_multiplier * self.factor())
    }

    fn add_noise(&self, answer: &mut Answer, name: &str, noise_multiplier: f64) -> Fallible<()> {
        if !(self.clip > 0.0 && self.clip.is_finite()) {
            let problem = format!("is {}, must be finite and above 0", self.clip);
            return Err(Error::parameter("--clip", problem, "use a positive number"));
        }
        let sigma = calibrate::sigma_of(noise_multiplier, self.factor() * self.clip)?;
        answer.insert(format!("sigma_{name}"), number(sigma));
        answer.insert(format!("noise_multiplier_{name}"), number(noise_multiplier));
        Ok(())
    }

    /// Passes numbers of steps unless none or all meet the target.
    fn checked_steps(&self, fewest: u64, most: u64) -> Fallible<()> {
        if most == 0 {
            let cure = "raise the noise or the target";
            return Err(Error::refused("not even one step with this noise meets the target", cure));
        }
        if fewest == u64::MAX {
            let problem = "any number of steps that can be counted (up to 2^64 - 1) meets the target with this noise";
            return Err(Error::refused(problem, "there is no most; lower the noise or the target"));
        }
        Ok(())
    }
}

/// Gaussian releases of all rows, by every conversion of zCDP.
impl CalibrateArguments {
    fn noise(&self) -> Fallible<Answer> {
        let mut answer = Map::new();
        if let Some(rho) = self.rho {
            self.add_noise(&mut answer, "rho", calibrate::noise_multiplier_from_rho(rho, self.steps())?)?;
            return Ok(answer);
        }
        let (epsilon, delta) = self.target()?;
        for conversion in Conversion::ALL {
            let noise_multiplier = calibrate::noise_multiplier(conversion, epsilon, delta, self.steps())?;
            self.add_noise(&mut answer, conversion.name(), noise_multiplier)?;
        }
        Ok(answer)
    }

    fn most_steps(&self) -> Fallible<Answer> {
        let noise_multiplier = self.given_noise()?;
        if let Some(rho) = self.rho {
            let steps = calibrate::max_steps_from_rho(rho, noise_multiplier)?;
            self.checked_steps(steps, steps)?;
            return Ok(one("max_steps_rho", json!(steps)));
        }
        let (epsilon, delta) = self.target()?;
        let mut answer = Map::new();
        let (mut fewest, mut most) = (u64::MAX, 0);
        for conversion in Conversion::ALL {
            let steps = calibrate::max_steps(conversion, epsilon, delta, noise_multiplier)?;
            (fewest, most) = (steps.min(fewest), steps.max(most));
            answer.insert(format!("max_steps_{conversion}"), json!(steps));
        }
        self.checked_steps(fewest, most)?;
        Ok(answer)
    }

    fn rho(&self) -> Fallible<Answer> {
        if self.noise_multiplier.is_some() {
            return Ok(one("rho", number(self.spent()?)));
        }
        let (epsilon, delta) = self.target()?;
        max_rhos(epsilon, delta)
    }

    fn epsilon(&self) -> Fallible<Answer> {
        epsilons(self.spent()?, self.given_delta()?)
    }

    fn delta(&self) -> Fallible<Answer> {
        deltas(self.spent()?, self.given_epsilon()?)
    }
}

/// Gaussian releases of Poisson samples, by privacy loss distributions.
impl CalibrateArguments {
    fn sampled_noise(&self, rate: f64) -> Fallible<Answer> {
        let (epsilon, delta) = self.target()?;
        let recorded = pld::calibrate_noise_multiplier(rate, self.steps(), self.adjacency(), epsilon, delta)?;
        let mut answer = Map::new();
        // Halving is exact, and so is doubling it again.
        self.add_noise(&mut answer, "pld", recorded / self.factor())?;
        Ok(answer)
    }

    fn sampled_steps(&self, rate: f64) -> Fallible<Answer> {
        let (epsilon, delta) = self.target()?;
        let steps = pld::calibrate_steps(rate, self.recorded_noise()?, self.adjacency(), epsilon, delta)?;
        self.checked_steps(steps, steps)?;
        Ok(one("max_steps_pld", json!(steps)))
    }

    fn largest_rate(&self) -> Fallible<Answer> {
        let (epsilon, delta) = self.target()?;
        let rate = pld::calibrate_rate(self.recorded_noise()?, self.steps(), self.adjacency(), epsilon, delta)?;
        if rate == 0.0 {
            let problem = "no sampling rate from 1e-12 on meets the target with this noise";
            return Err(Error::refused(problem, "raise the noise or the target, or take fewer steps"));
        }
        Ok(one("max_rate_pld", number(rate)))
    }

    fn sampled_epsilon(&self, rate: f64) -> Fallible<Answer> {
        let (noise, delta) = (self.recorded_noise()?, self.given_delta()?);
        Ok(one("epsilon_pld", number(pld::run_epsilon(rate, noise, self.steps(), self.adjacency(), delta)?)))
    }

    fn sampled_delta(&self, rate: f64) -> Fallible<Answer> {
        let (noise, epsilon) = (self.recorded_noise()?, self.given_epsilon()?);
        let ln_delta = pld::run_ln_delta(rate, noise, self.steps(), self.adjacency(), epsilon)?;
        Ok(Map::from_iter(delta_by("pld", ln_delta)))
    }
}

/// Gaussian releases in passes of which each row draws one, by privacy loss distributions.
impl CalibrateArguments {
    fn of_passes(&self, unknown: Unknown, passes: pld::Passes) -> Fallible<Answer> {
        let adjacency = self.adjacency();
        match unknown {
            Unknown::NoiseMultiplier => {
                let (epsilon, delta) = self.target()?;
                let mut answer = Map::new();
                self.add_noise(
                    &mut answer,
                    "pld",
                    passes.noise_multiplier(adjacency, epsilon, delta)? / self.factor(),
                )?;
                Ok(answer)
            }
            Unknown::Epsilon => {
                let epsilon = passes.epsilon(self.recorded_noise()?, adjacency, self.given_delta()?)?;
                Ok(one("epsilon_pld", number(epsilon)))
            }
            Unknown::Delta => {
                let ln_delta = passes.ln_delta(self.recorded_noise()?, adjacency, self.given_epsilon()?)?;
                Ok(Map::from_iter(delta_by("pld", ln_delta)))
            }
            Unknown::Steps | Unknown::Rate | Unknown::Rho => {
                let cure = "solve for --noise-multiplier, --epsilon or --delta";
                Err(Error::parameter("--steps-of-pass", "is for noise, epsilon and delta", cure))
            }
        }
    }
}
