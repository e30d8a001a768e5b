//! Whether one commit is slower than another: `cargo run --release -p rhograd-experiments --example compare_benchmarks -- BEFORE AFTER`.
//!
//! Both are built side by side, and their benchmarks run in turn, so that both meet the same machine. Each benchmark is called
//! slower or faster only where a sign test over the pairs shows it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;
use rhograd::error::{Error, Fallible};
use rhograd_experiments::paired::{Pace, fewest_pairs, median, pace};
use serde_json::Value;

/// Compares the benchmarks of two commits, in pairs
///
/// Exit code: 0 nothing is slower, 1 something is, 2 a commit cannot be built or measured.
#[derive(Parser)]
#[command(
    name = "compare_benchmarks",
    after_help = "Examples:
  compare_benchmarks main HEAD --bench kernel
  compare_benchmarks HEAD~1 HEAD --bench csv --pairs 20 -- --measurement-time 2"
)]
struct Cli {
    /// The commit that is compared with
    before: String,
    /// The commit that may be slower
    after: String,
    /// Benchmarks to run, as of `cargo bench --bench`
    #[arg(long, value_name = "NAME", default_value = "kernel")]
    bench: Vec<String>,
    /// Pairs of runs; without it as few as can show something of so many numbers
    #[arg(long)]
    pairs: Option<usize>,
    /// Differences below this share do not count
    #[arg(long, default_value_t = 0.02)]
    least: f64,
    /// What to pass on to the benchmarks
    #[arg(last = true)]
    arguments: Vec<String>,
}

fn main() -> ExitCode {
    match compare(&Cli::parse()) {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("compare_benchmarks: {error}");
            ExitCode::from(2)
        }
    }
}

/// A commit, checked out and built in a folder of its own.
struct Side {
    commit: String,
    folder: PathBuf,
}

/// Seconds by benchmark.
type Times = BTreeMap<String, f64>;

impl Side {
    fn new(commit: &str, all: &Path) -> Fallible<Side> {
        let full = said(Command::new("git").args(["rev-parse", "--verify", &format!("{commit}^{{commit}}")]), commit)?;
        let folder = all.join(&full);
        if !folder.exists() {
            said(Command::new("git").args(["worktree", "add", "--detach"]).arg(&folder).arg(&full), commit)?;
        }
        Ok(Side { commit: full, folder })
    }

    fn cargo(&self, bench: &str) -> Command {
        let mut command = Command::new("cargo");
        command.args(["bench", "--all-features", "--bench", bench]).current_dir(&self.folder);
        command.env("CARGO_TARGET_DIR", self.folder.join("target")).stderr(Stdio::null());
        command
    }

    /// One run; what it noted.
    fn run(&self, bench: &str, arguments: &[String], history: &Path) -> Fallible<Times> {
        let _ = std::fs::remove_file(history);
        let mut command = self.cargo(bench);
        command.arg("--").args(arguments).env("RHOGRAD_BENCH_HISTORY", history);
        said(&mut command, &self.commit)?;
        let missing = || {
            let problem = format!("{} notes no times of {bench}", self.commit);
            Error::refused(problem, "compare commits whose benchmarks write target/bench-history.jsonl")
        };
        let text = std::fs::read_to_string(history).map_err(|_| missing())?;
        let line: Value = text.lines().last().and_then(|line| serde_json::from_str(line).ok()).ok_or_else(missing)?;
        let mut times = Times::new();
        for (group, own) in line["seconds"].as_object().into_iter().flatten() {
            for (name, seconds) in own.as_object().into_iter().flatten() {
                times.insert(format!("{group}: {name}"), seconds.as_f64().unwrap_or(f64::NAN));
            }
        }
        Ok(times)
    }
}

/// `Ok(true)` where something is slower.
fn compare(cli: &Cli) -> Fallible<bool> {
    let all = PathBuf::from(said(Command::new("git").args(["rev-parse", "--show-toplevel"]), "the repository")?);
    let all = all.join("target/compare-benchmarks");
    let sides = [Side::new(&cli.before, &all)?, Side::new(&cli.after, &all)?];
    for side in &sides {
        for bench in &cli.bench {
            eprintln!("building {bench} of {}", side.commit);
            said(side.cargo(bench).arg("--no-run"), &side.commit)?;
        }
    }
    let history = tempfile::tempdir().map_err(|e| Error::refused(e.to_string(), "make room for files"))?;
    let history = history.path().join("history.jsonl");
    let mut any = false;
    for bench in &cli.bench {
        let mut ratios: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let (mut pair, mut pairs) = (0, cli.pairs.unwrap_or(1));
        while pair < pairs {
            eprint!("\r{bench}: pair {} of {pairs}   ", pair + 1);
            // Whichever is first may meet another machine.
            let order = if pair % 2 == 0 { [0, 1] } else { [1, 0] };
            let mut times = [Times::new(), Times::new()];
            for side in order {
                times[side] = sides[side].run(bench, &cli.arguments, &history)?;
            }
            for (name, before) in &times[0] {
                if let Some(after) = times[1].get(name) {
                    ratios.entry(name.clone()).or_default().push(after / before);
                }
            }
            if pair == 0 {
                pairs = cli.pairs.unwrap_or_else(|| fewest_pairs(ratios.len()));
            }
            pair += 1;
        }
        eprintln!();
        println!("{bench}: {pairs} pairs, {} numbers, differences above {:.0}%", ratios.len(), 100.0 * cli.least);
        for (name, own) in &ratios {
            let found = pace(own, ratios.len(), cli.least);
            any |= found == Pace::Slower;
            println!("{name:60} {:6.3}  {found}", median(own));
        }
    }
    Ok(any)
}

/// What a command printed; an error where it failed.
fn said(command: &mut Command, about: &str) -> Fallible<String> {
    match command.output() {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        Ok(output) => {
            Err(Error::refused(format!("{about}: {} of {command:?}", output.status), "run it by hand to see why"))
        }
        Err(error) => Err(Error::refused(format!("{about}: {command:?}: {error}"), "install what it needs")),
    }
}
