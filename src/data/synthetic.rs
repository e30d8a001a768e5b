//! Synthetic data of any size from models with known coefficients, for benchmarks and trials.

use std::io::Write;

use ndarray::Array1;
use ndarray_rand::RandomExt;
use rand::distr::weighted::WeightedIndex;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Normal, Poisson, StandardNormal, Uniform};

use super::column::{Column, Columns};
use super::schema::{Schema, Task};
use super::unit::Unit;
use crate::error::{Error, Fallible};

/// How targets follow from features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum SyntheticKind {
    /// Two labels from a logistic model.
    Logistic,
    /// Four labels from a multinomial logistic model.
    Multinomial,
    /// A number from a linear model with normal noise.
    Linear,
    /// A count from a Poisson model.
    Poisson,
}

/// What to generate.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    /// How targets follow from features.
    pub kind: SyntheticKind,
    /// Rows.
    pub rows: u64,
    /// Numeric features, uniform on `[-1, 1]`.
    pub features: usize,
    /// Categorical features with four values each.
    pub categories: usize,
    /// Standard deviation of the noise of a linear target.
    pub noise: f64,
    /// The data are synthetic, so the seed is no secret.
    pub seed: u64,
    /// Whether rows are those of persons, each with 1 to 20 of them anywhere in the file, who differ by more than their features;
    /// then the first column says whose a row is.
    pub persons: bool,
}

/// Values of a synthetic category, and labels of a multinomial target.
const VALUES: [&str; 4] = ["a", "b", "c", "d"];

/// The column of identifiers, where rows are those of persons.
const PERSON: &str = "person";

/// The most rows of a synthetic person.
const MAX_ROWS: u64 = 20;

/// Persons whose rows are still to come, so that rows of one stand apart.
const OPEN_PERSONS: usize = 1000;

/// How far a person moves the margins of all of their rows, as a standard deviation.
const PERSON_EFFECT: f64 = 0.5;

/// Bounds of a synthetic linear target.
const TARGET_BOUND: f64 = 5.0;

/// Upper bound of a synthetic count.
const COUNT_BOUND: f64 = 60.0;

impl Synthetic {
    /// The public schema of the data set.
    pub fn schema(&self) -> Schema {
        let numeric = (0..self.features).map(|j| (format!("x{j}"), Column::number(-1.0, 1.0)));
        let categorical =
            (0..self.categories).map(|j| (format!("c{j}"), Column::categories(VALUES.map(String::from).to_vec())));
        let labelled = Column::categories(VALUES.map(String::from).to_vec());
        let target = (self.kind == SyntheticKind::Multinomial).then(|| ("y".into(), labelled));
        let two = self.kind == SyntheticKind::Logistic;
        let bounds = match self.kind {
            SyntheticKind::Logistic | SyntheticKind::Multinomial => None,
            SyntheticKind::Linear => Some((-TARGET_BOUND, TARGET_BOUND)),
            SyntheticKind::Poisson => Some((0.0, COUNT_BOUND)),
        };
        let name = format!("synthetic-{}x{}", self.rows, self.features + self.categories);
        let task = if bounds.is_some() { Task::Regression } else { Task::Classification };
        Schema {
            positive: two.then(|| "1".into()),
            negative: two.then(|| "0".into()),
            target_lower: bounds.map(|(lower, _)| lower),
            target_upper: bounds.map(|(_, upper)| upper),
            rows: (self.rows > 0 && !self.persons).then_some(self.rows),
            unit: self.persons.then(|| Unit { max_rows: Some(MAX_ROWS as u32), ..Unit::new(PERSON) }),
            columns: Columns(numeric.chain(categorical).chain(target).collect()),
            ..Schema::without_columns(name, "y".into(), task)
        }
    }

    /// Writes the rows as CSV; `progress` hears the rows done so far.
    ///
    /// # Errors
    /// When there is no feature, or the output cannot be written.
    pub fn write(&self, out: &mut dyn Write, progress: &dyn Fn(u64)) -> Fallible<()> {
        if self.features + self.categories == 0 {
            return Err(Error::parameter("--features", "is 0 and so is --categories", "ask for at least one"));
        }
        if !(self.noise >= 0.0 && self.noise.is_finite()) {
            return Err(Error::parameter("--noise", format!("is {}, must be at least 0", self.noise), "try 0.5"));
        }
        let failed = |e: std::io::Error| Error::io(std::path::Path::new("output"), "write the data", e);
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let spread = Normal::new(0.0, 2.0 / (self.features.max(1) as f64).sqrt())
            .map_err(|e| Error::numerical("coefficients", e.to_string()))?;
        let outputs = if self.kind == SyntheticKind::Multinomial { VALUES.len() } else { 1 };
        let truth: Vec<(Array1<f64>, Vec<[f64; 4]>)> = (0..outputs)
            .map(|_| {
                let weights = Array1::random_using(self.features, spread, &mut rng);
                (weights, (0..self.categories).map(|_| rng.random::<[f64; 4]>().map(|e| e - 0.5)).collect())
            })
            .collect();
        let unit = Uniform::new_inclusive(-1.0, 1.0).map_err(|e| Error::numerical("features", e.to_string()))?;
        let mut writer = csv::Writer::from_writer(out);
        let header = (0..self.features).map(|j| format!("x{j}")).chain((0..self.categories).map(|j| format!("c{j}")));
        let mut people = self.persons.then(|| People::new(self.seed));
        let person = self.persons.then(|| PERSON.to_owned()).into_iter();
        writer.write_record(person.chain(header).chain(["y".into()])).map_err(|e| failed(e.into()))?;
        for row in 0..self.rows {
            let x = Array1::random_using(self.features, unit, &mut rng).mapv(|v: f64| (v * 1e4).round() / 1e4);
            let codes: Vec<usize> = (0..self.categories).map(|_| rng.random_range(0..VALUES.len())).collect();
            let margin = |(weights, effects): &(Array1<f64>, Vec<[f64; 4]>)| {
                x.dot(weights) + effects.iter().zip(&codes).map(|(e, &code)| e[code]).sum::<f64>()
            };
            let (identifier, effect) = people.as_mut().map(People::draw).unzip();
            let margins: Vec<f64> = truth.iter().map(|of| margin(of) + effect.unwrap_or(0.0)).collect();
            let target = self.target(&margins, &mut rng)?;
            let cells = x.iter().map(f64::to_string).chain(codes.iter().map(|&code| VALUES[code].into()));
            writer.write_record(identifier.into_iter().chain(cells).chain([target])).map_err(|e| failed(e.into()))?;
            if row % 4096 == 0 {
                progress(row);
            }
        }
        writer.flush().map_err(failed)
    }

    fn target(&self, margins: &[f64], rng: &mut ChaCha8Rng) -> Fallible<String> {
        let margin = margins[0];
        Ok(match self.kind {
            SyntheticKind::Multinomial => {
                let weights = margins.iter().map(|t| t.exp());
                let law = WeightedIndex::new(weights).map_err(|e| Error::numerical("labels", e.to_string()))?;
                VALUES[rng.sample(law)].into()
            }
            SyntheticKind::Poisson => {
                // A mean near three; rates beyond the bound are cut like any target.
                let law = Poisson::new((1.0 + 0.5 * margin).exp());
                let law = law.map_err(|e| Error::numerical("counts", e.to_string()))?;
                rng.sample(law).min(COUNT_BOUND).to_string()
            }
            SyntheticKind::Logistic => {
                let probability = 1.0 / (1.0 + (-margin).exp());
                if rng.random::<f64>() < probability { "1".into() } else { "0".into() }
            }
            SyntheticKind::Linear => {
                let noise: f64 = rng.sample(StandardNormal);
                format!("{:.5}", (margin + self.noise * noise).clamp(-TARGET_BOUND, TARGET_BOUND))
            }
        })
    }
}

/// Persons some of whose rows are still to come.
struct People {
    /// Numbers, rows to come, and effects.
    open: Vec<(u64, u64, f64)>,
    made: u64,
    /// Not the one of features and targets, which are the same without persons.
    rng: ChaCha8Rng,
}

impl People {
    fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(1);
        let mut people = People { open: Vec::new(), made: 0, rng };
        people.open = (0..OPEN_PERSONS).map(|_| people.another()).collect();
        people
    }

    fn another(&mut self) -> (u64, u64, f64) {
        self.made += 1;
        let effect: f64 = self.rng.sample(StandardNormal);
        (self.made, self.rng.random_range(1..=MAX_ROWS), PERSON_EFFECT * effect)
    }

    /// Whose the next row is, and what that adds to its margins.
    fn draw(&mut self) -> (String, f64) {
        let place = self.rng.random_range(0..self.open.len());
        let (number, left, effect) = self.open[place];
        self.open[place] = if left > 1 { (number, left - 1, effect) } else { self.another() };
        (format!("p{number}"), effect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn persons_have_up_to_twenty_rows_and_change_no_feature() {
        let alone = Synthetic {
            kind: SyntheticKind::Linear,
            rows: 5000,
            features: 2,
            categories: 1,
            noise: 0.1,
            seed: 4,
            persons: false,
        };
        let text = |wanted: &Synthetic| {
            let mut out = Vec::new();
            wanted.write(&mut out, &|_| ()).unwrap();
            String::from_utf8(out).unwrap()
        };
        let with = Synthetic { persons: true, ..alone.clone() };
        let mut rows_of = std::collections::HashMap::new();
        for (line, plain) in text(&with).lines().zip(text(&alone).lines()) {
            let (person, rest) = line.split_once(',').unwrap();
            assert_eq!(rest.rsplit_once(',').unwrap().0, plain.rsplit_once(',').unwrap().0);
            *rows_of.entry(person.to_owned()).or_insert(0) += 1;
        }
        assert_eq!(rows_of.remove("person"), Some(1));
        assert!(rows_of.len() > 500 && rows_of.values().all(|rows| (1..=20).contains(rows)));
        let schema = with.schema();
        assert_eq!(schema.unit.as_ref().map(|unit| (unit.column.as_str(), unit.max_rows())), Some(("person", 20)));
        let written = serde_json::to_string(&schema).unwrap();
        assert_eq!(Schema::parse(&written, std::path::Path::new("s")).unwrap(), schema);
    }

    #[test]
    fn rows_fit_their_schema() {
        use SyntheticKind::{Linear, Logistic, Multinomial, Poisson};
        for kind in [Logistic, Multinomial, Linear, Poisson] {
            let wanted = Synthetic { kind, rows: 50, features: 3, categories: 2, noise: 0.1, seed: 4, persons: false };
            let mut out = Vec::new();
            wanted.write(&mut out, &|_| ()).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.lines().count(), 51);
            assert_eq!(text.lines().next(), Some("x0,x1,x2,c0,c1,y"));
            assert!(text.lines().all(|line| line.split(',').count() == 6));
            let schema = serde_json::to_string(&wanted.schema()).unwrap();
            Schema::parse(&schema, std::path::Path::new("s")).unwrap();
        }
    }
}
