//! How far a query moves between neighbouring data sets, tagged with the norm it is measured in.

use std::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}

/// A norm in which sensitivity is measured; closed, because each needs its own mechanisms.
pub trait Norm: sealed::Sealed {
    /// Its name.
    const NAME: &'static str;
}

/// The sum of absolute values.
#[derive(Debug)]
pub enum L1 {}

/// The Euclidean norm.
#[derive(Debug)]
pub enum L2 {}

/// The largest entry minus the smallest one: how far apart the changes of scores are.
#[derive(Debug)]
pub enum Range {}

impl sealed::Sealed for L1 {}
impl sealed::Sealed for L2 {}
impl sealed::Sealed for Range {}

impl Norm for L1 {
    const NAME: &'static str = "l1";
}

impl Norm for L2 {
    const NAME: &'static str = "l2";
}

impl Norm for Range {
    const NAME: &'static str = "range";
}

/// Largest change of an integer query between neighbours, in grid steps of norm `N`.
#[derive(Debug)]
pub struct Sensitivity<N: Norm> {
    grid: u64,
    norm: PhantomData<N>,
}

impl<N: Norm> Sensitivity<N> {
    /// A bound of `grid` steps.
    pub fn new(grid: u64) -> Self {
        Sensitivity { grid, norm: PhantomData }
    }

    /// The bound in grid steps.
    pub fn grid(&self) -> u64 {
        self.grid
    }

    /// Whether a mechanism calibrated for `self` protects a query that moves by at most `query`.
    pub fn covers(&self, query: &Self) -> bool {
        query.grid <= self.grid
    }
}

impl<N: Norm> Clone for Sensitivity<N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N: Norm> Copy for Sensitivity<N> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_calibration_covers_a_smaller_query() {
        let calibrated = Sensitivity::<L2>::new(10);
        assert!(calibrated.covers(&Sensitivity::new(10)));
        assert!(!calibrated.covers(&Sensitivity::new(11)));
    }
}
