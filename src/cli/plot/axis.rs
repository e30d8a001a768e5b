//! Axes: whether they are logarithmic, where their ticks are and how these read.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// Values whose largest is this many times the smallest are spread on a logarithmic axis.
const SPREAD: f64 = 30.0;

/// Ticks of an axis, about.
const TICKS: f64 = 7.0;

/// Share of a linear axis left free above the largest value.
const HEADROOM: f64 = 0.04;

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    logarithmic: bool,
    low: f64,
    high: f64,
    ticks: Vec<f64>,
    scientific: bool,
}

impl Axis {
    /// An axis that shows all these finite values: logarithmic when they are positive and far apart.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > 0.0 && high > SPREAD * low {
            return Axis::logarithmic(low, high);
        }
        // Losses and rates are measured from 0. Where there is nothing to show, an empty axis is drawn.
        Axis::linear(if high > f64::MIN_POSITIVE { high } else { 1.0 })
    }

    fn logarithmic(low: f64, high: f64) -> Self {
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let decades = high.log10() - low.log10();
        // Few decades get ticks inside, many decades lose some.
        let (within, every): (&[u32], usize) = match decades {
            d if d <= 2.0 => (&[1, 2, 5], 1),
            d if d <= 3.0 => (&[1, 3], 1),
            d => (&[1], (d / TICKS).ceil() as usize),
        };
        let ticks = (first..=last).step_by(every);
        let ticks = ticks.flat_map(|decade| within.iter().map(move |digit| decimal(*digit, decade)));
        let ticks = ticks.filter(|tick| (low..=high).contains(tick)).collect();
        Axis { logarithmic: true, low, high, ticks, scientific: low < 1e-3 || high >= 1e6 }
    }

    fn linear(high: f64) -> Self {
        let decade = (high / TICKS).log10().floor() as i32;
        let digits = [1, 2, 5, 10];
        let digit = digits.into_iter().find(|&digit| decimal(digit, decade) >= high / TICKS).unwrap_or(10);
        // A probability ends at 1, where its curve ends.
        let end = if high == 1.0 { 1.0 } else { high * (1.0 + HEADROOM) };
        let ticks = (0..).map(|i| decimal(i * digit, decade)).take_while(|&tick| tick <= end).collect();
        Axis { logarithmic: false, low: 0.0, high: end, ticks, scientific: !(1e-3..1e6).contains(&high) }
    }

    /// How far along the axis a value is, from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let at = |value: f64| if self.logarithmic { value.log10() } else { value };
        (at(value) - at(self.low)) / (at(self.high) - at(self.low))
    }
}

/// `digits 10^power`, correctly rounded.
fn decimal(digits: u32, power: i32) -> f64 {
    format!("{digits}e{power}").parse().unwrap_or(f64::INFINITY)
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        limit.0 + (f64::from(limit.1 - limit.0) * self.share(*value)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, &tick: &f64) -> String {
        if self.scientific && tick != 0.0 { format!("{tick:e}") } else { tick.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: &[f64]) -> Vec<String> {
        let axis = Axis::of(values.iter().copied());
        axis.ticks.iter().map(|tick| axis.format_ext(tick)).collect()
    }

    #[test]
    fn far_values_are_spread_over_decades() {
        assert_eq!(labels(&[1e-12, 1e-2]), ["1e-12", "1e-10", "1e-8", "1e-6", "1e-4", "1e-2"]);
        assert_eq!(labels(&[1.0, 1e4]), ["1", "10", "100", "1000", "10000"]);
        assert_eq!(labels(&[0.2, 12.0]), ["0.2", "0.5", "1", "2", "5", "10"]);
    }

    #[test]
    fn near_values_are_measured_from_zero() {
        assert_eq!(labels(&[0.0, 1.0]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(&[0.999_999_9]).last().map(String::as_str), Some("1"));
        assert_eq!(labels(&[3.0, 14.0]), ["0", "2", "4", "6", "8", "10", "12", "14"]);
        assert_eq!(labels(&[3e-9, 4e-9]), ["0", "1e-9", "2e-9", "3e-9", "4e-9"]);
    }

    #[test]
    fn every_value_has_a_place_on_its_axis() {
        for values in
            [vec![], vec![0.0], vec![5.0], vec![0.0, 1e-300], vec![1e-300, 1e300], vec![2.0, 2.0], vec![5e-324]]
        {
            let axis = Axis::of(values.iter().copied());
            assert!((1..=14).contains(&axis.ticks.len()), "{values:?}: {axis:?}");
            assert!(values.iter().all(|value| (100..=900).contains(&axis.map(value, (100, 900)))), "{values:?}");
        }
        let axis = Axis::of([1.0, 1e4].into_iter());
        assert_eq!([1.0, 100.0, 1e4].map(|value| axis.map(&value, (500, 100))), [500, 300, 100]);
    }
}
