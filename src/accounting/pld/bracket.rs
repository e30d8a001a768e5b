//! Pairs that are known by laws of their likelihood ratio above and below, in convex order.

use super::table::Table;
use crate::accounting::ratio::{LikelihoodRatio, Points};
use crate::num::compensated;

/// Outcomes of one direction of a law of the ratio, their losses moved up by the error of a ratio, or down.
fn table(law: &Points, removed: bool, side: f64) -> Table {
    let one = |&(mass, ratio): &(f64, f64)| {
        let (ln_mass, loss) = if removed { (mass.ln() + ratio, ratio) } else { (mass.ln(), -ratio) };
        (ln_mass, loss + side * law.errors.1)
    };
    let outcomes: Vec<(f64, f64)> = law.points.iter().filter(|it| it.0 > 0.0).map(one).collect();
    let ln_sum = compensated(outcomes.iter().map(|it| it.0.exp())).ln();
    Table::new(outcomes.into_iter().map(|(ln_mass, loss)| (ln_mass - ln_sum, loss)))
}

/// One direction of a pair.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bracket {
    ratio: LikelihoodRatio,
    removed: bool,
    /// Whether what the ratio dominates from below is dominated by what is asked about, too.
    exact: bool,
}

impl Bracket {
    /// The remove direction and the add direction.
    pub(super) fn both(ratio: &LikelihoodRatio, exact: bool) -> [Self; 2] {
        [true, false].map(|removed| Bracket { ratio: ratio.clone(), removed, exact })
    }
}

impl Bracket {
    /// The largest sensitivity in deviations of the noise.
    pub(super) fn largest(&self) -> f64 {
        self.ratio.largest()
    }

    /// Whether what dominates and what is dominated stay apart, however fine they are.
    pub(super) fn is_apart(&self) -> bool {
        !self.exact || self.ratio.is_apart()
    }

    /// What dominates, as fine as this level: its outcomes, the probability of an outright failure, and the relative error of masses.
    pub(super) fn above(&self, level: usize) -> (Table, f64, f64) {
        let law = self.ratio.above(level);
        let lost = if self.removed { law.lost.0 } else { law.lost.1 };
        (table(law, self.removed, 1.0), lost, law.errors.0 + law.errors.1)
    }

    /// What is dominated, as fine as this level: its outcomes and the relative error of masses; `None` where that is known of all together.
    pub(super) fn below(&self, level: usize) -> Option<(Table, f64)> {
        self.exact.then(|| {
            let law = self.ratio.below(level);
            (table(law, self.removed, -1.0), law.errors.0 + law.errors.1)
        })
    }
}
