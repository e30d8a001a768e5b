//! Whose rows are, from every way in.

use std::collections::HashMap;
use std::path::Path;

use ndarray::aview1;
use proptest::prelude::*;

use crate::data::{Cells, CsvFile, Dialect, Fields, Numbers, Schema, Table};
use crate::kernel::{NOBODY, RawRow, Rows, RowsBuilder};
use crate::preprocess::{
    EncodedRows, Encoder, LoadReport, Loss, PersonSizes, PersonsMet, PiecesEncoder, TableEncoder, person_places,
};

const UNIT: &str = r#""unit":{"column":"id","max_rows":2},"#;

/// A schema with or without a unit.
fn schema(unit: &str) -> Schema {
    let text = format!(
        r#"{{"name":"a","task":"classification","target":"y","positive":"1","negative":"0",{unit}
            "columns":{{"x":{{"type":"numeric","lower":0,"upper":10}},
                        "c":{{"type":"categorical","values":["u","v"]}}}}}}"#
    );
    Schema::parse(&text, Path::new("s")).unwrap()
}

/// A file with a header and these lines.
fn with_file<T>(dialect: Dialect, text: &[u8], work: impl FnOnce(&CsvFile) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, text).unwrap();
    work(&CsvFile::open_in(&path, dialect).unwrap())
}

fn encoded(schema: &Schema, text: &[u8]) -> (EncodedRows, LoadReport) {
    with_file(Dialect::default(), text, |file| {
        Encoder::new(schema, file, true).unwrap().encode_grouped(file, &|_| Ok(())).unwrap()
    })
}

fn persons(schema: &Schema, dialect: Dialect, text: &[u8]) -> Vec<u32> {
    let read = |file: &CsvFile| Encoder::new(schema, file, true).unwrap().encode_grouped(file, &|_| Ok(())).unwrap().0;
    with_file(dialect, text, read).persons.unwrap()
}

/// The rule, one line after the other.
fn slowly(encoder: &Encoder, body: &[u8]) -> (Rows, Vec<u32>) {
    let mut rows = RowsBuilder::new(encoder.shape().clone());
    let (mut fields, mut row, mut odd) = (Fields::default(), RawRow::empty(encoder.shape()), Vec::new());
    let (mut known, mut persons) = (HashMap::new(), Vec::new());
    let mut lines: Vec<&[u8]> = body.split(|&byte| byte == b'\n').collect();
    lines.pop_if(|last| last.is_empty());
    for line in lines {
        fields.split(line.strip_suffix(b"\r").unwrap_or(line));
        if encoder.encode_fields(&fields, &mut row, &mut odd).is_err() {
            row = RawRow::empty(encoder.shape());
        }
        rows.push(&row);
        let cell = if fields.len() == 4 { fields.get(1).to_vec() } else { Vec::new() };
        let missing = ["", "?", "na", "nan"].iter().any(|gap| cell.eq_ignore_ascii_case(gap.as_bytes()));
        let next = known.len() as u32;
        persons.push(if missing { NOBODY } else { *known.entry(cell).or_insert(next) });
    }
    (rows.build(), persons)
}

proptest! {
    #[test]
    fn lines_are_whose_identifier_they_hold(
        lines in proptest::collection::vec((
            proptest::sample::select(vec!["3", "", "x", "\"1\""]),
            proptest::sample::select(vec!["a", "b", " a ", "\"a\"", "\"a,b\"", "A", "", " ", "NA", "nan", "?", "1", "1.0", "\"\"", "\"b", "é"]),
            proptest::sample::select(vec!["u", "w", ""]),
            proptest::sample::select(vec!["0", "1", "", "2", "1,9"]),
        ), 0..100),
    ) {
        let body: String = lines.iter().map(|(x, id, c, y)| format!("{x},{id},{c},{y}\n")).collect();
        let text = format!("x,id,c,y\n{body}");
        let (with, without) = (schema(UNIT), schema(""));
        let (found, report) = encoded(&with, text.as_bytes());
        let expected = with_file(Dialect::default(), text.as_bytes(), |file| {
            slowly(&Encoder::new(&with, file, true).unwrap(), body.as_bytes())
        });
        prop_assert!(found.rows.same_as(&expected.0));
        prop_assert_eq!(found.persons.as_ref().unwrap(), &expected.1);
        // But for rows that are nobody's, rows are those without a unit.
        let (rows, plain) = encoded(&without, text.as_bytes());
        prop_assert!(rows.persons.is_none());
        let lost = |report: &LoadReport, loss| report.lost.get(&loss).map_or(0, |count| count.count);
        prop_assert!(report.unusable <= plain.unusable + lost(&report, Loss::Identifier));
        prop_assert_eq!(lost(&plain, Loss::Identifier), 0);
        prop_assert_eq!(lost(&report, Loss::ManyCells), lost(&plain, Loss::ManyCells));
        // And what a check counts is what a load finds.
        let (survey, sample) = with_file(Dialect::default(), text.as_bytes(), |file| {
            Encoder::new(&with, file, true).unwrap().survey(file, &|_| Ok(())).unwrap()
        });
        prop_assert_eq!(&survey.report, &report);
        prop_assert_eq!(survey.persons, Some(PersonsMet::of(&expected.1, 2)));
        prop_assert_eq!(sample.persons, found.persons);
    }

    #[test]
    fn other_separators_and_decimal_commas_keep_persons_apart(
        cells in proptest::collection::vec("[0-9.,a ]{0,5}", 1..40),
    ) {
        // What a decimal comma makes of cells is one-to-one: 1,5 and 1.5 change places and stay two persons.
        let schema = schema(UNIT);
        let file = |separator: char| {
            let lines = cells.iter().map(|id| format!("3{separator}\"{id}\"{separator}u{separator}1\n"));
            format!("x{separator}id{separator}c{separator}y\n{}", lines.collect::<String>()).into_bytes()
        };
        let usual = persons(&schema, Dialect::default(), &file(','));
        for (separator, decimal) in [(';', '.'), (';', ','), ('\t', ','), (',', ',')] {
            let dialect = Dialect::new(separator, decimal).unwrap();
            prop_assert_eq!(&persons(&schema, dialect, &file(separator)), &usual, "{} {}", separator, decimal);
        }
    }
}

#[test]
fn a_missing_identifier_loses_its_row_alone_and_is_counted() {
    let text = |id: &str| format!("x,id,c,y\n1,a,u,1\n2,{id},v,0\n3,b,u,1\n4,a,u,what\n");
    let (full, before) = encoded(&schema(UNIT), text("b").as_bytes());
    assert_eq!((full.persons.unwrap(), before.unusable), (vec![0, 1, 1, 0], 1));
    for id in ["", " ", "NA", "\"\"", "NaN", "\" ? \""] {
        let (found, report) = encoded(&schema(UNIT), text(id).as_bytes());
        assert_eq!(found.persons.unwrap(), [0, NOBODY, 1, 0], "{id}");
        let count = &report.lost[&Loss::Identifier];
        assert_eq!((count.count, count.line, report.unusable), (1, 3, 2));
        let kept = |rows: &Rows| rows.subset(&[0, 2, 3]);
        assert!(kept(&found.rows).same_as(&kept(&full.rows)));
        assert!(found.rows.subset(&[1]).same_as(&found.rows.subset(&[3])), "both are null rows");
    }
}

#[test]
fn texts_that_are_not_utf8_are_compared_by_their_bytes() {
    let text = b"x,id,c,y\n1,\xe9,u,1\n2,\xe8,v,0\n3,\xe9,u,1\n4,\"\xe9\",u,1\n";
    assert_eq!(persons(&schema(UNIT), Dialect::default(), text), [0, 1, 0, 0]);
}

#[test]
fn many_blocks_have_the_persons_of_one() {
    let lines = |i: u64| (i * 7919 % 5003).to_string();
    let body: String = (0..200_000).map(|i| format!("{},p{},u,1\n", i % 10, lines(i))).collect();
    let mut known = HashMap::new();
    let expected: Vec<u32> = (0..200_000)
        .map(|i| {
            let next = known.len() as u32;
            *known.entry(lines(i)).or_insert(next)
        })
        .collect();
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let text = format!("x,id,c,y\n{body}");
        assert!(pool.install(|| persons(&schema(UNIT), Dialect::default(), text.as_bytes())) == expected);
    }
}

/// Rows as columns in memory, with identifiers in the given cells.
fn table_of<'a>(x: &'a [f64], id: Cells<'a>, y: &'a [f64]) -> Table<'a> {
    let c = Cells::Texts { list: vec!["u".into()], places: Numbers::F64(aview1(&x[..x.len()])) };
    let columns = [
        ("y", Cells::Numbers(Numbers::F64(aview1(y)))),
        ("c", c),
        ("id", id),
        ("x", Cells::Numbers(Numbers::F64(aview1(x)))),
    ];
    Table::new(columns.map(|(name, cells)| (name.to_owned(), cells)).into()).unwrap()
}

#[test]
fn identifiers_in_memory_are_those_of_the_file_that_says_the_same() {
    const ROWS: usize = 20_000;
    let whole: Vec<i64> = (0..ROWS as i64).map(|i| i * 31 % 997 - 3).collect();
    let large: Vec<u64> = whole.iter().map(|&id| u64::MAX - (id + 3) as u64).collect();
    let small: Vec<i16> = whole.iter().map(|&id| id as i16).collect();
    let gone: Vec<bool> = (0..ROWS).map(|i| i % 13 == 5).collect();
    let gaps: Vec<f64> = whole.iter().zip(&gone).map(|(&id, &gone)| if gone { f64::NAN } else { id as f64 }).collect();
    let single: Vec<f32> = gaps.iter().map(|&id| id as f32).collect();
    let texts: Vec<String> = (0..1000).map(|i| if i == 7 { " NA ".into() } else { format!(" p{i}") }).collect();
    let places: Vec<i32> = whole.iter().map(|&id| id as i32).collect();
    let (x, y): (Vec<f64>, Vec<f64>) = (0..ROWS).map(|i| ((i % 10) as f64, f64::from(i % 3 == 1))).unzip();
    let masked = |numbers| Cells::Masked { numbers, missing: aview1(&gone) };
    let said = |id: &dyn Fn(usize) -> String| (0..ROWS).map(|i| if gone[i] { String::new() } else { id(i) }).collect();
    let all = |id: &dyn Fn(usize) -> String| (0..ROWS).map(id).collect::<Vec<String>>();
    let ways: Vec<(Cells<'_>, Vec<String>)> = vec![
        (Cells::Numbers(Numbers::I64(aview1(&whole))), all(&|i| whole[i].to_string())),
        (Cells::Numbers(Numbers::U64(aview1(&large))), all(&|i| large[i].to_string())),
        (Cells::Numbers(Numbers::I16(aview1(&small))), all(&|i| whole[i].to_string())),
        // As pandas holds whole numbers with gaps: 1.0 is the text 1.
        (Cells::Numbers(Numbers::F64(aview1(&gaps))), said(&|i| whole[i].to_string())),
        (Cells::Numbers(Numbers::F32(aview1(&single))), said(&|i| whole[i].to_string())),
        (masked(Numbers::I64(aview1(&whole))), said(&|i| whole[i].to_string())),
        (
            Cells::Texts { list: texts.clone(), places: Numbers::I32(aview1(&places)) },
            all(&|i| usize::try_from(places[i]).ok().and_then(|at| texts.get(at)).cloned().unwrap_or_default()),
        ),
    ];
    let schema = schema(UNIT);
    for (at, (cells, ids)) in ways.into_iter().enumerate() {
        let lines: String = (0..ROWS)
            .map(|i| format!("{},{},{},{}\n", x[i], ids[i], if x[i] == 0.0 { "u" } else { "" }, y[i]))
            .collect();
        let (file, counted) = encoded(&schema, format!("x,id,c,y\n{lines}").as_bytes());
        let table = table_of(&x, cells.clone(), &y);
        let (whole, mut report) = TableEncoder::new(&schema, &table).unwrap().encode().unwrap();
        assert_eq!(whole.persons, file.persons, "{at}");
        assert!(whole.rows.same_as(&file.rows), "{at}");
        // A file counts its header.
        report.lost.values_mut().for_each(|count| count.line += 1);
        assert_eq!((report.lost, report.unusable), (counted.lost, counted.unusable), "{at}");
        let survey = TableEncoder::new(&schema, &table).unwrap().survey().unwrap().1;
        assert_eq!(survey.persons, Some(PersonsMet::of(file.persons.as_ref().unwrap(), 2)));
        let mut pieces = PiecesEncoder::new(&schema, ROWS);
        pieces.add(&table).unwrap();
        let pieces = pieces.finish();
        assert!(pieces.rows().is_err(), "rows without their persons");
        assert_eq!(pieces.rows.persons, file.persons, "{at}");
    }
}

#[test]
fn persons_go_on_from_piece_to_piece_whatever_holds_them() {
    let numbers: Vec<i64> = (0..64).map(|i| i % 5).collect();
    let list: Vec<String> = (0..5).map(|i| i.to_string()).collect();
    let places: Vec<i32> = (0..40).map(|i| 4 - i % 5).collect();
    let (x, y) = (vec![0.0; 64], vec![1.0; 64]);
    let schema = schema(UNIT);
    let mut pieces = PiecesEncoder::new(&schema, 104);
    pieces.add(&table_of(&x, Cells::Numbers(Numbers::I64(aview1(&numbers))), &y)).unwrap();
    let texts = Cells::Texts { list, places: Numbers::I32(aview1(&places)) };
    pieces.add(&table_of(&x[..40], texts, &y[..40])).unwrap();
    let found = pieces.finish().rows.persons.unwrap();
    let expected: Vec<u32> = (0..64).map(|i| i % 5).chain((0..40).map(|i| 4 - i % 5)).collect();
    assert_eq!(found, expected);
}

#[test]
fn rows_without_their_persons_are_handed_to_nobody() {
    let text = b"x,id,c,y\n1,a,u,1\n";
    with_file(Dialect::default(), text, |file| {
        let encoder = Encoder::new(&schema(UNIT), file, true).unwrap();
        let refused = |error: Option<crate::error::Error>| {
            let message = error.unwrap().to_string();
            assert!(message.contains("person") && message.contains("stream_persons"), "{message}");
        };
        refused(encoder.encode(file, &|_| Ok(())).err());
        let folder = tempfile::tempdir().unwrap();
        let cache = crate::preprocess::RowCache::new(&folder.path().join("rows"), false).unwrap();
        refused(cache.load(&schema(UNIT), file, &encoder, &|_| Ok(())).err());
        let limit = crate::preprocess::MemoryLimit::always_streaming(1 << 12);
        refused(cache.stream(&schema(UNIT), file, &encoder, limit, &|_| Ok(())).err());
        refused(encoder.stream(file, folder.path(), limit, &|_| Ok(())).err());
    });
    let lacking =
        with_file(Dialect::default(), b"x,c,y\n1,u,1\n", |file| Encoder::new(&schema(UNIT), file, true).err());
    assert!(lacking.unwrap().to_string().contains("\"id\""));
}

#[cfg(feature = "parquet")]
mod in_parquet {
    use std::sync::Arc;

    use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    /// Five records with identifiers of a type, of which one is missing where a null is one of its values.
    fn file<T: DataType>(kind: &str, ids: &[T::T], levels: &[i16], dictionary: bool) -> Vec<u8> {
        let schema = format!(
            "message m {{ REQUIRED INT32 x; OPTIONAL {kind}; REQUIRED BYTE_ARRAY c (UTF8); REQUIRED INT32 y; }}"
        );
        let properties = WriterProperties::builder().set_dictionary_enabled(dictionary).build();
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
        let mut group = writer.next_row_group().unwrap();
        macro_rules! column {
            ($type:ty, $values:expr, $levels:expr) => {
                let mut column = group.next_column().unwrap().unwrap();
                column.typed::<$type>().write_batch($values, $levels, None).unwrap();
                column.close().unwrap();
            };
        }
        column!(Int32Type, &[1, 2, 3, 4, 5], None);
        column!(T, ids, Some(levels));
        column!(ByteArrayType, &["u", "v", "u", "u", "v"].map(ByteArray::from), None);
        column!(Int32Type, &[1, 0, 1, 1, 0], None);
        group.close().unwrap();
        writer.into_inner().unwrap()
    }

    const GAP: [i16; 5] = [1, 1, 0, 1, 1];

    const FOUND: [u32; 5] = [0, 1, NOBODY, 0, 2];

    #[test]
    fn whole_numbers_and_texts_are_identifiers() {
        let usual = |file: Vec<u8>| persons(&schema(UNIT), Dialect::default(), &file);
        let texts = [" a", "b", "a ", "B"].map(ByteArray::from);
        for dictionary in [true, false] {
            assert_eq!(usual(file::<Int32Type>("INT32 id", &[17, 5, 17, -3], &GAP, dictionary)), FOUND);
            // Neighbours beyond 2^53, which a double takes for one.
            let large = [(1 << 53) + 1, 1 << 53, (1 << 53) + 1, i64::MIN];
            assert_eq!(usual(file::<Int64Type>("INT64 id", &large, &GAP, dictionary)), FOUND);
            assert_eq!(usual(file::<Int64Type>("INT64 id (UINT_64)", &[-1, -2, -1, 7], &GAP, dictionary)), FOUND);
            assert_eq!(usual(file::<Int32Type>("INT32 id (DECIMAL(9, 2))", &[5, 50, 5, -5], &GAP, dictionary)), FOUND);
            assert_eq!(usual(file::<ByteArrayType>("BYTE_ARRAY id (UTF8)", &texts, &GAP, dictionary)), FOUND);
            assert_eq!(usual(file::<ByteArrayType>("BYTE_ARRAY id", &texts, &GAP, dictionary)), FOUND);
        }
        // Texts that a CSV file puts into quotes, and marks of what is missing.
        let odd = ["a,b", "\"", "NA", "a,b", "a\"b"].map(ByteArray::from);
        assert_eq!(usual(file::<ByteArrayType>("BYTE_ARRAY id (UTF8)", &odd, &[1; 5], true)), FOUND);
    }

    #[test]
    fn blanks_around_a_name_hide_no_type() {
        use parquet::basic::Type as Physical;
        use parquet::schema::types::Type;
        for (kind, refused) in [(Physical::DOUBLE, true), (Physical::FLOAT, true), (Physical::INT64, false)] {
            let id = Arc::new(Type::primitive_type_builder(" id", kind).build().unwrap());
            let schema = Arc::new(Type::group_type_builder("m").with_fields(vec![id]).build().unwrap());
            let writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(WriterProperties::default())).unwrap();
            let bytes = writer.into_inner().unwrap();
            let found = with_file(Dialect::default(), &bytes, |file| crate::preprocess::identifier_column(file, "id"));
            assert_eq!(found.is_err(), refused, "{kind}");
        }
    }

    #[test]
    fn floating_point_is_no_identifier_whatever_stands_there() {
        let refused = |bytes: Vec<u8>| {
            let error = with_file(Dialect::default(), &bytes, |file| Encoder::new(&schema(UNIT), file, true).err());
            let message = error.unwrap().to_string();
            assert!(message.contains("\"id\"") && message.contains("floating-point"), "{message}");
            // Drafts of schemas ask for the column alone.
            let drafted =
                with_file(Dialect::default(), &bytes, |file| crate::preprocess::identifier_column(file, "id"));
            assert!(drafted.unwrap_err().to_string().contains("floating-point"));
            // As a feature, or unused, it is read as ever.
            with_file(Dialect::default(), &bytes, |file| assert!(Encoder::new(&schema(""), file, true).is_ok()));
        };
        refused(file::<DoubleType>("DOUBLE id", &[17.0, 5.0, 17.0, -3.0], &GAP, true));
        refused(file::<DoubleType>("DOUBLE id", &[2f64.powi(53), 5.0, 17.0, -3.0], &GAP, false));
        refused(file::<FloatType>("FLOAT id", &[17.0, 5.0, 17.0, -3.0], &GAP, true));
        refused(file::<DoubleType>("DOUBLE id", &[], &[0; 5], true));
    }
}

/// From where whole numbers have the same double, a cell may be several persons', so its row is nobody's.
#[test]
fn numbers_that_may_stand_for_several_identifiers_are_nobody_s() {
    fn found(cells: Cells<'_>) -> Vec<u32> {
        const ONES: [f64; 6] = [1.0; 6];
        let (schema, table) = (schema(UNIT), table_of(&ONES, cells, &ONES));
        TableEncoder::new(&schema, &table).unwrap().encode().unwrap().0.persons.unwrap()
    }
    let double = [2f64.powi(53) - 1.0, 2f64.powi(53), -2f64.powi(53), f64::INFINITY, 1.5, 2f64.powi(53) - 1.0];
    let expected = [0, NOBODY, NOBODY, NOBODY, 1, 0];
    assert_eq!(found(Cells::Numbers(Numbers::F64(aview1(&double)))), expected);
    let single = [2f32.powi(24) - 1.0, 2f32.powi(24), -2f32.powi(24), f32::NEG_INFINITY, 1.5, 2f32.powi(24) - 1.0];
    assert_eq!(found(Cells::Numbers(Numbers::F32(aview1(&single)))), expected);
    let whole = [1i64 << 53, (1 << 53) + 1, 1 << 53, i64::MAX, i64::MIN, i64::MAX - 1];
    assert_eq!(found(Cells::Numbers(Numbers::I64(aview1(&whole)))), [0, 1, 0, 2, 3, 4]);
}

/// The identifiers of rows; `None` is a missing cell.
fn identifiers<'a>(list: &[String], places: &'a [f64]) -> Cells<'a> {
    Cells::Texts { list: list.to_vec(), places: Numbers::F64(aview1(places)) }
}

#[test]
fn sizes_of_parts_are_those_of_all_rows() {
    let list: Vec<String> =
        (0..60).map(|id| if id % 9 == 4 { " NA ".into() } else { format!(" p{} ", id / 2) }).collect();
    // Places beyond the list are missing cells.
    let rows: Vec<f64> = (0..2000).map(|i| f64::from(i * i % 61 % (1 + i % 70))).collect();
    let all = identifiers(&list, &rows);
    let whole = PersonSizes::of(&all);
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let person_of: Vec<u32> = rows
        .iter()
        .map(|&place| match list.get(place as usize).map(|text| text.trim()) {
            None | Some("NA") => NOBODY,
            Some(text) => {
                let next = numbers.len() as u32;
                *numbers.entry(text).or_insert(next)
            }
        })
        .collect();
    let places = person_places(&all);
    for (max_rows, parts) in [(1, 1), (30, 2), (60, 7)] {
        let mut sum = PersonSizes::default();
        for part in 0..parts {
            let own = rows.iter().zip(&places).filter(|(_, place)| **place % parts == part);
            let own: Vec<f64> = own.map(|(row, _)| *row).collect();
            let found = PersonSizes::of(&identifiers(&list, &own));
            // As it comes from another machine.
            let sent: PersonSizes = serde_json::from_str(&serde_json::to_string(&found).unwrap()).unwrap();
            sum.merge(&sent).unwrap();
        }
        assert_eq!(sum, whole, "{parts}");
        assert_eq!(sum.met(max_rows), PersonsMet::of(&person_of, max_rows));
        assert!(sum.met(max_rows).above > 0 && sum.met(max_rows).persons == numbers.len() as u64);
    }
    // Cut anywhere, a person is in two parts.
    let [first, second] = [&rows[..1000], &rows[1000..]].map(|own| PersonSizes::of(&identifiers(&list, own)));
    let mut sum = first.clone();
    let refused = sum.merge(&second).unwrap_err().to_string();
    assert!(refused.contains("each place is in one part") && sum == first, "{refused}");
    // Rows of nobody have no place.
    let nobody = PersonSizes::of(&identifiers(&list, &[4.0, 100.0]));
    assert_eq!(
        (nobody.met(1), {
            sum.merge(&nobody).unwrap();
            sum
        }),
        (PersonsMet::default(), first)
    );
}

/// What is said of parts may be forged: it is added up without an overflow.
#[test]
fn forged_sizes_add_up_to_something() {
    let forged = format!("{{\"persons\":{{\"{max}\":{max},\"1\":{max}}},\"places\":[]}}", max = u64::MAX);
    let forged: PersonSizes = serde_json::from_str(&forged).unwrap();
    let mut sum = forged.clone();
    sum.merge(&forged).unwrap();
    let met = sum.met(u32::MAX);
    assert_eq!([met.persons, met.rows, met.most, met.above], [u64::MAX; 4]);
    assert!(serde_json::from_str::<PersonSizes>(r#"{"persons":{"a":1},"places":[]}"#).is_err());
}
