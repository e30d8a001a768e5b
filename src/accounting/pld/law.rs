//! From recorded events to the pairs that have to be composed.

use super::bracket::Bracket;
use super::interval::Interval;
use super::pair::{Base, Pair, Sampling, mixed};
use super::table::Table;
use crate::accounting::directed::positive;
use crate::accounting::event::{Mixture, Truncated, groups};
use crate::accounting::ratio::{Kind, LikelihoodRatio, MAX_STEPS};
use crate::accounting::rdp::mechanisms::response_odds;
use crate::error::{Error, Fallible};
use crate::num::round::{down, up};
use crate::privacy::{Adjacency, DpEvent, Mechanism};

/// A composition of dominating pairs, all in one direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Law {
    /// `sqrt(sum mu^2)` over the unsampled Gaussian mechanisms; roots, since squares may underflow.
    pub mu: Interval,
    /// `ln` of the probability that no mechanism fails outright.
    pub ln_keep: Interval,
    /// The other pairs and how often each occurs.
    pub parts: Vec<(Pair, f64)>,
    /// Pairs that are given outcome by outcome, and how often each occurs.
    pub tables: Vec<(Table, f64)>,
    /// Pairs that are known by one above and one below, and how often each occurs.
    pub brackets: Vec<(Bracket, f64)>,
    /// A Gaussian mechanism that is dominated by those brackets together that are known from above alone.
    pub least_mu: f64,
}

impl Default for Law {
    fn default() -> Self {
        let zero = Interval { lower: 0.0, upper: 0.0 };
        Law { mu: zero, ln_keep: zero, parts: Vec::new(), tables: Vec::new(), brackets: Vec::new(), least_mu: 0.0 }
    }
}

/// Bounds on a nonnegative number from two computed ones, each right to a few units.
fn around(lower: f64, upper: f64) -> Interval {
    Interval { lower: down(lower, 6).max(0.0), upper: up(upper, 6) }
}

impl Law {
    /// `count` times a pair that fails outright with the probability whose complement has this logarithm, and is the table otherwise.
    pub(super) fn of_table(table: Table, ln_keep: Interval, count: f64) -> Self {
        let mut law = Law { tables: vec![(table, count)], ..Law::default() };
        law.lose(ln_keep, count);
        law
    }

    /// Whether there are only Gaussian mechanisms without sampling.
    pub(super) fn is_gaussian(&self) -> bool {
        self.parts.is_empty() && self.tables.is_empty() && self.brackets.is_empty()
    }

    /// Adds `mu` and its multiplicity to the Gaussian part, unless it is nothing.
    fn widen_mu(&mut self, other: Interval) {
        if other.upper > 0.0 {
            self.mu = around(self.mu.lower.hypot(other.lower), self.mu.upper.hypot(other.upper));
        }
    }

    /// Adds a bound on the failure of `count` mechanisms.
    fn lose(&mut self, ln_keep: Interval, count: f64) {
        if ln_keep.lower < 0.0 {
            let loss = around(-ln_keep.upper * count, -ln_keep.lower * count);
            let all = around(loss.lower - self.ln_keep.upper, loss.upper - self.ln_keep.lower);
            self.ln_keep = Interval { lower: -all.upper, upper: -all.lower };
        }
    }

    /// Adds a pair, joining it to an equal one.
    fn push(&mut self, pair: Pair, count: f64) {
        match self.parts.iter_mut().find(|it| it.0 == pair) {
            Some(known) => known.1 += count,
            None => self.parts.push((pair, count)),
        }
    }

    /// Adds a pair that is known from above and below, joining it to an equal one.
    fn enclose(&mut self, bracket: Bracket, count: f64) {
        match self.brackets.iter_mut().find(|it| it.0 == bracket) {
            Some(known) => known.1 += count,
            None => self.brackets.push((bracket, count)),
        }
    }

    /// Adds a pair without sampling.
    fn whole(&mut self, base: Base, count: f64) {
        match base {
            Base::Gaussian { mu } => {
                let total = count.sqrt() * mu;
                self.widen_mu(around(total, total));
            }
            _ => self.push(Pair { base, sampling: Sampling::Whole }, count),
        }
    }

    /// Composition of two laws.
    pub(super) fn compose(&mut self, other: &Law) {
        self.widen_mu(other.mu);
        self.lose(other.ln_keep, 1.0);
        for &(pair, count) in &other.parts {
            self.push(pair, count);
        }
        self.tables.extend(other.tables.iter().cloned());
        for (bracket, count) in &other.brackets {
            self.enclose(bracket.clone(), *count);
        }
        self.least_mu = self.least_mu.hypot(other.least_mu);
    }

    /// A law that dominates this one, with the largest sensitivity of what is known from above and below.
    pub(super) fn without_brackets(&self) -> Law {
        let mut law = Law { brackets: Vec::new(), least_mu: 0.0, ..self.clone() };
        for (bracket, count) in &self.brackets {
            let mu = bracket.largest() * count.sqrt();
            law.widen_mu(around(mu, mu));
        }
        law
    }

    /// The law `count` times.
    pub(super) fn repeat(&mut self, count: f64) {
        if count == 0.0 {
            *self = Law::default();
            return;
        }
        if self.mu.upper > 0.0 {
            self.mu = around(self.mu.lower * count.sqrt(), self.mu.upper * count.sqrt());
        }
        let ln_keep = std::mem::replace(&mut self.ln_keep, Law::default().ln_keep);
        self.lose(ln_keep, count);
        self.parts.iter_mut().for_each(|it| it.1 *= count);
        self.tables.iter_mut().for_each(|it| it.1 *= count);
        self.brackets.iter_mut().for_each(|it| it.1 *= count);
        self.least_mu *= count.sqrt();
    }

    /// The number of pairs composed.
    pub(super) fn count(&self) -> f64 {
        self.parts.iter().map(|it| it.1).sum::<f64>() + self.tables.iter().map(|it| it.1).sum::<f64>()
    }

    /// A bound above all losses that can occur.
    pub(super) fn largest_loss(&self) -> f64 {
        let parts: f64 = self.parts.iter().map(|(pair, count)| pair.largest_loss() * count).sum();
        let pure = parts + self.tables.iter().map(|(table, count)| table.largest_loss() * count).sum::<f64>();
        if self.mu.upper > 0.0 { f64::INFINITY } else { pure * (1.0 + 1e-12) }
    }

    /// `ln` probability and value of the largest sum of losses, from below, if all pairs have a largest
    /// loss with some mass.
    pub(super) fn top(&self) -> Option<(f64, f64)> {
        if self.mu.upper > 0.0 {
            return None;
        }
        let mut sum = (0.0, 0.0);
        let parts = self.parts.iter().map(|(pair, count)| (pair.top(), count));
        for (top, count) in parts.chain(self.tables.iter().map(|(table, count)| (table.top(), count))) {
            let (ln_mass, loss) = top?;
            sum = (sum.0 + count * ln_mass, sum.1 + count * loss);
        }
        // A loss that may have been rounded up from an underflow says nothing.
        (sum.1 > 1e-290).then(|| (sum.0 - 1e-13 * (1.0 + sum.0.abs()), sum.1 * (1.0 - 1e-13)))
    }

    /// A zCDP parameter that holds for the whole composition; sampling can only lower it.
    pub(super) fn rho(&self) -> f64 {
        let one = |pair: &Pair| {
            let mu = match pair.base {
                Base::Gaussian { mu } => mu,
                Base::DiscreteGaussian { sigma, shift } => shift / sigma,
                // Choices are rho = epsilon^2 / 8 (Cesar and Rogers 2021), but the pair that dominates them is not.
                Base::Laplace { epsilon } | Base::BoundedRange { epsilon } | Base::TwoPoint { epsilon } => {
                    root_twice_rho(epsilon)
                }
                Base::DiscreteLaplace { unit, shift } => root_twice_rho(unit * shift),
            };
            let factor = if matches!(pair.sampling, Sampling::Replace(_)) { 2.0 } else { 1.0 };
            half_square(factor * mu)
        };
        // The margin covers a few roundings for each part.
        let margin = 1.0 + 1e-14 * (100.0 + self.parts.len() as f64 + self.tables.len() as f64);
        let parts: f64 = self.parts.iter().map(|(pair, count)| one(pair) * count).sum();
        // Bounded losses are those of a pure mechanism.
        let pure = |table: &Table| half_square(root_twice_rho(table.widest()));
        let tables: f64 = self.tables.iter().map(|(table, count)| pure(table) * count).sum();
        (half_square(self.mu.upper) + parts + tables) * margin
    }
}

/// `sqrt(2 rho)` for the `rho = e tanh(e/2)` of a pure e.
fn root_twice_rho(epsilon: f64) -> f64 {
    (2.0 * epsilon).sqrt() * (epsilon / 2.0).tanh().sqrt()
}

/// `mu^2 / 2`, not 0 when it underflows: that would claim that a mechanism costs nothing.
fn half_square(mu: f64) -> f64 {
    if mu > 0.0 { (mu * mu / 2.0).max(f64::MIN_POSITIVE) } else { 0.0 }
}

/// What one mechanism is: a pair, unless it costs nothing, and the probability that it fails outright.
struct Content {
    base: Option<Base>,
    delta: f64,
}

/// `delta rate`; a product that underflows is rounded up, which [`super::solve`] undoes for lower bounds.
fn sampled_failure(delta: f64, rate: f64) -> f64 {
    if delta > 0.0 && rate > 0.0 { (delta * rate).max(f64::MIN_POSITIVE) } else { 0.0 }
}

/// The two directions of a composition under add-remove; one suffices when they have equal profiles.
pub(super) struct Reader {
    adjacency: Adjacency,
    pub remove: Law,
    pub add: Law,
    pub two_sided: bool,
}

/// A refusal that names the part of the event.
fn unsupported(path: &str, event: &DpEvent, why: &str) -> Error {
    let text = serde_json::to_string(event).unwrap_or_else(|_| format!("{event:?}"));
    Error::parameter(path, format!("{text}: {why}"), "use the RDP or zCDP accountant for this part")
}

fn probability(name: &'static str, value: f64) -> Fallible<f64> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(Error::parameter(name, format!("is {value}, must lie between 0 and 1"), "use a probability"))
}

fn nonnegative(name: &'static str, value: f64) -> Fallible<f64> {
    if value >= 0.0 {
        return Ok(value);
    }
    Err(Error::parameter(name, format!("is {value}, must be at least 0"), "use a positive number"))
}

impl Reader {
    pub(super) fn new(adjacency: Adjacency) -> Self {
        Reader { adjacency, remove: Law::default(), add: Law::default(), two_sided: false }
    }

    /// Checks every part of an event and adds it `count` times.
    pub(super) fn visit(&mut self, event: &DpEvent, count: f64, path: &str) -> Fallible<()> {
        match event {
            DpEvent::Single { mechanism } => {
                let content = self.content(mechanism)?;
                self.add_whole(&content, count);
                Ok(())
            }
            DpEvent::PoissonSampled { mechanism, rate } => self.sampled(event, mechanism, *rate, count, path),
            DpEvent::Repeated { event, count: times } => {
                self.visit(event, count * *times as f64, &format!("{path}.event"))
            }
            DpEvent::Composed { events } => {
                events.iter().enumerate().try_for_each(|(i, it)| self.visit(it, count, &format!("{path}.events[{i}]")))
            }
            DpEvent::RandomAllocation { mechanism, .. } => self.allocated(event, mechanism, count, path),
            DpEvent::MixtureOfGaussians { standard_deviation, sensitivities, probabilities } => {
                let mixture = Mixture::new(*standard_deviation, sensitivities, probabilities)?;
                self.mixed(event, &mixture, count, path)
            }
            DpEvent::TruncatedPoissonSampled { mechanism, rate, rows, max_batch } => {
                let cut = Truncated::new(event, mechanism, *rate, *rows, *max_batch)?;
                if max_batch >= rows {
                    return self.sampled(event, mechanism, *rate, count, path);
                }
                self.truncated(&cut, count, path)
            }
            DpEvent::SampledWithoutReplacement { .. } => Err(unsupported(
                path,
                event,
                "no pair is known to dominate compositions of sampling without replacement",
            )),
            DpEvent::Selected { .. } => {
                Err(unsupported(path, event, "no privacy-loss distribution is known for private selection"))
            }
        }
    }

    /// The pair of a mechanism applied to all rows.
    fn content(&self, mechanism: &Mechanism) -> Fallible<Content> {
        let factor = self.adjacency.sum_sensitivity(1) as f64;
        let mut delta = 0.0;
        let base = match *mechanism {
            Mechanism::Gaussian { noise_multiplier } => {
                Base::Gaussian { mu: factor / positive("noise multiplier", noise_multiplier)? }
            }
            Mechanism::ObjectivePerturbation { .. } => {
                let problem = "no privacy-loss distribution is known for objective perturbation";
                return Err(Error::parameter("event", problem, "use the RDP accountant"));
            }
            Mechanism::DiscreteGaussian { sigma, sensitivity } => {
                Base::DiscreteGaussian { sigma: positive("sigma", sigma)?, shift: factor * sensitivity as f64 }
            }
            Mechanism::Laplace { scale } => Base::Laplace { epsilon: factor / positive("scale", scale)? },
            Mechanism::DiscreteLaplace { scale, sensitivity } => {
                Base::DiscreteLaplace { unit: 1.0 / positive("scale", scale)?, shift: factor * sensitivity as f64 }
            }
            Mechanism::Exponential { epsilon } => Base::BoundedRange { epsilon: nonnegative("epsilon", epsilon)? },
            Mechanism::Pure { epsilon } => Base::TwoPoint { epsilon: nonnegative("epsilon", epsilon)? },
            Mechanism::RandomisedResponse { truth } => {
                Base::TwoPoint { epsilon: response_odds(probability("truth", truth)?).ln_1p() }
            }
            Mechanism::Approximate { epsilon, delta: fails } => {
                delta = probability("delta", fails)?;
                Base::TwoPoint { epsilon: nonnegative("epsilon", epsilon)? }
            }
        };
        let size = match base {
            Base::Gaussian { mu } => mu,
            Base::DiscreteGaussian { sigma, shift } => shift / sigma,
            Base::Laplace { epsilon } | Base::BoundedRange { epsilon } | Base::TwoPoint { epsilon } => epsilon,
            // A loss of 0 costs nothing even when the unit overflows.
            Base::DiscreteLaplace { shift: 0.0, .. } => 0.0,
            Base::DiscreteLaplace { unit, shift } => unit * shift,
        };
        // A loss beyond all floats is no protection at all.
        Ok(Content {
            base: (size > 0.0 && size.is_finite()).then_some(base),
            delta: if size.is_finite() { delta } else { 1.0 },
        })
    }

    fn fail(&mut self, delta: f64, count: f64) {
        if delta > 0.0 && count > 0.0 {
            let ln_keep = (-delta).ln_1p();
            let ln_keep = Interval { lower: ln_keep, upper: ln_keep };
            self.remove.lose(ln_keep, count);
            self.add.lose(ln_keep, count);
        }
    }

    fn add_whole(&mut self, content: &Content, count: f64) {
        self.fail(content.delta, count);
        if let (Some(base), true) = (content.base, count > 0.0) {
            self.remove.whole(base, count);
            self.add.whole(base, count);
        }
    }

    fn sampled(&mut self, event: &DpEvent, mechanism: &Mechanism, rate: f64, count: f64, path: &str) -> Fallible<()> {
        let rate = probability("rate", rate)?;
        let content = self.content(mechanism)?;
        if rate == 0.0 || count == 0.0 {
            return Ok(());
        }
        if rate == 1.0 {
            self.add_whole(&content, count);
            return Ok(());
        }
        if self.adjacency == Adjacency::ReplaceOne {
            let Mechanism::Gaussian { noise_multiplier } = mechanism else {
                return Err(unsupported(path, event, "under replace-one only a Gaussian may be Poisson-sampled"));
            };
            self.fail(sampled_failure(content.delta, rate), count);
            if content.base.is_some() {
                let base = Base::Gaussian { mu: 1.0 / noise_multiplier };
                self.remove.push(Pair { base, sampling: Sampling::Replace(rate) }, count);
            }
            return Ok(());
        }
        self.fail(sampled_failure(content.delta, rate), count);
        match content.base {
            None => {}
            Some(Base::TwoPoint { epsilon }) => {
                // Balle, Barthe and Gaboardi 2018, Theorem 8.
                let epsilon = mixed(rate, epsilon).max(f64::MIN_POSITIVE);
                self.add_whole(&Content { base: Some(Base::TwoPoint { epsilon }), delta: 0.0 }, count);
            }
            Some(base) => {
                self.two_sided = true;
                self.remove.push(Pair { base, sampling: Sampling::Remove(rate) }, count);
                self.add.push(Pair { base, sampling: Sampling::Add(rate) }, count);
            }
        }
        Ok(())
    }

    /// An epoch of random allocation.
    fn allocated(&mut self, event: &DpEvent, mechanism: &Mechanism, count: f64, path: &str) -> Fallible<()> {
        let content = self.content(mechanism)?;
        let groups = groups(event)?;
        let Mechanism::Gaussian { .. } = mechanism else {
            return Err(unsupported(path, event, "only steps with Gaussian noise may share rows out"));
        };
        let Some(Base::Gaussian { mu }) = content.base else {
            return Ok(());
        };
        if let [(1, all)] = groups[..] {
            self.add_whole(&content, count * all as f64);
            return Ok(());
        }
        if self.adjacency == Adjacency::ReplaceOne {
            return Err(unsupported(path, event, "no pair is known to dominate random allocation under replace-one"));
        }
        self.two_sided = true;
        let alone = matches!(groups[..], [(steps, 1)] if steps <= MAX_STEPS);
        for (steps, times) in groups.iter().copied().filter(|_| count > 0.0) {
            // More steps to draw from cost less.
            let ratio = LikelihoodRatio::new(Kind::Allocation { mu, steps: steps.min(MAX_STEPS) })?;
            for (law, bracket) in [&mut self.remove, &mut self.add].into_iter().zip(Bracket::both(&ratio, alone)) {
                law.enclose(bracket, count * times as f64);
            }
        }
        if let (DpEvent::RandomAllocation { steps, participations, .. }, false) = (event, alone) {
            // The sum of all steps alone is a Gaussian mechanism that as many rows of one step join.
            let mu = down(mu * *participations as f64 / (*steps as f64).sqrt() * count.sqrt(), 8).max(0.0);
            [&mut self.remove, &mut self.add].into_iter().for_each(|law| law.least_mu = law.least_mu.hypot(mu));
        }
        Ok(())
    }

    /// Gaussian steps on Poisson samples that are cut to a largest batch.
    fn truncated(&mut self, cut: &Truncated, count: f64, path: &str) -> Fallible<()> {
        if self.adjacency == Adjacency::ReplaceOne {
            return Err(Truncated::replaced(path));
        }
        if count > 0.0 && cut.rate > 0.0 {
            self.two_sided = true;
            let [remove, add] = Bracket::both(&cut.ratio()?, true);
            self.remove.enclose(remove, count);
            self.add.enclose(add, count);
        }
        Ok(())
    }

    /// A Gaussian mechanism whose sensitivity is drawn.
    fn mixed(&mut self, event: &DpEvent, mixture: &Mixture, count: f64, path: &str) -> Fallible<()> {
        if let [(_, mu)] = mixture.components[..] {
            let mu = mu * self.adjacency.sum_sensitivity(1) as f64;
            let base = (mu > 0.0).then_some(Base::Gaussian { mu });
            self.add_whole(&Content { base, delta: 0.0 }, count);
            return Ok(());
        }
        if self.adjacency == Adjacency::ReplaceOne {
            return Err(unsupported(
                path,
                event,
                "no pair is known to dominate a mixture of Gaussians under replace-one",
            ));
        }
        if count > 0.0 {
            self.two_sided = true;
            let [remove, add] = Bracket::both(&mixture.ratio()?, true);
            self.remove.enclose(remove, count);
            self.add.enclose(add, count);
        }
        Ok(())
    }
}
