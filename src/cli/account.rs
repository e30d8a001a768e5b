//! `rhograd account`: the privacy calculator.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::arguments::as_flag;
use super::calibrate::{self, Answer, CalibrateArguments};
use super::curve::{self, CurveArguments};
use super::eval::{self, EvalArguments};
use super::output::{number, print, print_json};
use crate::accounting::gaussian;
use crate::error::{Error, Fallible};
use crate::num::round::{decimal_down, decimal_up};
use crate::privacy::{Delta, Epsilon};

#[derive(Subcommand)]
pub(super) enum AccountCommand {
    /// Convert between rho, mu, noise multiplier, epsilon and delta
    #[command(after_help = "Examples:
  # epsilon by every conversion
  rhograd account convert --rho 0.5 --delta 1e-6
  # delta by every conversion
  rhograd account convert --rho 0.5 --epsilon 4
  # the rho that may be spent
  rhograd account convert --epsilon 1 --delta 1e-6
  rhograd account convert --noise-multiplier 30 --steps 100 --delta 1e-6

epsilon and delta are rounded up, the rho that may be spent down. `exact` holds for Gaussian noise only.")]
    Convert(ConvertArguments),
    /// Noise, steps, sampling rate, rho, epsilon or delta: any one from the others
    #[command(after_help = calibrate::EXAMPLES)]
    Calibrate(CalibrateArguments),
    /// Draw epsilon against delta or steps, or trade-off functions, by several notions
    Curve(Box<CurveArguments>),
    /// Answer queries from a file, one JSON object a line
    Eval(EvalArguments),
}

#[derive(Args)]
pub(super) struct ConvertArguments {
    /// rho of zCDP
    #[arg(long, allow_hyphen_values = true, conflicts_with_all = ["mu", "noise_multiplier"])]
    rho: Option<f64>,
    /// mu of Gaussian DP
    #[arg(long, allow_hyphen_values = true, conflicts_with = "noise_multiplier")]
    mu: Option<f64>,
    /// Noise standard deviation over l2 sensitivity, per step
    #[arg(long, allow_hyphen_values = true)]
    noise_multiplier: Option<f64>,
    /// Steps of --noise-multiplier
    #[arg(long, default_value_t = 1, requires = "noise_multiplier")]
    steps: u64,
    /// epsilon
    #[arg(long, allow_hyphen_values = true)]
    epsilon: Option<f64>,
    /// delta
    #[arg(long, allow_hyphen_values = true)]
    delta: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &AccountCommand) -> Fallible<ExitCode> {
    let (answer, json) = match command {
        AccountCommand::Convert(arguments) => (convert(arguments).map_err(as_flag)?, arguments.json),
        AccountCommand::Calibrate(arguments) => (calibrate::calibrate(arguments).map_err(as_flag)?, arguments.json),
        AccountCommand::Curve(arguments) => return curve::curve(arguments),
        AccountCommand::Eval(arguments) => return eval::eval(arguments),
    };
    if json {
        print_json(&Value::Object(answer))?;
    } else {
        let lines = answer.iter().map(|(name, value)| format!("{name:24} {}\n", plain(name, value)));
        print(&lines.collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Twelve digits, rounded down for what a budget allows (`max_...`) and up for what is spent.
fn plain(name: &str, value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => {
            let round = if name.starts_with("max_") { decimal_down } else { decimal_up };
            round(number.as_f64().unwrap_or(f64::INFINITY), 12)
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn convert(arguments: &ConvertArguments) -> Fallible<Answer> {
    let epsilon = arguments.epsilon.map(Epsilon::new).transpose()?;
    let delta = arguments.delta.map(Delta::new).transpose()?;
    let Some(rho) = arguments.spent()? else {
        let (Some(epsilon), Some(delta)) = (epsilon, delta) else {
            return Err(Error::parameter(
                "account convert",
                "needs two quantities",
                "give --epsilon and --delta, or one of --rho, --mu, --noise-multiplier with one of them",
            ));
        };
        return calibrate::max_rhos(epsilon, delta);
    };
    let mut answer = Answer::from_iter([("rho".to_owned(), number(rho))]);
    match (epsilon, delta) {
        (None, Some(delta)) => answer.extend(calibrate::epsilons(rho, delta)?),
        (Some(epsilon), None) => answer.extend(calibrate::deltas(rho, epsilon)?),
        (None, None) => {
            answer.insert("mu".into(), number(gaussian::mu_upper_from_rho(rho)?));
        }
        (Some(_), Some(_)) => {
            return Err(Error::parameter("--epsilon", "and --delta together leave nothing to compute", "drop one"));
        }
    }
    Ok(answer)
}

impl ConvertArguments {
    /// The rho that the given mechanism costs, rounded up.
    fn spent(&self) -> Fallible<Option<f64>> {
        if let Some(rho) = self.rho {
            return Ok(Some(rho));
        }
        if let Some(mu) = self.mu {
            return gaussian::compose(&[mu]).map(|rho| Some(rho.upper()));
        }
        let Some(noise_multiplier) = self.noise_multiplier else { return Ok(None) };
        crate::calculator::calibrate::rho(noise_multiplier, self.steps).map(Some)
    }
}
