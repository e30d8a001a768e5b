//! Rows in segments: whole, one by one, and damaged in every way.

use std::path::Path;

use crate::grid::Shape;
use crate::kernel::{LANES, RawRow, Rows, RowsBuilder};
use crate::preprocess::{SegmentReader, SegmentWriter};

/// Wide rows, so that a few of them fill a segment of a megabyte.
fn rows(count: usize) -> Rows {
    let shape = Shape::new(2000, &[3, 9]);
    let mut builder = RowsBuilder::new(shape.clone());
    let mut row = RawRow::empty(&shape);
    for i in 0..count {
        row.numeric.iter_mut().enumerate().for_each(|(j, q)| *q = (i * 31 + j * 17) as i16);
        row.codes = vec![(i % 5) as u16, (i % 11) as u16];
        (row.label, row.null) = ((i % 2) as i16, i % 13 == 5);
        // The kernel wipes null rows only when it seals them, so they are empty from the start here.
        builder.push(&if row.null { RawRow::empty(&shape) } else { row.clone() });
    }
    builder.build()
}

fn write(path: &Path, parts: &[&Rows]) -> usize {
    let out = std::fs::File::create(path).unwrap();
    let mut writer = SegmentWriter::new(out, path, parts[0].shape()).unwrap();
    parts.iter().for_each(|part| writer.append(part).unwrap());
    let size = writer.rows_per_segment();
    writer.finish(&"a note").unwrap();
    size
}

#[test]
fn rows_come_back_whole_and_by_segment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rows");
    for count in [0, 1, 31, 32, 255, 256, 257, 700] {
        let all = rows(count);
        let size = write(&path, &[&all]);
        assert_eq!(size % LANES, 0);
        let reader = SegmentReader::open(&path).unwrap();
        assert_eq!((reader.rows(), reader.segments()), (count as u64, count.div_ceil(size)));
        assert_eq!(reader.note::<String>().unwrap(), "a note");
        assert!(reader.read_all().unwrap().same_as(&all));
        for segment in 0..reader.segments() {
            let chosen: Vec<usize> = (segment * size..((segment + 1) * size).min(count)).collect();
            assert!(reader.read(segment).unwrap().same_as(&all.subset(&chosen)), "segment {segment} of {count}");
        }
        assert!(reader.read(reader.segments()).is_err());
    }
}

#[test]
fn parts_are_appended_as_whole_segments_only() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let all = rows(700);
    let size = write(&whole, &[&all]);
    let part = |range: std::ops::Range<usize>| all.subset(&range.collect::<Vec<_>>());
    write(&parts, &[&part(0..size), &part(size..700)]);
    assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&parts).unwrap());
    let mut writer = SegmentWriter::new(Vec::new(), &parts, all.shape()).unwrap();
    writer.append(&part(0..10)).unwrap();
    assert!(writer.append(&part(10..20)).is_err());
    assert!(SegmentWriter::new(Vec::new(), &parts, &Shape::new(1, &[])).unwrap().append(&all).is_err());
}

#[test]
fn no_damage_goes_unnoticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rows");
    write(&path, &[&rows(300)]);
    let good = std::fs::read(&path).unwrap();
    let usable = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        SegmentReader::open(&path).and_then(|reader| reader.read_all()).is_ok()
    };
    assert!(usable(&good));
    let last = good.len() - 1;
    // All of the start, footer and end, and places all over the segments.
    let places = (0..64).chain(last - 600..=last).chain((64..last).step_by(9973));
    for place in places {
        let mut bad = good.clone();
        bad[place] ^= 1 << (place % 8);
        assert!(!usable(&bad), "a flipped bit in byte {place}");
    }
    for size in [0, 1, 15, 16, 63, 64, 95, 96, 1000, good.len() / 2, last - 16, last] {
        assert!(!usable(&good[..size]), "the first {size} bytes");
        assert!(!usable(&good[good.len() - size..]), "the last {size} bytes");
    }
    assert!(!usable(&[&good[..], b"\0"].concat()));
    assert!(!usable(&[&good[..], &good[..]].concat()));
    assert!(!usable(&vec![0; good.len()]));
}
