//! The vocabulary of privacy: adjacency, sensitivity, events, and newtypes for epsilon, delta and rho.
//!
//! Nothing here computes a conversion or sees a row; everything here is plain data that a ledger can
//! store and re-check years later.
//!
//! ```
//! use rhograd::privacy::{Adjacency, Charge, DatasetId, Delta, Epsilon, GaussianCharge, NoiseLaw, Rho, Scope};
//!
//! let scope = Scope::of_rows(DatasetId::new("survey")?, Adjacency::AddRemove);
//! assert!(Epsilon::new(-1.0).is_err() && Delta::new(1.0).is_err());
//!
//! // A release as a ledger counts it: integers, whose cost is an exact rational, here 3 times 1/2.
//! let noise = NoiseLaw::FlooredNormal;
//! let release = GaussianCharge { what: "count".into(), sensitivity: 1 << 10, log2_scale: 10, noise, count: 3 };
//! let charge = Charge::from(release);
//! assert_eq!(charge.rho()?, Rho::from_f64(1.5)?);
//! println!("{} {:?}", scope.dataset, charge.event(scope.adjacency));
//! # Ok::<(), rhograd::error::Error>(())
//! ```
//!
//! Costs that are no rho by themselves carry what the accountant has certified for them:
//!
//! ```
//! use rhograd::privacy::{
//!     AllocatedGaussianCharge, Charge, PrivateSelectionCharge, Claim, GaussianCharge, LaplaceCharge, NoiseLaw, ObjectiveCharge, PoissonGaussianCharge,
//!     ExponentialCharge, SparseVectorCharge, ThresholdCharge, total_pure_epsilon,
//! };
//!
//! let (claim, noise) = (Claim { epsilon: 1.0, delta: 1e-6, rho: 0.5 }, NoiseLaw::FlooredNormal);
//! let gaussian = GaussianCharge { what: "sums".into(), sensitivity: 1, log2_scale: 4, noise, count: 10 };
//! // Each row joins each release by a coin.
//! let sampled = PoissonGaussianCharge { sampled: gaussian.clone(), exponent: 1 << 60, claim };
//! assert!(sampled.rate() > 0.06 && sampled.rate() < 0.0625);
//! // Each row joins one release of each pass of five, of which these are two.
//! let passes = AllocatedGaussianCharge { allocated: gaussian.clone(), steps_of_pass: 5, claim };
//! assert!(Charge::from(passes).sampling_rate().is_some_and(|rate| rate >= 0.2));
//! // The best of a random number of runs, of which each is the last with probability 1/4.
//! let best = PrivateSelectionCharge { what: "candidates".into(), rho: 0.1, stop: 1 << 30, claim };
//! assert_eq!(best.stop_probability(), 0.25);
//! // Noise on an objective; a choice among candidates; counts that are opened above a threshold.
//! let _ = ObjectiveCharge { perturbed: gaussian.clone(), curvature: 0.1, claim };
//! let choice = ExponentialCharge { what: "model".into(), sensitivity: 1, log2_scale: 2, candidates: 8, count: 1 };
//! assert!(choice.epsilon_up() > 0.0);
//! let opened = ThresholdCharge { noised: gaussian, row: 1, threshold: 100, delta: 1e-8 };
//! assert!(opened.total_delta() >= 1e-7);
//! // Laplace noise on counts, and the first of a million counts that reaches a bar: 1/2 and 1/4 of pure epsilon, exactly.
//! let counts = LaplaceCharge { what: "counts".into(), l1_sensitivity: 1, rate: 1, log2_scale: 1, count: 1 };
//! let first = SparseVectorCharge { what: "large".into(), sensitivity: 1, log2_scale: 3, questions: 1_000_000, count: 1 };
//! let both: [Charge; 2] = [counts.into(), first.into()];
//! assert_eq!(total_pure_epsilon(&both).map(|epsilon| epsilon.to_f64_up()), Some(0.75));
//! ```
//!
//! Mechanisms for the accountant alone, and bounds that know their norm:
//!
//! ```
//! use rhograd::privacy::{DpEvent, L1, L2, Mechanism, Norm, Range, RunCount, Sensitivity};
//!
//! let run = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: 1.0 }, 0.01, 1000);
//! let pass = DpEvent::allocated(Mechanism::Gaussian { noise_multiplier: 1.0 }, 100);
//! assert!(matches!(pass, DpEvent::RandomAllocation { participations: 1, .. }));
//! let best = DpEvent::Selected { event: Box::new(run), runs: RunCount::Poisson { mean: 10.0 } };
//! assert!(matches!(best, DpEvent::Selected { .. }));
//!
//! fn in_words<N: Norm>(bound: &Sensitivity<N>) -> String {
//!     format!("{} grid steps in {}", bound.grid(), N::NAME)
//! }
//! assert_eq!(in_words(&Sensitivity::<L2>::new(3)), "3 grid steps in l2");
//! assert!(Sensitivity::<L1>::new(3).covers(&Sensitivity::new(2)) && in_words(&Sensitivity::<Range>::new(1)).contains("range"));
//! ```

mod adjacency;
mod bounded;
mod budget;
mod charge;
mod dataset;
mod dp_event;
mod sensitivity;

pub use adjacency::{Adjacency, PrivacyUnit, Scope};
pub use bounded::BoundedLaw;
pub use budget::{Delta, Epsilon, Rho};
pub use charge::{
    AllocatedGaussianCharge, Charge, Claim, ExponentialCharge, GaussianCharge, LaplaceCharge, MAX_LOG2_FINE,
    MAX_LOG2_SCALE, NoiseLaw, ObjectiveCharge, PoissonGaussianCharge, PrivateSelectionCharge, SparseVectorCharge,
    ThresholdCharge, add_deltas, total_delta, total_pure_epsilon, total_rho,
};
pub use dataset::DatasetId;
pub use dp_event::{DpEvent, Mechanism, RunCount};
pub use sensitivity::{L1, L2, Norm, Range, Sensitivity};
