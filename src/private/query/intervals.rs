//! How many numbers of a column lie outside public intervals.

use serde::{Deserialize, Serialize};

use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::data::Fields;
use crate::error::{Error, Fallible};
use crate::privacy::{Adjacency, Charge, Range};
use crate::private::{PrivateCells, Sensitive};

/// Equal parts of a public range.
const PARTS: u32 = 64;

/// More than any number of rows costs.
const MAX_PRICE: f64 = 1e30;

/// Powers of ten of the geometric grid.
const DECADES: std::ops::Range<i32> = -4..9;

/// How many numbers of a column lie outside each interval of a grid, see [`PrivateCells::intervals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intervals {
    /// Grid steps of one row outside.
    pub weight: u64,
    /// Number of intervals.
    pub candidates: u64,
}

impl DescribeQuery for Intervals {
    type Norm = Range;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        adjacency.sum_sensitivity(self.weight)
    }

    fn reads(&self) -> Reads {
        // Of a person one line is asked, see `PrivateCells::by_unit`.
        Reads { rows: RowAccess::Cells, role: Role::Preparation, clip_steps: None, persons: true, labels: false }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Exponential(event) if event.candidates == self.candidates)
    }
}

impl PrivateCells {
    /// For each column the score of every interval of its grid: `weight` times the rows whose number lies outside, beyond
    /// those that may, and the price of its width.
    ///
    /// # Privacy
    /// A row more adds between 0 and `weight` to every score; price and allowance are public. So all changes lie in an
    /// interval of length `weight`, of twice that under replace-one.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn intervals(&self, columns: &[(usize, Grid, GridPrice)], weight: u64) -> Fallible<Vec<Sensitive<Range>>> {
        let mut outside: Vec<Outside> = columns.iter().map(|(column, grid, _)| Outside::new(*column, grid)).collect();
        self.each_record(|fields| outside.iter_mut().for_each(|column| column.add(fields)))?;
        let scores = outside.iter().zip(columns).map(|(outside, (_, grid, price))| {
            let query = Intervals { weight, candidates: grid.candidates() };
            self.sensitive(outside.scores(price, weight), query)
        });
        Ok(scores.collect())
    }
}

/// Public points in increasing order; the candidates are all intervals between two of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    points: Vec<f64>,
}

impl Grid {
    /// Zero and, on both sides of it, 1, 2 and 5 times the powers of ten from 1e-4 to 1e9: for numbers of unknown size.
    pub fn geometric() -> Self {
        // As text, so that each is the nearest double of what it is called.
        let point = |digit: u32, decade: i32| format!("{digit}e{decade}").parse().unwrap_or(f64::NAN);
        let sizes: Vec<f64> =
            DECADES.flat_map(|decade| [1, 2, 5].map(|digit| point(digit, decade))).chain([1e9]).collect();
        let below = sizes.iter().rev().map(|size| -size);
        Grid { points: below.chain([0.0]).chain(sizes.iter().copied()).collect() }
    }

    /// 65 points from `lower` to `upper`, equally far apart: for numbers whose rough range is public or released.
    ///
    /// # Errors
    /// When the bounds are not finite and in order, or too close to be told apart.
    pub fn within(lower: f64, upper: f64) -> Fallible<Self> {
        let step = (upper - lower) / f64::from(PARTS);
        let point = |part: u32| if part == PARTS { upper } else { lower + step * f64::from(part) };
        let points: Vec<f64> = (0..=PARTS).map(point).collect();
        if points.iter().all(|point| point.is_finite()) && points.windows(2).all(|pair| pair[0] < pair[1]) {
            return Ok(Grid { points });
        }
        Err(Error::parameter(
            "range",
            format!("{lower} to {upper} cannot be divided"),
            "give finite bounds with lower < upper",
        ))
    }

    /// Number of intervals.
    pub fn candidates(&self) -> u64 {
        let points = self.points.len() as u64;
        points * points.saturating_sub(1) / 2
    }

    /// An interval by its number.
    pub fn interval(&self, candidate: usize) -> Option<(f64, f64)> {
        self.pairs().nth(candidate).map(|(lower, upper)| (self.points[lower], self.points[upper]))
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let points = self.points.len();
        (0..points).flat_map(move |lower| (lower + 1..points).map(move |upper| (lower, upper)))
    }

    /// How often an interval's width would have to be halved to be that of the narrowest.
    fn halvings(&self) -> impl Iterator<Item = f64> {
        let width = |(lower, upper): (usize, usize)| self.points[upper] - self.points[lower];
        let least = self.pairs().map(width).fold(f64::INFINITY, f64::min);
        self.pairs().map(move |pair| (width(pair) / least).log2())
    }
}

/// What intervals are scored by, apart from the rows; public numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridPrice {
    /// So many rows outside cost nothing.
    pub allowed: u64,
    /// An interval of half the width is worth so many rows outside.
    pub halving: f64,
}

/// Numbers of a column below and above each point of a grid.
struct Outside<'a> {
    column: usize,
    grid: &'a Grid,
    /// Numbers that are above or at exactly so many points.
    reached: Vec<u64>,
    /// Numbers that are above exactly so many points.
    passed: Vec<u64>,
}

impl<'a> Outside<'a> {
    fn new(column: usize, grid: &'a Grid) -> Self {
        let places = grid.points.len() + 1;
        Outside { column, grid, reached: vec![0; places], passed: vec![0; places] }
    }

    fn add(&mut self, fields: &Fields) {
        if let Some(number) = fields.number(self.column) {
            self.reached[self.grid.points.partition_point(|&point| point <= number)] += 1;
            self.passed[self.grid.points.partition_point(|&point| point < number)] += 1;
        }
    }

    /// The scores of all intervals, in the order of their numbers.
    fn scores(&self, price: &GridPrice, weight: u64) -> Vec<i128> {
        let points = self.grid.points.len();
        let below: Vec<u64> = (0..points).map(|point| self.reached[..=point].iter().sum()).collect();
        let above: Vec<u64> = (0..points).map(|point| self.passed[point + 1..].iter().sum()).collect();
        let weight = i128::from(weight);
        let priced = self.grid.pairs().zip(self.grid.halvings());
        let score = |((lower, upper), halvings): ((usize, usize), f64)| {
            let outside = (below[lower] + above[upper]).saturating_sub(price.allowed);
            // A public price of any size leaves room for all rows.
            let width = (halvings * price.halving * weight as f64).round().clamp(0.0, MAX_PRICE);
            i128::from(outside) * weight + width as i128
        };
        priced.map(score).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scores(numbers: &[f64], grid: &Grid, price: &GridPrice) -> Vec<i128> {
        let mut outside = Outside::new(0, grid);
        let mut fields = Fields::default();
        for number in numbers {
            fields.split(number.to_string().as_bytes());
            outside.add(&fields);
        }
        outside.scores(price, 7)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn neighbours_move_all_scores_within_the_range_that_is_paid_for(
            numbers in proptest::collection::vec(
                prop_oneof![-30.0..30.0, -4.0..4.0, Just(0.0), Just(5.0), Just(1e300)], 1..20),
            other in prop_oneof![-1e3..1e3, Just(f64::INFINITY), Just(0.0)], allowed in 0u64..4, halving in 0.0..2.0,
        ) {
            let price = GridPrice { allowed, halving };
            let mut replaced = numbers.clone();
            replaced[0] = other;
            for grid in [Grid::geometric(), Grid::within(-10.0, 5.0).unwrap()] {
                let own = scores(&numbers, &grid, &price);
                for (neighbour, adjacency) in
                    [(&numbers[1..], Adjacency::AddRemove), (&replaced[..], Adjacency::ReplaceOne)]
                {
                    let its = scores(neighbour, &grid, &price);
                    let changes: Vec<i128> = own.iter().zip(&its).map(|(a, b)| a - b).collect();
                    let spread = changes.iter().max().unwrap() - changes.iter().min().unwrap();
                    let query = Intervals { weight: 7, candidates: grid.candidates() };
                    prop_assert!(spread <= i128::from(query.sensitivity(adjacency)), "{}", spread);
                    // The law's other half: with one row more no score falls.
                    prop_assert!(adjacency == Adjacency::ReplaceOne || changes.iter().all(|&change| change >= 0));
                }
            }
        }

        #[test]
        fn scores_count_what_lies_outside(numbers in proptest::collection::vec(-12.0..8.0f64, 0..20)) {
            let grid = Grid::within(-10.0, 5.0).unwrap();
            let free = GridPrice { allowed: 2, halving: 0.0 };
            for (candidate, score) in scores(&numbers, &grid, &free).into_iter().enumerate() {
                let (lower, upper) = grid.interval(candidate).unwrap();
                let outside = numbers.iter().filter(|&&x| x < lower || x > upper).count() as i128;
                prop_assert_eq!(score, 7 * (outside - 2).max(0));
            }
        }
    }

    #[test]
    fn grids_are_what_they_are_called() {
        let grid = Grid::geometric();
        assert_eq!((grid.points.len(), grid.candidates()), (81, 3240));
        assert!(grid.points.iter().zip(grid.points.iter().rev()).all(|(a, b)| *a == -b));
        assert!(grid.points.is_sorted() && grid.points.contains(&2e-4) && grid.points.contains(&500.0));
        assert_eq!(Grid::within(0.0, 64.0).unwrap().interval(0), Some((0.0, 1.0)));
        assert_eq!(Grid::within(0.0, 64.0).unwrap().interval(2079), Some((63.0, 64.0)));
        assert_eq!(Grid::within(0.0, 64.0).unwrap().interval(2080), None);
        for (lower, upper) in [(1.0, 1.0), (2.0, 1.0), (0.0, f64::INFINITY), (f64::NAN, 1.0), (1.0, 1.0 + 1e-15)] {
            assert!(Grid::within(lower, upper).is_err(), "{lower} {upper}");
        }
    }

    #[test]
    fn the_price_prefers_narrow_intervals() {
        let grid = Grid::within(0.0, 64.0).unwrap();
        let scores = scores(&[10.5, 11.5, 40.0], &grid, &GridPrice { allowed: 1, halving: 0.5 });
        let best = scores.iter().enumerate().min_by_key(|(_, score)| **score).unwrap().0;
        assert_eq!(grid.interval(best), Some((10.0, 12.0)));
    }
}
