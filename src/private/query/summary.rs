//! Counts, means, quantiles and the first count above a bar, of single columns of a file.

use serde::{Deserialize, Serialize};

use super::describe::{acute_sum_sensitivity, root_of};
use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::data::Fields;
use crate::error::{Error, Fallible};
use crate::grid::FULL_SCALE;
use crate::preprocess::{Codes, quantize};
use crate::privacy::{Adjacency, Charge, L1, L2, Range, Scope};
use crate::private::{PrivateCells, Sensitive};

/// Of a mean: what a number counts, in steps, beside its code, which is at most twice as large. With codes around zero, where most of
/// the noise of a quotient comes from the numerator.
const COUNT: u64 = 1 << 14;

/// The largest code, in steps.
const REACH: u64 = FULL_SCALE as u64;

/// Codes of numbers.
const CODES: usize = 2 * FULL_SCALE as usize + 1;

/// Of a person one line is asked, see [`PrivateCells::by_unit`].
const READS: Reads =
    Reads { rows: RowAccess::Cells, role: Role::Preparation, clip_steps: None, persons: true, labels: false };

/// How many rows have each value of a column, for Gaussian noise; see [`CellCounts::histogram`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Histogram {
    /// Grid steps of one row.
    pub step: u64,
    /// Number of counts.
    pub bins: u64,
}

/// How many rows have each value of a column, for Laplace noise; see [`CellCounts::histogram_l1`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistogramL1 {
    /// Grid steps of one row.
    pub step: u64,
    /// Number of counts.
    pub bins: u64,
}

/// How many numbers a column has and their sum, for Gaussian noise; see [`CellCounts::mean`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mean {
    /// Grid steps that a code counts for.
    pub step: u64,
}

/// How many numbers a column has and their sum, for Laplace noise; see [`CellCounts::mean_l1`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeanL1 {
    /// Grid steps that a code counts for.
    pub step: u64,
}

/// How far points are from a quantile, in ranks; see [`CellCounts::ranks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ranks {
    /// Grid steps of a rank over the denominator.
    pub weight: u64,
    /// Number of points.
    pub candidates: u64,
    /// The quantile, over the denominator.
    pub numerator: u64,
    /// What the numerator is of.
    pub denominator: u64,
}

/// Which count is the first to reach a bar; see [`CellCounts::above`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstAbove {
    /// Grid steps of one row.
    pub weight: u64,
    /// Number of counts.
    pub questions: u64,
}

/// How far several counts move, of which a row is in one at most: one alone moves by a row at most, whatever the relation.
fn counts_move(step: u64, bins: u64, adjacency: Adjacency, of_two: impl Fn(u64) -> u64) -> u64 {
    match adjacency {
        Adjacency::ReplaceOne if bins > 1 => of_two(step),
        _ => step,
    }
}

impl DescribeQuery for Histogram {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        counts_move(self.step, self.bins, adjacency, |step| acute_sum_sensitivity(step, Adjacency::ReplaceOne))
    }

    fn reads(&self) -> Reads {
        READS
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }
}

impl DescribeQuery for HistogramL1 {
    type Norm = L1;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        counts_move(self.step, self.bins, adjacency, |step| step.saturating_mul(2))
    }

    fn reads(&self) -> Reads {
        READS
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Laplace(_))
    }
}

impl DescribeQuery for Mean {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        match adjacency {
            Adjacency::AddRemove => {
                let step = u128::from(self.step);
                step.checked_mul(step)
                    .and_then(|square| square.checked_mul(u128::from(COUNT * COUNT + REACH * REACH)))
                    .map_or(u64::MAX, root_of)
            }
            // Of two numbers the counts are equal; a number against none moves less.
            Adjacency::ReplaceOne => self.step.saturating_mul(2 * REACH),
        }
    }

    fn reads(&self) -> Reads {
        READS
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }
}

impl DescribeQuery for MeanL1 {
    type Norm = L1;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        self.step.saturating_mul(match adjacency {
            Adjacency::AddRemove => COUNT + REACH,
            Adjacency::ReplaceOne => 2 * REACH,
        })
    }

    fn reads(&self) -> Reads {
        READS
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Laplace(_))
    }
}

impl DescribeQuery for Ranks {
    type Norm = Range;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        let each = match adjacency {
            Adjacency::AddRemove => self.numerator.max(self.denominator.saturating_sub(self.numerator)),
            Adjacency::ReplaceOne => self.denominator,
        };
        each.saturating_mul(2).saturating_mul(self.weight)
    }

    fn reads(&self) -> Reads {
        READS
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Exponential(event) if event.candidates == self.candidates)
    }

    fn check(&self) -> Fallible<()> {
        let points = 2..=CODES as u64;
        if self.numerator <= self.denominator && self.denominator > 0 && points.contains(&self.candidates) {
            return Ok(());
        }
        Err(Error::parameter("quantile", "is no share of the rows", "use a number between 0 and 1"))
    }
}

impl DescribeQuery for FirstAbove {
    type Norm = Range;

    fn sensitivity(&self, _adjacency: Adjacency) -> u64 {
        // A row replaced leaves one count and enters another; each moves by one row.
        self.weight
    }

    fn reads(&self) -> Reads {
        READS
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::SparseVector(event) if event.questions == self.questions)
    }
}

/// A column of a file, and what its cells count as.
pub struct CellColumn {
    index: usize,
    meaning: Meaning,
}

enum Meaning {
    /// Every line that has as many cells as the header.
    Line,
    /// A number between public bounds.
    Number { lower: f64, upper: f64 },
    /// One of the declared values, or the code of all others, which may be none of them.
    Value { codes: Codes, other: usize, values: usize },
}

impl CellColumn {
    /// Lines: each counts once.
    pub fn line() -> Self {
        CellColumn { index: 0, meaning: Meaning::Line }
    }

    /// Numbers between public bounds; what lies outside counts as the nearer bound, and what is no number does not count.
    ///
    /// # Errors
    /// When the bounds are not finite or not in order.
    pub fn number(index: usize, lower: f64, upper: f64) -> Fallible<Self> {
        if !(lower.is_finite() && upper.is_finite() && lower < upper && (upper - lower).is_finite()) {
            return Err(Error::parameter(
                "bounds",
                "are no interval",
                "give two finite numbers, the smaller one first",
            ));
        }
        Ok(CellColumn { index, meaning: Meaning::Number { lower, upper } })
    }

    /// Declared values; another text counts as `other`, or not at all without it.
    ///
    /// # Errors
    /// When there is none, or more than 65,535.
    pub fn values(index: usize, values: &[String], other: Option<&str>) -> Fallible<Self> {
        if values.is_empty() || values.len() > usize::from(u16::MAX) {
            return Err(Error::parameter("values", "are none, or too many", "declare between 1 and 65535 of them"));
        }
        let codes = Codes::new(values.iter().zip(0u16..).map(|(value, code)| (value.as_str(), code)));
        let other = other.and_then(|other| values.iter().position(|value| value == other)).unwrap_or(values.len());
        Ok(CellColumn { index, meaning: Meaning::Value { codes, other, values: values.len() } })
    }

    /// Number of codes.
    fn codes(&self) -> usize {
        match &self.meaning {
            Meaning::Line => 1,
            Meaning::Number { .. } => CODES,
            Meaning::Value { values, .. } => *values,
        }
    }

    /// The code of a cell; `None` where it does not count.
    fn code(&self, fields: &Fields) -> Option<usize> {
        match &self.meaning {
            Meaning::Line => Some(0),
            Meaning::Number { lower, upper } => {
                let code = quantize(fields.value(self.index)?, *lower, *upper);
                usize::try_from(i32::from(code) + i32::from(FULL_SCALE)).ok()
            }
            Meaning::Value { codes, other, .. } => Some(codes.get(fields.get(self.index)).map_or(*other, usize::from)),
        }
    }
}

/// How many rows have each code of a column.
///
/// Cannot be read, printed or copied; what it answers is opened by a permit.
///
/// ```compile_fail,E0616
/// fn read(counts: rhograd::private::query::CellCounts) -> u64 {
///     counts.counts[0] // private field
/// }
/// ```
#[must_use = "counts are of no use unless a permit opens what they answer"]
pub struct CellCounts {
    pub(super) counts: Vec<u64>,
    pub(super) scope: Scope,
    numbers: bool,
}

/// Counts of which only the first that reaches a bar is told, and the bar.
#[must_use = "counts are of no use unless a permit compares them"]
pub struct CountsAbove {
    pub(in crate::private) values: Vec<i128>,
    pub(in crate::private) bar: i128,
    pub(in crate::private) query: FirstAbove,
    pub(in crate::private) scope: Scope,
}

impl PrivateCells {
    /// Counts of several columns, in one pass.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn cell_counts(&self, columns: &[CellColumn]) -> Fallible<Vec<CellCounts>> {
        let mut all: Vec<Vec<u64>> = columns.iter().map(|column| vec![0; column.codes()]).collect();
        self.each_record(|fields| {
            for (column, counts) in columns.iter().zip(&mut all) {
                if let Some(count) = column.code(fields).and_then(|code| counts.get_mut(code)) {
                    *count += 1;
                }
            }
        })?;
        let counted = all.into_iter().zip(columns).map(|(counts, column)| CellCounts {
            counts,
            scope: self.scope().clone(),
            numbers: matches!(column.meaning, Meaning::Number { .. }),
        });
        Ok(counted.collect())
    }
}

impl CellCounts {
    fn sensitive<Q: DescribeQuery>(&self, values: Vec<i128>, query: Q) -> Sensitive<Q::Norm> {
        Sensitive::of(values, query, &self.scope.clone().into())
    }

    /// Counts of `bins` parts of equal width, of numbers; of values each by itself.
    fn binned(&self, step: u64, bins: u64) -> Fallible<Vec<i128>> {
        if bins == 0 || bins > self.counts.len() as u64 || (!self.numbers && bins != self.counts.len() as u64) {
            return Err(Error::parameter("bins", "are not as many as the column has", "use another number of them"));
        }
        let mut binned = vec![0i128; bins as usize];
        let codes = self.counts.len() as u64;
        for (code, &count) in self.counts.iter().enumerate() {
            // Below `bins`, for `code` is below `codes`.
            if let Some(bin) = binned.get_mut((code as u64 * bins / codes) as usize) {
                *bin += i128::from(count) * i128::from(step);
            }
        }
        Ok(binned)
    }

    /// The number of rows of each value, or of each of `bins` parts of the bounds, times `step`.
    ///
    /// # Privacy
    /// A row is in one of them at most: l2 sensitivity `step` under add-remove, and under replace-one the root of two times that, for one
    /// count falls and another rises; a single count moves by `step`.
    ///
    /// # Errors
    /// When the column has not so many.
    pub fn histogram(&self, step: u64, bins: u64) -> Fallible<Sensitive<L2>> {
        Ok(self.sensitive(self.binned(step, bins)?, Histogram { step, bins }))
    }

    /// The number of rows of each value, or of each of `bins` parts of the bounds, times `step`, for Laplace noise.
    ///
    /// # Privacy
    /// A row is in one of them at most: l1 sensitivity `step` under add-remove, twice that under replace-one; of a single count `step`.
    ///
    /// # Errors
    /// When the column has not so many.
    pub fn histogram_l1(&self, step: u64, bins: u64) -> Fallible<Sensitive<L1>> {
        Ok(self.sensitive(self.binned(step, bins)?, HistogramL1 { step, bins }))
    }

    /// The number of numbers, in 16,384 steps each, and the sum of their codes, both times `step`.
    fn totals(&self, step: u64) -> Fallible<Vec<i128>> {
        if !self.numbers {
            return Err(not_numbers());
        }
        let (mut numbers, mut sum) = (0i128, 0i128);
        for (code, &count) in (-i128::from(FULL_SCALE)..).zip(&self.counts) {
            numbers += i128::from(count);
            sum += code * i128::from(count);
        }
        let step = i128::from(step);
        Ok(vec![numbers * i128::from(COUNT) * step, sum * step])
    }

    /// How many numbers there are and their sum: `16384 step` for each number, and `step` times its code in `-32767..=32767`.
    ///
    /// # Privacy
    /// l2 sensitivity `step sqrt(16384^2 + 32767^2)` under add-remove, and `65534 step` under replace-one: two numbers count alike, and a
    /// number in the place of none moves less than that.
    ///
    /// # Errors
    /// When the column has no numbers by its declaration.
    pub fn mean(&self, step: u64) -> Fallible<Sensitive<L2>> {
        Ok(self.sensitive(self.totals(step)?, Mean { step }))
    }

    /// How many numbers there are and their sum, as [`CellCounts::mean`] has them, for Laplace noise.
    ///
    /// # Privacy
    /// l1 sensitivity `49151 step` under add-remove, `65534 step` under replace-one.
    ///
    /// # Errors
    /// When the column has no numbers by its declaration.
    pub fn mean_l1(&self, step: u64) -> Fallible<Sensitive<L1>> {
        Ok(self.sensitive(self.totals(step)?, MeanL1 { step }))
    }

    /// For each of `candidates` points, equally far apart between the bounds, how far it is from the quantile, in ranks over the
    /// denominator, times `weight`; every number counts as the point that is nearest to it.
    ///
    /// With `B` numbers below a point, `A` above it and `n` in all, the score for the quantile `p / q` is
    /// `max(0, q B - p n, q A - (q - p) n)`: zero where at most a share `p/q` lies below and at most `1 - p/q` above.
    ///
    /// # Privacy
    /// A number more adds `q - p` or takes `p` in the second term, the other way round in the third: each score changes by at most
    /// `max(p, q - p)`, so all changes lie in an interval of length `2 max(p, q - p) weight`. One replaced adds or takes `q` at most: `2 q weight`.
    ///
    /// # Errors
    /// When the column has no numbers by its declaration, or the query no sense.
    ///
    /// # Reference
    /// Smith 2011 (quantiles by the exponential mechanism).
    pub fn ranks(&self, query: Ranks) -> Fallible<Sensitive<Range>> {
        query.check()?;
        if !self.numbers || query.candidates > self.counts.len() as u64 {
            return Err(not_numbers());
        }
        let n: i128 = self.counts.iter().map(|&count| i128::from(count)).sum();
        let (p, q, weight) = (i128::from(query.numerator), i128::from(query.denominator), i128::from(query.weight));
        // Rounded one by one: a number between two points would be unequal to all, and the points up to its neighbour tied.
        let mut at_points = vec![0i128; query.candidates as usize];
        for (code, &count) in (0u64..).zip(&self.counts) {
            if let Some(at) = at_points.get_mut(nearest(code, query.candidates)) {
                *at += i128::from(count);
            }
        }
        let mut below = 0i128;
        let mut scores = Vec::with_capacity(at_points.len());
        for equal in at_points {
            let above = n - below - equal;
            scores.push(weight * (q * below - p * n).max(q * above - (q - p) * n).max(0));
            below += equal;
        }
        Ok(self.sensitive(scores, query))
    }

    /// The number of rows of each value, to be compared with a bar of `rows` rows.
    ///
    /// # Privacy
    /// See [`crate::private::Permit::first_above`]: each count moves by one row at most.
    pub fn above(&self, rows: u64, weight: u64) -> CountsAbove {
        let values: Vec<i128> = self.counts.iter().map(|&count| i128::from(count) * i128::from(weight)).collect();
        let query = FirstAbove { weight, questions: values.len() as u64 };
        CountsAbove { values, bar: i128::from(rows) * i128::from(weight), query, scope: self.scope.clone() }
    }
}

/// The code of one of several points, counted from zero: the first is the lower bound and the last the upper one.
fn point(candidate: u64, candidates: u64) -> usize {
    (candidate * (CODES as u64 - 1) / (candidates - 1).max(1)) as usize
}

/// The number of the point that is nearest to a code.
fn nearest(code: u64, candidates: u64) -> usize {
    let last = CODES as u64 - 1;
    ((2 * code * candidates.saturating_sub(1) + last) / (2 * last)) as usize
}

impl Ranks {
    /// Where a point lies between the bounds, from 0 to 1.
    pub fn place(&self, candidate: u64) -> f64 {
        point(candidate.min(self.candidates.saturating_sub(1)), self.candidates.max(2)) as f64 / (CODES - 1) as f64
    }
}

impl Mean {
    /// The mean between -1 and 1 that released totals give, and about how many numbers there are; `None` where there seems to be none.
    pub fn quotient(totals: &[i128], step: u64) -> Option<(f64, f64)> {
        let &[numbers, sum] = totals else { return None };
        let numbers = numbers as f64 / (COUNT * step.max(1)) as f64;
        let sum = sum as f64 / (REACH * step.max(1)) as f64;
        (numbers >= 1.0).then(|| ((sum / numbers).clamp(-1.0, 1.0), numbers))
    }

    /// By how much of half the width of the bounds noise of this deviation, in grid steps, moves a mean of so many numbers: one standard
    /// deviation of the quotient to first order.
    pub fn deviation(mean: f64, numbers: f64, scale: f64, step: u64) -> f64 {
        let (of_sum, of_count) = (1.0 / REACH as f64, mean.abs() / COUNT as f64);
        scale / step.max(1) as f64 * of_sum.hypot(of_count) / numbers
    }
}

pub(super) fn not_numbers() -> Error {
    Error::parameter("column", "has no numbers by its declaration", "ask for a histogram, or declare it as numeric")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts of codes as rows have them; a negative code does not count.
    fn counted(rows: &[i32], numbers: bool, codes: usize, adjacency: Adjacency) -> CellCounts {
        let mut counts = vec![0; codes];
        rows.iter().filter_map(|&code| usize::try_from(code).ok()).for_each(|code| counts[code] += 1);
        let dataset = crate::privacy::DatasetId::new("t").unwrap();
        CellCounts { counts, scope: Scope::of_rows(dataset, adjacency), numbers }
    }

    fn edge() -> impl Strategy<Value = i32> {
        let last = CODES as i32 - 1;
        prop_oneof![Just(-1), Just(0), Just(last), Just(last / 2), 0..=last]
    }

    fn moved<N: crate::privacy::Norm>(a: &Sensitive<N>, b: &Sensitive<N>) -> Vec<i128> {
        a.values.iter().zip(&b.values).map(|(x, y)| x - y).collect()
    }

    fn l2(moved: &[i128]) -> u128 {
        moved.iter().map(|m| m.unsigned_abs().pow(2)).sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn answers_of_neighbours_move_by_no_more_than_is_paid_for(
            rows in proptest::collection::vec(edge(), 1..12), at in any::<prop::sample::Index>(), other in edge(),
            step in 1u64..1 << 30, p in 0u64..=20, bins in 1u64..40,
        ) {
            let at = at.index(rows.len());
            let (mut less, mut replaced) = (rows.clone(), rows.clone());
            less.remove(at);
            replaced[at] = other;
            for (neighbour, adjacency) in [(less, Adjacency::AddRemove), (replaced, Adjacency::ReplaceOne)] {
                let of = |rows: &[i32]| counted(rows, true, CODES, adjacency);
                let (a, b) = (of(&rows), of(&neighbour));
                let paid = |query: &dyn DescribeQuery| u128::from(query.sensitivity(adjacency));
                let l1 = |moved: &[i128]| moved.iter().map(|m| m.unsigned_abs()).sum::<u128>();

                let m = moved(&a.mean(step).unwrap(), &b.mean(step).unwrap());
                let (by_l2, by_l1) = (paid(&Mean { step }), paid(&MeanL1 { step }));
                prop_assert!(l2(&m) <= by_l2.pow(2) && l1(&m) <= by_l1);
                let h = moved(&a.histogram(step, bins).unwrap(), &b.histogram(step, bins).unwrap());
                let (by_l2, by_l1) = (paid(&Histogram { step, bins }), paid(&HistogramL1 { step, bins }));
                prop_assert!(l2(&h) <= by_l2.pow(2) && l1(&h) <= by_l1);
                let query = Ranks { weight: step, candidates: 1025, numerator: p, denominator: 20 };
                let r = moved(&a.ranks(query).unwrap(), &b.ranks(query).unwrap());
                let range = r.iter().max().unwrap() - r.iter().min().unwrap();
                prop_assert!(range.unsigned_abs() <= paid(&query), "{} {}", range, paid(&query));
                let (x, y) = (a.above(3, step), b.above(3, step));
                let query = x.query;
                let each = x.values.iter().zip(&y.values).map(|(x, y)| x.abs_diff(*y)).max().unwrap();
                prop_assert!(each <= paid(&query) && x.bar == y.bar);
            }
        }
    }

    #[test]
    fn some_neighbours_use_all_of_it() {
        let last = CODES as i32 - 1;
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            let of = |rows: &[i32]| counted(rows, true, CODES, adjacency);
            // The far ends in turn.
            let neighbour: &[i32] = if adjacency == Adjacency::AddRemove { &[0, last] } else { &[0, last, 0] };
            let (a, b) = (of(&[0, last, last]), of(neighbour));
            let step = 1000;
            let m = moved(&a.mean(step).unwrap(), &b.mean(step).unwrap());
            let reached = (l2(&m) as f64).sqrt() / Mean { step }.sensitivity(adjacency) as f64;
            assert!(reached > 0.99999, "{reached}");
            let l1: u128 = m.iter().map(|m| m.unsigned_abs()).sum();
            assert_eq!(l1, u128::from(MeanL1 { step }.sensitivity(adjacency)));
            let h = moved(&a.histogram(step, 2).unwrap(), &b.histogram(step, 2).unwrap());
            assert!((l2(&h) as f64).sqrt() > 0.999 * Histogram { step, bins: 2 }.sensitivity(adjacency) as f64);
            let l1: u128 = h.iter().map(|m| m.unsigned_abs()).sum();
            assert_eq!(l1, u128::from(HistogramL1 { step, bins: 2 }.sensitivity(adjacency)));
        }
        // Ranks: a number at the far end of the column, where others make both terms count.
        for (p, adjacency) in [(1, Adjacency::AddRemove), (1, Adjacency::ReplaceOne), (9, Adjacency::AddRemove)] {
            let query = Ranks { weight: 7, candidates: 9, numerator: p, denominator: 10 };
            let middle = last / 2;
            let far = if 2 * p < 10 { last } else { 0 };
            let rows = [vec![middle; 20], vec![far; 20]].concat();
            let mut best = 0;
            for new in [0, middle, last] {
                for old in [0, middle, last] {
                    let mut neighbour = rows.clone();
                    match adjacency {
                        Adjacency::AddRemove => neighbour.push(new),
                        Adjacency::ReplaceOne => {
                            let Some(at) = neighbour.iter().position(|&row| row == old) else { continue };
                            neighbour[at] = new;
                        }
                    }
                    let of = |rows: &[i32]| counted(rows, true, CODES, adjacency).ranks(query).unwrap();
                    let r = moved(&of(&rows), &of(&neighbour));
                    best = best.max(r.iter().max().unwrap() - r.iter().min().unwrap());
                }
            }
            let share = best as f64 / query.sensitivity(adjacency) as f64;
            assert!(share >= 0.99, "{p} of 10, {adjacency:?}: {share}");
        }
    }

    #[test]
    fn ranks_are_least_at_the_quantile() {
        let rows: Vec<i32> = (0..1000).map(|i| i * 60).collect();
        let counts = counted(&rows, true, CODES, Adjacency::AddRemove);
        for (p, place) in [(1, 0.5), (0, 0.0), (2, 1.0)] {
            let query = Ranks { weight: 1, candidates: 2185, numerator: p, denominator: 2 };
            let scores = counts.ranks(query).unwrap();
            let least = (0..2185u64).min_by_key(|&i| scores.values[i as usize]).unwrap();
            let found = query.place(least) * (CODES - 1) as f64;
            let wanted = place * 59_940.0;
            assert!((found - wanted).abs() < 100.0, "{p}: {found} {wanted}");
        }
        assert!(counts.ranks(Ranks { weight: 1, candidates: 9, numerator: 3, denominator: 2 }).is_err());
        let values = counted(&[0, 1, 1], false, 2, Adjacency::AddRemove);
        assert!(values.mean(1).is_err() && values.histogram(1, 1).is_err());
        assert_eq!(values.histogram(5, 2).unwrap().values, [5, 10]);
    }

    #[test]
    fn numbers_between_two_points_count_as_the_nearest() {
        // All at one place that is no point: only its nearest point is the median.
        let query = Ranks { weight: 1, candidates: 2185, numerator: 1, denominator: 2 };
        for at in [7, 14, 16, 29, 1234, CODES as i32 - 8] {
            let scores = counted(&[at; 50], true, CODES, Adjacency::AddRemove).ranks(query).unwrap();
            let best: Vec<u64> = (0..2185).filter(|&i| scores.values[i as usize] == 0).collect();
            let [point] = best[..] else { panic!("{at}: {} points", best.len()) };
            assert!((query.place(point) * (CODES - 1) as f64 - f64::from(at)).abs() < 16.0, "{at}: {point}");
            assert!(scores.values.iter().enumerate().all(|(i, &score)| i as u64 == point || score == 50), "{at}");
        }
        // More points than codes are none.
        assert!(
            Ranks { candidates: 1 << 50, ..query }.check().is_err()
                && Ranks { candidates: 1, ..query }.check().is_err()
        );
    }

    #[test]
    fn a_mean_is_the_quotient_of_its_totals() {
        let last = CODES as i32 - 1;
        let counts = counted(&[last, last, last, 0], true, CODES, Adjacency::AddRemove);
        let totals = counts.mean(12).unwrap().values;
        let (mean, numbers) = Mean::quotient(&totals, 12).unwrap();
        assert!((mean - 0.5).abs() < 1e-12 && numbers == 4.0);
        assert_eq!(Mean::quotient(&[0, 5], 12), None);
        assert!(Mean::deviation(0.5, 4.0, 12.0, 12) > 0.0);
    }
}
