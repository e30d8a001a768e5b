//! How likely noise lifts one row over a threshold.

use crate::error::{Error, Fallible};
use crate::num::root::last_whole;
use crate::num::round::{down, up};
use crate::num::special::normal_tail;
use crate::privacy::{Delta, MAX_LOG2_SCALE, ThresholdCharge};

/// Deviations beyond which a normal tail is below every double.
const FARTHEST: i128 = 39;

/// The probability that `row` with floored normal noise of scale `2^log2_scale` reaches `threshold`.
///
/// `P[row + floor(2^k Z) >= threshold] = Phi(-(threshold - row) / 2^k)`, as all three are integers.
///
/// # Privacy
/// An upper bound: rounded up; 1 where the threshold is not above `row`.
///
/// Reference: Karney 2016 (the floored normal); Karrer, Kifer, Wilkins and Zhang 2024 (thresholds under Gaussian noise).
pub fn lifted(row: u64, threshold: u64, log2_scale: u32) -> f64 {
    if threshold <= row || log2_scale > MAX_LOG2_SCALE {
        return 1.0;
    }
    let deviations = down((threshold - row) as f64, 1) / 2f64.powi(log2_scale as i32);
    // A tail that underflows is smaller than the smallest normal number all the same.
    up(normal_tail(deviations), 32).max(f64::MIN_POSITIVE)
}

/// The least threshold that one row reaches with probability at most `delta`.
///
/// # Errors
/// When there is none within 39 deviations of the noise.
///
/// Reference: as [`lifted`].
pub fn least_threshold(row: u64, log2_scale: u32, delta: Delta) -> Fallible<u64> {
    let none = || Error::parameter("delta", "is too small for a threshold", "use a larger delta, such as 1e-6");
    if row > 1 << MAX_LOG2_SCALE || log2_scale > MAX_LOG2_SCALE {
        return Err(none());
    }
    let holds = |excess: i128| -> Fallible<bool> {
        let threshold = row + u64::try_from(excess).unwrap_or(0);
        Ok(lifted(row, threshold, log2_scale) <= delta.value())
    };
    let farthest = FARTHEST << log2_scale;
    let excess = last_whole(1, farthest, farthest / 8, farthest / 64, holds)?.ok_or_else(none)?;
    Ok(row + u64::try_from(excess).unwrap_or(u64::MAX - row))
}

/// Checks that a record states no smaller delta than its threshold has.
///
/// # Errors
/// When it does.
pub fn confirm(event: &ThresholdCharge) -> Fallible<()> {
    if lifted(event.row, event.threshold, event.noised.log2_scale) <= event.delta {
        return Ok(());
    }
    let problem = "a threshold is lower than its delta allows";
    Err(Error::parameter("charge", problem, "the record is damaged: restore it from a copy"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_threshold_meets_its_delta_and_one_less_does_not() {
        for (k, delta) in [(0, 0.3), (4, 1e-3), (20, 1e-9), (50, 1e-300)] {
            let threshold = least_threshold(7, k, Delta::new(delta).unwrap()).unwrap();
            assert!(lifted(7, threshold, k) <= delta);
            assert!(lifted(7, threshold - (1 << k >> 30).max(1), k) > delta, "{k} {delta}");
        }
        // 4.7534243088228987 deviations leave 1e-6.
        let threshold = least_threshold(0, 30, Delta::new(1e-6).unwrap()).unwrap();
        assert!((threshold as f64 / 2f64.powi(30) - 4.753_424_308_822_899).abs() < 1e-8);
    }

    #[test]
    fn what_one_row_reaches_by_itself_is_certain() {
        assert_eq!(lifted(5, 5, 3), 1.0);
        assert_eq!(lifted(5, 4, 3), 1.0);
        assert_eq!(lifted(0, u64::MAX, 0), f64::MIN_POSITIVE);
        assert!(lifted(0, 1, 50) > 0.499);
    }
}
