//! Packed data, caches, other formats: the same model, bit by bit, and clear refusals.

use std::io::Write;

use super::support::{Folder, HEADER, SCHEMA, rows};

/// Flags of a short seeded run on the data of [`folder`].
pub(super) const TRAIN: &str =
    "--schema trial.schema.json --epsilon 1 --steps 3 --no-ledger --seed 5 --out m.json --overwrite";

/// Three thousand rows with their schema.
pub(super) fn folder() -> Folder {
    Folder::trial(SCHEMA, rows(3000))
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zst(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
}

/// The model of a seeded run, and what was said.
#[track_caller]
fn model(folder: &Folder, data: &str, flags: &str) -> (Vec<u8>, String) {
    let outcome = folder.succeed(&format!("train {data} {TRAIN} {flags}"));
    (folder.bytes("m.json"), outcome.stderr)
}

#[track_caller]
fn refused(folder: &Folder, arguments: &str, needles: &[&str]) {
    let before = folder.contents();
    let outcome = folder.run(arguments);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
    for needle in needles {
        assert!(outcome.stderr.contains(needle), "{needle:?} is not in {outcome:?}");
    }
    assert!(folder.contents() == before, "{outcome:?} changed a file");
}

#[test]
fn packed_data_train_predict_evaluate_and_draft_like_plain_ones() {
    let folder = folder();
    let text = folder.bytes("trial.csv");
    let (first, second) = text.split_at(text.len() / 2);
    let packed = [
        ("trial.csv.gz", gzip(&text)),
        ("trial.csv.zst", zst(&text)),
        // Told by their bytes, not by their names; written in two goes.
        ("gz.csv", [gzip(first), gzip(second)].concat()),
        ("zst.csv", [zst(first), zst(second)].concat()),
        ("plain.csv.gz", text.clone()),
    ];
    let expected = model(&folder, "trial.csv", "").0;
    let answers = |data: &str| {
        ["predict m.json", "evaluate m.json", "inspect --name a"].map(|c| folder.succeed(&format!("{c} {data}")).stdout)
    };
    let plain = answers("trial.csv");
    for (name, bytes) in packed {
        folder.write(name, bytes);
        assert!(model(&folder, name, "").0 == expected, "{name}");
        assert_eq!(answers(name), plain, "{name}");
    }
}

#[test]
fn packed_data_find_their_schema_and_name_their_results() {
    let folder = Folder::new();
    folder.write("trial.schema.json", SCHEMA);
    folder.write("trial.csv.gz", gzip(rows(50).as_bytes()));
    folder.succeed("train trial.csv.gz --epsilon 1 --steps 3");
    assert!(folder.names().contains(&"trial.model.json".into()), "{:?}", folder.names());
}

#[test]
fn packed_data_that_are_damaged_are_refused() {
    let folder = folder();
    let text = rows(3000);
    for (name, bytes) in [("a.csv.gz", gzip(text.as_bytes())), ("a.csv.zst", zst(text.as_bytes()))] {
        for cut in [5, bytes.len() / 2, bytes.len() - 1] {
            folder.write(name, &bytes[..cut]);
            refused(&folder, &format!("train {name} {TRAIN}"), &[name, "cannot be unpacked", "pack it again"]);
        }
        folder.write(name, [&bytes[..], b"trailing bytes"].concat());
        refused(&folder, &format!("train {name} {TRAIN}"), &[name, "cannot be unpacked"]);
    }
}

#[test]
fn a_cache_changes_no_bit_and_says_what_it_did() {
    let folder = folder();
    let expected = model(&folder, "trial.csv", "").0;
    std::thread::sleep(std::time::Duration::from_millis(150));
    for (flags, said) in [
        ("--cache auto", "kept in the cache trial.csv.rows"),
        ("--cache auto", "read from the cache"),
        ("--cache trial.csv.rows --cache-verify", "read from the cache"),
        ("--cache other.rows", "kept in the cache other.rows"),
    ] {
        let (bytes, stderr) = model(&folder, "trial.csv", flags);
        assert!(bytes == expected && stderr.contains(said) && stderr.contains("custodian-only"), "{stderr}");
        assert!(stderr.contains("3000 lines read"), "{stderr}");
    }
    folder.write("other.rows", &folder.bytes("other.rows")[..500]);
    let (bytes, stderr) = model(&folder, "trial.csv", "--cache other.rows");
    assert!(bytes == expected && stderr.contains("made anew") && stderr.contains("cut off"), "{stderr}");
    // Packed data have a cache of their own bytes.
    folder.write("trial.csv.gz", gzip(&folder.bytes("trial.csv")));
    assert!(model(&folder, "trial.csv.gz", "--cache other.rows").0 == expected);
}

#[test]
fn a_cache_takes_the_place_of_nothing_else() {
    let folder = folder();
    folder.write("notes.txt", "meeting at ten");
    folder.succeed("ledger init budget.sqlite trial --rho 1");
    for (path, problem) in [
        ("trial.csv", "would overwrite the data"),
        ("trial.schema.json", "would overwrite the schema"),
        ("notes.txt", "is no cache"),
        ("tmp", "is a directory"),
        ("none/a.rows", "no folder that exists"),
        ("m.json", "would overwrite the cache"),
    ] {
        refused(&folder, &format!("train trial.csv {TRAIN} --cache {path}"), &[problem]);
    }
    let arguments = "train trial.csv --epsilon 1 --out m.json --ledger budget.sqlite --cache budget.sqlite";
    refused(&folder, arguments, &["--cache", "would overwrite the ledger"]);
    refused(&folder, &format!("train trial.csv {TRAIN} --cache-verify"), &["--cache"]);
}

#[cfg(unix)]
#[test]
fn data_from_a_pipe_are_read_but_have_no_cache() {
    let folder = folder();
    let expected = model(&folder, "trial.csv", "").0;
    for text in [folder.bytes("trial.csv"), gzip(&folder.bytes("trial.csv"))] {
        let mut command = assert_cmd::Command::from_std(folder.command(&format!("train /dev/stdin {TRAIN}")));
        command.write_stdin(text).assert().success();
        assert!(folder.bytes("m.json") == expected);
    }
    let arguments = format!("train /dev/stdin {TRAIN} --cache a.rows");
    let mut command = assert_cmd::Command::from_std(folder.command(&arguments));
    let outcome = command.write_stdin(HEADER).output().unwrap();
    assert_eq!(outcome.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&outcome.stderr).contains("--cache: needs a regular file"));
}

const LIBSVM: &str = r#"{"name":"trial","task":"classification","target":"label","positive":"+1","negative":"-1",
    "rows":1000,"columns":{"1":{"type":"numeric","lower":0,"upper":10},"7":{"type":"numeric","lower":-1,"upper":1},
    "3":{"type":"categorical","values":["0","4","5"]}}}"#;

/// The same rows as CSV and as libsvm.
fn both() -> (String, String) {
    let (mut csv, mut svm) = (String::from("label,1,3,7\n"), String::new());
    for i in 0..500 {
        let (label, x, c, z) =
            (["+1", "-1"][i % 3 % 2], i % 11, [0, 4, 5][i % 7 % 3], f64::from(i as u32 % 5) / 4.0 - 0.5);
        csv.push_str(&format!("{label},{x},{c},{z}\n"));
        let sparse = [("1", x as f64), ("3", f64::from(c)), ("7", z)].into_iter().filter(|(_, value)| *value != 0.0);
        let words: String = sparse.map(|(index, value)| format!(" {index}:{value}")).collect();
        svm.push_str(&format!("{label}{words} 99:1\n"));
    }
    // No records, in both formats.
    (csv + "+1\n\n", svm + "+1 1:\n\n")
}

#[cfg(feature = "libsvm")]
#[test]
fn libsvm_data_train_predict_and_evaluate_like_csv() {
    let folder = Folder::new();
    folder.write("trial.schema.json", LIBSVM);
    let (csv, svm) = both();
    folder.write("trial.csv", csv);
    folder.write("trial.svm.gz", gzip(svm.as_bytes()));
    folder.write("trial.libsvm", svm);
    let expected = model(&folder, "trial.csv", "").0;
    let predictions = folder.succeed("predict m.json trial.csv").stdout;
    for name in ["trial.libsvm", "trial.svm.gz"] {
        for _ in 0..2 {
            assert!(model(&folder, name, "--cache a.rows").0 == expected, "{name}");
        }
        assert_eq!(folder.succeed(&format!("predict m.json {name}")).stdout, predictions);
    }
    folder.write("good.svm", "+1 1:3\n-1 7:0.5\n");
    folder.succeed("evaluate m.json good.svm");
    let said = model(&folder, "trial.libsvm", "").1;
    assert!(said.contains("2 of 502 lines (0.40%) are no records") && said.contains("the first is line 501"), "{said}");
    folder.write("bad.svm", "+1 1:3\n2 7:0.5\n");
    refused(&folder, "evaluate m.json bad.svm", &["bad.svm:2", "label"]);
    // A unit needs a column of identifiers, whatever it is called, also on a second look.
    folder.write("unit.schema.json", LIBSVM.replace("\"rows\":1000,", ""));
    for (command, unit) in [("train", "2"), ("train", "patient"), ("check", "99")] {
        let flags = if command == "train" { "--epsilon 1 --no-ledger --out u.json" } else { "" };
        let command = format!("{command} trial.libsvm --schema unit.schema.json --unit {unit} {flags}");
        refused(&folder, &command, &["trial.libsvm", unit, "no identifiers", "CSV or Parquet"]);
    }
    folder.edit("trial.schema.json", "\"7\"", "\"age\"");
    refused(&folder, &format!("train trial.libsvm {TRAIN}"), &["trial.libsvm", "\"age\"", "index"]);
    refused(&folder, "inspect trial.libsvm", &["trial.libsvm", "write a schema"]);
}

#[cfg(not(feature = "libsvm"))]
#[test]
fn libsvm_data_need_the_feature() {
    let folder = Folder::new();
    folder.write("trial.schema.json", LIBSVM);
    folder.write("trial.libsvm", both().1);
    refused(&folder, &format!("train trial.libsvm {TRAIN}"), &["trial.libsvm", "feature libsvm"]);
}

/// 500 records, some with nulls, as CSV and as Parquet.
#[cfg(feature = "parquet")]
fn table() -> (String, Vec<u8>) {
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
    use parquet::file::writer::SerializedFileWriter;
    let schema =
        "message m { REQUIRED BYTE_ARRAY label (UTF8); REQUIRED INT32 1; REQUIRED INT64 3; OPTIONAL DOUBLE 7; }";
    let schema = parquet::schema::parser::parse_message_type(schema).unwrap();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), Default::default()).unwrap();
    let mut csv = String::from("label,1,3,7\n");
    for part in 0..4 {
        let records: Vec<(&str, i32, i64, Option<f64>)> = (125 * part..125 * (part + 1))
            .map(|i| {
                (["+1", "-1"][i % 3 % 2], i as i32 % 11, [0, 4, 5][i % 7 % 3], (i % 5 > 0).then(|| i as f64 / 999.0))
            })
            .collect();
        for (label, x, c, z) in &records {
            csv.push_str(&format!("{label},{x},{c},{}\n", z.map_or(String::new(), |z| z.to_string())));
        }
        let mut group = writer.next_row_group().unwrap();
        macro_rules! column {
            ($kind:ty, $values:expr, $levels:expr) => {{
                let mut column = group.next_column().unwrap().unwrap();
                column.typed::<$kind>().write_batch(&$values.collect::<Vec<_>>(), $levels, None).unwrap();
                column.close().unwrap();
            }};
        }
        let levels: Vec<i16> = records.iter().map(|r| i16::from(r.3.is_some())).collect();
        column!(ByteArrayType, records.iter().map(|r| ByteArray::from(r.0)), None);
        column!(Int32Type, records.iter().map(|r| r.1), None);
        column!(Int64Type, records.iter().map(|r| r.2), None);
        column!(DoubleType, records.iter().filter_map(|r| r.3), Some(&levels));
        group.close().unwrap();
    }
    (csv, writer.into_inner().unwrap())
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_data_train_predict_and_evaluate_like_csv() {
    let folder = Folder::new();
    folder.write("trial.schema.json", LIBSVM);
    let (csv, parquet) = table();
    folder.write("trial.csv", csv);
    folder.write("short.parquet", &parquet[..parquet.len() - 9]);
    folder.write("torn.parquet", [&parquet[..9], b"nothing but PAR1"].concat());
    folder.write("trial.parquet", parquet);
    let expected = model(&folder, "trial.csv", "").0;
    let predictions = folder.succeed("predict m.json trial.csv").stdout;
    for extra in ["", "--cache a.rows", "--cache a.rows", "--memory-limit 1MB"] {
        assert!(model(&folder, "trial.parquet", extra).0 == expected, "{extra}");
    }
    assert_eq!(folder.succeed("predict m.json trial.parquet").stdout, predictions);
    folder.succeed("evaluate m.json trial.parquet");
    let draft = |name| folder.succeed(&format!("inspect {name} --name a")).stdout;
    assert_eq!(draft("trial.parquet"), draft("trial.csv"));
    refused(&folder, &format!("train torn.parquet {TRAIN}"), &["torn.parquet", "unpacked"]);
    refused(&folder, &format!("train short.parquet {TRAIN}"), &["short.parquet"]);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_data_need_the_feature() {
    let folder = Folder::new();
    folder.write("trial.schema.json", LIBSVM);
    folder.write("trial.parquet", "PAR1 and much that nobody reads PAR1");
    refused(&folder, &format!("train trial.parquet {TRAIN}"), &["trial.parquet", "feature parquet"]);
    // A column may be called so.
    folder.write("trial.csv", "PAR1,label,1,3,7\n1,+1,2,3,4\n");
    model(&folder, "trial.csv", "");
}
