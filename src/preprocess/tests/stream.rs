//! Rows that stay in a file: the same rows as in memory, part by part, and nothing left behind.

use std::fs;
use std::path::Path;

use crate::data::{CsvFile, Schema};
use crate::error::{Error, Fallible};
use crate::grid::MomentWeights;
use crate::kernel::{Rows, gram_sum, moment_sum};
use crate::preprocess::stream::Scratch;
use crate::preprocess::{
    Affine, Binner, Encoder, MemoryLimit, Recoding, RowCache, RowStream, Scores, Standardizer, Waves,
};

const SCHEMA: &str = r#"{"name":"a","task":"classification","target":"y","positive":"1","negative":"0",
    "columns":{"x":{"type":"numeric","lower":0,"upper":10},"c":{"type":"categorical","values":["u","v"]}}}"#;

/// A data file with its rows in memory and streamed from a file in the same folder.
fn trial(folder: &Path, rows: usize, segment_bytes: usize) -> (Rows, RowStream) {
    let path = folder.join("a.csv");
    // Lines of one byte stand for whole rows, too.
    let line =
        |i| if i % 5 == 3 { "\n".into() } else { format!("{}.5,{},{}\n", i % 10, ["u", "v", "w"][i % 3], i % 7 % 3) };
    fs::write(&path, format!("x,c,y\n{}", (0..rows).map(line).collect::<String>())).unwrap();
    let file = CsvFile::open(&path).unwrap();
    let encoder = Encoder::new(&Schema::parse(SCHEMA, Path::new("s")).unwrap(), &file, true).unwrap();
    let (whole, report) = encoder.encode(&file, &|_| Ok(())).unwrap();
    let limit = MemoryLimit::always_streaming(segment_bytes);
    let (streamed, again) = encoder.stream(&file, folder, limit, &|_| Ok(())).unwrap();
    assert_eq!(report, again);
    (whole, streamed)
}

/// Goes through all parts and compares them with the rows in memory.
#[track_caller]
fn compare(whole: &Rows, streamed: &RowStream) -> usize {
    let (mut next, mut parts) = (0, 0);
    let mut look = |part: &Rows| {
        let chosen: Vec<usize> = (next..next + part.len()).collect();
        assert!(part.same_as(&whole.subset(&chosen)), "rows from {next} on");
        next += part.len();
        parts += 1;
        Ok(())
    };
    streamed.each_part(&mut look).unwrap();
    assert_eq!(next, whole.len());
    parts
}

#[test]
fn parts_are_the_rows_in_their_order_every_time() {
    let folder = tempfile::tempdir().unwrap();
    for rows in [0, 1, 31, 32, 33, 5000, 120_000] {
        for segment_bytes in [1, 10_000, 1 << 20] {
            let (whole, streamed) = trial(folder.path(), rows, segment_bytes);
            assert_eq!(streamed.rows(), rows as u64);
            let parts = compare(&whole, &streamed);
            assert_eq!(compare(&whole, &streamed), parts);
            assert!(segment_bytes > 1 || parts == rows.div_ceil(32), "{parts} parts of {rows} rows");
            assert!(streamed.read_all().unwrap().same_as(&whole));
        }
    }
}

#[test]
fn streamed_rows_are_recoded_as_those_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let features = vec![Affine { centre: 0.2, scale: 0.4, limit: 2.0 }];
    let map = Standardizer { features, target: None, limit: 2.0 };
    for segment_bytes in [1, 10_000] {
        let (whole, streamed) = trial(folder.path(), 3000, segment_bytes);
        let recoded = map.recode_stream(streamed).unwrap();
        assert_eq!(recoded.one(), 16_383);
        // What stands in null rows is not kept, and nothing sees it.
        let weights =
            MomentWeights { count: 1, features: 1, squares: 1, label: 1, label_square: 1, shares: 0, sizes: 0 };
        let sums = |rows: &Rows| [moment_sum(rows, &weights), gram_sum(rows, 1 << 40, 100)].concat();
        let mut total = vec![0; sums(&whole).len()];
        let add = |part: &Rows| {
            total.iter_mut().zip(sums(part)).for_each(|(total, entry)| *total += entry);
            Ok(())
        };
        recoded.each_part(add).unwrap();
        assert!(total.iter().any(|&entry| entry != 0));
        assert_eq!(total, sums(&map.recode(whole)));
    }
}

/// In the file they are their intervals, and of these a block at a time has waves.
#[test]
fn streamed_rows_have_the_waves_of_those_in_memory_and_few_of_them_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let bins = Recoding::Binned(Binner::new(vec![vec![20_000, 40_000]], vec![2], None).unwrap());
    let scores = Scores { numeric: vec![vec![-8000, 0, 9000]], levels: vec![2] };
    let frequencies = (0..3).map(|a| (0..40).map(|k| 7_000_000 * (k + 3 * a) - 90_000_000).collect()).collect();
    let waves = Waves::new(scores, frequencies, (0..40).map(|k| 1600 * k).collect()).unwrap();
    let map = Recoding::Waves(waves.clone());
    for (segment_bytes, limit) in [(1, 32), (2_000, 128), (1 << 20, 12_000)] {
        let (whole, streamed) = trial(folder.path(), 12_000, segment_bytes);
        let whole = map.recode(bins.recode(whole));
        let streamed = map.recode_stream(bins.recode_stream(streamed).unwrap()).unwrap();
        assert_eq!((streamed.shape(), streamed.one(), streamed.rows()), (whole.shape(), whole.one(), 12_000));
        let weights =
            MomentWeights { count: 1, features: 1, squares: 1, label: 1, label_square: 1, shares: 0, sizes: 0 };
        let sums = |rows: &Rows| [moment_sum(rows, &weights), gram_sum(rows, 1 << 40, 100)].concat();
        let (mut total, mut met) = (vec![0; sums(&whole).len()], 0);
        let add = |part: &Rows| {
            assert!(part.len() <= limit, "{} rows at once", part.len());
            met += part.len();
            total.iter_mut().zip(sums(part)).for_each(|(total, entry)| *total += entry);
            Ok(())
        };
        streamed.each_part(add).unwrap();
        assert_eq!((met, &total), (12_000, &sums(&whole)));
        assert_eq!(sums(&streamed.read_all().unwrap()), total);
        assert!(map.recode_stream(streamed).is_err(), "they have waves");
    }
}

#[test]
fn work_that_fails_ends_the_reading_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (_, streamed) = trial(folder.path(), 5000, 1);
    for last in [1, 2, 5, 100] {
        let mut seen = 0;
        let stopped: Fallible<()> = streamed.each_part(|_| {
            seen += 1;
            if seen == last { Err(Error::refused("enough", "rest")) } else { Ok(()) }
        });
        assert!(stopped.is_err() && seen == last);
    }
}

#[cfg(unix)]
#[test]
fn temporary_rows_have_no_name_and_are_for_their_owner() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let scratch = Scratch::new(folder.path()).unwrap();
    let facts = scratch.file.metadata().unwrap();
    assert_eq!(facts.mode() & 0o7777, 0o600);
    assert_eq!(facts.nlink(), 0);
    let (_, _streamed) = trial(folder.path(), 5000, 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "only the data have a name");
    assert!(Scratch::new(&folder.path().join("missing")).is_err());
}

#[cfg(unix)]
#[test]
fn a_cache_that_is_streamed_is_for_its_owner_and_checked_before_it_is_used() {
    use crate::preprocess::CacheUse;
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let (whole, _) = trial(folder.path(), 5000, 1);
    let file = CsvFile::open(&folder.path().join("a.csv")).unwrap();
    let schema = Schema::parse(SCHEMA, Path::new("s")).unwrap();
    let encoder = Encoder::new(&schema, &file, true).unwrap();
    let path = folder.path().join("a.rows");
    let cache = RowCache::new(&path, false).unwrap();
    let stream = || {
        let limit = MemoryLimit::always_streaming(1000);
        let (rows, _, used) = cache.stream(&schema, &file, &encoder, limit, &|_| Ok(())).unwrap();
        compare(&whole, &rows);
        used
    };
    assert_eq!(stream(), CacheUse::Made);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(stream(), CacheUse::Used);
    // What one way of loading has written serves the other.
    let (rows, _, used) = cache.load(&schema, &file, &encoder, &|_| Ok(())).unwrap();
    assert!(rows.same_as(&whole) && used == CacheUse::Used);
    let mut bytes = fs::read(&path).unwrap();
    bytes[200] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert!(matches!(stream(), CacheUse::Renewed(why) if why.contains("checksum")));
    assert_eq!(stream(), CacheUse::Used);
}

#[test]
fn limits_are_refused_when_they_are_too_small_to_mean_anything() {
    assert!(MemoryLimit::new(999_999).is_err());
    assert_eq!(MemoryLimit::new(1_000_000).unwrap().bytes(), 1_000_000);
}
