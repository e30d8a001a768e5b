//! Chernoff's bound on delta from partitions of the pairs, and what is asked of it.

use super::partition::{Atoms, Partition, Side};

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Question {
    /// The epsilon at this `ln delta`.
    LnDelta(f64),
    /// The `ln delta` at this epsilon.
    Epsilon(f64),
}

/// Range and points of the search for the tilt.
pub(super) const TILTS: (f64, f64, u32) = (1e-5, 1e30, 120);

/// `ln` of the largest value of `(1 - e^-x) e^(-c x)`: the gain of the conversion over plain Chernoff.
///
/// Reference: Canonne, Kamath and Steinke 2020, Proposition 12, with `c = alpha - 1`.
pub(super) fn conversion(c: f64) -> f64 {
    -c.ln_1p() - c * c.recip().ln_1p()
}

/// Refines all partitions to a total gap in `K(c)`.
pub(super) fn refine(parts: &mut [(Partition, f64)], c: f64, gap: f64, limit: usize) {
    let share = gap / parts.len() as f64;
    for (partition, count) in parts {
        partition.refine(c, share / *count, limit);
    }
}

/// The variance of a composition under a tilt.
pub(super) fn variance(atoms: &[(Atoms, f64)], mu2: f64, c: f64) -> f64 {
    atoms.iter().map(|(it, count)| count * it.tilted(c).central_moments().0).sum::<f64>() + mu2
}

/// The atoms of every pair, and how often it occurs.
pub(super) fn atoms(parts: &[(Partition, f64)], side: Side) -> Vec<(Atoms, f64)> {
    parts.iter().map(|(partition, count)| (partition.atoms(side), *count)).collect()
}

/// `K(c)` of a composition.
pub(super) fn ln_moment(atoms: &[(Atoms, f64)], mu2: f64, c: f64) -> f64 {
    let gaussian = c * (c + 1.0) * mu2 / 2.0;
    gaussian + atoms.iter().map(|(atoms, count)| count * atoms.ln_moment(c)).sum::<f64>()
}
