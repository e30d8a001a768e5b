//! The fast encoder against the written rule, line by line, on lines that hurt.

use std::path::Path;

use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::data::{CsvFile, Fields, Schema, longest_line};
use crate::kernel::{RawRow, Rows, RowsBuilder};
use crate::preprocess::encode::Encoder;
use crate::preprocess::report::LoadReport;

const HEADER: &[u8] = b"note,c,x,y,d,z\n";

const COLUMNS: &str = r#""columns":{"x":{"type":"numeric","lower":0,"upper":10},
    "c":{"type":"categorical","values":["u","v","a longer value"," w "],"other":"v"},
    "z":{"type":"numeric","lower":-1.5,"upper":0.25,"missing":"indicator"},
    "d":{"type":"categorical","values":["s"]}"#;

/// Schemas with every rule for targets.
fn schemas() -> Vec<Schema> {
    let labels = r#","y":{"type":"categorical","values":["yes","no","maybe"]}"#;
    let target = |task: &str, more: &str| {
        let text = format!(r#"{{"name":"a","target":"y","task":{task},{COLUMNS}{more}}}}}"#);
        Schema::parse(&text, Path::new("s")).unwrap()
    };
    let weighed = |task: &str, weight: &str| {
        let columns = COLUMNS.replace(r#""x":{"type":"numeric","lower":0,"upper":10},"#, "");
        let text = format!(r#"{{"name":"a","target":"y","task":{task},"weight":{weight},{columns}}}}}"#);
        Schema::parse(&text, Path::new("s")).unwrap()
    };
    vec![
        weighed(r#""classification","positive":"yes","negative":"no""#, r#"{"column":"x","max":7,"labels":{"no":3}}"#),
        weighed(r#""classification","positive":"yes","negative":"no""#, r#"{"labels":{"no":3}}"#),
        weighed(r#""regression","target_lower":-3,"target_upper":5"#, r#"{"column":"x","max":0.5}"#),
        weighed(
            r#""regression","target_lower":-3,"target_upper":5"#,
            r#"{"column":"note","max":2,"exposure":{"column":"x","max":4}}"#,
        ),
        weighed(
            r#""classification","positive":"yes","negative":"no""#,
            r#"{"column":"note","max":2,"offset":{"column":"x","lower":-1,"upper":4}}"#,
        ),
        weighed(
            r#""regression","target_lower":-3,"target_upper":5"#,
            r#"{"offset":{"column":"x","lower":-1,"upper":4}}"#,
        ),
        target(r#""classification","positive":"yes","negative":"no""#, ""),
        target(r#""classification","positive":" yes""#, ""),
        target(r#""classification","positive":"yes""#, labels),
        target(r#""classification""#, labels),
        target(r#""regression","target_lower":-3,"target_upper":5"#, ""),
    ]
}

/// One line at a time through [`Encoder::encode_fields`] and [`RowsBuilder::push`]; with `fresh` by a reader of its own.
fn slowly(encoder: &Encoder, body: &[u8], fresh: bool) -> (Rows, LoadReport) {
    let mut rows = RowsBuilder::new(encoder.shape().clone());
    let (mut fields, mut row, mut report) =
        (Fields::default(), RawRow::empty(encoder.shape()), LoadReport { lines: 1, ..LoadReport::default() });
    let mut odd = Vec::new();
    for line in body.strip_suffix(b"\n").unwrap_or(body).split(|&b| b == b'\n').filter(|_| !body.is_empty()) {
        if fresh {
            fields = Fields::default();
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // What the reader of blocks puts in the place of lines that are too long.
        let line = if line.len() > longest_line(6) { b"\x18" } else { line };
        fields.split(line);
        let outcome = encoder.encode_fields(&fields, &mut row, &mut odd);
        encoder.count_fields(line, &fields, outcome, &odd, &mut report);
        rows.push(&row);
    }
    report.lines -= 1;
    (rows.build(), report)
}

#[track_caller]
fn check(schema: &Schema, header: &[u8], body: &[u8]) {
    check_against(schema, header, body, false);
}

#[track_caller]
fn check_against(schema: &Schema, header: &[u8], body: &[u8], fresh: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, [header, body].concat()).unwrap();
    let file = CsvFile::open(&path).unwrap();
    let encoder = Encoder::new(schema, &file, false).unwrap();
    let (rows, report) = encoder.encode(&file, &|_| Ok(())).unwrap();
    let (expected, counted) = slowly(&encoder, body, fresh);
    assert_eq!(report, counted);
    assert!(rows.same_as(&expected), "{:?}", String::from_utf8_lossy(body));
}

/// Cells that are read in different ways, or not at all, and the same between quotes.
fn cell() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => bare(),
        1 => bare().prop_map(|cell| [b"\"", &*cell, b"\""].concat()),
    ]
}

fn bare() -> impl Strategy<Value = Vec<u8>> {
    let text = |s: &'static str| Just(s.as_bytes().to_vec());
    prop_oneof![
        6 => "-?[0-9]{1,3}(\\.[0-9]{0,5})?".prop_map(String::into_bytes),
        1 => "-?[0-9]{0,12}\\.?[0-9]{0,12}(e-?[0-9]{1,3})?".prop_map(String::into_bytes),
        4 => proptest::sample::select(vec!["u", "v", "s", "w", "a longer value", "yes", "no", "maybe"])
            .prop_map(|s| s.as_bytes().to_vec()),
        1 => proptest::sample::select(vec!["", " ", "nan", "inf", "-Infinity", "+1", "1e999", "0x1", " 3 ", "\t1", "-",
            ".", "-.", "1.2.3", "\u{feff}5", "\u{feff}", "1\r", "\r", "a longer value ", "a value that is longer than any that is declared"])
            .prop_map(|s| s.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>().prop_filter("one line", |b| *b != b'\n'), 0..20),
        1 => prop_oneof![text("\"1\""), text("\"u,v\""), text("\""), text("\"\"\""), text("u\"")],
    ]
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    let width = prop_oneof![12 => Just(6usize), 1 => 0usize..10];
    let end = prop_oneof![9 => Just(&b"\n"[..]), 1 => Just(&b"\r\n"[..]), 1 => Just(&b"\r\r\n"[..])];
    let good = |label: &'static str| {
        (0..1000i32, "[uvw]", any::<[bool; 6]>()).prop_map(move |(x, c, quoted)| {
            let cells = ["n".into(), c, (f64::from(x) / 90.0).to_string(), label.into(), "s".into(), "0".into()];
            let quote = |(cell, quoted): (String, bool)| if quoted { format!("\"{cell}\"") } else { cell };
            cells.into_iter().zip(quoted).map(quote).collect::<Vec<_>>().join(",").into_bytes()
        })
    };
    let cells =
        width.prop_flat_map(|width| proptest::collection::vec(cell(), width)).prop_map(|cells| cells.join(&b','));
    (prop_oneof![3 => cells, 1 => good("yes"), 1 => good("no"), 1 => good("-0.5")], end)
        .prop_map(|(line, end)| [&line, end].concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fast_and_slow_encoding_agree(lines in proptest::collection::vec(line(), 0..100), whole in any::<bool>(), which in 0usize..11) {
        let mut body = lines.concat();
        if !whole { body.pop(); }
        check(&schemas()[which], HEADER, &body);
    }

    #[test]
    fn fast_and_slow_encoding_agree_on_garbage(
        body in proptest::collection::vec(
            prop_oneof![4 => proptest::sample::select(b"0123456789.-uvs,\n\r\" ".to_vec()), 1 => any::<u8>()], 0..400),
        which in 0usize..11,
    ) {
        check(&schemas()[which], HEADER, &body);
        // With one column every line has the right number of cells; without the target all are records.
        let schema = Schema::parse(
            r#"{"name":"a","target":"y","task":"regression","target_lower":0,"target_upper":1,
                "columns":{"x":{"type":"numeric","lower":0,"upper":10}}}"#, Path::new("s")).unwrap();
        check(&schema, b"x\n", &body);
        check(&schema, b"x,y\n", &body);
    }
}

/// Good lines that were cut, glued, quoted and spoiled, each read as if there were no other.
#[test]
fn a_hundred_thousand_malformed_lines_are_read_one_by_one() {
    let mut rng = StdRng::seed_from_u64(6);
    let mut body = Vec::new();
    for i in 0..100_000u32 {
        let mut line = format!("n{i},u,{}.{},{},s,-0.7", i % 11, i % 1009, ["yes", "no"][i as usize % 2]).into_bytes();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..line.len());
            match rng.random_range(0..5) {
                0 => line[at] = rng.random(),
                1 => line.insert(at, *b"\",\r\0 -.e;".choose(&mut rng).unwrap()),
                2 => line.truncate(at.max(1)),
                3 => line.extend_from_within(at..),
                _ => drop(line.remove(at)),
            }
            line.push(b' ');
        }
        line.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b'"');
        line.push(b'\n');
        body.extend(line);
    }
    check_against(&schemas()[0], HEADER, &body, true);
}

#[test]
fn a_hundred_thousand_columns_are_matched_one_by_one() {
    // With a search through all columns for every one of them this takes half a minute, and so does every step before it.
    let names: Vec<String> = (0..100_000).map(|i| format!("column_{i}")).collect();
    let columns: Vec<String> =
        names.iter().map(|name| format!(r#""{name}":{{"type":"numeric","lower":0,"upper":1}}"#)).collect();
    let ignored: Vec<String> = names.iter().step_by(2).map(|name| format!("{name:?}")).collect();
    let text = format!(
        r#"{{"name":"a","task":"classification","target":"y","positive":"1","ignore":[{}],"columns":{{{}}}}}"#,
        ignored.join(","),
        columns.join(",")
    );
    let schema = Schema::parse(&text, Path::new("s")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let line = "0.5,".repeat(100_000) + "1\n";
    std::fs::write(&path, format!("{},y\n{line}{line}", names.join(","))).unwrap();
    let file = CsvFile::open(&path).unwrap();
    let (rows, report) = Encoder::new(&schema, &file, true).unwrap().encode(&file, &|_| Ok(())).unwrap();
    assert_eq!((rows.len(), rows.shape().numeric(), report.unusable, report.missing), (2, 50_000, 0, 0));
    let short = CsvFile::open(&path).unwrap();
    let error = short.require(["columm_7", "y", "nowhere at all"].into_iter()).unwrap_err().to_string();
    assert!(error.contains("\"columm_7\" may be \"column_7\"") && error.contains("\"nowhere at all\""), "{error}");
}

#[test]
fn blocks_and_batches_of_any_size_are_joined_as_one() {
    // Several batches of 8 MiB, with a line longer than a block and quotes here and there.
    let mut body = Vec::new();
    for i in 0..600_000u32 {
        let quoted = if i % 1000 == 7 { "\"n,\"" } else { "n" };
        let label = ["yes", "no", "what"][(i % 17 % 3) as usize];
        body.extend_from_slice(format!("{quoted} {i},u,{}.{},{label},s,-0.7\n", i % 11, i % 1009).as_bytes());
        if i == 300_000 {
            body.extend_from_slice(&b"x".repeat(3_000_000));
            body.push(b'\n');
        }
    }
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| check(&schemas()[0], HEADER, &body));
    }
}
