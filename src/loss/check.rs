//! What every loss must satisfy, checked on a grid.

use super::Loss;

/// Checks slope against finite differences, convexity, and the constants, for margins in `-reach..=reach`.
///
/// The constants must also be attained up to one percent where they are finite: a certified bound that is far too
/// large would be no certificate of care.
pub(super) fn holds<L: Loss>(loss: &L, labels: &[f64], reach: f64) {
    const STEP: f64 = 1.0 / 64.0;
    let (mut steepest, mut sharpest) = (0.0f64, 0.0f64);
    let slope = |t: f64, y: f64| f64::from(loss.slope(t as f32, y as f32));
    for &y in labels {
        let mut t = -reach;
        while t <= reach {
            let h = 1e-5;
            let numeric = (loss.value(t + h, y) - loss.value(t - h, y)) / (2.0 * h);
            // Where the curvature jumps, the central difference lies half a jump times h beside the slope.
            let tolerance = 2e-5 * (1.0 + numeric.abs()) + h * loss.smoothness();
            assert!((numeric - slope(t, y)).abs() < tolerance, "t={t} y={y}: {numeric} {}", slope(t, y));
            steepest = steepest.max(slope(t, y).abs());
            let curvature = (slope(t + STEP, y) - slope(t, y)) / STEP;
            assert!(curvature >= -1e-4, "not convex at t={t} y={y}");
            sharpest = sharpest.max(curvature);
            t += STEP;
        }
        assert!(loss.slope(f32::NAN, y as f32).is_nan(), "NaN must be seen by the kernel, which drops it");
    }
    assert!(steepest <= loss.lipschitz() * (1.0 + 1e-6), "{steepest}");
    assert!(loss.lipschitz().is_infinite() || steepest > 0.99 * loss.lipschitz(), "{steepest}");
    assert!(sharpest <= loss.smoothness() * (1.0 + 1e-4), "{sharpest}");
    assert!(sharpest > 0.97 * loss.smoothness(), "{sharpest}");
}
