//! What experiments and audits show, and what no mechanism can do.
//!
//! | module | what it answers |
//! |---|---|
//! | [`evidence`] | lower bounds from the errors of a test, with confidence |
//! | [`effect`] | limits on mu from scores that are known to be normal |
//! | [`one_run`] | a lower bound from many guesses about one run |
//! | [`bounds`] | lower bounds on error and rows, for every mechanism |

pub mod bounds;
pub mod effect;
pub mod evidence;
pub mod one_run;
