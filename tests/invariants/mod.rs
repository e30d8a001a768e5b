//! What must hold of any trainer, as functions: the product's tests and the planted faults are judged by the same ones.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod coordinates;
pub mod markers;
pub mod names;
pub mod neighbours;
pub mod noise;
pub mod people;
pub mod replay;
pub mod summaries;
