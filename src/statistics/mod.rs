//! What experiments and audits show, and what no mechanism can do.
//!
//! | module | what it answers |
//! |---|---|
//! | [`evidence`] | lower bounds from the errors of a test, with confidence |
//! | [`effect`] | limits on mu from scores that are known to be normal |
//! | [`one_run`] | a lower bound from many guesses about one run |
//! | [`bounds`] | lower bounds on error and rows, for every mechanism |
//!
//! ```
//! use rhograd::statistics::effect::{EffectLimits, mu_limits};
//! use rhograd::statistics::evidence::{Counts, Evidence, epsilon_lower};
//!
//! // How often a test was wrong about whether a row was there.
//! let counts = Counts { false_positives: 10, negatives: 1000, false_negatives: 300, positives: 1000 };
//! let shown: Evidence = epsilon_lower(counts, 1e-5, 0.95)?;
//! assert!(shown.epsilon > 3.0 && shown.epsilon < 4.0);
//!
//! // Scores without the row and with it.
//! let absent: Vec<f64> = (0..100).map(|i| f64::from(i % 10) - 4.5).collect();
//! let present: Vec<f64> = absent.iter().map(|score| score + 3.0).collect();
//! let limits: EffectLimits = mu_limits(&absent, &present, 0.95)?;
//! assert!(limits.lower < limits.estimate && limits.estimate < limits.upper);
//! # Ok::<(), rhograd::error::Error>(())
//! ```

pub mod bounds;
pub mod effect;
pub mod evidence;
pub mod one_run;
