//! A pair of laws on finitely many outcomes, each of which is possible under both.

use std::sync::Arc;

use super::pair::Cell;
use crate::num::normal::{Mass, Rounded};

/// Outcomes with their mass under P and their loss; a loss is right to four units of itself, and a mass to four of itself, of its logarithm and of its loss.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table(Arc<[Cell]>);

impl Table {
    /// The pair of these outcomes, `ln` mass and loss.
    pub(super) fn new(outcomes: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let cell = |(ln_mass, loss): (f64, f64)| {
            let mean = Rounded { ln: loss, units: 4.0 * loss.abs() };
            Cell::new(Mass::of_ln(ln_mass, 4.0 * (1.0 + ln_mass.abs() + loss.abs())), loss, mean, loss)
        };
        Table(outcomes.into_iter().map(cell).collect())
    }

    /// The outcomes.
    pub(super) fn cells(&self) -> &[Cell] {
        &self.0
    }

    /// The largest magnitude of a loss, rounded up.
    pub(super) fn widest(&self) -> f64 {
        self.0.iter().fold(0.0, |most, it| f64::max(most, it.mean.abs())) * (1.0 + 1e-14)
    }

    /// The largest loss, rounded up.
    pub(super) fn largest_loss(&self) -> f64 {
        let most = self.0.iter().fold(f64::NEG_INFINITY, |most, it| most.max(it.mean));
        most + 1e-14 * most.abs()
    }

    /// `ln` mass and loss, rounded down, of an outcome with the largest loss.
    pub(super) fn top(&self) -> Option<(f64, f64)> {
        let top = self.0.iter().reduce(|a, b| if a.mean >= b.mean { a } else { b })?;
        Some((top.ln_mass - 1e-14 * (1.0 + top.ln_mass.abs()), top.mean - 1e-14 * top.mean.abs()))
    }

    /// The total variation distance, rounded up.
    pub(super) fn variation(&self) -> f64 {
        let above = self.0.iter().filter(|it| it.mean > 0.0);
        above.map(|it| it.ln_mass.exp() * -(-it.mean).exp_m1()).sum::<f64>() * (1.0 + 1e-11)
    }
}
