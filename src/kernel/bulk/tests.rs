//! Tiles filled in place equal rows pushed one by one.

use super::*;
use crate::kernel::{RawRow, RowsBuilder};

fn raw(i: usize) -> RawRow {
    let (i, null) = (i as i16, i.is_multiple_of(7));
    RawRow { numeric: vec![300 * i, i16::MIN], codes: vec![i as u16 % 5], label: i, null }
}

/// These rows by the slow builder.
fn expected(count: usize) -> Rows {
    let shape = Shape::new(2, &[3]);
    let mut builder = RowsBuilder::new(shape.clone());
    for i in 0..count {
        builder.push(&if raw(i).null { RawRow::empty(&shape) } else { raw(i) });
    }
    builder.build()
}

fn put(tile: &mut TileMut<'_>, next: &mut usize) {
    for lane in 0..LANES {
        let row = raw(*next);
        // What stands in padding lanes and in null rows must not matter.
        tile.numeric[lane] = row.numeric[0];
        tile.numeric[LANES + lane] = row.numeric[1];
        tile.codes[lane] = row.codes[0];
        tile.labels[lane] = row.label;
        tile.present |= u32::from(!row.null) << lane;
        *next += usize::from(lane < tile.len);
    }
}

#[test]
fn filled_tiles_equal_pushed_rows() {
    for count in [0usize, 1, 31, 32, 33, 64, 100] {
        for reserved in [0, 1, 50] {
            let mut builder = BulkBuilder::new(Shape::new(2, &[3]));
            builder.reserve(reserved);
            let mut next = 0;
            for lens in [vec![count.min(32)], vec![count.saturating_sub(32).min(32), count.saturating_sub(64)]] {
                builder.grow(&lens).iter_mut().for_each(|tiles| tiles.fill(|tile| put(tile, &mut next)));
            }
            assert!(builder.build().same_as(&expected(count)), "{count} rows, {reserved} tiles reserved");
        }
    }
}

#[test]
fn tiles_survive_a_trip_through_bytes() {
    let rows = expected(100);
    let mut builder = BulkBuilder::new(rows.shape().clone());
    for tiles in [0..2, 2..4] {
        let len = rows.len().min(tiles.end * LANES) - tiles.start * LANES;
        let bytes = rows.tile_bytes(tiles);
        for room in &mut builder.grow(&[len]) {
            for (to, from) in room.bytes_mut().into_iter().zip(bytes.parts) {
                to.copy_from_slice(from);
            }
            room.seal(&bytes.present);
        }
    }
    assert!(builder.build().same_as(&rows));
}

#[test]
fn sealing_makes_any_bytes_legal_rows() {
    let mut builder = BulkBuilder::new(Shape::new(2, &[3]));
    for room in &mut builder.grow(&[40]) {
        room.bytes_mut()
            .into_iter()
            .for_each(|part| part.iter_mut().enumerate().for_each(|(i, b)| *b = i as u8 ^ 0x80));
        room.seal(&[u32::MAX; 2]);
    }
    let rows = builder.build();
    assert!(rows.numeric.iter().chain(&*rows.labels).all(|&q| q >= -FULL_SCALE));
    assert!(rows.codes.iter().all(|&code| code <= 3));
    assert!(rows.norms[40..].iter().all(|&norm| norm == 0));
    // Measured again by the other builder.
    let mut again = RowsBuilder::new(rows.shape().clone());
    for lane in 0..40 {
        let at = |column: usize, columns: usize| (lane / LANES * columns + column) * LANES + lane % LANES;
        let numeric = vec![rows.numeric[at(0, 2)], rows.numeric[at(1, 2)]];
        again.push(&RawRow { numeric, codes: vec![rows.codes[at(0, 1)]], label: rows.labels[lane], null: false });
    }
    assert!(again.build().same_as(&rows));
}

#[test]
fn unsealed_tiles_contribute_nothing() {
    let mut builder = BulkBuilder::new(Shape::new(2, &[3]));
    builder.grow(&[32])[0].bytes_mut()[0].fill(0x80);
    assert!(builder.build().norms.iter().all(|&norm| norm == 0));
}
