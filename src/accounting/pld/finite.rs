//! Compositions whose profile is a finite sum: few kinds of randomised response, or a single mechanism.

use super::law::Law;
use super::pair::{Base, Cell, Pair};
use super::partition::Partition;
use crate::num::logs::{LnSum, ln_add_exp, ln_choose};

/// One unit of rounding.
const UNIT: f64 = f64::EPSILON / 2.0;
/// Atoms, at most.
const ATOMS: f64 = 2e6;
/// From so many outcomes on sums of two are cheaper by transforms.
const MANY: usize = 500;

/// Atoms sorted by falling loss, with running sums.
pub(super) struct Atoms {
    /// Loss, `ln sum p`, `ln sum p e^-loss` over this atom and all before it.
    rows: Vec<(f64, f64, f64)>,
    margin: f64,
    /// By how much the computed losses may be off, besides the share that every number is.
    blur: f64,
    /// `ln` of a bound on the mass of the atoms left out.
    ln_lost: f64,
}

/// Losses and probabilities of `count` times randomised response, as far as they reach `floor`.
///
/// `ln p_k = ln C(n, k) + (n-k) ln p + k ln(1-p)`, loss `(n - 2k) epsilon`.
fn binomial(epsilon: f64, count: f64, floor: f64) -> Vec<(f64, f64)> {
    let n = count as u64;
    let truth = -(-epsilon).exp().ln_1p();
    let at = |k: u64| ln_choose(n, k) + truth * count - epsilon * k as f64;
    let mode = ((count + 1.0) / (1.0 + epsilon.exp())).floor().min(count) as u64;
    let row = |k: u64, ln: f64| ((count - 2.0 * k as f64) * epsilon, ln);
    // From the mode outwards by ratios: the error grows with the distance, not with the size of n.
    let mut rows = vec![row(mode, at(mode))];
    let mut ln = rows[0].1;
    for k in mode + 1..=n {
        ln += ((n - k + 1) as f64 / k as f64).ln() - epsilon;
        if ln < floor {
            break;
        }
        rows.push(row(k, ln));
    }
    ln = rows[0].1;
    for k in (0..mode).rev() {
        ln += ((k + 1) as f64 / (n - k) as f64).ln() + epsilon;
        if ln < floor {
            break;
        }
        rows.push(row(k, ln));
    }
    // The value at the mode carries the rounding of large logarithms; the sum is 1 exactly.
    let mut sum = LnSum::default();
    rows.iter().for_each(|it| sum.add(it.1));
    rows.iter_mut().for_each(|it| it.1 -= sum.value());
    rows
}

impl Atoms {
    /// All atoms of a composition of randomised responses, if there are not too many.
    ///
    /// `ln_delta` is the smallest delta of interest: atoms that cannot matter to it are left out.
    pub(super) fn new(law: &Law, ln_delta: f64) -> Option<Self> {
        let mut total = vec![(0.0, 0.0)];
        let floor = ln_delta - 60.0;
        let (mut steps, mut ln_lost) = (0.0, f64::NEG_INFINITY);
        for &(pair, count) in &law.parts {
            let Base::TwoPoint { epsilon } = pair.base else {
                return None;
            };
            // The support within the floor is at most this wide (Hoeffding), unless n is small.
            let wide = (2.0 * (-2.0 * floor * count).sqrt() + 2.0).min(count + 1.0);
            if count > 1e12 || law.mu.upper > 0.0 || wide * total.len() as f64 > ATOMS {
                return None;
            }
            let rows = binomial(epsilon, count, floor);
            steps += rows.len() as f64;
            if (rows.len() as f64) < count + 1.0 {
                // No probability left out exceeds the floor.
                ln_lost = ln_add_exp(ln_lost, floor + count.ln() + 1e-6);
            }
            total = total.iter().flat_map(|a| rows.iter().map(move |b| (a.0 + b.0, a.1 + b.1))).collect();
            if total.len() as f64 > ATOMS {
                return None;
            }
        }
        let mut blur = 0.0;
        for (table, count) in &law.tables {
            let cells = table.cells();
            let pairs = (cells.len() as f64).powf(*count) * total.len() as f64;
            if law.mu.upper > 0.0 || pairs > ATOMS || (cells.len() > MANY && pairs > cells.len() as f64) {
                return None;
            }
            for _ in 0..*count as u64 {
                total = total.iter().flat_map(|a| cells.iter().map(move |b| (a.0 + b.mean, a.1 + b.ln_mass))).collect();
            }
            // A mass of a table is right to a few units, of a logarithm that is no smaller than -43; so is a loss, and losses may cancel.
            steps += *count + if cells.len() > MANY { cells.len() as f64 } else { 0.0 };
            blur += UNIT * count * (count + 4.0) * table.widest();
        }
        total.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (mut with, mut without) = (LnSum::default(), LnSum::default());
        let rows = total
            .iter()
            .map(|&(loss, ln)| {
                with.add(ln);
                without.add(ln - loss);
                (loss, with.value(), without.value())
            })
            .collect();
        // Every step of a binomial rounds two numbers of the size of its logarithm.
        let margin = 1e-12 + 2.0 * UNIT * steps * (8.0 + floor.abs());
        Some(Atoms { rows, margin, blur, ln_lost })
    }

    /// `ln delta`, or `-inf` beyond the largest loss.
    fn value(&self, epsilon: f64) -> f64 {
        let above = self.rows.partition_point(|it| it.0 > epsilon);
        if above == 0 {
            return f64::NEG_INFINITY;
        }
        let (_, with, without) = self.rows[above - 1];
        with + (-(without + epsilon - with).exp_m1()).max(0.0).ln()
    }

    fn bounds(&self, epsilon: f64) -> (f64, f64) {
        let value = self.value(epsilon);
        // Rounding may have put losses next to epsilon on the wrong side, and the difference of the two sums
        // loses digits where delta is far below the mass above epsilon.
        let near = self.rows.partition_point(|it| it.0 * (1.0 + 1e-12) + self.blur > epsilon);
        let Some((_, with, _)) = near.checked_sub(1).and_then(|it| self.rows.get(it)) else {
            return (f64::NEG_INFINITY, self.ln_lost);
        };
        let ln_slack = with + (32.0 * UNIT * (1.0 + epsilon + with.abs()) + 2.0 * self.blur).ln();
        outward(value, self.margin, ln_slack, self.ln_lost)
    }
}

/// `ln` of `e^value` less and plus `e^ln_slack`, the latter with the lost mass, all widened by a relative margin.
fn outward(value: f64, margin: f64, ln_slack: f64, ln_lost: f64) -> (f64, f64) {
    let upper = ln_add_exp(ln_add_exp(value, ln_slack), ln_lost) + margin;
    let lower = if ln_slack < value { value + (-(ln_slack - value).exp()).ln_1p() - margin } else { f64::NEG_INFINITY };
    (lower, if upper.is_nan() { 0.0 } else { upper.min(0.0) })
}

/// A single mechanism: only the cell that contains epsilon is not summed exactly.
pub(super) struct Single {
    partition: Partition,
}

impl Single {
    /// Cuts a pair so finely that every cell is exact.
    pub(super) fn new(pair: Pair, ln_delta: f64) -> Option<Self> {
        let reach = (2.0 * (40.0 - ln_delta)).sqrt();
        pair.is_tractable(reach).then(|| Single { partition: Partition::new(pair, reach, 1024) })
    }

    /// The total variation distance, from above.
    pub(super) fn variation(&self) -> f64 {
        self.bounds(0.0).1.exp()
    }

    fn bounds(&self, epsilon: f64) -> (f64, f64) {
        let mut partition = self.partition.clone();
        partition.resolve(epsilon);
        let term = |ln_mass: f64, loss: f64| ln_mass + (-(epsilon - loss).min(0.0).exp_m1()).ln();
        let (mut low, mut high) = (LnSum::default(), LnSum::default());
        let (mut lost, mut rounded) = (LnSum::default(), LnSum::default());
        for cell in partition.cells() {
            let Cell { mass, ln_mass, mean, mean_units, high: top, low: bottom } = *cell;
            // Comparisons would drop what is no number.
            if mean.is_nan() || mean_units.is_nan() {
                return (f64::NEG_INFINITY, 0.0);
            }
            if top > epsilon {
                rounded.add(term(ln_mass, top) + (UNIT * mass.ln_units()).ln());
            }
            if bottom >= epsilon || mean > epsilon {
                low.add(term(ln_mass, mean));
            }
            if bottom >= epsilon {
                high.add(term(ln_mass, mean));
            } else if top > epsilon {
                high.add(term(ln_mass + cell.share_high().ln(), top));
            }
            // A loss is known to a few units, which also decide on which side of epsilon it is.
            let units = UNIT * (16.0 * (mean.abs() + epsilon) + mean_units);
            if top + units >= epsilon {
                lost.add(ln_mass + units.max(f64::MIN_POSITIVE).ln());
            }
        }
        let margin = |value: f64| 1e-12 + 16.0 * UNIT * value.abs().min(1e9);
        let (low, high, lost) = (low.value(), high.value(), ln_add_exp(lost.value(), rounded.value()));
        let upper = outward(high, margin(high), lost, partition.ln_beyond).1;
        (outward(low, margin(low), lost, f64::NEG_INFINITY).0, upper)
    }
}

/// A profile that is known to rounding.
pub(super) enum Finite {
    /// Sorted atoms.
    Atoms(Atoms),
    /// One mechanism.
    Single(Single),
}

impl Finite {
    /// The profile, if the composition has such a form.
    pub(super) fn new(law: &Law, ln_delta: f64) -> Option<Self> {
        if law.mu.upper > 0.0 {
            return None;
        }
        if let Some(atoms) = Atoms::new(law, ln_delta) {
            return Some(Finite::Atoms(atoms));
        }
        match law.parts.as_slice() {
            [(pair, count)] if *count == 1.0 && law.tables.is_empty() => {
                Single::new(*pair, ln_delta).map(Finite::Single)
            }
            _ => None,
        }
    }

    /// Lower and upper bound on `ln delta`.
    pub(super) fn bounds(&self, epsilon: f64) -> (f64, f64) {
        match self {
            Finite::Atoms(atoms) => atoms.bounds(epsilon),
            Finite::Single(single) => single.bounds(epsilon),
        }
    }
}
