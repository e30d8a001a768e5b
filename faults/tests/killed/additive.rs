//! Faults of additive effects: counts of every level of a tree, a covariance, and sums through tables of coordinates.

use ndarray::Array2;
use rhograd::grid::{DIAGONAL, FEATURE_TREE, GRAM_MULTIPLIER, IntegerMap, each_entry};
use rhograd::kernel::{
    Caps, PersonClips, Persons, Rows, Step, clipped_person_sum, clipped_sum, gram_sum, marginal_counts,
};
use rhograd::loss::{Logistic, Loss};
use rhograd::preprocess::Binner;
use rhograd::privacy::Adjacency;
use rhograd::private::DescribeQuery;
use rhograd::private::query::{Gram, Marginals};
use rhograd_faults::invariants::people::MAX_ROWS;
use rhograd_faults::{Parts, Sums, encoded_persons, replays, replays_of_persons};

use super::MOVES;

/// The replay on neighbours of every kind passes one trainer and finds the fault of the other.
#[track_caller]
fn replay_finds(honest: &dyn Parts, fault: &dyn Parts) {
    let used = replays(honest).unwrap();
    assert!(used > 0.98, "{used}");
    let found = replays(fault).unwrap_err();
    assert!(found.contains(MOVES), "{found}");
}

fn integers(values: impl IntoIterator<Item = i128>) -> Vec<i64> {
    values.into_iter().map(|value| i64::try_from(value).expect("a small sum")).collect()
}

/// Counts of all columns by the intervals of every level, as rhograd releases them.
struct Counted {
    /// Whether the coarsest level comes once more.
    twice: bool,
}

const COUNTS: Marginals = Marginals { numeric: 2, categorical: 1, target: false, step: 1 << 20 };

impl Parts for Counted {
    fn sums(&self, file: &[u8]) -> Sums {
        let counts = marginal_counts(&self.rows(file), COUNTS.target);
        let counts: Vec<i128> = counts.into_iter().map(i128::from).collect();
        let (features, categories) = counts.split_at(COUNTS.numeric * FEATURE_TREE.cells());
        let step = i128::from(COUNTS.step);
        let mut values: Vec<i128> = categories.iter().map(|count| count * step).collect();
        for cells in features.chunks_exact(FEATURE_TREE.cells()) {
            let levels = FEATURE_TREE.sums(cells);
            let coarsest = if self.twice { &levels[..4] } else { &[] };
            values.extend(levels.iter().chain(coarsest).map(|count| count * step * i128::from(Marginals::FEATURE)));
        }
        let sums = integers(values);
        Box::new(move |_| sums.clone())
    }

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        COUNTS.sensitivity(adjacency)
    }
}

#[test]
fn fault_42_a_level_is_counted_twice() {
    replay_finds(&Counted { twice: false }, &Counted { twice: true });
}

/// A clipped covariance as a weighted upper triangle.
#[derive(Clone, Copy)]
struct Covariance {
    /// Whether a replaced row is taken to move it as far as a row more.
    replaced_is_added: bool,
    /// Whether an entry beside the diagonal, which stands for two, counts twice and not the root of two times.
    twice: bool,
}

/// Every row is longer.
const CLIP: Gram = Gram { clip_steps: GRAM_MULTIPLIER << 20 };

impl Parts for Covariance {
    fn sums(&self, file: &[u8]) -> Sums {
        let rows = self.rows(file);
        let mut values = gram_sum(&rows, CLIP.clip_steps, GRAM_MULTIPLIER);
        if self.twice {
            each_entry(rows.shape().dimension(), |index, row, column| {
                if row != column {
                    values[index] = values[index] / 140 * 2 * DIAGONAL as i128;
                }
            });
        }
        let sums = integers(values);
        Box::new(move |_| sums.clone())
    }

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        CLIP.sensitivity(if self.replaced_is_added { Adjacency::AddRemove } else { adjacency })
    }
}

#[test]
fn fault_43_the_root_of_two_of_a_covariance_is_dropped() {
    let honest = Covariance { replaced_is_added: false, twice: false };
    replay_finds(&honest, &Covariance { replaced_is_added: true, ..honest });
    replay_finds(&honest, &Covariance { twice: true, ..honest });
}

/// Clipped sums through tables of coordinates for intervals and values.
struct Tabled {
    /// Whether tables are rounded to whole numbers once norms were taken.
    rounded_late: bool,
}

/// The clip in grid steps of these tables.
const WIDE_BOUND: u64 = 1 << 36;

/// Rows cut into intervals.
fn cut(rows: &Rows) -> Rows {
    let starts = vec![vec![16_000, 33_000, 50_000], vec![20_000, 45_000]];
    Binner::new(starts, vec![3], None).expect("ascending").recode(rows)
}

fn tables() -> Vec<Array2<f64>> {
    let entry = |(row, column): (usize, usize)| 1.5 + ((row + column) % 3) as f64 / 16.0;
    [4, 3, 3].map(|rows| Array2::from_shape_fn((rows, 2), entry)).to_vec()
}

impl Parts for Tabled {
    fn sums(&self, file: &[u8]) -> Sums {
        let rows = cut(&self.rows(file));
        let exact = IntegerMap::of_tables(tables(), 10).expect("small entries");
        let coarse = tables().into_iter().map(|table| table.mapv_into(f64::round)).collect();
        let coarse = IntegerMap::of_tables(coarse, 10).expect("small entries");
        let caps = Caps::through(&exact, &rows, WIDE_BOUND);
        let map = if self.rounded_late { coarse } else { exact };
        Box::new(move |_| {
            let step = Step { weights: &vec![0.0; rows.shape().dimension()], label_scale: 1.0, multiplier_scale: 1e5 };
            integers(map.image(&clipped_sum(&rows, &caps, &step, |margin, label| Logistic.slope(margin, label))))
        })
    }

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        adjacency.sum_sensitivity(WIDE_BOUND)
    }
}

#[test]
fn fault_44_a_table_is_rounded_after_its_norm_was_taken() {
    replay_finds(&Tabled { rounded_late: false }, &Tabled { rounded_late: true });
}

/// Such sums where the person is the unit.
struct OfPersons {
    /// Whether each row is clipped, and not the person.
    by_rows: bool,
}

impl Parts for OfPersons {
    fn rows(&self, file: &[u8]) -> Rows {
        encoded_persons(file).0
    }

    fn sums(&self, file: &[u8]) -> Sums {
        let (rows, mut person_of) = encoded_persons(file);
        if self.by_rows {
            person_of.iter_mut().zip(0..).for_each(|(person, row)| *person = row);
        }
        let persons = Persons::gather(cut(&rows), &person_of, MAX_ROWS as u32);
        let map = IntegerMap::of_tables(tables(), 10).expect("small entries");
        let clips = PersonClips::new(&persons, Some(&map), WIDE_BOUND);
        Box::new(move |_| {
            let weights = vec![0.0; persons.shape().dimension()];
            let step = Step { weights: &weights, label_scale: 1.0, multiplier_scale: 1e5 };
            integers(clipped_person_sum(&persons, &clips, &step, |margin, label| Logistic.slope(margin, label)))
        })
    }

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        adjacency.sum_sensitivity(WIDE_BOUND)
    }
}

#[test]
fn fault_45_rows_are_clipped_through_tables_and_not_persons() {
    let used = replays_of_persons(&OfPersons { by_rows: false }).unwrap();
    assert!(used > 0.98, "{used}");
    let found = replays_of_persons(&OfPersons { by_rows: true }).unwrap_err();
    assert!(found.contains(MOVES), "{found}");
}
