//! Secret bits from answers to counting questions: found where the error is small, hidden as far as rho says where noise is paid for.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::accounting::belief;
use rhograd::error::{Error, Fallible};
use rhograd::noise::integer_noise;
use rhograd::plot::{Panel, Scale, Series};
use rhograd::privacy::NoiseLaw;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::fit::{self, PowerLaw, Summary};
use crate::progress::Progress;
use crate::results::{Results, cell};
use crate::setup::{Plant, Setup, noise, seed_of};
use crate::verdict::{Finding, Verdict};

/// The claim.
pub const CLAIM: &str = "n answers give 95% of n secret bits away while errors are below sqrt(n)/2; private ones as many as any attack finds (noise check)";

/// Bits, and as many questions.
const SIZES: [usize; 5] = [1 << 6, 1 << 8, 1 << 10, 1 << 12, 1 << 14];

/// Normal noise on all answers together: mu of the whole release.
const MUS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 3.0];

/// The share of bits that may come out wrong.
const WRONG: f64 = 0.05;

/// Scale of the integers that stand for normal noise, in bits.
const LOG2_SCALE: u32 = 40;

const SLACK: f64 = 0.05;

/// Sums with the signs of a Hadamard matrix, in place: entry `i` becomes the sum over `j` of `(-1)^popcount(i and j)` times entry `j`.
fn transform(values: &mut [f64]) {
    let mut half = 1;
    while half < values.len() {
        for block in values.chunks_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

/// What the attack makes of the answers to all questions "how many more of these people than of those have the bit?".
struct Attack {
    bits: Vec<bool>,
    answers: Vec<f64>,
}

impl Attack {
    fn new(size: usize, random: &mut ChaCha8Rng) -> Self {
        let bits: Vec<bool> = (0..size).map(|_| random.random()).collect();
        let mut answers: Vec<f64> = bits.iter().map(|&bit| f64::from(u8::from(bit))).collect();
        transform(&mut answers);
        Attack { bits, answers }
    }

    /// How far each bit is on the right side of a half, by least squares: the transform of the answers over their number.
    fn margins(&self, errors: &[f64]) -> Vec<f64> {
        let mut found: Vec<f64> = self.answers.iter().zip(errors).map(|(answer, error)| answer + error).collect();
        transform(&mut found);
        let size = self.bits.len() as f64;
        let side = |bit: bool| if bit { 1.0 } else { -1.0 };
        found.iter().zip(&self.bits).map(|(x, &bit)| side(bit) * (x / size - 0.5)).collect()
    }
}

/// The share that is not right.
fn wrong(margins: &[f64]) -> f64 {
    margins.iter().filter(|&&margin| margin <= 0.0).count() as f64 / margins.len() as f64
}

/// The largest error, uniform on either side, with which at most a share of [`WRONG`] of the bits come out wrong.
fn tolerated(size: usize, random: &mut ChaCha8Rng) -> f64 {
    let attack = Attack::new(size, random);
    let unit: Vec<f64> = (0..size).map(|_| random.random_range(-1.0..1.0)).collect();
    // A margin is a half, and falls by the error in proportion to its size.
    let mut falls: Vec<f64> = attack.margins(&unit).iter().map(|margin| 0.5 - margin).collect();
    falls.sort_by(f64::total_cmp);
    0.5 / falls[((1.0 - WRONG) * size as f64) as usize]
}

/// The share of bits that come out wrong with noise for a mu: one bit moves each answer by 1, and all of them by sqrt(n).
fn private(size: usize, mu: f64, seed: u64, plant: Option<Plant>) -> Fallible<f64> {
    let attack = Attack::new(size, &mut ChaCha8Rng::seed_from_u64(seed));
    let factor = if plant == Some(Plant::HalfNoise) { 0.5 } else { 1.0 };
    let scale = factor * (size as f64).sqrt() / mu * 2f64.powi(-(LOG2_SCALE as i32));
    let drawn = integer_noise(NoiseLaw::FlooredNormal, LOG2_SCALE, size, &noise(seed), 0)?;
    let errors: Vec<f64> = drawn.iter().map(|y| scale * *y as f64).collect();
    Ok(wrong(&attack.margins(&errors)))
}

/// Measures what is missing, and fits.
///
/// # Errors
/// When results cannot be written, and for a planted step size: there are no steps.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::WrongStep, "there are no steps here")?;
    let seeds: u64 = if setup.quick { 10 } else { 100 };
    let configuration = setup.configuration(&format!("wrong {WRONG}, noise and bits from the key"));
    let path = setup.file("results.csv");
    let mut results = Results::open(&path, &["part", "size", "mu", "seed"], &["value"], &configuration, setup.earlier)?;
    let largest = SIZES[SIZES.len() - 1];
    let progress = Progress::new("reconstruction", SIZES.len() + MUS.len());
    let mut measure = |part: &str, size: usize, mu: f64| -> Fallible<()> {
        progress.say(format!("{part}, {size} bits"));
        for seed in 0..seeds {
            let key = [part.to_owned(), size.to_string(), mu.to_string(), seed.to_string()];
            if !results.has(&key) {
                let seed = seed_of(&key);
                let value = match part {
                    "bounded" => tolerated(size, &mut ChaCha8Rng::seed_from_u64(seed)),
                    _ => private(size, mu, seed, setup.plant)?,
                };
                results.add(&key, &[cell(value)])?;
            }
        }
        progress.step();
        Ok(())
    };
    SIZES.iter().try_for_each(|&size| measure("bounded", size, 0.0))?;
    MUS.iter().try_for_each(|&mu| measure("private", largest, mu))?;
    setup.draw(&panels(&results)?)?;
    findings(&results).map(Verdict)
}

fn summary(results: &Results, part: &str, size: usize, mu: f64) -> Summary {
    let picked =
        |row: &crate::results::Row<'_>| row.text("part") == part && row.is("size", size as f64) && row.is("mu", mu);
    Summary::of(&results.column("value", picked))
}

/// The mu that a share of right bits shows: `2 Phi^-1(right)`.
fn shown(right: f64) -> Fallible<f64> {
    let normal = Normal::new(0.0, 1.0).map_err(|e| Error::numerical("reconstruction", e.to_string()))?;
    Ok(2.0 * normal.inverse_cdf(right))
}

/// Uniform errors have a variance of a third, and a bit is wrong where the mean of n of them exceeds a half.
fn tolerated_by_theory(size: usize) -> f64 {
    // The 95% quantile of a normal number.
    const QUANTILE: f64 = 1.644_853_626_951_472_7;
    0.5 * (3.0 * size as f64).sqrt() / QUANTILE
}

fn findings(results: &Results) -> Fallible<Vec<Finding>> {
    let largest = SIZES[SIZES.len() - 1];
    let means = SIZES.map(|size| (size as f64, summary(results, "bounded", size, 0.0)));
    let law = PowerLaw::fit(&means.map(|(size, found)| (size, found.mean)))?;
    let exact = wrong(&Attack::new(largest, &mut ChaCha8Rng::seed_from_u64(0)).margins(&vec![0.0; largest]));
    let mut found = vec![
        Finding::exact("bits that exact answers leave unknown", exact, (0.0, 0.0)),
        Finding::slope(
            "exponent of n of the error that leaves 95% of the bits known",
            &law,
            (0.5 - SLACK, 0.5 + SLACK),
        ),
    ];
    // With few bits the quantile is that of a handful of them.
    for (size, summary) in means.into_iter().filter(|(size, _)| *size >= 1000.0) {
        let theory = tolerated_by_theory(size as usize);
        let what = format!("that error at {size} bits, in units of the theory");
        found.push(Finding::new(
            what,
            summary.mean / theory,
            summary.half_width() / theory,
            (1.0 - SLACK, 1.0 + SLACK),
        ));
    }
    for mu in MUS {
        let missed = summary(results, "private", largest, mu);
        let right = 1.0 - missed.mean;
        let (value, low, high) =
            (shown(right)?, shown(right - missed.half_width())?, shown(right + missed.half_width())?);
        let what = format!("mu that the attack shows over the mu {mu} of the release");
        found.push(Finding::new(what, value / mu, (high - low) / 2.0 / mu, (1.0 - SLACK, 1.0 + SLACK)));
    }
    Ok(found)
}

/// The attack on answers with bounded errors.
const ATTACK: &str = "n questions, least squares";

fn panels(results: &Results) -> Fallible<Vec<Panel>> {
    let largest = SIZES[SIZES.len() - 1];
    let measured = |size: usize| {
        let found = summary(results, "bounded", size, 0.0);
        (size as f64, found.mean, found.half_width())
    };
    let theory = SIZES.map(|size| (size as f64, tolerated_by_theory(size)));
    let bounded =
        vec![Series::theory("theory", theory.to_vec()), Series::measured(ATTACK, SIZES.map(measured).to_vec())];
    let points = SIZES.map(measured).map(|(size, found, _)| (size, found));
    let bounded: Vec<Series> = bounded.into_iter().chain(fit::line(ATTACK, &points)).collect();
    let right = |mu: f64| {
        let found = summary(results, "private", largest, mu);
        (mu, 1.0 - found.mean, found.half_width())
    };
    let grid: Vec<f64> = (1..=32).map(|i| f64::from(i) / 10.0).collect();
    let most =
        grid.iter().map(|&mu| Ok((mu, belief::gaussian_right_at_most(mu, 0.5)?))).collect::<Fallible<Vec<_>>>()?;
    let private = vec![
        Series::theory("any attack, all other bits known", most),
        Series::measured("least squares, no bit known", MUS.map(right).to_vec()),
    ];
    Ok(vec![
        Panel::of("answers with bounded errors: the largest harmless one", bounded)
            .x("n (bits, and questions)", Scale::Log)
            .y("error, 95% of bits known", Scale::Log),
        Panel::of(format!("{largest} private answers"), private)
            .x("mu of the release", Scale::Linear)
            .y("share of bits found", Scale::Linear),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rhograd::num::special::normal_tail;

    #[test]
    fn the_transform_is_that_of_its_signs_and_undoes_itself() {
        let mut values = vec![1.0, 2.0, -3.0, 5.0];
        transform(&mut values);
        assert_eq!(values, [5.0, -9.0, 1.0, 7.0]);
        transform(&mut values);
        assert_eq!(values, [4.0, 8.0, -12.0, 20.0]);
    }

    #[test]
    fn a_bit_is_hidden_as_well_as_theory_says() {
        for mu in MUS {
            let most = belief::gaussian_right_at_most(mu, 0.5).unwrap();
            assert!((most - (1.0 - normal_tail(mu / 2.0))).abs() < 1e-12);
            assert!((shown(most).unwrap() - mu).abs() < 1e-6);
        }
    }
}
