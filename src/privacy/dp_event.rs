//! Events for the accountant: what was done to the data, as plain data that can be stored and re-read.
//!
//! Rules of permanence: a variant is never removed, fields are only added as optional ones, and meanings
//! never change.

use serde::{Deserialize, Serialize};

/// A mechanism applied once to the whole data set.
///
/// Scales of additive noise are relative to the sensitivity under **add-remove** (the clip norm of a
/// clipped sum). Under replace-one the same physical noise protects a query that moves twice as far,
/// and accountants apply that factor themselves. Parameters that are already privacy parameters
/// (`epsilon`, `delta`, `truth`) hold under the relation the accountant is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mechanism", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Mechanism {
    /// Continuous Gaussian noise of standard deviation `noise_multiplier` times the l2 sensitivity.
    Gaussian {
        /// Standard deviation over l2 sensitivity.
        noise_multiplier: f64,
    },
    /// Discrete Gaussian noise with parameter `sigma` on an integer query.
    DiscreteGaussian {
        /// Parameter of the law, in integer steps.
        sigma: f64,
        /// Integer sensitivity under add-remove.
        sensitivity: u64,
    },
    /// Laplace noise of scale `scale` times the l1 sensitivity: `1/scale`-DP under add-remove.
    Laplace {
        /// Scale over l1 sensitivity.
        scale: f64,
    },
    /// Two-sided geometric noise `P[x] ~ exp(-|x| / scale)` on an integer query.
    DiscreteLaplace {
        /// Scale of the law, in integer steps.
        scale: f64,
        /// Integer sensitivity under add-remove.
        sensitivity: u64,
    },
    /// The exact minimiser of a regularised generalised linear objective with Gaussian noise on its gradient.
    ObjectivePerturbation {
        /// Standard deviation of the noise over the largest norm of a row's gradient.
        noise_multiplier: f64,
        /// Largest curvature of one record over that of the penalty, `beta / Lambda`.
        curvature: f64,
    },
    /// The exponential mechanism with parameter epsilon: epsilon-DP and of epsilon-bounded range.
    Exponential {
        /// Its epsilon.
        epsilon: f64,
    },
    /// Binary randomised response.
    RandomisedResponse {
        /// Probability of the true answer, in `[0, 1]`; below 1/2 the other answer tells as much.
        truth: f64,
    },
    /// Any epsilon-DP mechanism.
    Pure {
        /// Its epsilon.
        epsilon: f64,
    },
    /// Any (epsilon, delta)-DP mechanism.
    Approximate {
        /// Its epsilon.
        epsilon: f64,
        /// Its delta, in `[0, 1]`.
        delta: f64,
    },
}

/// How often a randomly stopped selection runs its base mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "distribution", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RunCount {
    /// Truncated negative binomial; `eta = 0` is logarithmic, `eta = 1` geometric.
    TruncatedNegativeBinomial {
        /// Shape, above -1.
        eta: f64,
        /// Stopping parameter in `(0, 1)`.
        gamma: f64,
    },
    /// Poisson.
    Poisson {
        /// Mean.
        mean: f64,
    },
}

/// Something that was done to a data set, from which every accountant computes its own cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DpEvent {
    /// A mechanism applied to all rows.
    Single {
        /// The mechanism.
        mechanism: Mechanism,
    },
    /// A mechanism applied to a fresh Poisson sample: every row independently with probability `rate`.
    PoissonSampled {
        /// The mechanism.
        mechanism: Mechanism,
        /// Sampling rate in `[0, 1]`.
        rate: f64,
    },
    /// A mechanism applied to a fresh Poisson sample of which at most so many rows, drawn evenly, are kept; the size of the sample stays secret.
    TruncatedPoissonSampled {
        /// The mechanism.
        mechanism: Mechanism,
        /// Sampling rate in `[0, 1]`.
        rate: f64,
        /// The most rows that either data set can have.
        rows: u64,
        /// The most rows of a sample that are kept, at least 1.
        max_batch: u64,
    },
    /// A mechanism applied to a fresh sample of fixed size without replacement; replace-one only.
    SampledWithoutReplacement {
        /// The mechanism.
        mechanism: Mechanism,
        /// Sample size over number of rows, in `[0, 1]`.
        fraction: f64,
    },
    /// A mechanism applied `steps` times, every row joining a set of `participations` of them, chosen evenly among all such sets and
    /// independently of all other rows.
    RandomAllocation {
        /// The mechanism of one step.
        mechanism: Mechanism,
        /// Number of steps, at least 1.
        steps: u64,
        /// Steps that a row joins, from 1 to all of them.
        #[serde(default = "once", skip_serializing_if = "is_once")]
        participations: u64,
    },
    /// Gaussian noise on a query whose l2 sensitivity is drawn, the draw being secret: `sum_i p_i N(c_i, sigma^2)` against `N(0, sigma^2)`.
    MixtureOfGaussians {
        /// Standard deviation of the noise.
        standard_deviation: f64,
        /// Sensitivities, each at least 0.
        sensitivities: Vec<f64>,
        /// Their probabilities, which add up to 1.
        probabilities: Vec<f64>,
    },
    /// This event, made `count` times with parameters fixed in advance.
    Repeated {
        /// The event.
        event: Box<DpEvent>,
        /// How often.
        count: u64,
    },
    /// Several events, each possibly chosen in view of the outputs before it.
    Composed {
        /// The events.
        events: Vec<DpEvent>,
    },
    /// The best of a random number of runs of an event, everything else discarded.
    Selected {
        /// One run.
        event: Box<DpEvent>,
        /// Law of the number of runs.
        runs: RunCount,
    },
}

fn once() -> u64 {
    1
}

fn is_once(count: &u64) -> bool {
    *count == 1
}

impl DpEvent {
    /// A mechanism applied `steps` times, of which every row joins one, chosen evenly.
    pub fn allocated(mechanism: Mechanism, steps: u64) -> Self {
        DpEvent::RandomAllocation { mechanism, steps, participations: 1 }
    }

    /// A mechanism applied `count` times to all rows.
    pub fn repeated(mechanism: Mechanism, count: u64) -> Self {
        DpEvent::Repeated { event: Box::new(DpEvent::Single { mechanism }), count }
    }

    /// A mechanism applied `count` times to fresh Poisson samples.
    pub fn poisson(mechanism: Mechanism, rate: f64, count: u64) -> Self {
        DpEvent::Repeated { event: Box::new(DpEvent::PoissonSampled { mechanism, rate }), count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_being_stored() {
        let event = DpEvent::Composed {
            events: vec![
                DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: 1.1 }, 0.01, 1000),
                DpEvent::Selected {
                    event: Box::new(DpEvent::repeated(Mechanism::Laplace { scale: 2.0 }, 3)),
                    runs: RunCount::TruncatedNegativeBinomial { eta: 1.0, gamma: 0.1 },
                },
            ],
        };
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<DpEvent>(&text).unwrap(), event);
        assert!(serde_json::from_str::<DpEvent>(&text.replace("rate", "rates")).is_err());
    }
}
