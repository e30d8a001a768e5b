//! What is asked for.

use serde::Serialize;

use crate::data::Task;
use crate::privacy::Adjacency;
use crate::train::Budget;

/// What is asked for, and what is publicly known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DraftRequest {
    /// The data set's public name; the ledger charges to it.
    pub name: String,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// The column that tells persons apart, where they are protected; it becomes the unit of the schema and no feature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// What the draft may cost.
    pub budget: Budget,
    /// The column to predict; the last one if none is named.
    pub target: Option<String>,
    /// What is predicted, where that is known.
    pub task: Option<Task>,
    /// Columns of numbers.
    pub numeric: Vec<String>,
    /// Columns of numbers with public rough bounds.
    pub ranges: Vec<(String, f64, f64)>,
    /// Columns of values.
    pub categorical: Vec<String>,
    /// Columns to leave out.
    pub ignore: Vec<String>,
    /// Whether the first line is known to name the columns, although a cell of it is a number or empty. It is published.
    pub header: bool,
    /// Whether the schema gets the noised number of rows, or of persons, as its public hint.
    pub rows: bool,
    /// Whether a delta above 1e-3, or above a tenth of one over public rows, is taken all the same.
    pub accept_large_delta: bool,
}
