//! `rhograd train`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::arguments::{AdjacencyArgument, SchemaArgument, delta, same_file, stem};
use super::family::FamilyArguments;
use super::model::{evaluated, most_telling, plain_statement};
use super::output::{bar, print, print_json, seconds, warn};
use crate::data::CsvFile;
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::noise::NoiseSource;
use crate::optim::{Averaging, Settings};
use crate::privacy::{Epsilon, NoiseLaw, Rho};
use crate::train::{Algorithm, Budget, Loaded, LogEntry, StagedFile, TrainConfig, Trained, load, sha256_hex, train};

/// More threads than any machine this runs on has cores for.
const MOST_THREADS: usize = 1024;

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

const EXAMPLES: &str = "\
Examples:
  rhograd train datasets/fair.csv --epsilon 1
  rhograd train adult_train.csv --epsilon 0.5 --delta 1e-6 --out adult.model.json --json
  rhograd train wages.csv --schema wages.schema.json --rho 0.1 --ledger budget.sqlite
  rhograd train wages.csv --epsilon 1 --evaluate-budget 0.1
  rhograd train wages.csv --epsilon 1 --algorithm dp-gd-theory --rows 20000 --radius 2

Writes MODEL (with its privacy statement inside) and LOG (one JSON line per release), and charges
the whole cost to the ledger before the first noise is drawn.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TrainArguments {
    /// CSV file with a header; one line is one record
    data: PathBuf,
    #[command(flatten)]
    schema: SchemaArgument,
    #[command(flatten)]
    family: FamilyArguments,
    /// Training algorithm
    #[arg(long, value_enum, default_value = "auto")]
    algorithm: AlgorithmArgument,
    /// Privacy budget epsilon
    #[arg(long, allow_hyphen_values = true, required_unless_present = "rho", conflicts_with = "rho")]
    epsilon: Option<f64>,
    /// Delta of the guarantee [default: a tenth of one over the public row count, at most 1e-5; 1e-6 without one]
    #[arg(long, allow_hyphen_values = true)]
    delta: Option<f64>,
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
    /// Do not standardise features by privately released moments
    #[arg(long)]
    no_standardise: bool,
    /// Public number of rows, known without counting the file [default: the schema's "rows"]
    #[arg(long, value_name = "N")]
    rows: Option<u64>,
    /// Share of the budget for metrics on rows held out of training, released with the model
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    evaluate_budget: Option<f64>,
    /// Probability with which a row is held out, with --evaluate-budget
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, requires = "evaluate_budget", allow_hyphen_values = true)]
    holdout: f64,
    /// Law of the integer noise
    #[arg(long, value_enum, default_value = "normal")]
    noise: NoiseArgument,
    /// Model file [default: NAME.model.json in the current directory]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Log file [default: the model file's name with .log.jsonl]
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Ledger that the run is charged to [default: NAME.ledger.sqlite beside the data]
    #[arg(long, value_name = "FILE", conflicts_with = "no_ledger")]
    ledger: Option<PathBuf>,
    /// Keep no ledger: nothing then binds further runs on the data set, and the statement says so
    #[arg(long)]
    no_ledger: bool,
    /// Threads [default: all]; changes no bit of the result
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Reproducible noise for trials: the result is NOT private and its statement says so
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &TrainArguments) -> Fallible<ExitCode> {
    set_threads(arguments.threads)?;
    let config = arguments.config()?;
    let schema = arguments.schema.read(&arguments.data)?;
    config.check(&schema)?;
    // Without randomness there is no run, so no row is read either.
    let noise = match arguments.seed {
        Some(seed) => NoiseSource::insecure_from_seed(seed),
        None => NoiseSource::from_os()?,
    };
    let file = CsvFile::open(&arguments.data)?;
    let drafted = schema.draft;
    let loading = bar(file.body_bytes() as u64, "reading", "bytes");
    let loaded = load(&config, schema, &file, &|done, _| loading.set_position(done))?;
    loading.finish_and_clear();
    drop(file);
    report_load(&loaded);
    if drafted {
        warn(
            "warning: the schema is a draft made from the rows, so the model will be marked NOT PRIVATE; replace its bounds by public ones and delete \"draft\"",
        );
    }
    // Both files are staged before the charge: a directory that cannot be written to costs nothing.
    let (out, log) = arguments.outputs();
    arguments.refuse_overwriting(&out, &log)?;
    let (model_file, log_file) = (StagedFile::new(&out)?, StagedFile::new(&log)?);
    let mut ledger = arguments.open_ledger()?;
    warn(&format!("{} steps on {} coefficients", loaded.plan().steps(), loaded.plan().dimension));
    let finished = execute(loaded, &mut ledger, noise, model_file, log_file)?;
    report_spending(&mut ledger, &finished.trained)?;
    if arguments.json {
        print_json(&summary(&finished, &out, &log))?;
    } else {
        print(&page(&finished.trained, &out, &log))?;
    }
    Ok(ExitCode::SUCCESS)
}

struct Finished {
    trained: Trained,
    last: Option<LogEntry>,
    load_seconds: f64,
}

/// Charges, trains, notes the model in the ledger, and publishes log and model.
fn execute(
    loaded: Loaded,
    ledger: &mut Ledger,
    noise: NoiseSource,
    mut model_file: StagedFile,
    mut log_file: StagedFile,
) -> Fallible<Finished> {
    let load_seconds = loaded.load_seconds;
    let steps = bar(loaded.plan().steps(), "training", "steps");
    let mut last = None;
    let (trained, paid) = train(loaded, ledger, noise, &mut |entry: &LogEntry| {
        log_file.append(entry.to_json()?.as_bytes())?;
        steps.set_position(entry.step);
        last = Some(entry.clone());
        Ok(())
    })?;
    steps.finish_and_clear();
    let text = trained.model.to_json();
    model_file.append(text.as_bytes())?;
    // Noted first, so that every model that can be seen is in the ledger. It was paid for: it is
    // published even where the note fails, and `verify --ledger` will then say so.
    let noted = ledger.complete(paid.reservation(), &sha256_hex(text.as_bytes()));
    log_file.publish()?;
    model_file.publish()?;
    noted?;
    Ok(Finished { trained, last, load_seconds })
}

impl TrainArguments {
    fn config(&self) -> Fallible<TrainConfig> {
        let delta = delta(self.delta)?;
        let budget = match (self.epsilon, self.rho) {
            (_, Some(rho)) => Budget::Rho(Rho::from_f64(rho)?, delta),
            (epsilon, None) => Budget::Epsilon(Epsilon::new(epsilon.unwrap_or(f64::NAN))?, delta),
        };
        Ok(TrainConfig {
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
            ..TrainConfig::new(budget)
        })
    }

    fn outputs(&self) -> (PathBuf, PathBuf) {
        let name = stem(&self.data);
        let out = self.out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.model.json")));
        let beside = || {
            let file = out.file_name().map(|f| f.to_string_lossy().into_owned()).unwrap_or_default();
            let base = file.strip_suffix(".model.json").or(file.strip_suffix(".json")).unwrap_or(&file);
            out.with_file_name(format!("{base}.log.jsonl"))
        };
        let log = self.log.clone().unwrap_or_else(beside);
        (out, log)
    }

    fn ledger_path(&self) -> PathBuf {
        let beside = || self.data.with_file_name(format!("{}.ledger.sqlite", stem(&self.data)));
        self.ledger.clone().unwrap_or_else(beside)
    }

    fn open_ledger(&self) -> Fallible<Ledger> {
        if self.no_ledger { Ledger::in_memory() } else { Ledger::open_or_create(self.ledger_path()) }
    }

    /// A result must not take the place of an input, of the ledger, or of the other result.
    fn refuse_overwriting(&self, out: &Path, log: &Path) -> Fallible<()> {
        let ledger = self.ledger_path();
        let mut kept = vec![("the data", self.data.clone()), ("the schema", self.schema.path(&self.data)?)];
        for suffix in ["", "-journal", "-wal"] {
            let mut name = ledger.clone().into_os_string();
            name.push(suffix);
            kept.push(("the ledger", PathBuf::from(name)));
        }
        for (flag, output) in [("--out", out), ("--log", log)] {
            if let Some((what, _)) = kept.iter().find(|(_, path)| same_file(path, output)) {
                return Err(Error::parameter(flag, format!("would overwrite {what}"), "name another file"));
            }
            kept.push(("the other result", output.to_owned()));
        }
        Ok(())
    }
}

fn set_threads(threads: Option<usize>) -> Fallible<()> {
    match threads {
        None => Ok(()),
        Some(n) if n == 0 || n > MOST_THREADS => {
            let problem = format!("is {n}, must be in 1..={MOST_THREADS}");
            Err(Error::parameter("--threads", problem, "leave it out to use all"))
        }
        Some(n) => rayon::ThreadPoolBuilder::new()
            .num_threads(n)
            .build_global()
            .map_err(|e| Error::parameter("--threads", e.to_string(), "use fewer threads")),
    }
}

/// What the custodian may know about the load; standard error only.
fn report_load(loaded: &Loaded) {
    let report = &loaded.report;
    warn(&format!("custodian-only: {} lines read in {}", report.lines, seconds(loaded.load_seconds)));
    if let Some(line) = report.first_unusable {
        warn(&format!(
            "custodian-only: {} lines are no records (wrong number of cells, or a label or target that the schema does not allow) and contribute nothing; the first is line {line}",
            report.unusable
        ));
    }
    if report.positives == Some(0) {
        warn("custodian-only: no row has the positive label; check \"positive\" in the schema");
    }
    if report.missing + report.undeclared > 0 {
        warn(&format!(
            "custodian-only: {} numeric cells missing or unreadable, {} category cells not declared",
            report.missing, report.undeclared
        ));
    }
}

/// What all runs on the data set have cost so far; a function of public parameters.
fn report_spending(ledger: &mut Ledger, trained: &Trained) -> Fallible<()> {
    let Some(path) = ledger.path().map(Path::to_owned) else { return Ok(()) };
    let dataset = crate::privacy::DatasetId::new(trained.model.statement.dataset.id.clone())?;
    let summary = ledger.summary(&dataset)?;
    let cap = match &summary.left {
        Some(left) => format!("{} left under its cap", left.lower()),
        None => "no cap set; `rhograd ledger cap` sets one".into(),
    };
    warn(&format!(
        "ledger {}: \"{dataset}\" has spent rho {} in {} runs, {cap}",
        path.display(),
        summary.spent.upper(),
        summary.runs
    ));
    Ok(())
}

fn page(trained: &Trained, out: &Path, log: &Path) -> String {
    format!(
        "{}\n{}{}\nmodel  {}\nlog    {}\n",
        plain_statement(&trained.model.statement),
        most_telling(&trained.model, 10),
        evaluated(&trained.model),
        out.display(),
        log.display()
    )
}

fn summary(finished: &Finished, out: &Path, log: &Path) -> serde_json::Value {
    let Finished { trained, last, load_seconds } = finished;
    let statement = &trained.model.statement;
    let facts = &statement.facts;
    let guarantee = &statement.guarantee;
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::INFINITY);
    json!({
        "dp": statement.dp,
        "dataset": facts.dataset,
        "model": facts.model,
        "algorithm": facts.algorithm,
        "adjacency": facts.adjacency,
        "rho": number(&guarantee.rho_upper),
        "epsilon": number(&guarantee.epsilon),
        "delta": number(&guarantee.delta),
        "epsilon_exact": guarantee.epsilon_exact.as_deref().map(number),
        "epsilon_zcdp": guarantee.epsilon_zcdp.as_deref().map(number),
        "epsilon_zcdp_classical": guarantee.epsilon_zcdp_classical.as_deref().map(number),
        "epsilon_pld": guarantee.epsilon_pld.as_deref().map(number),
        "epsilon_rdp": guarantee.epsilon_rdp.as_deref().map(number),
        "approximate_delta": guarantee.approximate_delta.as_deref().map(number),
        "steps": statement.mechanism.steps,
        "noise_multiplier": statement.mechanism.noise_multiplier,
        "sigma": statement.mechanism.sigma,
        "clip": statement.mechanism.clip_norm,
        "settings": facts.settings,
        "dimension": facts.dimension,
        "evaluation": trained.model.evaluation,
        "releases": last.as_ref().map_or(0, |entry| entry.release),
        "out": out,
        "log": log,
        "custodian_only": ["load_seconds", "train_seconds", "seconds_per_step", "rows_per_second"],
        "load_seconds": load_seconds,
        "train_seconds": trained.train_seconds,
        "seconds_per_step": trained.seconds_per_step,
        "rows_per_second": trained.rows_per_second,
    })
}
