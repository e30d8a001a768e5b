//! Axes: the range of what is shown, and ticks that read well.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use crate::num::special::normal_tail;

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are.
    Log,
    /// Ratios where values are positive and far apart, else differences, measured from 0: for losses and rates.
    Fitting,
    /// Probabilities, equally long where their quantiles of the normal law differ equally: what distinguishes two normal laws of one
    /// deviation is a straight line.
    Quantile,
}

impl Scale {
    /// Whether a value can have a place on an axis of this scale.
    pub(super) fn has(self, value: f64) -> bool {
        let along = match self {
            Scale::Linear | Scale::Fitting => Along::Value,
            Scale::Log => Along::Logarithm,
            Scale::Quantile => Along::Quantile,
        };
        along.has(value)
    }
}

/// What is measured along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Along {
    Value,
    Logarithm,
    Quantile,
}

impl Along {
    fn of(self, value: f64) -> f64 {
        match self {
            Along::Value => value,
            Along::Logarithm => value.log10(),
            Along::Quantile => quantile(value),
        }
    }

    fn value(self, along: f64) -> f64 {
        match self {
            Along::Value => along,
            Along::Logarithm => 10f64.powf(along),
            Along::Quantile => normal_tail(-along),
        }
    }

    /// Whether a value has a place.
    fn has(self, value: f64) -> bool {
        match self {
            Along::Value => value.is_finite(),
            Along::Logarithm => value > 0.0 && value.is_finite(),
            Along::Quantile => value > 0.0 && value < 1.0,
        }
    }
}

/// Standard deviations within which quantiles are looked for.
const FARTHEST: f64 = 38.0;

/// The quantile of the standard normal law, for a picture: by bisection, the smaller tail first.
fn quantile(probability: f64) -> f64 {
    let tail = probability.min(1.0 - probability);
    let (mut near, mut far) = (0.0, FARTHEST);
    for _ in 0..60 {
        let middle = (near + far) / 2.0;
        if normal_tail(middle) > tail { near = middle } else { far = middle }
    }
    if probability < 0.5 { -near } else { near }
}

/// How much of an axis what lies between places takes, where equal differences are not equally long.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// Ascending places, and the share of the axis before each.
    knots: Vec<(f64, f64)>,
}

impl Spread {
    /// An axis from the first of these ends to the last, on which what lies between two ends takes so much; `None` where ends do not ascend, or
    /// nothing takes anything.
    pub fn new(ends: &[f64], lengths: &[f64]) -> Option<Self> {
        let total: f64 = lengths.iter().sum();
        let ascending = ends.len() == lengths.len() + 1 && ends.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending || total <= 0.0 || !lengths.iter().all(|length| *length >= 0.0 && length.is_finite()) {
            return None;
        }
        let mut before = 0.0;
        let after = lengths.iter().map(|length| {
            before += length / total;
            before
        });
        Some(Spread { knots: ends.iter().copied().zip([0.0].into_iter().chain(after)).collect() })
    }

    fn ends(&self) -> (f64, f64) {
        let at = |knot: Option<&(f64, f64)>| knot.map_or(0.0, |knot| knot.0);
        (at(self.knots.first()), at(self.knots.last()))
    }

    /// The share of the axis before a value.
    fn along(&self, value: f64) -> f64 {
        let (first, last) = self.ends();
        if value <= first || value >= last {
            return (value - first) / (last - first);
        }
        let after = self.knots.partition_point(|knot| knot.0 <= value);
        between(&self.knots, after, |&knot| knot, value)
    }

    /// The value before which this share of the axis lies.
    fn value(&self, along: f64) -> f64 {
        let (first, last) = self.ends();
        if along <= 0.0 || along >= 1.0 {
            return first + along * (last - first);
        }
        let after = self.knots.partition_point(|knot| knot.1 <= along);
        between(&self.knots, after, |&(place, share)| (share, place), along)
    }

    /// Round numbers, about evenly spread over the axis.
    fn ticks(&self) -> Vec<f64> {
        let (slack, mut ticks): (f64, Vec<f64>) = (0.25 / PARTS, Vec::new());
        for part in 0..=PARTS as u32 {
            let middle = f64::from(part) / PARTS;
            // Far enough from the last one that their names do not touch.
            let least = ticks.last().map_or(0.0, |last| self.along(*last) + APART);
            let (low, high) = ((middle - slack).max(least), (middle + slack).min(1.0));
            if low <= high {
                ticks.push(roundest(self.value(low), self.value(high)));
            }
        }
        ticks
    }
}

/// The line through two neighbouring points, at `x`.
fn between(knots: &[(f64, f64)], after: usize, point: impl Fn(&(f64, f64)) -> (f64, f64), x: f64) -> f64 {
    let point = |at: usize| knots.get(at).map_or((0.0, 0.0), &point);
    let (a, b) = (point(after.saturating_sub(1)), point(after));
    if b.0 > a.0 { a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0) } else { a.1 }
}

/// The number with the fewest digits in a range.
fn roundest(low: f64, high: f64) -> f64 {
    if low <= 0.0 && high >= 0.0 {
        return 0.0;
    }
    let largest = low.abs().max(high.abs()).log10().ceil() as i32;
    let steps = (0..16).flat_map(|down| [5, 2, 1].map(|digit| (digit, largest - 1 - down)));
    for (digit, power) in [(1, largest)].into_iter().chain(steps) {
        let step: f64 = format!("{digit}e{power}").parse().unwrap_or(1.0);
        let count = (low / step).ceil();
        if count * step <= high {
            return format!("{}e{power}", count * f64::from(digit)).parse().unwrap_or(low);
        }
    }
    low
}

/// Positive values whose largest is this many times the smallest are far apart.
const SPREAD: f64 = 30.0;

/// Share of the range left free at both ends.
const MARGIN: f64 = 0.05;

/// Share left free above the largest value, where an axis begins at 0.
const HEADROOM: f64 = 0.04;

/// Parts that ticks cut an axis into, about; one that begins at 0 has more room.
const PARTS: f64 = 6.0;
const PARTS_FROM_ZERO: f64 = 7.0;

/// Least share of a spread axis between ticks.
const APART: f64 = 0.14;

/// Least share of an axis of quantiles between ticks.
const QUANTILES_APART: f64 = 0.1;

/// One axis.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    along: Along,
    spread: Option<Spread>,
    /// The ends, as logarithms or quantiles where these are measured, and as shares of the length where it is spread.
    ends: (f64, f64),
    ticks: Vec<f64>,
    /// Whether all ticks but 0 have an exponent; else those that are short with one.
    scientific: Option<bool>,
}

impl Axis {
    /// An axis that shows all values it can.
    pub(super) fn of(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let shown = values.filter(|&v| scale.has(v));
        let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        match scale {
            Scale::Linear => Axis::between(Along::Value, free(low, high), None),
            Scale::Log => Axis::between(Along::Logarithm, free(low.log10(), high.log10()), None),
            Scale::Quantile if low > high => Axis::of(scale, [0.01, 0.99].into_iter()),
            Scale::Quantile => Axis::between(Along::Quantile, free(quantile(low), quantile(high)), Some(false)),
            Scale::Fitting if low > 0.0 && high > SPREAD * low => {
                Axis::between(Along::Logarithm, (low.log10(), high.log10()), Some(low < 1e-3 || high >= 1e6))
            }
            // Where there is nothing to show, an empty axis is drawn.
            Scale::Fitting => Axis::from_zero(if high > f64::MIN_POSITIVE { high } else { 1.0 }),
        }
    }

    fn between(along: Along, ends: (f64, f64), scientific: Option<bool>) -> Self {
        let ticks = match along {
            Along::Value => linear_ticks(ends, (ends.1 - ends.0) / PARTS),
            Along::Logarithm => log_ticks(ends),
            Along::Quantile => quantile_ticks(ends),
        };
        Axis { along, spread: None, ends, ticks, scientific }
    }

    /// An axis that shows all values it can, as a spread has it where there is one.
    pub(super) fn spread(spread: Option<&Spread>, values: impl Iterator<Item = f64>) -> Self {
        spread.map_or_else(|| Axis::of(Scale::Linear, values), |spread| Axis::by(spread, free(0.0, 1.0)))
    }

    /// An axis from one end to the other with no room beside.
    pub(super) fn whole((low, high): (f64, f64), spread: Option<&Spread>) -> Self {
        let plain = || Axis::between(Along::Value, if low < high { (low, high) } else { (low - 0.5, low + 0.5) }, None);
        spread.map_or_else(plain, |spread| Axis::by(spread, (0.0, 1.0)))
    }

    fn by(spread: &Spread, ends: (f64, f64)) -> Self {
        Axis { along: Along::Value, ticks: spread.ticks(), spread: Some(spread.clone()), ends, scientific: None }
    }

    fn from_zero(high: f64) -> Self {
        // A probability ends at 1, where its curve ends.
        let ends = (0.0, if high == 1.0 { 1.0 } else { high * (1.0 + HEADROOM) });
        let ticks = linear_ticks(ends, high / PARTS_FROM_ZERO);
        Axis { along: Along::Value, spread: None, ends, ticks, scientific: Some(!(1e-3..1e6).contains(&high)) }
    }

    /// Whether a value has a place on the axis.
    pub(super) fn shows(&self, value: f64) -> bool {
        self.along.has(value)
    }
}

/// A range with some room at its ends.
fn free(low: f64, high: f64) -> (f64, f64) {
    let (low, high) = if low < high {
        (low, high)
    } else if low == high {
        (low - 0.5, low + 0.5)
    } else {
        (0.0, 1.0)
    };
    let free = MARGIN * (high - low);
    (low - free, high + free)
}

/// Round numbers that are at least `rough` apart.
fn linear_ticks((low, high): (f64, f64), rough: f64) -> Vec<f64> {
    let decade = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * decade).into_iter().find(|s| *s >= rough).unwrap_or(rough);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    // Written out and read back, so that 0.30000000000000004 is 0.3.
    let places = (-step.log10().floor()).max(0.0) as usize;
    (first..=last).filter_map(|i| format!("{:.places$}", i as f64 * step).parse().ok()).collect()
}

/// Few decades get ticks inside, many decades lose some.
fn log_ticks((low, high): (f64, f64)) -> Vec<f64> {
    let (digits, every): (&[u32], usize) = match high - low {
        decades if decades < 1.5 => (&[1, 2, 3, 5, 7], 1),
        decades if decades < 2.5 => (&[1, 2, 5], 1),
        decades if decades < 4.0 => (&[1, 3], 1),
        decades if decades < 10.0 => (&[1], 1),
        decades => (&[1], (decades / PARTS_FROM_ZERO).ceil() as usize),
    };
    let decades = (low.floor() as i32..=high.ceil() as i32).step_by(every);
    let all =
        decades.flat_map(|decade| digits.iter().filter_map(move |digit| format!("{digit}e{decade}").parse().ok()));
    all.filter(|tick: &f64| (low..=high).contains(&tick.log10())).collect()
}

/// Probabilities with few digits, those near 1/2 first, as long as their names do not touch.
fn quantile_ticks((low, high): (f64, f64)) -> Vec<f64> {
    let tails = [0.5, 0.1, 0.01, 1e-3, 1e-4, 0.2, 0.05, 0.3];
    let mut ticks: Vec<f64> = Vec::new();
    for tick in tails.into_iter().flat_map(|tail| [tail, 1.0 - tail]) {
        let place = quantile(tick);
        let apart = |other: &f64| (quantile(*other) - place).abs() >= QUANTILES_APART * (high - low);
        if (low..=high).contains(&place) && ticks.iter().all(apart) {
            ticks.push(tick);
        }
    }
    if ticks.is_empty() {
        ticks.push(normal_tail(-(low + high) / 2.0));
    }
    ticks.sort_by(f64::total_cmp);
    ticks
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let along = match &self.spread {
            Some(spread) => spread.along(*value),
            None => self.along.of(*value),
        };
        let share = (along - self.ends.0) / (self.ends.1 - self.ends.0);
        limit.0.saturating_add((f64::from(limit.1 - limit.0) * share).round() as i32)
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        let value = |v: f64| match &self.spread {
            Some(spread) => spread.value(v),
            None => self.along.value(v),
        };
        value(self.ends.0)..value(self.ends.1)
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, &tick: &f64) -> String {
        let scientific = self.scientific.unwrap_or(!(1e-3..1e5).contains(&tick.abs()));
        if scientific && tick != 0.0 { format!("{tick:e}") } else { tick.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, values: &[f64]) -> Vec<String> {
        let axis = Axis::of(scale, values.iter().copied());
        axis.ticks.iter().map(|tick| axis.format_ext(tick)).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(labels(Scale::Linear, &[0.81, 0.85]), ["0.81", "0.82", "0.83", "0.84", "0.85"]);
        assert_eq!(labels(Scale::Log, &[0.1, 8.0]), ["0.1", "0.2", "0.5", "1", "2", "5"]);
        assert_eq!(labels(Scale::Log, &[1e-9, 1e-1]).first().map(String::as_str), Some("1e-9"));
    }

    #[test]
    fn two_normal_laws_are_told_apart_by_a_straight_line_on_quantiles() {
        for (probability, place) in [(0.5, 0.0), (0.841_344_746, 1.0), (0.158_655_254, -1.0), (1e-4, -3.719_016_485)] {
            assert!((quantile(probability) - place).abs() < 1e-8, "{probability}");
        }
        let mu = 1.3;
        let rates: Vec<(f64, f64)> =
            (-20..=20).map(|z| f64::from(z) / 10.0).map(|z| (normal_tail(-z), normal_tail(-z - mu))).collect();
        let [x, y] =
            [|p: &(f64, f64)| p.0, |p: &(f64, f64)| p.1].map(|of| Axis::of(Scale::Quantile, rates.iter().map(of)));
        let places: Vec<(i32, i32)> =
            rates.iter().map(|p| (x.map(&p.0, (0, 100_000)), y.map(&p.1, (0, 100_000)))).collect();
        let (first, last) = (places[0], places[places.len() - 1]);
        let slope = f64::from(last.1 - first.1) / f64::from(last.0 - first.0);
        for place in &places {
            let line = f64::from(first.1) + slope * f64::from(place.0 - first.0);
            assert!((line - f64::from(place.1)).abs() < 3.0, "{places:?}");
        }
        assert!(!x.shows(0.0) && !x.shows(1.0) && !x.shows(f64::NAN) && x.shows(0.5));
        assert_eq!(labels(Scale::Quantile, &[0.001, 0.999]), ["0.001", "0.01", "0.1", "0.5", "0.9", "0.99", "0.999"]);
        for values in [vec![], vec![0.5], vec![1.0], vec![0.37, 0.38]] {
            let axis = Axis::of(Scale::Quantile, values.iter().copied());
            assert!(!axis.ticks.is_empty() && axis.ends.0 < axis.ends.1, "{axis:?}");
        }
    }

    #[test]
    fn far_values_are_spread_over_decades() {
        let labels = |values: &[f64]| labels(Scale::Fitting, values);
        assert_eq!(labels(&[1e-12, 1e-2]), ["1e-12", "1e-10", "1e-8", "1e-6", "1e-4", "1e-2"]);
        assert_eq!(labels(&[1.0, 1e4]), ["1", "10", "100", "1000", "10000"]);
        assert_eq!(labels(&[0.2, 12.0]), ["0.2", "0.5", "1", "2", "5", "10"]);
    }

    #[test]
    fn near_values_are_measured_from_zero() {
        let labels = |values: &[f64]| labels(Scale::Fitting, values);
        assert_eq!(labels(&[0.0, 1.0]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(&[0.999_999_9]).last().map(String::as_str), Some("1"));
        assert_eq!(labels(&[3.0, 14.0]), ["0", "2", "4", "6", "8", "10", "12", "14"]);
        assert_eq!(labels(&[3e-9, 4e-9]), ["0", "1e-9", "2e-9", "3e-9", "4e-9"]);
    }

    #[test]
    fn a_spread_axis_is_longer_where_it_is_told_to_be() {
        let spread = Spread::new(&[0.0, 1.0, 5000.0, 99_999.0], &[2.0, 1.0, 1.0]).unwrap();
        for (value, along) in [(0.0, 0.0), (0.5, 0.25), (1.0, 0.5), (5000.0, 0.75), (99_999.0, 1.0)] {
            assert!(
                (spread.along(value) - along).abs() < 1e-12 && (spread.value(along) - value).abs() < 1e-6,
                "{value}"
            );
        }
        let axis = Axis::whole((0.0, 99_999.0), Some(&spread));
        assert_eq!([0.0, 1.0, 99_999.0].map(|value| axis.map(&value, (0, 400))), [0, 200, 400]);
        let shown: Vec<String> = axis.ticks.iter().map(|tick| axis.format_ext(tick)).collect();
        assert_eq!(shown, ["0", "0.4", "0.7", "500", "4000", "50000"]);
        let room = Axis::spread(Some(&spread), std::iter::empty());
        assert!(room.map(&0.0, (0, 400)) > 10 && room.map(&99_999.0, (0, 400)) < 390 && room.range().start < 0.0);
        assert!(Spread::new(&[0.0, 0.0], &[1.0]).is_none() && Spread::new(&[0.0, 1.0], &[0.0]).is_none());
    }

    #[test]
    fn the_roundest_number_of_a_range_is_found() {
        for (low, high, round) in
            [(-1.0, 2.0, 0.0), (0.21, 0.34, 0.3), (97.0, 103.0, 100.0), (-7300.0, -6100.0, -7000.0)]
        {
            assert_eq!(roundest(low, high), round, "{low} {high}");
        }
    }

    #[test]
    fn nothing_and_one_value_have_an_axis() {
        for (scale, values) in [(Scale::Log, vec![]), (Scale::Linear, vec![3.0]), (Scale::Log, vec![-1.0, f64::NAN])] {
            let axis = Axis::of(scale, values.iter().copied());
            assert!(!axis.ticks.is_empty() && axis.ends.0 < axis.ends.1, "{axis:?}");
        }
    }

    #[test]
    fn every_value_has_a_place_on_its_axis() {
        for values in
            [vec![], vec![0.0], vec![5.0], vec![0.0, 1e-300], vec![1e-300, 1e300], vec![2.0, 2.0], vec![5e-324]]
        {
            let axis = Axis::of(Scale::Fitting, values.iter().copied());
            assert!((1..=14).contains(&axis.ticks.len()), "{values:?}: {axis:?}");
            assert!(values.iter().all(|value| (100..=900).contains(&axis.map(value, (100, 900)))), "{values:?}");
        }
        let axis = Axis::of(Scale::Fitting, [1.0, 1e4].into_iter());
        assert_eq!([1.0, 100.0, 1e4].map(|value| axis.map(&value, (500, 100))), [500, 300, 100]);
    }
}
