//! A request for a run as options of the command line, shared by what trains and what audits.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueEnum, value_parser};

use super::arguments::{delta, epsilon, rho};
use super::family::FamilyArguments;
use super::help::{ALGORITHM, BUDGET, HOLD_OUT, MODEL};
use crate::data::{Protect, Schema};
use crate::error::{Error, Fallible};
use crate::optim::settings::Kind;
use crate::optim::{Algorithm, Features, SETTINGS, Settings};
use crate::privacy::{Adjacency, NoiseLaw};
use crate::train::{Budget, Candidate, DEFAULT_GRID, TrainConfig};

impl ValueEnum for Algorithm {
    fn value_variants<'a>() -> &'a [Self] {
        &Algorithm::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.description().about))
    }
}

/// The rows of [`SETTINGS`] as options.
struct SettingsArguments(Settings);

impl Args for SettingsArguments {
    fn augment_args(command: Command) -> Command {
        SETTINGS.iter().fold(command, |command, setting| {
            let option = Arg::new(setting.name)
                .long(setting.name)
                .value_name(setting.value_name)
                .help_heading(ALGORITHM)
                .hide_short_help(true)
                .help(format!("{} [default: {}]", setting.about, setting.default));
            command.arg(match setting.kind {
                Kind::Number { .. } => option.allow_hyphen_values(true).value_parser(value_parser!(f64)),
                Kind::Count { .. } => option.value_parser(value_parser!(u64)),
                Kind::Choice { names, .. } => option.value_parser(PossibleValuesParser::new(names)),
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingsArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut settings = Settings::default();
        for setting in SETTINGS {
            let name = setting.name;
            match setting.kind {
                Kind::Number { set, .. } => matches.get_one(name).into_iter().for_each(|it| set(&mut settings, *it)),
                Kind::Count { set, .. } => matches.get_one(name).into_iter().for_each(|it| set(&mut settings, *it)),
                Kind::Choice { set, .. } => {
                    matches.get_one::<String>(name).into_iter().for_each(|it| set(&mut settings, it));
                }
            }
        }
        Ok(SettingsArguments(settings))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What is to be trained, and within which budget.
#[derive(Args)]
pub(super) struct RequestArguments {
    #[command(flatten)]
    family: FamilyArguments,
    /// Training algorithm
    #[arg(long, value_enum, default_value = "auto", display_order = 5)]
    algorithm: Algorithm,
    /// Form of the effects: linear; additive, a curve for every column; rich, curves and what columns do together; auto, lines
    /// and the curves that show
    #[arg(long, value_enum, help_heading = MODEL, hide_short_help = true)]
    features: Option<Features>,
    /// Privacy budget epsilon
    #[arg(long, allow_hyphen_values = true, conflicts_with = "rho", display_order = 1)]
    epsilon: Option<f64>,
    /// Delta of the guarantee [default: a tenth of one over the public row count, at most 1e-5; 1e-6 without one]
    #[arg(long, allow_hyphen_values = true, display_order = 2)]
    delta: Option<f64>,
    /// Accept a delta above a tenth of one over the declared rows, or above 1e-3: with that probability whole rows may show,
    /// and the statement says so
    #[arg(long, help_heading = BUDGET, hide_short_help = true)]
    accept_large_delta: bool,
    /// Privacy budget as rho of zCDP
    #[arg(long, allow_hyphen_values = true, help_heading = BUDGET, hide_short_help = true)]
    rho: Option<f64>,
    /// Which data sets are neighbours [default: add-remove; replace-one for labels alone]
    #[arg(long, value_enum, display_order = 6)]
    adjacency: Option<Adjacency>,
    #[command(flatten)]
    settings: SettingsArguments,
    /// Choose among candidates by their noised losses, all of it paid from the same budget
    ///
    /// GRID names values of settings, as in --tune='algorithm=whitened,dp-gd;steps=8,16': algorithm and
    /// the settings above. Few candidates are run once each; many are run a secret random
    /// number of times (Papernot and Steinke 2022), whichever leaves each run more budget. [--tune alone:
    /// algorithm=whitened,dp-gd]
    #[arg(long, value_name = "GRID", num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT_GRID, display_order = 7)]
    tune: Option<String>,
    /// Do not standardise features by privately released moments
    #[arg(long = "no-standardise", visible_alias = "no-standardize", help_heading = MODEL, hide_short_help = true)]
    no_standardize: bool,
    /// Public number of rows, known without counting the file [default: the schema's "rows"]
    #[arg(long, value_name = "N", help_heading = BUDGET, hide_short_help = true)]
    rows: Option<u64>,
    /// Share of the budget for metrics on rows held out of training, released with the model
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, help_heading = HOLD_OUT, hide_short_help = true)]
    evaluate_budget: Option<f64>,
    /// Share of rows that is held out, with --evaluate-budget: each by a coin of its own, exactly that many with replace-one
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, requires = "evaluate_budget", allow_hyphen_values = true, help_heading = HOLD_OUT, hide_short_help = true)]
    holdout: f64,
    /// Law of the integer noise
    #[arg(long, value_enum, default_value = "normal", help_heading = BUDGET, hide_short_help = true)]
    noise: NoiseLaw,
}

impl RequestArguments {
    /// Which data sets are neighbours.
    pub(super) fn adjacency(&self) -> Adjacency {
        self.adjacency.unwrap_or(Adjacency::AddRemove)
    }

    /// Whether the relation was said.
    pub(super) fn has_adjacency(&self) -> bool {
        self.adjacency.is_some()
    }

    /// A request with what follows from the schema: labels, and private cells beside public ones, do not come or go.
    pub(super) fn on(&self, schema: &Schema, config: TrainConfig) -> TrainConfig {
        match (self.adjacency, schema.privacy_unit().is_replaced()) {
            (None, true) => TrainConfig { adjacency: Adjacency::ReplaceOne, ..config },
            _ => config,
        }
    }

    /// A request with what follows from what of a row is protected.
    pub(super) fn protecting(&self, protect: Protect, config: TrainConfig) -> TrainConfig {
        match (self.adjacency, protect) {
            (None, Protect::Label) => TrainConfig { adjacency: Adjacency::ReplaceOne, ..config },
            _ => config,
        }
    }

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
            adjacency: self.adjacency(),
            model: self.family.kind()?,
            algorithm: Features::algorithm(self.features, self.algorithm)?,
            noise: self.noise,
            settings: self.settings.0.clone(),
            standardize: self.no_standardize.then_some(false),
            rows: self.rows,
            evaluate_budget: self.evaluate_budget,
            holdout: self.holdout,
            accept_large_delta: self.accept_large_delta,
            ..TrainConfig::new(budget)
        };
        let tune = self.tune.as_ref().map(|grid| Candidate::grid(grid, &config)).transpose()?;
        let config = TrainConfig { tune: tune.unwrap_or_default(), ..config };
        config.check_given()?;
        Ok(config)
    }
}
