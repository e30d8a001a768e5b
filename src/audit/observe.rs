//! What an adversary sees of one run, in units of the noise.

use super::draws::Draws;
use crate::privacy::Charge;
use crate::private::{PhasePlan, Query, Release};

/// How the numbers of one release hang together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Layout {
    /// One vector.
    Plain,
    /// One vector, to which a row contributes with this probability.
    Sampled(f64),
    /// One vector per batch of a pass, mixed by the prefix coefficients; a row is in one batch.
    Batches(u32),
    /// One vector per phase; a row is in one block, or in none.
    Phases(PhasePlan),
    /// The number of a candidate.
    Choice(u64),
}

/// One release.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) layout: Layout,
    pub(super) values: Vec<f64>,
}

/// Keeps what is released in one run.
pub(super) struct Watcher {
    pub(super) seen: Vec<Seen>,
    draws: Draws,
    /// The last noised vector, not scaled.
    last: Vec<f64>,
}

impl Watcher {
    /// An adversary who has seen nothing yet.
    pub(super) fn new(draws: Draws) -> Self {
        Watcher { seen: Vec::new(), draws, last: Vec::new() }
    }

    /// Takes one release in.
    pub(super) fn hear(&mut self, release: &Release<'_>) {
        let raw: Vec<f64> = release.released.values().iter().map(|&v| v as f64).collect();
        let (layout, scale) = match release.released.charge() {
            Charge::Gaussian(event) => (layout_of(release.query), event.log2_scale),
            Charge::PoissonGaussian(event) => (Layout::Sampled(event.rate()), event.sampled.log2_scale),
            Charge::Exponential(event) => (Layout::Choice(event.candidates), 0),
            // Of the best run, its candidate; what else is known of it is the model.
            Charge::PrivateSelection(_) => (layout_of(release.query), 0),
            // The noise was used inside the gate; the answer follows as a release of its own.
            Charge::Objective(_) => return,
            // No trainer makes one.
            Charge::Threshold(_) => return,
        };
        let sigma = 2f64.powi(scale as i32);
        let values: Vec<f64> = match (layout, release.query) {
            (Layout::Phases(plan), _) => increments(&raw, plan.dimension).iter().map(|v| v / sigma).collect(),
            (_, Query::Direction(_)) => vec![along(&raw, &self.last) / sigma],
            _ => raw.iter().map(|v| v / sigma).collect(),
        };
        // Whoever knows where the record is in a pass has nothing to mix over.
        let told = self.draws == Draws::Known && matches!(layout, Layout::Batches(_) | Layout::Phases(_));
        self.seen.push(Seen { layout: if told { Layout::Plain } else { layout }, values });
        self.last = raw;
    }
}

fn layout_of(query: &Query) -> Layout {
    match query {
        Query::PrefixSums(sums) => Layout::Batches(sums.batches),
        Query::Phases(phases) => Layout::Phases(phases.plan),
        Query::BestRun(best) => Layout::Choice(best.candidates.len() as u64),
        _ => Layout::Plain,
    }
}

/// How far each phase went from where it started, on its own grid: it started at the result of the phase before.
fn increments(values: &[f64], dimension: usize) -> Vec<f64> {
    let finer = 2f64.powi((PhasePlan::log2_finer(1) - PhasePlan::log2_finer(0)) as i32);
    let before = |index: usize| index.checked_sub(dimension).map_or(0.0, |earlier| finer * values[earlier]);
    values.iter().enumerate().map(|(index, value)| value - before(index)).collect()
}

/// The part of a Newton direction along the gradient that was released before it. As directions are scaled, it is the same
/// number in every run without the record, up to noise, and the record shortens it.
fn along(direction: &[f64], gradient: &[f64]) -> f64 {
    let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    if norm > 0.0 { direction.iter().zip(gradient).map(|(v, g)| v * g).sum::<f64>() / norm } else { 0.0 }
}
