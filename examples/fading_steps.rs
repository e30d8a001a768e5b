//! A private optimizer written against the public types alone: noisy gradient descent whose steps fade out.
//!
//! `cargo run --release --example fading_steps`; docs/extending.md walks through it.

use std::collections::BTreeMap;
use std::path::Path;

use ndarray::Array1;
use rhograd::data::{CsvFile, Schema};
use rhograd::error::Fallible;
use rhograd::ledger::Ledger;
use rhograd::loss::Objective;
use rhograd::noise::NoiseSource;
use rhograd::optim::{ClippedPlan, Fitted, Optimizer, Planned, Problem, Start};
use rhograd::privacy::{Delta, Epsilon};
use rhograd::private::{Gradient, LoggedRun, PrivateDataset};
use rhograd::train::{Budget, Metrics, TrainConfig, evaluate, load_with, train};

/// `w <- w - (eta / sqrt(t)) g_t`, `g_t` the noised mean of clipped gradients; returns the last iterate.
#[derive(Debug)]
struct FadingSteps {
    loss: Objective,
    gradient: ClippedPlan,
    clip_norm: f64,
    rate: f64,
}

impl FadingSteps {
    /// Everything is fixed here, before a row has been looked at.
    fn plan(problem: &Problem<'_>) -> Fallible<Box<dyn Optimizer>> {
        let square = problem.typical_square();
        let unit = problem.unit.unsigned_abs().into();
        Ok(Box::new(FadingSteps {
            loss: problem.loss,
            gradient: ClippedPlan::new(unit, problem.adjacency, &problem.budget, 50, problem.noise)?,
            clip_norm: 0.5 * square.sqrt(),
            rate: 20.0 / square,
        }))
    }
}

impl Optimizer for FadingSteps {
    fn planned(&self) -> Vec<Planned> {
        vec![self.gradient.release.planned()]
    }

    fn run(&self, data: &PrivateDataset, start: &Start, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let rows = data.clipped(self.gradient.bound)?;
        let planned = self.gradient.release.planned();
        // What one integer step of the released sum stands for.
        let grid_step = self.clip_norm / self.gradient.bound as f64;
        let mut weights = Array1::<f64>::zeros(data.shape().dimension());
        for step in 1..=self.gradient.steps {
            let gradient = Gradient {
                loss: self.loss,
                weights: &weights,
                label_scale: start.label_scale,
                clip_norm: self.clip_norm,
            };
            let released = run.release(&planned, grid_step, || rows.gradient_sum(&gradient))?;
            let mean: Array1<f64> = released.values().iter().map(|&v| v as f64 * grid_step / start.rows).collect();
            weights.scaled_add(-self.rate / (step as f64).sqrt(), &mean);
        }
        Ok(Fitted { weights: weights.to_vec(), standard_errors: None, settings: BTreeMap::new() })
    }
}

fn main() -> Fallible<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets");
    let file = CsvFile::open(&folder.join("fair.csv"))?;
    let schema = Schema::read(&folder.join("fair.schema.json"))?;
    let config = TrainConfig::new(Budget::Epsilon(Epsilon::new(1.0)?, Some(Delta::new(1e-6)?)));
    let loaded = load_with(&config, schema, &file, &|_, _| Ok(()), &FadingSteps::plan)?;
    let (trained, _) = train(loaded, &mut Ledger::in_memory()?, NoiseSource::from_os()?, &mut |_| Ok(()))?;
    println!("{}", trained.model.statement.statement);
    if let Metrics::Label { accuracy, auc: Some(auc), .. } = evaluate(&trained.model, &file)? {
        println!("custodian-only: accuracy {accuracy:.3}, AUC {auc:.3} on the training file");
    }
    Ok(())
}
