//! Columns of Parquet files say what their lines say.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::person_stream::same;
use crate::data::{CsvFile, Schema};
use crate::preprocess::{EncodedRows, Encoder, LoadReport, MemoryLimit};

const MESSAGE: &str = "message m {
    OPTIONAL DOUBLE wide;
    OPTIONAL FLOAT narrow;
    OPTIONAL INT64 whole;
    REQUIRED INT32 positive (UINT_32);
    OPTIONAL INT64 huge (UINT_64);
    REQUIRED BOOLEAN well;
    OPTIONAL INT32 money (DECIMAL(9, 2));
    OPTIONAL BYTE_ARRAY typed (UTF8);
    REQUIRED INT96 when;
    OPTIONAL BYTE_ARRAY unused (UTF8);
    OPTIONAL BYTE_ARRAY town (UTF8);
    OPTIONAL INT32 grade;
    OPTIONAL DOUBLE share;
    OPTIONAL BYTE_ARRAY id;
    OPTIONAL BYTE_ARRAY y (UTF8);
    OPTIONAL DOUBLE z;
    OPTIONAL DOUBLE weight;
}";

const COLUMNS: &str = r#""columns":{
    "wide":{"type":"numeric","lower":-1,"upper":1,"missing":"indicator"},
    "narrow":{"type":"numeric","lower":0,"upper":1},
    "whole":{"type":"numeric","lower":-9,"upper":1e18},
    "positive":{"type":"numeric","lower":0,"upper":4294967295},
    "huge":{"type":"numeric","lower":0,"upper":2e19,"missing":"indicator"},
    "well":{"type":"numeric","lower":0,"upper":1},
    "money":{"type":"numeric","lower":-1,"upper":1},
    "typed":{"type":"numeric","lower":0,"upper":2},
    "when":{"type":"numeric","lower":-1e18,"upper":1e18},
    "town":{"type":"categorical","values":["a","b c","d","\ufffd","\ufffdff"],"other":"d"},
    "grade":{"type":"categorical","values":["1","2.0","02","3"]},
    "share":{"type":"categorical","values":["0.5","NaN","-0","inf"]}}"#;

fn schema(rest: &str) -> Schema {
    Schema::parse(&format!(r#"{{"name":"a",{rest},{COLUMNS}}}"#), Path::new("s")).unwrap()
}

/// Values of a column, some of them missing where they may be.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    rows: usize,
    rng: &mut StdRng,
    gaps: bool,
    values: &[T::T],
) {
    let levels: Vec<i16> = (0..rows).map(|_| i16::from(!gaps || rng.random_bool(0.8))).collect();
    let there = levels.iter().filter(|&&level| level == 1).count();
    let drawn: Vec<T::T> = (0..there).map(|_| values[rng.random_range(0..values.len())].clone()).collect();
    let mut writer = group.next_column().unwrap().unwrap();
    writer.typed::<T>().write_batch(&drawn, gaps.then_some(&levels), None).unwrap();
    writer.close().unwrap();
}

/// How pages are written: with a dictionary of at most so many bytes or with none, in the second version of the format, compressed.
fn properties(dictionary: Option<usize>, second: bool, compressed: bool) -> WriterProperties {
    let builder = WriterProperties::builder()
        .set_dictionary_enabled(dictionary.is_some())
        .set_dictionary_page_size_limit(dictionary.unwrap_or(0))
        .set_writer_version(if second { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 })
        .set_compression(if compressed { Compression::SNAPPY } else { Compression::UNCOMPRESSED });
    // Values are looked at in batches: dictionaries that are too long are noticed after one.
    builder.set_data_page_row_count_limit(50).set_write_batch_size(16).build()
}

/// Row groups of these sizes; `spread` has values that are no numbers, `bytes` some that are no text.
fn file(groups: &[usize], properties: WriterProperties, (spread, bytes): (bool, bool), seed: u64) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(MESSAGE).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let rng = &mut StdRng::seed_from_u64(seed);
    let texts = |texts: &[&[u8]]| {
        let kept = texts.iter().filter(|text| bytes || std::str::from_utf8(text).is_ok());
        kept.map(|text| ByteArray::from(text.to_vec())).collect::<Vec<_>>()
    };
    for &rows in groups {
        let mut group = writer.next_row_group().unwrap();
        let odd = if spread { f64::NAN } else { 0.25 };
        column::<DoubleType>(&mut group, rows, rng, true, &[0.1, -0.0, 1e-300, 7.0, f64::INFINITY, -0.999, odd]);
        column::<FloatType>(&mut group, rows, rng, true, &[0.1, 0.3, 1e-9, -0.0, odd as f32, 1e30]);
        column::<Int64Type>(&mut group, rows, rng, true, &[0, -9, (1 << 53) + 1, i64::MAX, 123_456_789_012_345_678]);
        column::<Int32Type>(&mut group, rows, rng, false, &[-1, 0, 5, i32::MIN]);
        column::<Int64Type>(&mut group, rows, rng, true, &[-1, 0, i64::MIN]);
        column::<BoolType>(&mut group, rows, rng, false, &[true, false]);
        column::<Int32Type>(&mut group, rows, rng, true, &[0, 99, -7, 12_345]);
        let typed = texts(&[b"1.5", b" 2 ", b"x,y", b"true", b"", b"1e-1\n", b"NA", b"\xff"]);
        column::<ByteArrayType>(&mut group, rows, rng, true, &typed);
        let mut when = [Int96::new(), Int96::new()];
        when[1].set_data(5, 7, 2_440_589);
        column::<Int96Type>(&mut group, rows, rng, false, &when);
        column::<ByteArrayType>(&mut group, rows, rng, true, &texts(&[b"\"", b"a\nb", b"\xff\xfe"]));
        let town = texts(&[
            b"a",
            b" b c ",
            b"b\nc",
            b"b\r\nc",
            b"d",
            b"e",
            b"\"a\"",
            b"\xff",
            "\u{fffd}".as_bytes(),
            "\u{fffd}ff".as_bytes(),
        ]);
        column::<ByteArrayType>(&mut group, rows, rng, true, &town);
        column::<Int32Type>(&mut group, rows, rng, true, &[1, 2, 3, 4]);
        column::<DoubleType>(&mut group, rows, rng, true, &[0.5, f64::NAN, 0.0, -0.0, f64::INFINITY, 1e20]);
        let ids = texts(&[
            b"p",
            b" p",
            b"q",
            b"NA",
            b"\xff",
            b"\xfe",
            b"\xff ",
            b"a,b",
            b"a\nb",
            b"a b",
            b"\xff\nb",
            b"\xff b",
            "\u{fffd}ff".as_bytes(),
        ]);
        column::<ByteArrayType>(&mut group, rows, rng, true, &ids);
        column::<ByteArrayType>(&mut group, rows, rng, true, &texts(&[b"yes", b"no", b" yes", b"maybe"]));
        column::<DoubleType>(&mut group, rows, rng, true, &[1.0, 2.5, -3.0, 9.0, odd]);
        column::<DoubleType>(&mut group, rows, rng, true, &[0.0, 0.5, 3.0, -1.0, odd]);
        group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

fn read(schema: &Schema, file: &CsvFile) -> (EncodedRows, LoadReport) {
    Encoder::new(schema, file, true).unwrap().encode_grouped(file, &|_| Ok(())).unwrap()
}

#[test]
fn columns_say_what_lines_say() {
    let schemas = [
        r#""task":"classification","target":"y","positive":"yes","negative":"no""#,
        r#""task":"classification","target":"y","positive":"yes","unit":{"column":"id","max_rows":2}"#,
        r#""task":"regression","target":"z","target_lower":-1,"target_upper":3"#,
        r#""task":"regression","target":"z","target_lower":-1,"target_upper":3,"weight":{"column":"weight","max":2}"#,
        r#""task":"classification","target":"y","positive":"yes","negative":"no","protect":"label""#,
    ];
    let folder = tempfile::tempdir().unwrap();
    let (packed, plain) = (folder.path().join("a.parquet"), folder.path().join("a.csv"));
    for (seed, groups) in [&[0usize, 7, 0, 100, 33, 1, 400][..], &[64], &[1], &[]].into_iter().enumerate() {
        let long = Some(1 << 20);
        for (values, dictionary, second, compressed) in [
            ((false, false), long, false, false),
            ((true, false), long, true, true),
            ((true, true), None, false, true),
            // A few values are in the dictionary, those that come later are not.
            ((true, true), Some(8), false, false),
            // Later ones are written as differences, which is left to the reader of records.
            ((false, true), Some(8), true, false),
            ((false, true), None, true, false),
        ] {
            let how = (values, dictionary, second);
            std::fs::write(&packed, file(groups, properties(dictionary, second, compressed), values, seed as u64))
                .unwrap();
            let columns = CsvFile::open(&packed).unwrap();
            let mut lines = columns.header().join(",").into_bytes();
            columns
                .scan(1, |blocks, _| {
                    let all = blocks.iter().flat_map(|block| block.lines());
                    all.for_each(|line| lines.extend(b"\n".iter().chain(line)));
                    Ok(())
                })
                .unwrap();
            std::fs::write(&plain, &lines).unwrap();
            let text = CsvFile::open(&plain).unwrap();
            for rest in schemas {
                let schema = schema(rest);
                assert!(Encoder::new(&schema, &columns, true).unwrap().wanted(&columns).is_some());
                assert!(Encoder::new(&schema, &text, true).unwrap().wanted(&text).is_none());
                let (found, expected) = (read(&schema, &columns), read(&schema, &text));
                let what = format!("{rest} {groups:?} {how:?}");
                assert_eq!(found.0.rows.len(), groups.iter().sum::<usize>());
                assert!(found.0.rows.same_as(&expected.0.rows), "{what}");
                assert_eq!((&found.0.persons, &found.0.places), (&expected.0.persons, &expected.0.places), "{what}");
                // Bytes that are no text are told as the texts that stand for them, each of them undeclared or unreadable.
                let told = |report: &LoadReport| (report.unusable, report.positives, report.missing, report.undeclared);
                assert_eq!(told(&found.1), told(&expected.1), "{what}");
                assert!(values.1 || found.1 == expected.1, "{what}");
                streamed(&schema, &columns, &text, folder.path());
            }
        }
    }
}

/// Rows and persons that go through a file.
fn streamed(schema: &Schema, columns: &CsvFile, text: &CsvFile, folder: &Path) {
    let limit = MemoryLimit::new(1 << 20).unwrap();
    let encoder = |file| Encoder::new(schema, file, true).unwrap();
    if schema.unit.is_some() {
        let read = |file| encoder(file).stream_persons(file, folder, limit, &|_| Ok(())).unwrap();
        let (found, expected) = (read(columns), read(text));
        assert_eq!((found.1.lines, found.1.lost.len()), (expected.1.lines, expected.1.lost.len()));
        same(&found.0.read_all().unwrap(), &expected.0.read_all().unwrap());
    } else if schema.weight.is_none() {
        let read = |file| encoder(file).stream(file, folder, limit, &|_| Ok(())).unwrap();
        let (found, expected) = (read(columns), read(text));
        assert_eq!((found.1.lines, found.1.lost.len()), (expected.1.lines, expected.1.lost.len()));
        assert!(found.0.read_all().unwrap().same_as(&expected.0.read_all().unwrap()));
    }
}

#[test]
fn a_record_of_a_parquet_file_has_any_length() {
    let long = "7".repeat(3 << 20);
    let schema = Arc::new(
        parse_message_type("message m { REQUIRED BYTE_ARRAY t; REQUIRED INT32 x; REQUIRED INT32 y; }").unwrap(),
    );
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(WriterProperties::default())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let rng = &mut StdRng::seed_from_u64(1);
    column::<ByteArrayType>(&mut group, 3, rng, false, &[ByteArray::from(long.into_bytes())]);
    column::<Int32Type>(&mut group, 3, rng, false, &[5]);
    column::<Int32Type>(&mut group, 3, rng, false, &[1]);
    group.close().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    std::fs::write(&path, writer.into_inner().unwrap()).unwrap();
    let file = CsvFile::open(&path).unwrap();
    let schema = r#"{"name":"a","task":"classification","target":"y","positive":"1","columns":{"x":{"type":"numeric","lower":0,"upper":9}}}"#;
    let (rows, report) = read(&Schema::parse(schema, Path::new("s")).unwrap(), &file);
    assert_eq!((rows.rows.len(), report.unusable), (3, 0));
    let mut lines = 0;
    file.each_line(|cells| {
        lines += 1;
        assert_eq!((cells.len(), cells.number(1)), (3, Some(5.0)));
        Ok(())
    })
    .unwrap();
    assert_eq!(lines, 3);
}
