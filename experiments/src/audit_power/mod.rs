//! How many trials an audit needs to expose noise that is too small.

mod picture;
mod simulated;
mod theory;
mod trained;

use rhograd::error::Fallible;

use crate::fit::{PowerLaw, Summary};
use crate::progress::Progress;
use crate::results::{Results, cell};
use crate::setup::{Plant, Setup, seed_of};
use crate::verdict::{Finding, Verdict};
use theory::Case;

/// The claim.
pub const CLAIM: &str =
    "an audit exposes noise too small by a share in a number of trials that grows as its square falls";

/// Probability that a bound of one attack on an honest mechanism is wrong.
const FALSE_ALARM: f64 = 1e-4;

/// Share of attacks that must refute the claim.
const POWER: f64 = 0.9;

/// Share of attacks on an honest trainer that may refute it. The nominal one would take 37,000 attacks that train to be shown.
const MAX_TRAINED_ALARMS: f64 = 0.1;

/// The noise over what the claim needs, and the mu that is claimed.
const FACTORS: [f64; 9] = [0.8, 0.85, 0.9, 0.93, 0.95, 0.965, 0.975, 0.985, 0.99];
const QUICK_FACTORS: [f64; 5] = [0.8, 0.85, 0.9, 0.95, 0.975];
const CLAIMS: [f64; 4] = [1.0, 2.0, 3.0, 4.0];

/// The planted noise over that of the case.
const HALF: f64 = 0.5;

/// From here on so little noise is missing that errors are many in any attack that finds it, and the exponent is fitted.
const LITTLE: f64 = 0.9;

/// Where a fitted exponent may lie about that of the theory, and trials in units of the theory's.
const SLACK: f64 = 0.12;
const CLOSE: (f64, f64) = (0.85, 1.15);

/// Trials of the attacks on the trainer in units of the theory's: too few, and enough for a rule that was itself learned.
const SHARES: [f64; 2] = [0.4, 2.0];

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Trials needed by an attack whose scores are normal.
    Needed,
    /// Share of attacks on an honest mechanism that refute it.
    Honest,
    /// Share of attacks on real training runs that refute the claim, with a share of the theory's trials.
    Trained,
    /// The same for an honest trainer.
    TrainedHonest,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Needed => "trials needed",
            Part::Honest => "refuted, honest",
            Part::Trained => "refuted, dp-gd",
            Part::TrainedHonest => "refuted, honest dp-gd",
        }
    }
}

/// One measurement: a case, and for shares of attacks the number of trials.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    part: Part,
    case: Case,
    trials: u64,
}

impl Cell {
    fn key(&self, seed: u64) -> [String; 5] {
        let Cell { part, case, trials } = self;
        [
            part.name().to_owned(),
            case.claimed.to_string(),
            case.factor.to_string(),
            trials.to_string(),
            seed.to_string(),
        ]
    }

    fn of(&self, results: &Results) -> Summary {
        let numbers = [("mu", self.case.claimed), ("factor", self.case.factor), ("trials", self.trials as f64)];
        Summary::of(&results.column("value", |row| {
            row.text("part") == self.part.name() && numbers.iter().all(|(name, value)| row.is(name, *value))
        }))
    }

    /// A number of trials, or 1 for an attack that refuted and 0 for one that did not.
    fn measure(&self, seed: u64, quick: bool, plant: Option<Plant>) -> Fallible<f64> {
        let halved = if plant == Some(Plant::HalfNoise) { HALF } else { 1.0 };
        match self.part {
            Part::Needed => simulated::needed(&self.case, halved, seed, quick),
            Part::Honest => simulated::refuted(&self.case, halved, self.trials, seed),
            Part::Trained | Part::TrainedHonest => trained::refuted(&self.case, halved, self.trials, seed).map(share),
        }
    }

    /// Attacks, or for trials needed whole searches.
    fn seeds(&self, quick: bool) -> u64 {
        match (self.part, quick) {
            (Part::Needed, true) => 4,
            (Part::Needed, false) => 10,
            (Part::Honest, true) => 2,
            // 40,000 attacks in all: without an alarm their share is below 1e-4 with confidence.
            (Part::Honest, false) => 100,
            (_, true) => 5,
            // Where all attacks refute, 36 show that nine of ten do.
            (_, false) => 40,
        }
    }
}

fn share(refuted: bool) -> f64 {
    if refuted { 1.0 } else { 0.0 }
}

/// The noise that a run looks at.
fn factors(quick: bool) -> &'static [f64] {
    if quick { &QUICK_FACTORS } else { &FACTORS }
}

/// Every case with too little noise.
fn cases(quick: bool) -> impl Iterator<Item = Case> {
    CLAIMS.into_iter().flat_map(move |claimed| factors(quick).iter().map(move |&factor| Case { claimed, factor }))
}

/// The attacks on the trainer: the claim of `tests/statistical/audit`, a fifth of the noise missing.
fn trainer(part: Part) -> Fallible<Vec<Cell>> {
    let case = Case { claimed: 3.0, factor: 0.8 };
    let cell = |share: f64| {
        let trials = (share * case.trials()?).round() as u64;
        let factor = if part == Part::TrainedHonest { 1.0 } else { case.factor };
        Ok(Cell { part, case: Case { factor, ..case }, trials })
    };
    let shares = if part == Part::TrainedHonest { &SHARES[1..] } else { &SHARES[..] };
    shares.iter().map(|share| cell(*share)).collect()
}

fn cells(quick: bool) -> Fallible<Vec<Cell>> {
    let mut cells: Vec<Cell> = cases(quick).map(|case| Cell { part: Part::Needed, case, trials: 0 }).collect();
    cells.extend(CLAIMS.map(honest));
    cells.extend(trainer(Part::Trained)?);
    cells.extend(trainer(Part::TrainedHonest)?);
    Ok(cells)
}

/// An honest mechanism under an attack of as many trials as any case needs, about.
fn honest(claimed: f64) -> Cell {
    Cell { part: Part::Honest, case: Case { claimed, factor: 1.0 }, trials: 50_000 }
}

/// Measures what is missing, and fits.
///
/// # Errors
/// When results cannot be written or an attack fails, and for a planted step size: the attacked runs stay where they start.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::WrongStep, "the attacked runs stay where they start")?;
    let cells = cells(setup.quick)?;
    let configuration =
        setup.configuration(&format!("{FALSE_ALARM} {POWER}, quick {}, noise from the key", setup.quick));
    let keys = ["part", "mu", "factor", "trials", "seed"];
    let mut results = Results::open(&setup.file("results.csv"), &keys, &["value"], &configuration, setup.earlier)?;
    let progress = Progress::new("audit-power", cells.len());
    for cell_of in &cells {
        progress.say(format!("{} at mu {}, noise {}", cell_of.part.name(), cell_of.case.claimed, cell_of.case.factor));
        for seed in 0..cell_of.seeds(setup.quick) {
            let key = cell_of.key(seed);
            if !results.has(&key) {
                results.add(&key, &[cell(cell_of.measure(seed_of(&key), setup.quick, setup.plant)?)])?;
            }
        }
        progress.step();
    }
    setup.draw(&picture::panels(&results, setup.quick)?)?;
    findings(&results, setup.quick).map(Verdict)
}

/// The trials that were needed in a case.
fn needed(results: &Results, case: Case) -> Summary {
    Cell { part: Part::Needed, case, trials: 0 }.of(results)
}

/// What an exponent is fitted to.
fn fitted(results: &Results, claimed: f64, quick: bool) -> Fallible<Vec<(f64, f64)>> {
    let point = |&factor: &f64| {
        let case = Case { claimed, factor };
        case.excess().map(|excess| (excess, needed(results, case).mean))
    };
    factors(quick).iter().filter(|f| **f >= LITTLE).map(point).collect()
}

fn findings(results: &Results, quick: bool) -> Fallible<Vec<Finding>> {
    let mut findings = Vec::new();
    for claimed in CLAIMS {
        let law = PowerLaw::fit(&fitted(results, claimed, quick)?)?;
        let what = format!("mu {claimed}: exponent of the trials in the excess over the claim");
        findings.push(Finding::slope(what, &law, (-2.0 - SLACK, -2.0 + SLACK)));
    }
    for case in cases(quick) {
        let (found, theory) = (needed(results, case), case.trials()?);
        let what = format!("mu {}, noise times {}: trials in units of the theory", case.claimed, case.factor);
        findings.push(Finding::new(what, found.mean / theory, found.half_width() / theory, CLOSE));
    }
    // Each line of results has a share of so many attacks.
    let lines = CLAIMS.map(|claimed| honest(claimed).of(results));
    let attacks: u64 = lines.iter().map(|it| it.count as u64 * u64::from(simulated::TOGETHER)).sum();
    let alarms: f64 = lines.iter().map(|it| it.mean * (it.count as f64) * f64::from(simulated::TOGETHER)).sum();
    let what = "share of honest mechanisms refuted";
    findings.push(Finding::share(what, alarms.round() as u64, attacks, (0.0, FALSE_ALARM)));
    for (cell, claimed) in trainer(Part::Trained)?.iter().zip([(0.0, 0.6), (POWER, 1.0)]) {
        let share = cell.trials as f64 / cell.case.trials()?;
        let what = format!(
            "dp-gd with {} of the noise: share refuted in {share:.1} times the theory's trials",
            cell.case.factor
        );
        findings.push(refuted(cell, results, what, claimed));
    }
    for cell in trainer(Part::TrainedHonest)? {
        let what = "honest dp-gd: share refuted in as many".to_owned();
        findings.push(refuted(&cell, results, what, (0.0, MAX_TRAINED_ALARMS)));
    }
    Ok(findings)
}

/// The share of attacks, one for each line of results, that refuted.
fn refuted(cell: &Cell, results: &Results, what: String, claimed: (f64, f64)) -> Finding {
    let found = cell.of(results);
    Finding::share(what, (found.mean * found.count as f64).round() as u64, found.count as u64, claimed)
}
