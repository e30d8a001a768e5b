//! A pair cut into finitely many cells, fine where it matters for the tilt in use.
//!
//! Moving every cell to its two ends gives a discrete pair that dominates the true one; releasing only
//! which cell the output is in gives one that the true pair dominates. Both keep the masses under P and
//! Q, so the error is of second order in the width of the cells.

use super::pair::{Cell, Pair};
use super::table::Table;
use crate::num::logs::{LnSum, ln_add_exp};
use crate::num::normal::Mass;
use crate::num::{Compensated, compensated, larger};

/// One unit of rounding.
const UNIT: f64 = f64::EPSILON / 2.0;
/// Masses below it, and products with them, may underflow.
const TINY: f64 = 1e-290;

/// An interval of the coordinate with its cell.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: f64,
    to: f64,
    cell: Cell,
}

/// The cells of a pair.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    /// None where there are atoms only.
    pair: Option<Pair>,
    atoms: Vec<Cell>,
    pieces: Vec<Piece>,
    /// `ln` of a bound on the mass beyond the range, at each end.
    pub ln_beyond: f64,
    /// Losses are large in cells and atoms that have none up to it.
    large: f64,
}

/// The masses of the large losses of a partition under P and under Q, and a bound on their relative errors.
pub(super) struct LargeMasses {
    pub with: f64,
    pub without: f64,
    pub error: f64,
}

/// Which of the two discrete pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Side {
    /// The one that dominates.
    Pessimistic,
    /// The one that is dominated.
    Optimistic,
}

/// Units of rounding of a function of the C library: less than one in the last place.
const FUNCTION: f64 = 2.0;

/// A mass at a loss.
#[derive(Clone, Copy, Debug)]
struct Atom {
    mass: Mass,
    ln_factor: f64,
    loss: f64,
}

impl Atom {
    fn new(mass: Mass, loss: f64) -> Self {
        Atom { mass, ln_factor: mass.factor.ln(), loss }
    }

    /// Whether there is any mass. One that is no number stays, so that nothing that follows is one.
    fn is_there(&self) -> bool {
        !(self.mass.factor == 0.0 || self.mass.exponent == f64::NEG_INFINITY)
    }

    /// The exponent of the mass times `e^(c loss)`, rounded once.
    fn tilted(&self, c: f64) -> f64 {
        c.mul_add(self.loss, self.mass.exponent)
    }

    /// The mass times `e^(c loss - scale)`, and its units of rounding: those of the mass, of two exponents, of a function and a product.
    fn weight(&self, c: f64, scale: f64) -> (f64, f64) {
        let tilted = self.tilted(c);
        let exponent = tilted - scale;
        (self.mass.factor * exponent.exp(), self.mass.units + tilted.abs() + exponent.abs() + FUNCTION + 1.0)
    }

    /// The logarithm of the mass times `e^(c loss)`. It is rounded where [`Self::tilted`] is, so that their difference is small however large the tilt.
    fn ln(&self, c: f64) -> f64 {
        self.tilted(c) + self.ln_factor
    }
}

/// The atoms of a discrete pair.
pub(super) struct Atoms {
    list: Vec<Atom>,
    /// By how much the masses may sum to more, or have to sum to less, than 1.
    missing: f64,
    /// Units of rounding of that, absolutely.
    missing_units: f64,
}

/// Atoms for moments of negative order.
pub(super) struct Inverse {
    rest: Atoms,
    large: Vec<Atom>,
}

impl Inverse {
    /// `ln E[e^(-a L)]`, `ln` of the share of the large losses in it, and a bound on the error of the first.
    pub(super) fn moment(&self, order: f64) -> (f64, f64, f64) {
        let (rest, error) = self.rest.moment(-order);
        let mut large = LnSum::default();
        self.large.iter().for_each(|it| large.add(it.ln(-order)));
        let all = ln_add_exp(rest, large.value());
        (all, large.value() - all, error + 1e-14)
    }
}

/// Atoms under the tilted law: probabilities and losses, with the logarithm of what they summed to.
pub(super) struct Tilted {
    /// `ln E_P[e^(c L)]`.
    pub ln_moment: f64,
    /// Bound on its rounding error.
    pub error: f64,
    /// (probability, loss).
    pub atoms: Vec<(f64, f64)>,
    /// Mean units of rounding of the probabilities.
    pub units: f64,
    /// Mean of the same times `|L|`.
    pub weighted: f64,
}

impl Atoms {
    /// `ln E[e^(c L)]` and a bound on its rounding error.
    ///
    /// Near 0 it is `ln(1 + E[e^(c L) - 1])`: errors are then relative to the small expectation, and
    /// survive being multiplied by a large number of steps.
    pub(super) fn moment(&self, c: f64) -> (f64, f64) {
        let scale = self.list.iter().fold(f64::NEG_INFINITY, |m, it| larger(m, it.ln(c)));
        if !scale.is_finite() {
            return (scale, 0.0);
        }
        if scale < 0.0 {
            let (mut sum, mut error) = (Compensated::default(), self.missing_units);
            for Atom { mass, loss, .. } in &self.list {
                let (tilt, plain) = (c * loss, mass.exponent.exp());
                if tilt < 1.0 {
                    let gain = mass.factor * (plain * tilt.exp_m1());
                    sum.add(gain);
                    // The derivative of the gain is the gain and the mass, which cancel where the tilt takes all of it.
                    error += gain.abs() * (mass.units + 9.0) + tilt.abs() * (gain + mass.factor * plain).abs();
                } else {
                    let tilted = c.mul_add(*loss, mass.exponent);
                    let gain = mass.factor * (tilted.exp() - plain);
                    sum.add(gain);
                    // Two exponentials, the larger of which is at most 1.6 times their difference, the smaller 0.6 times.
                    error += gain.abs() * (mass.units + 9.0 + 1.6 * tilted.abs());
                }
            }
            let sum = sum.value();
            // Both together must stay away from -1, where the logarithm magnifies errors.
            if sum.abs() < if self.missing < -1e-12 { 0.25 } else { 0.5 } && self.missing > -0.25 {
                // The logarithm of 1 and at most a half less: errors count twice.
                let units = 2.0 * (error * (1.0 + 1e-9) + 5.0 * sum.abs() + 3.0 * self.missing.abs());
                return ((sum + self.missing).ln_1p(), UNIT * units);
            }
        }
        let (mut sum, mut error) = (Compensated::default(), 0.0);
        for it in &self.list {
            let (weight, units) = it.weight(c, scale);
            sum.add(weight);
            error += weight * units;
        }
        let (sum, error) = (sum.value(), error * (1.0 + 1e-9));
        let ln_sum = sum.ln();
        let ln = scale + ln_sum;
        (ln, UNIT * (4.0 + error / sum + FUNCTION * ln_sum.abs() + ln.abs()))
    }

    /// `ln E[e^(c L)]`.
    pub(super) fn ln_moment(&self, c: f64) -> f64 {
        self.moment(c).0
    }

    /// The tilted law; atoms at the same loss are joined.
    pub(super) fn tilted(&self, c: f64) -> Tilted {
        let (ln_moment, error) = self.moment(c);
        let weight = |it: &Atom| {
            let (weight, units) = it.weight(c, ln_moment);
            (weight, it.loss, units)
        };
        let mut sorted: Vec<(f64, f64, f64)> = self.list.iter().map(weight).filter(|it| it.0 > 0.0).collect();
        sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut units: f64 = sorted.iter().map(|it| it.0 * it.2).sum();
        let mut weighted: f64 = sorted.iter().map(|it| it.0 * it.2 * it.1.abs()).sum();
        let mut joined: Vec<(f64, f64)> = Vec::with_capacity(sorted.len());
        for (p, loss, _) in sorted {
            match joined.last_mut() {
                Some(last) if last.1 == loss => {
                    last.0 += p;
                    units += last.0;
                    weighted += last.0 * loss.abs();
                }
                _ => joined.push((p, loss)),
            }
        }
        Tilted { ln_moment, error, atoms: joined, units, weighted }
    }
}

impl Tilted {
    /// The second and the third central moment of the loss.
    pub(super) fn central_moments(&self) -> (f64, f64) {
        let mean: f64 = self.atoms.iter().map(|(p, loss)| p * loss).sum();
        let square = self.atoms.iter().map(|(p, loss)| p * (loss - mean) * (loss - mean)).sum();
        (square, self.atoms.iter().map(|(p, loss)| p * (loss - mean).powi(3)).sum())
    }

    /// The mean absolute deviation of the loss from its mean, rounded up.
    pub(super) fn absolute_deviation(&self) -> f64 {
        let mean: f64 = self.atoms.iter().map(|(p, loss)| p * loss).sum();
        self.atoms.iter().map(|(p, loss)| p * (loss - mean).abs()).sum::<f64>() * (1.0 + 1e-10)
    }

    /// The mean magnitude of the loss.
    pub(super) fn magnitude(&self) -> f64 {
        self.atoms.iter().map(|(p, loss)| p * loss.abs()).sum()
    }
}

/// By how much the dominating atoms of a cell exceed it in `E[e^(c L)]`, relative to `e^scale`.
fn excess(cell: &Cell, c: f64, scale: f64) -> f64 {
    let share = cell.share_high();
    if c * (cell.high - cell.low) < 1.0 {
        let gain =
            (1.0 - share) * (c * (cell.low - cell.mean)).exp_m1() + share * (c * (cell.high - cell.mean)).exp_m1();
        return (cell.ln_mass + c * cell.mean - scale).exp() * gain.max(0.0);
    }
    let low = (cell.ln_mass + (1.0 - share).ln() + c * cell.low - scale).exp();
    let high = (cell.ln_mass + share.ln() + c * cell.high - scale).exp();
    (low + high - (cell.ln_mass + c * cell.mean - scale).exp()).max(0.0)
}

impl Partition {
    /// Cuts the range evenly into about `count` pieces.
    pub(super) fn new(pair: Pair, reach: f64, count: usize) -> Self {
        let outline = pair.outline(reach);
        let mut pieces = Vec::with_capacity(count);
        if let Some((from, to)) = outline.range {
            let at = |i: usize| {
                let x = from + (to - from) * (i as f64 / count as f64);
                if i == count {
                    to
                } else if pair.is_discrete() {
                    x.floor()
                } else {
                    x
                }
            };
            for i in 0..count {
                if at(i) < at(i + 1) {
                    pieces.push(Piece { from: at(i), to: at(i + 1), cell: pair.cell(at(i), at(i + 1)) });
                }
            }
        }
        Partition { pair: Some(pair), atoms: outline.atoms, pieces, ln_beyond: outline.ln_beyond, large: f64::INFINITY }
    }

    /// The outcomes of a table, each a set of its own.
    pub(super) fn of_table(table: &Table) -> Self {
        Partition {
            pair: None,
            atoms: table.cells().to_vec(),
            pieces: Vec::new(),
            ln_beyond: f64::NEG_INFINITY,
            large: f64::INFINITY,
        }
    }

    /// Says which losses are large: those of cells wholly above the threshold, and no others when cells are split later.
    pub(super) fn set_large(&mut self, threshold: f64) {
        let above = self.cells().filter(|it| it.low > threshold);
        self.large = above.fold(f64::INFINITY, |least, it| least.min(it.low)).next_down();
    }

    /// Says that losses above a threshold are large, besides those that are so already.
    pub(super) fn lower_large(&mut self, threshold: f64) {
        if threshold < self.large {
            self.set_large(threshold);
        }
    }

    /// The cells whose losses are large, or those whose are not.
    fn part(&self, large: bool) -> impl Iterator<Item = &Cell> {
        self.cells().filter(move |it| (it.low > self.large) == large)
    }

    /// The masses of the large losses; `None` where they are so small that an error is not relative to them.
    pub(super) fn large(&self) -> Option<LargeMasses> {
        let sum = |ln: fn(&Cell) -> f64| compensated(self.part(true).map(|it| ln(it).exp()));
        let (with, without) = (sum(|it| it.ln_mass), sum(|it| it.ln_mass - it.mean));
        let units = |it: &Cell| {
            let of_mean = larger(128.0 * it.mean.abs(), it.mean_units + 2.0 * it.mean.abs());
            128.0 + it.mass.ln_units() + 3.0 * it.ln_mass.abs() + of_mean
        };
        let sound = |mass: f64| (TINY..=2.0).contains(&mass);
        if self.part(true).next().is_some() && !(sound(with) && sound(without)) {
            return None;
        }
        Some(LargeMasses { with, without, error: UNIT * self.part(true).map(units).fold(0.0, larger) })
    }

    /// The mass under Q of losses as far below 0 as large ones are above it, from above.
    pub(super) fn opposite(&self) -> f64 {
        let far = self.cells().filter(|it| it.high < -self.large);
        far.map(|it| (it.ln_mass - it.mean).exp() * (1.0 + 1e-9) + f64::MIN_POSITIVE).sum::<f64>() * (1.0 + 1e-9)
    }

    /// A bound on the mass beyond the range, at each end.
    pub(super) fn beyond(&self) -> f64 {
        if self.ln_beyond == f64::NEG_INFINITY { 0.0 } else { self.ln_beyond.exp().max(f64::MIN_POSITIVE) }
    }

    /// Large losses and all others, moved to their ends; without those as far below 0 as large ones are above it where they are cut.
    pub(super) fn inverse(&self, cut: bool) -> Inverse {
        let far = |it: &&Cell| cut && it.high < -self.large;
        let (gone, missing_units) = Self::total(self.part(true).chain(self.cells().filter(far)));
        let spread = |cells: &mut dyn Iterator<Item = &Cell>| Self::spread(cells, Cell::share_high_least, Cell::least);
        let rest = Atoms { list: spread(&mut self.part(false).filter(|it| !far(it))), missing: -gone, missing_units };
        Inverse { rest, large: spread(&mut self.part(true)) }
    }

    /// All cells.
    pub(super) fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.atoms.iter().chain(self.pieces.iter().map(|it| &it.cell))
    }

    /// The number of cells.
    pub(super) fn len(&self) -> usize {
        self.atoms.len() + self.pieces.len()
    }

    /// The two halves of a piece, if it can be split.
    fn halves(&self, piece: &Piece) -> Option<[Piece; 2]> {
        let pair = self.pair?;
        let m = pair.middle(piece.from, piece.to)?;
        let part = |from, to| Piece { from, to, cell: pair.cell(from, to) };
        Some([part(piece.from, m), part(m, piece.to)])
    }

    /// Splits the pieces that a predicate selects.
    fn split(&mut self, wanted: impl Fn(&Piece) -> bool) -> bool {
        let old = std::mem::take(&mut self.pieces);
        let before = old.len();
        let mut pieces = Vec::with_capacity(2 * before);
        for piece in old {
            match if wanted(&piece) { self.halves(&piece) } else { None } {
                Some(halves) => pieces.extend(halves),
                None => pieces.push(piece),
            }
        }
        self.pieces = pieces;
        self.pieces.len() > before
    }

    /// Splits cells until the two discrete pairs differ by at most `budget` in `ln E[e^(c L)]`, or until
    /// there are `limit` cells.
    pub(super) fn refine(&mut self, c: f64, budget: f64, limit: usize) {
        for _ in 0..60 {
            let scale = self.part(false).fold(f64::NEG_INFINITY, |m, it| m.max(it.ln_mass + c * it.mean));
            let total: f64 = self.part(false).map(|it| (it.ln_mass + c * it.mean - scale).exp()).sum();
            let excess = |it: &Cell| if it.low > self.large { 0.0 } else { excess(it, c, scale) };
            let gap: f64 = self.pieces.iter().map(|it| excess(&it.cell)).sum();
            if gap <= budget * total || self.len() >= limit || scale.is_nan() {
                return;
            }
            let threshold = 0.5 * budget * total / self.pieces.len() as f64;
            let large = self.large;
            if !self.split(|it| it.cell.low <= large && self::excess(&it.cell, c, scale) > threshold) {
                return;
            }
        }
    }

    /// Splits cells with losses that are not large until their errors add up to a budget, or until there are `limit` cells.
    pub(super) fn refine_by(&mut self, budget: f64, limit: usize, error: impl Fn(&Cell) -> f64) {
        for _ in 0..60 {
            let large = self.large;
            let error = |it: &Piece| if it.cell.low > large { 0.0 } else { error(&it.cell) };
            let total: f64 = self.pieces.iter().map(error).sum();
            let threshold = 0.5 * budget / self.pieces.len() as f64;
            if total <= budget || self.len() >= limit || !self.split(|it| error(it) > threshold) {
                return;
            }
        }
    }

    /// Splits cells whose losses are beyond a magnitude until none is wider than a share of it, or there are `limit` cells.
    pub(super) fn grade(&mut self, from: f64, share: f64, limit: usize) {
        let wide = |it: &Piece| {
            let Cell { low, high, .. } = it.cell;
            high - low > share * high.max(-low).max(from)
        };
        while self.len() < limit && self.split(|it| it.cell.high.max(-it.cell.low) > from && wide(it)) {}
    }

    /// Splits the cells that have losses on both sides of `epsilon`, down to single floats.
    pub(super) fn resolve(&mut self, epsilon: f64) {
        while self.split(|it| it.cell.low < epsilon && it.cell.high > epsilon) {}
    }

    /// The atoms of a discrete pair; what is beyond the right end is left out.
    pub(super) fn atoms(&self, side: Side) -> Atoms {
        let beyond = self.ln_beyond.exp();
        let (large, large_units) = if self.large >= f64::MAX { (0.0, 0.0) } else { Self::total(self.part(true)) };
        let missing_units = large_units + if beyond > 0.0 { beyond * (16.0 + 8.0 * self.ln_beyond.abs()) } else { 0.0 };
        if side == Side::Optimistic {
            let atom = |it: &Cell| Atom::new(it.mass, it.least());
            let list = self.part(false).map(atom).filter(Atom::is_there).collect();
            return Atoms { list, missing: -2.0 * beyond - large, missing_units };
        }
        let lowest = self.pieces.iter().fold(f64::INFINITY, |m, it| m.min(it.cell.low));
        let mut list = Self::spread(self.part(false), Cell::share_high, Cell::most);
        if self.ln_beyond > f64::NEG_INFINITY && lowest.is_finite() {
            let mass = Mass::of_ln(self.ln_beyond, 8.0 + 4.0 * self.ln_beyond.abs());
            list.push(Atom::new(mass, lowest));
        }
        Atoms { list, missing: beyond - large, missing_units }
    }

    /// The masses of some cells added up, and the units of rounding of that.
    fn total<'a>(cells: impl Iterator<Item = &'a Cell>) -> (f64, f64) {
        let mut units = 0.0;
        let mass = |it: &Cell| {
            let mass = it.ln_mass.exp();
            units += mass * (it.mass.ln_units() + FUNCTION + 2.0);
            mass
        };
        (compensated(cells.map(mass)), units)
    }

    /// Cells moved to their two ends, with a share of each at its upper one, or a single loss rounded.
    fn spread<'a>(
        cells: impl Iterator<Item = &'a Cell>,
        share: fn(&Cell) -> f64,
        single: fn(&Cell) -> f64,
    ) -> Vec<Atom> {
        let mut list = Vec::new();
        for cell in cells {
            let share = share(cell);
            if cell.low == cell.high {
                list.push(Atom::new(cell.mass, single(cell)));
            } else {
                // Any share that is large enough is right; both must add up to all.
                let part = |share: f64, loss: f64| Atom::new(cell.mass.times(share, 1.0), loss);
                list.extend([part(1.0 - share, cell.low), part(share, cell.high)]);
            }
        }
        list.retain(Atom::is_there);
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loss is right to some units of rounding: what dominates takes the larger ones, and what is dominated the smaller ones.
    #[test]
    fn single_losses_are_rounded_outwards() {
        let losses = [0.3, -0.7, 1e-9];
        let partition = Partition::of_table(&Table::new(losses.map(|loss| (f64::ln(1.0 / 3.0), loss))));
        let found = |side: Side| partition.atoms(side).list.iter().map(|it| it.loss).collect::<Vec<f64>>();
        let (above, below) = (found(Side::Pessimistic), found(Side::Optimistic));
        for (k, loss) in losses.into_iter().enumerate() {
            let error = 4.0 * UNIT * loss.abs();
            assert!(
                below[k] + error <= loss
                    && loss <= above[k] - error
                    && above[k] - below[k] <= 16.0 * error.max(UNIT * 1e-9)
            );
        }
    }

    /// What is no number stays one: a bound must not be made of the rest.
    #[test]
    fn what_is_no_number_leaves_no_bound() {
        let table = Table::new([(f64::ln(0.5), 0.1), (f64::NAN, 0.2), (f64::ln(0.5), -0.1)]);
        for side in [Side::Pessimistic, Side::Optimistic] {
            let (moment, _) = Partition::of_table(&table).atoms(side).moment(1.0);
            assert!(moment.is_nan(), "{moment}");
        }
    }
}
