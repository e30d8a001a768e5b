//! The way back from (epsilon, delta) at every delta to concentrated privacy: the converse of the tail bound.
//!
//! A mechanism is `(xi + 2 sqrt(rho ln(1/delta)), delta)`-DP for every delta exactly where its privacy profile satisfies
//! `delta(t) <= e^(-(t - xi)^2 / (4 rho))` for every `t >= xi`. Such a promise bounds every Renyi divergence, because these are
//! integrals of the profile: with `delta(t)` for P against Q and `delta'(t)` for Q against P,
//!
//! `E_Q[(dP/dQ)^a] = 1 + a (a-1) integral_0^inf [e^((a-1) t) delta(t) + e^(-a t) delta'(t)] dt`.
//!
//! It follows from `f(x) = 1 + integral f''(g) (x - g)_+ dg` over `g > 1` and `(g - x)_+` over `g < 1`, for
//! `f(x) = x^a - a (x - 1)`, with `g = e^t` and `g = e^-t` (Liese and Vajda 2006; Sason and Verdu 2016).
//!
//! Below `xi` the promise says nothing by itself, but profiles are convex in `e^t`, and that of P against Q decides that of Q
//! against P, as `dP/dQ` has the mean 1 under Q. So between `t = -s` and `t = s` the profile lies below a straight line in
//! `e^t`; the best one touches the promise at `s`. What is left is convex, so two laws with exactly this profile exist
//! (Zhu, Dong and Wang 2022), and no smaller bound follows from the promise at any order. The integral has a closed form.
//!
//! ```
//! use rhograd::accounting::notion::Zcdp;
//! use rhograd::accounting::profile::SubgaussianProfile;
//! # fn main() -> rhograd::error::Fallible<()> {
//! // What (epsilon, delta) at every delta remembers of a Gaussian mechanism of rho 0.01.
//! let promise = SubgaussianProfile::of_zcdp(Zcdp::new(0.0, 0.01)?)?;
//! assert!((promise.to_zcdp()?.rho() - 0.0943117).abs() < 1e-6);
//! // With the slope that it had there is a constant part.
//! assert!((promise.to_zcdp_of_slope(0.01)?.xi() - 0.295111).abs() < 1e-5);
//! # Ok(())
//! # }
//! ```

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::directed::{UNIT, add_up, nonnegative, order, raised};
use super::notion::ApproximateDp;
use super::rdp::mechanisms::{pure, pure_rho};
use super::zcdp::Zcdp;
use crate::error::{Error, Fallible};
use crate::num::logs::ln_add_exp;
use crate::num::round::{down, up};
use crate::num::special::{LN_SQRT_TAU, ln_normal_tail, mills};
use crate::privacy::Epsilon;

/// Smaller slopes are counted as this one, so that no square is rounded to nothing.
const LEAST_RHO: f64 = 1e-280;

/// How far a chord may lie above what some order reaches, in units of the divergence at order 1, or of the slope of large orders.
const TOLERANCE: f64 = 1e-9;

/// How many orders are looked at, at most.
const ORDERS: u32 = 20_000;

/// (epsilon, delta)-DP for every delta at once: `(xi + 2 sqrt(rho ln(1/delta)), delta)`.
///
/// It holds for neighbours in either order, under the relation of the guarantee that it states, and is closed under
/// post-processing as that is. Composition goes through [`SubgaussianProfile::to_zcdp`].
///
/// # Reference
/// Bun and Steinke 2016, Lemma 3.7, whose premise it is; Balle, Barthe and Gaboardi 2018 (privacy profiles).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SubgaussianProfile {
    xi: f64,
    rho: f64,
}

/// The profile between `-s` and `s`: `variation - slope (e^t - 1)`, and what it is at `s`.
struct Line {
    /// Where it touches the promise.
    end: f64,
    /// At least `ln delta(s)`.
    ln_touched: f64,
    /// At least the total variation `tanh(s/2) + 2 delta(s) / (e^s + 1)`.
    variation: f64,
    /// `(1 - delta(s)) / (1 + e^-s)`, which is `slope e^s`.
    steep: f64,
}

/// Which of the two constants of a zCDP guarantee is wanted.
#[derive(Clone, Copy)]
enum Wanted {
    /// `sup (D_a - slope a)`.
    Constant { slope: f64 },
    /// `sup D_a / a`.
    Slope,
}

impl Wanted {
    /// The number at `a = 1 + b` for a divergence.
    fn at(self, b: f64, divergence: f64) -> f64 {
        match self {
            Wanted::Constant { slope } => divergence - slope * (1.0 + b),
            Wanted::Slope => divergence / (1.0 + b),
        }
    }

    /// Where it is largest if `b D` is `constant + growth b`.
    fn peak(self, constant: f64, growth: f64) -> f64 {
        if constant >= 0.0 {
            return 0.0;
        }
        match self {
            Wanted::Constant { slope } => (-constant / slope).sqrt(),
            Wanted::Slope => (-constant + (constant * (constant - growth)).sqrt()) / growth,
        }
    }
}

impl SubgaussianProfile {
    /// A promise from its two constants.
    ///
    /// # Errors
    /// When `xi` or `rho` is negative or NaN.
    pub fn new(xi: f64, rho: f64) -> Fallible<Self> {
        Ok(SubgaussianProfile { xi: nonnegative("xi", xi)?, rho: nonnegative("rho", rho)? })
    }

    /// What the classical conversion of a zCDP guarantee promises.
    ///
    /// `(xi + rho, rho)`, rounded up.
    ///
    /// # Errors
    /// Never for a valid value; the constants are checked again.
    ///
    /// # Reference
    /// Bun and Steinke 2016, Lemma 3.5.
    pub fn of_zcdp(zcdp: Zcdp) -> Fallible<Self> {
        Self::new(add_up(zcdp.xi(), zcdp.rho()), zcdp.rho())
    }

    /// The constant part of epsilon.
    pub fn xi(self) -> f64 {
        self.xi
    }

    /// The rho in `2 sqrt(rho ln(1/delta))`, the rest of epsilon.
    pub fn rho(self) -> f64 {
        self.rho
    }

    /// Whether nothing is promised.
    fn is_void(self) -> bool {
        self.xi == f64::INFINITY || self.rho == f64::INFINITY
    }

    /// The line that touches the promise.
    fn line(self) -> Line {
        if self.rho == 0.0 {
            let variation = raised((self.xi / 2.0).tanh(), 1.0, 8.0).min(1.0);
            return Line {
                end: self.xi,
                ln_touched: f64::NEG_INFINITY,
                variation,
                steep: 1.0 / (1.0 + (-self.xi).exp()),
            };
        }
        let root = self.rho.sqrt();
        // z = (s - xi) / (2 sqrt rho) solves e^(z^2) - 1 = z (1 + e^-s) / sqrt rho; any other one is only less tight.
        let beyond = |z: f64| (z * z).exp_m1() * root > z * (1.0 + (-self.xi - 2.0 * root * z).exp());
        let (mut low, mut high) = (0.0, 40.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if beyond(middle) { high = middle } else { low = middle }
        }
        let end = up(self.xi + 2.0 * root * high, 1);
        let ln_touched = self.ln_promised(end);
        let touched = up(ln_touched.exp(), 2).min(1.0);
        let variation = (end / 2.0).tanh() + 2.0 * touched / (end.exp() + 1.0);
        let steep = (1.0 - touched) / (1.0 + (-end).exp());
        Line { end, ln_touched, variation: raised(variation, variation, 16.0).min(1.0), steep }
    }

    /// `-(t - xi)^2 / (4 rho)`, rounded up, for `t >= xi` and a positive rho.
    fn ln_promised(self, t: f64) -> f64 {
        let z = down(t - self.xi, 1).max(0.0) / up(2.0 * up(self.rho.sqrt(), 1), 1);
        -down(down(z, 1).max(0.0).powi(2), 1).max(0.0)
    }

    /// The logarithm of the least delta that follows for an epsilon.
    ///
    /// `e^(-(epsilon - xi)^2 / (4 rho))` from some epsilon on, below it `TV - c (e^epsilon - 1)`, where `TV` is the total variation.
    ///
    /// # Errors
    /// Never for a valid value; the result is checked again.
    ///
    /// # Privacy
    /// An upper bound, rounded up; two laws with this profile exist.
    ///
    /// # Reference
    /// Kairouz, Oh and Viswanath 2015 (the total variation); Zhu, Dong and Wang 2022 (which profiles there are).
    ///
    /// ```
    /// use rhograd::accounting::profile::SubgaussianProfile;
    /// use rhograd::privacy::Epsilon;
    /// let promise = SubgaussianProfile::new(1.0, 0.01).unwrap();
    /// // The promise is silent below 1.
    /// assert!(promise.to_approximate_dp(Epsilon::new(0.5).unwrap()).unwrap().delta() < 0.5);
    /// ```
    pub fn to_approximate_dp(self, epsilon: Epsilon) -> Fallible<ApproximateDp> {
        let e = epsilon.value();
        let with = |ln_delta: f64| ApproximateDp::from_epsilon_and_ln_delta(e, ln_delta.min(0.0));
        if self.is_void() {
            return with(if e == f64::INFINITY { f64::NEG_INFINITY } else { 0.0 });
        }
        let line = self.line();
        if e >= line.end {
            let silent = self.rho == 0.0 || e == f64::INFINITY;
            return with(if silent { f64::NEG_INFINITY } else { self.ln_promised(e) });
        }
        // slope (e^epsilon - 1), as a share of the slope at the end.
        let fallen = line.steep * ((e - line.end).exp() - (-line.end).exp());
        let straight = up(raised(line.variation - fallen, line.variation + 2.0 * line.steep, 16.0).ln(), 2);
        let promised = if e >= self.xi && self.rho > 0.0 { self.ln_promised(e) } else { 0.0 };
        with(straight.min(promised))
    }

    /// The largest Renyi divergence that the promise allows at an order.
    ///
    /// `ln(1 + a (a-1) I) / (a-1)` with the integral `I` of the module; at order 1 it is `I`, the Kullback-Leibler divergence.
    ///
    /// # Errors
    /// When `alpha` is below 1 or NaN.
    ///
    /// # Privacy
    /// An upper bound, rounded up by some 1e-13 of its size; attained by two laws at every order.
    ///
    /// # Reference
    /// Sason and Verdu 2016, on f-divergences as integrals; Liese and Vajda 2006.
    ///
    /// ```
    /// use rhograd::accounting::profile::SubgaussianProfile;
    /// // Nothing but a constant is pure privacy, whose worst case is randomised response.
    /// let pure = SubgaussianProfile::new(1.0, 0.0).unwrap();
    /// assert!((pure.renyi(2.0).unwrap() - 0.7353256640555192).abs() < 1e-12);
    /// ```
    pub fn renyi(self, alpha: f64) -> Fallible<f64> {
        let alpha = order(alpha)?;
        if self.is_void() {
            return Ok(f64::INFINITY);
        }
        if self.rho == 0.0 {
            return pure(self.xi, alpha);
        }
        if alpha == f64::INFINITY {
            return Ok(f64::INFINITY);
        }
        let safe = self.far_from_zero();
        // Above 2 the difference may be rounded; a larger order has no smaller divergence.
        let excess = alpha - 1.0;
        Ok(safe.divergence(&safe.line(), if alpha > 2.0 { up(excess, 1) } else { excess }))
    }

    /// This promise or a weaker one, whose squares are numbers.
    fn far_from_zero(self) -> Self {
        SubgaussianProfile { rho: self.rho.max(LEAST_RHO), ..self }
    }

    /// [`SubgaussianProfile::renyi`] at order `1 + b`, for a positive rho.
    fn divergence(self, line: &Line, b: f64) -> f64 {
        let a = up(1.0 + b, 1);
        let s = line.end;
        let part = |x: f64| -(-x * s).exp_m1();
        let (near, far) = (if b == 0.0 { s } else { part(b) / b }, part(a) / a);
        // All integrals are divided by e^(b s). Up to s, in the order of their signs:
        let weight = line.variation * (near + (-b * s).exp() * far) + line.steep * (-s).exp() * (near * part(b));
        let fall = line.steep * (far * part(a));
        let straight = raised(weight - fall, weight + fall, 24.0);
        // From s on, for normal tails whose arguments are rounded down.
        let deviation = (2.0 * self.rho).sqrt();
        let tail = |shift: f64| {
            let (reach, moved) = (s - self.xi, 2.0 * self.rho * shift);
            ln_mills((reach + moved - 6.0 * UNIT * (reach + moved.abs())) / deviation)
        };
        let base = line.ln_touched + deviation.ln();
        let safe = |(value, size): (f64, f64), fallen: f64| {
            base + value - fallen + 16.0 * UNIT * (4.0 + base.abs() + size + 2.0 * fallen)
        };
        let curved = ln_add_exp(safe(tail(-b), 0.0), safe(tail(a), (a + b) * s));
        let ln_integral = b * s + ln_add_exp(straight.ln(), curved);
        let ln_integral = ln_integral + 16.0 * UNIT * (4.0 + 3.0 * b * s + ln_integral.abs() + straight.ln().abs());
        if b == 0.0 {
            return up(ln_integral.exp(), 4);
        }
        let ln_excess = ln_integral + a.ln() + b.ln();
        let ln_moment = if ln_excess > 0.0 { ln_excess + (-ln_excess).exp().ln_1p() } else { ln_excess.exp().ln_1p() };
        raised(ln_moment / b, (ln_moment + ln_moment.min(1.0) * (a.ln() + b.ln().abs() + 2.0)) / b, 8.0)
    }

    /// The zCDP guarantee without a constant part that the promise implies.
    ///
    /// The least rho with `D_a <= rho a` at every order, for the divergences of [`SubgaussianProfile::renyi`].
    ///
    /// # Errors
    /// Never for a valid value; the result is checked again.
    ///
    /// # Privacy
    /// An upper bound, at most some 1e-9 of its size above the least one; 1e-6 where rho is below 1e-8, for then many orders are nearly as bad. `(a-1) D_a` is convex in the order, so a chord bounds it
    /// between two orders; beyond the largest order tried the integral is bounded by a normal one.
    ///
    /// # Reference
    /// Bun and Steinke 2016, Lemma 3.7 in another form; van Erven and Harremoes 2014 (convexity).
    pub fn to_zcdp(self) -> Fallible<Zcdp> {
        Zcdp::new(0.0, self.supremum(Wanted::Slope)?)
    }

    /// The zCDP guarantee of a given slope that the promise implies.
    ///
    /// The least xi with `D_a <= xi + slope a` at every order; 0 from the rho of [`SubgaussianProfile::to_zcdp`] on.
    ///
    /// # Errors
    /// When `slope` is below rho, as no constant is enough then, or NaN.
    ///
    /// # Privacy
    /// An upper bound, above the least one by at most 1e-9 of the divergence at order 1 and the rounding at the worst order; found as
    /// [`SubgaussianProfile::to_zcdp`] says.
    ///
    /// # Reference
    /// Bun and Steinke 2016, Lemma 3.7, for the slope of the promise.
    pub fn to_zcdp_of_slope(self, slope: f64) -> Fallible<Zcdp> {
        let slope = nonnegative("slope", slope)?;
        if slope < self.rho {
            return Err(Error::parameter("slope", "is below that of the promise", "give rho or more"));
        }
        if slope == f64::INFINITY {
            return Zcdp::new(0.0, slope);
        }
        // What is counted as a larger rho needs its slope.
        let slope = if slope > 0.0 { slope.max(LEAST_RHO) } else { slope };
        Zcdp::new(self.supremum(Wanted::Constant { slope })?, slope)
    }

    /// A number that no order exceeds.
    fn supremum(self, wanted: Wanted) -> Fallible<f64> {
        if self.is_void() {
            return Ok(f64::INFINITY);
        }
        match wanted {
            _ if self.xi == 0.0 && self.rho == 0.0 => Ok(0.0),
            Wanted::Slope if self.rho == 0.0 => pure_rho(self.xi),
            // Without a slope the worst order is the infinite one.
            Wanted::Constant { slope: 0.0 } => Ok(self.xi),
            _ => Ok(self.far_from_zero().search(wanted)),
        }
    }

    /// [`SubgaussianProfile::supremum`] for a positive rho: chords between orders, split where they are too high.
    fn search(self, wanted: Wanted) -> f64 {
        let line = self.line();
        // (b, b D) for the order 1 + b.
        let at = |b: f64| (b, up(b * self.divergence(&line, b), 1));
        let least = self.divergence(&line, 0.0);
        // Large orders have this slope in the limit; without it a search for what they reach would never end.
        let limit = if matches!(wanted, Wanted::Slope) { self.rho } else { f64::NEG_INFINITY };
        let mut best = wanted.at(0.0, least).max(limit);
        let mut next = 1e-3 / (1.0 + self.xi + self.rho);
        let mut cells = vec![((0.0, 0.0), at(next))];
        // What a search may leave, in units of what is sought.
        let slack = TOLERANCE * least.max(limit);
        let mut beyond = self.tail(wanted, next);
        while beyond > best + slack && next < 1e290 {
            let right = at(2.0 * next);
            let left = cells.last().map_or((0.0, 0.0), |cell| cell.1);
            best = best.max(wanted.at(right.0, down(right.1 / right.0, 2)));
            cells.push((left, right));
            next = right.0;
            beyond = self.tail(wanted, next);
        }
        // A chord that is not much higher than what some order reaches may stay; the highest is split first.
        let (mut most, mut tried) = (best.max(beyond), 0);
        let cell = |(left, right)| Cell { bound: chord(wanted, left, right), left, right };
        let mut cells: BinaryHeap<Cell> = cells.into_iter().map(cell).collect();
        while let Some(Cell { bound, left, right }) = cells.pop() {
            if bound.is_nan() {
                return f64::INFINITY;
            }
            if bound <= most.max(best + slack) || tried >= ORDERS {
                // No other is higher.
                most = most.max(bound);
                break;
            }
            if right.0 - left.0 < 1e-6 * right.0 {
                most = most.max(bound);
                continue;
            }
            tried += 1;
            let middle = at(if left.0 == 0.0 { right.0 / 8.0 } else { f64::midpoint(left.0, right.0) });
            best = best.max(wanted.at(middle.0, down(middle.1 / middle.0, 2)));
            cells.push(cell((left, middle)));
            cells.push(cell((middle, right)));
        }
        most.max(0.0)
    }

    /// What no order from `1 + b` on exceeds; infinite where nothing is known.
    ///
    /// With `K = 2 xi + 6 sqrt(rho)` the integral is at most `K e^(b xi + rho b^2)`, so that
    /// `D_a <= xi + rho b + ln(1 + a b K) / b`, whose last term falls once `a b K` exceeds `e^2 - 1`.
    fn tail(self, wanted: Wanted, b: f64) -> f64 {
        let ln_product = (1.0 + b).ln() + b.ln() + up(2.0 * self.xi + 6.0 * self.rho.sqrt(), 4).ln();
        if ln_product < 2.0 {
            return f64::INFINITY;
        }
        let rest = (ln_product + (-ln_product).exp()) / b;
        let size = self.xi + self.rho + rest + (1.0 + b.ln().abs() + ln_product) / b;
        match wanted {
            Wanted::Constant { slope } => {
                let value = self.xi - slope + rest - (slope - self.rho) * b;
                value + 16.0 * UNIT * (size + slope + (slope - self.rho) * b)
            }
            Wanted::Slope => {
                let value = self.rho + (self.xi - self.rho + rest).max(0.0) / (1.0 + b);
                value + 16.0 * UNIT * (self.rho + size / (1.0 + b))
            }
        }
    }
}

/// Orders between two, with what none of them exceeds; the highest comes first.
struct Cell {
    bound: f64,
    left: (f64, f64),
    right: (f64, f64),
}

impl Ord for Cell {
    fn cmp(&self, other: &Self) -> Ordering {
        // A bound that is no number counts as the highest, so that it is not left behind.
        self.bound.total_cmp(&other.bound)
    }
}

impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Cell {}

/// What no order between two exceeds: the largest wanted number on the chord of `b D`.
fn chord(wanted: Wanted, left: (f64, f64), right: (f64, f64)) -> f64 {
    let largest = up(right.1 / right.0, 1);
    // No order before the right one has a larger divergence.
    let flat = up(wanted.at(left.0, largest), 2);
    let growth = (right.1 - left.1) / (right.0 - left.0);
    let constant = left.1 - growth * left.0;
    let peak = wanted.peak(constant, growth).clamp(left.0, right.0);
    if left.0 == 0.0 || !peak.is_finite() {
        return flat;
    }
    let share = (peak - left.0) / (right.0 - left.0);
    let divergence = (left.1 + share * (right.1 - left.1)) / peak;
    let ends = wanted.at(left.0, left.1 / left.0).max(wanted.at(right.0, largest));
    let value = wanted.at(peak, divergence).max(ends) + 1e-13 * largest;
    value.min(flat)
}

/// The logarithm of the Mills ratio, and what its rounding is proportional to.
fn ln_mills(x: f64) -> (f64, f64) {
    if x > -30.0 {
        let value = mills(x).ln();
        return (value, 4.0 + value.abs());
    }
    let square = x / 2.0 * x;
    (ln_normal_tail(x) + square + LN_SQRT_TAU, 4.0 + square)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::finite::Pair;
    use crate::num::special::normal_tail;

    /// The law of the loss that the sharpest profile belongs to: `E_Q[(dP/dQ)^a]` as an integral over losses beyond `s`, each
    /// with its mirror image. Nothing of it is in the closed form.
    fn moment(promise: SubgaussianProfile, a: f64) -> f64 {
        let (xi, rho) = (promise.xi, promise.rho);
        let start = promise.line().end;
        let steps = 400_000;
        let width = (2.0 * rho * a + 14.0 * (2.0 * rho).sqrt() + xi) / f64::from(steps);
        let density = |t: f64| {
            let y = t - xi;
            (y * y / (4.0 * rho * rho) - 0.5 / rho + y / (2.0 * rho)) * (-y * y / (4.0 * rho)).exp()
        };
        let term = |i: u32| {
            let t = start + width * (f64::from(i) + 0.5);
            (((a - 1.0) * t).exp() + (-a * t).exp()) * density(t) * width
        };
        (0..steps).map(term).sum()
    }

    #[test]
    fn the_worst_order_is_found_where_many_are_nearly_as_bad() {
        for (xi, rho) in [(0.0, 1e-8), (0.0, 1e-10), (0.0, 1e-12), (0.0, 1e-14), (1e-6, 1e-12), (1e-3, 1e-3)] {
            let promise = SubgaussianProfile::new(xi, rho).unwrap();
            let found = promise.to_zcdp().unwrap().rho();
            let orders = (0..4000).map(|i| 1.0 + (f64::from(i) / 100.0 - 8.0).exp());
            let most = orders.map(|a| promise.renyi(a).unwrap() / a).fold(0.0, f64::max);
            assert!(found >= most && found <= most * (1.0 + 1e-5), "{xi} {rho}: {found} {most}");
        }
    }

    #[test]
    fn a_large_rho_is_hardly_raised() {
        // Where losses near 0 cost nothing the slope is that of the tails, which large orders have.
        for rho in [4.0, 4.5, 5.0, 8.0, 30.0, 1e3, 1e6, 1e12, 1e13, 1e18, 1e40] {
            let found = SubgaussianProfile::new(0.0, rho).unwrap().to_zcdp().unwrap().rho();
            let above = if rho < 5.0 { 0.2 } else { 1e-6 };
            assert!(found >= rho && found <= rho * (1.0 + above), "{rho}: {found}");
        }
    }

    #[test]
    fn divergences_are_those_of_two_laws_with_this_profile() {
        for (xi, rho) in [(0.01, 0.01), (0.5, 0.5), (0.0, 1e-4), (1.0, 0.1), (0.0, 3.0), (2.0, 1e-3)] {
            let promise = SubgaussianProfile::new(xi, rho).unwrap();
            // The mirror images of order 1 are laws themselves.
            assert!((moment(promise, 1.0) - 1.0).abs() < 1e-6, "{xi} {rho}: {}", moment(promise, 1.0));
            for alpha in [1.5f64, 3.0, 8.0] {
                let divergence = moment(promise, alpha).ln() / (alpha - 1.0);
                let bound = promise.renyi(alpha).unwrap();
                assert!((bound / divergence - 1.0).abs() < 1e-5, "{xi} {rho} {alpha}: {bound} {divergence}");
            }
        }
    }

    #[test]
    fn moments_are_integrals_of_profiles() {
        for (p, q) in [([0.3, 0.5, 0.2], [0.4, 0.4, 0.2]), ([0.01, 0.09, 0.9], [0.3, 0.2, 0.5])] {
            let pair = Pair::new(p.to_vec(), q.to_vec()).unwrap();
            let other = pair.swapped();
            for a in [1.2f64, 2.0, 5.0] {
                let steps = 200_000;
                let width = 6.0 / f64::from(steps);
                let integral: f64 = (0..steps)
                    .map(|i| width * (f64::from(i) + 0.5))
                    .map(|t| ((a - 1.0) * t).exp() * pair.hockey_stick(t) + (-a * t).exp() * other.hockey_stick(t))
                    .sum();
                let found = (1.0 + a * (a - 1.0) * integral * width).ln() / (a - 1.0);
                assert!((found - pair.renyi(a).unwrap()).abs() < 1e-7, "{a}");
            }
        }
    }

    /// Whether two laws keep a promise, by their profile at many epsilons.
    fn keeps(promise: SubgaussianProfile, profile: impl Fn(f64) -> f64) -> bool {
        (0..4000).map(|i| promise.xi + f64::from(i) * 1e-3).all(|t| {
            let promised =
                if promise.rho == 0.0 { 0.0 } else { (-(t - promise.xi).powi(2) / (4.0 * promise.rho)).exp() };
            profile(t) <= promised + 1e-15
        })
    }

    #[test]
    fn laws_that_keep_the_promise_stay_below_the_bounds() {
        let mut kept = 0;
        for (xi, rho) in [(0.0, 0.3), (0.2, 0.05), (0.5, 1.0), (1.0, 0.0), (0.3, 1e-4)] {
            let promise = SubgaussianProfile::new(xi, rho).unwrap();
            let (zcdp, sloped) = (promise.to_zcdp().unwrap(), promise.to_zcdp_of_slope(rho).unwrap());
            for code in 0..512u32 {
                let shares =
                    |shift: u32| (0..3).map(|i| f64::from(((code >> (3 * i)) ^ shift) % 8 + 1)).collect::<Vec<_>>();
                let normed = |v: Vec<f64>| v.iter().map(|x| x / v.iter().sum::<f64>()).collect::<Vec<f64>>();
                let one = Pair::new(normed(shares(0)), normed(shares(code % 5 + 1))).unwrap();
                let other = one.swapped();
                let profile = |t: f64| one.hockey_stick(t).max(other.hockey_stick(t));
                if !keeps(promise, profile) {
                    continue;
                }
                kept += 1;
                for t in [0.0, 0.05, 0.2, 0.4, 0.9] {
                    let delta = promise.to_approximate_dp(Epsilon::new(t).unwrap()).unwrap().delta();
                    assert!(profile(t) <= delta + 1e-14);
                }
                for alpha in [1.0f64, 1.3, 2.0, 6.0, 40.0] {
                    let divergence = one.renyi(alpha).unwrap().max(other.renyi(alpha).unwrap());
                    assert!(divergence <= promise.renyi(alpha).unwrap() + 1e-13, "{xi} {rho} {alpha}");
                    assert!(divergence <= zcdp.rho() * alpha + 1e-13);
                    assert!(divergence <= sloped.xi() + sloped.rho() * alpha + 1e-13);
                }
            }
        }
        assert!(kept > 300, "{kept}");
    }

    #[test]
    fn normal_laws_come_back_with_a_loss() {
        for rho in [1e-8, 1e-4, 0.01, 0.5, 4.0, 100.0] {
            let promise = SubgaussianProfile::of_zcdp(Zcdp::new(0.0, rho).unwrap()).unwrap();
            let mu = (2.0 * rho).sqrt();
            let exact = |t: f64| normal_tail(t / mu - mu / 2.0) - t.exp() * normal_tail(t / mu + mu / 2.0);
            if rho < 1.0 {
                assert!(keeps(promise, exact));
            }
            for alpha in [1.0, 1.1, 2.0, 30.0, 1e4] {
                assert!(promise.renyi(alpha).unwrap() >= rho * alpha);
            }
            let (back, sloped) = (promise.to_zcdp().unwrap(), promise.to_zcdp_of_slope(rho).unwrap());
            println!("rho {rho}: back {}, at its slope {}", back.rho(), sloped.xi());
            assert!(back.rho() > rho && back.xi() == 0.0 && sloped.rho() == rho);
            for alpha in [1.0, 1.001, 1.5, 2.0, 3.0, 10.0, 100.0, 1e4, 1e6] {
                let divergence = promise.renyi(alpha).unwrap();
                assert!(divergence <= back.rho() * alpha * (1.0 + 1e-12), "{rho} {alpha}");
                assert!(divergence <= (sloped.xi() + rho * alpha) * (1.0 + 1e-12), "{rho} {alpha}");
            }
            // The constants are reached.
            let orders = || (-4000..4000).map(|i| (f64::from(i) / 200.0).exp());
            let most = |f: &dyn Fn(f64) -> f64| orders().map(f).fold(0.0, f64::max);
            let reached = most(&|b| promise.renyi(1.0 + b).unwrap() / (1.0 + b));
            assert!(back.rho() <= reached * (1.0 + 1e-6), "{rho}: {} {reached}", back.rho());
            let reached = most(&|b| promise.renyi(1.0 + b).unwrap() - rho * (1.0 + b));
            assert!(sloped.xi() <= reached * (1.0 + 1e-3), "{rho}: {} {reached}", sloped.xi());
            // A larger slope needs a smaller constant, and at last none.
            let half = promise.to_zcdp_of_slope((rho + back.rho()) / 2.0).unwrap();
            assert!(half.xi() < sloped.xi() && half.xi() > 0.0);
            assert!(promise.to_zcdp_of_slope(back.rho()).unwrap().xi() <= 1e-8 * back.rho());
        }
    }

    #[test]
    fn pure_privacy_is_the_case_without_a_slope() {
        let pure_only = SubgaussianProfile::new(0.7, 0.0).unwrap();
        let nearly = SubgaussianProfile::new(0.7, 1e-12).unwrap();
        for alpha in [1.0, 1.5, 2.0, 10.0, f64::INFINITY] {
            let (exact, close) = (pure_only.renyi(alpha).unwrap(), nearly.renyi(alpha).unwrap());
            assert!(close >= exact && (close < exact + 1e-4 || alpha.is_infinite()), "{alpha}: {exact} {close}");
        }
        let rho = pure_only.to_zcdp().unwrap().rho();
        assert!((rho - 0.7 * 0.35f64.tanh()).abs() < 1e-14);
        assert!(pure_only.to_zcdp_of_slope(rho * (1.0 + 1e-6)).unwrap().xi() < 1e-9);
        assert_eq!(pure_only.to_zcdp_of_slope(0.0).unwrap().xi(), 0.7);
        let half = pure_only.to_zcdp_of_slope(0.1).unwrap().xi();
        assert!(half > 0.7 * 0.35f64.tanh() - 0.1 && half < 0.4, "{half}");
        // Randomised response keeps it, and has this profile.
        let pair = Pair::worst(0.7, 0.0).unwrap();
        for t in [0.0, 0.3, 0.69] {
            let delta = pure_only.to_approximate_dp(Epsilon::new(t).unwrap()).unwrap().delta();
            assert!(delta >= pair.hockey_stick(t) && delta < pair.hockey_stick(t) + 1e-14);
        }
    }

    #[test]
    fn ends_of_the_range_are_bounds() {
        let infinite = SubgaussianProfile::new(f64::INFINITY, 0.1).unwrap();
        assert_eq!(infinite.to_zcdp().unwrap().rho(), f64::INFINITY);
        assert_eq!(infinite.renyi(2.0).unwrap(), f64::INFINITY);
        let nothing = SubgaussianProfile::default();
        assert_eq!((nothing.to_zcdp().unwrap().rho(), nothing.renyi(3.0).unwrap()), (0.0, 0.0));
        let corners =
            [(0.0, 5e-324), (0.0, 1e-200), (1.0, 1e-200), (1e-300, 1e-30), (700.0, 1e-3), (1e5, 1e5), (0.0, 1e30)];
        for (xi, rho) in corners {
            let promise = SubgaussianProfile::new(xi, rho).unwrap();
            let back = promise.to_zcdp().unwrap().rho();
            assert!(back.is_finite() && back >= rho, "{xi} {rho}: {back}");
            let sloped = promise.to_zcdp_of_slope(rho.max(LEAST_RHO)).unwrap();
            let most = xi + back + 2.0 * (1.0 + rho.sqrt() * 60.0);
            assert!(sloped.xi() >= 0.0 && sloped.xi() <= most, "{xi} {rho}: {sloped:?}");
            for alpha in [1.0, 1.0 + f64::EPSILON, 2.0, 1e9] {
                assert!(promise.renyi(alpha).unwrap() <= back * alpha * (1.0 + 1e-9), "{xi} {rho} {alpha}");
            }
            for t in [0.0, xi, xi + 1e-3, xi + 1e9] {
                let delta = promise.to_approximate_dp(Epsilon::new(t).unwrap()).unwrap();
                assert!(delta.ln_delta() <= 0.0);
            }
        }
        assert!(SubgaussianProfile::new(-0.1, 1.0).is_err() && SubgaussianProfile::new(0.1, f64::NAN).is_err());
        let promise = SubgaussianProfile::new(0.1, 1.0).unwrap();
        assert!(promise.renyi(0.9).is_err() && promise.to_zcdp_of_slope(0.99).is_err());
    }
}
