//! Many records at right angles to each other, each there or not by a fair coin of its own.

use std::iter::once;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::neighbours::{loaded, of_persons};
use crate::data::{Column, Columns, Schema, Task, Unit};
use crate::error::{Error, Fallible};
use crate::grid::FULL_SCALE;
use crate::model_kind::Response;
use crate::privacy::Adjacency;
use crate::train::{Loaded, ModelKind, TrainConfig};

/// Columns that canaries share, and canaries that share them; a power of two. Every row has an intercept, which is the same for
/// all and tells nothing of one of them: it takes `1 / (BLOCK + 1)` of a canary's squared norm.
pub(super) const BLOCK: usize = 128;

/// Coins of either kind are then as good as certain to be five or more.
const MIN_CANARIES: usize = 50;

/// Entries of a shortened sum are cut to whole grid steps, of which there are millions.
const CUT: f64 = 1e-6;

/// There are as many columns as canaries.
const MAX_CANARIES: usize = 1 << 14;

/// Crafted records and their coins.
///
/// Features of a canary are a row of a Hadamard matrix (Sylvester 1867) in the columns of its block and zero elsewhere, so the
/// features of any two are orthogonal, and a canary moves the released sum along its own axis only.
pub(super) struct Canaries {
    /// Whether each is there; under replace-one, whether its label is the first.
    pub(super) coins: Vec<bool>,
    replaced: bool,
    task: Task,
    /// Each canary is a person with as many rows as count, where persons are the unit.
    unit: Option<Unit>,
}

impl Canaries {
    /// Tosses the coins.
    ///
    /// # Errors
    /// When the number is out of range, or the gradient of the model is no known multiple of a row.
    pub(super) fn toss(config: &TrainConfig, unit: Option<Unit>, count: usize, seed: u64) -> Fallible<Self> {
        if !(MIN_CANARIES..=MAX_CANARIES).contains(&count) {
            let problem = format!("is {count}, must be from {MIN_CANARIES} to {MAX_CANARIES}");
            return Err(Error::parameter("--canaries", problem, "use 1000"));
        }
        let task = match config.model.map(ModelKind::response) {
            None | Some(Response::Label) => Task::Classification,
            Some(Response::Centred) => Task::Regression,
            Some(Response::Class | Response::Count) => {
                let problem = "has no canaries for this model: two labels or numbers are needed as targets";
                return Err(Error::parameter("--one-run", problem, "use --model logistic, or leave --one-run out"));
            }
        };
        let mut random = ChaCha20Rng::seed_from_u64(seed);
        let coins = (0..count).map(|_| random.random()).collect();
        Ok(Canaries { coins, replaced: config.adjacency == Adjacency::ReplaceOne, task, unit })
    }

    fn columns(&self) -> usize {
        self.coins.len().next_multiple_of(BLOCK)
    }

    fn schema(&self) -> Schema {
        let labels = self.task == Task::Classification;
        let column = |index| (format!("x{index}"), Column::number(-1.0, 1.0));
        Schema {
            positive: labels.then(|| "1".into()),
            negative: labels.then(|| "-1".into()),
            target_lower: (!labels).then_some(-1.0),
            target_upper: (!labels).then_some(1.0),
            columns: Columns((0..self.columns()).map(column).collect()),
            ..Schema::without_columns("canaries".into(), "y".into(), self.task)
        }
    }

    fn record(&self, canary: usize, target: &str) -> String {
        let block = canary / BLOCK;
        let before = "0,".repeat(block * BLOCK);
        let own: String = (0..BLOCK).map(|j| if sign(canary, j) > 0.0 { "1," } else { "-1," }).collect();
        let after = "0,".repeat(self.columns() - (block + 1) * BLOCK);
        format!("{before}{own}{after}{target}")
    }

    /// Rows of each canary.
    fn rows(&self) -> usize {
        self.unit.as_ref().map_or(1, |unit| unit.max_rows() as usize)
    }

    /// The records that the coins put into the data, and a run planned on them.
    ///
    /// # Errors
    /// When the request cannot be planned.
    pub(super) fn load(&self, config: &TrainConfig) -> Fallible<Loaded> {
        let schema = match &self.unit {
            None => self.schema(),
            Some(unit) => of_persons(self.schema(), unit)?,
        };
        self.load_as(schema, config)
    }

    /// The records that the coins put into the data before a trainer that does not know whose rows are whose.
    ///
    /// # Errors
    /// When the request cannot be planned.
    pub(super) fn load_by_rows(&self, config: &TrainConfig) -> Fallible<Loaded> {
        self.load_as(self.schema(), config)
    }

    fn load_as(&self, schema: Schema, config: &TrainConfig) -> Fallible<Loaded> {
        let header: String = (0..self.columns()).map(|index| format!("x{index},")).chain(once("y".into())).collect();
        let record = |(canary, coin): (usize, &bool)| match (coin, self.replaced) {
            (true, _) => Some(self.record(canary, "1")),
            (false, true) => Some(self.record(canary, "-1")),
            (false, false) => None,
        };
        let records = self.coins.iter().enumerate().filter_map(record);
        let Some(unit) = &self.unit else {
            return loaded(config, schema, once(&header).chain(&records.collect::<Vec<_>>()));
        };
        let named: Vec<String> = records.enumerate().map(|(person, line)| format!("p{person},{line}")).collect();
        let header = format!("\"{}\",{header}", unit.column.replace('"', "\"\""));
        // Persons take turns, so that nobody's rows stand together.
        loaded(config, schema, once(&header).chain(named.iter().cycle().take(named.len() * self.rows())))
    }

    /// The part of a sum of gradients along the axis of each canary: a target above the prediction makes a gradient that points
    /// away from the row.
    pub(super) fn along(&self, sum: &[f64]) -> Vec<f64> {
        let part = |canary: usize| {
            let block = sum.chunks(BLOCK).nth(canary / BLOCK).unwrap_or_default();
            -block.iter().enumerate().map(|(j, value)| sign(canary, j) * value).sum::<f64>() / (BLOCK as f64).sqrt()
        };
        (0..self.coins.len()).map(part).collect()
    }

    /// What a clipped canary moves the sum by along its axis, over the clip of so many grid steps: a little is along the
    /// intercept, and multipliers are rounded down. The sum of several rows is shortened to the clip, entry by entry.
    pub(super) fn share(&self, clip_steps: u64) -> f64 {
        let full = f64::from(FULL_SCALE);
        if self.rows() > 1 {
            return (1.0 - CUT) * (BLOCK as f64 / (BLOCK as f64 + 1.0)).sqrt();
        }
        let multiplier = (clip_steps as f64 / (full * (BLOCK as f64 + 1.0).sqrt())).floor();
        multiplier * full * (BLOCK as f64).sqrt() / clip_steps as f64
    }
}

/// The entry of a Hadamard matrix in the row of a canary.
fn sign(canary: usize, column: usize) -> f64 {
    if ((canary % BLOCK) & column).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Rho;
    use crate::train::Budget;

    fn canaries(count: usize) -> Canaries {
        Canaries::toss(&TrainConfig::new(Budget::Rho(Rho::from_f64(1.0).unwrap(), None)), None, count, 1).unwrap()
    }

    #[test]
    fn each_canary_shows_on_its_own_axis_alone() {
        let canaries = canaries(150);
        for canary in [0, 5, 127, 128, 149] {
            let record = canaries.record(canary, "1");
            let cells: Vec<f64> = record.split(',').map(|cell| cell.parse().unwrap()).collect();
            assert_eq!(cells.len(), 257);
            let along = canaries.along(&cells[..256].iter().map(|x| -x).collect::<Vec<_>>());
            for (other, part) in along.iter().enumerate() {
                let expected = if other == canary { 128f64.sqrt() } else { 0.0 };
                assert!((part - expected).abs() < 1e-9, "{canary} {other} {part}");
            }
        }
    }

    #[test]
    fn nearly_all_of_a_clip_is_along_the_axis() {
        for clip_steps in [2048 * 32767, 3000 * 32767 + 17, 4095 * 32767] {
            let share = canaries(50).share(clip_steps);
            assert!(share > 0.985 && share < 1.0, "{share}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let config = TrainConfig::new(Budget::Rho(Rho::from_f64(1.0).unwrap(), None));
        assert!(Canaries::toss(&config, None, 49, 1).is_err() && Canaries::toss(&config, None, 20_000, 1).is_err());
        let multinomial = TrainConfig { model: Some(ModelKind::Multinomial), ..config };
        assert!(Canaries::toss(&multinomial, None, 100, 1).is_err());
    }
}
