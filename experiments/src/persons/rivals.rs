//! The ways to protect persons that are compared.

use std::path::PathBuf;

use rhograd::data::{CsvFile, Schema, Unit};
use rhograd::error::Fallible;
use rhograd::ledger::Ledger;
use rhograd::privacy::{Delta, Epsilon, Rho};
use rhograd::train::{Budget, Metrics, Plan, TrainConfig, evaluate, load, train};

use super::DELTA;
use super::data::DataSet;
use super::descent::Descent;
use crate::setup::{Plant, noise};

/// A way to protect persons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// The default, told who is who.
    Default,
    /// One row of each person, drawn at random, and the default for rows.
    OneRow,
    /// So many rows of each person at most, and noise for a group of as many.
    Group(usize),
    /// One row of each person, with the person as the unit.
    OneRowPerson,
    /// Gradient descent that averages the gradients of a person's rows, and clips the average.
    Joint,
    /// The same with each row clipped on its own, and then averaged.
    Apart,
}

impl Method {
    pub(super) const ALL: [Method; 7] = [
        Method::Default,
        Method::OneRow,
        Method::Group(5),
        Method::Group(20),
        Method::OneRowPerson,
        Method::Joint,
        Method::Apart,
    ];

    /// The first of each pair is to be no worse than the second.
    pub(super) const CLAIMS: [(Method, Method); 4] = [
        (Method::Default, Method::OneRow),
        (Method::Default, Method::Group(5)),
        (Method::Default, Method::Group(20)),
        (Method::Joint, Method::Apart),
    ];

    /// To be the same: of one row a person, the model of persons and that of rows.
    pub(super) const SAME: [Method; 2] = [Method::OneRowPerson, Method::OneRow];

    pub(super) fn name(self) -> &'static str {
        match self {
            Method::Default => "default",
            Method::OneRow => "one random row",
            Method::Group(5) => "clip / 5 rows",
            Method::Group(_) => "clip / 20 rows",
            Method::OneRowPerson => "one random row as a person",
            Method::Joint => "descent: joint clip",
            Method::Apart => "descent: rows clipped; weight 1 / rows",
        }
    }

    /// Whether persons have as many rows.
    pub(super) fn applies_to(self, data: &DataSet) -> bool {
        !matches!(self, Method::Group(rows) if rows > data.most())
    }

    pub(super) fn is_drawn(self) -> bool {
        !matches!(self, Method::OneRowPerson | Method::Group(20))
    }

    /// The method with its training file for one seed.
    pub(super) fn ready(self, data: &DataSet, seed: u64, plant: Option<Plant>) -> Fallible<Ready<'_>> {
        let work = match self {
            Method::Default => Work::Train { rows: data.with_at_most(usize::MAX, seed)?, group: 1, persons: true },
            Method::OneRow => Work::Train { rows: data.with_at_most(1, seed)?, group: 1, persons: false },
            Method::OneRowPerson => Work::Train { rows: data.with_at_most(1, seed)?, group: 1, persons: true },
            Method::Group(most) => Work::Train { rows: data.with_at_most(most, seed)?, group: most, persons: false },
            Method::Joint | Method::Apart => {
                let rows = data.with_at_most(usize::MAX, seed)?;
                Work::Descend(Box::new(Descent::new(data, &rows, self == Method::Joint)?))
            }
        };
        Ok(Ready { data, seed, work, plant: plant.filter(|_| self == Method::Joint) })
    }
}

/// A method with its training file.
pub(super) struct Ready<'a> {
    data: &'a DataSet,
    seed: u64,
    work: Work,
    plant: Option<Plant>,
}

enum Work {
    /// The trainer, on a file, with noise for groups of rows.
    Train {
        rows: PathBuf,
        group: usize,
        persons: bool,
    },
    Descend(Box<Descent>),
}

impl Ready<'_> {
    /// AUC on the test file.
    pub(super) fn auc(&self, epsilon: f64) -> Fallible<f64> {
        let budget = Budget::Epsilon(Epsilon::new(epsilon)?, Some(Delta::new(DELTA)?));
        let config = TrainConfig { accept_large_delta: true, ..TrainConfig::new(budget) };
        let rho = Plan::new(&config, &self.schema(true), None)?.rho.lower();
        match &self.work {
            Work::Descend(descent) => Ok(descent.auc(rho, self.seed, self.plant == Some(Plant::WrongStep))),
            Work::Train { rows, group, persons } => {
                let budget = match group {
                    1 => config.budget,
                    // rho of zCDP grows with the square of a group.
                    group => Budget::Rho(Rho::from_f64(rho / (group * group) as f64)?, Some(Delta::new(DELTA)?)),
                };
                let config = TrainConfig { budget, ..config };
                let loaded = load(&config, self.schema(*persons), &CsvFile::open(rows)?, &|_, _| Ok(()))?;
                let (trained, _) = train(loaded, &mut Ledger::in_memory()?, noise(self.seed), &mut |_| Ok(()))?;
                Ok(match evaluate(&trained.model, &CsvFile::open(&self.data.test)?)? {
                    Metrics::Label { auc, .. } => auc.unwrap_or(f64::NAN),
                    Metrics::Classes { .. } | Metrics::Number { .. } => f64::NAN,
                })
            }
        }
    }

    /// The schema, of persons or of rows.
    fn schema(&self, persons: bool) -> Schema {
        let mut schema = self.data.schema.clone();
        let column = schema.unit.as_ref().map(|unit| unit.column.clone()).unwrap_or_default();
        // With the most rows that count by default.
        schema.unit = persons.then(|| Unit::new(&column));
        if !persons {
            schema.ignore.push(column);
        }
        schema
    }
}
