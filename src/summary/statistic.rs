//! What may be asked of a column.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::data::{Column, Schema};
use crate::error::{Error, Fallible};
use crate::grid::FULL_SCALE;
use crate::private::CellColumn;

/// Parts of equal width that a histogram of numbers has.
const PARTS: u64 = 20;

/// Quantiles are asked in thousandths.
const THOUSAND: u64 = 1000;

/// All other labels of a target that names its positive one alone.
const OTHER_LABELS: &str = "other labels";

/// A statistic of a column, or of all rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Statistic {
    /// The number of rows that have as many cells as the header, or of persons with such a row.
    Count {},
    /// The mean of the numbers of a column, with how many there are.
    Mean {
        /// The column.
        column: String,
    },
    /// A quantile of the numbers of a column, by the exponential mechanism.
    Quantile {
        /// The column.
        column: String,
        /// The share of the numbers below it, in thousandths.
        thousandths: u64,
    },
    /// The number of rows of each declared value, or of each of 20 parts of the bounds.
    Histogram {
        /// The column.
        column: String,
    },
    /// The median, with noise for a proposed bound on its jumps, if a test finds that few rows cannot break it.
    StableMedian {
        /// The column.
        column: String,
        /// The bound, in the units of the column.
        within: f64,
    },
    /// The first declared value that has about so many rows or more.
    FirstAbove {
        /// The column.
        column: String,
        /// So many rows.
        rows: u64,
    },
}

/// The forms in which statistics are written, for messages.
pub const FORMS: &str = "count, mean:COLUMN, median:COLUMN, quantile:COLUMN:SHARE, histogram:COLUMN, stable-median:COLUMN:WITHIN, first-above:COLUMN:ROWS";

impl FromStr for Statistic {
    type Err = Error;

    fn from_str(text: &str) -> Fallible<Self> {
        let wrong = |problem: &str| {
            Err(Error::parameter("statistic", format!("{text:?} {problem}"), format!("write one of {FORMS}")))
        };
        let Some((name, rest)) = text.split_once(':') else {
            return if text == "count" { Ok(Statistic::Count {}) } else { wrong("is none, or names no column") };
        };
        let number = |value: &str| value.parse::<f64>().ok().filter(|value| value.is_finite());
        // The last colon, for names of columns may have some.
        let parameter = || rest.rsplit_once(':').filter(|(column, _)| !column.is_empty());
        let column = rest.to_owned();
        if column.is_empty() {
            return wrong("names no column");
        }
        match name {
            "mean" => Ok(Statistic::Mean { column }),
            "median" => Ok(Statistic::Quantile { column, thousandths: THOUSAND / 2 }),
            "histogram" => Ok(Statistic::Histogram { column }),
            "quantile" => match parameter().and_then(|(column, share)| Some((column, number(share)?))) {
                Some((column, share)) if (0.0..=1.0).contains(&share) => {
                    let thousandths = (share * THOUSAND as f64).round() as u64;
                    if (thousandths as f64 / THOUSAND as f64 - share).abs() > 1e-12 {
                        return wrong("needs a share in thousandths, as in quantile:age:0.975");
                    }
                    Ok(Statistic::Quantile { column: column.into(), thousandths })
                }
                _ => wrong("needs a share between 0 and 1, as in quantile:age:0.9"),
            },
            "stable-median" => match parameter().and_then(|(column, within)| Some((column, number(within)?))) {
                Some((column, within)) if within > 0.0 => Ok(Statistic::StableMedian { column: column.into(), within }),
                _ => wrong("needs a positive distance, as in stable-median:age:2"),
            },
            "first-above" => match parameter().and_then(|(column, rows)| Some((column, rows.parse().ok()?))) {
                Some((column, rows)) => Ok(Statistic::FirstAbove { column: column.into(), rows }),
                None => wrong("needs a whole number of rows, as in first-above:job:500"),
            },
            _ => wrong("is none"),
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Count {} => f.write_str("count"),
            Statistic::Mean { column } => write!(f, "mean:{column}"),
            Statistic::Quantile { column, thousandths: 500 } => write!(f, "median:{column}"),
            Statistic::Quantile { column, thousandths } => {
                write!(f, "quantile:{column}:{}", *thousandths as f64 / THOUSAND as f64)
            }
            Statistic::Histogram { column } => write!(f, "histogram:{column}"),
            Statistic::StableMedian { column, within } => write!(f, "stable-median:{column}:{within}"),
            Statistic::FirstAbove { column, rows } => write!(f, "first-above:{column}:{rows}"),
        }
    }
}

impl Statistic {
    /// The column that it is of; none for the number of rows.
    pub fn column(&self) -> Option<&str> {
        match self {
            Statistic::Count {} => None,
            Statistic::Mean { column }
            | Statistic::Quantile { column, .. }
            | Statistic::Histogram { column }
            | Statistic::StableMedian { column, .. }
            | Statistic::FirstAbove { column, .. } => Some(column),
        }
    }

    /// The quantile as a fraction of whole numbers.
    pub(super) fn share(thousandths: u64) -> (u64, u64) {
        // In lowest terms, for the sensitivity of ranks grows with the denominator.
        let divisor = (1..=THOUSAND).rev().find(|d| thousandths.is_multiple_of(*d) && THOUSAND.is_multiple_of(*d));
        let divisor = divisor.unwrap_or(1);
        (thousandths / divisor, THOUSAND / divisor)
    }
}

/// A column as its schema declares it, or rows as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Declared {
    /// Rows.
    Rows,
    /// A column.
    Column(Column),
}

impl Declared {
    /// The declaration of a column of the schema, the target included, or of rows.
    ///
    /// # Errors
    /// When the schema does not declare the column, and where the statistic is of numbers and the column of none, or the other way round.
    pub(super) fn of(statistic: &Statistic, schema: &Schema) -> Fallible<Self> {
        let Some(name) = statistic.column() else { return Ok(Declared::Rows) };
        let feature = schema.features().find(|(known, _)| *known == name).map(|(_, column)| column.clone());
        let target = || {
            let labels = |positive: &String| {
                let negatives = schema.negatives();
                let other = negatives.is_none().then(|| OTHER_LABELS.to_owned());
                let rest = negatives.unwrap_or_else(|| vec![OTHER_LABELS.into()]);
                Column::Categorical { values: [vec![positive.clone()], rest].concat(), other, public: false }
            };
            let classes = || schema.classes().map(|labels| Column::categories(labels.to_vec()));
            let bounds = || schema.target_bounds().map(|(lower, upper)| Column::number(lower, upper));
            (name == schema.target).then(|| schema.positive.as_ref().map(labels).or_else(classes).or_else(bounds))?
        };
        let column = feature.or_else(target).ok_or_else(|| {
            let problem = format!("{statistic} is of a column that the schema does not declare");
            Error::parameter("statistic", problem, "declare it in \"columns\", or ask for another one")
        })?;
        let declared = Declared::Column(column);
        declared.fits(statistic)?;
        Ok(declared)
    }

    /// Refuses a statistic that the column has not.
    pub(super) fn fits(&self, statistic: &Statistic) -> Fallible<()> {
        let fits = match (statistic, self) {
            (Statistic::Count {}, declared) => *declared == Declared::Rows,
            (_, Declared::Rows) => false,
            (Statistic::Histogram { .. }, Declared::Column(_)) => true,
            (Statistic::FirstAbove { .. }, Declared::Column(column)) => matches!(column, Column::Categorical { .. }),
            (_, Declared::Column(column)) => matches!(column, Column::Numeric { .. }),
        };
        if fits {
            return Ok(());
        }
        let (has, cure) = match self {
            Declared::Rows => ("rows have no such statistic", "name a column"),
            Declared::Column(Column::Numeric { .. }) => ("the column holds numbers", "ask for its histogram or median"),
            Declared::Column(Column::Categorical { .. }) => ("the column holds no numbers", "ask for its histogram"),
        };
        Err(Error::parameter("statistic", format!("{statistic} is refused, for {has}"), cure))
    }

    /// What its cells count as.
    pub(super) fn cells(&self, index: usize) -> Fallible<CellColumn> {
        match self {
            Declared::Rows => Ok(CellColumn::line()),
            Declared::Column(Column::Numeric { lower, upper, .. }) => CellColumn::number(index, *lower, *upper),
            Declared::Column(Column::Categorical { values, other, .. }) => {
                CellColumn::values(index, values, other.as_deref())
            }
        }
    }

    /// The number of counts of its histogram.
    pub(super) fn bins(&self) -> u64 {
        match self {
            Declared::Rows => 1,
            Declared::Column(Column::Numeric { .. }) => PARTS,
            Declared::Column(Column::Categorical { values, .. }) => values.len() as u64,
        }
    }

    /// The names of the counts of its histogram.
    pub(super) fn labels(&self) -> Vec<String> {
        match self {
            Declared::Rows => vec!["rows".into()],
            Declared::Column(Column::Categorical { values, .. }) => values.clone(),
            Declared::Column(Column::Numeric { lower, upper, .. }) => {
                let edge = |part: u64| lower + (upper - lower) * part as f64 / PARTS as f64;
                (0..PARTS).map(|part| format!("{:.6}..{:.6}", edge(part), edge(part + 1))).collect()
            }
        }
    }

    /// The number that lies at a place between the bounds, from 0 to 1.
    pub(super) fn at(&self, place: f64) -> Option<f64> {
        match self {
            Declared::Column(Column::Numeric { lower, upper, .. }) => Some(lower + (upper - lower) * place),
            Declared::Column(Column::Categorical { .. }) | Declared::Rows => None,
        }
    }

    /// Half of what is between the bounds.
    pub(super) fn half_width(&self) -> Option<f64> {
        match self {
            Declared::Column(Column::Numeric { lower, upper, .. }) => Some((upper - lower) / 2.0),
            Declared::Column(Column::Categorical { .. }) | Declared::Rows => None,
        }
    }

    /// A distance in codes, rounded up; `None` where it is no distance between two numbers of the column.
    pub(super) fn codes(&self, distance: f64) -> Option<u64> {
        let codes = (distance / self.half_width()? * f64::from(FULL_SCALE)).ceil();
        (codes >= 1.0 && codes <= f64::from(2 * i32::from(FULL_SCALE))).then_some(codes as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_read_as_they_are_written() {
        for text in [
            "count",
            "mean:age",
            "median:a:b",
            "quantile:age:0.9",
            "quantile:a:b:0.125",
            "histogram:job",
            "stable-median:age:2.5",
            "first-above:job:500",
        ] {
            let statistic: Statistic = text.parse().unwrap();
            assert_eq!(statistic.to_string(), text);
            let stored = serde_json::to_string(&statistic).unwrap();
            assert_eq!(serde_json::from_str::<Statistic>(&stored).unwrap(), statistic);
        }
        assert_eq!("quantile:age:0.5".parse::<Statistic>().unwrap().to_string(), "median:age");
        for bad in [
            "",
            "mean",
            "mean:",
            "mode:age",
            "quantile:age",
            "quantile:age:2",
            "quantile:age:x",
            "quantile::0.5",
            "stable-median:age:0",
            "stable-median:age:inf",
            "first-above:job:-1",
            "first-above:job:1.5",
            "count:age",
        ] {
            assert!(bad.parse::<Statistic>().is_err(), "{bad}");
        }
        assert_eq!((Statistic::share(500), Statistic::share(900), Statistic::share(0)), ((1, 2), (9, 10), (0, 1)));
    }
}
