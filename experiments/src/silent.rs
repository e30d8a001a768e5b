//! Training on rows that say nothing: what comes out is the noise of all gradients together.

use std::fmt::Write as _;

use rhograd::data::{Schema, SchemaBuilder};
use rhograd::error::Fallible;
use rhograd::optim::Averaging;
use rhograd::train::{Feature, Loaded, Plan, TrainConfig};

use crate::rows::{header, signs, trained_on};

/// Clip norm of the gradient of a row.
pub const CLIP: f64 = 1.0;

/// Step size: so small that no step sees what the others did.
const STEP: f64 = 1e-9;

/// Rows whose features are all zero, and how many of both there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silent {
    /// Rows.
    pub rows: u64,
    /// Features.
    pub features: usize,
}

/// What training on such rows shows.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// Root of the mean square, over coordinates, of the mean of all released gradients, which of the rows is zero; in
    /// units of clip norm over rows.
    pub error: f64,
    /// Noise multiplier of a step, relative to its sensitivity.
    pub noise_multiplier: f64,
}

impl Silent {
    /// The request with what makes its coefficients the sum of its gradients: one step size, no momentum, no moments, the
    /// last iterate, a clip that is given.
    pub fn request(&self, config: TrainConfig) -> TrainConfig {
        let mut config = TrainConfig { standardize: Some(false), ..config };
        config.settings.clip = Some(CLIP);
        config.settings.learning_rate = Some(STEP);
        config.settings.momentum = Some(0.0);
        config.settings.averaging = Some(Averaging::Last);
        config
    }

    /// The plan of a request, from public facts.
    ///
    /// # Errors
    /// As the planner.
    pub fn plan(&self, config: &TrainConfig) -> Fallible<Plan> {
        let public = config.adjacency.row_count_is_public().then_some(self.rows);
        Plan::new(config, &self.schema()?, public)
    }

    /// Trains, and returns what was heard.
    ///
    /// # Errors
    /// As training, and when the rows cannot be written to a temporary file.
    pub fn train(&self, config: &TrainConfig, seed: u64) -> Fallible<Heard> {
        let look = |loaded: &Loaded| {
            let plan = loaded.plan();
            (plan.steps() as f64, plan.charges().last().map_or(f64::NAN, |charge| charge.noise_multiplier()))
        };
        let (trained, (steps, noise_multiplier)) =
            trained_on(&self.csv(), (config, self.schema()?), seed, look, |trained, _, seen| Ok((trained, seen)))?;
        let coefficients = trained.model.features.iter().flat_map(|feature| match feature {
            Feature::Numeric { coefficient, .. } => coefficient.values(),
            Feature::Steps { .. } | Feature::Categorical { .. } => &[],
        });
        // What a coefficient is moved by in all steps, over their number: the mean of their gradients.
        let square = coefficients.map(|w| (w / (STEP * steps)).powi(2)).sum::<f64>() / self.features as f64;
        Ok(Heard { error: square.sqrt() * self.rows as f64 / CLIP, noise_multiplier })
    }

    fn schema(&self) -> Fallible<Schema> {
        signs(SchemaBuilder::classification("silent", "y").positive("1"), 0..self.features)
    }

    fn csv(&self) -> String {
        let mut text = header(0..self.features);
        for row in 0..self.rows {
            let _ = writeln!(text, "{}{}", "0,".repeat(self.features), row % 2);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rhograd::privacy::Rho;
    use rhograd::train::{Algorithm, Budget};

    #[test]
    fn what_is_heard_is_the_noise_that_rho_asks_for() {
        let silent = Silent { rows: 400, features: 300 };
        let budget = Budget::Rho(Rho::from_f64(0.5).unwrap(), None);
        let mut config = TrainConfig { algorithm: Algorithm::DpGd, rows: Some(400), ..TrainConfig::new(budget) };
        config.settings.steps = Some(4);
        let heard = silent.train(&silent.request(config), 1).unwrap();
        // mu = sqrt(2 rho) = 1 for all steps, so 1/2 for each of the four.
        assert!((heard.error - 1.0).abs() < 0.15 && (heard.noise_multiplier - 2.0).abs() < 1e-3, "{heard:?}");
    }
}
