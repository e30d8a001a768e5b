//! Positive decimals of a fixed number of significant digits, in order: a search among them ends at a number that
//! prints as what was checked.

/// The largest number of digits at which every decimal reads back as a double of its own.
const MAX_DIGITS: u32 = 15;

/// All positive decimals of so many significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimals {
    digits: u32,
}

impl Decimals {
    /// Decimals of `digits` significant digits, clamped to 1 to 15.
    pub const fn new(digits: u32) -> Self {
        let digits = if digits < 1 { 1 } else { digits };
        Decimals { digits: if digits > MAX_DIGITS { MAX_DIGITS } else { digits } }
    }

    /// Decimals between one power of ten and the next.
    pub const fn per_decade(self) -> i128 {
        9 * self.least_mantissa()
    }

    const fn least_mantissa(self) -> i128 {
        10i128.pow(self.digits - 1)
    }

    /// The decimal at a position; 1 is at position 0.
    pub fn at(self, position: i128) -> f64 {
        let decade = position.div_euclid(self.per_decade());
        let mantissa = position.rem_euclid(self.per_decade()) + self.least_mantissa();
        let power = decade - i128::from(self.digits - 1);
        // Below and above the doubles this is 0 and infinity.
        format!("{mantissa}e{power}").parse().unwrap_or(f64::INFINITY)
    }

    /// The position of the smallest decimal that is not below a finite positive value.
    ///
    /// ```
    /// use rhograd::num::decimals::Decimals;
    /// let six = Decimals::new(6);
    /// assert_eq!(six.at(six.up(std::f64::consts::PI)), 3.1416);
    /// assert_eq!(six.at(six.up(3.1416)), 3.1416);
    /// assert_eq!(six.at(six.up(3.1416) - 1), 3.14159);
    /// ```
    pub fn up(self, value: f64) -> i128 {
        let text = format!("{:.*e}", self.digits as usize - 1, value);
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        let mantissa: i128 = mantissa.replace('.', "").parse().unwrap_or(self.least_mantissa());
        let nearest = power.parse::<i128>().unwrap_or(0) * self.per_decade() + mantissa - self.least_mantissa();
        if self.at(nearest) < value { nearest + 1 } else { nearest }
    }

    /// The position of the largest decimal that is not above a finite positive value.
    pub fn down(self, value: f64) -> i128 {
        let above = self.up(value);
        if self.at(above) > value { above - 1 } else { above }
    }
}

/// Numbers with so many significant digits, for files that need no more.
///
/// ```
/// assert_eq!(rhograd::num::decimals::rounded(&[0.123456, -20.07], 3), [0.123, -20.1]);
/// ```
pub fn rounded(numbers: &[f64], digits: usize) -> Vec<f64> {
    let short = |&number: &f64| format!("{number:.*e}", digits.saturating_sub(1)).parse().unwrap_or(number);
    numbers.iter().map(short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn positions_count_through_the_powers_of_ten() {
        let two = Decimals::new(2);
        assert_eq!([-1, 0, 1, 89, 90, 91, 180].map(|at| two.at(at)), [0.99, 1.0, 1.1, 9.9, 10.0, 11.0, 100.0]);
        assert_eq!(two.up(9.91), 90);
        assert_eq!(two.down(9.91), 89);
    }

    proptest! {
        #[test]
        fn neighbours_enclose_every_value(bits in 1u64.., digits in 1u32..16) {
            let value = f64::from_bits(bits >> 2);
            prop_assume!(value.is_normal() && value < 1e300);
            let all = Decimals::new(digits);
            let (low, high) = (all.down(value), all.up(value));
            prop_assert!(all.at(low) <= value && value <= all.at(high) && high - low <= 1);
            prop_assert!(all.at(low + 1) >= value && all.at(high - 1) <= value);
        }
    }
}
