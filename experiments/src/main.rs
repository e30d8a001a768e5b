//! The command line of the experiments.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use rhograd::error::{Error, Fallible};
use rhograd::train::Algorithm;
use rhograd_experiments::results::Earlier;
use rhograd_experiments::setup::{Plant, Setup, UtilityChoice, commit};
use rhograd_experiments::verdict::Outcome;
use rhograd_experiments::{EXPERIMENTS, Experiment, document, redraw};

/// Experiments on rhograd: each states a claim, measures it, and says whether it held
///
/// Exit code: 0 no claim failed, 1 one did, 2 bad usage or input. A claim is undecided where its interval reaches beyond it.
#[derive(Parser)]
#[command(name = "rhograd-experiments", version)]
struct Cli {
    /// `list`, `all`, the name of an experiment, or `figures`: the figures of all full runs drawn again as SVG and PDF, whole and by panel, and one page with them
    name: String,
    /// Measure less, into the folder `quick` beside the committed results
    #[arg(long)]
    quick: bool,
    /// Write to DIR/NAME instead of the experiment's own folder; a stopped run resumes there. figures: the folder, `figures` without it
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Measure again what is there already
    #[arg(long)]
    fresh: bool,
    /// Plant an error, to see that the verdict notices
    #[arg(long, value_enum, hide = true)]
    plant: Option<Plant>,
    /// utility: this algorithm, or `all` (the default unless --quick)
    #[arg(long, value_name = "NAME")]
    algorithm: Option<String>,
    /// utility, labels, losses: pairs TRAIN.csv TEST.csv, each with its schema beside it, and names of the repository's own data sets,
    /// fair and randhie; without any the latter. persons: pairs alone, whose schema names the unit; without any generated persons
    data: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("rhograd-experiments: {error}");
            ExitCode::from(2)
        }
    }
}

/// `Ok(false)` when a claim did not hold.
fn run(cli: &Cli) -> Fallible<bool> {
    let (takes_algorithm, takes_data) =
        (cli.name == "utility", ["utility", "labels", "losses", "persons"].contains(&cli.name.as_str()));
    if (!takes_algorithm && cli.algorithm.is_some()) || (!takes_data && !cli.data.is_empty()) {
        let problem = format!("{} takes neither --algorithm nor, but for labels, losses and persons, data", cli.name);
        return Err(Error::parameter("NAME", problem, "leave them out, or run utility"));
    }
    match cli.name.as_str() {
        "list" => {
            EXPERIMENTS.iter().for_each(|experiment| println!("{:20} {}", experiment.name, experiment.claim));
            Ok(true)
        }
        "figures" => {
            let out = cli.out.clone().unwrap_or_else(|| PathBuf::from("figures"));
            let home = Path::new(env!("CARGO_MANIFEST_DIR"));
            let drawn = redraw::all(home, &out)?;
            let page = out.join("figures.html");
            let found = document::write(home, &page)?;
            println!("{drawn} figures, whole and by panel: {}; {found} with claims: {}", out.display(), page.display());
            Ok(true)
        }
        "all" => EXPERIMENTS.iter().try_fold(true, |held, experiment| Ok(one(cli, experiment)? && held)),
        name => match EXPERIMENTS.iter().find(|experiment| experiment.name == name) {
            Some(experiment) => one(cli, experiment),
            None => {
                let known: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
                let cure = format!("use list, all, or one of {}", known.join(", "));
                Err(Error::parameter("NAME", format!("{name:?} is no experiment"), cure))
            }
        },
    }
}

fn one(cli: &Cli, experiment: &Experiment) -> Fallible<bool> {
    let mut setup = Setup::of(experiment.name, cli.quick, cli.out.as_deref());
    if cli.fresh {
        setup.earlier = Earlier::Fresh;
    }
    setup.plant = cli.plant;
    setup.utility =
        UtilityChoice { algorithm: algorithm(cli.algorithm.as_deref(), cli.quick)?, data: cli.data.clone() };
    println!("== {}: {}", experiment.name, experiment.claim);
    if setup.earlier == Earlier::Fresh {
        setup.forget()?;
    }
    let (commit, begun) = (commit(), Instant::now());
    let before = if setup.earlier == Earlier::Fresh { HashSet::new() } else { setup.measured() };
    let verdict = (experiment.run)(&setup)?;
    let fits = setup.file("fits.csv");
    verdict.write(&fits)?;
    // What was there already keeps the line of the run that measured it.
    match setup.measured().difference(&before).count() {
        0 => (),
        measured => setup.note(measured, &commit, begun.elapsed().as_secs_f64())?,
    }
    print!("{}", verdict.text());
    println!("results, plot and fits are in {}\n", setup.out.display());
    Ok(verdict.outcome() != Outcome::Failed)
}

/// `None` stands for all algorithms.
fn algorithm(name: Option<&str>, quick: bool) -> Fallible<Option<Algorithm>> {
    let name = name.unwrap_or(if quick { "auto" } else { "all" });
    if name == "all" {
        return Ok(None);
    }
    let known = || Algorithm::ALL.map(Algorithm::name).join(", ");
    let unknown =
        || Error::parameter("--algorithm", format!("{name:?} is unknown"), format!("use all or one of {}", known()));
    Algorithm::named(name).ok_or_else(unknown).map(Some)
}
