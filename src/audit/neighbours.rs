//! Two data sets that differ in one record or in all rows of one person, and the same training run planned on both.

use std::io::Write;

use tempfile::NamedTempFile;

use crate::data::{Column, Columns, CsvFile, Protect, Schema, Task, Unit};
use crate::error::{Error, Fallible};
use crate::kernel::RawRow;
use crate::optim::Algorithm;
use crate::preprocess::Encoder;
use crate::train::{Loaded, TrainConfig, load};

/// Neighbouring data sets as lines of a CSV file.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbours {
    /// The schema of both.
    pub schema: Schema,
    /// The first line.
    pub header: String,
    /// The records of both.
    pub common: Vec<String>,
    /// What is only in the first, under replace-one: a record, or all rows of a person.
    pub absent: Option<Vec<String>>,
    /// What is only in the second.
    pub present: Vec<String>,
}

/// Rows of each person whom both data sets have.
const COMMON_ROWS: usize = 2;

impl Neighbours {
    /// These neighbours with the person as the unit: all rows of one person differ, as many as count and all alike, where one record did;
    /// every other record becomes a person with two such rows.
    ///
    /// # Errors
    /// When the column of identifiers is another column of these data, or the unit is none that a schema could have.
    pub fn of_persons(self, unit: &Unit) -> Fallible<Self> {
        let last = self.common.len();
        let who = |person: usize, line: &String| format!("p{person},{line}");
        let all = |line: &String| vec![who(last, line); unit.max_rows() as usize];
        // Everybody else stands above, so that no number but the last differs; nobody's rows stand together.
        let turn = || self.common.iter().enumerate().map(|(person, line)| who(person, line));
        Ok(Neighbours {
            schema: of_persons(self.schema, unit)?,
            header: format!("\"{}\",{}", unit.column.replace('"', "\"\""), self.header),
            common: (0..COMMON_ROWS).flat_map(|_| turn()).collect(),
            absent: self.absent.map(|lines| lines.iter().flat_map(all).collect()),
            present: self.present.iter().flat_map(all).collect(),
        })
    }

    /// These neighbours beside public columns: the category and two numbers, which are the same in both data sets, and in the one record that
    /// differs at their ends.
    ///
    /// # Errors
    /// When these data have no features, or one comes and another goes.
    pub fn beside_public(self) -> Fallible<Self> {
        let [g, h] = ["g", "h"].map(String::from);
        let mut schema = self.schema;
        let numbers = [&g, &h].map(|name| (name.clone(), Column::number(-1.0, 1.0)));
        schema.columns.0.splice(0..0, numbers);
        let schema = schema.with_public(&[g, h, "c".into()])?;
        let Some(absent) = self.absent else {
            let problem = "is add-remove, and beside public columns no row comes or goes";
            return Err(Error::parameter("--adjacency", problem, "use --adjacency replace-one"));
        };
        let before = |cells: &str, lines: Vec<String>| lines.iter().map(|line| format!("{cells},{line}")).collect();
        // Whoever takes the place of the canary has its category.
        let absent = absent.iter().map(|line| line.replace("common", "canary")).collect();
        Ok(Neighbours {
            schema,
            header: format!("g,h,{}", self.header),
            common: before("0,0", self.common),
            absent: Some(before("1,1", absent)),
            present: before("1,1", self.present),
        })
    }

    /// Neighbours of these lines for a trainer that knows nothing of persons.
    pub(super) fn by_rows(mut self) -> Self {
        self.schema.unit = None;
        self
    }

    /// Rows, or persons where they are the unit, that both data sets have.
    fn units(&self) -> usize {
        if self.schema.unit.is_some() { self.common.len() / COMMON_ROWS } else { self.common.len() }
    }
}

/// A schema of made-up records with a unit.
///
/// # Errors
/// When another column has the name of the identifiers', or the unit is none that a schema could have.
pub(super) fn of_persons(schema: Schema, unit: &Unit) -> Fallible<Schema> {
    if schema.target == unit.column || schema.columns.0.iter().any(|(name, _)| *name == unit.column) {
        let problem = format!("is {:?}, as another column of the made-up records is called", unit.column);
        return Err(Error::parameter("--unit", problem, "give the column another name, as in --unit person"));
    }
    schema.with_unit(unit.clone())
}

/// What a crafted pair is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instance {
    /// Two labels; a number at its bound, a category of its own and the intercept. Replaced by the other label.
    Labels,
    /// A numeric target at its bound; else as with labels. Replaced by the other bound.
    Numbers,
    /// Two labels; replaced by a record at a right angle with the other label, which moves gradients less and matrices more.
    Turned,
    /// Two labels and nothing but the intercept: the released vectors have one coordinate, so that no direction is unknown.
    LabelsAlone,
    /// A numeric target and nothing but the intercept.
    NumbersAlone,
    /// Three labels; replaced by another label.
    Classes,
}

impl std::fmt::Display for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Instance::Labels => "two labels",
            Instance::Numbers => "numeric target",
            Instance::Turned => "turned record",
            Instance::LabelsAlone => "labels, intercept only",
            Instance::NumbersAlone => "number, intercept only",
            Instance::Classes => "three labels",
        })
    }
}

impl Instance {
    fn task(self) -> Task {
        match self {
            Instance::Numbers | Instance::NumbersAlone => Task::Regression,
            Instance::Labels | Instance::Turned | Instance::LabelsAlone | Instance::Classes => Task::Classification,
        }
    }

    fn has_features(self) -> bool {
        !matches!(self, Instance::LabelsAlone | Instance::NumbersAlone)
    }

    /// Targets of a pair of common records whose gradients cancel, of the canary and of the record it replaces.
    fn targets(self) -> [&'static str; 4] {
        match self {
            Instance::Labels | Instance::Turned | Instance::LabelsAlone => ["yes", "no", "yes", "no"],
            Instance::Numbers | Instance::NumbersAlone => ["1", "-1", "1", "-1"],
            Instance::Classes => ["p", "p", "q", "r"],
        }
    }

    fn columns(self) -> Vec<(String, Column)> {
        let mut columns = Vec::new();
        if self.has_features() {
            let values = ["common", "canary"].map(String::from).to_vec();
            columns.push(("x".into(), Column::number(-1.0, 1.0)));
            columns.push(("c".into(), Column::categories(values)));
        }
        if self == Instance::Classes {
            let values = ["p", "q", "r"].map(String::from).to_vec();
            columns.push(("y".into(), Column::categories(values)));
        }
        columns
    }

    fn schema(self) -> Schema {
        let labels = matches!(self, Instance::Labels | Instance::Turned | Instance::LabelsAlone);
        let bound = |value: f64| (self.task() == Task::Regression).then_some(value);
        Schema {
            positive: labels.then(|| "yes".into()),
            negative: labels.then(|| "no".into()),
            target_lower: bound(-1.0),
            target_upper: bound(1.0),
            columns: Columns(self.columns()),
            ..Schema::without_columns("canary".into(), "y".into(), self.task())
        }
    }

    fn record(self, features: &str, target: &str) -> String {
        if self.has_features() { format!("{features},{target}") } else { target.into() }
    }

    /// Neighbours with `pairs` pairs of common records and `null` lines that are no record; with `replaced` the canary
    /// takes the place of another record, else it is added.
    pub fn neighbours(self, pairs: usize, null: usize, replaced: bool) -> Neighbours {
        let [one, other, canary, instead] = self.targets();
        let pair = [self.record("0,common", one), self.record("0,common", other)];
        let common = pair.iter().cycle().take(2 * pairs).cloned();
        let nothing = std::iter::repeat_n(self.record("0,common", "?"), null);
        let elsewhere = if self == Instance::Turned { "-1,common" } else { "1,canary" };
        Neighbours {
            schema: self.schema(),
            header: self.record("x,c", "y"),
            common: common.chain(nothing).collect(),
            absent: replaced.then(|| vec![self.record(elsewhere, instead)]),
            present: vec![self.record("1,canary", canary)],
        }
    }
}

/// A run planned on each of two neighbours: without the record or the person, and with it.
pub struct Worlds {
    pub(super) each: [Loaded; 2],
    /// The place of the record among the rows, or of the person among the persons, the last.
    pub(super) position: usize,
    /// The record that is only in the second, encoded.
    pub(super) canary: RawRow,
}

impl Worlds {
    /// Reads and plans both; nothing is charged or trained yet.
    ///
    /// # Errors
    /// When the neighbours do not fit the relation of the request, runs of it could not be compared, or it cannot be planned.
    pub fn load(config: &TrainConfig, neighbours: &Neighbours) -> Fallible<Self> {
        comparable(config)?;
        if neighbours.absent.is_some() != config.adjacency.row_count_is_public() {
            return Err(Error::parameter(
                "--adjacency",
                "is not the relation in which the two data sets are neighbours",
                "add a record under add-remove, replace one under replace-one",
            ));
        }
        let mut schema = neighbours.schema.clone();
        if config.algorithm.description().needs.labels_alone {
            schema = schema.with_protect(Protect::Label)?;
        }
        let world = |differs: &[String]| {
            let lines = std::iter::once(&neighbours.header).chain(&neighbours.common).chain(differs);
            loaded(config, schema.clone(), lines)
        };
        let each = [world(neighbours.absent.as_deref().unwrap_or_default())?, world(&neighbours.present)?];
        let lines = file_of(std::iter::once(&neighbours.header).chain(&neighbours.present))?;
        let file = CsvFile::open(lines.path())?;
        let canary = Encoder::new(&neighbours.schema, &file, true)?.records(&file)?.into_iter().next();
        let none = || Error::parameter("data", "have no record in which they differ", "add one to the second");
        Ok(Worlds { each, position: neighbours.units(), canary: canary.ok_or_else(none)? })
    }

    /// The run without the record.
    pub fn absent(&self) -> &Loaded {
        &self.each[0]
    }

    /// The run with the record.
    pub fn present(&self) -> &Loaded {
        &self.each[1]
    }
}

/// Refuses requests whose runs have numbers of different lengths and meanings.
///
/// # Errors
/// When candidates are tried where columns are cut into intervals, or coordinates of later steps follow from earlier ones.
pub(super) fn comparable(config: &TrainConfig) -> Fallible<()> {
    if config.algorithm.cuts_columns() && !config.tune.is_empty() {
        return Err(Error::parameter(
            "--tune",
            "has no crafted neighbours where columns are cut into intervals: each candidate has coordinates of its own, and runs are \
             compared along them",
            "audit one candidate, without --tune",
        ));
    }
    if config.algorithm == Algorithm::Adaptive {
        return Err(Error::parameter(
            "--algorithm",
            "adaptive has no crafted neighbours: coordinates of its later steps follow from earlier ones, and runs are compared along them",
            "audit rich, which makes releases of the same kinds: counts, a covariance and clipped sums",
        ));
    }
    Ok(())
}

/// Lines read as the trainer reads any others, and the run planned on them.
pub(super) fn loaded<'a>(
    config: &TrainConfig,
    schema: Schema,
    lines: impl Iterator<Item = &'a String>,
) -> Fallible<Loaded> {
    // The file must be there until its lines have been read.
    let kept = file_of(lines)?;
    load(config, schema, &CsvFile::open(kept.path())?, &|_, _| Ok(()))
}

/// The lines in a file.
fn file_of<'a>(lines: impl Iterator<Item = &'a String>) -> Fallible<NamedTempFile> {
    let text: String = lines.flat_map(|line| [line.as_str(), "\n"]).collect();
    let folder = std::env::temp_dir();
    let failed = |e| Error::io(&folder, "write the crafted records", e);
    let mut file = NamedTempFile::new().map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_of_one_person_differ_and_nobody_else() {
        let unit = Unit { max_rows: Some(3), ..Unit::new("the \"one\", they say") };
        let pair = Instance::Labels.neighbours(1, 0, true).of_persons(&unit).unwrap();
        assert_eq!(pair.header, "\"the \"\"one\"\", they say\",x,c,y");
        assert_eq!(pair.common, ["p0,0,common,yes", "p1,0,common,no", "p0,0,common,yes", "p1,0,common,no"]);
        assert_eq!(pair.absent.as_deref(), Some(&["p2,1,canary,no"; 3].map(String::from)[..]));
        assert_eq!(pair.present, ["p2,1,canary,yes"; 3]);
        assert_eq!((pair.units(), pair.schema.unit.as_ref()), (2, Some(&unit)));
        let rows = pair.by_rows();
        assert_eq!((rows.units(), rows.schema.unit), (4, None));
        for taken in ["x", "y"] {
            let refused = Instance::Labels.neighbours(1, 0, false).of_persons(&Unit::new(taken)).unwrap_err();
            assert!(refused.to_string().contains(taken), "{refused}");
        }
    }
}
