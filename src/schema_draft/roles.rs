//! What is publicly known about the columns of a file before it is read.

use std::collections::HashMap;

use super::request::DraftRequest;
use crate::data::Task;
use crate::error::{Error, Fallible};
use crate::optim::KindsSeen;
use crate::private::Grid;

/// A column with fewer cells than this share of the rows is left out.
const MIN_FILLED: f64 = 0.05;

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Numbers, perhaps of a public rough range.
    Numeric(Option<(f64, f64)>),
    /// Values.
    Categorical,
    /// Left out.
    Ignored,
}

/// The columns of a file; `None` where a release must tell the kind.
pub(super) struct Roles {
    pub(super) target: usize,
    pub(super) kinds: Vec<Option<Kind>>,
    /// Released numbers of rows without a number, or without a text where columns hold values, for columns whose kind a release told.
    pub(super) missing: HashMap<usize, f64>,
    /// Standard deviation of the noise in numbers of rows.
    pub(super) deviation: f64,
}

impl Roles {
    /// Puts together what the request declares.
    ///
    /// # Errors
    /// When a column is missing or declared twice, or no feature is left.
    pub(super) fn declared(header: &[String], request: &DraftRequest) -> Fallible<Self> {
        let places: HashMap<&str, usize> = header.iter().map(String::as_str).zip(0..).collect();
        let place = |flag: &str, name: &str| {
            places.get(name).copied().ok_or_else(|| {
                Error::parameter(flag, format!("names {name:?}, which the header lacks"), "name a column of the file")
            })
        };
        let target = match &request.target {
            Some(name) => place("--target", name)?,
            None => header.len() - 1,
        };
        let mut kinds: Vec<Option<Kind>> = vec![None; header.len()];
        let mut declare = |flag: &str, name: &str, kind: Kind| {
            let column = place(flag, name)?;
            if kinds[column].is_some() {
                return Err(Error::parameter(flag, format!("names {name:?} a second time"), "declare it once"));
            }
            kinds[column] = Some(kind);
            Ok(())
        };
        if let Some(unit) = &request.unit {
            declare("--unit", unit, Kind::Ignored)?;
        }
        request.ranges.iter().try_for_each(|(name, lower, upper)| {
            let unusable = !(lower < upper && lower.is_finite() && upper.is_finite());
            if unusable {
                let problem = format!("of {name:?} is {lower}..{upper}");
                return Err(Error::parameter("--range", problem, "give finite bounds with lower < upper"));
            }
            Grid::within(*lower, *upper)?;
            declare("--range", name, Kind::Numeric(Some((*lower, *upper))))
        })?;
        request.numeric.iter().try_for_each(|name| declare("--numeric", name, Kind::Numeric(None)))?;
        request.categorical.iter().try_for_each(|name| declare("--categorical", name, Kind::Categorical))?;
        request.ignore.iter().try_for_each(|name| declare("--ignore", name, Kind::Ignored))?;
        let fits = |task: Task, kind: Kind| match task {
            Task::Regression => matches!(kind, Kind::Numeric(_)),
            Task::Classification => kind == Kind::Categorical,
        };
        if request.unit.as_ref().is_some_and(|unit| places.get(unit.as_str()) == Some(&target)) {
            let problem = "names the target, which tells no person from another";
            return Err(Error::parameter("--unit", problem, "name the column of identifiers, or another --target"));
        }
        kinds[target] = match (request.task, kinds[target]) {
            (Some(task), Some(kind)) if !fits(task, kind) => {
                let problem = "does not go with what another flag declares the target to be";
                return Err(Error::parameter("--task", problem, "leave one of the two out"));
            }
            (Some(Task::Classification), _) => Some(Kind::Categorical),
            (Some(Task::Regression), None) => Some(Kind::Numeric(None)),
            (_, Some(Kind::Ignored)) => {
                return Err(Error::parameter("--ignore", "names the target", "keep the target"));
            }
            (_, declared) => declared,
        };
        let left = kinds.iter().enumerate().any(|(column, kind)| column != target && *kind != Some(Kind::Ignored));
        if left {
            return Ok(Roles { target, kinds, missing: HashMap::new(), deviation: 0.0 });
        }
        Err(Error::parameter("--ignore", "leaves no feature", "keep a column beside the target"))
    }

    /// Columns whose kind a release must tell.
    pub(super) fn undecided(&self) -> Vec<usize> {
        (0..self.kinds.len()).filter(|&column| self.kinds[column].is_none()).collect()
    }

    /// Decides the kinds by released numbers: the more frequent one, or none where nearly all cells are empty.
    pub(super) fn decide(&mut self, seen: &KindsSeen, rows: f64) {
        self.deviation = seen.deviation;
        for (column, [numbers, texts]) in self.undecided().into_iter().zip(&seen.columns) {
            let empty = numbers.max(*texts) < MIN_FILLED * rows && column != self.target;
            self.kinds[column] = Some(match numbers > texts {
                _ if empty => Kind::Ignored,
                true => Kind::Numeric(None),
                false => Kind::Categorical,
            });
            self.missing.insert(column, rows - numbers - if numbers > texts { 0.0 } else { *texts });
        }
    }

    /// Columns whose interval is to be released, with their public ranges.
    pub(super) fn numeric(&self) -> Vec<(usize, Option<(f64, f64)>)> {
        let range = |kind: &Option<Kind>| match kind {
            Some(Kind::Numeric(range)) => Some(*range),
            _ => None,
        };
        self.kinds.iter().enumerate().filter_map(|(column, kind)| Some((column, range(kind)?))).collect()
    }

    /// Columns whose values are to be released; the target's also where it may turn out to hold labels written as numbers.
    pub(super) fn valued(&self, task: Option<Task>) -> Vec<usize> {
        let wanted = |column: usize| match self.kinds[column] {
            Some(Kind::Categorical) => true,
            Some(Kind::Numeric(None)) => column == self.target && task.is_none(),
            _ => false,
        };
        (0..self.kinds.len()).filter(|&column| wanted(column)).collect()
    }
}
