//! The command line from end to end: what it promises on good input, on bad input, and on edited files.
#![cfg(feature = "cli")]

mod account;
mod additive;
mod algorithms;
mod audit;
mod bad_input;
mod calibrate;
mod check;
mod curves;
mod dialects;
mod draft;
mod explain;
mod export;
mod files;
mod ingest;
mod json_schema;
mod labels;
mod ledger;
mod models;
mod pages;
mod persons;
mod piping;
mod process;
mod public_columns;
mod report;
mod reshape;
mod sign;
mod solvers;
mod summarize;
mod support;
mod tampering;
mod terminal;
mod training;
mod variants;
mod verify;
mod weights;
