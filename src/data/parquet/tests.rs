use std::io::{Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::{BATCH, ParquetColumns, ParquetText, open};
use crate::data::Wanted;

const SCHEMA: &str = "message people {
    REQUIRED INT32 age;
    OPTIONAL DOUBLE pay;
    OPTIONAL BYTE_ARRAY town (UTF8);
    REQUIRED BOOLEAN well;
    REQUIRED INT32 money (DECIMAL(9, 2));
    REQUIRED INT64 big (UINT_64);
    REQUIRED FLOAT share;
    REQUIRED FIXED_LEN_BYTE_ARRAY (9) long (DECIMAL(20, 3));
    REQUIRED FIXED_LEN_BYTE_ARRAY (2) raw;
    OPTIONAL group list (LIST) { REPEATED group list { OPTIONAL INT32 element; } }
}";

const LINES: &str = "34,1.5,Oslo,true,0.05,18446744073709551615,0.1,-1.234,\n\
    -2,,\"a, \"\"b\"\" c\",false,-12.34,7,-3e-9,0.000,\n\
    0,1e300,,true,100.00,0,NaN,18446744073709551.615,\n";

fn write<W: Write + Send, T: DataType>(group: &mut SerializedRowGroupWriter<'_, W>, values: &[T::T], levels: &[i16]) {
    let mut writer = group.next_column().unwrap().unwrap();
    let (levels, repeated) = (Some(levels).filter(|l| !l.is_empty()), vec![0; levels.len()]);
    writer.typed::<T>().write_batch(values, levels, levels.map(|_| &*repeated)).unwrap();
    writer.close().unwrap();
}

fn write_group<W: Write + Send>(group: &mut SerializedRowGroupWriter<'_, W>) {
    let text = |s: &str| ByteArray::from(s.as_bytes().to_vec());
    let fixed = |b: &[u8]| FixedLenByteArray::from(ByteArray::from(b.to_vec()));
    write::<_, Int32Type>(group, &[34, -2, 0], &[]);
    write::<_, DoubleType>(group, &[1.5, 1e300], &[1, 0, 1]);
    write::<_, ByteArrayType>(group, &[text("Oslo"), text("a, \"b\"\nc")], &[1, 1, 0]);
    write::<_, BoolType>(group, &[true, false, true], &[]);
    write::<_, Int32Type>(group, &[5, -1234, 10_000], &[]);
    write::<_, Int64Type>(group, &[-1, 7, 0], &[]);
    write::<_, FloatType>(group, &[0.1, -3e-9, f32::NAN], &[]);
    let long = [(-1234i128).to_be_bytes(), 0i128.to_be_bytes(), i128::from(u64::MAX).to_be_bytes()];
    write::<_, FixedLenByteArrayType>(group, &long.map(|b| fixed(&b[7..])), &[]);
    write::<_, FixedLenByteArrayType>(group, &[fixed(b"\n,"), fixed(b"\"\""), fixed(b"ab")], &[]);
    write::<_, Int32Type>(group, &[1], &[0, 3, 1]);
}

fn file(groups: usize, compression: Compression) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    for _ in 0..groups {
        let mut group = writer.next_row_group().unwrap();
        write_group(&mut group);
        group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

fn text(file: Vec<u8>) -> std::io::Result<String> {
    let mut text = String::new();
    ParquetText::new(open(Bytes::from(file))?).read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn values_are_the_cells_of_a_csv() {
    let header = "age,pay,town,well,money,big,share,long\n";
    let lines = LINES.replace(",\n", "\n");
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(Default::default())] {
        assert_eq!(text(file(2, compression)).unwrap(), format!("{header}{lines}{lines}"));
    }
    assert_eq!(text(file(0, Compression::UNCOMPRESSED)).unwrap(), header);
}

#[test]
fn long_row_groups_come_in_parts() {
    let schema = Arc::new(parse_message_type("message m { OPTIONAL INT32 x; }").unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(WriterProperties::default())).unwrap();
    let rows = 3 * BATCH as i32 + 5;
    let mut group = writer.next_row_group().unwrap();
    let levels: Vec<i16> = (0..rows).map(|i| i16::from(i % 3 > 0)).collect();
    let values: Vec<i32> = (0..rows).filter(|i| i % 3 > 0).collect();
    write::<_, Int32Type>(&mut group, &values, &levels);
    group.close().unwrap();
    let expected: String = (0..rows).map(|i| if i % 3 > 0 { format!("{i}\n") } else { "\n".into() }).collect();
    assert_eq!(text(writer.into_inner().unwrap()).unwrap(), format!("x\n{expected}"));
}

#[test]
fn a_damaged_file_is_an_error_that_quotes_nothing() {
    let whole = file(1, Compression::SNAPPY);
    for len in 0..whole.len() {
        let error = text(whole[..len].to_vec()).unwrap_err().to_string();
        assert!(error.starts_with("it"), "{error}");
    }
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        // What cannot be noticed may be read, but neither kind may panic or quote a cell.
        if let Err(error) = text(damaged) {
            assert!(error.to_string().starts_with("it") || error.kind() == std::io::ErrorKind::InvalidData);
        }
    }
}

/// Long texts end a piece with their page at the latest; texts of which there are few, and numbers, do not.
#[test]
fn a_piece_holds_no_more_long_texts_than_a_page() {
    const ROWS: i32 = 400;
    let pieces = |texts: &[String], dictionary: bool| {
        let schema =
            Arc::new(parse_message_type("message m { REQUIRED INT32 x; REQUIRED BYTE_ARRAY t (UTF8); }").unwrap());
        let properties = WriterProperties::builder().set_dictionary_enabled(dictionary);
        let properties = properties.set_data_page_row_count_limit(100).set_write_batch_size(10).build();
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
        let mut group = writer.next_row_group().unwrap();
        write::<_, Int32Type>(&mut group, &(0..ROWS).collect::<Vec<_>>(), &[]);
        let texts: Vec<_> = texts.iter().map(|text| ByteArray::from(text.as_bytes().to_vec())).collect();
        write::<_, ByteArrayType>(&mut group, &texts, &[]);
        group.close().unwrap();
        let file = open(Bytes::from(writer.into_inner().unwrap())).unwrap();
        let mut columns = ParquetColumns::new(file, &[(0, "x", Wanted::Number), (1, "t", Wanted::Text)]).unwrap();
        let mut lengths = Vec::new();
        while columns.advance(ROWS as usize).unwrap() {
            lengths.push(columns.piece().unwrap().rows());
        }
        lengths
    };
    let long: Vec<String> = (0..ROWS).map(|row| format!("a text of row {row}")).collect();
    let of_pages = pieces(&long, false);
    assert_eq!(of_pages.iter().sum::<usize>(), 400);
    // Of 32 records, or of the 64 that fit into the rest of a page.
    assert!(of_pages.iter().all(|it| [32, 64].contains(it) || *it == 400 % 32), "{of_pages:?}");
    assert!(of_pages.contains(&64), "{of_pages:?}");
    let longer: Vec<String> = long.iter().map(|text| text.repeat(5)).collect();
    assert!(pieces(&longer, false).iter().all(|&it| it <= 32));
    let few: Vec<String> = (0..ROWS).map(|row| format!("a text of {}", row % 3)).collect();
    assert_eq!(pieces(&few, true), [400]);
}

/// The columns whose pages are read without the library's reader of records.
const OF_PAGES: [(usize, &str, Wanted); 4] =
    [(0, "age", Wanted::Number), (1, "pay", Wanted::Number), (2, "town", Wanted::Text), (5, "big", Wanted::Number)];

#[test]
fn pages_of_a_damaged_file_are_an_error_that_quotes_nothing() {
    let whole = file(2, Compression::UNCOMPRESSED);
    let read = |bytes: Vec<u8>| {
        let mut columns = ParquetColumns::new(open(Bytes::from(bytes))?, &OF_PAGES)?;
        let mut records = 0;
        while columns.advance(4)? {
            records += columns.piece().map_or(0, |piece| piece.rows());
        }
        Ok(records)
    };
    assert_eq!(read(whole.clone()).unwrap(), 6);
    let mut refused = 0;
    for at in 0..whole.len() {
        for bits in [0x01, 0x55, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] ^= bits;
            let outcome: std::io::Result<usize> = read(damaged);
            if let Err(error) = outcome {
                refused += 1;
                assert!(error.to_string().starts_with("it "), "{error}");
            }
        }
    }
    assert!(refused > 100, "{refused}");
}
