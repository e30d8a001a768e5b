//! Rows in memory end to end: the same cells as a file give the same model and the same predictions, bit for bit.

use std::path::Path;

use ndarray::{Array2, ArrayView1, Axis};
use rhograd::data::{Cells, CsvFile, Numbers, Schema, Table};
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::privacy::{Adjacency, Epsilon};
use rhograd::train::{
    Budget, Loaded, ModelFile, TrainConfig, effects, load, load_table, predict, predict_table, train,
};

fn datasets(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets").join(name)
}

/// A data set of numbers alone: its columns' names, its cells, its schema and its file.
fn shipped(name: &str) -> (Vec<String>, Array2<f64>, Schema, CsvFile) {
    let path = datasets(&format!("{name}.csv"));
    let mut reader = csv::Reader::from_path(&path).unwrap();
    let names: Vec<String> = reader.headers().unwrap().iter().map(String::from).collect();
    let cells: Vec<f64> = reader.deserialize::<Vec<f64>>().flat_map(Result::unwrap).collect();
    let matrix = Array2::from_shape_vec((cells.len() / names.len(), names.len()), cells).unwrap();
    let schema = Schema::read(&datasets(&format!("{name}.schema.json"))).unwrap();
    (names, matrix, schema, CsvFile::open(&path).unwrap())
}

fn table<'a>(names: &[String], columns: impl Iterator<Item = ArrayView1<'a, f64>>) -> Table<'a> {
    let columns = names.iter().zip(columns).map(|(name, column)| (name.clone(), Cells::Numbers(Numbers::F64(column))));
    Table::new(columns.collect()).unwrap()
}

fn trained(loaded: Loaded) -> ModelFile {
    let mut ledger = Ledger::in_memory().unwrap();
    train(loaded, &mut ledger, NoiseSource::insecure_from_seed(5), &mut |_| Ok(())).unwrap().0.model
}

#[test]
fn a_table_trains_and_predicts_as_its_file_does() {
    for (name, adjacency) in [("fair", Adjacency::AddRemove), ("randhie", Adjacency::ReplaceOne)] {
        let (names, cells, schema, file) = shipped(name);
        let config = TrainConfig { adjacency, ..TrainConfig::new(Budget::Epsilon(Epsilon::new(1.0).unwrap(), None)) };
        let expected = trained(load(&config, schema.clone(), &file, &|_, _| Ok(())).unwrap());
        let turned = cells.t().as_standard_layout().into_owned();
        for columns in [table(&names, cells.columns().into_iter()), table(&names, turned.rows().into_iter())] {
            let model = trained(load_table(&config, schema.clone(), &columns).unwrap());
            assert_eq!(model.to_json(), expected.to_json());
            let values = predict(&model, &file).unwrap().into_values();
            assert_eq!(predict_table(&model, &columns).unwrap().into_values(), values);
        }
    }
}

#[test]
fn a_missing_feature_is_refused_before_anything_is_charged() {
    let (names, cells, schema, _) = shipped("randhie");
    let config = TrainConfig::new(Budget::Epsilon(Epsilon::new(1.0).unwrap(), None));
    let short = table(&names[..5], cells.columns().into_iter());
    let refused = load_table(&config, schema, &short).err().unwrap().to_string();
    assert!(refused.contains("\"physlm\"") && refused.contains("schema"), "{refused}");
}

#[test]
fn effects_are_those_of_the_predictions() {
    let (names, cells, schema, file) = shipped("randhie");
    let config = TrainConfig::new(Budget::Epsilon(Epsilon::new(10.0).unwrap(), None));
    let model = trained(load(&config, schema, &file, &|_, _| Ok(())).unwrap());
    let all = effects(&model);
    assert_eq!(all.last().unwrap().name, "(intercept)");
    // One more unit of a feature that stays within its range moves a prediction by the effect of the feature.
    let at = names.iter().position(|name| name == "disea").unwrap();
    let mut rows = cells.select(Axis(0), &[0, 0]);
    (rows[(0, at)], rows[(1, at)]) = (12.0, 13.0);
    let values = predict_table(&model, &table(&names, rows.columns().into_iter())).unwrap().into_values();
    let effect = all.iter().find(|effect| effect.name == "disea").unwrap();
    assert!((values[1] - values[0] - effect.value).abs() < 1e-9 * values[1].abs(), "{values:?} {effect:?}");
    let (low, high) = effect.interval().unwrap();
    assert!(low < effect.value && effect.value < high);
}
