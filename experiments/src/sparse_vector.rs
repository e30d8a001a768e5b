//! Which variants of the sparse vector technique are private: the loss of chosen answers, by integrals. Formulas are checked, nothing is drawn.

use rhograd::error::{Error, Fallible};
use rhograd::plot::{Panel, Scale, Series};

use crate::fit::range;
use crate::results::{Results, Row, cell};
use crate::setup::{Plant, Setup};
use crate::verdict::{Finding, Verdict};

/// The claim.
pub const CLAIM: &str = "of four published sparse vector techniques one keeps its epsilon, whatever the number of questions (formula check)";

/// What each of them promises, for questions that a row moves by 1 and one answer above the threshold.
const EPSILON: f64 = 1.0;

/// Questions below the threshold before the one above it; in the variant that goes on, pairs of both.
const LENGTHS: [u32; 7] = [1, 4, 16, 64, 256, 1024, 4096];

/// Places of the threshold's noise over which is summed.
const NODES: i32 = 24_000;

/// What a sum in place of an integral may be off by.
const QUADRATURE: f64 = 1e-4;

/// A variant, by the scales of its Laplace noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    /// Half of epsilon for the threshold, twice the noise for questions: Lyu, Su and Li 2017, Algorithm 1.
    Sound,
    /// Noise for questions that does not count that two of them can move: Lee and Clifton 2014.
    NotDoubled,
    /// Answers above the threshold never end: Chen, Xiao, Zhang and Xu 2015.
    Endless,
    /// Questions get no noise: Stoddard, Chen and Machanavajjhala 2014.
    Bare,
}

impl Variant {
    const ALL: [Variant; 4] = [Variant::Sound, Variant::NotDoubled, Variant::Endless, Variant::Bare];

    fn name(self) -> &'static str {
        match self {
            Variant::Sound => "sound",
            Variant::NotDoubled => "noise not doubled",
            Variant::Endless => "endless",
            Variant::Bare => "no noise on questions",
        }
    }

    /// Scales of the noise on the threshold and on each question.
    fn scales(self) -> (f64, f64) {
        match self {
            Variant::Sound => (2.0 / EPSILON, 4.0 / EPSILON),
            Variant::NotDoubled => (4.0 / EPSILON, 4.0 / (3.0 * EPSILON)),
            Variant::Endless => (2.0 / EPSILON, 2.0 / EPSILON),
            Variant::Bare => (2.0 / EPSILON, 0.0),
        }
    }

    /// How many questions are answered "above" after so many answered "below".
    fn above(self, below: u32) -> u32 {
        if self == Variant::Endless { below } else { 1 }
    }
}

/// `ln P[Lap(scale) < x]`; of no noise at all, 0 or minus infinity.
fn ln_below(x: f64, scale: f64) -> f64 {
    if scale == 0.0 {
        return if x > 0.0 { 0.0 } else { f64::NEG_INFINITY };
    }
    let x = x / scale;
    if x < 0.0 { x - std::f64::consts::LN_2 } else { (-(-x).exp() / 2.0).ln_1p() }
}

/// The logarithm of the probability that `below` questions with the value `low` stay below the threshold at 0 and `above` ones
/// with the value `high` do not.
fn ln_probability(scales: (f64, f64), (below, low): (u32, f64), (above, high): (u32, f64)) -> f64 {
    let (threshold, question) = scales;
    let reach = 60.0 * threshold;
    let width = 2.0 * reach / f64::from(NODES);
    let each = |node: i32| {
        let z = -reach + (f64::from(node) + 0.5) * width;
        let density = -z.abs() / threshold - (2.0 * threshold).ln();
        // Questions without any are given as 0 of them; 0 times infinity is no number.
        let times = |count: u32, ln: f64| if count == 0 { 0.0 } else { f64::from(count) * ln };
        density + times(below, ln_below(z - low, question)) + times(above, ln_below(high - z, question))
    };
    let terms: Vec<f64> = (0..NODES).map(each).collect();
    let most = range(terms.iter().copied()).1;
    if most == f64::NEG_INFINITY {
        most
    } else {
        most + (terms.iter().map(|t| (t - most).exp()).sum::<f64>() * width).ln()
    }
}

/// The largest loss found over values of the questions: those that stay below rise by 1 on the neighbour, those above fall by 1.
fn loss(variant: Variant, below: u32, factor: f64) -> f64 {
    let scales = variant.scales();
    let scales = (factor * scales.0, factor * scales.1);
    let above = variant.above(below);
    let mut largest = 0.0f64;
    for low in [-60.0, -30.0, -15.0, -8.0, -4.0, -2.0, -1.0, 0.0, 2.0] {
        for high in [-1.0, 0.0, 1.0, 2.0, 4.0, 8.0, 15.0] {
            let here = ln_probability(scales, (below, low), (above, high));
            let there = ln_probability(scales, (below, low + 1.0), (above, high - 1.0));
            // What cannot happen here says nothing.
            if here > f64::NEG_INFINITY {
                largest = largest.max(here - there);
            }
        }
    }
    largest
}

/// Computes, draws and judges.
///
/// # Errors
/// When results cannot be written, and for a planted step size: there are no steps.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::WrongStep, "there are no steps here")?;
    let factor = if setup.plant == Some(Plant::HalfNoise) { 0.5 } else { 1.0 };
    let lengths = if setup.quick { &LENGTHS[..5] } else { &LENGTHS[..] };
    let configuration = setup.configuration(&format!("epsilon {EPSILON}, {NODES} nodes"));
    let path = setup.file("results.csv");
    let mut results = Results::open(&path, &["variant", "length"], &["loss"], &configuration, setup.earlier)?;
    for variant in Variant::ALL {
        for &length in lengths {
            let key = [variant.name().to_owned(), length.to_string()];
            if !results.has(&key) {
                results.add(&key, &[cell(loss(variant, length, factor))])?;
            }
        }
    }
    setup.draw(&[panel(&results)])?;
    let largest =
        |variant: Variant| range(results.column("loss", |row| row.text("variant") == variant.name())).1 / EPSILON;
    let first = |variant: Variant| -> Fallible<f64> {
        let found = results.column("loss", |row| row.text("variant") == variant.name() && row.is("length", 1.0));
        found.first().copied().ok_or_else(|| Error::numerical("sparse-vector", "no measurement"))
    };
    let longest = f64::from(lengths[lengths.len() - 1]);
    let inf = f64::INFINITY;
    Ok(Verdict(vec![
        Finding::exact("sound: largest loss over epsilon", largest(Variant::Sound), (0.9, 1.0 + QUADRATURE)),
        Finding::exact(
            "noise not doubled: largest loss over epsilon",
            largest(Variant::NotDoubled),
            (1.5, 1.75 + QUADRATURE),
        ),
        Finding::exact(
            format!("endless: loss over epsilon for each of {} answers", 2.0 * longest),
            largest(Variant::Endless) / (2.0 * longest),
            (0.45, 0.5 + QUADRATURE),
        ),
        Finding::exact(
            "no noise on questions: loss of two answers over epsilon",
            first(Variant::Bare)? / EPSILON,
            (inf, inf),
        ),
    ]))
}

fn panel(results: &Results) -> Panel {
    let mut series = vec![Series::theory("promised", LENGTHS.map(|length| (f64::from(length), EPSILON)).to_vec())];
    for variant in Variant::ALL.into_iter().filter(|variant| *variant != Variant::Bare) {
        let picked = |row: &Row<'_>| row.text("variant") == variant.name();
        let points = results.rows().filter(picked).map(|row| (row.number("length"), row.number("loss"), 0.0));
        series.push(Series::measured(variant.name(), points.collect()));
    }
    Panel::of("sparse vector techniques that promise epsilon 1", series)
        .x("answers below the threshold", Scale::Log)
        .y("largest loss found", Scale::Log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_of_one_question_add_up_to_one() {
        for value in [-3.0, 0.0, 0.7] {
            let scales = Variant::Sound.scales();
            let [below, above] =
                [ln_probability(scales, (1, value), (0, 0.0)), ln_probability(scales, (0, 0.0), (1, value))]
                    .map(f64::exp);
            assert!((below + above - 1.0).abs() < 1e-5, "{value}: {below} {above}");
            assert!(value != 0.0 || (below - 0.5).abs() < 1e-5);
        }
    }
}
