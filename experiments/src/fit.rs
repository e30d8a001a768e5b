//! Means with their errors, and straight lines through logarithms with confidence intervals.

use rhograd::error::{Error, Fallible};
use rhograd::num::binomial::upper_limit;
use rhograd::plot::Series;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Confidence of every interval here.
pub const CONFIDENCE: f64 = 0.95;

/// Mean and spread of repeated measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many.
    pub count: usize,
    /// Their mean; NaN without any.
    pub mean: f64,
    /// Their standard deviation; 0 for one.
    pub deviation: f64,
}

impl Summary {
    /// Of these values.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        Summary { count: values.len(), mean, deviation: (squares / (n - 1.0).max(1.0)).sqrt() }
    }

    /// Standard error of the mean.
    pub fn error(&self) -> f64 {
        self.deviation / (self.count as f64).sqrt()
    }

    /// Half the width of the confidence interval of the mean, by Student's t; infinite for fewer than two values.
    pub fn half_width(&self) -> f64 {
        self.joint_half_width(1)
    }

    /// The same for one of so many means, which lie in their intervals all at once with [`CONFIDENCE`] (Bonferroni).
    pub fn joint_half_width(&self, many: usize) -> f64 {
        match self.count {
            0 | 1 => f64::INFINITY,
            count => quantile(count - 1, (1.0 - CONFIDENCE) / many.max(1) as f64) * self.error(),
        }
    }

    /// The mean over that of independent measurements, and half the width of its interval to first order.
    pub fn over(&self, other: &Summary) -> (f64, f64) {
        let ratio = self.mean / other.mean;
        (ratio, ratio.abs() * (self.half_width() / self.mean).hypot(other.half_width() / other.mean))
    }
}

/// The exact confidence interval of a probability after so many successes, of Clopper and Pearson 1934; it may be anything without trials.
pub fn share_interval(successes: u64, trials: u64) -> (f64, f64) {
    let limit = |count: u64| upper_limit(count, trials, (1.0 - CONFIDENCE) / 2.0).unwrap_or(1.0);
    (1.0 - limit(trials.saturating_sub(successes)), limit(successes))
}

/// The largest of some numbers and its interval, from estimates whose intervals hold all at once.
pub fn largest(of: impl IntoIterator<Item = (f64, (f64, f64))>) -> (f64, (f64, f64)) {
    let of: Vec<_> = of.into_iter().collect();
    let most = |part: fn(&(f64, (f64, f64))) -> f64| range(of.iter().map(part)).1;
    (most(|it| it.0), (most(|it| it.1.0), most(|it| it.1.1)))
}

/// The least and the largest of some values; NaN if one is, which no claim survives, infinite without any.
pub fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    values.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| match v.is_nan() || least.is_nan() {
        true => (f64::NAN, f64::NAN),
        false => (least.min(v), most.max(v)),
    })
}

/// A straight line `ln y = intercept + slope ln x`, fitted by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    /// The exponent.
    pub slope: f64,
    /// Confidence interval of the exponent.
    pub interval: (f64, f64),
    /// `ln y` at `x = 1`.
    pub intercept: f64,
    /// The least and the largest `x`.
    pub swept: (f64, f64),
}

impl PowerLaw {
    /// Fits the line; the interval takes the scatter about it for independent and normal.
    ///
    /// # Errors
    /// With fewer than three points, one that is not positive and finite, or all at the same `x`.
    pub fn fit(points: &[(f64, f64)]) -> Fallible<Self> {
        let bad = |(x, y): &(f64, f64)| !(*x > 0.0 && x.is_finite() && *y > 0.0 && y.is_finite());
        if points.len() < 3 || points.iter().any(bad) {
            return Err(Error::numerical("fit", format!("a power law needs three positive points, not {points:?}")));
        }
        let n = points.len() as f64;
        let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
        let (mx, my) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
        let sxx: f64 = logs.iter().map(|p| (p.0 - mx).powi(2)).sum();
        if sxx == 0.0 {
            return Err(Error::numerical("fit", "all points have the same x"));
        }
        let slope = logs.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum::<f64>() / sxx;
        let intercept = my - slope * mx;
        let residual: f64 = logs.iter().map(|p| (p.1 - intercept - slope * p.0).powi(2)).sum();
        let half = quantile(points.len() - 2, 1.0 - CONFIDENCE) * (residual / (n - 2.0) / sxx).sqrt();
        let swept = range(points.iter().map(|(x, _)| *x));
        Ok(PowerLaw { slope, interval: (slope - half, slope + half), intercept, swept })
    }
}

/// Points of a fitted line, and of its band.
const DRAWN: usize = 16;

/// The power law of measurements of this name as a line with the band of its exponents, which is narrowest in the middle; nothing
/// where there is none.
pub fn line(of: &str, points: &[(f64, f64)]) -> Option<Series> {
    let law = PowerLaw::fit(points).ok()?;
    Some(drawn(of, points, &law, |x| x))
}

/// The same of numbers without randomness: a line without a band.
pub fn exact_line(of: &str, points: &[(f64, f64)]) -> Option<Series> {
    let law = PowerLaw::fit(points).ok()?;
    Some(drawn(of, points, &PowerLaw { interval: (law.slope, law.slope), ..law }, |x| x))
}

/// A power of the logarithm of `x` that was fitted to measurements of this name, drawn over `x`, which the legend calls `variable`.
pub fn log_line(of: &str, variable: &str, points: &[(f64, f64)]) -> Option<Series> {
    let logs: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (x.ln(), y)).collect();
    let law = PowerLaw::fit(&logs).ok()?;
    Some(
        drawn(of, &logs, &law, f64::exp)
            .renamed(|name| if name == of { name.into() } else { format!("{name} in ln {variable}") }),
    )
}

fn drawn(of: &str, points: &[(f64, f64)], law: &PowerLaw, shown: impl Fn(f64) -> f64) -> Series {
    let logs = points.iter().map(|(x, _)| x.ln());
    let middle = logs.clone().sum::<f64>() / points.len() as f64;
    let (first, last) = range(logs);
    let drawn: Vec<_> = (0..=DRAWN)
        .map(|at| {
            let x = first + (last - first) * at as f64 / DRAWN as f64;
            let y = |slope: f64| (law.intercept + law.slope * middle + slope * (x - middle)).exp();
            let (one, other) = (y(law.interval.0), y(law.interval.1));
            (shown(x.exp()), y(law.slope), (one.min(other), one.max(other)))
        })
        .collect();
    Series::fit(of, format!("{of}: {}", law.words()), &drawn)
}

impl PowerLaw {
    /// The exponent with its interval, where it has one, for a legend.
    pub fn words(&self) -> String {
        let (low, high) = self.interval;
        if low == high {
            return format!("slope {:.3}", self.slope).replace('-', "−");
        }
        let places = if high - low < 0.01 { 3 } else { 2 };
        let number = |value: f64| format!("{value:.places$}").replace('-', "−");
        format!("slope {} [{}, {}]", number(self.slope), number(low), number(high))
    }
}

/// Quantile of Student's t that either side exceeds with `miss` in all.
fn quantile(freedom: usize, miss: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - miss / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_is_found_exactly() {
        let points = [1.0, 2.0, 4.0, 8.0].map(|x: f64| (x, 3.0 * x.powf(-1.5)));
        let law = PowerLaw::fit(&points).unwrap();
        assert!((law.slope + 1.5).abs() < 1e-12 && (law.intercept - 3f64.ln()).abs() < 1e-12);
        assert!(law.interval.1 - law.interval.0 < 1e-6 && law.swept == (1.0, 8.0));
    }

    #[test]
    fn shares_have_exact_intervals() {
        // None of n has the upper limit 1 - 0.025^(1/n), all of n the lower 0.025^(1/n).
        let near = |found: (f64, f64), (low, high): (f64, f64)| {
            assert!((found.0 - low).abs() < 1e-9 && (found.1 - high).abs() < 1e-9, "{found:?}");
        };
        let root = |n: f64| 0.025f64.powf(1.0 / n);
        near(share_interval(0, 8_000), (0.0, 1.0 - root(8_000.0)));
        near(share_interval(20, 20), (root(20.0), 1.0));
        assert!(share_interval(0, 8_000).1 > 4.6e-4 && share_interval(20, 20).0 < 0.84);
        // Of one of two, 1 - sqrt(0.975) and its mirror image.
        near(share_interval(1, 2), (1.0 - 0.975f64.sqrt(), 0.975f64.sqrt()));
        assert_eq!(share_interval(0, 0), (0.0, 1.0));
    }

    #[test]
    fn the_interval_of_the_largest_has_the_largest_ends() {
        let found = largest([(0.5, (0.1, 0.9)), (0.6, (0.55, 0.65))]);
        assert_eq!(found, (0.6, (0.55, 0.9)));
        assert!(largest([(0.5, (0.1, 0.9)), (f64::NAN, (0.0, 1.0))]).0.is_nan());
        let summary = Summary::of(&[1.0, 2.0, 3.0]);
        assert!(
            summary.joint_half_width(10) > 2.0 * summary.half_width()
                && summary.joint_half_width(1) == summary.half_width()
        );
        let (ratio, half) = summary.over(&Summary::of(&[4.0, 4.0]));
        assert!(ratio == 0.5 && (half - summary.half_width() / 4.0).abs() < 1e-12);
    }

    #[test]
    fn intervals_agree_with_a_worked_example() {
        // ln x = 0, 1, 2 and ln y = 0, 1, 1: slope 1/2, residual sum 1/6, so the error is sqrt(1/12); t at 1 is 12.7062.
        let e = std::f64::consts::E;
        let law = PowerLaw::fit(&[(1.0, 1.0), (e, e), (e * e, e)]).unwrap();
        assert!((law.slope - 0.5).abs() < 1e-12);
        assert!((law.interval.1 - 0.5 - 12.706_204_736 / 12f64.sqrt()).abs() < 1e-6, "{law:?}");
        let summary = Summary::of(&[1.0, 2.0, 3.0]);
        assert_eq!((summary.mean, summary.deviation), (2.0, 1.0));
        assert!((summary.half_width() - 4.302_652_73 / 3f64.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn what_is_no_number_is_not_skipped() {
        assert_eq!(range([2.0, 1.0, 3.0]), (1.0, 3.0));
        let (least, most) = range([1.0, f64::NAN, 3.0]);
        assert!(least.is_nan() && most.is_nan());
    }

    #[test]
    fn a_legend_has_the_exponent_with_its_interval() {
        let law = |slope, interval| PowerLaw { slope, interval, intercept: 0.0, swept: (1.0, 2.0) }.words();
        assert_eq!(law(-0.984, (-1.004, -0.961)), "slope −0.98 [−1.00, −0.96]");
        assert_eq!(law(0.5014, (0.4991, 0.5032)), "slope 0.501 [0.499, 0.503]");
        let line = line("found", &[(1.0, 1.0), (2.0, 2.2), (4.0, 4.1)]).unwrap();
        assert!(line.name().starts_with("found: slope 1.02 ["), "{}", line.name());
        assert!(super::line("found", &[(1.0, f64::NAN); 3]).is_none());
    }

    #[test]
    fn nothing_is_fitted_to_nonsense() {
        for points in [&[(1.0, 1.0), (2.0, 2.0)][..], &[(1.0, 0.0), (2.0, 1.0), (3.0, 1.0)], &[(1.0, 1.0); 3]] {
            assert!(PowerLaw::fit(points).is_err());
        }
    }
}
