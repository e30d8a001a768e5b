//! The verdict of every experiment holds, and planted errors turn it.

mod adjacency;
mod amplification;
mod audit_power;
mod composition;
mod erm_rate;
mod gradient_complexity;
mod losses;
mod marginals;
mod persons;
mod sco_rate;
mod utility;
mod without_steps;
