//! Rows on other machines: workers answer questions with exact integer sums over their part, and only here are these added.
//!
//! A worker holds rows and public numbers. The budget, the noise and what is released are here alone, so a worker that is
//! lost, or asked again, costs nothing and changes no bit: sums of integers have no order, and each part counts once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use xxhash_rust::xxh3::xxh3_64;

use super::pass::{Clip, FeatureGradient, Pass};
use crate::data::Schema;
use crate::error::{Error, Fallible};
use crate::grid::{FULL_SCALE, Shape};
use crate::kernel::{Persons, Rows, RowsBuilder};
use crate::noise::{Choice, Coins};
use crate::preprocess::{LoadReport, Recoding, Waves, shape_of};

/// Workers and driver must agree to the bit on what a question means.
const VERSION: &str = concat!("rhograd ", env!("CARGO_PKG_VERSION"), " sums 11");

const SAME_VERSION: &str = "install the same version of rhograd on all machines";

/// A 64-bit total of multipliers times values is safe below so many rows.
const MAX_ROWS: u64 = 1 << 36;

/// Machines that hold parts of the rows.
///
/// # Privacy
/// Answers are sums over rows without noise. They belong to the custodian, as the rows do, and so does every wire between.
pub trait Cluster: Send + Sync {
    /// Hands the question to the holder of every part, and brings what [`super::Worker::answer`] made of it, in any order.
    ///
    /// Where the schema has a unit, all rows of a person are in one part. Whoever divides the rows brings that about, by
    /// [`crate::preprocess::person_places`]; parts say at the first question which places their persons have, and a run is refused in
    /// which two parts have one in common.
    ///
    /// A part whose holder was lost may be read and asked again elsewhere; one answer for each part must come back. An answer
    /// names the question it belongs to: one that comes late, twice or in the place of another ends the run.
    ///
    /// # Errors
    /// When a part has no answer.
    fn ask(&self, question: &[u8]) -> Fallible<Vec<Vec<u8>>>;
}

/// A question; all of it is public but what is held out, and no bound rests on the secrecy of that.
#[derive(Serialize, Deserialize)]
pub(super) struct Question<'a> {
    pub version: Cow<'a, str>,
    /// Tells the run from all others.
    pub run: u64,
    /// The number of the question in the run.
    pub number: u64,
    /// How rows are to be re-encoded first, one after the other.
    pub recoding: Cow<'a, [Recoding]>,
    /// Which of the rows, or persons, are asked; all of them where it says nothing.
    pub portion: Option<Portion<'a>>,
    pub asked: Asked<'a>,
}

/// The rows, or persons, that are held out, or all others.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Portion<'a> {
    pub held_out: bool,
    pub of: Cow<'a, Divided>,
}

/// Which rows, or persons, of all parts are held out.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Divided {
    /// Those whose coins say so; for each part the place of its first one among all.
    Coins(Coins, BTreeMap<u32, u64>),
    /// For each part a bit for each of its own, in their order there.
    Bits(BTreeMap<u32, Vec<u8>>),
}

impl Divided {
    /// Which are held out of the part of this number, where it was there.
    pub(super) fn of_part(&self, number: u32) -> Option<HeldOut> {
        match self {
            Divided::Coins(coins, firsts) => firsts.get(&number).map(|&first| HeldOut::Coins(coins.clone(), first)),
            Divided::Bits(bits) => bits.get(&number).map(|bits| HeldOut::Bits(bits.clone())),
        }
    }
}

/// Which rows, or persons, of one part are held out.
#[derive(Clone, PartialEq)]
pub(super) enum HeldOut {
    /// Those whose coins say so; the first one of the part has this place among all.
    Coins(Coins, u64),
    /// A bit for each.
    Bits(Vec<u8>),
}

impl HeldOut {
    /// The positions within a part of so many rows or persons, of those held out or of all others.
    pub(super) fn positions(&self, held_out: bool, all: usize) -> Vec<usize> {
        match self {
            HeldOut::Coins(coins, first) => {
                let mut chosen = coins.within(*first..first + all as u64).map(|at| (at - first) as usize).peekable();
                (0..all).filter(|at| chosen.next_if_eq(at).is_some() == held_out).collect()
            }
            HeldOut::Bits(bits) => {
                let held = |at: usize| bits.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
                (0..all).filter(|&at| held(at) == held_out).collect()
            }
        }
    }
}

/// A portion of the rows as the driver knows it.
struct Own {
    held_out: bool,
    of: Arc<Divided>,
    /// Rows or persons of the portion.
    len: u64,
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
    /// The question that it answers.
    pub to: Mark,
    pub part: Part,
    pub sums: Vec<i128>,
    /// What was counted when the part was encoded, where that was asked for.
    pub report: Option<LoadReport>,
    /// The places of the identifiers of the part, where that was asked for and it is of persons.
    pub places: Vec<u16>,
}

/// What tells one question from another: a guard against mistakes, for workers are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Mark {
    number: u64,
    /// Of all its bytes, so that questions of two runs, or of two versions of one, are never taken for each other.
    digest: u64,
}

impl Mark {
    pub(super) fn of(number: u64, question: &[u8]) -> Self {
        Mark { number, digest: xxh3_64(question) }
    }
}

/// A part as it makes itself known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Part {
    /// Its number among the parts.
    pub number: u32,
    /// Rows, or persons.
    pub rows: u64,
    /// Of its encoded rows.
    pub digest: u64,
    /// Fingerprint of the schema that they were encoded by.
    pub schema: String,
    /// Where it is of persons: by which column, and how many rows of one count at most.
    pub persons: Option<PersonsBy>,
}

/// What makes rows a person's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PersonsBy {
    pub column: String,
    pub max_rows: u32,
}

impl PersonsBy {
    pub(super) fn of(schema: &Schema) -> Option<Self> {
        let unit = schema.unit.as_ref()?;
        Some(PersonsBy { column: unit.column.clone(), max_rows: unit.max_rows() })
    }
}

/// What a part is of, in words.
fn words(persons: Option<&PersonsBy>) -> String {
    match persons {
        None => "rows alone".into(),
        Some(PersonsBy { column, max_rows }) => format!("persons by {column:?} with at most {max_rows} rows"),
    }
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
    cluster: Arc<dyn Cluster>,
    shape: Shape,
    one: i16,
    recoding: Vec<Recoding>,
    run: u64,
    /// Questions asked so far.
    asked: AtomicU64,
    /// The parts as they were when the run began.
    parts: BTreeMap<u32, Part>,
    /// Where the parts are of persons.
    persons: Option<PersonsBy>,
    /// Which rows or persons these are, where they are not all of the parts.
    portion: Option<Own>,
}

impl RemoteRows {
    /// Asks who is there; all parts must be encoded by this schema. The report adds up those of the parts, and is for the
    /// custodian alone; its lines are counted through the parts in the order of their numbers.
    ///
    /// # Errors
    /// When a part does not answer, two have the same number, one was encoded by another schema, or two may have rows of one person.
    pub fn new(cluster: Box<dyn Cluster>, schema: &Schema) -> Fallible<(Self, LoadReport)> {
        let (shape, fingerprint) = (shape_of(schema), schema.fingerprint());
        let mut rows = RemoteRows {
            cluster: cluster.into(),
            shape,
            one: FULL_SCALE,
            recoding: Vec::new(),
            run: some_run(),
            asked: AtomicU64::new(0),
            parts: BTreeMap::new(),
            persons: PersonsBy::of(schema),
            portion: None,
        };
        let (mut reports, mut places) = (BTreeMap::new(), BTreeMap::new());
        for Answer { part, sums, report, places: own, .. } in rows.ask(Asked::Presence)? {
            if part.persons != rows.persons {
                let (is, wanted) = (words(part.persons.as_ref()), words(rows.persons.as_ref()));
                return Err(Error::refused(
                    format!("part {} is of {is}, and the run is about {wanted}", part.number),
                    "encode all parts by the schema of the run",
                ));
            }
            if part.schema != fingerprint {
                return Err(Error::refused(
                    format!("part {} was encoded by another schema", part.number),
                    "encode all parts by the schema of the run: equal columns may have other bounds",
                ));
            }
            if !sums.is_empty() {
                return Err(wrong_length());
            }
            for place in own {
                if let Some(other) = places.insert(place, part.number).filter(|&other| other != part.number) {
                    return Err(Error::refused(
                        format!("parts {other} and {} may both have rows of one person", part.number),
                        "divide the rows by their places, so that each place is in one part",
                    ));
                }
            }
            reports.insert(part.number, report.unwrap_or_default());
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
        if rows.parts.values().try_fold(0u64, |sum, part| sum.checked_add(part.rows)).is_none_or(|sum| sum >= MAX_ROWS)
        {
            return Err(Error::refused("there are 2^36 rows or more", "train on fewer"));
        }
        let mut report = LoadReport::default();
        reports.values().for_each(|part| report.merge(part));
        Ok((rows, report))
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(super) fn one(&self) -> i16 {
        self.one
    }

    /// The column that tells persons apart, where they are the unit.
    pub(super) fn column(&self) -> Option<&str> {
        self.persons.as_ref().map(|persons| persons.column.as_str())
    }

    /// Whether the parts are of persons.
    pub(super) fn of_persons(&self) -> bool {
        self.persons.is_some()
    }

    /// Number of rows, or of persons where they are the unit.
    pub(super) fn len(&self) -> u64 {
        self.portion.as_ref().map_or_else(|| self.parts.values().map(|part| part.rows).sum(), |own| own.len)
    }

    /// The rows, or persons, that are chosen, and the rest. Positions go through the parts in the order of their numbers. Coins are tossed
    /// wherever the rows are, and here only counted; of other choices each question from now on has a bit for each row.
    pub(super) fn divided(self, chosen: Choice) -> (Self, Self) {
        let all = self.len();
        let (of, held) = match chosen {
            Choice::Coins(coins) => {
                let firsts = self.parts.values().scan(0, |first, part| {
                    let own = *first;
                    *first += part.rows;
                    Some((part.number, own))
                });
                let held = coins.within(0..all).count() as u64;
                (Divided::Coins(coins, firsts.collect()), held)
            }
            Choice::Positions(positions) => {
                let (mut left, mut first) = (positions.iter().map(|&at| at as u64).peekable(), 0);
                let mut bits = BTreeMap::new();
                for part in self.parts.values() {
                    let mut own = vec![0u8; part.rows.div_ceil(8) as usize];
                    while let Some(at) = left.next_if(|&at| at < first + part.rows).map(|at| at - first) {
                        own[(at / 8) as usize] |= 1 << (at % 8);
                    }
                    first += part.rows;
                    bits.insert(part.number, own);
                }
                (Divided::Bits(bits), positions.len() as u64)
            }
        };
        let of = Arc::new(of);
        let portion = |held_out: bool, len: u64| RemoteRows {
            cluster: Arc::clone(&self.cluster),
            shape: self.shape.clone(),
            one: self.one,
            recoding: self.recoding.clone(),
            // Numbers of questions begin again.
            run: some_run(),
            asked: AtomicU64::new(0),
            parts: self.parts.clone(),
            persons: self.persons.clone(),
            portion: Some(Own { held_out, of: Arc::clone(&of), len }),
        };
        (portion(true, held), portion(false, all - held))
    }

    /// What tells all parts from others.
    pub(super) fn digest(&self) -> String {
        self.parts.values().map(|part| format!("{} {} {:016x};", part.number, part.rows, part.digest)).collect()
    }

    /// These rows, re-encoded wherever they are.
    pub(super) fn recoded(mut self, map: &Recoding) -> Self {
        match map {
            Recoding::Standardized(map) => self.one = map.encoded_one(),
            Recoding::Binned(bins) => self.shape = bins.shape(),
            Recoding::Waves(waves) | Recoding::Straight(waves) => (self.shape, self.one) = (waves.shape(), Waves::ONE),
        }
        self.recoding.push(map.clone());
        self
    }

    pub(super) fn sum(&self, pass: &Pass) -> Fallible<Vec<i128>> {
        let length = match self.persons {
            None => pass.over(&self.no_rows()).len(),
            Some(_) => pass.over_persons(&self.nobody())?.len(),
        };
        self.total(Asked::Sum(Cow::Borrowed(pass)), length)
    }

    /// The sum over persons, in the coordinates of the clip's map.
    pub(super) fn clipped_person_sum(&self, clip: &Clip, gradient: &FeatureGradient) -> Fallible<Vec<i128>> {
        let nobody = self.nobody();
        let length = gradient.over_persons(&nobody, &clip.of_persons(&nobody)).len();
        self.total(Asked::ClippedSum(Cow::Borrowed(clip), Cow::Borrowed(gradient)), length)
    }

    pub(super) fn clipped_sum(&self, clip: &Clip, gradient: &FeatureGradient) -> Fallible<Vec<i64>> {
        let none = self.no_rows();
        let length = gradient.over(&none, &clip.of(&none)).len();
        let total = self.total(Asked::ClippedSum(Cow::Borrowed(clip), Cow::Borrowed(gradient)), length)?;
        total.into_iter().map(|sum| i64::try_from(sum).map_err(|_| out_of_range())).collect()
    }

    /// No rows of this shape, whose sums are as long as those of any.
    fn no_rows(&self) -> Rows {
        RowsBuilder::new(self.shape.clone()).build()
    }

    /// Nobody, whose sums are as long as those of any persons.
    fn nobody(&self) -> Persons {
        Persons::gather(self.no_rows(), &[], 1)
    }

    /// The answers to a question; those to any other are refused.
    fn ask(&self, asked: Asked<'_>) -> Fallible<Vec<Answer>> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let recoding = Cow::Borrowed(self.recoding.as_slice());
        let portion =
            self.portion.as_ref().map(|own| Portion { held_out: own.held_out, of: Cow::Borrowed(own.of.as_ref()) });
        let question = encode(&Question { version: VERSION.into(), run: self.run, number, recoding, portion, asked })?;
        let mark = Mark::of(number, &question);
        let answers = self.cluster.ask(&question)?;
        let mine = |bytes: &Vec<u8>| match decode::<Answer>(bytes)? {
            answer if answer.to == mark => Ok(answer),
            answer => Err(Error::refused(
                format!("part {} answered another question than was asked", answer.part.number),
                "bring the answers to this question, of this run, and none that was brought before",
            )),
        };
        answers.iter().map(mine).collect()
    }

    /// The sum of the answers, each part once.
    fn total(&self, asked: Asked<'_>, length: usize) -> Fallible<Vec<i128>> {
        let mut missing = self.parts.clone();
        let mut total = vec![0i128; length];
        for Answer { part, sums, .. } in self.ask(asked)? {
            match missing.remove(&part.number) {
                Some(known) if known == part => (),
                Some(_) => {
                    return Err(Error::refused(
                        format!("part {} does not hold the rows any more that it held at first", part.number),
                        "train on data that give the same rows in the same order each time they are read: write them out first",
                    ));
                }
                None if self.parts.contains_key(&part.number) => {
                    return Err(Error::refused(format!("part {} answered twice", part.number), "add up nothing twice"));
                }
                None => {
                    return Err(Error::refused(
                        format!("part {} answered, and was not there at first", part.number),
                        "train on the parts that the run began with",
                    ));
                }
            }
            if sums.len() != length {
                return Err(wrong_length());
            }
            for (total, more) in total.iter_mut().zip(sums) {
                *total = total.checked_add(more).ok_or_else(out_of_range)?;
            }
        }
        match missing.keys().next() {
            Some(number) => Err(Error::refused(format!("part {number} did not answer"), "run the job again")),
            None => Ok(total),
        }
    }
}

/// A number that no other run has; it is public and means nothing.
fn some_run() -> u64 {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let parts = [since.as_nanos() as u64, u64::from(std::process::id()), RUNS.fetch_add(1, Ordering::Relaxed)];
    xxh3_64(&parts.map(u64::to_le_bytes).concat())
}

fn wrong_length() -> Error {
    Error::numerical("sum of parts", "parts answered with vectors of a wrong length")
}

fn out_of_range() -> Error {
    Error::numerical("sum of parts", "is beyond what rows can add up to")
}
