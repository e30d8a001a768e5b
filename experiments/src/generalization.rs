//! An analyst who chooses by the data and then reports how well the choice does on the same data.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::accounting::generalization;
use rhograd::error::Fallible;
use rhograd::noise::integer_noise;
use rhograd::num::special::normal_tail;
use rhograd::plot::{Panel, Scale, Series};
use rhograd::privacy::NoiseLaw;

use crate::fit::{Summary, share_interval};
use crate::progress::Progress;
use crate::results::{Results, Row, cell};
use crate::setup::{Plant, Setup, noise, seed_of};
use crate::verdict::{Finding, Verdict};

/// The claim.
pub const CLAIM: &str = "a rule made of useless columns seems to predict; made of private correlations it does by half of what privacy allows (noise check)";

/// Rows, each with a label and columns that are fair coins.
const ROWS: usize = 200;

const COLUMNS: [usize; 6] = [10, 50, 200, 1_000, 5_000, 20_000];
const QUICK: [usize; 4] = [10, 200, 1_000, 5_000];

/// mu of the released correlations under replace-one; infinite without privacy.
const MUS: [f64; 3] = [f64::INFINITY, 2.0, 0.5];

/// Scale of the integers that stand for normal noise, in bits.
const LOG2_SCALE: u32 = 40;

const SLACK: f64 = 0.05;

/// By how much the rule is right more often on its own rows, and on as many new ones, than every other time.
///
/// The correlation of column j is the sum of `z_ij`, its product with the label in row i. A replaced row moves each by 2 at
/// most, and all of them by `2 sqrt(d)`. The rule weighs columns by what was released.
fn gaps(columns: usize, mu: f64, seed: u64, plant: Option<Plant>) -> Fallible<(f64, f64)> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let factor = if plant == Some(Plant::HalfNoise) { 0.5 } else { 1.0 };
    let scale = factor * 2.0 * (columns as f64).sqrt() / mu * 2f64.powi(-(LOG2_SCALE as i32));
    let drawn = integer_noise(NoiseLaw::FlooredNormal, LOG2_SCALE, columns, &noise(seed), 0)?;
    // A margin is the sum of what all columns say of a row.
    let (mut own, mut new) = (vec![0.0; ROWS], vec![0.0; ROWS]);
    let mut signs = [false; ROWS];
    for y in drawn {
        signs.iter_mut().for_each(|sign| *sign = random.random());
        let side = |sign: bool| if sign { 1.0 } else { -1.0 };
        let sum: f64 = signs.iter().map(|&sign| side(sign)).sum();
        let weight = sum + scale * y as f64;
        own.iter_mut().zip(&signs).for_each(|(margin, &sign)| *margin += weight * side(sign));
        new.iter_mut().for_each(|margin| *margin += weight * side(random.random()));
    }
    // A tie is no answer: half right.
    let right = |margins: &[f64]| {
        let each = margins.iter().map(|&m| {
            if m > 0.0 {
                1.0
            } else if m < 0.0 {
                0.0
            } else {
                0.5
            }
        });
        each.sum::<f64>() / margins.len() as f64 - 0.5
    };
    Ok((right(&own), right(&new)))
}

/// The gap to expect: a margin has the mean `d` and the variance `d (n - 1 + 4 d / mu^2)`, nearly normal where d is large.
fn expected(columns: usize, mu: f64) -> f64 {
    let d = columns as f64;
    0.5 - normal_tail(d / (d * (ROWS as f64 - 1.0 + 4.0 * d / (mu * mu))).sqrt())
}

fn name(mu: f64) -> String {
    if mu.is_finite() { format!("mu {mu}") } else { "without privacy".to_owned() }
}

/// Measures what is missing, and judges.
///
/// # Errors
/// When results cannot be written, and for a planted step size: there are no steps.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::WrongStep, "there are no steps here")?;
    let (seeds, columns): (u64, &[usize]) = if setup.quick { (20, &QUICK) } else { (400, &COLUMNS) };
    let configuration = setup.configuration(&format!("{ROWS} rows, coins and noise from the key"));
    let path = setup.file("results.csv");
    let mut results = Results::open(&path, &["mu", "columns", "seed"], &["own", "new"], &configuration, setup.earlier)?;
    let progress = Progress::new("generalization", MUS.len() * columns.len());
    for mu in MUS {
        for &count in columns {
            progress.say(format!("{}, {count} columns", name(mu)));
            for seed in 0..seeds {
                let key = [mu.to_string(), count.to_string(), seed.to_string()];
                if !results.has(&key) {
                    let (own, new) = gaps(count, mu, seed_of(&key), setup.plant)?;
                    results.add(&key, &[cell(own), cell(new)])?;
                }
            }
            progress.step();
        }
    }
    setup.draw(&[panel(&results, columns)?])?;
    findings(&results, columns).map(Verdict)
}

fn summary(results: &Results, value: &str, mu: f64, columns: usize) -> Summary {
    let picked = |row: &Row<'_>| row.text("mu") == mu.to_string() && row.is("columns", columns as f64);
    Summary::of(&results.column(value, picked))
}

fn findings(results: &Results, columns: &[usize]) -> Fallible<Vec<Finding>> {
    let most = columns.iter().copied().max().unwrap_or(1);
    let mut found = Vec::new();
    for mu in MUS {
        let (own, theory) = (summary(results, "own", mu, most), expected(most, mu));
        // Where every seed has the largest gap, a half, the interval is that of the share of such seeds: others have minus a half at the least.
        let half = own.half_width();
        let all = own.deviation == 0.0 && own.mean == 0.5;
        let interval = match all {
            true => (share_interval(own.count as u64, own.count as u64).0 - 0.5, 0.5),
            false => (own.mean - half, own.mean + half),
        };
        let what = format!("gap at {most} columns in units of the theory, {}", name(mu));
        let interval = (interval.0 / theory, interval.1 / theory);
        found.push(Finding::between(what, own.mean / theory, interval, (1.0 - SLACK, 1.0 + SLACK)));
        if mu.is_finite() {
            let bound = generalization::gaussian_gap(mu, 1.0)?;
            let what = format!("gap at {most} columns over the bound of privacy, {}", name(mu));
            found.push(Finding::new(what, own.mean / bound, own.half_width() / bound, (0.45, 0.55)));
        }
        // How often a rule of coins is right on new rows is a coin, too.
        let new = summary(results, "new", mu, most);
        let what = format!("gap on new rows at {most} columns, {}", name(mu));
        found.push(Finding::new(what, new.mean, new.half_width(), (-0.02, 0.02)));
    }
    Ok(found)
}

fn panel(results: &Results, columns: &[usize]) -> Fallible<Panel> {
    let mut series = Vec::new();
    for mu in MUS {
        series.push(Series::theory("theory", columns.iter().map(|&d| (d as f64, expected(d, mu))).collect()));
        let measured = |&d: &usize| {
            let own = summary(results, "own", mu, d);
            (d as f64, own.mean, own.half_width())
        };
        series.push(Series::measured(name(mu), columns.iter().map(measured).collect()));
    }
    for mu in MUS.into_iter().filter(|mu| mu.is_finite()) {
        let bound = generalization::gaussian_gap(mu, 1.0)?;
        series
            .push(Series::theory(format!("bound, {}", name(mu)), columns.iter().map(|&d| (d as f64, bound)).collect()));
    }
    Ok(Panel::of(format!("a rule of coins, on its own {ROWS} rows"), series)
        .x("columns", Scale::Log)
        .y("share right, beyond 1/2", Scale::Linear))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_bound_is_what_this_analyst_reaches() {
        for mu in [0.5, 2.0] {
            let limit = expected(100_000_000, mu);
            let bound = generalization::gaussian_gap(mu, 1.0).unwrap();
            assert!((limit / bound - 0.5).abs() < 1e-3, "{mu}: {limit} {bound}");
        }
        assert!(expected(100_000, f64::INFINITY) > 0.499_999);
    }
}
