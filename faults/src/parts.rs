//! The parts of the trainer.

use std::io::Write;
use std::path::Path;

use rhograd::data::{CsvFile, Schema};
use rhograd::grid::FULL_SCALE;
use rhograd::kernel::{Caps, PersonClips, Persons, Rows, Step, clipped_person_sum, clipped_sum};
use rhograd::loss::{Logistic, Loss};
use rhograd::noise::{NoiseSource, integer_noise};
use rhograd::preprocess::{EncodedRows, Encoder};
use rhograd::privacy::{Adjacency, NoiseLaw};

use crate::invariants::neighbours::{HEADER, LABELS};
use crate::invariants::people::{MAX_ROWS, of_persons};

/// The clip in grid steps.
pub const BOUND: u64 = 1 << 27;

/// Noise has half the scale of the clip, so that its square is another number.
pub const LOG2_SCALE: u32 = 26;

/// Gradient steps.
pub const STEPS: usize = 3;

/// What the clip stands for: below most gradients, so that it matters.
pub const CLIP_NORM: f64 = 0.2;

/// The number of rows that the schema declares.
const DECLARED_ROWS: f64 = 60.0;

/// Sums the gradients at the given weights.
pub type Sums = Box<dyn Fn(&[f64]) -> Vec<i64>>;

/// The parts of a small trainer; each is rhograd's unless a fault replaces it.
pub trait Parts: Sync {
    /// The schema by which a file is read.
    fn schema(&self, _file: &[u8]) -> String {
        LABELS.into()
    }

    /// The rows of a file.
    fn rows(&self, file: &[u8]) -> Rows {
        encoded(file, &self.schema(file))
    }

    /// The sum of clipped gradients over the rows of a file.
    fn sums(&self, file: &[u8]) -> Sums {
        clipped(self.rows(file), BOUND, CLIP_NORM)
    }

    /// How far a sum is said to move between neighbours.
    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        adjacency.sum_sensitivity(BOUND)
    }

    /// Where the noise of a run comes from; a run that goes on is a run of its own.
    fn source(&self, run: u64) -> NoiseSource {
        NoiseSource::insecure_from_seed(run)
    }

    /// The noise of a release.
    fn noise(&self, source: &NoiseSource, release: u32, len: usize) -> Vec<i64> {
        drawn(source, release, len)
    }

    /// Where the noise comes from when a run goes on after so many releases, and the number of the next one.
    fn goes_on(&self, run: u64, made: u32) -> (NoiseSource, u32) {
        (self.source(run + 1), made)
    }

    /// What a step goes along, given the sum and what was released of it.
    fn direction(&self, _sum: &[i128], released: &[i128]) -> Vec<i128> {
        released.to_vec()
    }

    /// What a sum is divided by for a mean.
    fn divisor(&self, _rows: usize) -> f64 {
        DECLARED_ROWS
    }

    /// The step size.
    fn rate(&self, _rows: usize) -> f64 {
        1.0
    }

    /// Whether training ends before a step is made.
    fn stops(&self, _sum: &[i128]) -> bool {
        false
    }
}

/// The trainer without a fault.
#[derive(Clone, Copy, Debug)]
pub struct Honest;

impl Parts for Honest {}

/// The trainer without a fault whose unit is the person.
#[derive(Clone, Copy, Debug)]
pub struct HonestOfPersons;

impl Parts for HonestOfPersons {
    fn schema(&self, _file: &[u8]) -> String {
        of_persons(LABELS)
    }

    fn rows(&self, file: &[u8]) -> Rows {
        encoded_persons(file).0
    }

    fn sums(&self, file: &[u8]) -> Sums {
        let (rows, person_of) = encoded_persons(file);
        clipped_persons(rows, &person_of)
    }
}

/// The noise that every release should have.
pub fn drawn(source: &NoiseSource, release: u32, len: usize) -> Vec<i64> {
    integer_noise(NoiseLaw::FlooredNormal, LOG2_SCALE, len, source, release).expect("the scale is in range")
}

/// The rows of a file, by rhograd's encoder.
pub fn encoded(file: &[u8], schema: &str) -> Rows {
    read(file, schema).rows
}

/// The rows of a file and the number of each row's person, by rhograd's encoder.
pub fn encoded_persons(file: &[u8]) -> (Rows, Vec<u32>) {
    let EncodedRows { rows, persons, .. } = read(file, &of_persons(LABELS));
    (rows, persons.expect("a schema with a unit"))
}

fn read(file: &[u8], schema: &str) -> EncodedRows {
    let mut on_disk = tempfile::NamedTempFile::new().expect("a temporary file");
    on_disk.write_all(file).expect("room for a small file");
    let schema = Schema::parse(schema, Path::new("trial.schema.json")).expect("a schema");
    let table = CsvFile::open(on_disk.path()).expect("a table");
    let encoder = Encoder::new(&schema, &table, true).expect("the declared columns");
    encoder.encode_grouped(&table, &|_| Ok(())).expect("a readable file").0
}

/// Sums over persons of averaged logistic gradients, each average clipped as a whole, by rhograd's kernel.
pub fn clipped_persons(rows: Rows, person_of: &[u32]) -> Sums {
    let persons = Persons::gather(rows, person_of, MAX_ROWS as u32);
    let clips = PersonClips::new(&persons, None, BOUND);
    Box::new(move |weights| {
        let sum = clipped_person_sum(&persons, &clips, &step(weights, CLIP_NORM), |margin, label| {
            Logistic.slope(margin, label)
        });
        sum.into_iter().map(|entry| i64::try_from(entry).expect("a small sum")).collect()
    })
}

fn step(weights: &[f64], clip_norm: f64) -> Step<'_> {
    Step { weights, label_scale: 1.0, multiplier_scale: BOUND as f64 / (f64::from(FULL_SCALE) * clip_norm) }
}

/// Sums of logistic gradients clipped to `bound` grid steps, by rhograd's kernel; `clip_norm` is what [`BOUND`] stands for.
pub fn clipped(rows: Rows, bound: u64, clip_norm: f64) -> Sums {
    let caps = Caps::new(&rows, bound);
    Box::new(move |weights| {
        clipped_sum(&rows, &caps, &step(weights, clip_norm), |margin, label| Logistic.slope(margin, label))
    })
}

/// A file of one line for each line of a file.
pub fn lines_of(file: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    file.split(|&byte| byte == b'\n').skip(1).map(|line| [HEADER.as_bytes(), line, b"\n"].concat())
}
