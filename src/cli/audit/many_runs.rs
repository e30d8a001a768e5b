//! `rhograd audit`: many runs on two data sets.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::picture;
use crate::audit::{Campaign, Fault, Finding, Guarantee, Shown, Verdict, View};
use crate::cli::help::BUDGET;
use crate::cli::output::{bar, print, print_json, warn};
use crate::cli::request::RequestArguments;
use crate::data::{Protect, Unit};
use crate::error::{Error, Fallible};
use crate::optim::Algorithm;
use crate::plot::Format;
use crate::privacy::{Adjacency, PrivacyUnit};
use crate::train::{TrainConfig, check_destination};

/// Deviations of a normal estimate on each side of its 95% interval.
const NINETY_FIVE: f64 = 1.96;

/// Rows of a person who differs, where nothing else is said: enough for a trainer that clips them one by one to show.
const ROWS: u32 = 20;

#[derive(Args)]
#[command(after_help = "Examples:
  rhograd audit --algorithm dp-gd --epsilon 1
  rhograd audit --rho 4.5 --adjacency replace-one --trials 5000 --out trade-off.svg
  rhograd audit --algorithm dp-sgd --sampling-rate 0.5 --steps 8 --epsilon 15 --json
  rhograd audit --algorithm dp-gd --rho 8 --one-run
  rhograd audit --algorithm dp-gd --rho 4.5 --unit patient --max-rows 50
  rhograd audit --rho 4.5 --protect label

Trains many times on two made-up data sets that differ in one record, learns to tell them apart, and turns its errors
on further runs into a lower bound. Settings that are left open are chosen so that the record counts most. A bound above the
claim refutes it: exit 1. Each attack must first find a trainer with a planted fault; where none does, the audit shows
nothing, which is exit 1, too. Small budgets take many trials, and constants do not depend on the budget: audit at --rho 4.5
to see small faults.

With --unit the two data sets differ in all rows of one person, and each attack must also find a trainer that clips rows and not
persons.

With --one-run it trains once on many made-up records, each there or not by a coin, and estimates mu from how far those that
are there stand out. That fits full-batch descent only.")]
pub(crate) struct AuditArguments {
    #[command(flatten)]
    pub(super) request: RequestArguments,
    /// Audit the protection of persons and not of single rows: the data sets differ in all rows of one person, whom COLUMN
    /// tells apart
    #[arg(long, value_name = "COLUMN", help_heading = BUDGET)]
    unit: Option<String>,
    /// Public number of persons [default: 1000 under add-remove]
    #[arg(long, value_name = "N", requires = "unit", help_heading = BUDGET)]
    persons: Option<u64>,
    /// The most rows of a person that count; the one who differs has as many, and so has each canary [default: 20]
    #[arg(long, value_name = "N", requires = "unit", help_heading = BUDGET)]
    max_rows: Option<u32>,
    /// Audit the protection of labels alone, where features are public: the data sets differ in the label of one record
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "unit", help_heading = BUDGET)]
    protect: Option<Protect>,
    /// Audit the protection of private cells beside public columns: the data sets differ in the private cells of one record
    #[arg(long, conflicts_with_all = ["unit", "protect", "one_run"], help_heading = BUDGET)]
    public: bool,
    /// Runs in each world by which an attack is judged; half as many are learned from
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(super) trials: usize,
    /// Train once, on many records at right angles that are there or not by coins
    #[arg(long, conflicts_with = "trials")]
    pub(super) one_run: bool,
    /// Records with a coin
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "one_run")]
    pub(super) canaries: usize,
    /// Planted fault: below 1 the noise over what the claim needs, above 1 the clip over what it allows; --one-run plants both
    #[arg(long, value_name = "X", default_value_t = 0.8, allow_hyphen_values = true)]
    pub(super) fault: f64,
    /// Confidence that an honest trainer is not refuted by any of the attacks
    #[arg(long, default_value_t = 0.9999, allow_hyphen_values = true)]
    pub(super) confidence: f64,
    /// Seed of all runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Threads [default: all]; changes no number
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Picture of true against false positive rates, on axes of normal quantiles, as SVG, PDF or PNG by its extension
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Replace a picture that exists already
    #[arg(long)]
    pub(super) overwrite: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

impl AuditArguments {
    /// What of a row is protected.
    fn protect(&self, config: &TrainConfig) -> Protect {
        match config.algorithm.description().needs.labels_alone {
            true => Protect::Label,
            false => self.protect.unwrap_or_default(),
        }
    }

    /// The request; where labels alone are protected, one algorithm serves them.
    pub(super) fn config(&self) -> Fallible<TrainConfig> {
        let asked = self.request.config()?;
        let protect = self.protect(&asked);
        let mut config = self.request.protecting(protect, asked);
        if self.public && !self.request.has_adjacency() {
            config.adjacency = Adjacency::ReplaceOne;
        }
        match (protect, config.algorithm) {
            (Protect::Label, Algorithm::Auto) => Ok(TrainConfig { algorithm: Algorithm::LabelSums, ..config }),
            (Protect::Label, other) if !other.description().needs.labels_alone => Err(Error::parameter(
                "--protect",
                format!("is label, and --algorithm {} protects rows", other.name()),
                "leave --algorithm out, or use label-sums",
            )),
            _ => Ok(config),
        }
    }

    /// The person as the unit, if that is asked for.
    pub(super) fn unit(&self) -> Fallible<Option<Unit>> {
        let unit = |column: &String| {
            PrivacyUnit::person(column)?;
            let max_rows = Some(self.max_rows.unwrap_or(ROWS));
            Ok(Unit { persons: self.persons, max_rows, ..Unit::new(column) })
        };
        self.unit.as_ref().map(unit).transpose()
    }

    /// What the data sets differ in, for people and for programs; rows go without saying.
    pub(super) fn audited(&self, config: &TrainConfig, unit: Option<&Unit>) -> (String, Value) {
        if self.protect(config) == Protect::Label {
            let change = PrivacyUnit::Label.change(config.adjacency);
            return (format!("audited         {change}\n"), json!("label"));
        }
        if self.public {
            return ("audited         replacing the private cells of one row\n".into(), json!("private cells"));
        }
        let Some(unit) = unit else { return (String::new(), json!("row")) };
        let (column, rows) = (&unit.column, unit.max_rows());
        let change = PrivacyUnit::Person { column: column.clone() }.change(self.request.adjacency());
        (format!("audited         {change}, {rows} rows\n"), json!({"person": {"column": column}, "rows": rows}))
    }
}

pub(super) fn run(arguments: &AuditArguments) -> Fallible<ExitCode> {
    let format = arguments.out.as_deref().map(Format::of).transpose()?;
    // Minutes go into it.
    arguments.out.as_deref().map_or(Ok(()), |out| check_destination(out, arguments.overwrite, false))?;
    let campaign = Campaign {
        config: arguments.config()?,
        unit: arguments.unit()?,
        public: arguments.public,
        fault: arguments.fault,
        trials: arguments.trials,
        confidence: arguments.confidence,
        seed: arguments.seed,
    };
    let progress = bar((campaign.trainers() * campaign.attacks()?.len()) as u64, "attacking", "attacks");
    let findings = campaign.run(|done| progress.set_position(done as u64))?;
    progress.finish_and_clear();
    if let (Some(path), Some(format)) = (&arguments.out, format) {
        let path = (path.as_path(), arguments.overwrite);
        if let Some(first) = findings.first() {
            let title = format!("{} trials", arguments.trials);
            picture::write(path, format, &title, &first.guarantee, &measured(&findings))?;
        }
    }
    let refuted = findings.iter().any(|finding| finding.honest.shown.refutes());
    let found = Found::of(&findings);
    let powerful = found.by_noise > 0 && found.by_rows.is_none_or(|found| found > 0);
    let (audited, unit) = arguments.audited(&campaign.config, campaign.unit.as_ref());
    if arguments.json {
        let attacks: Vec<Value> = findings.iter().map(|finding| summary(finding, arguments.trials)).collect();
        print_json(&json!({"refuted": refuted, "powerful": powerful, "unit": unit, "trials": arguments.trials,
            "confidence": arguments.confidence, "attacks": attacks}))?;
    } else {
        print(&(audited + &page(&findings, arguments, refuted, &found, powerful)))?;
    }
    if !powerful && !refuted {
        warn("no attack found the planted fault, so nothing is shown: raise --trials or the budget, or lower --fault");
    }
    Ok(ExitCode::from(u8::from(refuted || !powerful)))
}

/// How many attacks found each planted fault.
struct Found {
    by_noise: usize,
    /// Rows clipped and not persons, where persons are the unit.
    by_rows: Option<usize>,
}

impl Found {
    fn of(findings: &[Finding]) -> Self {
        let blind: Vec<&Verdict> = findings.iter().filter_map(|finding| finding.by_rows.as_ref()).collect();
        let refuted = |verdicts: &[&Verdict]| verdicts.iter().filter(|verdict| verdict.shown.refutes()).count();
        Found {
            by_noise: refuted(&findings.iter().map(|finding| &finding.faulty).collect::<Vec<_>>()),
            by_rows: (!blind.is_empty()).then(|| refuted(&blind)),
        }
    }
}

/// What a trainer does that knows nothing of persons.
const CLIPS_ROWS: &str = "rows clipped";

/// A planted fault in a few words.
pub(super) fn planted(fault: Fault) -> String {
    match fault {
        Fault::Noise(factor) => format!("noise x {factor:.3}"),
        Fault::Clip(factor) => format!("clip x {factor:.3}"),
        Fault::Rows(_) => CLIPS_ROWS.into(),
    }
}

/// Distance of the mean scores and its 95% interval, if they are normal.
fn effect(verdict: &Verdict, trials: usize) -> (f64, f64, f64) {
    let n = trials as f64;
    let half = NINETY_FIVE * (2.0 / n + verdict.effect.powi(2) / (4.0 * n)).sqrt();
    (verdict.effect, verdict.effect - half, verdict.effect + half)
}

fn name(finding: &Finding) -> String {
    let view = match finding.view {
        View::Releases => "all releases",
        View::Model => "model alone",
    };
    format!("{}, {view}", finding.instance)
}

/// A number of the kind that the claim is about.
fn figure(guarantee: &Guarantee, shown: &Shown, value: f64) -> String {
    match (guarantee, shown.delta) {
        (Guarantee::Gaussian { .. }, _) => format!("mu {value:.3}"),
        (Guarantee::Range { .. }, _) => format!("range {value:.3}"),
        (Guarantee::Curve { .. }, delta) => format!("epsilon {value:.3} at {}", delta.unwrap_or_default()),
    }
}

fn page(findings: &[Finding], arguments: &AuditArguments, refuted: bool, found: &Found, powerful: bool) -> String {
    let mut text = String::new();
    for finding in findings {
        let Finding { guarantee, honest, faulty, fault, by_rows, .. } = finding;
        let said = |verdict: &Verdict| {
            let shown = &verdict.shown;
            let word = if shown.refutes() { "above" } else { "not above" };
            let [proved, claimed] = [shown.proved, shown.claimed].map(|value| figure(guarantee, shown, value));
            format!("at least {proved}, {word} the claim of {claimed}")
        };
        let (mean, low, high) = effect(honest, arguments.trials);
        text += &format!("{}\n", name(finding));
        text += &format!("  this trainer    {}\n", said(honest));
        text += &format!("                  effect size {mean:.3} [{low:.3}, {high:.3}] (95%, if scores are normal)\n");
        text += &format!("  {:<15} {}\n", planted(*fault), said(faulty));
        if let Some(by_rows) = by_rows {
            text += &format!("  {CLIPS_ROWS:<15} {}\n", said(by_rows));
        }
    }
    let all = findings.len();
    text += &format!("\nplanted fault   found by {} of {all} attacks\n", found.by_noise);
    if let Some(by_rows) = found.by_rows {
        text += &format!("{CLIPS_ROWS:<15} found by {by_rows} of {all} attacks\n");
    }
    text += &match (refuted, powerful) {
        (true, _) => format!("verdict         REFUTED, with confidence {}\n", arguments.confidence),
        (false, true) => "verdict         not refuted; an audit can refute a claim and never prove it\n".into(),
        (false, false) => "verdict         none: the attacks are too weak\n".into(),
    };
    text
}

fn summary(finding: &Finding, trials: usize) -> Value {
    let verdict = |verdict: &Verdict| {
        let Shown { claimed, proved, delta } = verdict.shown;
        let (mean, low, high) = effect(verdict, trials);
        let counts = verdict.counts;
        json!({"claimed": claimed, "proved": proved, "delta": delta, "refutes": verdict.shown.refutes(),
            "effect": mean, "effect_95": [low, high], "false_positives": counts.false_positives,
            "false_negatives": counts.false_negatives})
    };
    let kind = match finding.guarantee {
        Guarantee::Gaussian { .. } => "mu",
        Guarantee::Range { .. } => "range",
        Guarantee::Curve { .. } => "epsilon",
    };
    let mut summary = json!({"attack": name(finding), "quantity": kind, "honest": verdict(&finding.honest),
        "fault": finding.fault.factor(), "faulty": verdict(&finding.faulty)});
    if let Some(by_rows) = &finding.by_rows {
        summary["rows_clipped"] = verdict(by_rows);
    }
    summary
}

/// What was measured in each attack, behind the planted fault of the first.
fn measured(findings: &[Finding]) -> Vec<(String, &[(f64, f64)])> {
    let faulty = findings.iter().take(1);
    let faulty = faulty.map(|it| (format!("{}, {}", planted(it.fault), name(it)), it.faulty.errors.as_slice()));
    faulty.chain(findings.iter().map(|it| (name(it), it.honest.errors.as_slice()))).collect()
}
