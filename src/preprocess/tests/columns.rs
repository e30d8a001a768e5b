//! Columns in memory against the CSV file that says the same.

use std::path::Path;

use ndarray::aview1;
use proptest::prelude::*;

use crate::data::{Cells, CsvFile, Numbers, Schema, Table};
use crate::kernel::Rows;
use crate::preprocess::{EncodedRows, Encoder, LoadReport, TableEncoder};

const COLUMNS: &str = r#""columns":{"x":{"type":"numeric","lower":0,"upper":10},
    "c":{"type":"categorical","values":["u","v","a longer value"," w "],"other":"v"},
    "k":{"type":"categorical","values":["1","2.50","0","0.1"]},
    "w":{"type":"categorical","values":["True","4","9007199254740993"]},
    "z":{"type":"numeric","lower":-1.5,"upper":0.25,"missing":"indicator"}"#;

/// Schemas with every rule for targets.
fn schemas() -> Vec<Schema> {
    let labels = r#","y":{"type":"categorical","values":["1","0","maybe"]}"#;
    let target = |task: &str, more: &str| {
        let text = format!(r#"{{"name":"a","target":"y","task":{task},{COLUMNS}{more}}}}}"#);
        Schema::parse(&text, Path::new("s")).unwrap()
    };
    // A number that may be missing, negative or far too large is a weight.
    let weighed = |task: &str, weight: &str| {
        let columns = COLUMNS.replace(r#""w":{"type":"categorical","values":["True","4","9007199254740993"]},"#, "");
        let text = format!(r#"{{"name":"a","target":"y","task":{task},"weight":{weight},{columns}}}}}"#);
        Schema::parse(&text, Path::new("s")).unwrap()
    };
    vec![
        weighed(r#""classification","positive":"1","negative":"0""#, r#"{"column":"w","max":3,"labels":{"1":5}}"#),
        weighed(r#""classification","positive":"1","negative":"0""#, r#"{"labels":{"1":5}}"#),
        weighed(r#""regression","target_lower":-3,"target_upper":5"#, r#"{"column":"w","max":1e16}"#),
        weighed(r#""regression","target_lower":-3,"target_upper":5"#, r#"{"exposure":{"column":"w","max":3}}"#),
        weighed(
            r#""classification","positive":"1","negative":"0""#,
            r#"{"labels":{"1":5},"offset":{"column":"w","lower":-2,"upper":3}}"#,
        ),
        weighed(
            r#""regression","target_lower":-3,"target_upper":5"#,
            r#"{"offset":{"column":"w","lower":-2,"upper":3}}"#,
        ),
        target(r#""classification","positive":"1","negative":"0""#, ""),
        target(r#""classification","positive":"1.0""#, ""),
        target(r#""classification","positive":"1""#, labels),
        target(r#""classification""#, labels),
        target(r#""regression","target_lower":-3,"target_upper":5"#, ""),
    ]
}

/// One row: a number, a text, numbers that stand for texts, a text that may be a number, a target either way, and a whole
/// number that may be missing.
type Record = (f64, String, f32, String, f64, String, Option<i64>);

fn record() -> impl Strategy<Value = Record> {
    let number = prop_oneof![
        8 => -20.0f64..20.0,
        4 => proptest::sample::select(vec![0.0, -0.0, 1.0, 2.5, 5.0, 10.0, -1.5, 0.25]),
        1 => proptest::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300]),
    ];
    let text =
        proptest::sample::select(vec!["u", "v", "w", "a longer value", "", " ", "x,y", "a \"quoted\" text", "u "]);
    let kind = proptest::sample::select(vec![0.0f32, 1.0, 2.5, 2.0, f32::NAN, 0.1, -0.0, 0.3]);
    let odd = proptest::sample::select(vec!["-0.5", "0.2", "1e-1", "", "none", "nan", "-inf", "true", "FALSE"]);
    let label = proptest::sample::select(vec!["0", "1", "maybe", "1.0", "", "-2.75", "true", "False", "01"]);
    let whole = proptest::option::of(proptest::sample::select(vec![
        0i64,
        1,
        4,
        9_007_199_254_740_992,
        9_007_199_254_740_993,
        9_007_199_254_740_994,
        i64::MIN,
    ]));
    let target = number.clone();
    (number, text.prop_map(String::from), kind, odd.prop_map(String::from), target, label.prop_map(String::from), whole)
}

/// Texts as a list and places in it.
fn listed<'a>(texts: impl Iterator<Item = &'a String>) -> (Vec<String>, Vec<i32>) {
    let (mut list, mut places): (Vec<String>, Vec<i32>) = Default::default();
    for text in texts {
        let known = list.iter().position(|other| other == text).unwrap_or(list.len());
        if known == list.len() && !text.is_empty() {
            list.push(text.clone());
        }
        places.push(if text.is_empty() { -1 } else { known as i32 });
    }
    (list, places)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A number as a CSV file says it; nothing for what is none.
fn said(value: f64) -> String {
    if value.is_nan() { String::new() } else { value.to_string() }
}

fn through_file(schema: &Schema, body: &str) -> (Rows, LoadReport) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, format!("x,c,k,z,y,w\n{body}")).unwrap();
    let file = CsvFile::open(&path).unwrap();
    Encoder::new(schema, &file, true).unwrap().encode(&file, &|_| Ok(())).unwrap()
}

#[track_caller]
fn check(records: &[Record], schema: &Schema, numeric_target: bool) {
    let target = |record: &Record| if numeric_target { said(record.4) } else { record.5.clone() };
    let whole = |record: &Record| record.6.map_or(String::new(), |whole| whole.to_string());
    let kind = |record: &Record| if record.2.is_nan() { String::new() } else { record.2.to_string() };
    let line = |r: &Record| format!("{},{},{},{},{},{}\n", said(r.0), quoted(&r.1), kind(r), r.3, target(r), whole(r));
    let (expected, counted) = through_file(schema, &records.iter().map(line).collect::<String>());

    let x: Vec<f64> = records.iter().map(|r| r.0).collect();
    let k: Vec<f32> = records.iter().map(|r| r.2).collect();
    let y: Vec<f64> = records.iter().map(|r| r.4).collect();
    // What stands in the place of a missing number must not matter.
    let w: Vec<i64> = records.iter().map(|r| r.6.unwrap_or(4)).collect();
    let gone: Vec<bool> = records.iter().map(|r| r.6.is_none()).collect();
    let ((c, c_at), (z, z_at)) = (listed(records.iter().map(|r| &r.1)), listed(records.iter().map(|r| &r.3)));
    let (labels, y_at) = listed(records.iter().map(|r| &r.5));
    let texts = |list: Vec<String>, places| Cells::Texts { list, places: Numbers::I32(places) };
    let target = match numeric_target {
        true => Cells::Numbers(Numbers::F64(aview1(&y))),
        false => texts(labels, aview1(&y_at)),
    };
    let columns = [
        ("y", target),
        ("z", texts(z, aview1(&z_at))),
        ("k", Cells::Numbers(Numbers::F32(aview1(&k)))),
        ("c", texts(c, aview1(&c_at))),
        ("x", Cells::Numbers(Numbers::F64(aview1(&x)))),
        ("w", Cells::Masked { numbers: Numbers::I64(aview1(&w)), missing: aview1(&gone) }),
    ];
    let table = Table::new(columns.map(|(name, cells)| (name.to_owned(), cells)).into()).unwrap();
    let (EncodedRows { rows, .. }, mut report) = TableEncoder::new(schema, &table).unwrap().encode().unwrap();
    // A file counts its header.
    report.first_unusable = report.first_unusable.map(|row| row + 1);
    let found = report.columns.iter_mut().flat_map(|column| column.values_mut());
    report.lost.values_mut().chain(found).for_each(|count| count.line += 1);
    // Examples are told as they stand, and a file writes a number in another way than memory does.
    assert_eq!(without_texts(report), without_texts(counted));
    assert!(rows.same_as(&expected));
}

/// A report without the cells that it shows as examples; of labels their number.
fn without_texts(mut report: LoadReport) -> (LoadReport, u64) {
    let found = report.columns.iter_mut().flat_map(|column| column.values_mut());
    report.lost.values_mut().chain(found).for_each(|count| count.cell.clear());
    let labels = std::mem::take(&mut report.labels);
    (report, labels.texts.values().sum::<u64>() + labels.others)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_and_file_give_the_same_rows(
        records in proptest::collection::vec(record(), 0..100), which in 0usize..5, numeric_target in any::<bool>(),
    ) {
        check(&records, &schemas()[which], numeric_target);
    }
}

#[test]
fn parts_are_joined_in_their_order() {
    let record = |i: usize| {
        (i as f64 / 3000.0, "u".to_owned(), (i % 3) as f32, "0.1".to_owned(), 0.0, (i % 2).to_string(), Some(4))
    };
    let records: Vec<Record> = (0..30_001).map(record).collect();
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| check(&records, &schemas()[0], false));
    }
}

#[test]
fn a_missing_column_is_named() {
    let x = [1.0];
    let table = Table::new(vec![("x".into(), Cells::Numbers(Numbers::F64(aview1(&x))))]).unwrap();
    let refused = TableEncoder::new(&schemas()[0], &table).err().unwrap().to_string();
    assert!(refused.contains("\"z\"") && refused.contains("missing"), "{refused}");
}
