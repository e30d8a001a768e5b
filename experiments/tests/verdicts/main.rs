//! The verdict of every experiment holds, and planted errors turn it.

mod adjacency;
mod amplification;
mod audit_power;
mod composition;
mod erm_rate;
mod generalization;
mod gradient_complexity;
mod losses;
mod marginals;
mod mean_concentrated;
mod persons;
mod reconstruction;
mod sco_rate;
mod sparse_vector;
mod tcdp_sampling;
mod utility;
