//! Axes: the range of what is shown, and ticks that read well.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are.
    Log,
}

/// Share of the range left free at both ends.
const MARGIN: f64 = 0.05;

/// Ticks of an axis, about.
const TICKS: f64 = 6.0;

/// One axis.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Axis {
    /// An axis that shows all values it can.
    pub(super) fn of(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let shown = values.filter(|v| can_show(scale, *v)).map(|v| along(scale, v));
        let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low < high {
            (low, high)
        } else if low == high {
            (low - 0.5, low + 0.5)
        } else {
            (0.0, 1.0)
        };
        let free = MARGIN * (high - low);
        let (low, high) = (low - free, high + free);
        let ticks = match scale {
            Scale::Linear => linear_ticks(low, high),
            Scale::Log => log_ticks(low, high),
        };
        Axis { scale, low, high, ticks }
    }

    /// Whether a value has a place on the axis.
    pub(super) fn shows(&self, value: f64) -> bool {
        can_show(self.scale, value)
    }

    /// The smallest value with a place on the axis.
    pub(super) fn range_low(&self) -> f64 {
        self.range().start
    }
}

fn can_show(scale: Scale, value: f64) -> bool {
    value.is_finite() && (scale == Scale::Linear || value > 0.0)
}

fn along(scale: Scale, value: f64) -> f64 {
    if scale == Scale::Log { value.log10() } else { value }
}

fn linear_ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / TICKS;
    let decade = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * decade).into_iter().find(|s| *s >= rough).unwrap_or(rough);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    // Written out and read back, so that 0.30000000000000004 is 0.3.
    let places = (-step.log10().floor()).max(0.0) as usize;
    (first..=last).filter_map(|i| format!("{:.places$}", i as f64 * step).parse().ok()).collect()
}

fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let digits: &[u32] = match high - low {
        decades if decades < 1.5 => &[1, 2, 3, 5, 7],
        decades if decades < 2.5 => &[1, 2, 5],
        decades if decades < 4.0 => &[1, 3],
        _ => &[1],
    };
    let decades = low.floor() as i32..=high.ceil() as i32;
    let all =
        decades.flat_map(|decade| digits.iter().filter_map(move |digit| format!("{digit}e{decade}").parse().ok()));
    all.filter(|tick: &f64| (low..=high).contains(&tick.log10())).collect()
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (along(self.scale, *value) - self.low) / (self.high - self.low);
        limit.0 + (f64::from(limit.1 - limit.0) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        let value = |v: f64| if self.scale == Scale::Log { 10f64.powf(v) } else { v };
        value(self.low)..value(self.high)
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, &tick: &f64) -> String {
        let plain = tick == 0.0 || (1e-3..1e5).contains(&tick.abs());
        if plain { tick.to_string() } else { format!("{tick:e}") }
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
    fn nothing_and_one_value_have_an_axis() {
        for (scale, values) in [(Scale::Log, vec![]), (Scale::Linear, vec![3.0]), (Scale::Log, vec![-1.0, f64::NAN])] {
            let axis = Axis::of(scale, values.iter().copied());
            assert!(!axis.ticks.is_empty() && axis.low < axis.high, "{axis:?}");
        }
    }
}
