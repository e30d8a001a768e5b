//! How much a cell matters for delta where the tilt does not say so.
//!
//! Cells are cut by their part in the tilted composition. Where Chernoff's bound is far above delta, most of that composition lies beyond
//! epsilon, at losses that are larger than those that make delta: the cells of these stay coarse. A loss L is part of what makes delta as
//! often as `n p(L) P(S > epsilon - L) / P(S > epsilon)` says. The tail of the sum of small losses is close to its Chernoff bound; the larger
//! ones come one by one. Estimates all: they decide where cells are cut, and bounds hold for any cells.

use super::chernoff::{atoms, conversion, ln_moment};
use super::partition::{Partition, Side};
use crate::num::logs::{LnSum, ln_add_exp};

/// Points from 0 to epsilon at which the tail is estimated.
const POINTS: usize = 64;
/// Losses up to so many points are small, and those of more than so many are all alike.
const SMALL: usize = 4;
const ALIKE: usize = POINTS + 16;
/// Tilts that are tried for the small ones, and by how much one is stronger than the last.
const TILTS: (i32, f64) = (30, 1.6);

/// Estimates of the tail of a composition.
pub(super) struct Tails {
    epsilon: f64,
    /// `ln P(S > x)` at multiples of a step.
    ln_tail: Vec<f64>,
    /// One over the standard deviation without any tilt, where that is below the tilt in use, and this tilt: densities change no faster.
    rates: (f64, f64),
}

impl Tails {
    /// Prepares estimates for losses up to epsilon, of a composition whose standard deviation is the spread, and where a tilt c is in use.
    pub(super) fn new(parts: &[(Partition, f64)], mu2: f64, epsilon: f64, spread: f64, c: f64) -> Self {
        let step = epsilon / POINTS as f64;
        let mut small = parts.to_vec();
        small.iter_mut().for_each(|it| it.0.lower_large(step * SMALL as f64));
        let small = atoms(&small, Side::Optimistic);
        let tilts = (0..TILTS.0).map(|k| 0.02 / epsilon.max(spread) * TILTS.1.powi(k));
        let moments: Vec<(f64, f64)> = tilts.map(|c| (c, ln_moment(&small, mu2, c) + conversion(c))).collect();
        let bound = |x: f64| moments.iter().map(|(c, ln)| ln - c * x).fold(0.0, f64::min);
        let mut ln_tail: Vec<f64> = (0..=POINTS).map(|j| bound(step * j as f64)).collect();
        let mut layers = [LnSum::default(); ALIKE + 1];
        for (cell, count) in parts.iter().flat_map(|(it, count)| it.cells().map(move |cell| (cell, count))) {
            let layer = (cell.mean / step).ceil();
            if layer > SMALL as f64 {
                layers[(layer as usize).min(ALIKE)].add(cell.ln_mass + count.ln());
            }
        }
        // Each kind of loss once or more often, on top of all smaller ones.
        for (layer, ln_mass) in layers.iter().enumerate() {
            let ln_mass = ln_mass.value();
            if ln_mass == f64::NEG_INFINITY {
                continue;
            }
            for j in 0..=POINTS {
                let rest = j.checked_sub(layer).map_or(0.0, |j| ln_tail[j]);
                ln_tail[j] = ln_add_exp(ln_tail[j], ln_mass + rest).min(0.0);
            }
        }
        Tails { epsilon, ln_tail, rates: (spread.recip().min(c), c) }
    }

    /// About `ln P(S > x)`, and how fast it falls there.
    fn at(&self, x: f64) -> (f64, f64) {
        let at = (x / self.epsilon * POINTS as f64).max(0.0);
        let j = (at as usize).min(POINTS - 1);
        let slope = self.ln_tail[j + 1] - self.ln_tail[j];
        let rate = -slope * POINTS as f64 / self.epsilon;
        (self.ln_tail[j] + slope * (at - j as f64).min(1.0), rate.min(self.rates.1) + self.rates.0)
    }

    /// Splits cells until what their ends add to delta is about a share of it.
    pub(super) fn refine(&self, parts: &mut [(Partition, f64)], gap: f64, limit: usize) {
        let share = gap / parts.len() as f64;
        let all = self.ln_tail[POINTS];
        for (partition, count) in parts {
            let ln_count = count.ln();
            partition.refine_by(share, limit, |cell| {
                let (ln_tail, rate) = self.at(self.epsilon - cell.high);
                let spread = (cell.high - cell.mean) * (cell.mean - cell.low);
                let often = (ln_count + cell.ln_mass + ln_tail - all).exp();
                0.5 * rate * rate * spread * often
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Table;
    use super::*;

    /// Rare losses of 1: the tail of their number is known, and cells are cut only for as many as it takes to exceed epsilon.
    #[test]
    fn rare_losses_come_one_by_one() {
        let (rare, count) = (1e-6, 1000.0);
        let table = Table::new([(f64::ln_1p(-rare), -1e-6), (f64::ln(rare), 1.0)]);
        let tails = Tails::new(&[(Partition::of_table(&table), count)], 0.0, 4.0, (count * rare).sqrt(), 5.0);
        let often = count * rare;
        // `often^k / k!` is the probability of at least k, about.
        let mut ln_at_least = 0.0;
        for k in 1..=4 {
            ln_at_least += (often / f64::from(k)).ln();
            let (found, rate) = tails.at(f64::from(k) - 0.2);
            assert!((found - ln_at_least).abs() < 3.5, "{k}: {found} {ln_at_least}");
            assert!((5.0..=10.0).contains(&rate), "{rate}");
        }
        assert_eq!(tails.at(-1.0).0, tails.at(0.0).0);
    }

    /// What Chernoff's bound on the whole is far above: one loss beyond epsilon is all that its tilt sees.
    #[test]
    fn a_loss_beyond_epsilon_does_not_hide_those_below() {
        let losses = [(1e-9, 3.0), (1e-13, 9.0)];
        let table = Table::new([(0.0, -1e-9)].into_iter().chain(losses.map(|(p, loss)| (f64::ln(p), loss))));
        let parts = [(Partition::of_table(&table), 1.0)];
        let found = Tails::new(&parts, 0.0, 2.9, 1e-2, 5.0).at(2.9).0;
        let atoms = atoms(&parts, Side::Optimistic);
        let whole = (1..500).map(f64::from).map(|c| ln_moment(&atoms, 0.0, c) - c * 2.9).fold(0.0, f64::min);
        assert!((found - f64::ln(1e-9)).abs() < 0.1 && whole > found + 1.0, "{found} {whole}");
    }
}
