//! An optimizer of one's own: noisy gradient descent whose steps fade out. `cargo run --release --example own_algorithm`
//!
//! docs/extending.md walks through it.

use rhograd::ndarray::Array1;
use rhograd::prelude::*;

/// `w <- w - (eta / sqrt(t)) g_t`, `g_t` the noised mean of clipped gradients; returns the last iterate.
#[derive(Debug)]
struct FadingSteps {
    loss: Objective,
    gradient: ClippedPlan,
    clip_norm: f64,
    rate: f64,
}

/// Everything is fixed here, before a row has been looked at.
fn plan(problem: &Problem<'_>) -> Fallible<Box<dyn Optimizer>> {
    let square = problem.typical_square();
    let gradient = ClippedPlan::through(problem, 0, &problem.budget, 50)?;
    Ok(Box::new(FadingSteps { loss: problem.loss, gradient, clip_norm: 0.5 * square.sqrt(), rate: 20.0 / square }))
}

impl Optimizer for FadingSteps {
    fn planned(&self) -> Vec<Planned> {
        vec![self.gradient.release.planned()]
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let (rows, planned) = (data.clipped(self.gradient.clip_steps)?, self.gradient.release.planned());
        // What one integer step of the released sum stands for.
        let grid_step = self.clip_norm / self.gradient.clip_steps as f64;
        let mut weights = Array1::<f64>::zeros(data.shape().dimension());
        for step in 1..=self.gradient.steps {
            let (loss, label_scale, clip_norm) = (self.loss, start.label_scale, self.clip_norm);
            let gradient = Gradient { loss, weights: &weights, label_scale, clip_norm };
            let released = run.release(&planned, grid_step, || rows.gradient_sum(&gradient))?;
            let mean: Array1<f64> = released.values().iter().map(|&v| v as f64 * grid_step / start.rows).collect();
            weights.scaled_add(-self.rate / (step as f64).sqrt(), &mean);
        }
        Ok(Fitted::of(weights.to_vec()))
    }
}

fn main() -> Fallible<()> {
    let file = CsvFile::open(concat!(env!("CARGO_MANIFEST_DIR"), "/datasets/fair.csv").as_ref())?;
    let schema = Schema::read(concat!(env!("CARGO_MANIFEST_DIR"), "/datasets/fair.schema.json").as_ref())?;
    let config = TrainConfig::new(Budget::Epsilon(Epsilon::new(1.0)?, Some(Delta::new(1e-6)?)));
    let loaded = load_with(&config, schema, &file, &|_, _| Ok(()), &plan)?;
    let (trained, _) = train(loaded, &mut Ledger::in_memory()?, NoiseSource::from_os()?, &mut |_| Ok(()))?;
    println!("{}", trained.model.statement.statement);
    if let Metrics::Label { accuracy, .. } = evaluate(&trained.model, &file)? {
        println!("custodian-only: accuracy {accuracy:.3} on the training file");
    }
    Ok(())
}
