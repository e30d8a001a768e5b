//! delta of a composition as a Fourier sum along a vertical line through a saddle point.
//!
//! With the loss S of the composition, `K(s) = ln E[e^(sS)]` and `c > 0`,
//! `e^(c eps) delta(eps)` has the Fourier transform `exp K(c + i w) / ((c + i w)(c + 1 + i w))`. The
//! trapezoid rule of step `2 pi / W` gives exactly the sum over m of the same function at `eps + m W`,
//! all of whose terms are positive: an upper bound as it stands, a lower bound once the other terms,
//! bounded by Chernoff, are subtracted. Working relative to `e^(K(c) - c eps)` is the exponential tilt
//! that keeps the relative accuracy of tiny deltas.
//!
//! The sum is cut where an additional Gaussian mechanism of small `tau` has killed every term. Adding a
//! mechanism can only raise delta, so the upper bound needs nothing else; [`Profile::lower`] undoes it.

use num_complex::Complex64;

use super::fast::{Fast, Part, SERIES};
use super::large::Large;
use super::partition::{Partition, Side, Tilted};
use crate::num::compensated;
use crate::num::fourier::{SERIES_UNITS, exponential_sums, ln_1p, series};
use crate::num::logs::ln_add_exp;
use crate::num::special::{normal_density, normal_tail};

/// One unit of rounding.
const UNIT: f64 = f64::EPSILON / 2.0;
/// Terms whose logarithm is below this are bounded instead of computed.
const DEAD: f64 = -45.0;
/// Mean absolute deviation of one loss times the length of the intervals on which terms are bounded.
const REACH: f64 = 0.6;
/// Atoms times frequencies, at most: a quarter of a second.
const WORK: f64 = 1.5e8;
/// What a frequency costs by a fast transform, in atoms that are summed one by one.
const TRANSFORMED: usize = 100;
/// The share of that work that may go into looking for frequencies that need not be computed.
const LOOKED: f64 = 0.2;
/// Units of rounding common to all weights.
const COMMON: f64 = 16.0;
/// Units of rounding that near losses share, besides those of their power series: in weights, in the sum with the far ones, and in its
/// logarithm.
const NEAR: f64 = 8.0;
/// Frequencies of the first piece of a run.
const SHORT: usize = 64;
/// Distance of the first support point of the lower bound from its centre, in units of tau.
const FIRST: f64 = 1.5;
/// Spacing of the other support points.
const SPACING: f64 = 0.5;
/// Support points on each side.
const SUPPORTS: i32 = 15;

/// Where and how finely to sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// The abscissa.
    pub c: f64,
    /// The step in frequency.
    pub step: f64,
    /// The number of positive frequencies.
    pub count: usize,
    /// `tau^2` of the additional Gaussian.
    pub tau2: f64,
    /// `sum mu^2` of the true Gaussians.
    pub mu2: f64,
    /// The second abscissa, at which the mass to the right of the window is bounded.
    pub beyond: f64,
    /// What the sums at all epsilons of the question cost for each frequency, in atoms.
    pub sums: usize,
    /// Whether near losses are summed as a power series, for the least rounding.
    pub careful: bool,
}

/// delta as a function of epsilon.
pub(super) struct Profile {
    grid: Grid,
    /// `K(c)`, the additional Gaussian included.
    ln_moment: f64,
    /// `K(c + beyond) - K(c)`.
    ln_growth: f64,
    /// Runs of consecutive coefficients with the index of their first.
    runs: Vec<(usize, Vec<Complex64>)>,
    /// Bound on the error of the sum, apart from what grows with epsilon.
    error: f64,
    /// Error of the sum per unit of epsilon.
    drift: f64,
    /// Relative error of the result.
    margin: f64,
    /// `ln` of the mass lost to truncation.
    ln_lost: f64,
    /// What comes from large losses, where they stand apart.
    large: Option<Large>,
}

/// A component of the composition under the tilt.
struct Component {
    times: f64,
    /// (probability, loss).
    atoms: Vec<(f64, f64)>,
    /// Mean absolute deviation of the loss.
    deviation: f64,
    /// Mean magnitude of the loss.
    magnitude: f64,
    /// Units of rounding common to all weights, sum included; for weight k its own come on top,
    /// whose mean and whose mean times `|L|` follow.
    rounding: f64,
    units: f64,
    weighted: f64,
    /// Relative error of what all weights were divided by.
    scale: f64,
}

impl Component {
    fn new(tilted: Tilted, times: f64) -> Self {
        Component {
            times,
            deviation: tilted.absolute_deviation(),
            magnitude: tilted.magnitude(),
            rounding: COMMON + tilted.atoms.len() as f64 / 8.0,
            units: tilted.units,
            weighted: tilted.weighted,
            scale: tilted.error,
            atoms: tilted.atoms,
        }
    }

    /// Bound on the error of the characteristic function at a frequency, `index` steps into a run.
    fn error(&self, omega: f64, index: usize) -> f64 {
        self.weights(omega) + summed(omega * self.magnitude, self.rounding, index)
    }

    /// Bound on what rounded weights add to it.
    fn weights(&self, omega: f64) -> f64 {
        // A term of weight p errs by its units times p |e^(i omega L) - 1| <= p min(2, omega |L|).
        UNIT * (2.0 * self.units).min(omega * self.weighted) + self.scale * (omega * self.magnitude).min(2.0)
    }

    /// The characteristic function less 1 at consecutive frequencies, and bounds on its errors, by a power series for near losses.
    fn near_and_far(&self, step: f64, start: usize, count: usize) -> (Vec<Complex64>, Vec<f64>) {
        let last = (start + count) as f64;
        let split = Part::new(self.terms(step), last);
        let far = split.far.iter().map(|it| it.0 * it.1.abs()).sum::<f64>() * (1.0 + 1e-9);
        let mut sums = exponential_sums(&split.far, start as f64, count);
        let errors = sums.iter_mut().enumerate().map(|(j, sum)| {
            let at = (start + j) as f64;
            *sum += split.series(at / last);
            let near = UNIT * (NEAR + SERIES) * split.magnitude * (at / last);
            near + self.weights(step * at) + summed(far * at, COMMON + split.far.len() as f64 / 8.0, j)
        });
        let errors = errors.collect();
        (sums, errors)
    }

    /// The atoms as (weight, angle) for a step in frequency.
    fn terms(&self, step: f64) -> Vec<(f64, f64)> {
        self.atoms.iter().map(|&(p, loss)| (p, loss * step)).collect()
    }
}

/// Bound on the error of terms that are summed one by one, where they have a total phase and their weights some units of rounding.
fn summed(phase: f64, rounding: f64, index: usize) -> f64 {
    UNIT * (phase.min(2.0) * (rounding + 4.0 * (index as f64).min(64.0)) + 4.0 * phase)
}

/// A run in pieces whose first frequency is at least half the last one, but for the first of them.
fn doubling((start, count): (usize, usize)) -> Vec<(usize, usize)> {
    let (mut from, end) = (start, start + count);
    let mut pieces = Vec::new();
    while from < end {
        let to = end.min((2 * from).max(SHORT));
        pieces.push((from, to - from));
        from = to;
    }
    pieces
}

impl Profile {
    /// Composes the partitions, each `count` times, without the losses that are set apart in `large`; `None` when that would take too long.
    pub(super) fn new(parts: &[(Partition, f64)], side: Side, grid: Grid, large: Option<Large>) -> Option<Self> {
        let Grid { c, tau2, mu2, beyond, .. } = grid;
        let gaussian = |c: f64| c * (c + 1.0) * (tau2 + mu2) / 2.0;
        let mut it = Profile {
            grid,
            ln_moment: gaussian(c),
            ln_growth: gaussian(c + beyond) - gaussian(c),
            runs: Vec::new(),
            error: 0.0,
            drift: 0.0,
            margin: 1e-13,
            ln_lost: f64::NEG_INFINITY,
            large,
        };
        let mut components = Vec::with_capacity(parts.len());
        for (partition, times) in parts {
            let atoms = partition.atoms(side);
            let tilted = atoms.tilted(c);
            it.ln_moment += times * tilted.ln_moment;
            it.ln_growth += times * (atoms.ln_moment(c + beyond) - tilted.ln_moment);
            it.margin += times * tilted.error;
            it.ln_lost = ln_add_exp(it.ln_lost, partition.ln_beyond + times.ln());
            components.push(Component::new(tilted, *times));
        }
        let cells: usize = components.iter().map(|it| it.atoms.len()).sum();
        let (mut total, mut first) = (0.0, 0.0);
        let most = WORK / (cells + grid.sums) as f64;
        if let Some(runs) = it.significant(&components, most, 4, most) {
            for (start, count) in runs.into_iter().flat_map(|run| if grid.careful { doubling(run) } else { vec![run] })
            {
                it.integrate(&components, start, count, None, &mut total, &mut first);
            }
        } else {
            it.error = 0.0;
            let most = WORK / (TRANSFORMED + grid.sums) as f64;
            let runs = it.significant(&components, LOOKED * WORK / cells as f64, 64, most)?;
            let fast = Fast::new(components.iter().map(|it| it.terms(grid.step)), grid.count + 1, &runs);
            for (start, count) in runs.iter().flat_map(|&run| fast.blocks(run)) {
                it.integrate(&components, start, count, Some(&fast), &mut total, &mut first);
            }
        }
        let last = grid.step * grid.count as f64;
        let cut = (-last * last * (tau2 + mu2) / 2.0).exp() / (std::f64::consts::PI * last);
        // The sums of runs are compensated, and the moduli were added up with rounding.
        it.error += cut + UNIT * (SERIES_UNITS + 2.0) * total * (1.0 + 1e-9);
        it.drift = 4.0 * UNIT * first;
        Some(it)
    }

    /// The factor of a coefficient besides the characteristic function: the trapezoid weight and the
    /// transform of the payoff.
    fn kernel(&self, omega: f64) -> Complex64 {
        let Grid { c, step, .. } = self.grid;
        let weight = if omega == 0.0 { 0.5 } else { 1.0 } * step / std::f64::consts::PI;
        let kernel = (Complex64::new(c, omega) * Complex64::new(c + 1.0, omega)).inv();
        Complex64::new(weight * kernel.re, weight * kernel.im)
    }

    /// Runs of frequencies whose terms may matter; the others are bounded and charged. `None` when there are more than `most`.
    ///
    /// The modulus of a characteristic function moves by at most the mean absolute deviation of the loss
    /// per unit of frequency, so one value bounds it over an interval around. Not more than `looks` values are taken at a time, and none
    /// for intervals shorter than `least`.
    fn significant(
        &mut self,
        components: &[Component],
        looks: f64,
        least: usize,
        most: f64,
    ) -> Option<Vec<(usize, usize)>> {
        let Grid { step, count, .. } = self.grid;
        let widest = components.iter().fold(0.0, |m, it| f64::max(m, it.deviation));
        let mut stride = (REACH / (widest * step)).min(1e9) as usize;
        let mut runs = vec![(0, count + 1)];
        while stride >= least {
            if stride < count / 8 {
                let intervals: usize = runs.iter().map(|it| it.1 / stride + 1).sum();
                if intervals as f64 > looks {
                    break;
                }
                runs = self.thinned(components, &runs, stride);
            }
            stride /= 8;
        }
        let kept: usize = runs.iter().map(|it| it.1).sum();
        (kept as f64 <= most).then_some(runs)
    }

    /// Drops the intervals of length `stride` on which all terms are negligible.
    fn thinned(&mut self, components: &[Component], runs: &[(usize, usize)], stride: usize) -> Vec<(usize, usize)> {
        let Grid { step, tau2, mu2, .. } = self.grid;
        let terms: Vec<Vec<(f64, f64)>> = components.iter().map(|it| it.terms(step * stride as f64)).collect();
        let mut kept: Vec<(usize, usize)> = Vec::new();
        for &(from, length) in runs {
            let mut bounds = vec![0.0; length.div_ceil(stride)];
            for (it, terms) in components.iter().zip(&terms) {
                let slack = it.deviation * step * (stride as f64 / 2.0 + 1.0) + 1e-12;
                let sums = exponential_sums(terms, from as f64 / stride as f64 + 0.5, bounds.len());
                for (bound, sum) in bounds.iter_mut().zip(sums) {
                    let size = Complex64::new(1.0 + sum.re, sum.im).norm();
                    *bound += it.times * (size + slack).min(1.0).ln();
                }
            }
            for (k, bound) in bounds.into_iter().enumerate() {
                let (start, length) = (from + k * stride, stride.min(length - k * stride));
                let omega = start as f64 * step;
                let exponent = bound - omega * omega * (tau2 + mu2) / 2.0;
                if start > 0 && exponent < DEAD {
                    self.error += length as f64 * self.kernel(omega).norm() * exponent.exp();
                    continue;
                }
                match kept.last_mut() {
                    Some(run) if run.0 + run.1 == start => run.1 += length,
                    _ => kept.push((start, length)),
                }
            }
        }
        kept
    }

    /// Computes a run of coefficients and bounds their errors.
    fn integrate(
        &mut self,
        components: &[Component],
        start: usize,
        count: usize,
        fast: Option<&Fast>,
        total: &mut f64,
        first: &mut f64,
    ) {
        let Grid { c, step, tau2, mu2, .. } = self.grid;
        let variance = tau2 + mu2;
        let mut exponents = vec![Complex64::default(); count];
        let mut errors = vec![0.0; count];
        let mut moduli = vec![0.0; count];
        for (part, it) in components.iter().enumerate() {
            let own = |more: f64| (0..count).map(|j| it.error(step * (start + j) as f64, j) + more).collect();
            let (sums, own): (_, Vec<f64>) = match fast {
                Some(fast) => {
                    let (sums, more) = fast.sums(part, start, count);
                    (sums, own(more))
                }
                None if self.grid.careful => it.near_and_far(step, start, count),
                None => (exponential_sums(&it.terms(step), start as f64, count), own(0.0)),
            };
            for (j, (sum, error)) in sums.into_iter().zip(own).enumerate() {
                let ln = ln_1p(sum);
                let floored = ln.re.clamp(UNIT.ln(), 0.0);
                exponents[j].re += it.times * floored;
                exponents[j].im += it.times * ln.im;
                moduli[j] += it.times * (ln.im.abs() - floored);
                let error = error + UNIT * f64::from(u8::from(ln.re < -0.2));
                errors[j] += it.times * (error * (-floored).exp()).ln_1p();
            }
        }
        let mut coefficients = Vec::with_capacity(count);
        // A product for each component, their sums, and that with the Gaussians.
        let additions = components.len() as f64 + 1.0;
        for (j, (exponent, error)) in exponents.into_iter().zip(errors).enumerate() {
            let omega = step * (start + j) as f64;
            let dying = -omega * omega * variance / 2.0;
            let turning = omega * (2.0 * c + 1.0) * variance / 2.0;
            let (re, im) = (exponent.re + dying, exponent.im + turning);
            let kernel = self.kernel(omega);
            let size = kernel.norm() * re.exp();
            // Nothing exceeds the kernel times the Gaussian factor.
            let ceiling = kernel.norm() * dying.exp();
            let units = 8.0 + additions * moduli[j] - 6.0 * dying + 6.0 * turning;
            self.error += (size * (error + UNIT * units).exp_m1()).min(2.0 * ceiling);
            *total += size;
            *first += size * omega;
            coefficients.push(Complex64::new(re, im).exp() * kernel);
        }
        self.runs.push((start, coefficients));
    }

    /// The sum at epsilon and a bound on its error.
    fn sum(&self, epsilon: f64) -> (f64, f64) {
        let angle = self.grid.step * epsilon;
        let sum = compensated(self.runs.iter().map(|(start, run)| series(run, *start as f64, angle)));
        // A sum that is not a number must not pass for a small one.
        let error = if f64::is_finite(sum) { self.error + self.drift * epsilon.abs() } else { f64::INFINITY };
        (sum, error)
    }

    /// An upper bound on `ln delta`, mass lost to truncation included.
    pub(super) fn upper(&self, epsilon: f64) -> f64 {
        // Delta only falls; the bound on what large losses leave does not.
        let epsilon = self.large.map_or(epsilon, |it| epsilon.min(it.reach));
        let (sum, error) = self.sum(epsilon);
        let value = self.ln_moment - self.grid.c * epsilon + (sum.max(0.0) + error).ln();
        let value = value + self.margin + 8.0 * UNIT * (value.abs() + self.ln_moment.abs());
        let all = ln_add_exp(value, self.ln_lost + 1e-12 * self.ln_lost.abs().min(1e3));
        let all = self.large.map_or(all, |it| ln_add_exp(all, it.upper(epsilon)));
        if all.is_nan() { 0.0 } else { all.min(0.0) }
    }

    /// Bounds the terms of the sum that belong to other windows.
    fn alias(&self, epsilon: f64) -> f64 {
        let Grid { c, step, beyond, .. } = self.grid;
        let window = std::f64::consts::TAU / step;
        let others = |ln: f64, rate: f64| (ln - rate * window).exp() / -(-rate * window).exp_m1();
        others(c * epsilon - self.ln_moment, c) + others(self.ln_growth - beyond * epsilon, beyond)
    }

    /// A lower bound on `ln delta` without the additional Gaussian; `-inf` when nothing can be said.
    ///
    /// With the additional Gaussian, `F(eps) = E f(eps + X)` for a normal X of variance `tau^2` and mean
    /// `-tau^2/2`. The unsmoothed f is convex in `e^eps` and at most F, so between support points it is at
    /// most the chord through the values of F there, and on both sides of the centre at most the chord to
    /// the unknown `f(eps)`. Solving `F(eps) <= A f(eps) + B` for `f(eps)` gives the bound.
    pub(super) fn lower(&self, epsilon: f64) -> f64 {
        let rest = self.lower_rest(epsilon);
        self.large.map_or(rest, |it| ln_add_exp(rest, it.lower(epsilon)))
    }

    /// A lower bound on what comes from losses that are not large.
    fn lower_rest(&self, epsilon: f64) -> f64 {
        let Grid { c, tau2, .. } = self.grid;
        let (sum, error) = self.sum(epsilon);
        let centre = sum - error - self.alias(epsilon);
        let mut bound = centre;
        if tau2 > 0.0 {
            let tau = tau2.sqrt();
            let (own, others) = self.chords(epsilon, tau);
            let rest = (own > 0.0).then(|| (centre - others - normal_tail(CUT_LEFT - (c + 1.0) * tau)) / own);
            bound = rest.unwrap_or(0.0).min(centre);
        }
        if bound.is_nan() || bound <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let value = self.ln_moment - c * epsilon + bound.ln();
        let value = value - self.margin - 8.0 * UNIT * (value.abs() + self.ln_moment.abs());
        if value.is_nan() { f64::NEG_INFINITY } else { value }
    }

    /// The weight A of the centre and the sum B over the other support points.
    fn chords(&self, epsilon: f64, tau: f64) -> (f64, f64) {
        let c = self.grid.c;
        let value = |t: f64| {
            let (sum, error) = self.sum(epsilon + t * tau);
            (-c * t * tau).exp() * (sum.max(0.0) + error)
        };
        let at = |k: i32| if k == 0 { 0.0 } else { f64::from(k.signum()) * (FIRST + SPACING * f64::from(k.abs() - 1)) };
        let (mut own, mut others) = (0.0, 0.0);
        let mut left = value(at(-SUPPORTS));
        for k in -SUPPORTS..SUPPORTS {
            let right = if k == -1 { f64::NAN } else { value(at(k + 1)) };
            let (to_left, to_right) = chord_weights(at(k), at(k + 1), tau);
            if k == 0 {
                own += to_left
            } else {
                others += to_left * left
            }
            if k == -1 {
                own += to_right
            } else {
                others += to_right * right
            }
            left = right;
        }
        // Beyond the last point on the right f only falls.
        others += left * normal_tail(at(SUPPORTS) + tau / 2.0);
        (own, others * (1.0 + 1e-13))
    }
}

/// The last support point.
const CUT_LEFT: f64 = FIRST + SPACING * (SUPPORTS - 1) as f64;

/// Expectation of the two weights of a chord between `a tau` and `b tau` over the normal X.
///
/// The chord is straight in `e^x`. Its weight at `b` is at least `(x-a)/(b-a)` times
/// `1 - d/2 - d^2/24` with `d = (b-a) tau`, and taking less of it raises the chord.
fn chord_weights(a: f64, b: f64, tau: f64) -> (f64, f64) {
    let (low, high) = (a + tau / 2.0, b + tau / 2.0);
    let mass = if low >= 0.0 {
        normal_tail(low) - normal_tail(high)
    } else if high <= 0.0 {
        normal_tail(-high) - normal_tail(-low)
    } else {
        1.0 - normal_tail(-low) - normal_tail(high)
    };
    let mean = (normal_density(low) - normal_density(high) - low * mass) / (b - a);
    let d = (b - a) * tau;
    let to_right = (mean * (1.0 - d / 2.0 - d * d / 24.0)).clamp(0.0, mass.max(0.0));
    (mass - to_right, to_right)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Common losses that are near and rare ones that are far: both ways of summing err by less than they say, and the careful one by much less.
    #[test]
    fn near_losses_cost_fewer_units_of_rounding() {
        let near = (0..3000).map(|k| (1.0 / 3001.0, 1e-6 * (f64::from(k) - 1500.0)));
        let far = (0..200).map(|k| (1e-9, 0.02 * f64::from(k)));
        let atoms: Vec<(f64, f64)> = near.chain(far).collect();
        let tilted = Tilted { ln_moment: 0.0, error: 0.0, units: 0.0, weighted: 0.0, atoms };
        let it = Component::new(tilted, 1e9);
        let step = 0.7;
        for (start, count) in doubling((0, 700)).into_iter().chain([(5000, 90)]) {
            let (careful, errors) = it.near_and_far(step, start, count);
            let plain = exponential_sums(&it.terms(step), start as f64, count);
            for (j, (sum, error)) in careful.iter().zip(&errors).enumerate() {
                let omega = step * (start + j) as f64;
                let exact = |part: fn(f64) -> f64| compensated(it.atoms.iter().map(|(p, loss)| p * part(loss * omega)));
                let truth = Complex64::new(exact(|x| -2.0 * (x / 2.0).sin().powi(2)), exact(f64::sin));
                assert!((sum - truth).norm() <= *error, "{start} {j}: {sum} {truth} {error:e}");
                assert!((plain[j] - truth).norm() <= it.error(omega, j), "{start} {j}");
                assert!(start > 0 || error * 5.0 <= it.error(omega, j), "{start} {j}: {error:e}");
            }
        }
    }

    /// What all weights were divided by was a little off, or each of them by units of its exponent; losses are near or far.
    #[test]
    fn rounded_weights_are_charged_in_both_ways_of_summing() {
        let law: [(f64, f64); 4] = [(0.25, -0.4), (0.3, 0.004), (0.2, -0.007), (0.25, 0.3)];
        let (units, step) = (1e7, 0.05);
        let each = UNIT * units;
        for (error, units, off) in [(1e-9, 0.0, [1e-9; 4]), (0.0, units, [each, -each, each, -each])] {
            let atoms = law.iter().zip(off).map(|((p, loss), off)| (p * (1.0 + off), *loss)).collect();
            let weighted = law.iter().map(|(p, loss)| units * p * loss.abs()).sum();
            let it = Component::new(Tilted { ln_moment: 0.0, error, units, weighted, atoms }, 1.0);
            let truth = exponential_sums(&law.map(|(p, loss)| (p, loss * step)), 1.0, 1000);
            let (careful, errors) = it.near_and_far(step, 1, 1000);
            let plain = exponential_sums(&it.terms(step), 1.0, 1000);
            let mut used = 0.0;
            for (j, truth) in truth.into_iter().enumerate() {
                let bound = it.error(step * (1 + j) as f64, j);
                let (plain, careful) = ((plain[j] - truth).norm(), (careful[j] - truth).norm());
                assert!(
                    plain <= bound && careful <= errors[j],
                    "{j}: {plain:e} {bound:e}, {careful:e} {:e}",
                    errors[j]
                );
                used = f64::max(used, plain / bound);
            }
            assert!(used > 0.5, "{used}");
        }
    }

    #[test]
    fn pieces_of_a_run_cover_it_once() {
        for (start, count) in [(0, 1), (0, 64), (0, 1000), (5, 100), (700, 3), (100, 10_000)] {
            let pieces = doubling((start, count));
            assert_eq!(pieces.iter().map(|it| it.1).sum::<usize>(), count);
            assert!(pieces.windows(2).all(|two| two[0].0 + two[0].1 == two[1].0) && pieces[0].0 == start);
            assert!(pieces.iter().all(|&(from, length)| length > 0 && (from + length <= (2 * from).max(SHORT))));
        }
    }
}
