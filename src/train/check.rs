//! A look at data before anything is paid: what does not fit the schema, and what a run would do and cost.

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Instant;

use ndarray::Array1;
use serde::Serialize;

use super::config::TrainConfig;
use super::findings::{self, Finding, of, share};
use super::load::{grouped, plan_of_sums, refuse_in_memory};
use super::plan::Plan;
use crate::data::{Categorical, CsvFile, Schema, Table, Unit};
use crate::error::{Error, Fallible};
use crate::preprocess::{
    EncodedRows, Encoder, LoadReport, Met, PersonSizes, PersonsMet, Survey, TableEncoder, Whole, is_numbers_with_gaps,
};
use crate::privacy::total_rho;
use crate::private::{Gradient, PrivateDataset};

/// Steps from which on a plan is said to be long.
const MANY_STEPS: u64 = 100_000;

/// A declared number of rows is far off where it differs from what was counted by more than this share.
const FAR_OFF: f64 = 0.1;

/// Grid steps of the trial of speed; how many there are does not matter for it.
const TRIAL_CLIP: u64 = 1 << 20;

/// What a check found.
///
/// # Privacy
/// Computed from rows, for the custodian alone. Nothing is charged, and nothing of it may be published.
#[derive(Clone, Debug, Serialize)]
pub struct DataCheck {
    /// Rows, or lines after the header.
    pub rows: u64,
    /// Rows that contribute nothing.
    pub lost: u64,
    /// What does not fit, worst first.
    pub findings: Vec<Finding>,
    /// Labels that were met; empty for a numeric target.
    pub labels: Met,
    /// Columns of the data that the schema does not declare, or ignores.
    pub ignored: Vec<String>,
    /// How many rows persons have, where the schema has a unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persons: Option<PersonsMet>,
    /// Everything that was counted.
    pub report: LoadReport,
    /// What a run would do, where one was asked about.
    pub outlook: Option<Outlook>,
}

/// What a run would do and cost: public, but for the time.
#[derive(Clone, Debug, Serialize)]
pub struct Outlook {
    /// The algorithm.
    pub algorithm: &'static str,
    /// Coefficients.
    pub dimension: usize,
    /// Gradient steps, or choices.
    pub steps: u64,
    /// Noise multiplier of a step.
    pub noise_multiplier: f64,
    /// Cost as rho of zCDP.
    pub rho: f64,
    /// Epsilon that was asked for, or that the rho stands for.
    pub epsilon: f64,
    /// Its delta.
    pub delta: f64,
    /// About how long the steps would take, measured on the first rows; where these are here, and steps read all rows or a
    /// sample of them.
    pub seconds: Option<f64>,
}

/// Looks at every line of a file.
///
/// With a configuration it also says what a run by it would do. Charges nothing, writes nothing.
///
/// # Privacy
/// What comes out is for the custodian alone.
///
/// # Errors
/// When the file cannot be read, lacks a declared column, or the configuration cannot be used. What stands in a row is no
/// error.
pub fn check(
    config: Option<&TrainConfig>,
    schema: &Schema,
    file: &CsvFile,
    progress: &(dyn Fn(u64, u64) -> Fallible<()> + Sync),
) -> Fallible<DataCheck> {
    let encoder = Encoder::new(schema, file, true)?;
    let total = file.size();
    let (survey, sample) = encoder.survey(file, &|done| progress(done, total))?;
    let ignored = ignored(schema, file.header().iter().map(String::as_str));
    finish(config, schema, survey, ignored, Some(sample), "line")
}

/// Looks at rows that are in memory before anything is paid: what does not fit the schema, what a run would do and cost.
///
/// # Errors
/// When the table lacks a declared column, or the configuration cannot be used. What stands in a row is no error.
pub fn check_table(config: Option<&TrainConfig>, schema: &Schema, table: &Table<'_>) -> Fallible<DataCheck> {
    let encoder = TableEncoder::new(schema, table)?;
    let (rows, survey) = encoder.survey()?;
    let ignored = ignored(schema, table.names());
    finish(config, schema, survey, ignored, Some(rows), "row")
}

/// Adds up what other machines found in the rows that they hold: what each of them found, in the order of the rows, how many rows
/// persons have where the schema has a unit, and the columns that they were given.
///
/// `persons` are those of parts in which all rows of a person are together; they need not be the parts that were looked at.
/// A run is refused that they could not serve. No time is told: it is that of the other machines.
///
/// # Errors
/// When the configuration cannot be used, the algorithm needs all rows at hand, or nothing says how many rows persons have.
pub fn check_parts(
    config: Option<&TrainConfig>,
    schema: &Schema,
    parts: &[Survey],
    persons: &[PersonSizes],
    columns: &[String],
) -> Fallible<DataCheck> {
    refuse_in_memory(schema, "cluster", "train on one machine")?;
    let mut survey = Survey::default();
    parts.iter().for_each(|part| survey.merge(part));
    let mut units = survey.report.lines;
    if let Some(unit) = &schema.unit {
        if persons.is_empty() && survey.report.lines > 0 {
            let problem = format!("is {:?}, and nothing says how many rows persons have", unit.column);
            let cure = "count the rows of persons where all rows of each are together";
            return Err(Error::parameter("unit", problem, cure));
        }
        let mut all = PersonSizes::default();
        persons.iter().try_for_each(|part| all.merge(part))?;
        let met = all.met(unit.max_rows());
        units = met.persons;
        survey.persons = Some(met);
    }
    if let Some(config) = config {
        plan_of_sums(config, schema, config.adjacency.row_count_is_public().then_some(units))?;
    }
    let ignored = ignored(schema, columns.iter().map(String::as_str));
    finish(config, schema, survey, ignored, None, "row")
}

/// The columns that the schema does not use.
fn ignored<'a>(schema: &Schema, given: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut used: HashSet<Cow<'_, str>> = findings::columns(schema).map(|(name, _)| name).collect();
    used.extend(schema.unit.as_ref().map(|unit| unit.column.as_str().into()));
    used.extend(schema.weight_columns().into_iter().flatten().map(Cow::from));
    given.filter(|name| !used.contains(*name)).map(String::from).collect()
}

fn finish(
    config: Option<&TrainConfig>,
    schema: &Schema,
    survey: Survey,
    ignored: Vec<String>,
    sample: Option<EncodedRows>,
    place: &str,
) -> Fallible<DataCheck> {
    let report = &survey.report;
    let mut found = findings::findings(schema, report, place);
    found.extend(of_survey(schema, &survey, place));
    let declared = config.and_then(|config| config.rows).or(schema.rows);
    found.extend(declared.and_then(|declared| of_count("rows", declared, report.lines)));
    if let Some((unit, met)) = schema.unit.as_ref().zip(survey.persons) {
        found.extend(unit.persons.and_then(|declared| of_count("persons", declared, met.persons)));
        found.extend(of_long_persons(unit, &met));
    }
    findings::sort(&mut found);
    let units = survey.persons.map_or(report.lines, |met| met.persons);
    let outlook = config.map(|config| outlook(config, schema, (units, report.lines), sample)).transpose()?;
    Ok(DataCheck {
        rows: report.lines,
        lost: report.unusable,
        findings: found,
        labels: survey.met,
        ignored,
        persons: survey.persons,
        report: survey.report,
        outlook,
    })
}

/// What only the slower pass sees.
fn of_survey(schema: &Schema, survey: &Survey, place: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let (rows, bad) = (survey.report.lines, &survey.not_utf8);
    if bad.count > 0 {
        let lines = of("line", bad.count, rows);
        let text = format!(
            "{lines} hold bytes that are not UTF-8 (Latin-1?); the first is {place} {}; convert the file, for instance by `iconv`",
            bad.line
        );
        found.push(Finding::new(None, share(bad.count, rows), text));
    }
    for ((name, ..), whole) in schema.numeric().zip(&survey.whole) {
        if let Whole::Few(numbers) = whole
            && numbers.len() > 2
        {
            let list = numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
            let text = format!(
                "{name:?}: only the whole numbers {list} were met in this numeric column; if they are codes, declare them as categories"
            );
            found.push(Finding::new(Some(name), 0.0, text));
        }
    }
    for (Categorical { name, values, .. }, met) in schema.categorical().zip(&survey.undeclared) {
        if is_numbers_with_gaps(values.iter().map(String::as_str)) {
            let text = format!(
                "{name:?}: the declared values are numbers and a mark of missing ones; if it is a column of numbers with gaps, declare it as numeric"
            );
            found.push(Finding::new(Some(&name), 0.0, text));
        }
        if !met.texts.is_empty() {
            let text = format!("{name:?}: undeclared values that were met: {met}");
            found.push(Finding::new(Some(&name), 0.0, text));
        }
    }
    found
}

fn of_count(what: &str, declared: u64, counted: u64) -> Option<Finding> {
    let off = (declared as f64 - counted as f64).abs() / counted.max(1) as f64;
    let text = || {
        format!("{declared} {what} are declared, and there are {counted}; noise and step sizes follow from the former")
    };
    (off > FAR_OFF).then(|| Finding::new(None, off.min(1.0), text()))
}

/// Persons with more rows than count.
fn of_long_persons(unit: &Unit, met: &PersonsMet) -> Option<Finding> {
    let share = met.above as f64 / met.persons.max(1) as f64;
    let text = || {
        let (persons, most) = (of("person", met.above, met.persons), met.most);
        let verb = if met.above == 1 { "has" } else { "have" };
        format!(
            "{persons} {verb} more than the {} rows that count, up to {most}; \"max_rows\" in the unit says how many do",
            unit.max_rows()
        )
    };
    (met.above > 0).then(|| Finding::new(Some(&unit.column), share, text()))
}

/// What a run would do; there are so many persons or rows that are protected, and so many rows.
fn outlook(
    config: &TrainConfig,
    schema: &Schema,
    (units, rows): (u64, u64),
    sample: Option<EncodedRows>,
) -> Fallible<Outlook> {
    let plan = Plan::new(config, schema, config.adjacency.row_count_is_public().then_some(units))?;
    let charges = plan.charges();
    let rho = total_rho(&charges)?.upper();
    let epsilon = match plan.epsilon {
        Some(epsilon) => epsilon.value(),
        None => plan.conversion().epsilon(rho, plan.delta)?.value(),
    };
    let planned = plan.planned();
    let main = planned.iter().rev().find(|planned| planned.query.is_step()).or(planned.last());
    Ok(Outlook {
        algorithm: plan.algorithm.name(),
        dimension: plan.dimension,
        steps: plan.steps(),
        noise_multiplier: main.map_or(0.0, |planned| planned.charge.noise_multiplier()),
        rho,
        epsilon,
        delta: plan.delta.value(),
        seconds: sample.map_or(Ok(None), |sample| seconds(&plan, schema, rows, sample))?,
    })
}

impl Outlook {
    /// Whether there are so many steps that nobody would want to find out by waiting.
    pub fn is_long(&self) -> bool {
        self.steps >= MANY_STEPS
    }
}

/// About how long all steps take: one pass over the sample, measured, times all rows and steps.
fn seconds(plan: &Plan, schema: &Schema, rows: u64, sample: EncodedRows) -> Fallible<Option<f64>> {
    let (kept, planned) = (sample.rows.len() as f64, plan.planned());
    // Seconds are those of passes over rows, all of them or a sample of them.
    let passes = planned.iter().map(|planned| {
        let rate = planned.charge.sampling_rate().or(planned.is_streamable().then_some(1.0));
        rate.map(|rate| planned.charge.count() as f64 * rate)
    });
    let Some(passes) = passes.sum::<Option<f64>>() else { return Ok(None) };
    // Their passes are over rows in an encoding that follows from a release.
    if plan.bins.is_some() {
        return Ok(None);
    }
    if kept == 0.0 {
        return Ok(Some(0.0));
    }
    let sample = PrivateDataset::new(grouped(schema, sample), plan.scope.clone());
    let clipped = sample.clipped(TRIAL_CLIP)?;
    let weights = Array1::zeros(plan.dimension);
    let gradient = Gradient { loss: plan.model.loss(schema), weights: &weights, label_scale: 1.0, clip_norm: 1.0 };
    // Once to have the rows at hand.
    drop(clipped.gradient_sum(&gradient)?);
    let started = Instant::now();
    drop(clipped.gradient_sum(&gradient)?);
    Ok(Some(started.elapsed().as_secs_f64() * rows as f64 / kept * passes))
}
