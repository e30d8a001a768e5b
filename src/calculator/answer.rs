//! Named numbers as JSON.

use serde_json::{Map, Value};

use crate::accounting::directed::delta_from_ln;
use crate::error::{Error, Fallible};

/// An answer under construction; a NaN makes it an error.
#[derive(Default)]
pub(super) struct Answer {
    map: Map<String, Value>,
    broken: Option<String>,
}

impl Answer {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds a number that may be infinite.
    pub(super) fn number(mut self, name: &str, value: f64) -> Self {
        if value.is_nan() {
            self.broken = Some(name.to_owned());
        }
        self.map.insert(name.to_owned(), json(value));
        self
    }

    /// Adds a delta given by its logarithm, and the logarithm beside it.
    pub(super) fn ln_delta(self, name: &str, ln_delta: f64) -> Self {
        self.delta_pair(name, delta_from_ln(ln_delta), ln_delta)
    }

    /// Adds a delta given by its value, and its logarithm beside it.
    pub(super) fn delta(self, name: &str, delta: f64) -> Self {
        let ln_delta =
            if delta > 0.0 { delta.ln().next_up().min(if delta > 1.0 { f64::MAX } else { 0.0 }) } else { delta.ln() };
        self.delta_pair(name, delta, ln_delta)
    }

    /// Adds a delta and its logarithm; a delta below the normal doubles is null unless it is 0.
    pub(super) fn delta_pair(mut self, name: &str, delta: f64, ln_delta: f64) -> Self {
        let tiny = ln_delta > f64::NEG_INFINITY && delta < f64::MIN_POSITIVE;
        let beside = name.replacen("delta", "log_delta", 1);
        if delta.is_nan() || ln_delta.is_nan() {
            self.broken = Some(name.to_owned());
        }
        self.map.insert(name.to_owned(), if tiny { Value::Null } else { json(delta) });
        self.map.insert(beside, json(ln_delta));
        self
    }

    /// All numbers of both.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.map.extend(other.map);
        Answer { broken: self.broken.or(other.broken), ..self }
    }

    /// The object.
    pub(super) fn finish(self) -> Fallible<Map<String, Value>> {
        match self.broken {
            None => Ok(self.map),
            Some(name) => Err(Error::numerical("the answer", format!("{name} is not a number"))),
        }
    }
}

fn json(value: f64) -> Value {
    if value == f64::INFINITY {
        "inf".into()
    } else if value == f64::NEG_INFINITY {
        "-inf".into()
    } else {
        value.into()
    }
}
