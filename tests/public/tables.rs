//! Rows in memory end to end: the same cells as a file give the same model and the same predictions, bit for bit.

use std::path::Path;

use ndarray::{Array2, ArrayView1, Axis};
use rhograd::data::{Cells, CsvFile, Numbers, Schema, Table};
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::privacy::{Adjacency, Epsilon};
use rhograd::train::{
    Budget, Loaded, ModelFile, TrainConfig, effects, load, load_table, predict, predict_matrix, predict_matrix_into,
    predict_sides, predict_table, train,
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

/// A model of the numbers of `fair` with another intercept and another map and coefficient for each of them.
fn pasted(intercept: f64, each: impl Fn(usize) -> [f64; 4]) -> (ModelFile, Vec<String>) {
    let (_, _, schema, file) = shipped("fair");
    let config = TrainConfig::new(Budget::Epsilon(Epsilon::new(1.0).unwrap(), None));
    let mut model = trained(load(&config, schema, &file, &|_, _| Ok(())).unwrap());
    let mut text: serde_json::Value = serde_json::from_str(&model.to_json()).unwrap();
    text["intercept"] = intercept.into();
    let features = text["features"].as_array_mut().unwrap();
    features.retain(|feature| feature["type"] == "numeric");
    for (at, feature) in features.iter_mut().enumerate() {
        let [centre, scale, limit, coefficient] = each(at);
        feature["map"] = serde_json::json!({ "centre": centre, "scale": scale, "limit": limit });
        feature["coefficient"] = coefficient.into();
    }
    text.as_object_mut().unwrap().remove("checksum");
    model = serde_json::from_value(text).unwrap();
    let names = model.features.iter().map(|feature| feature.name().to_owned()).collect();
    (model, names)
}

#[test]
fn a_matrix_is_predicted_by_rows_with_the_bits_of_its_columns() {
    for (limit, rows) in [(0.7, 1), (0.7, 1500), (3000.0, 7), (3000.0, 1029)] {
        let (model, names) = pasted(-0.0, |at| [at as f64 / 3.0, 0.3 + at as f64, limit, [0.4, -0.5][at % 2]]);
        let mut cells = Array2::from_shape_fn((rows, names.len()), |(row, at)| {
            ((row * 7919 + at * 104_729) % 1009) as f64 / 20.0 - 2.0
        });
        cells.iter_mut().step_by(13).for_each(|cell| *cell = f64::NAN);
        cells.iter_mut().step_by(17).for_each(|cell| *cell = f64::INFINITY);
        let expected = predict_table(&model, &table(&names, cells.columns().into_iter())).unwrap().into_values();
        let by_columns = cells.t().as_standard_layout().into_owned();
        for view in [cells.view(), by_columns.t()] {
            assert_eq!(predict_matrix(&model, &names, &view).unwrap().into_values(), expected, "{limit} {rows}");
            for positive in [0, 1] {
                let mut both = vec![f64::NAN; 2 * rows];
                predict_matrix_into(&model, &names, &view, Some(positive), &mut both).unwrap();
                for (both, p) in both.chunks(2).zip(&expected) {
                    assert_eq!((both[positive], both[1 - positive]), (*p, 1.0 - p));
                }
            }
            let mut sides = vec![9; rows];
            predict_sides(&model, &names, &view, [-1, 0, 1], &mut sides).unwrap();
            let side = |p: &f64| i8::from(*p > 0.5) - i8::from(*p < 0.5);
            assert_eq!(sides, expected.iter().map(side).collect::<Vec<_>>());
            assert!(rows < 1000 || (sides.contains(&1) && sides.contains(&-1)));
        }
    }
}

#[test]
fn a_side_is_that_of_the_probability_and_not_of_the_log_odds() {
    for (intercept, side) in
        [(0.0, 0), (-0.0, 0), (1e-17, 0), (-1e-17, 0), (1e-15, 1), (-1e-15, -1), (1e-8, 1), (-3.0, -1)]
    {
        let (model, names) = pasted(intercept, |_| [0.0, 1.0, 10.0, 0.0]);
        let rows = Array2::zeros((2, names.len()));
        let mut sides = [9; 2];
        predict_sides(&model, &names, &rows.view(), [-1, 0, 1], &mut sides).unwrap();
        assert_eq!(sides, [side; 2], "{intercept}");
        let p = predict_matrix(&model, &names, &rows.view()).unwrap().into_values()[0];
        assert_eq!(side, i8::from(p > 0.5) - i8::from(p < 0.5), "{intercept}");
    }
}

#[test]
fn room_that_is_not_that_of_the_predictions_is_refused() {
    let (model, names) = pasted(0.0, |_| [0.0, 1.0, 10.0, 0.0]);
    let rows = Array2::zeros((3, names.len()));
    for (positive, size) in [(None, 2), (None, 4), (None, 6), (Some(0), 3), (Some(1), 7)] {
        let refused = predict_matrix_into(&model, &names, &rows.view(), positive, &mut vec![0.0; size]);
        assert!(refused.unwrap_err().to_string().contains("room"));
    }
    assert!(
        predict_sides(&model, &names, &rows.view(), [-1, 0, 1], &mut [0; 4]).unwrap_err().to_string().contains("room")
    );
    assert!(predict_matrix(&model, &names[1..], &rows.view()).is_err());
    let (names, cells, schema, file) = shipped("randhie");
    let config = TrainConfig::new(Budget::Epsilon(Epsilon::new(1.0).unwrap(), None));
    let number = trained(load(&config, schema, &file, &|_, _| Ok(())).unwrap());
    let refused = predict_sides(&number, &names, &cells.view(), [-1, 0, 1], &mut vec![0; cells.nrows()]);
    assert!(refused.unwrap_err().to_string().contains("no probability of one of two labels"));
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
