//! Strict reading of parameters.

use serde_json::{Map, Value};

use crate::error::{Error, Fallible};
use crate::privacy::{Delta, Epsilon};

/// The parameters of one question; every key was checked.
pub(super) struct Params<'a> {
    map: &'a Map<String, Value>,
}

impl<'a> Params<'a> {
    /// Refuses a missing key and one that is neither required nor optional.
    pub(super) fn open(value: &'a Value, required: &[&str], optional: &[&str]) -> Fallible<Self> {
        let map = value
            .as_object()
            .ok_or_else(|| Error::parameter("params", "is not an object", "use {\"name\": value, ...}"))?;
        for key in map.keys() {
            if !required.contains(&key.as_str()) && !optional.contains(&key.as_str()) {
                let known = [required, optional].concat().join(", ");
                return Err(Error::parameter(key.clone(), "is not a parameter here", format!("known are {known}")));
            }
        }
        for key in required {
            if !map.contains_key(*key) {
                return Err(Error::parameter(*key, "is missing", "add it to the parameters"));
            }
        }
        Ok(Params { map })
    }

    /// A value of any form.
    pub(super) fn get(&self, name: &str) -> Fallible<&'a Value> {
        self.map.get(name).ok_or_else(|| Error::parameter(name, "is missing", "add it to the parameters"))
    }

    /// Whether an optional parameter is given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// A number.
    pub(super) fn number(&self, name: &str) -> Fallible<f64> {
        number(name, self.get(name)?)
    }

    /// A number that may be left out.
    pub(super) fn number_or(&self, name: &str, default: f64) -> Fallible<f64> {
        self.map.get(name).map_or(Ok(default), |value| number(name, value))
    }

    /// A whole number up to 2^53.
    pub(super) fn whole(&self, name: &str) -> Fallible<u64> {
        let value = self.number(name)?;
        if value >= 0.0 && value.fract() == 0.0 && value <= 9_007_199_254_740_992.0 {
            return Ok(value as u64);
        }
        Err(Error::parameter(name, format!("is {value}"), "use a whole number from 0 to 2^53"))
    }

    /// An epsilon.
    pub(super) fn epsilon(&self, name: &str) -> Fallible<Epsilon> {
        Epsilon::new(self.number(name)?)
    }

    /// A delta strictly between 0 and 1.
    pub(super) fn delta(&self, name: &str) -> Fallible<Delta> {
        Delta::new(self.number(name)?)
    }

    /// A text.
    pub(super) fn text(&self, name: &str) -> Fallible<&'a str> {
        self.get(name)?.as_str().ok_or_else(|| Error::parameter(name, "is not a text", "put it in quotes"))
    }

    /// Refuses a text that is given and does not start with one of these.
    pub(super) fn only_text(&self, name: &str, starts: &[&str]) -> Fallible<()> {
        if !self.has(name) {
            return Ok(());
        }
        let text = self.text(name)?;
        if starts.iter().any(|start| text.starts_with(start)) {
            return Ok(());
        }
        Err(Error::parameter(name, format!("is {text:?}"), format!("here it can only be {}", starts.join(" or "))))
    }

    /// A list of numbers.
    pub(super) fn numbers(&self, name: &str) -> Fallible<Vec<f64>> {
        self.list(name)?.iter().map(|value| number(name, value)).collect()
    }

    /// A list.
    pub(super) fn list(&self, name: &str) -> Fallible<&'a [Value]> {
        let list = self.get(name)?.as_array();
        list.map(Vec::as_slice).ok_or_else(|| Error::parameter(name, "is not a list", "use [a, b, ...]"))
    }
}

fn number(name: &str, value: &Value) -> Fallible<f64> {
    if value.as_str() == Some("inf") {
        return Ok(f64::INFINITY);
    }
    value.as_f64().ok_or_else(|| Error::parameter(name, "is not a number", "use a JSON number or \"inf\""))
}
