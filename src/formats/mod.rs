//! The files that people meet, each with a JSON Schema of it and the reader that the schema is held against.
//!
//! A JSON Schema is a file in this folder. It may use what another one defines, by `urn:rhograd:NAME#/$defs/WORD`; what is printed
//! holds all that it uses.
//!
//! ```
//! use rhograd::formats::Format;
//!
//! let schema = Format::Schema.json_schema()?;
//! assert_eq!(schema["required"], serde_json::json!(["name", "task", "target", "columns"]));
//! assert_eq!(schema["$defs"]["column"]["properties"]["type"]["enum"][0], "numeric");
//!
//! let text = r#"{"$schema": "rhograd-schema.json", "name": "a", "task": "classification", "target": "y", "positive": "1",
//!     "columns": {"x": {"type": "numeric", "lower": 0, "upper": 1}}}"#;
//! Format::Schema.read(text, "a.schema.json".as_ref())?;
//! assert!(Format::Schema.read(&text.replace("lower", "lowest"), "a.schema.json".as_ref()).is_err());
//! # Ok::<(), rhograd::error::Error>(())
//! ```

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::data::Schema;
use crate::error::{Error, Fallible};
use crate::statement::{LogEntry, Statement};
use crate::train::{ModelFile, Reshaped};

/// Where definitions stand in a JSON Schema.
const DEFINITIONS: &str = "$defs";

/// What a reference begins with that stands in the same file, or behind the name of another one.
const PLACE: &str = "#/$defs/";

/// A kind of file that people or their programs read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Format {
    /// What is public about a data set, as in `data.schema.json`.
    Schema,
    /// A released model, as in `data.model.json`.
    Model,
    /// A privacy statement, as `rhograd statement MODEL --json` prints it.
    Statement,
    /// A line of a log, as in `data.log.jsonl`.
    Log,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 4] = [Format::Schema, Format::Model, Format::Statement, Format::Log];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Schema => "schema",
            Format::Model => "model",
            Format::Statement => "statement",
            Format::Log => "log",
        }
    }

    /// The format of a name.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn named(name: &str) -> Fallible<Self> {
        let names = Self::ALL.map(Format::name).join(", ");
        let unknown = || Error::parameter("format", format!("{name:?} is unknown"), format!("give one of {names}"));
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(unknown)
    }

    /// A JSON Schema (draft 2020-12) of a file, of a log that of a line; it holds every definition that it uses.
    ///
    /// It accepts what [`Format::read`] reads, but for what stands in several places: the order of bounds, lengths that belong together,
    /// digests.
    ///
    /// # Errors
    /// When a file of this program is damaged.
    pub fn json_schema(self) -> Fallible<Value> {
        let mut schema = self.source()?;
        let own = schema.as_object_mut().and_then(|fields| fields.shift_remove(DEFINITIONS));
        let mut open = Vec::new();
        self.bring_home(&mut schema, &mut open);
        let mut used = Map::new();
        while let Some((format, word)) = open.pop() {
            if !used.contains_key(&word) {
                let mut definition = format.source()?[DEFINITIONS][&word].clone();
                format.bring_home(&mut definition, &mut open);
                used.insert(word, definition);
            }
        }
        // Its own first, in the order of its file.
        let words = own.as_ref().and_then(Value::as_object).map(|own| own.keys().cloned()).into_iter().flatten();
        let mut all: Map<String, Value> = words.filter_map(|word| used.shift_remove_entry(&word)).collect();
        all.extend(used);
        if !all.is_empty() {
            schema[DEFINITIONS] = all.into();
        }
        Ok(schema)
    }

    /// Reads a text of the format, as the program reads such a file, and says why it does not.
    ///
    /// # Errors
    /// Names the line or the key of what cannot be read.
    pub fn read(self, text: &str, path: &Path) -> Fallible<()> {
        match self {
            Format::Schema => Schema::parse(text, path).map(drop),
            Format::Model => ModelFile::parse(text, path).map(drop),
            Format::Statement => {
                let mut statement: Value = self.parsed(text, path, 1)?;
                let reshaped = statement.as_object_mut().and_then(|fields| fields.shift_remove("reshaped"));
                if let Some(reshaped) = reshaped {
                    self.parsed::<Reshaped>(&reshaped.to_string(), path, 1)?;
                }
                self.parsed::<Statement>(&statement.to_string(), path, 1).map(drop)
            }
            Format::Log => {
                let mut lines = (1..).zip(text.lines());
                lines.try_for_each(|(line, entry)| self.parsed::<LogEntry>(entry, path, line).map(drop))
            }
        }
    }

    fn parsed<T: DeserializeOwned>(self, text: &str, path: &Path, line: u64) -> Fallible<T> {
        serde_json::from_str(text).map_err(|e| {
            Error::input(path, format!("not a {}: {e}", self.name()), "use an unedited file").at_line(line)
        })
    }

    /// The file of its JSON Schema.
    fn source(self) -> Fallible<Value> {
        let text = match self {
            Format::Schema => include_str!("schema.json"),
            Format::Model => include_str!("model.json"),
            Format::Statement => include_str!("statement.json"),
            Format::Log => include_str!("log.json"),
        };
        serde_json::from_str(text).map_err(|e| Error::numerical("JSON Schema", e.to_string()))
    }

    /// The name by which other files use its definitions.
    fn id(self) -> String {
        format!("urn:rhograd:{}", self.name())
    }

    /// Lets every reference in a part of its file point to a definition beside that part, and notes where these are defined.
    fn bring_home(self, part: &mut Value, met: &mut Vec<(Format, String)>) {
        match part {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get_mut("$ref")
                    && let Some((file, word)) = reference.split_once(PLACE)
                {
                    let format = Self::ALL.into_iter().find(|format| format.id() == file).unwrap_or(self);
                    met.push((format, word.to_owned()));
                    *reference = format!("{PLACE}{word}");
                }
                fields.values_mut().for_each(|field| self.bring_home(field, met));
            }
            Value::Array(entries) => entries.iter_mut().for_each(|entry| self.bring_home(entry, met)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::Algorithm;

    fn references(part: &Value, found: &mut Vec<String>) {
        match part {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str).map(String::from));
                fields.values().for_each(|field| references(field, found));
            }
            Value::Array(entries) => entries.iter().for_each(|entry| references(entry, found)),
            _ => {}
        }
    }

    #[test]
    fn what_is_printed_holds_every_definition_that_it_uses_and_no_other() {
        for format in Format::ALL {
            let schema = format.json_schema().unwrap();
            assert_eq!((&schema["$id"], Format::named(format.name()).unwrap()), (&format.id().into(), format));
            let mut found = Vec::new();
            references(&schema, &mut found);
            for reference in &found {
                let word = reference.strip_prefix(PLACE).unwrap_or_else(|| panic!("{reference}"));
                assert!(schema[DEFINITIONS][word].is_object(), "{}: {reference}", format.name());
            }
            for word in schema.get(DEFINITIONS).and_then(Value::as_object).iter().flat_map(|all| all.keys()) {
                assert!(found.contains(&format!("{PLACE}{word}")), "{}: nothing uses {word}", format.name());
            }
        }
        assert!(Format::named("ledger").unwrap_err().to_string().contains("schema, model, statement, log"));
    }

    #[test]
    fn a_word_is_defined_in_one_file() {
        let mut words = Vec::new();
        for format in Format::ALL {
            let source = format.source().unwrap();
            words.extend(source.get(DEFINITIONS).and_then(Value::as_object).iter().flat_map(|all| all.keys().cloned()));
        }
        let all = words.len();
        words.sort();
        words.dedup();
        assert!(words.len() == all && all > 40, "{words:?}");
    }

    #[test]
    fn every_algorithm_is_named() {
        let schema = Format::Statement.json_schema().unwrap();
        let names = schema[DEFINITIONS]["facts"]["properties"]["algorithm"]["enum"].as_array().unwrap();
        let known = Algorithm::ALL.into_iter().chain([Algorithm::Custom, Algorithm::Tuned]).map(Algorithm::name);
        assert!(names.iter().map(|name| name.as_str().unwrap()).eq(known), "{names:?}");
    }

    #[test]
    fn readers_name_the_line_and_the_key() {
        let line = r#"{"release":1,"step":0,"what":"t","sensitivity":1.0,"sigma":2.0,"delta":1e-6}"#;
        let path = Path::new("a.log.jsonl");
        Format::Log.read(&format!("{line}\n{line}\n"), path).unwrap();
        let wrong = format!("{line}\n{}\n", line.replace("sigma", "sigmas"));
        let message = Format::Log.read(&wrong, path).unwrap_err().to_string();
        assert!(message.contains("a.log.jsonl:2") && message.contains("sigmas"), "{message}");
        assert!(Format::Statement.read("[]", path).is_err() && Format::Model.read("{}", path).is_err());
    }
}
