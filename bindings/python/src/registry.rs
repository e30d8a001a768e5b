//! The engine's lists of algorithms and of settings.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use rhograd::optim::{Algorithm, SETTINGS, Setting};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let python = module.py();
    let names = |settings: &[&Setting]| PyTuple::new(python, settings.iter().map(|it| it.name.replace('-', "_")));
    let algorithms = PyDict::new(python);
    for algorithm in Algorithm::ALL {
        let it = algorithm.description();
        let entry = PyDict::new(python);
        entry.set_item("about", it.about)?;
        entry.set_item("releases", it.releases)?;
        entry.set_item("reference", it.reference)?;
        entry
            .set_item("relations", PyTuple::new(python, it.relations.all().iter().map(|relation| relation.name()))?)?;
        entry.set_item("settings", names(it.settings)?)?;
        entry.set_item("needs_rows_at_hand", it.needs.rows_at_hand)?;
        entry.set_item("needs_row_count", it.needs.row_count)?;
        entry.set_item("needs_public_features", it.needs.labels_alone)?;
        entry.set_item("page", algorithm.page())?;
        algorithms.set_item(it.name, entry)?;
    }
    module.add("ALGORITHMS", algorithms)?;
    module.add("SETTINGS", names(SETTINGS)?)
}
