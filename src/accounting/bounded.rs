//! Counts under noise that never leaves an interval: the largest error of all of them without a logarithm.
//!
//! `d` counts of which a row moves each by one at most get independent noise of a [`BoundedLaw`] on `-R..=R`. No error exceeds `R`, with certainty.
//! Gaussian noise of deviation `sigma` has a largest error of about `sigma sqrt(2 ln d)`; here `R = O(sqrt(d ln(1/delta)) / epsilon)` is enough.
//!
//! - *The pair.* Where all counts move, the output of one count has the laws of `Y` and `Y + 1`. The loss of the output `y` is
//!   `ln w(|y|) - ln w(|y - 1|)`; `-R` occurs with probability `w(R)/W` and tells all. So the pair fails outright with that probability, and is
//!   otherwise a pair of laws on `2 R` outcomes ([`losses`]). Of `d` such pairs the losses add up: [`Pld`] certifies the sum.
//! - *Both directions.* A mirror image turns `Y + 1` against `Y` into `Y - 1` against `Y`, and a move of the output that into `Y` against `Y + 1`: the
//!   law is symmetric, so both directions and both signs have one profile.
//! - *Adjacency.* Under add-remove a row moves every count by 0 or 1. Under replace-one it moves each by -1, 0 or 1, which by the mirror image
//!   is the same pair or none: the guarantee is the same number. Counts that a row moves further are not covered.
//! - *The shape.* In the limit of many counts only the Fisher information of the density on `(-1, 1)` counts, at least `pi^2` (that of `cos^2`), so `R` is at
//!   least `pi` times the deviation of Gaussian noise. A density that ends like a square leaves too much at the ends: [`Shape`] has two families that
//!   end faster, and [`least`] searches them.
//!
//! The guarantee is (epsilon, delta) for one vector of counts. Such noise has no rho, as its divergences of all orders are infinite; no charge
//! of the ledger and no release of a run has it. It is a mechanism for study and for those who call the library.
//!
//! ```
//! use rhograd::accounting::bounded::{Shape, least, losses};
//! use rhograd::noise::{NoiseSource, bounded_noise};
//! use rhograd::privacy::{Delta, Epsilon};
//! # fn main() -> rhograd::error::Fallible<()> {
//! let law = least(64, Epsilon::new(1.0)?, Delta::new(1e-6)?)?;
//! assert!(law.reach() >= 120 && law.reach() <= 150);
//! let errors = bounded_noise(&law, 64, &NoiseSource::from_os()?, 0)?;
//! assert!(errors.iter().all(|error| error.unsigned_abs() <= law.reach()));
//! // A shape of one's own choice, and what it costs.
//! let wide = Shape::Power(4.0).law(300)?;
//! let epsilon = losses(&wide, 64)?.epsilon(Delta::new(1e-6)?, 1e-3)?;
//! assert!(epsilon.upper < 1.0);
//! # Ok(())
//! # }
//! ```

use num_complex::Complex64;

use super::directed::{ln_delta_down, positive};
use super::gaussian;
use super::pld::{Interval, Pld};
use crate::error::{Error, Fallible};
use crate::num::fourier::{exponential_sums, ln_1p};
use crate::num::logs::ln_add_exp;
use crate::num::root::last_whole;
use crate::num::round::{down, up};
use crate::privacy::{BoundedLaw, Delta, Epsilon};

/// The largest `R` that is searched.
const MOST: u64 = 1 << 16;
/// Degrees and slopes of shapes that are searched, on a grid of so many steps at first, of few later, in rounds that narrow it.
const POWERS: (f64, f64) = (1.05, 64.0);
const SLOPES: (f64, f64) = (1e-3, 64.0);
const POINTS: u32 = 16;
const FEW: u32 = 4;
const ROUNDS: u32 = 3;
/// Frequencies of an estimate: at most so many runs of so many.
const RUNS: usize = 200;
const RUN: usize = 32;
/// Laws whose estimate of `ln delta` is further above the target than this are not looked at closely.
const HOPELESS: f64 = 1.0;
/// Relative width of the interval of delta that decides.
const TOLERANCE: f64 = 1e-4;

/// A family of weights, as functions of `x = y / (R + 1)`.
///
/// # Reference
/// Dagan and Kur 2022 (densities that fall faster than any power at both ends). Ten other families at epsilon 1, delta 1e-6 and 16, 256 and 4,096 counts had
/// no smaller reach by more than 1 or half a percent.
///
/// ```
/// use rhograd::accounting::bounded::Shape;
/// # fn main() -> rhograd::error::Fallible<()> {
/// let law = Shape::Power(1.0).law(3)?;
/// // In the ratios of 16 - y^2.
/// let ratio = law.weight(3) as f64 / law.weight(0) as f64;
/// assert!((ratio - 7.0 / 16.0).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// `(1 - x^2)^a` with the degree `a`: best for few counts.
    Power(f64),
    /// `(1 - x^2)^2 exp(-a (1/sqrt(1 - x^2) - 1))` with the slope `a`: best for many.
    Bump(f64),
}

impl Shape {
    /// The logarithm of the weight where `1 - x^2` is `rest`.
    fn ln_weight(self, rest: f64) -> f64 {
        match self {
            Shape::Power(degree) => degree * rest.ln(),
            Shape::Bump(slope) => 2.0 * rest.ln() - slope * (rest.sqrt().recip() - 1.0),
        }
    }

    /// Whole weights of this shape on `-R..=R`, as large as they may be; those below 1 become 1.
    ///
    /// # Errors
    /// When the degree or slope is not finite and positive, or `reach` is 0 or above 65,536.
    ///
    /// # Privacy
    /// The rounded weights are the law, and what [`losses`] accounts for: rounding here costs nothing that is not counted.
    pub fn law(self, reach: u64) -> Fallible<BoundedLaw> {
        let (Shape::Power(size) | Shape::Bump(size)) = self;
        positive("shape", size)?;
        if !(1..=MOST).contains(&reach) {
            return Err(Error::parameter("reach", format!("is {reach}"), "use a number from 1 to 65536"));
        }
        let most = BoundedLaw::MAX_WEIGHT.min(BoundedLaw::MAX_TOTAL / (2 * reach + 1)) as f64;
        let end = reach + 1;
        let weight = |y: u64| {
            // Both factors are whole numbers below 2^18.
            let rest = ((end - y) * (end + y)) as f64 / (end * end) as f64;
            (most * self.ln_weight(rest).exp()).floor().clamp(1.0, most) as u64
        };
        BoundedLaw::new((0..=reach).map(weight).collect())
    }
}

/// `ln(a / b)` of two positive numbers up to 2^53, to three units of rounding.
fn ln_ratio(a: u64, b: u64) -> f64 {
    if a >= b { ((a - b) as f64 / b as f64).ln_1p() } else { -ln_ratio(b, a) }
}

/// `ln` mass and loss of the outcomes `-R + 1, ..., R` of the pair, given that the output is one of them.
fn outcomes(law: &BoundedLaw) -> Vec<(f64, f64)> {
    let weights = law.weights();
    let kept = (law.total() - weights[weights.len() - 1]) as f64;
    let outcome = |to: u64, from: u64| ((to as f64 / kept).ln(), ln_ratio(to, from));
    let away = weights.windows(2).map(|two| outcome(two[1], two[0]));
    // Towards 0 from the left: the same two weights the other way round.
    let back = weights.windows(2).map(|two| outcome(two[0], two[1]));
    away.chain(back).collect()
}

/// The probability of `-R`, of which the neighbour is never.
fn failure(law: &BoundedLaw) -> f64 {
    law.weights()[law.weights().len() - 1] as f64 / law.total() as f64
}

/// The privacy loss of `counts` counts with noise of a law, of which a row moves each by one at most.
///
/// Each is `(P, Q)` with `P[y] = w(|y|)/W` and `Q[y] = w(|y - 1|)/W`; delta is `1 - (1 - w(R)/W)^d` and more at every epsilon. Ask the answer for
/// [`Pld::epsilon`] and [`Pld::ln_delta`], which have certified bounds.
///
/// # Errors
/// When `counts` is 0.
///
/// # Privacy
/// Holds under add-remove and under replace-one with the same numbers, in both directions, and for every vector of moves by -1, 0 or 1. Upper bounds are
/// rounded up.
///
/// # Reference
/// Zhu, Dong and Wang 2022, Theorem 10 (composition of pairs); Dagan and Kur 2022.
///
/// ```
/// use rhograd::accounting::bounded::losses;
/// use rhograd::privacy::{BoundedLaw, Delta, Epsilon};
/// # fn main() -> rhograd::error::Fallible<()> {
/// // One count, weights 1 2 4 2 1: at epsilon ln 2 only the end remains, of probability 1/10.
/// let law = BoundedLaw::new(vec![4, 2, 1])?;
/// let one = losses(&law, 1)?.ln_delta(Epsilon::new(2f64.ln())?, 1e-9)?;
/// assert!(one.contains(0.1f64.ln()) && one.width() < 1e-9);
/// // No epsilon is enough for a delta below that.
/// assert_eq!(losses(&law, 1)?.epsilon(Delta::new(0.05)?, 1e-3)?.upper, f64::INFINITY);
/// # Ok(())
/// # }
/// ```
pub fn losses(law: &BoundedLaw, counts: u64) -> Fallible<Pld> {
    check(counts)?;
    let ln_keep = (-failure(law)).ln_1p();
    let ln_keep = Interval { lower: down(ln_keep, 4), upper: up(ln_keep, 4) };
    Ok(Pld::symmetric(outcomes(law), ln_keep, counts))
}

fn check(counts: u64) -> Fallible<()> {
    if counts > 0 { Ok(()) } else { Err(Error::parameter("counts", "are 0", "use at least 1")) }
}

/// An estimate of `ln delta`: it proposes and decides nothing.
///
/// A Fourier sum along a vertical line as in [`pld`](super::pld), of the law that is tilted to a mean of epsilon, with windows and ends that are
/// good enough for three digits. A normal law at the saddle point would not do: a single loss from an end of the interval, rare but as large
/// as epsilon, counts as much as all small ones together.
fn estimate(law: &BoundedLaw, counts: f64, epsilon: f64) -> f64 {
    let terms: Vec<(f64, f64)> = outcomes(law).into_iter().map(|(ln_mass, loss)| (ln_mass.exp(), loss)).collect();
    let ln_failure = (-(counts * (-failure(law)).ln_1p()).exp_m1()).ln();
    let Some((c, ln_moment, deviation)) = saddle(&terms, counts, epsilon) else {
        return ln_failure;
    };
    let step = std::f64::consts::TAU / (12.0 * deviation).max(30.0 / c);
    let tilted: Vec<(f64, f64)> =
        terms.iter().map(|&(mass, loss)| (mass * (c * loss - ln_moment).exp(), loss * step)).collect();
    let mut sum = 0.0;
    for run in 0..RUNS {
        let mut size = 0.0;
        for (at, z) in exponential_sums(&tilted, (run * RUN) as f64, RUN).into_iter().enumerate() {
            let omega = step * (run * RUN + at) as f64;
            let ln = counts * ln_1p(z) - Complex64::new(0.0, omega * epsilon);
            let term = ln.exp() / (Complex64::new(c, omega) * Complex64::new(c + 1.0, omega));
            sum += if omega == 0.0 { 0.5 } else { 1.0 } * term.re;
            size += term.norm();
        }
        if size < 1e-6 * sum {
            break;
        }
    }
    let rest = counts * ln_moment - c * epsilon + (sum * step / std::f64::consts::PI).ln();
    if rest.is_nan() { ln_failure } else { ln_add_exp(ln_failure, rest) }
}

/// The tilt at which the losses have the mean epsilon, with `ln E e^(c L)` of one count and the deviation of all; none beyond the largest loss,
/// where nothing but failures is left.
fn saddle(terms: &[(f64, f64)], counts: f64, epsilon: f64) -> Option<(f64, f64, f64)> {
    let moments = |c: f64| {
        let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
        for &(mass, loss) in terms {
            let weight = mass * (c * loss).exp();
            sum += weight;
            first += weight * loss;
            second += weight * loss * loss;
        }
        let mean = first / sum;
        (f64::ln(sum), mean, second / sum - mean * mean)
    };
    // Newton within a bracket.
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut c = 1.0;
    for _ in 0..60 {
        let (ln_moment, mean, variance) = moments(c);
        let gap = counts * mean - epsilon;
        *(if gap > 0.0 { &mut high } else { &mut low }) = c;
        let next = c - gap / (counts * variance);
        let next = match (next > low && next < high, high.is_finite()) {
            (true, _) => next,
            (false, true) => f64::midpoint(low, high),
            (false, false) => 2.0 * c,
        };
        if (next - c).abs() < 1e-3 * c {
            return Some((c, ln_moment, (counts * variance).sqrt()));
        }
        c = next;
    }
    None
}

/// A family of shapes, and where its degree or slope is looked for: everywhere at first, then about what was best.
struct Family {
    shape: fn(f64) -> Shape,
    low: f64,
    high: f64,
    points: u32,
}

impl Family {
    fn new(shape: fn(f64) -> Shape, (low, high): (f64, f64)) -> Self {
        Family { shape, low, high, points: POINTS }
    }

    /// The best law of a reach by its estimate of `ln delta`, which comes with it.
    fn best(&mut self, reach: u64, counts: f64, epsilon: f64) -> Fallible<(f64, BoundedLaw)> {
        let mut best = (f64::INFINITY, self.low);
        for round in 0..ROUNDS {
            // A grid in logarithms, then a finer one about its best place.
            let factor = (self.high / self.low).powf(1.0 / f64::from(self.points));
            for at in 0..=self.points {
                let size = self.low * factor.powi(at.cast_signed());
                let found = estimate(&(self.shape)(size).law(reach)?, counts, epsilon);
                if found < best.0 {
                    best = (found, size);
                }
            }
            let near = if round + 1 < ROUNDS { factor } else { factor.powi(2).max(1.2) };
            (self.low, self.high, self.points) = (best.1 / near, best.1 * near, FEW);
        }
        Ok((best.0, (self.shape)(best.1).law(reach)?))
    }
}

/// The law of the smallest reach found that makes `counts` counts (epsilon, delta)-DP.
///
/// For each `R` the degree and the slope of both families of [`Shape`] are searched by an estimate; what [`losses`] then certifies at `R`
/// counts. The result is certified, and at `R - 1` nothing that was tried is.
///
/// # Errors
/// When `counts` is 0, epsilon is 0 or infinite, delta is below `counts / 2^62` (the ends of a law with whole weights have no less), or no reach up to
/// 65,536 is found; far beyond that none is searched.
///
/// # Privacy
/// The certified delta of the result at epsilon is at most delta, for one vector of counts of which a row moves each by at most one. Depends on public
/// numbers alone.
///
/// # Reference
/// Steinke and Ullman 2016 (`O(sqrt(d ln(1/delta) ln ln d)/epsilon)`); Dagan and Kur 2022 and Ghazi, Kumar and Manurangsi 2021
/// (`O(sqrt(d ln(1/delta))/epsilon)`). Their constants are not used: the reach is what the account allows.
///
/// ```
/// use rhograd::accounting::bounded::{least, losses};
/// use rhograd::privacy::{Delta, Epsilon};
/// # fn main() -> rhograd::error::Fallible<()> {
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let law = least(16, epsilon, delta)?;
/// assert!(losses(&law, 16)?.ln_delta(epsilon, 1e-3)?.upper <= 1e-6f64.ln());
/// assert!(least(0, epsilon, delta).is_err());
/// # Ok(())
/// # }
/// ```
pub fn least(counts: u64, epsilon: Epsilon, delta: Delta) -> Fallible<BoundedLaw> {
    check(counts)?;
    let size = positive("epsilon", epsilon.value())?;
    let target = ln_delta_down(delta);
    let hopeless = || {
        Error::refused(
            format!("no bounded noise of a reach up to {MOST} meets the budget for {counts} counts"),
            "ask for fewer counts, or for a larger epsilon or delta",
        )
    };
    let deviation = (counts as f64).sqrt() / gaussian::max_mu(epsilon, delta)?.max(f64::MIN_POSITIVE);
    // Two deviations of Gaussian noise are not enough for many counts: a search would end in this refusal, slowly.
    if 2.0 * deviation > MOST as f64 || delta.value() < counts as f64 / BoundedLaw::MAX_TOTAL as f64 {
        return Err(hopeless());
    }
    let guess = (3.7 * deviation).clamp(1.0, MOST as f64) as i128;
    let mut families = [Family::new(Shape::Power, POWERS), Family::new(Shape::Bump, SLOPES)];
    let mut found: Option<BoundedLaw> = None;
    let meets = |reach: i128| {
        let reach = u64::try_from(reach).unwrap_or(MOST);
        let proposals = families.iter_mut().map(|family| family.best(reach, counts as f64, size));
        let mut proposals = proposals.collect::<Fallible<Vec<_>>>()?;
        proposals.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (estimate, law) in proposals {
            if estimate > target + HOPELESS {
                continue;
            }
            if losses(&law, counts)?.ln_delta(epsilon, TOLERANCE)?.upper <= target {
                if found.as_ref().is_none_or(|known| known.reach() > reach) {
                    found = Some(law);
                }
                return Ok::<bool, Error>(true);
            }
        }
        Ok(false)
    };
    last_whole(1, i128::from(MOST), guess, 1 + guess / 16, meets)?;
    found.ok_or_else(hopeless)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact delta of `counts` counts of which the row moves the first `moved.len()` as given: a sum over all outputs.
    fn by_enumeration(law: &BoundedLaw, moves: &[i64], epsilon: f64, exchanged: bool) -> f64 {
        let (reach, total) = (law.reach() as i64, law.total() as f64);
        let outputs: Vec<i64> = (-reach - 1..=reach + 1).collect();
        let mut delta = 0.0;
        for index in 0..outputs.len().pow(moves.len() as u32) {
            let (mut here, mut there, mut rest) = (1.0, 1.0, index);
            for by in moves {
                let y = outputs[rest % outputs.len()];
                rest /= outputs.len();
                here *= law.weight(y) as f64 / total;
                there *= law.weight(y - by) as f64 / total;
            }
            let (p, q) = if exchanged { (there, here) } else { (here, there) };
            delta += f64::max(0.0, p - epsilon.exp() * q);
        }
        delta
    }

    fn law(weights: &[u64]) -> BoundedLaw {
        BoundedLaw::new(weights.to_vec()).unwrap()
    }

    #[test]
    fn losses_are_those_of_all_outputs_in_every_direction() {
        for weights in [&[9, 7, 4, 1][..], &[1000, 731, 200, 13, 1], &[5, 6, 2], &[3, 1]] {
            let law = law(weights);
            for counts in 1..=4usize {
                for epsilon in [0.0, 0.1, 0.7, 1.3, 3.0, 9.0] {
                    let found =
                        losses(&law, counts as u64).unwrap().ln_delta(Epsilon::new(epsilon).unwrap(), 1e-9).unwrap();
                    let truth = by_enumeration(&law, &vec![1; counts], epsilon, false);
                    let (low, high) = (found.lower.exp(), found.upper.exp());
                    assert!(
                        low <= truth * (1.0 + 1e-12) && truth <= high * (1.0 + 1e-12),
                        "{weights:?} {counts} {epsilon}"
                    );
                    assert!(high - low <= 1e-8 * truth, "{weights:?} {counts} {epsilon}: {low} {high}");
                    // The other direction, other signs, and counts that stay.
                    assert!((by_enumeration(&law, &vec![1; counts], epsilon, true) - truth).abs() <= 1e-12);
                    for mut moves in [vec![1; counts], vec![-1; counts]] {
                        moves[0] = -moves[0];
                        assert!((by_enumeration(&law, &moves, epsilon, false) - truth).abs() <= 1e-12);
                        moves[0] = 0;
                        assert!(by_enumeration(&law, &moves, epsilon, true) <= truth + 1e-12);
                    }
                }
            }
        }
    }

    #[test]
    fn a_certified_epsilon_is_never_below_that_of_all_outputs() {
        for (weights, counts) in [(&[900, 700, 300, 60, 4, 1][..], 3usize), (&[64, 32, 8, 1], 4)] {
            let law = law(weights);
            for delta in [0.02, 0.1, 0.3] {
                let found = losses(&law, counts as u64).unwrap().epsilon(Delta::new(delta).unwrap(), 1e-6).unwrap();
                let at = |epsilon: f64| by_enumeration(&law, &vec![1; counts], epsilon, false);
                if found.upper == f64::INFINITY {
                    assert!(at(60.0) >= delta * (1.0 - 1e-9));
                    continue;
                }
                assert!(at(found.upper) <= delta * (1.0 + 1e-12), "{weights:?} {delta}: {found:?}");
                assert!(
                    found.lower == 0.0 || at(found.lower - 1e-6) >= delta * (1.0 - 1e-9),
                    "{weights:?} {delta}: {found:?}"
                );
            }
        }
    }

    /// The account by sums of atoms and that by Fourier sums, which needs no more than the losses of one count.
    #[test]
    fn long_and_short_sums_agree() {
        // Weights that are powers of two have losses on a grid: an exact convolution of any number of counts.
        let powers = [20u32, 19, 17, 14, 10, 5];
        let law = law(&powers.map(|power| 1 << power));
        let (failure, mut chances) = (failure(&law), vec![1.0]);
        let (counts, most) = (64usize, 5usize);
        let kept = law.total() as f64 - 32.0;
        for _ in 0..counts {
            let mut next = vec![0.0; chances.len() + 2 * most];
            for (at, chance) in chances.iter().enumerate() {
                for two in powers.windows(2) {
                    let loss = (two[0] - two[1]) as usize;
                    next[at + most + loss] += chance * f64::from(1u32 << two[0]) / kept;
                    next[at + most - loss] += chance * f64::from(1u32 << two[1]) / kept;
                }
            }
            chances = next;
        }
        let fails = -(counts as f64 * (-failure).ln_1p()).exp_m1();
        for epsilon in [0.5, 5.0, 20.0, 60.0] {
            let part = |(at, chance): (usize, &f64)| {
                let loss = (at as f64 - (counts * most) as f64) * std::f64::consts::LN_2;
                chance * f64::max(0.0, -(epsilon - loss).exp_m1())
            };
            let truth = fails + (1.0 - fails) * chances.iter().enumerate().map(part).sum::<f64>();
            let found = losses(&law, counts as u64).unwrap().ln_delta(Epsilon::new(epsilon).unwrap(), 1e-6).unwrap();
            assert!(
                found.lower - 1e-12 <= truth.ln() && truth.ln() <= found.upper + 1e-12,
                "{epsilon}: {found:?} {}",
                truth.ln()
            );
            assert!(found.width() < 1e-3, "{epsilon}: {found:?}");
        }
    }

    #[test]
    fn the_smallest_reach_is_certified_and_grows_with_the_root_of_the_counts() {
        let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        let reach = |counts: u64| {
            let law = least(counts, epsilon, delta).unwrap();
            let found = losses(&law, counts).unwrap().epsilon(delta, 1e-4).unwrap();
            assert!(found.upper <= 1.0 + 1e-9 && found.lower > 0.9, "{counts}: {found:?}");
            law.reach()
        };
        // An independent search in double precision, by a characteristic function, gives 80 and 250.
        assert!((78..=82).contains(&reach(16)) && (247..=252).contains(&reach(256)), "{} {}", reach(16), reach(256));
        assert!(least(4, Epsilon::new(3.0).unwrap(), delta).unwrap().reach() < reach(4));
    }

    #[test]
    fn estimates_are_close_to_what_is_certified() {
        for (shape, reach, counts) in
            [(Shape::Power(4.0), 250, 256u64), (Shape::Bump(1.0), 900, 4096), (Shape::Power(6.0), 80, 16)]
        {
            let law = shape.law(reach).unwrap();
            let found = losses(&law, counts).unwrap().ln_delta(Epsilon::new(1.0).unwrap(), 1e-6).unwrap();
            let near = estimate(&law, counts as f64, 1.0);
            assert!((near - found.upper).abs() < 0.01, "{shape:?}: {found:?} {near}");
        }
    }

    #[test]
    fn what_is_impossible_is_refused() {
        let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        assert!(least(0, epsilon, delta).is_err() && losses(&law(&[2, 1]), 0).is_err());
        assert!(least(1, Epsilon::new(0.0).unwrap(), delta).is_err());
        assert!(least(1, Epsilon::INFINITE, delta).is_err());
        assert!(Shape::Power(0.0).law(9).is_err() && Shape::Bump(f64::NAN).law(9).is_err());
        assert!(Shape::Power(2.0).law(0).is_err() && Shape::Power(2.0).law(MOST + 1).is_err());
        assert!(least(1 << 40, epsilon, delta).is_err() && least(5, epsilon, Delta::new(1e-18).unwrap()).is_err());
        // The ends of the range are laws.
        assert!(Shape::Power(1e3).law(MOST).is_ok() && Shape::Bump(1e3).law(1).is_ok());
    }
}
