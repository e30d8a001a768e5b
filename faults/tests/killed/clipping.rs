//! Faults of the clip and the sum.

use rhograd::privacy::Adjacency;
use rhograd_faults::invariants::neighbours::Table;
use rhograd_faults::{BOUND, CLIP_NORM, Honest, Parts, Sums, clipped, encoded, lines_of, replays};

use super::{MOVES, pair_finds, replay_finds};

/// Rows contribute what rhograd clips to another bound than the one that is paid for.
struct ClippedTo(u64);

impl Parts for ClippedTo {
    fn sums(&self, file: &[u8]) -> Sums {
        clipped(self.rows(file), self.0, CLIP_NORM)
    }
}

#[test]
fn fault_10_no_clip() {
    replay_finds(&ClippedTo(u64::MAX), MOVES);
}

#[test]
fn fault_14_a_quarter_more_than_the_clip() {
    replay_finds(&ClippedTo(BOUND / 4 * 5), MOVES);
}

/// Sums over some lines at a time are cut to the clip, by the norm of all coordinates but the last few.
struct CutTogether {
    lines: usize,
    left_out: usize,
}

impl Parts for CutTogether {
    fn sums(&self, file: &[u8]) -> Sums {
        let (lines, left_out) = (self.lines, self.left_out);
        let each: Vec<Sums> = lines_of(file).map(|line| clipped(self.rows(&line), u64::MAX, CLIP_NORM)).collect();
        Box::new(move |weights| {
            let vectors: Vec<Vec<i64>> = each.iter().map(|sums| sums(weights)).collect();
            let parts = vectors.chunks(lines).map(|chunk| {
                let sum = added(chunk, weights.len());
                let norm = sum.iter().take(weights.len() - left_out).map(|&v| (v as f64).powi(2)).sum::<f64>().sqrt();
                let factor = (BOUND as f64 / norm).min(1.0);
                sum.iter().map(|&v| (v as f64 * factor) as i64).collect::<Vec<i64>>()
            });
            added(&parts.collect::<Vec<_>>(), weights.len())
        })
    }
}

fn added(vectors: &[Vec<i64>], len: usize) -> Vec<i64> {
    (0..len).map(|j| vectors.iter().map(|vector| vector[j]).sum()).collect()
}

#[test]
fn fault_11_chunks_are_clipped_and_not_rows() {
    replays(&CutTogether { lines: 1, left_out: 0 }).unwrap();
    replay_finds(&CutTogether { lines: 8, left_out: 0 }, MOVES);
}

#[test]
fn fault_12_the_intercept_is_not_part_of_the_norm() {
    replays(&CutTogether { lines: 1, left_out: 0 }).unwrap();
    replay_finds(&CutTogether { lines: 1, left_out: 1 }, MOVES);
}

/// A float clip of a hinge gradient, with this factor for a row whose norm is not a number.
struct FloatClip {
    without_norm: f64,
}

impl Parts for FloatClip {
    fn sums(&self, file: &[u8]) -> Sums {
        let without_norm = self.without_norm;
        let rows: Vec<([f64; 6], f64)> = lines_of(file).filter_map(|line| floats(&line)).collect();
        Box::new(move |weights| {
            let each = rows.iter().map(|(x, y)| {
                let margin: f64 = x.iter().zip(weights).map(|(x, w)| x * w).sum();
                // A comparison with what is not a number is false.
                let slope = if margin * y >= 1.0 { 0.0 } else { -y };
                let norm = x.iter().map(|x| (slope * x).powi(2)).sum::<f64>().sqrt();
                let factor = if norm.is_nan() { without_norm } else { (CLIP_NORM / norm).min(1.0) };
                x.iter().map(|x| (x * slope * factor * (BOUND as f64 / CLIP_NORM)) as i64).collect::<Vec<i64>>()
            });
            added(&each.collect::<Vec<_>>(), weights.len())
        })
    }
}

/// The features and the sign of the label on the last line of a file; what is not a number stays so.
fn floats(file: &[u8]) -> Option<([f64; 6], f64)> {
    let text = std::str::from_utf8(file).ok()?;
    let cells: Vec<&str> = text.lines().nth(1)?.split(',').collect();
    let [x, z, c, y] = cells[..] else { return None };
    let sign = if y == "yes" {
        1.0
    } else if y == "no" {
        -1.0
    } else {
        return None;
    };
    let number = |cell: &str| cell.parse::<f64>().unwrap_or(0.0).clamp(-10.0, 10.0);
    let is = |value: &str| f64::from(u8::from(c == value));
    Some(([number(x) / 5.0 - 1.0, number(z), is("u"), is("v"), is("w"), 1.0], sign))
}

#[test]
fn fault_13_what_is_not_a_number_passes_the_clip() {
    replays(&FloatClip { without_norm: 0.0 }).unwrap();
    replay_finds(&FloatClip { without_norm: 1.0 }, MOVES);
}

/// A replaced row is taken for an added one.
struct ReplacedIsAdded;

impl Parts for ReplacedIsAdded {
    fn sensitivity(&self, _: Adjacency) -> u64 {
        BOUND
    }
}

#[test]
fn fault_15_a_replaced_row_is_charged_as_an_added_one() {
    replay_finds(&ReplacedIsAdded, MOVES);
}

/// Some lines are left out, or come twice.
struct Chosen(fn(usize, usize) -> usize);

impl Parts for Chosen {
    fn sums(&self, file: &[u8]) -> Sums {
        let lines: Vec<&[u8]> = file.split(|&byte| byte == b'\n').collect();
        // Header first, and nothing behind the last line end.
        let rows = lines.len() - 2;
        let times = |index: usize| if (1..=rows).contains(&index) { (self.0)(index - 1, rows) } else { 1 };
        let chosen = lines.iter().enumerate().flat_map(|(index, line)| vec![*line; times(index)]);
        clipped(self.rows(&chosen.collect::<Vec<_>>().join(&b'\n')), BOUND, CLIP_NORM)
    }
}

#[test]
fn fault_17_the_last_chunk_is_dropped() {
    replays(&Chosen(|_, _| 1)).unwrap();
    replay_finds(&Chosen(|row, rows| usize::from(row < rows / 32 * 32)), MOVES);
}

#[test]
fn fault_18_a_row_is_counted_twice() {
    replay_finds(&Chosen(|row, _| if row % 16 == 15 { 2 } else { 1 }), MOVES);
}

/// Sums are kept in 32 bits.
struct Narrow;

impl Parts for Narrow {
    fn sums(&self, file: &[u8]) -> Sums {
        let wide = Honest.sums(file);
        Box::new(move |weights| wide(weights).into_iter().map(|sum| i64::from(sum as i32)).collect())
    }
}

#[test]
fn fault_28_sums_wrap_in_32_bits() {
    // 32 rows that pull as hard as they can fit 32 bits, and 33 do not.
    let rows = |count| Table::of("10,1,u,yes", count);
    pair_finds(&Narrow, [rows(32), rows(33)], MOVES);
}

/// The margin of every other row is a little off, as if it were summed in another order.
struct ByPlace(f64);

impl Parts for ByPlace {
    fn sums(&self, file: &[u8]) -> Sums {
        let odd = self.0;
        let each: Vec<Sums> = lines_of(file).map(|line| wide(&line)).collect();
        Box::new(move |weights| {
            let off: Vec<f64> = weights.iter().map(|w| w * odd).collect();
            let at = |(index, sums): (usize, &Sums)| sums(if index % 2 == 0 { weights } else { &off });
            added(&each.iter().enumerate().map(at).collect::<Vec<_>>(), weights.len())
        })
    }
}

/// Sums with a clip that few rows reach.
fn wide(file: &[u8]) -> Sums {
    clipped(encoded(file, &Honest.schema(file)), BOUND, 4.0)
}

/// The trainer without a fault, and with that clip.
struct Wide;

impl Parts for Wide {
    fn sums(&self, file: &[u8]) -> Sums {
        wide(file)
    }
}

/// Rows in another order, and moved by an empty line in front, have the same sum.
fn has_no_order(parts: &dyn Parts) -> Result<(), String> {
    let weights = [0.3, -0.7, 0.2, 0.9, -0.4, 0.1];
    let lines = ["1,0.3,u,yes", "9.5,-0.25,v,no", "4,0.75,w,no", "2.5,0.5,never seen,yes", "7,-1,u,no"];
    let table = |lines: &[&str]| lines.iter().fold(Table::of("", 0), |table, line| table.and(Table::of(line, 1)));
    let backwards: Vec<&str> = lines.iter().rev().copied().chain([""]).collect();
    let moved = [&[""], &lines[..]].concat();
    let sums = [&lines[..], &backwards, &moved].map(|lines| parts.sums(&table(lines).bytes())(&weights));
    if sums.iter().all(|sum| *sum == sums[0]) { Ok(()) } else { Err(format!("{sums:?}")) }
}

#[test]
fn fault_31_a_row_counts_by_its_place() {
    has_no_order(&Honest).unwrap();
    has_no_order(&Wide).unwrap();
    has_no_order(&ByPlace(1.0)).unwrap();
    assert!(has_no_order(&ByPlace(1.01)).is_err());
}
