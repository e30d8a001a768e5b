//! What an adversary sees of one run, in units of the noise.

use super::draws::Draws;
use crate::grid::{FEATURE_TREE, TARGET_TREE, Tree};
use crate::privacy::Charge;
use crate::private::query::Marginals;
use crate::private::{PhasePlan, Query, Release};

/// How the numbers of one release hang together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Layout {
    /// One vector.
    Plain,
    /// One vector, to which a row contributes with this probability.
    Sampled(f64),
    /// One vector per step of a pass of so many; a row contributes to one of them.
    Drawn(u32),
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
    /// Whether it is one of the steps of an optimizer.
    pub(super) step: bool,
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
            Charge::AllocatedGaussian(event) => (Layout::Drawn(event.steps_of_pass), event.allocated.log2_scale),
            Charge::Exponential(event) => (Layout::Choice(event.candidates), 0),
            // Of the best run, its candidate; what else is known of it is the model.
            Charge::PrivateSelection(_) => (layout_of(release.query), 0),
            // The noise was used inside the gate; the answer follows as a release of its own.
            Charge::Objective(_) => return,
            // No trainer makes one.
            Charge::Threshold(_) | Charge::Laplace(_) | Charge::SparseVector(_) => return,
        };
        let sigma = 2f64.powi(scale as i32);
        let values: Vec<f64> = match (layout, release.query) {
            (Layout::Phases(plan), _) => increments(&raw, plan.dimension).iter().map(|v| v / sigma).collect(),
            (_, Query::Direction(_)) => vec![along(&raw, &self.last) / sigma],
            (_, Query::Marginals(counts)) => ends(&raw, counts).iter().map(|v| v / sigma).collect(),
            _ => raw.iter().map(|v| v / sigma).collect(),
        };
        // The steps of a pass hang together: they are seen as one.
        let begun = |seen: &&mut Seen| seen.layout == layout && seen.values.len() < whole_pass(layout, raw.len());
        if let Some(seen) = self.seen.last_mut().filter(begun) {
            seen.values.extend(values);
            self.last = raw;
            return;
        }
        // Whoever knows where the record is in a pass has nothing to mix over.
        let told = self.draws == Draws::Known && matches!(layout, Layout::Batches(_) | Layout::Phases(_));
        let layout = if told { Layout::Plain } else { layout };
        self.seen.push(Seen { layout, values, step: release.query.is_step() });
        self.last = raw;
    }

    /// What was seen, of each step only the part along what the record adds to it, a number for each output: coordinates differ from run to
    /// run, and this is all of a step that the record moves, however many there are.
    pub(super) fn along(self, image: &[f64]) -> Vec<Seen> {
        let parts = |values: Vec<f64>| values.chunks(image.len().max(1)).map(|values| along(values, image)).collect();
        let shown = |seen: Seen| match seen.step {
            true => Seen { values: parts(seen.values), ..seen },
            false => seen,
        };
        self.seen.into_iter().map(shown).collect()
    }
}

/// How many numbers a pass has of which each step has so many.
fn whole_pass(layout: Layout, of_step: usize) -> usize {
    if let Layout::Drawn(steps) = layout { steps as usize * of_step } else { 0 }
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

/// Counts in which crafted records differ: those of the outermost intervals of each level, for their numbers are at bounds, and of all values.
fn ends(values: &[f64], counts: &Marginals) -> Vec<f64> {
    let (mut ends, mut rest) = (Vec::new(), values);
    let mut of_tree = |rest: &mut &[f64], tree: Tree| {
        for size in tree.level_sizes() {
            let (level, others) = rest.split_at(size.min(rest.len()));
            ends.extend(level.first().into_iter().chain(level.last()));
            *rest = others;
        }
    };
    (0..counts.numeric).for_each(|_| of_tree(&mut rest, FEATURE_TREE));
    let of_target = if counts.target { TARGET_TREE.nodes() } else { 0 };
    let (categories, mut target) = rest.split_at(rest.len().saturating_sub(of_target));
    if counts.target {
        of_tree(&mut target, TARGET_TREE);
    }
    ends.extend(categories);
    ends
}

/// The part of one vector along another.
///
/// Of a Newton direction it is that along the gradient that was released before it: as directions are scaled, the same number in every run
/// without the record, up to noise, and the record shortens it.
fn along(values: &[f64], direction: &[f64]) -> f64 {
    let norm = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
    if norm > 0.0 { values.iter().zip(direction).map(|(v, x)| v * x).sum::<f64>() / norm } else { 0.0 }
}
