//! Persons who are brought together on disk: everybody whole, once, and the same as in memory.

use std::fs;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::data::{CsvFile, Schema};
use crate::error::{Error, Fallible};
use crate::grid::MomentWeights;
use crate::kernel::{PersonClips, Persons, Rows, Step, clipped_person_sum, gram_sum, moment_sum};
use crate::loss::{Logistic, Loss};
use crate::preprocess::{
    Affine, CacheUse, Encoder, MemoryLimit, PersonStream, RowCache, SegmentReader, SegmentWriter, Standardizer,
};

const MAX_ROWS: u32 = 5;

fn schema_of(unit: &str) -> Schema {
    let text = format!(
        r#"{{"name":"a","task":"classification","target":"y","positive":"1","negative":"0",{unit}
        "columns":{{"x":{{"type":"numeric","lower":0,"upper":10}},"c":{{"type":"categorical","values":["u","v"]}}}}}}"#
    );
    Schema::parse(&text, Path::new("s")).unwrap()
}

fn schema() -> Schema {
    schema_of(&format!(r#""unit":{{"column":"id","max_rows":{MAX_ROWS}}},"#))
}

/// A line: mostly of persons with a few rows, in no order, of one with very many, of some without a record, and of nobody.
fn line(i: usize) -> String {
    let id = match i % 11 {
        3 => "giant".into(),
        5 => ["", " NA ", "?"][i / 11 % 3].into(),
        _ => format!("p{}", (i * i + i / 3) % (i / 4 + 7)),
    };
    match i % 13 {
        // A label that is not declared, so no record, and perhaps a person's only row.
        4 => format!(" {id},1,u,7\n"),
        6 => format!("{id}{i},1,u,\n"),
        _ => format!("{id} ,{}.{},{},{}\n", i % 10, i % 97, ["u", "v", "w"][i % 3], i % 7 % 2),
    }
}

fn write(folder: &Path, lines: impl Iterator<Item = String>) -> PathBuf {
    let path = folder.join("a.csv");
    fs::write(&path, format!("id,x,c,y\n{}", lines.collect::<String>())).unwrap();
    path
}

fn in_memory(path: &Path) -> Persons {
    let file = CsvFile::open(path).unwrap();
    let encoded = Encoder::new(&schema(), &file, true).unwrap().encode_grouped(&file, &|_| Ok(())).unwrap().0;
    Persons::gather(encoded.rows, &encoded.persons.unwrap(), MAX_ROWS)
}

fn streamed_in(path: &Path, folder: &Path, segment_bytes: usize) -> Fallible<PersonStream> {
    let file = CsvFile::open(path).unwrap();
    let limit = MemoryLimit::always_streaming(segment_bytes);
    Ok(Encoder::new(&schema(), &file, true).unwrap().stream_persons(&file, folder, limit, &|_| Ok(()))?.0)
}

fn streamed(path: &Path, segment_bytes: usize) -> PersonStream {
    streamed_in(path, path.parent().unwrap(), segment_bytes).unwrap()
}

/// Whatever a pass makes of persons, and how many have how many rows.
fn sums(persons: &Persons) -> Vec<i128> {
    let weights = MomentWeights { count: 1, features: 1, squares: 1, label: 1, label_square: 1, shares: 0, sizes: 0 };
    let clips = PersonClips::new(persons, None, 9_000_000);
    let coefficients: Vec<f64> = (0..persons.shape().dimension()).map(|j| (j as f64 * 0.7).sin()).collect();
    let step = Step { weights: &coefficients, label_scale: 1.0, multiplier_scale: 2000.0 };
    let mut all = clipped_person_sum(persons, &clips, &step, |margin, label| Logistic.slope(margin, label));
    let mut sizes = vec![0i128; MAX_ROWS as usize + 1];
    let mut of_rows: Vec<i128> = Vec::new();
    for (each, rows) in persons.groups() {
        let more = [moment_sum(rows, &weights), gram_sum(rows, 1 << 40, 100)].concat();
        of_rows.resize(more.len(), 0);
        of_rows.iter_mut().zip(more).for_each(|(total, entry)| *total += entry * (each as i128 + 1));
    }
    persons.sizes().for_each(|(each, count)| sizes[each] += count as i128);
    all.extend(of_rows);
    all.extend(sizes);
    all
}

fn total(streamed: &PersonStream) -> Vec<i128> {
    let mut total = sums(&streamed.nobody());
    let add = |part: &Persons| {
        total.iter_mut().zip(sums(part)).for_each(|(total, entry)| *total += entry);
        Ok(())
    };
    streamed.each_part(add).unwrap();
    total
}

#[track_caller]
pub(super) fn same(one: &Persons, other: &Persons) {
    assert_eq!(one.len(), other.len());
    let groups = |persons: &Persons| {
        let mut all = Vec::new();
        let keep = |each: usize, members: &[u32], rows: &Rows| {
            all.push((each, members.to_vec(), rows.subset(&(0..rows.len()).collect::<Vec<_>>())));
            Ok(())
        };
        persons.cut(usize::MAX, keep).unwrap();
        all
    };
    let (one, other) = (groups(one), groups(other));
    assert_eq!(one.len(), other.len());
    for ((each, members, rows), (each_too, members_too, rows_too)) in one.into_iter().zip(other) {
        assert!(each == each_too && members == members_too && rows.same_as(&rows_too), "{each} rows a person");
    }
}

#[test]
fn everybody_is_there_once_and_whole_however_small_the_buckets() {
    let folder = tempfile::tempdir().unwrap();
    for rows in [0, 1, 33, 3000] {
        let path = write(folder.path(), (0..rows).map(line));
        let whole = in_memory(&path);
        for segment_bytes in [1, 300, 5_000, 1 << 20] {
            let streamed = streamed(&path, segment_bytes);
            assert_eq!(streamed.persons(), whole.len() as u64);
            assert_eq!(total(&streamed), sums(&whole), "{rows} rows, {segment_bytes}");
            assert_eq!(total(&streamed), sums(&whole), "a second time");
            same(&streamed.read_all().unwrap(), &whole);
            let mut parts = 0;
            streamed
                .each_part(|_| {
                    parts += 1;
                    Ok(())
                })
                .unwrap();
            assert!(rows < 3000 || segment_bytes > 300 || parts > 5, "{parts} parts");
            streamed.check().unwrap();
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn persons_in_a_file_are_recoded_as_those_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), (0..3000).map(line));
    let features = vec![Affine { centre: 0.2, scale: 0.4, limit: 2.0 }];
    let map = Standardizer { features, target: None, limit: 2.0 };
    let whole = in_memory(&path).recoded(|rows| map.recode(rows));
    for segment_bytes in [1, 5_000] {
        let recoded = map.recode_persons(streamed(&path, segment_bytes)).unwrap();
        assert_eq!((recoded.one(), recoded.persons()), (16_383, whole.len() as u64));
        assert_eq!(total(&recoded), sums(&whole));
        // Once more: lanes of nobody stay so.
        let again = map.recode_persons(recoded).unwrap();
        assert_eq!(total(&again), sums(&in_memory(&path).recoded(|rows| map.recode(map.recode(rows)))));
    }
}

#[test]
fn one_person_changes_what_no_other_adds() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = |i: usize| format!("q,{},v,{}\n", if i.is_multiple_of(2) { "1e300" } else { "-5" }, i % 2);
    let with = |rows: usize| {
        let lines = (0..1500).flat_map(|i| {
            let own = if i * rows / 1500 < (i + 1) * rows / 1500 { hostile(i) } else { String::new() };
            [line(i), own]
        });
        let path = write(folder.path(), lines);
        total(&streamed(&path, 40))
    };
    let path = write(folder.path(), (0..1500).map(hostile).take(1));
    let without = with(0);
    for rows in [1, 3, 40, 1500] {
        let mine: Vec<String> = (0..1500).filter(|i| i * rows / 1500 < (i + 1) * rows / 1500).map(hostile).collect();
        let all = with(rows);
        write(folder.path(), mine.into_iter());
        let alone = sums(&in_memory(&path));
        let rest: Vec<i128> = all.iter().zip(&alone).map(|(x, y)| x - y).collect();
        assert_eq!(rest, without, "{rows} rows");
    }
}

#[test]
fn a_person_with_more_rows_than_memory_keeps_those_that_count() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |i: usize| format!("giant,{}.{i},{},{}\n", i % 10, ["u", "v"][i % 2], i % 3 % 2);
    let path = write(folder.path(), (0..40_000).map(rows));
    let streamed = streamed(&path, 100);
    assert_eq!(streamed.persons(), 1);
    same(&streamed.read_all().unwrap(), &in_memory(&path));
}

/// Two texts of 16 bytes with one hash. XXH3 mixes each half with a constant and adds their product to their sum, the first half with its
/// bytes reversed; where a half meets its constant the product is nothing, and the two sums are the same.
#[test]
fn persons_whose_identifiers_have_one_hash_stay_apart() {
    let texts = [
        [0xb9, 0x39, 0x42, 0xea, 0x7b, 0x73, 0x82, 0x67, 0x42, 0x0b, 0xe7, 0x34, 0x59, 0x8c, 0x34, 0xd9],
        [0xcf, 0x5b, 0x72, 0x88, 0x46, 0x02, 0xdb, 0x1f, 0x3a, 0x52, 0x96, 0x09, 0x3b, 0xbc, 0x56, 0xaf],
    ];
    assert_eq!(xxh3_64(&texts[0]), xxh3_64(&texts[1]));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let mut file = b"id,x,c,y\n".to_vec();
    for i in 0..400 {
        file.extend(texts[i % 2]);
        file.extend(format!(",{}.{i},{},{}\np{i},1,u,0\n", i % 10, ["u", "v"][i % 3 % 2], i % 7 % 2).bytes());
    }
    fs::write(&path, file).unwrap();
    let whole = in_memory(&path);
    assert_eq!(whole.len(), 402);
    for segment_bytes in [1, 300, 1 << 20] {
        let streamed = streamed(&path, segment_bytes);
        assert_eq!(streamed.persons(), 402);
        assert_eq!(total(&streamed), sums(&whole));
        same(&streamed.read_all().unwrap(), &whole);
    }
}

#[test]
fn what_fails_ends_the_load_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), (0..3000).map(line));
    let nowhere = folder.path().join("nowhere");
    assert!(streamed_in(&path, &nowhere, 100).err().unwrap().to_string().contains("nowhere"));
    let file = CsvFile::open(&path).unwrap();
    let encoder = Encoder::new(&schema(), &file, true).unwrap();
    let limit = MemoryLimit::always_streaming(100);
    // While lines are read, and while persons are written.
    for after in [0, 5] {
        let heard = std::sync::atomic::AtomicUsize::new(0);
        let stop = |_| match heard.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            count if count >= after => Err(Error::refused("stopped", "go on")),
            _ => Ok(()),
        };
        let stopped = encoder.stream_persons(&file, folder.path(), limit, &stop).err().unwrap();
        assert!(stopped.to_string().contains("stopped"));
    }
    // Work that fails is asked no more, and rows alone are no persons.
    let streamed = streamed(&path, 100);
    let mut asked = 0;
    let failed = streamed.each_part(|_| {
        asked += 1;
        Err(Error::refused("enough", "go on"))
    });
    assert!(failed.is_err() && asked == 1);
    assert!(encoder.stream(&file, folder.path(), limit, &|_| Ok(())).is_err());
    let rows = schema_of("");
    assert!(
        Encoder::new(&rows, &file, true).unwrap().stream_persons(&file, folder.path(), limit, &|_| Ok(())).is_err()
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Loads through a cache, as a whole and part by part.
fn cached(folder: &Path, schema: &Schema, part_by_part: bool) -> (Persons, CacheUse) {
    let file = CsvFile::open(&folder.join("a.csv")).unwrap();
    let encoder = Encoder::new(schema, &file, true).unwrap();
    let cache = RowCache::new(&folder.join("a.rows"), false).unwrap();
    if part_by_part {
        let limit = MemoryLimit::always_streaming(1000);
        let (persons, _, used) = cache.stream_persons(schema, &file, &encoder, limit, &|_| Ok(())).unwrap();
        assert_eq!(total(&persons), sums(&persons.read_all().unwrap()));
        (persons.read_all().unwrap(), used)
    } else {
        let (persons, _, used) = cache.load_persons(schema, &file, &encoder, &|_| Ok(())).unwrap();
        (persons, used)
    }
}

#[test]
fn a_cache_of_persons_serves_both_ways_and_no_other_unit() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), (0..3000).map(line));
    let whole = in_memory(&path);
    for first in [false, true] {
        let _ = fs::remove_file(folder.path().join("a.rows"));
        for (part_by_part, expected) in [(first, CacheUse::Made), (!first, CacheUse::Used), (first, CacheUse::Used)] {
            let (persons, used) = cached(folder.path(), &schema(), part_by_part);
            assert_eq!(used, expected, "{first} {part_by_part}");
            same(&persons, &whole);
        }
    }
    // A damaged one is made anew.
    let cache = folder.path().join("a.rows");
    let mut bytes = fs::read(&cache).unwrap();
    bytes[200] ^= 1;
    fs::write(&cache, bytes).unwrap();
    let (persons, used) = cached(folder.path(), &schema(), true);
    assert!(matches!(used, CacheUse::Renewed(why) if why.contains("checksum")));
    same(&persons, &whole);
    // Other persons, another number of rows of theirs, or rows alone.
    for unit in [r#""unit":{"column":"c2"},"#, r#""unit":{"column":"id","max_rows":4},"#, r#""unit":{"column":"id"},"#]
    {
        let other = schema_of(&unit.replace("c2", "id2"));
        if unit.contains("c2") {
            let text = fs::read_to_string(&path).unwrap().replacen("id,", "id2,", 1);
            fs::write(&path, text).unwrap();
        } else {
            write(folder.path(), (0..3000).map(line));
        }
        let (persons, used) = cached(folder.path(), &other, false);
        assert!(matches!(used, CacheUse::Renewed(_)), "{unit} {used:?}");
        let most = persons.sizes().map(|(each, _)| each).max().unwrap();
        assert!(if unit.ends_with("4},") { most == 4 } else { most > 100 }, "{unit} {most}");
    }
    let file = CsvFile::open(&path).unwrap();
    let rows = schema_of("");
    let encoder = Encoder::new(&rows, &file, true).unwrap();
    let kept = RowCache::new(&cache, false).unwrap();
    let (_, _, used) = kept.load(&rows, &file, &encoder, &|_| Ok(())).unwrap();
    assert!(matches!(used, CacheUse::Renewed(_)), "{used:?}");
    let (persons, used) = cached(folder.path(), &schema(), true);
    assert!(matches!(used, CacheUse::Renewed(_)), "{used:?}");
    same(&persons, &whole);
}

#[test]
fn a_cache_of_persons_has_no_identifier() {
    let folder = tempfile::tempdir().unwrap();
    let marked = |i: usize| line(i).replace('p', "7f3a9c51e08d46b2");
    write(folder.path(), (0..300).map(marked));
    for part_by_part in [false, true] {
        cached(folder.path(), &schema(), part_by_part);
        let bytes = fs::read(folder.path().join("a.rows")).unwrap();
        assert!(memchr::memmem::find(&bytes, b"7f3a9c51e08d46b2").is_none());
        fs::remove_file(folder.path().join("a.rows")).unwrap();
    }
}

/// A forged cache may say that its persons begin anywhere: what is held of that follows from how many they are.
#[test]
fn persons_are_divided_wherever_a_file_says_that_they_begin() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), ["a,1,u,0\n", "b,2,v,1\n", "c,3,u,1\n", "c,4,u,0\n"].map(String::from).into_iter());
    let (whole, forged) = (in_memory(&path), folder.path().join("forged"));
    let divided = |firsts: [u64; 3]| {
        let file = fs::File::create(&forged).unwrap();
        let mut writer = SegmentWriter::of_persons(file, &forged, whole.shape(), whole.one(), 1000).unwrap();
        writer.append_persons(&whole, &firsts).unwrap();
        writer.finish(&()).unwrap();
        let reader = SegmentReader::open(&forged).unwrap();
        PersonStream::new(reader, folder.path(), MemoryLimit::always_streaming(1000)).unwrap().divided([1].into_iter())
    };
    let last = (1 << 36) - 1;
    for firsts in [[0, 1, 2], [last - 2, last - 1, last], [last, 7, 1 << 30]] {
        let mut order = [0, 1, 2];
        order.sort_unstable_by_key(|&person| firsts[person]);
        let (held, rest) = divided(firsts).unwrap();
        same(&held.read_all().unwrap(), &whole.subset(&[order[1]]));
        let others: Vec<i128> = sums(&whole).iter().zip(total(&held)).map(|(all, held)| all - held).collect();
        assert_eq!((total(&rest), rest.persons()), (others, 2), "{firsts:?}");
    }
    for firsts in [[7, 8, 7], [0, 1, last + 1], [0, 1, u64::MAX]] {
        let refused = divided(firsts).err().unwrap().to_string();
        assert!(refused.contains("two persons begin in one row, or one beyond all rows"), "{refused}");
    }
}
