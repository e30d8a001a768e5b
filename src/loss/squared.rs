//! Squared loss.

use super::Loss;

/// `l(t, y) = (t - y)^2 / 2`: 1-smooth in `t`, Lipschitz only where margins are bounded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Squared;

impl Loss for Squared {
    fn value(&self, margin: f64, label: f64) -> f64 {
        0.5 * (margin - label) * (margin - label)
    }

    #[inline(always)]
    fn slope(&self, margin: f32, label: f32) -> f32 {
        margin - label
    }

    #[inline(always)]
    fn curvature(&self, _margin: f32) -> f32 {
        1.0
    }

    fn lipschitz(&self) -> f64 {
        f64::INFINITY
    }

    fn smoothness(&self) -> f64 {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slope_is_the_derivative() {
        for (t, y) in [(0.0, 0.0), (1.5, -0.5), (-3.0, 2.0)] {
            let h = 1e-5;
            let numeric = (Squared.value(t + h, y) - Squared.value(t - h, y)) / (2.0 * h);
            assert!((numeric - f64::from(Squared.slope(t as f32, y as f32))).abs() < 1e-6);
        }
    }
}
