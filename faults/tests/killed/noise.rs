//! Faults of the noise.
//!
//! Power: the smallest fault here, noise of 0.95 of its scale, lowers a sum of 20,000 squares by 1,950, which is 5.4 of its
//! deviations below the limit of the check (`3e-8` of missing it).

use rhograd::noise::{Allocation, NoiseSource};
use rhograd_faults::invariants::coordinates::covered;
use rhograd_faults::invariants::noise::{every_coordinate_has_noise, has_scale, nothing_repeats};
use rhograd_faults::{BOUND, Honest, LOG2_SCALE, Parts, drawn, replays};

const LEN: usize = 1000;
const RELEASES: u32 = 20;

/// The noise of some releases of a run.
fn of(parts: &dyn Parts, source: &NoiseSource, releases: std::ops::Range<u32>) -> Vec<Vec<i128>> {
    let one = |release| parts.noise(source, release, LEN).into_iter().map(i128::from).collect();
    releases.map(one).collect()
}

fn scale() -> f64 {
    2f64.powi(LOG2_SCALE as i32)
}

/// Noise of the paid scale over all numbers and in every coordinate.
fn fits(parts: &dyn Parts) -> Result<(), String> {
    let releases = of(parts, &parts.source(3), 0..RELEASES);
    every_coordinate_has_noise(&releases, scale())?;
    has_scale(releases.into_iter().flatten(), scale())
}

/// Noise that is new in every place, release, run and continuation.
fn is_new(parts: &dyn Parts) -> Result<(), String> {
    let mut lists = of(parts, &parts.source(10), 0..4);
    lists.extend(of(parts, &parts.source(20), 0..4));
    let (source, next) = parts.goes_on(10, 4);
    lists.extend(of(parts, &source, next..next + 4));
    nothing_repeats(&lists)
}

#[track_caller]
fn scale_finds(fault: &dyn Parts, reason: &str) {
    fits(&Honest).unwrap();
    let found = fits(fault).unwrap_err();
    assert!(found.contains(reason), "{found}");
}

#[track_caller]
fn repetition_finds(fault: &dyn Parts, list: usize) {
    is_new(&Honest).unwrap();
    assert_eq!(is_new(fault), Err(format!("list {list} repeats noise")));
}

/// Noise times a factor.
pub struct Scaled(pub f64);

impl Parts for Scaled {
    fn noise(&self, source: &NoiseSource, release: u32, len: usize) -> Vec<i64> {
        drawn(source, release, len).into_iter().map(|y| (y as f64 * self.0).floor() as i64).collect()
    }
}

#[test]
fn fault_1_noise_of_four_fifths_of_its_scale() {
    scale_finds(&Scaled(0.8), "of its scale");
}

#[test]
fn fault_2_noise_of_nineteen_twentieths_of_its_scale() {
    scale_finds(&Scaled(0.95), "of its scale");
}

#[test]
fn fault_3_the_variance_is_taken_for_the_deviation() {
    let multiplier = scale() / BOUND as f64;
    assert_eq!(multiplier, 0.5);
    scale_finds(&Scaled(multiplier), "of its scale");
}

/// The last coordinate is left as it is.
struct LastIsBare;

impl Parts for LastIsBare {
    fn noise(&self, source: &NoiseSource, release: u32, len: usize) -> Vec<i64> {
        let mut noise = drawn(source, release, len);
        noise[len - 1] = 0;
        noise
    }
}

#[test]
fn fault_4_the_last_coordinate_has_no_noise() {
    scale_finds(&LastIsBare, "coordinate 999 has too little noise");
}

/// One draw serves all steps.
struct SameEachStep;

impl Parts for SameEachStep {
    fn noise(&self, source: &NoiseSource, _: u32, len: usize) -> Vec<i64> {
        drawn(source, 0, len)
    }
}

#[test]
fn fault_5_noise_is_used_again_in_each_step() {
    repetition_finds(&SameEachStep, 1);
}

/// Two threads draw from equal streams.
struct SameEachThread;

impl Parts for SameEachThread {
    fn noise(&self, source: &NoiseSource, release: u32, len: usize) -> Vec<i64> {
        drawn(source, release, len / 2).repeat(2)
    }
}

#[test]
fn fault_6_threads_have_equal_streams() {
    repetition_finds(&SameEachThread, 0);
}

/// Every run has the same key.
struct FixedSeed;

impl Parts for FixedSeed {
    fn source(&self, _: u64) -> NoiseSource {
        NoiseSource::insecure_from_seed(0)
    }
}

#[test]
fn fault_7_every_run_has_the_same_seed() {
    repetition_finds(&FixedSeed, 4);
}

/// A run that goes on begins its stream anew.
struct Rewound;

impl Parts for Rewound {
    fn goes_on(&self, run: u64, _: u32) -> (NoiseSource, u32) {
        (self.source(run), 0)
    }
}

#[test]
fn fault_8_a_run_that_goes_on_repeats_its_stream() {
    repetition_finds(&Rewound, 8);
}

/// The first coordinate, where a count stands, is left as it is.
struct FirstIsBare;

impl Parts for FirstIsBare {
    fn noise(&self, source: &NoiseSource, release: u32, len: usize) -> Vec<i64> {
        let mut noise = drawn(source, release, len);
        noise[0] = 0;
        noise
    }
}

/// What is left of a release of zeros under two keys, once the noise that was paid for is taken off.
fn left(parts: &dyn Parts, key: u64) -> Vec<i128> {
    let source = parts.source(key);
    let (made, paid) = (parts.noise(&source, 0, LEN), drawn(&source, 0, LEN));
    made.into_iter().zip(paid).map(|(made, paid)| i128::from(made) - i128::from(paid)).collect()
}

fn is_covered(parts: &dyn Parts) -> Result<(), String> {
    covered(&left(parts, 3), &left(parts, 4))
}

#[test]
fn fault_35_the_first_coordinate_has_no_noise() {
    is_covered(&Honest).unwrap();
    assert_eq!(is_covered(&FirstIsBare), Err("coordinate 0 has not its noise".into()));
    assert_eq!(is_covered(&LastIsBare), Err("coordinate 999 has not its noise".into()));
    assert!(is_covered(&Scaled(0.99)).is_err());
    // Neighbours alone do not tell.
    replays(&FirstIsBare).unwrap();
}

/// A trainer's way to find the rows of a step of a pass of eight, from its source and the numbers of the step and of the first of its pass.
type Drawn<'a> = &'a dyn Fn(&NoiseSource, u32, u32) -> Vec<usize>;

/// Every row joins one step of each pass.
fn rows_join_one_step(drawn: Drawn<'_>) -> Result<(), String> {
    let source = NoiseSource::insecure_from_seed(63);
    for pass in 0..3 {
        let mut joined = vec![0u32; LEN];
        (0..8).for_each(|step| drawn(&source, 8 * pass + step, 8 * pass).into_iter().for_each(|row| joined[row] += 1));
        if let Some(row) = joined.iter().position(|steps| *steps != 1) {
            return Err(format!("a row joins {} steps of a pass", joined[row]));
        }
    }
    Ok(())
}

#[test]
fn fault_63_rows_draw_anew_for_each_step_of_a_pass() {
    let step = |step: u32, first: u32| step - first;
    rows_join_one_step(&|source, release, first| {
        Allocation::new(8, LEN, source, first).step(step(release, first)).to_vec()
    })
    .unwrap();
    let anew = rows_join_one_step(&|source, release, first| {
        Allocation::new(8, LEN, source, release).step(step(release, first)).to_vec()
    });
    assert!(anew.unwrap_err().starts_with("a row joins"));
}
