//! Numbers on the integer grid of their bounds.

use crate::grid::FULL_SCALE;

/// Maps `lower..=upper` to `-FULL_SCALE..=FULL_SCALE`, clamping, and NaN to the middle; halves go away from zero.
#[inline(always)]
pub(crate) fn quantize(value: f64, lower: f64, upper: f64) -> i16 {
    let value = value.clamp(lower, upper);
    let centred = (value - lower) / (upper - lower) * 2.0 - 1.0;
    let scaled = centred * f64::from(FULL_SCALE);
    // `round` without a call: below 2^52, adding the largest number under a half carries exactly what is at least a half
    // over the next integer, and the conversion drops the rest.
    (scaled + 0.5f64.next_down().copysign(scaled)) as i32 as i16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantized_values_stay_in_range(bits in any::<u64>(), lower in -1e9f64..1e9, width in 1e-9f64..1e9) {
            let v = f64::from_bits(bits);
            prop_assume!(!v.is_nan() && lower + width > lower);
            let q = quantize(v, lower, lower + width);
            prop_assert!((-FULL_SCALE..=FULL_SCALE).contains(&q));
        }

        #[test]
        fn values_are_rounded_as_the_standard_library_rounds(
            scaled in prop_oneof![
                -32767.0f64..=32767.0, (-65534i32..=65534).prop_map(|k| f64::from(k) / 2.0),
                (-65534i32..=65534).prop_map(|k| (f64::from(k) / 2.0).next_down()),
                (-65534i32..=65534).prop_map(|k| (f64::from(k) / 2.0).next_up())],
        ) {
            let centred = scaled / f64::from(FULL_SCALE);
            let expected = ((centred.clamp(-1.0, 1.0) + 1.0) / 2.0 * 2.0 - 1.0) * f64::from(FULL_SCALE);
            prop_assert_eq!(quantize(centred, -1.0, 1.0), expected.round() as i16);
        }
    }

    #[test]
    fn what_is_no_number_is_in_the_middle() {
        assert_eq!(quantize(f64::NAN, -1.0, 7.0), 0);
        assert_eq!(quantize(f64::INFINITY, -1.0, 7.0), FULL_SCALE);
        assert_eq!(quantize(f64::NEG_INFINITY, -1.0, 7.0), -FULL_SCALE);
    }

    #[test]
    fn halves_go_away_from_zero() {
        for k in -65534i32..=65534 {
            for near in [f64::from(k) / 2.0, (f64::from(k) / 2.0).next_up(), (f64::from(k) / 2.0).next_down()] {
                let rounded = (near + 0.5f64.next_down().copysign(near)) as i32;
                assert_eq!(rounded, near.round() as i32, "{near}");
            }
        }
    }
}
