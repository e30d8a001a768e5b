//! Synthetic data of any size from a linear or logistic model, for benchmarks and trials.

use std::io::Write;

use ndarray::Array1;
use ndarray_rand::RandomExt;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Normal, StandardNormal, Uniform};

use super::schema::{Column, Columns, Schema, Task};
use crate::error::{Error, Fallible};

/// What to generate.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    /// Classification by a logistic model or regression by a linear one.
    pub task: Task,
    /// Rows.
    pub rows: u64,
    /// Numeric features, uniform on `[-1, 1]`.
    pub features: usize,
    /// Categorical features with four values each.
    pub categories: usize,
    /// Standard deviation of the noise in the margin of a regression target.
    pub noise: f64,
    /// The data are synthetic, so the seed is no secret.
    pub seed: u64,
}

/// Values of a synthetic category.
const VALUES: [&str; 4] = ["a", "b", "c", "d"];

/// Bounds of a synthetic regression target.
const TARGET_BOUND: f64 = 5.0;

impl Synthetic {
    /// The public schema of the data set.
    pub fn schema(&self) -> Schema {
        let numeric = (0..self.features).map(|j| (format!("x{j}"), Column::Numeric { lower: -1.0, upper: 1.0 }));
        let categorical = (0..self.categories)
            .map(|j| (format!("c{j}"), Column::Categorical { values: VALUES.map(String::from).to_vec(), other: None }));
        let regression = self.task == Task::Regression;
        Schema {
            name: format!("synthetic-{}x{}", self.rows, self.features + self.categories),
            task: self.task,
            target: "y".into(),
            positive: (!regression).then(|| "1".into()),
            negative: (!regression).then(|| "0".into()),
            target_lower: regression.then_some(-TARGET_BOUND),
            target_upper: regression.then_some(TARGET_BOUND),
            rows: (self.rows > 0).then_some(self.rows),
            ignore: Vec::new(),
            columns: Columns(numeric.chain(categorical).collect()),
            draft: false,
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
        let weights = Array1::random_using(self.features, spread, &mut rng);
        let effects: Vec<[f64; 4]> = (0..self.categories).map(|_| rng.random::<[f64; 4]>().map(|e| e - 0.5)).collect();
        let unit = Uniform::new_inclusive(-1.0, 1.0).map_err(|e| Error::numerical("features", e.to_string()))?;
        let mut writer = csv::Writer::from_writer(out);
        let header = (0..self.features).map(|j| format!("x{j}")).chain((0..self.categories).map(|j| format!("c{j}")));
        writer.write_record(header.chain(["y".into()])).map_err(|e| failed(e.into()))?;
        for row in 0..self.rows {
            let x = Array1::random_using(self.features, unit, &mut rng).mapv(|v: f64| (v * 1e4).round() / 1e4);
            let codes: Vec<usize> = effects.iter().map(|_| rng.random_range(0..VALUES.len())).collect();
            let margin = x.dot(&weights) + effects.iter().zip(&codes).map(|(e, &code)| e[code]).sum::<f64>();
            let target = self.target(margin, &mut rng);
            let cells = x.iter().map(f64::to_string).chain(codes.iter().map(|&code| VALUES[code].into()));
            writer.write_record(cells.chain([target])).map_err(|e| failed(e.into()))?;
            if row % 4096 == 0 {
                progress(row);
            }
        }
        writer.flush().map_err(failed)
    }

    fn target(&self, margin: f64, rng: &mut ChaCha8Rng) -> String {
        match self.task {
            Task::Classification => {
                let probability = 1.0 / (1.0 + (-margin).exp());
                if rng.random::<f64>() < probability { "1".into() } else { "0".into() }
            }
            Task::Regression => {
                let noise: f64 = rng.sample(StandardNormal);
                format!("{:.5}", (margin + self.noise * noise).clamp(-TARGET_BOUND, TARGET_BOUND))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fit_their_schema() {
        for task in [Task::Classification, Task::Regression] {
            let wanted = Synthetic { task, rows: 50, features: 3, categories: 2, noise: 0.1, seed: 4 };
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
