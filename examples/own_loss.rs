//! A loss of one's own: expectile regression, twice as hard on predictions that are too low.
//! `cargo run --release --example own_loss`
//!
//! docs/extending.md walks through it.

use rhograd::prelude::*;

/// What a target above its prediction costs; below it is 1.
const WEIGHT: f64 = 2.0;

/// `|w(r)| r^2 / 2` of the residual `r = prediction - target`, in released deviations of the target.
fn expectile() -> Fallible<OwnLoss> {
    let weight = |r: f64| if r < 0.0 { WEIGHT } else { 1.0 };
    OwnLoss::of_residual("expectile-2", |r| 0.5 * weight(r) * r * r, |r| weight(r) * r)
}

fn main() -> Fallible<()> {
    let file = CsvFile::open(concat!(env!("CARGO_MANIFEST_DIR"), "/datasets/randhie.csv").as_ref())?;
    let schema = Schema::read(concat!(env!("CARGO_MANIFEST_DIR"), "/datasets/randhie.schema.json").as_ref())?;
    let budget = Budget::Epsilon(Epsilon::new(1.0)?, Some(Delta::new(1e-6)?));
    for model in [ModelKind::Linear, ModelKind::Own(expectile()?)] {
        let config = TrainConfig { model: Some(model), ..TrainConfig::new(budget.clone()) };
        let loaded = load(&config, schema.clone(), &file, &|_, _| Ok(()))?;
        let (trained, _) = train(loaded, &mut Ledger::in_memory()?, NoiseSource::from_os()?, &mut |_| Ok(()))?;
        println!("{}: {}", model.words(), trained.model.statement.statement);
        if let Metrics::Number { rmse, mae, .. } = evaluate(&trained.model, &file)? {
            println!("custodian-only: root mean squared error {rmse:.3}, mean absolute error {mae:.3}");
        }
    }
    Ok(())
}
