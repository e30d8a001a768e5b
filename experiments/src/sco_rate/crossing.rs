//! Where the two terms of the rate are equal.

/// The row count at which a line of slope -1 through the first of pairs of rows and risk meets one of slope -1/2 through the
/// last, in logarithms; NaN without points.
///
/// The first is to lie where privacy limits and the last where sampling does. No law is assumed between them.
pub(super) fn crossing(points: &[(f64, f64)]) -> f64 {
    match (points.first(), points.last()) {
        (Some((few, high)), Some((many, low))) => (few * high).powi(2) / (many * low * low),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crossing_of_two_lines_is_found() {
        let law = |n: f64| (n, (3.0 / n.sqrt()).max(60.0 / n));
        assert!((crossing(&[20.0, 100.0, 5000.0].map(law)) / 400.0 - 1.0).abs() < 1e-9);
        assert!(crossing(&[]).is_nan());
    }
}
