//! Every loss with linear, additive and rich effects: what each leaves on held-out rows.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rhograd::data::{Column, CsvFile, Schema, Task};
use rhograd::error::{Error, Fallible};
use rhograd::ledger::Ledger;
use rhograd::plot::{Panel, Scale, Series};
use rhograd::privacy::{Delta, Epsilon};
use rhograd::train::{
    Algorithm, Budget, FAMILIES, FamilyParameters, Metrics, ModelFile, ModelKind, TrainConfig, evaluate, load, predict,
    train,
};

use crate::fit::Summary;
use crate::progress::Progress;
use crate::results::{Earlier, Results, cell};
use crate::rows::{scratch, write};
use crate::setup::{Plant, Setup, noise};
use crate::utility::data::{DataSet, sets};
use crate::verdict::{Finding, Verdict};

/// The claim.
pub const CLAIM: &str = "at epsilon 8 additive effects leave no more of any loss than linear ones";

/// What is measured.
const EPSILONS: [f64; 3] = [0.1, 1.0, 8.0];

/// Epsilon of the claim.
const CLAIMED: f64 = 8.0;

/// The delta of every run.
const DELTA: f64 = 1e-5;

/// The column of the forms.
const EFFECTS: &str = "effects";

/// Forms of effects, the default first.
const FORMS: [(&str, Algorithm); 3] =
    [("linear", Algorithm::Auto), ("additive", Algorithm::Additive), ("rich", Algorithm::Rich)];

/// A family, a data set, and the column that is predicted where it is another than the schema says.
pub(crate) type Known = (&'static str, &'static str, Option<&'static str>);

/// Families with two data sets each. Sets that were not given are passed over.
const CASES: [Known; 16] = [
    ("logistic", "fair", None),
    ("logistic", "adult", None),
    ("svm", "fair", None),
    ("svm", "adult", None),
    ("multinomial", "fair", Some("rate_marriage")),
    ("multinomial", "adult", Some("occupation")),
    ("linear", "randhie", None),
    ("linear", "california_housing", None),
    ("ridge", "randhie", None),
    ("ridge", "protein_casp", None),
    ("huber", "randhie", None),
    ("huber", "protein_casp", None),
    ("quantile", "randhie", None),
    ("quantile", "california_housing", None),
    ("poisson", "randhie", None),
    ("poisson", "fair", Some("children")),
];

/// Where Huber's loss turns linear, in deviations of the target.
const HUBER: f64 = 1.345;

/// A step size far from the rule's: what the planted error uses.
const WRONG_STEP: f64 = 1e-4;

/// A family on a data set.
pub(crate) struct Case<'a> {
    pub(crate) family: &'static str,
    pub(crate) data: &'a DataSet,
    pub(crate) schema: Schema,
    pub(crate) model: ModelKind,
}

/// Trains each family on the sets that were given, prints the table, and judges additive effects beside linear ones.
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
    let keys = ["family", "set", EFFECTS, "epsilon", "seed"];
    let mut results =
        Results::open(&setup.file("results.csv"), &keys, &["loss", "second"], &configuration, setup.earlier)?;
    let seeds = if setup.quick { 2 } else { 10 };
    let (forms, epsilons) = if setup.quick { (&FORMS[..2], &EPSILONS[2..]) } else { (&FORMS[..], &EPSILONS[..]) };
    let progress = Progress::new("losses", seeds * cases.len() * forms.len() * epsilons.len());
    for seed in 0..seeds {
        for case in &cases {
            for (form, algorithm) in forms {
                for &epsilon in epsilons {
                    let key = [case.family, &case.data.name, form, &epsilon.to_string(), &seed.to_string()]
                        .map(str::to_owned);
                    if !results.has(&key) {
                        progress.say(key.join(" "));
                        let measured = case.measure(*algorithm, epsilon, (seed as u64, setup.plant))?;
                        results.add(&key, &measured.map(cell))?;
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
    Ok(Verdict(cases.iter().map(|case| finding(case, &results)).collect()))
}

impl<'a> Case<'a> {
    /// Those whose sets were given.
    pub(crate) fn all(known: &[Known], sets: &'a [DataSet]) -> Fallible<Vec<Self>> {
        known.iter().filter_map(|case| Case::new(case, sets).transpose()).collect()
    }

    fn new((family, set, target): &Known, sets: &'a [DataSet]) -> Fallible<Option<Self>> {
        let Some(data) = sets.iter().find(|data| data.name == *set) else { return Ok(None) };
        let unknown = || Error::parameter("losses", format!("{family:?} is no family"), "name another");
        let asked = FAMILIES.iter().find(|known| known.name == *family).ok_or_else(unknown)?;
        let model = (asked.model)(&FamilyParameters::default());
        let schema = target.map_or_else(|| data.schema.clone(), |target| predicting(&data.schema, target, model));
        Ok(Some(Case { family, data, schema, model }))
    }

    /// The own loss and a second measure on the test file, of a model of one seed.
    fn measure(&self, algorithm: Algorithm, epsilon: f64, (seed, plant): (u64, Option<Plant>)) -> Fallible<[f64; 2]> {
        let budget = Budget::Epsilon(Epsilon::new(epsilon)?, Some(Delta::new(DELTA)?));
        let model = Some(self.model);
        // One delta for data sets of all sizes, the largest of which have more rows than suit it.
        let mut config = TrainConfig { algorithm, model, accept_large_delta: true, ..TrainConfig::new(budget) };
        if plant == Some(Plant::WrongStep) && algorithm.cuts_columns() {
            config.settings.learning_rate = Some(WRONG_STEP);
        }
        self.left(&config, self.schema.clone(), seed)
    }

    /// The own loss and a second measure on the test file, of a model of one seed that was asked for so.
    pub(crate) fn left(&self, config: &TrainConfig, schema: Schema, seed: u64) -> Fallible<[f64; 2]> {
        let loaded = load(config, schema, &CsvFile::open(&self.data.train)?, &|_, _| Ok(()))?;
        let (trained, _) = train(loaded, &mut Ledger::in_memory()?, noise(seed), &mut |_| Ok(()))?;
        let test = CsvFile::open(&self.data.test)?;
        Ok(match evaluate(&trained.model, &test)? {
            Metrics::Label { accuracy, log_loss: Some(loss), .. }
            | Metrics::Classes { accuracy, log_loss: loss, .. } => [loss, accuracy],
            Metrics::Label { accuracy, .. } => [self.hinge(&trained.model, &test)?, accuracy],
            Metrics::Number { rmse, r2, own, .. } => {
                let r2 = r2.unwrap_or(f64::NAN);
                let loss = match self.model {
                    ModelKind::Huber { .. } => self.huber(&trained.model, &test)?,
                    _ => own.pinball.or(own.deviance).unwrap_or(rmse * rmse),
                };
                [loss, r2]
            }
        })
    }

    /// Predictions with the cells of the target.
    fn pairs(&self, model: &ModelFile, test: &CsvFile) -> Fallible<Vec<(f64, String)>> {
        let predictions = predict(model, test)?;
        let column = test.column(&self.schema.target)?;
        let mut cells = Vec::new();
        test.each_line(|fields| {
            cells.push(String::from_utf8_lossy(fields.get(column)).into_owned());
            Ok(())
        })?;
        let there = |(row, cell): (Option<&[f64]>, String)| Some((*row?.first()?, cell));
        Ok(predictions.rows().zip(cells).filter_map(there).collect())
    }

    fn hinge(&self, model: &ModelFile, test: &CsvFile) -> Fallible<f64> {
        let positive = self.schema.positive.as_deref().unwrap_or_default();
        let sign = |cell: &str| if cell == positive { 1.0 } else { -1.0 };
        Ok(mean(self.pairs(model, test)?.iter().map(|(score, cell)| (1.0 - sign(cell) * score).max(0.0))))
    }

    /// In squared deviations of the target.
    fn huber(&self, model: &ModelFile, test: &CsvFile) -> Fallible<f64> {
        let pairs: Vec<(f64, f64)> = self
            .pairs(model, test)?
            .into_iter()
            .filter_map(|(predicted, cell)| Some((predicted, cell.parse().ok()?)))
            .collect();
        let targets: Vec<f64> = pairs.iter().map(|(_, target)| *target).collect();
        let deviation = Summary::of(&targets).deviation;
        let loss = |(predicted, target): &(f64, f64)| {
            let off = (predicted - target).abs() / deviation;
            if off <= HUBER { off * off / 2.0 } else { HUBER * (off - HUBER / 2.0) }
        };
        Ok(mean(pairs.iter().map(loss)))
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    Summary::of(&values.collect::<Vec<_>>()).mean
}

/// A schema by which another column is predicted, and what was predicted is left out.
fn predicting(schema: &Schema, target: &str, model: ModelKind) -> Schema {
    let mut schema = schema.clone();
    schema.ignore.push(std::mem::replace(&mut schema.target, target.to_owned()));
    (schema.positive, schema.negative) = (None, None);
    if let Some((_, Column::Numeric { lower, upper, .. })) =
        schema.columns.0.iter().find(|(name, _)| name == target).cloned()
    {
        schema.columns.0.retain(|(name, _)| name != target);
        match model {
            ModelKind::Multinomial => {
                let values = (lower as i64..=upper as i64).map(|value| value.to_string()).collect();
                schema.columns.0.push((target.to_owned(), Column::categories(values)));
            }
            _ => {
                schema.task = Task::Regression;
                (schema.target_lower, schema.target_upper) = (Some(lower), Some(upper));
            }
        }
    }
    schema
}

/// One value of the rows of a family on a set, which have this name in this column, at one epsilon.
pub(crate) fn summary(
    (family, set): (&str, &str),
    results: &Results,
    (column, name): (&str, &str),
    (epsilon, value): (f64, &str),
) -> Summary {
    let own = |row: &crate::results::Row<'_>| {
        row.text("family") == family && row.text("set") == set && row.text(column) == name && row.is("epsilon", epsilon)
    };
    Summary::of(&results.column(value, own))
}

/// The loss of the second name in a column over that of the first, of the same seeds.
pub(crate) fn ratios(case: &Case<'_>, results: &Results, (column, names): (&str, [&str; 2]), epsilon: f64) -> Summary {
    let mut by_seed: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    let rows: Vec<_> = results.rows().collect();
    for row in &rows {
        let own = row.text("family") == case.family && row.text("set") == case.data.name && row.is("epsilon", epsilon);
        let place = names.iter().position(|name| *name == row.text(column));
        if let (true, Some(place)) = (own, place) {
            by_seed.entry(row.text("seed")).or_insert([f64::NAN; 2])[place] = row.number("loss");
        }
    }
    Summary::of(&by_seed.values().map(|[first, second]| second / first).collect::<Vec<_>>())
}

fn finding(case: &Case<'_>, results: &Results) -> Finding {
    let ratio = ratios(case, results, (EFFECTS, [FORMS[0].0, FORMS[1].0]), CLAIMED);
    let what = format!(
        "{} on {}: loss of additive effects over that of linear ones at epsilon {CLAIMED}",
        case.family, case.data.name
    );
    Finding::new(what, ratio.mean, ratio.half_width(), (0.0, 1.0))
}

/// Own loss and second measure, mean over seeds.
fn table(cases: &[Case<'_>], results: &Results) -> String {
    let mut text = String::from("| family | set | effects |");
    for epsilon in EPSILONS {
        let _ = write!(text, " {epsilon} |");
    }
    text.push_str("\n|---|---|---|---|---|---|\n");
    for case in cases {
        for (form, _) in FORMS {
            let _ = write!(text, "| {} | {} ({}) | {form} |", case.family, case.data.name, case.schema.target);
            for epsilon in EPSILONS {
                let [loss, second] = ["loss", "second"]
                    .map(|value| summary((case.family, &case.data.name), results, (EFFECTS, form), (epsilon, value)));
                let _ = match loss.count {
                    0 => write!(text, " - |"),
                    _ => write!(text, " {} ({}), {:.3} |", four(loss.mean), four(loss.deviation), second.mean),
                };
            }
            text.push('\n');
        }
    }
    text
}

/// A number with four digits.
pub(crate) fn four(value: f64) -> String {
    let before = value.abs().log10().floor().clamp(-4.0, 12.0) as i32;
    format!("{value:.*}", (3 - before).clamp(0, 6) as usize)
}

/// Draws what was measured, on data sets that need not be here.
pub(crate) fn draw(
    setup: &Setup,
    known: &[Known],
    panel: &dyn Fn((&str, &str), &Results) -> Panel,
) -> Fallible<Verdict> {
    let results = Results::read(&setup.file("results.csv"), 5)?;
    let measured =
        |family: &str, set: &str| results.rows().any(|row| row.text("family") == family && row.text("set") == set);
    let cases = known.iter().filter(|(family, set, _)| measured(family, set));
    setup.draw(&cases.map(|(family, set, _)| panel((family, set), &results)).collect::<Vec<_>>())?;
    Ok(Verdict::default())
}

fn panel((family, set): (&str, &str), results: &Results) -> Panel {
    let of = |form: &'static str| {
        let at = |epsilon: &f64| {
            let loss = summary((family, set), results, (EFFECTS, form), (*epsilon, "loss"));
            (loss.count > 0).then_some((*epsilon, loss.mean, loss.deviation))
        };
        (form, EPSILONS.iter().filter_map(at).collect::<Vec<_>>())
    };
    let series = FORMS.iter().map(|(form, _)| of(form)).filter(|(_, points)| !points.is_empty());
    Panel::of(format!("{family} on {set}"), series.map(|(form, points)| Series::measured(form, points)).collect())
        .x("epsilon (delta = 1e-5)", Scale::Log)
        .y("held-out loss", Scale::Linear)
}
