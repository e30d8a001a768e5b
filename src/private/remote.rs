//! Rows on other machines: workers answer questions with exact integer sums over their part, and only here are these added.
//!
//! A worker holds rows and public numbers. The budget, the noise and what is released are here alone, so a worker that is
//! lost, or asked again, costs nothing and changes no bit: sums of integers have no order, and each part counts once.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::pass::{FeatureGradient, Pass};
use super::store::Clip;
use crate::data::Schema;
use crate::error::{Error, Fallible};
use crate::kernel::{FULL_SCALE, Shape};
use crate::preprocess::{Standardiser, shape_of};

/// Workers and driver must agree to the bit on what a question means.
const VERSION: &str = concat!("rhograd ", env!("CARGO_PKG_VERSION"), " sums 2");

const SAME_VERSION: &str = "install the same version of rhograd on all machines";

/// A 64-bit total of multipliers times values is safe below so many rows.
const MOST_ROWS: u64 = 1 << 36;

/// Machines that hold parts of the rows.
///
/// # Privacy
/// Answers are sums over rows without noise. They belong to the custodian, as the rows do, and so does every wire between.
pub trait Cluster: Send + Sync {
    /// Hands the question to the holder of every part, and brings what [`super::Worker::answer`] made of it, in any order.
    ///
    /// A part whose holder was lost may be read and asked again elsewhere; one answer for each part must come back.
    ///
    /// # Errors
    /// When a part has no answer.
    fn ask(&self, question: &[u8]) -> Fallible<Vec<Vec<u8>>>;
}

/// A question; all of it is public.
#[derive(Serialize, Deserialize)]
pub(super) struct Question<'a> {
    pub version: Cow<'a, str>,
    /// How rows are to be re-encoded first, one after the other.
    pub recoding: Cow<'a, [Standardiser]>,
    pub asked: Asked<'a>,
}

/// What is asked of a part.
#[derive(Serialize, Deserialize)]
pub(super) enum Asked<'a> {
    /// Nothing but who is there.
    Presence,
    Sum(Cow<'a, Pass>),
    ClippedSum(Cow<'a, Clip>, Cow<'a, FeatureGradient>),
}

/// The answer of one part.
#[derive(Serialize, Deserialize)]
pub(super) struct Answer {
    pub part: Part,
    pub sums: Vec<i128>,
}

/// A part as it makes itself known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Part {
    /// Its number among the parts.
    pub number: u32,
    pub rows: u64,
    /// Of its encoded rows.
    pub digest: u64,
    /// Fingerprint of the schema that they were encoded by.
    pub schema: String,
}

impl Question<'_> {
    /// # Errors
    /// When it cannot be read, or comes from another version.
    pub(super) fn read(bytes: &[u8]) -> Fallible<Question<'static>> {
        let question: Question<'static> = decode(bytes)?;
        if question.version != VERSION {
            return Err(Error::refused(
                format!("a worker of {VERSION} was asked by {}", question.version),
                SAME_VERSION,
            ));
        }
        Ok(question)
    }
}

pub(super) fn encode(value: &impl Serialize) -> Fallible<Vec<u8>> {
    postcard::to_stdvec(value).map_err(|_| Error::numerical("message to a worker", "cannot be written"))
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Fallible<T> {
    let other = |_| {
        Error::refused(
            "a message between driver and worker cannot be read",
            "install the same version of rhograd on all machines",
        )
    };
    match postcard::take_from_bytes(bytes).map_err(other)? {
        (value, []) => Ok(value),
        _ => Err(Error::refused(
            "a message between driver and worker is too long",
            "install the same version of rhograd on all machines",
        )),
    }
}

/// The rows of a [`Cluster`].
pub struct RemoteRows {
    cluster: Box<dyn Cluster>,
    shape: Shape,
    unit: i16,
    recoding: Vec<Standardiser>,
    /// The parts as they were when the run began.
    parts: BTreeMap<u32, Part>,
}

impl RemoteRows {
    /// Asks who is there; all parts must be encoded by this schema.
    ///
    /// # Errors
    /// When a part does not answer, two have the same number, or one was encoded by another schema.
    pub fn new(cluster: Box<dyn Cluster>, schema: &Schema) -> Fallible<Self> {
        let (shape, fingerprint) = (shape_of(schema), schema.fingerprint());
        let mut rows = RemoteRows { cluster, shape, unit: FULL_SCALE, recoding: Vec::new(), parts: BTreeMap::new() };
        for Answer { part, .. } in rows.ask(Asked::Presence)? {
            if part.schema != fingerprint {
                return Err(Error::refused(
                    format!("part {} was encoded by another schema", part.number),
                    "encode all parts by the schema of the run: equal columns may have other bounds",
                ));
            }
            if let Some(part) = rows.parts.insert(part.number, part) {
                return Err(Error::refused(
                    format!("two parts have the number {}", part.number),
                    "number the parts when they are encoded",
                ));
            }
        }
        if rows.parts.is_empty() {
            return Err(Error::refused("there is no part of the rows", "encode at least one, even if it is empty"));
        }
        if rows.parts.values().try_fold(0u64, |sum, part| sum.checked_add(part.rows)).is_none_or(|sum| sum >= MOST_ROWS)
        {
            return Err(Error::refused("there are 2^36 rows or more", "train on fewer"));
        }
        Ok(rows)
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(super) fn unit(&self) -> i16 {
        self.unit
    }

    pub(super) fn len(&self) -> u64 {
        self.parts.values().map(|part| part.rows).sum()
    }

    /// The same rows, re-encoded wherever they are.
    pub(super) fn recoded(mut self, map: &Standardiser) -> Self {
        self.unit = map.encoded_unit();
        self.recoding.push(map.clone());
        self
    }

    pub(super) fn sum(&self, pass: &Pass) -> Fallible<Vec<i128>> {
        self.total(Asked::Sum(Cow::Borrowed(pass)))
    }

    pub(super) fn clipped_sum(&self, clip: &Clip, gradient: &FeatureGradient) -> Fallible<Vec<i64>> {
        let total = self.total(Asked::ClippedSum(Cow::Borrowed(clip), Cow::Borrowed(gradient)))?;
        total.into_iter().map(|sum| i64::try_from(sum).map_err(|_| out_of_range())).collect()
    }

    fn ask(&self, asked: Asked<'_>) -> Fallible<Vec<Answer>> {
        let question = Question { version: VERSION.into(), recoding: Cow::Borrowed(&self.recoding), asked };
        self.cluster.ask(&encode(&question)?)?.iter().map(|bytes| decode(bytes)).collect()
    }

    /// The sum of the answers, each part once.
    fn total(&self, asked: Asked<'_>) -> Fallible<Vec<i128>> {
        let mut missing = self.parts.clone();
        let mut total: Option<Vec<i128>> = None;
        for Answer { part, sums } in self.ask(asked)? {
            match missing.remove(&part.number) {
                Some(known) if known == part => (),
                Some(_) => {
                    return Err(Error::refused(
                        format!("part {} does not hold the rows any more that it held at first", part.number),
                        "train on data that give the same rows in the same order each time they are read: write them out first",
                    ));
                }
                None => {
                    return Err(Error::refused(format!("part {} answered twice", part.number), "add up nothing twice"));
                }
            }
            match &mut total {
                None => total = Some(sums),
                Some(total) if total.len() == sums.len() => {
                    for (total, more) in total.iter_mut().zip(sums) {
                        *total = total.checked_add(more).ok_or_else(out_of_range)?;
                    }
                }
                Some(_) => {
                    return Err(Error::numerical("sum of parts", "parts answered with vectors of several lengths"));
                }
            }
        }
        match missing.keys().next() {
            Some(number) => Err(Error::refused(format!("part {number} did not answer"), "run the job again")),
            None => total.ok_or_else(|| Error::numerical("sum of parts", "there is none")),
        }
    }
}

fn out_of_range() -> Error {
    Error::numerical("sum of parts", "is beyond what rows can add up to")
}
