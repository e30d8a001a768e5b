//! Labels alone, and private cells alone, beside whole rows: what is left of the loss where features, or some of them, are public.

use std::fmt::Write as _;

use rhograd::data::{Protect, Schema};
use rhograd::error::Fallible;
use rhograd::plot::{Panel, Scale, Series};
use rhograd::privacy::{Adjacency, Delta, Epsilon};
use rhograd::train::{Budget, TrainConfig};

use crate::losses::{Case, Known, draw, four, ratios, summary};
use crate::progress::Progress;
use crate::results::{Earlier, Results, cell};
use crate::rows::{scratch, write};
use crate::setup::{Plant, Setup};
use crate::utility::data::sets;
use crate::verdict::{Finding, Verdict};

/// The claim.
pub const CLAIM: &str = "where features are public, protecting labels alone leaves no more loss than protecting rows, at any epsilon; where some are, protecting the rest at most 5% more";

/// What is measured; the last stands for no noise.
const EPSILONS: [f64; 6] = [0.05, 0.1, 0.5, 1.0, 8.0, 1000.0];

/// The delta of every run.
const DELTA: f64 = 1e-6;

/// By what share the loss may be larger where labels alone are protected, and where private cells are.
const MARGINS: [f64; 2] = [0.01, 0.05];

/// The column that says what is protected.
const COLUMN: &str = "protected";

/// What is protected.
const PROTECTED: [(&str, Protected); 4] = [
    ("rows", Protected::Rows),
    ("private cells, every other column public", Protected::BesideHalf),
    ("private cells, all columns but one public", Protected::BesideMost),
    ("labels", Protected::Labels),
];

/// What of a row is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protected {
    /// All of it.
    Rows,
    /// All but the first, the third, and so on, of its features.
    BesideHalf,
    /// The last feature and the label.
    BesideMost,
    /// The label.
    Labels,
}

impl Protected {
    /// A schema that says so.
    fn of(self, schema: Schema) -> Fallible<Schema> {
        let names: Vec<String> = schema.features().map(|(name, _)| name.to_owned()).collect();
        let most = names.len().saturating_sub(1);
        match self {
            Protected::Rows => Ok(schema),
            Protected::BesideHalf => schema.with_public(&names.into_iter().step_by(2).take(most).collect::<Vec<_>>()),
            Protected::BesideMost => schema.with_public(&names[..most]),
            Protected::Labels => schema.with_protect(Protect::Label),
        }
    }
}

/// Families with the canonical link. Sets that were not given are passed over.
const CASES: [Known; 8] = [
    ("logistic", "fair", None),
    ("logistic", "adult", None),
    ("multinomial", "fair", Some("rate_marriage")),
    ("linear", "randhie", None),
    ("linear", "california_housing", None),
    ("linear", "protein_casp", None),
    ("poisson", "randhie", None),
    ("poisson", "fair", Some("children")),
];

/// A clip that no rule would choose: the planted error.
const WRONG_CLIP: f64 = 50.0;

/// Trains each family by either, prints the table, and judges labels beside rows.
///
/// # Errors
/// When a file cannot be used or a model cannot be trained.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::HalfNoise, "less noise makes models better, which this claim does not notice")?;
    if setup.earlier == Earlier::Only {
        return draw(setup, &CASES, &panel);
    }
    let scratch = scratch()?;
    let sets = sets(&setup.utility.data, scratch.path())?;
    let cases = Case::all(&CASES, &sets)?;
    let prints: Vec<&str> = sets.iter().map(|set| set.fingerprint.as_str()).collect();
    let configuration = setup.configuration(&format!("delta {DELTA} {}", prints.join(" ")));
    let keys = ["family", "set", COLUMN, "epsilon", "seed"];
    let mut results =
        Results::open(&setup.file("results.csv"), &keys, &["loss", "second"], &configuration, setup.earlier)?;
    let seeds = if setup.quick { 4 } else { 20 };
    let progress = Progress::new("labels", seeds * cases.len() * PROTECTED.len() * EPSILONS.len());
    for seed in 0..seeds {
        for case in &cases {
            for (name, protect) in PROTECTED {
                for epsilon in EPSILONS {
                    let key = [case.family, &case.data.name, name, &epsilon.to_string(), &seed.to_string()]
                        .map(str::to_owned);
                    if !results.has(&key) {
                        progress.say(key.join(" "));
                        let config = config(case, (protect, epsilon), setup.plant)?;
                        let schema = protect.of(case.schema.clone())?;
                        results.add(&key, &case.left(&config, schema, seed as u64)?.map(cell))?;
                    }
                    progress.step();
                }
            }
        }
    }
    let table = table(&cases, &results);
    write(&setup.file("tables.md"), &table)?;
    println!("{table}");
    setup.draw(&cases.iter().map(|case| panel((case.family, &case.data.name), &results)).collect::<Vec<_>>())?;
    Ok(Verdict(cases.iter().flat_map(|case| findings(case, &results)).collect()))
}

/// Both know how many rows there are.
fn config(case: &Case<'_>, (protect, epsilon): (Protected, f64), plant: Option<Plant>) -> Fallible<TrainConfig> {
    let budget = Budget::Epsilon(Epsilon::new(epsilon)?, Some(Delta::new(DELTA)?));
    let mut config = TrainConfig {
        model: Some(case.model),
        adjacency: Adjacency::ReplaceOne,
        accept_large_delta: true,
        ..TrainConfig::new(budget)
    };
    if plant == Some(Plant::WrongStep) && protect == Protected::Labels {
        config.settings.clip = Some(WRONG_CLIP);
    }
    Ok(config)
}

/// The loss of models that protect less over that of models that protect rows, seed by seed.
fn findings(case: &Case<'_>, results: &Results) -> Vec<Finding> {
    let rows = PROTECTED[0].0;
    let of = |(name, epsilon): (&'static str, f64)| {
        let ratio = ratios(case, results, (COLUMN, [rows, name]), epsilon);
        let what = format!(
            "{} on {}: loss where {name} are protected over that where rows are, at epsilon {epsilon}",
            case.family, case.data.name
        );
        let margin = MARGINS[usize::from(name != "labels")];
        Finding::new(what, ratio.mean, ratio.half_width(), (0.0, 1.0 + margin))
    };
    let less = PROTECTED[1..].iter().map(|(name, _)| *name);
    let finite = || EPSILONS.into_iter().filter(|epsilon| *epsilon < 100.0);
    less.flat_map(|name| finite().map(move |epsilon| (name, epsilon))).map(of).collect()
}

/// Own loss and second measure, mean over seeds.
fn table(cases: &[Case<'_>], results: &Results) -> String {
    let mut text = String::from("| family | set | protected |");
    for epsilon in EPSILONS {
        let _ = write!(text, " {epsilon} |");
    }
    text.push_str("\n|---|---|---|---|---|---|---|---|---|\n");
    for case in cases {
        for (name, _) in PROTECTED {
            let _ = write!(text, "| {} | {} ({}) | {name} |", case.family, case.data.name, case.schema.target);
            for epsilon in EPSILONS {
                let [loss, second] = ["loss", "second"]
                    .map(|value| summary((case.family, &case.data.name), results, (COLUMN, name), (epsilon, value)));
                let _ = write!(text, " {} ({}), {:.4} |", four(loss.mean), four(loss.deviation), second.mean);
            }
            text.push('\n');
        }
    }
    text
}

fn panel((family, set): (&str, &str), results: &Results) -> Panel {
    let series = PROTECTED.iter().map(|(name, _)| {
        let points = EPSILONS.iter().filter(|epsilon| **epsilon < 100.0).map(|&epsilon| {
            let loss = summary((family, set), results, (COLUMN, name), (epsilon, "loss"));
            (epsilon, loss.mean, loss.deviation)
        });
        Series::measured(*name, points.collect::<Vec<_>>())
    });
    Panel::of(format!("{family} on {set}"), series.collect())
        .x("epsilon (delta = 1e-6)", Scale::Log)
        .y("held-out loss", Scale::Linear)
}
