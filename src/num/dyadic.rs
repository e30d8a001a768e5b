//! Exact nonnegative rationals whose denominator is a power of two.

use num_bigint::BigUint;

/// An exact number `numerator / 2^log2_denominator`, nonnegative, always in lowest terms.
///
/// Every finite `f64` is such a number, and so is every zCDP cost `Delta^2 / 2^(2k+1)` of noise of
/// scale `2^k`, so budgets and costs are compared and added without rounding.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Dyadic {
    numerator: BigUint,
    log2_denominator: u32,
}

impl Dyadic {
    /// Zero.
    pub fn zero() -> Self {
        Self::default()
    }

    /// `numerator / 2^log2_denominator`.
    pub fn new(numerator: BigUint, log2_denominator: u32) -> Self {
        let mut it = Dyadic { numerator, log2_denominator };
        it.reduce();
        it
    }

    /// The exact value of a finite, nonnegative `f64`; `None` for anything else.
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() || value < 0.0 {
            return None;
        }
        let bits = value.to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as i64;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, power) = if exponent == 0 { (fraction, -1074) } else { (fraction | (1 << 52), exponent - 1075) };
        Some(if power >= 0 {
            Self::new(BigUint::from(mantissa) << power as u64, 0)
        } else {
            Self::new(BigUint::from(mantissa), (-power) as u32)
        })
    }

    /// Parses decimal digits of a numerator over `2^log2_denominator`; `None` if they are not digits.
    pub fn parse(numerator: &str, log2_denominator: u32) -> Option<Self> {
        let digits = !numerator.is_empty() && numerator.bytes().all(|b| b.is_ascii_digit());
        let value = if digits { numerator.parse().ok() } else { None };
        value.map(|n| Self::new(n, log2_denominator))
    }

    fn reduce(&mut self) {
        match self.numerator.trailing_zeros() {
            None => self.log2_denominator = 0,
            Some(zeros) => {
                let shift = zeros.min(u64::from(self.log2_denominator));
                self.numerator >>= shift;
                self.log2_denominator -= shift as u32;
            }
        }
    }

    /// The numerator in lowest terms.
    pub fn numerator(&self) -> &BigUint {
        &self.numerator
    }

    /// The base-2 logarithm of the denominator in lowest terms.
    pub fn log2_denominator(&self) -> u32 {
        self.log2_denominator
    }

    /// Whether the value is zero.
    pub fn is_zero(&self) -> bool {
        self.numerator == BigUint::ZERO
    }

    fn aligned(&self, other: &Self) -> (BigUint, BigUint, u32) {
        let to = self.log2_denominator.max(other.log2_denominator);
        (&self.numerator << (to - self.log2_denominator), &other.numerator << (to - other.log2_denominator), to)
    }

    /// The exact sum.
    pub fn plus(&self, other: &Self) -> Self {
        let (a, b, denominator) = self.aligned(other);
        Self::new(a + b, denominator)
    }

    /// The exact difference, or zero when `other` is larger.
    pub fn saturating_minus(&self, other: &Self) -> Self {
        let (a, b, denominator) = self.aligned(other);
        if a <= b { Self::zero() } else { Self::new(a - b, denominator) }
    }

    /// The exact product with an integer.
    pub fn times(&self, factor: u64) -> Self {
        Self::new(&self.numerator * factor, self.log2_denominator)
    }

    /// The smallest `f64` that is not below the value; infinity when none is finite.
    pub fn to_f64_up(&self) -> f64 {
        let down = self.to_f64_down();
        match Self::from_f64(down) {
            Some(back) if back == *self => down,
            _ => down.next_up(),
        }
    }

    /// The largest finite `f64` that is not above the value.
    pub fn to_f64_down(&self) -> f64 {
        let bits = self.numerator.bits();
        if bits == 0 {
            return 0.0;
        }
        // Keep 53 leading bits, fewer when the result is subnormal, and drop the rest.
        let exponent = bits as i64 - i64::from(self.log2_denominator); // value in [2^(e-1), 2^e)
        if exponent > 1024 {
            return f64::MAX;
        }
        let keep = 53.min(exponent + 1074);
        if keep <= 0 {
            return 0.0;
        }
        let drop = bits as i64 - keep;
        let lead = if drop >= 0 { &self.numerator >> drop as u64 } else { &self.numerator << (-drop) as u64 };
        let mantissa = lead.iter_u64_digits().next().unwrap_or(0) as f64;
        scale_by_power_of_two(mantissa, drop - i64::from(self.log2_denominator))
    }

    /// A decimal with `digits` significant digits whose exact value is never below this one.
    pub fn to_decimal_up(&self, digits: u32) -> String {
        if self.is_zero() {
            return "0".into();
        }
        let digits = i64::from(digits.clamp(1, 17));
        // The exponent of the nearest double may be one off; then one digit more or fewer is shown.
        let exponent = self.to_f64_up().log10().floor().clamp(-400.0, 400.0) as i64;
        let places = digits - 1 - exponent;
        let power = BigUint::from(10u8).pow(places.unsigned_abs() as u32);
        let (numerator, denominator) = match places >= 0 {
            true => (&self.numerator * power, BigUint::from(1u8) << self.log2_denominator),
            false => (self.numerator.clone(), power << self.log2_denominator),
        };
        let whole = (numerator + &denominator - 1u8) / denominator;
        crate::num::round::plain(&whole.to_string(), -places)
    }
}

/// `x * 2^power` for an `x` and a result that are exactly representable.
fn scale_by_power_of_two(x: f64, power: i64) -> f64 {
    let mut x = x;
    let mut left = power;
    while left != 0 {
        let step = left.clamp(-1000, 1000);
        x *= 2f64.powi(step as i32);
        left -= step;
    }
    x
}

impl PartialOrd for Dyadic {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Dyadic {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let (a, b, _) = self.aligned(other);
        a.cmp(&b)
    }
}

impl std::iter::Sum for Dyadic {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::zero(), |total, part| total.plus(&part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_twentieth_two_hundred_times_is_not_ten() {
        let part = Dyadic::from_f64(0.05).unwrap();
        assert_ne!(part.times(200), Dyadic::from_f64(10.0).unwrap());
        assert_eq!(Dyadic::from_f64(0.25).unwrap().times(8), Dyadic::from_f64(2.0).unwrap());
    }

    #[test]
    fn decimals_are_never_below_the_exact_value() {
        // The double nearest 0.1 lies above it, so six digits must go up.
        assert_eq!(Dyadic::from_f64(0.1).unwrap().to_decimal_up(6), "0.100001");
        assert_eq!(Dyadic::from_f64(0.25).unwrap().to_decimal_up(6), "0.25");
        assert_eq!(Dyadic::from_f64(123_456.0).unwrap().to_decimal_up(3), "124000");
        assert_eq!(Dyadic::from_f64(99_999.0).unwrap().to_decimal_up(3), "100000");
        assert_eq!(Dyadic::from_f64(1e-9).unwrap().to_decimal_up(2), "1.1e-9");
        assert_eq!(Dyadic::zero().to_decimal_up(3), "0");
    }

    #[test]
    fn rejects_what_is_not_a_number() {
        for bad in [f64::NAN, f64::INFINITY, -1.0, -0.5e-300] {
            assert_eq!(Dyadic::from_f64(bad), None);
        }
        assert_eq!(Dyadic::parse("", 3), None);
        assert_eq!(Dyadic::parse("+1", 3), None);
    }

    #[test]
    fn rounding_brackets_the_value() {
        let third = Dyadic::new((BigUint::from(1u8) << 200u32) / 3u8, 200);
        assert!(third.to_f64_down() < third.to_f64_up());
        assert!(Dyadic::from_f64(third.to_f64_down()).unwrap() < third);
        assert!(Dyadic::from_f64(third.to_f64_up()).unwrap() > third);
        let tiny = Dyadic::new(BigUint::from(1u8), 1100);
        assert_eq!((tiny.to_f64_down(), tiny.to_f64_up()), (0.0, f64::from_bits(1)));
        let huge = Dyadic::new(BigUint::from(1u8) << 2000u32, 0);
        assert_eq!(huge.to_f64_up(), f64::INFINITY);
    }

    proptest! {
        #[test]
        fn every_float_survives_the_round_trip(bits in any::<u64>()) {
            let x = f64::from_bits(bits & !(1 << 63));
            prop_assume!(x.is_finite());
            let exact = Dyadic::from_f64(x).unwrap();
            prop_assert_eq!(exact.to_f64_up(), x);
            prop_assert_eq!(exact.to_f64_down(), x);
        }

        #[test]
        fn sums_and_differences_agree(a in 0.0f64..1e3, b in 0.0f64..1e-3) {
            let (x, y) = (Dyadic::from_f64(a).unwrap(), Dyadic::from_f64(b).unwrap());
            prop_assert_eq!(x.plus(&y).saturating_minus(&y), x);
        }
    }
}
