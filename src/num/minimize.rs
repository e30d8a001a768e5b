//! Minimising a function of one positive number: a scan over a logarithmic grid, then golden section.

use std::convert::Infallible;

/// A point and the value there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Minimum {
    /// Where.
    pub at: f64,
    /// The value there.
    pub value: f64,
}

/// The inverse golden ratio.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The best of `points` positions spaced evenly in `ln x` over `[low, high]`, refined by golden section
/// between its neighbours.
///
/// The value is one that was really computed, so a caller whose function is a valid bound everywhere
/// gets a valid bound, whatever the shape of the function. NaN values never win.
///
/// # Errors
/// Whatever the function returns, at the first failure.
pub fn scan_then_golden<E>(
    low: f64,
    high: f64,
    points: u32,
    mut f: impl FnMut(f64) -> Result<f64, E>,
) -> Result<Minimum, E> {
    let (start, width) = evenly(low, high, points);
    let (best, index) = scanned(low, high, points, &mut f)?;
    let middle = start + width * f64::from(index);
    golden(middle - width, middle + width, best, |t| f(t.exp().clamp(low, high)).map(|v| (t.exp().clamp(low, high), v)))
}

/// The best of `points` positions spaced evenly in `ln x` over `[low, high]`.
///
/// NaN values never win.
pub fn scan(low: f64, high: f64, points: u32, mut f: impl FnMut(f64) -> f64) -> Minimum {
    let Ok((best, _)) = scanned(low, high, points, &mut |x| Ok::<f64, Infallible>(f(x)));
    best
}

/// The logarithm of the first position, and the distance to the next one.
fn evenly(low: f64, high: f64, points: u32) -> (f64, f64) {
    (low.ln(), (high / low).ln() / f64::from(points.max(2) - 1))
}

/// The best position of a scan, and its number.
fn scanned<E>(
    low: f64,
    high: f64,
    points: u32,
    f: &mut impl FnMut(f64) -> Result<f64, E>,
) -> Result<(Minimum, u32), E> {
    let (start, width) = evenly(low, high, points);
    let mut best = (Minimum { at: low, value: f64::INFINITY }, 0);
    for i in 0..points.max(2) {
        let at = (start + width * f64::from(i)).exp();
        let value = f(at)?;
        if value < best.0.value {
            best = (Minimum { at, value }, i);
        }
    }
    Ok(best)
}

/// Golden section in a transformed variable; keeps the best pair seen.
fn golden<E>(
    mut left: f64,
    mut right: f64,
    mut best: Minimum,
    mut f: impl FnMut(f64) -> Result<(f64, f64), E>,
) -> Result<Minimum, E> {
    let mut evaluate = |t: f64| {
        let (at, value) = f(t)?;
        if value < best.value {
            best = Minimum { at, value };
        }
        Ok(value)
    };
    let (mut inner_left, mut inner_right) = (right - GOLDEN * (right - left), left + GOLDEN * (right - left));
    let (mut value_left, mut value_right) = (evaluate(inner_left)?, evaluate(inner_right)?);
    for _ in 0..34 {
        if value_left < value_right {
            (right, inner_right, value_right) = (inner_right, inner_left, value_left);
            inner_left = right - GOLDEN * (right - left);
            value_left = evaluate(inner_left)?;
        } else {
            (left, inner_left, value_left) = (inner_left, inner_right, value_right);
            inner_right = left + GOLDEN * (right - left);
            value_right = evaluate(inner_right)?;
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_an_inner_minimum_and_an_end() {
        let bowl = scan_then_golden(1e-3, 1e6, 100, |x: f64| Ok::<_, ()>((x - 3.0).powi(2) + 1.0)).unwrap();
        assert!((bowl.at - 3.0).abs() < 1e-6 && bowl.value < 1.0 + 1e-12);
        let end = scan_then_golden(1.0, 8.0, 10, |x: f64| Ok::<_, ()>(-x)).unwrap();
        assert!(end.at <= 8.0 && end.value <= -8.0 * (1.0 - 1e-12));
        assert_eq!(scan_then_golden(1.0, 2.0, 5, |_| Err::<f64, _>("no")), Err("no"));
    }
}
