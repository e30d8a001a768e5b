//! What values the columns of a file take, released before there is a schema.

use super::selected::{Choice, ChoicePlan};
use crate::accounting::stable;
use crate::error::{Error, Fallible};
use crate::optim::{Fineness, GaussianRelease, GaussianRule, Planned};
use crate::privacy::{Adjacency, Delta, NoiseLaw, Rho, ThresholdCharge};
use crate::private::{Grid, GridPrice, LoggedRun, PrivateCells, Query, query};

/// Size of the integer grid: a row counts for about `2^20` steps.
const TARGET: f64 = (1u64 << 20) as f64;

/// Of the rows, so many may lie outside an interval at no price.
const ALLOWED: f64 = 0.005;

/// An interval of half the width is worth so many more of the rows outside.
const HALVING: f64 = 0.0002;

/// The releases on a grid where a row counts for about [`TARGET`] steps, and what it counts for.
fn steps_of_a_row(rule: &GaussianRule<'_>, rho: f64) -> Fallible<(GaussianRelease, u64)> {
    let sensitivity = (rule.query)(1 << 30).sensitivity(rule.adjacency) as f64 / 2f64.powi(30);
    let wanted = Fineness { sensitivity, target: TARGET * sensitivity, largest: u64::MAX, slack: 1e-5 };
    let (release, weight) = rule.finest(&Rho::from_f64(rho)?, &wanted);
    if (1024..=1 << 40).contains(&weight) {
        return Ok((release, weight));
    }
    Err(Error::parameter("budget", "is too small or too large for a draft", "use another epsilon, such as 0.5"))
}

/// One release of the number of rows and of how many cells of each column are numbers and other texts.
///
/// # Privacy
/// One Gaussian release, see [`PrivateCells::kinds`].
#[derive(Clone, Debug, PartialEq)]
pub struct KindsPlan {
    columns: Vec<usize>,
    counted: bool,
    weight: u64,
    release: GaussianRelease,
}

/// Noised numbers of rows, in rows.
#[derive(Clone, Debug, PartialEq)]
pub struct KindsSeen {
    /// Rows, if they were counted.
    pub rows: Option<f64>,
    /// Numbers and other texts of each column.
    pub columns: Vec<[f64; 2]>,
    /// Standard deviation of the noise in each of them.
    pub deviation: f64,
}

impl KindsPlan {
    /// Plans the release at a cost of at most `rho`.
    ///
    /// # Errors
    /// When the budget is out of range.
    pub fn new(columns: Vec<usize>, counted: bool, adjacency: Adjacency, rho: f64) -> Fallible<Self> {
        let query = |weight| Query::from(query::Kinds { weight, columns: columns.len() as u64, counted });
        let (what, noise) = ("kinds of the cells of columns", NoiseLaw::FlooredNormal);
        let rule = GaussianRule { what, query: &query, adjacency, noise, count: 1 };
        let (release, weight) = steps_of_a_row(&rule, rho)?;
        Ok(KindsPlan { columns, counted, weight, release })
    }

    /// What to pay for.
    pub fn planned(&self) -> Planned {
        self.release.planned()
    }

    /// Makes the release.
    ///
    /// # Errors
    /// When it is not the next one of the run, or the file cannot be read.
    pub fn run(&self, cells: &PrivateCells, run: &mut LoggedRun<'_>) -> Fallible<KindsSeen> {
        let kinds = || cells.kinds(&self.columns, self.counted, self.weight);
        let released = run.release(&self.planned(), 1.0 / self.weight as f64, kinds)?;
        let mut values = released.values().iter().map(|&value| value as f64 / self.weight as f64);
        let rows = if self.counted { values.next() } else { None };
        let values: Vec<f64> = values.collect();
        let deviation = 2f64.powi(self.release.event().log2_scale as i32) / self.weight as f64;
        Ok(KindsSeen { rows, deviation, columns: values.chunks_exact(2).map(|of| [of[0], of[1]]).collect() })
    }
}

/// Choices of an interval for each of several columns.
///
/// Scores are the rows outside, beyond half a percent of all, and a price of the width. With `N` intervals the chosen one
/// scores more than the best by over `(ln N + t) / epsilon` rows with probability at most `e^-t`.
///
/// # Privacy
/// One choice of epsilon-bounded range for each column, see [`PrivateCells::intervals`].
///
/// # Reference
/// Smith 2011 (quantiles by the exponential mechanism); McSherry and Talwar 2007; Cesar and Rogers 2021, Lemma 3.2.
#[derive(Clone, Debug, PartialEq)]
pub struct RangesPlan {
    choice: ChoicePlan,
    /// Epsilon of one choice for each step of a row.
    epsilon: f64,
}

impl RangesPlan {
    /// Plans a choice among `candidates` intervals for each of `columns` columns, all at a cost of at most `rho`.
    ///
    /// # Errors
    /// When the budget is too small or too large for the integer grid.
    pub fn new(columns: u64, candidates: u64, adjacency: Adjacency, rho: f64) -> Fallible<Self> {
        let query = |weight, candidates| query::Intervals { weight, candidates }.into();
        let choice =
            Choice { what: "interval of a column", adjacency, count: columns, largest: 1 << 20, query, candidates };
        let choice = choice.with_rho(rho);
        if choice.steps < 16 {
            return Err(Error::parameter("budget", "is too small for these columns", "use a larger epsilon"));
        }
        let epsilon = choice.steps as f64 / 2f64.powi(choice.event.log2_scale as i32);
        Ok(RangesPlan { choice, epsilon })
    }

    /// What to pay for.
    pub fn planned(&self) -> Planned {
        self.choice.planned()
    }

    /// What rows outside and widths count, given about how many rows there are.
    ///
    /// A halving is worth at least the noise of a choice: wider intervals than needed would else be as likely.
    fn price(&self, rows: f64) -> GridPrice {
        GridPrice { allowed: (ALLOWED * rows.max(0.0)) as u64, halving: (HALVING * rows).max(1.0 / self.epsilon) }
    }

    /// Makes one choice for each column.
    ///
    /// # Errors
    /// When they are not the next releases of the run, or the file cannot be read.
    pub fn run(
        &self,
        cells: &PrivateCells,
        columns: &[(usize, Grid)],
        rows: f64,
        run: &mut LoggedRun<'_>,
    ) -> Fallible<Vec<(f64, f64)>> {
        let price = self.price(rows);
        let asked: Vec<_> = columns.iter().map(|(column, grid)| (*column, grid.clone(), price)).collect();
        let (scores, planned) = (cells.intervals(&asked, self.choice.steps)?, self.planned());
        let choose = |(scores, (_, grid)): (_, &(usize, Grid))| -> Fallible<(f64, f64)> {
            let released = run.choose(&planned, 1.0 / self.choice.steps as f64, || Ok(scores))?;
            let chosen = released.values().first().and_then(|&chosen| grid.interval(usize::try_from(chosen).ok()?));
            chosen.ok_or_else(|| Error::numerical("interval", "no candidate was chosen"))
        };
        scores.into_iter().zip(columns).map(choose).collect()
    }
}

/// Releases of the frequent values of each of several columns.
///
/// # Privacy
/// A noised count for each value that occurs, opened above a threshold: see [`crate::private::Permit::open`].
#[derive(Clone, Debug, PartialEq)]
pub struct VocabularyPlan {
    event: ThresholdCharge,
}

/// A value of a column and a noised number of rows that hold it.
#[derive(Clone, Debug, PartialEq)]
pub struct Frequent {
    /// The value.
    pub value: String,
    /// Rows.
    pub rows: f64,
}

impl VocabularyPlan {
    /// Plans releases for `columns` columns, at a cost of at most `rho` and a failure probability of at most `delta` in all.
    ///
    /// # Errors
    /// When the budget is out of range.
    pub fn new(columns: u64, adjacency: Adjacency, rho: f64, delta: f64) -> Fallible<Self> {
        let each = columns.max(1) as f64;
        let (query, noise) = (|weight| Query::from(query::Vocabulary { weight }), NoiseLaw::FlooredNormal);
        let what = "frequent values of a column";
        let rule = GaussianRule { what, query: &query, adjacency, noise, count: columns };
        let (release, row) = steps_of_a_row(&rule, rho)?;
        let noised = release.event().clone();
        let delta = Delta::new(delta / each * (1.0 - 1e-12))?;
        let threshold = stable::least_threshold(row, noised.log2_scale, delta)?;
        Ok(VocabularyPlan { event: ThresholdCharge { noised, row, threshold, delta: delta.value() } })
    }

    /// What to pay for.
    pub fn planned(&self) -> Planned {
        Planned { charge: self.event.clone().into(), query: query::Vocabulary { weight: self.event.row }.into() }
    }

    /// Noised numbers of rows below this stay secret.
    pub fn threshold(&self) -> f64 {
        self.event.threshold as f64 / self.event.row as f64
    }

    /// Standard deviation of the noise, in rows.
    pub fn deviation(&self) -> f64 {
        2f64.powi(self.event.noised.log2_scale as i32) / self.event.row as f64
    }

    /// Makes one release for each column; values come with the most frequent first.
    ///
    /// # Errors
    /// When they are not the next releases of the run, or the file cannot be read.
    pub fn run(
        &self,
        cells: &PrivateCells,
        columns: &[usize],
        run: &mut LoggedRun<'_>,
    ) -> Fallible<Vec<Vec<Frequent>>> {
        let (vocabularies, planned) = (cells.vocabularies(columns, self.event.row)?, self.planned());
        let open = |vocabulary| -> Fallible<Vec<Frequent>> {
            let mut opened = run.open(&planned, 1.0 / self.event.row as f64, vocabulary)?;
            opened.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            let rows = |count: i128| count as f64 / self.event.row as f64;
            Ok(opened.into_iter().map(|(value, count)| Frequent { value, rows: rows(count) }).collect())
        };
        vocabularies.into_iter().map(open).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Charge;

    #[test]
    fn plans_spend_at_most_their_shares_and_nearly_all_of_them() {
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            for rho in [1e-6, 1e-3, 1.0] {
                let kinds = KindsPlan::new(vec![0, 1, 2], true, adjacency, rho).unwrap().planned();
                let ranges = RangesPlan::new(7, 3240, adjacency, rho).unwrap().planned();
                let vocabulary = VocabularyPlan::new(9, adjacency, rho, 1e-7).unwrap();
                assert!((vocabulary.threshold() - 1.0) / vocabulary.deviation() > 5.5);
                for planned in [kinds, ranges, vocabulary.planned()] {
                    let cost = planned.charge.rho().unwrap();
                    assert!(cost <= Rho::from_f64(rho).unwrap() && cost.upper() > 0.99 * rho, "{planned:?}");
                    assert!(planned.is_exact(adjacency) && planned.charge.delta() <= 1e-7, "{planned:?}");
                    planned.charge.check().unwrap();
                    crate::accounting::claim::confirm(&planned.charge, adjacency).unwrap();
                }
                let Charge::Threshold(event) = vocabulary.planned().charge else { panic!("of another kind") };
                let lower = ThresholdCharge { threshold: event.threshold - event.row / 100, ..event };
                assert!(crate::accounting::claim::confirm(&Charge::Threshold(lower), adjacency).is_err());
            }
        }
        assert!(KindsPlan::new(vec![0], true, Adjacency::AddRemove, 1e-30).is_err());
    }
}
