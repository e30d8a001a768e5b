//! The Python module `rhograd._rhograd`: arguments in, one call of the engine, results out.
//!
//! Everything that is private happens in the engine. What stands here turns Python values into its types and back;
//! the estimators, in Python, turn what scikit-learn's users expect into these calls.

mod accounting;
mod cluster;
mod columns;
mod command_line;
mod errors;
mod formats;
mod ledger;
mod model;
mod pool;
mod registry;
mod request;
mod summary;
mod supervise;
mod training;

use pyo3::prelude::*;

#[pymodule]
fn _rhograd(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    registry::register(module)?;
    model::register(module)?;
    training::register(module)?;
    summary::register(module)?;
    cluster::register(module)?;
    columns::register(module)?;
    command_line::register(module)?;
    formats::register(module)?;
    accounting::register(module)?;
    ledger::register(module)
}
