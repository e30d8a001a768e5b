//! What the ledger stores: records, exact numbers as text, and the hash that chains them.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::cap::Cap;
use super::exact_rho::ExactRho;
use crate::error::{Error, Fallible};
use crate::privacy::{Adjacency, Charge, DatasetId, PrivacyUnit};

/// Longest body of an entry in bytes; a longer one is a forgery or a bug and would exhaust memory.
const MAX_BODY_LENGTH: usize = 1 << 20;

/// One event in the life of a data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Record {
    /// A data set enters the ledger by hand, with its relation; earlier versions wrote its cap here as well.
    Open {
        /// The data set.
        dataset: DatasetId,
        /// The relation of all its guarantees from now on.
        adjacency: Adjacency,
        /// What neighbours differ in; entries about rows do not say so.
        #[serde(default, skip_serializing_if = "PrivacyUnit::is_row")]
        unit: PrivacyUnit,
        /// Largest total rho; `None` counts without refusing.
        cap: Option<ExactRho>,
    },
    /// A data set enters the ledger by hand, with its relation and a cap.
    OpenCapped {
        /// The data set.
        dataset: DatasetId,
        /// The relation of all its guarantees from now on.
        adjacency: Adjacency,
        /// What neighbours differ in; entries about rows do not say so.
        #[serde(default, skip_serializing_if = "PrivacyUnit::is_row")]
        unit: PrivacyUnit,
        /// What all runs may cost together.
        cap: Cap,
    },
    /// The cap of a data set changes, as earlier versions wrote it: rho alone.
    SetCap {
        /// The data set.
        dataset: DatasetId,
        /// The new cap.
        cap: ExactRho,
    },
    /// The cap of a data set changes.
    ChangeCap {
        /// The data set.
        dataset: DatasetId,
        /// The new cap.
        cap: Cap,
        /// What all runs before cost at the order of the new cap, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent_at_order: Option<ExactRho>,
    },
    /// The whole cost of one run is spent; the first run of an unknown data set opens it without a cap.
    Reserve {
        /// The data set.
        dataset: DatasetId,
        /// The relation of the run's guarantee.
        adjacency: Adjacency,
        /// What neighbours differ in; entries about rows do not say so.
        #[serde(default, skip_serializing_if = "PrivacyUnit::is_row")]
        unit: PrivacyUnit,
        /// Random name of the run.
        run: String,
        /// When, in seconds since 1970.
        at: u64,
        /// All releases that the run may make.
        events: Vec<Charge>,
        /// Their total rho, which must equal what the events say.
        rho: ExactRho,
        /// What they cost at the order of the cap, if it has one: at least what the events say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rho_at_order: Option<ExactRho>,
        /// `false` for runs with a fixed seed, whose output protects nobody.
        private: bool,
    },
    /// A run that was stopped goes on; it was charged when it was reserved, and nothing is charged again.
    Resume {
        /// The run.
        run: String,
        /// Releases that it had made and kept.
        releases: u64,
    },
    /// A run has released its result.
    Complete {
        /// The run.
        run: String,
        /// SHA-256 of the released file, in hexadecimal.
        artefact_sha256: String,
    },
}

impl Record {
    /// The text that is hashed and stored.
    pub(super) fn body(&self) -> Fallible<String> {
        serde_json::to_string(self).ok().filter(|text| text.len() <= MAX_BODY_LENGTH).ok_or_else(|| {
            Error::parameter("events", "are too long for one ledger entry", "shorten their descriptions")
        })
    }

    /// Reads a body back and insists on the one spelling that this module writes.
    fn parse(body: &str) -> Result<Record, String> {
        let record: Record = serde_json::from_str(body).map_err(|error| format!("it is not a record ({error})"))?;
        // A second spelling could be read differently by another program that checks the same ledger.
        match serde_json::to_string(&record) {
            Ok(canonical) if canonical == body => Ok(record),
            _ => Err("its text is not in canonical form".into()),
        }
    }
}

/// A place in a ledger: what a model stores so that a shortened or exchanged ledger is found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// Number of the entry, counted from 1; 0 is the empty ledger.
    pub sequence: u64,
    /// Hash of the chain up to and including that entry, in hexadecimal.
    pub hash: String,
}

impl Position {
    /// Before the first entry.
    pub(super) fn genesis() -> Self {
        Position { sequence: 0, hash: hex(&Sha256::digest(b"rhograd ledger, version 1")) }
    }
}

/// One entry of the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its number, counted from 1.
    pub sequence: u64,
    /// What happened.
    pub record: Record,
    /// Hash of the entry before.
    pub previous: String,
    /// SHA-256 of the previous hash, the number and the stored text.
    pub hash: String,
}

/// An entry as it lies in the file, not yet believed.
pub(super) struct RawEntry<'a> {
    pub(super) sequence: i64,
    pub(super) body: &'a str,
    pub(super) previous: &'a str,
    pub(super) hash: &'a str,
}

impl RawEntry<'_> {
    /// Checks that the hash belongs to the content and parses it.
    pub(super) fn check(&self) -> Result<Entry, String> {
        let sequence = u64::try_from(self.sequence).map_err(|_| "its number is negative")?;
        if self.body.len() > MAX_BODY_LENGTH {
            return Err("it is too long".into());
        }
        if self.hash != chain_hash(self.previous, sequence, self.body) {
            return Err("its hash does not belong to its content".into());
        }
        let record = Record::parse(self.body)?;
        Ok(Entry { sequence, record, previous: self.previous.to_owned(), hash: self.hash.to_owned() })
    }
}

/// SHA-256 over the previous hash (64 hexadecimal digits), the number (8 bytes, big endian) and the body.
///
/// The first two parts have fixed lengths in a valid chain, so no two different entries hash the same bytes.
pub(super) fn chain_hash(previous: &str, sequence: u64, body: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(previous.as_bytes());
    hasher.update(sequence.to_be_bytes());
    hasher.update(body.as_bytes());
    hex(&hasher.finalize())
}

/// Lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Whether `text` is exactly `digits` lower-case hexadecimal digits.
pub(super) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::Dyadic;
    use crate::privacy::Rho;
    use proptest::prelude::*;

    fn complete() -> Record {
        Record::Complete { run: "0f".repeat(16), artefact_sha256: "ab".repeat(32) }
    }

    #[test]
    fn the_chain_hash_is_what_other_tools_compute() {
        // (printf '%064d' 0; printf '\0\0\0\0\0\0\0\1{}') | sha256sum
        let expected = "cad1cc1d6e29a46e00c2a45f04f4f8fbf914d4fc91bbc8597ce6320e98ad6d9d";
        assert_eq!(chain_hash(&"0".repeat(64), 1, "{}"), expected);
    }

    #[test]
    fn only_the_canonical_spelling_is_read() {
        let body = complete().body().unwrap();
        assert_eq!(Record::parse(&body), Ok(complete()));
        for other in [
            body.replace(':', ": "),
            body.replace("\"run\"", "\"extra\":1,\"run\""),
            body.replace("\"run\"", "\"run\":\"\",\"run\""),
            body.replace("complete", "Complete"),
            r#"{"open":{"dataset":"a","adjacency":"add-remove","unit":"row","cap":null}}"#.into(),
            format!("{body} "),
            String::new(),
        ] {
            assert!(Record::parse(&other).is_err(), "{other}");
        }
    }

    #[test]
    fn a_missing_cap_is_written_and_required() {
        let dataset = DatasetId::new("a").unwrap();
        let open = Record::Open { dataset, adjacency: Adjacency::AddRemove, unit: PrivacyUnit::Row, cap: None }
            .body()
            .unwrap();
        assert_eq!(open, r#"{"open":{"dataset":"a","adjacency":"add-remove","cap":null}}"#);
        assert!(Record::parse(&open.replace(r#","cap":null"#, "")).is_err());
    }

    #[test]
    fn oversized_numbers_are_refused_before_they_are_built() {
        for bad in [
            r#"{"num":"1","log2_den":4000000000}"#.to_owned(),
            format!(r#"{{"num":"{}","log2_den":0}}"#, "9".repeat(100_000)),
            r#"{"num":"-1","log2_den":0}"#.to_owned(),
            r#"{"num":1,"log2_den":0}"#.to_owned(),
            r#"{"num":"1","log2_den":0,"den":1}"#.to_owned(),
            "0.5".to_owned(),
        ] {
            assert!(serde_json::from_str::<ExactRho>(&bad).is_err(), "{bad:.60}");
        }
        let huge = Rho::exact(Dyadic::from_f64(f64::MAX).unwrap().times(u64::MAX).plus(&Dyadic::zero()));
        assert!(ExactRho::new(&huge).is_ok());
        assert!(ExactRho::new(&Rho::exact(Dyadic::new(1u8.into(), 1101))).is_err());
    }

    #[test]
    fn a_body_that_is_too_long_is_refused() {
        let record = Record::Complete { run: "r".repeat(MAX_BODY_LENGTH), artefact_sha256: String::new() };
        assert!(record.body().is_err());
    }

    proptest! {
        #[test]
        fn every_float_is_stored_exactly(bits in any::<u64>()) {
            let x = f64::from_bits(bits & !(1 << 63));
            prop_assume!(x.is_finite());
            let rho = ExactRho::new(&Rho::from_f64(x).unwrap()).unwrap();
            let text = serde_json::to_string(&rho).unwrap();
            prop_assert_eq!(serde_json::from_str::<ExactRho>(&text).unwrap(), rho);
        }
    }
}
