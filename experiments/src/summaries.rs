//! Releases of single numbers through the gate: Laplace and Gaussian counts, and medians by propose-test-release.

use std::path::Path;

use rhograd::data::{CsvFile, Schema};
use rhograd::error::{Error, Fallible};
use rhograd::ledger::Ledger;
use rhograd::plot::{Panel, Scale, Series};
use rhograd::privacy::{Adjacency, Delta, Epsilon, Rho};
use rhograd::summary::{Answer, SummaryNoise, SummaryRequest, summarize};
use rhograd::train::Budget;

use crate::fit::{self, PowerLaw, Summary};
use crate::progress::Progress;
use crate::results::{Results, Row, cell};
use crate::setup::{Plant, Setup, noise, seed_of};
use crate::verdict::{Finding, Verdict};

/// The claim.
pub const CLAIM: &str = "released counts have the errors of their laws; a stable median takes about rho^(-1/2) equal rows, has noise for the proposed bound alone, and an unstable one is never told";

const DELTA: f64 = 1e-6;

/// Budgets of counts: epsilon of Laplace noise, rho of Gaussian noise.
const EPSILONS: [f64; 3] = [0.1, 0.5, 2.0];
const COUNT_RHOS: [f64; 3] = [0.005, 0.125, 0.5];

/// Budgets of medians.
const RHOS: [f64; 7] = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1];
const QUICK_RHOS: [f64; 3] = [1e-3, 1e-2, 1e-1];

/// The bound that a stable median proposes, of numbers between 0 and 1.
const WITHIN: f64 = 0.01;

/// Runs of one measurement, whose mean is kept.
const BATCH: u64 = 50;

/// Of this many runs all but one must tell the median.
const RUNS: u64 = 20;

/// More rows than any search needs.
const MOST: usize = 1 << 16;

/// Rows of the other tables.
const ROWS: usize = 2000;

const SLACK: f64 = 0.05;

/// The kinds of measurements.
const LAPLACE: &str = "laplace count";
const GAUSSIAN: &str = "gaussian count";
const MEDIAN: &str = "stable median";
const UNSTABLE: &str = "unstable median told";
const NEEDED: &str = "rows needed";

const SCHEMA: &str = r#"{"name":"numbers","task":"regression","target":"y","target_lower":0,"target_upper":1,
    "columns":{"x":{"type":"numeric","lower":0,"upper":1}}}"#;

/// A table of numbers on disk, as the command line would read it.
struct Table(tempfile::TempDir);

impl Table {
    fn new(numbers: impl Iterator<Item = f64>) -> Fallible<Self> {
        let failed = |e: std::io::Error| Error::numerical("summaries", format!("a table cannot be written: {e}"));
        let folder = tempfile::tempdir().map_err(failed)?;
        let lines: String = numbers.map(|x| format!("{x},0\n")).collect();
        std::fs::write(folder.path().join("numbers.csv"), format!("x,y\n{lines}")).map_err(failed)?;
        Ok(Table(folder))
    }

    fn ask(&self, statistic: &str, budget: Budget, law: SummaryNoise, seed: u64) -> Fallible<Answer> {
        let request = SummaryRequest {
            schema: Schema::parse(SCHEMA, Path::new("numbers.schema.json"))?,
            adjacency: Adjacency::AddRemove,
            budget,
            noise: law,
            statistics: vec![statistic.parse()?],
            accept_large_delta: false,
        };
        let file = CsvFile::open(&self.0.path().join("numbers.csv"))?;
        let made = summarize(file, &request, &mut Ledger::in_memory()?, noise(seed))?;
        made.file
            .answers
            .into_iter()
            .next()
            .map(|it| it.answer)
            .ok_or_else(|| Error::numerical("summaries", "no answer"))
    }

    /// The median, where the test tells it.
    fn median(&self, rho: f64, seed: u64, factor: f64) -> Fallible<Option<f64>> {
        match self.ask(&format!("stable-median:x:{WITHIN}"), of_rho(rho, factor)?, SummaryNoise::Normal, seed)? {
            Answer::StableMedian { median, .. } => Ok(median),
            other => Err(Error::numerical("summaries", format!("a median was asked for, and told is {other:?}"))),
        }
    }

    fn count(&self, budget: Budget, law: SummaryNoise, seed: u64) -> Fallible<f64> {
        match self.ask("count", budget, law, seed)? {
            Answer::Counts { counts, .. } if counts.len() == 1 => Ok(counts[0].1),
            other => Err(Error::numerical("summaries", format!("a count was asked for, and told is {other:?}"))),
        }
    }
}

/// A budget whose noise is that of `rho` times a factor.
fn of_rho(rho: f64, factor: f64) -> Fallible<Budget> {
    Ok(Budget::Rho(Rho::from_f64(rho / (factor * factor))?, Some(Delta::new(DELTA)?)))
}

/// Rows of the same number at which all but one of some runs tell the median.
fn needed(rho: f64, block: u64, factor: f64) -> Fallible<f64> {
    let enough = |rows: usize| -> Fallible<bool> {
        let table = Table::new(std::iter::repeat_n(0.5, rows))?;
        let mut silent = 0;
        for run in 0..RUNS {
            silent += u32::from(table.median(rho, block * RUNS + run, factor)?.is_none());
            if silent > 1 {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let (mut few, mut many) = (1, MOST);
    while many - few > 1 {
        let rows = usize::midpoint(few, many);
        if enough(rows)? { many = rows } else { few = rows }
    }
    Ok(many as f64)
}

/// Mean size of the noise of a count: `2 r / (1 - r^2)` with `r = e^-epsilon` for Laplace noise on integers, `sqrt(2/pi) / sqrt(2 rho)` for
/// normal noise on a fine grid.
fn expected(part: &str, budget: f64) -> f64 {
    if part == LAPLACE {
        let r = (-budget).exp();
        2.0 * r / (1.0 - r * r)
    } else {
        std::f64::consts::FRAC_2_PI.sqrt() / (2.0 * budget).sqrt()
    }
}

/// Measures what is missing, and judges.
///
/// # Errors
/// When results cannot be written, and for a planted step size: there are no steps.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::WrongStep, "there are no steps here")?;
    let factor = if setup.plant == Some(Plant::HalfNoise) { 0.5 } else { 1.0 };
    let (seeds, blocks): (u64, u64) = if setup.quick { (8, 1) } else { (160, 10) };
    let rhos: &[f64] = if setup.quick { &QUICK_RHOS } else { &RHOS };
    let configuration = setup.configuration(&format!("delta {DELTA}, within {WITHIN}, {ROWS} rows, {RUNS} runs"));
    let path = setup.file("results.csv");
    let mut results = Results::open(&path, &["part", "budget", "seed"], &["value"], &configuration, setup.earlier)?;
    let together = Table::new(std::iter::repeat_n(0.5, ROWS))?;
    let apart = Table::new((0..ROWS).map(|row| (row % 2) as f64))?;
    let progress = Progress::new("summaries", 2 * EPSILONS.len() + 2 + rhos.len());
    let mut each = |part: &str, budget: f64, seeds: u64, value: &dyn Fn(u64) -> Fallible<f64>| -> Fallible<()> {
        progress.say(format!("{part}, budget {budget}"));
        for seed in 0..seeds {
            let key = [part.to_owned(), budget.to_string(), seed.to_string()];
            if !results.has(&key) {
                // Searches make many runs themselves.
                let runs = if part == NEEDED { 1 } else { BATCH };
                let values = (0..runs).map(|run| value(seed_of(&key).wrapping_add(run)));
                let sum = values.sum::<Fallible<f64>>()?;
                results.add(&key, &[cell(sum / runs as f64)])?;
            }
        }
        progress.step();
        Ok(())
    };
    for epsilon in EPSILONS {
        let budget = || Ok::<_, Error>(Budget::Epsilon(Epsilon::new(epsilon / factor)?, None));
        let off = |seed| Ok((together.count(budget()?, SummaryNoise::Laplace, seed)? - ROWS as f64).abs());
        // Most of that law is at 0 where epsilon is large.
        each(LAPLACE, epsilon, if epsilon > 1.0 { 4 * seeds } else { seeds }, &off)?;
    }
    for rho in COUNT_RHOS {
        let off = |seed| Ok((together.count(of_rho(rho, factor)?, SummaryNoise::Normal, seed)? - ROWS as f64).abs());
        each(GAUSSIAN, rho, seeds, &off)?;
    }
    let off = |seed| Ok(together.median(RHOS[4], seed, factor)?.map_or(f64::NAN, |median| (median - 0.5).abs()));
    each(MEDIAN, RHOS[4], seeds, &off)?;
    each(UNSTABLE, RHOS[4], seeds, &|seed| Ok(f64::from(u8::from(apart.median(RHOS[4], seed, factor)?.is_some()))))?;
    for &rho in rhos {
        each(NEEDED, rho, blocks, &|seed| needed(rho, seed >> 8, factor))?;
    }
    setup.draw(&panels(&results, rhos))?;
    findings(&results, rhos, setup.quick).map(Verdict)
}

fn summary(results: &Results, part: &str, budget: f64) -> Summary {
    let picked = |row: &Row<'_>| row.text("part") == part && row.is("budget", budget);
    Summary::of(&results.column("value", picked))
}

/// What an exponent is fitted to.
fn fitted(results: &Results, rhos: &[f64]) -> Vec<(f64, f64)> {
    rhos.iter().map(|&rho| (rho, summary(results, NEEDED, rho).mean)).collect()
}

fn findings(results: &Results, rhos: &[f64], quick: bool) -> Fallible<Vec<Finding>> {
    // Three standard errors of the mean in a quick run.
    let slack = if quick { 3.0 * SLACK } else { SLACK };
    let near = (1.0 - slack, 1.0 + slack);
    let mut found = Vec::new();
    for (part, budget, name) in EPSILONS
        .iter()
        .map(|&epsilon| (LAPLACE, epsilon, "epsilon"))
        .chain(COUNT_RHOS.iter().map(|&rho| (GAUSSIAN, rho, "rho")))
    {
        let (off, theory) = (summary(results, part, budget), expected(part, budget));
        let what = format!("error of a {part} in units of its law, {name} {budget}");
        found.push(Finding::new(what, off.mean / theory, off.half_width() / theory, near));
    }
    // Normal noise of deviation WITHIN / sqrt(1.5 rho).
    let theory = std::f64::consts::FRAC_2_PI.sqrt() * WITHIN / (1.5 * RHOS[4]).sqrt();
    let off = summary(results, MEDIAN, RHOS[4]);
    let what = format!("error of a stable median in units of its law, rho {}", RHOS[4]);
    found.push(Finding::new(what, off.mean / theory, off.half_width() / theory, near));
    let told = summary(results, UNSTABLE, RHOS[4]);
    let runs = told.count as u64 * BATCH;
    let count = (told.mean * runs as f64).round() as u64;
    found.push(Finding::share("share of runs that tell a median at a jump", count, runs, (0.0, 0.01)));
    let law = PowerLaw::fit(&fitted(results, rhos))?;
    found.push(Finding::slope("equal rows for a stable median: exponent of rho", &law, (-0.5 - SLACK, -0.5 + SLACK)));
    // As many rows elsewhere, less one, bring the median to a jump. The second least of 20 normal numbers, 1.41 deviations below 0, must still lift that to the
    // threshold, 5.2 deviations above 1 for a tenth of delta.
    let small = rhos[0];
    let rows = summary(results, NEEDED, small);
    let unit = 1.0 / (0.5 * small).sqrt();
    let what = format!("those rows over a deviation of the test's noise, rho {small}");
    found.push(Finding::new(what, rows.mean / unit, rows.half_width() / unit, (6.0, 7.0)));
    Ok(found)
}

fn panels(results: &Results, rhos: &[f64]) -> Vec<Panel> {
    let points = |part: &str, budgets: &[f64]| {
        let measured = budgets.iter().map(|&budget| {
            let it = summary(results, part, budget);
            (budget, it.mean, it.half_width())
        });
        measured.collect::<Vec<_>>()
    };
    let theory = |part: &str, budgets: &[f64]| {
        Series::theory("theory", budgets.iter().map(|&budget| (budget, expected(part, budget))).collect())
    };
    let counts = |title: &str, part: &str, budgets: &[f64], x: &str| {
        Panel::of(title, vec![theory(part, budgets), Series::measured("released", points(part, budgets))])
            .x(x, Scale::Log)
            .y("mean error (rows)", Scale::Log)
    };
    let mut needed = vec![Series::measured("all but 1 of 20 runs tell it", points(NEEDED, rhos))];
    needed.extend(fit::line("all but 1 of 20 runs tell it", &fitted(results, rhos)));
    vec![
        counts("a count, discrete Laplace noise", LAPLACE, &EPSILONS, "epsilon"),
        counts("a count, Gaussian noise", GAUSSIAN, &COUNT_RHOS, "rho"),
        Panel::of(format!("a stable median, delta {DELTA:e}"), needed).x("rho", Scale::Log).y("equal rows", Scale::Log),
    ]
}
