//! Differentially private convex training with exact arithmetic and an exact zCDP ledger.

pub mod accounting;
pub mod error;
pub mod noise;
pub mod num;
pub mod privacy;
