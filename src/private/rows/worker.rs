//! What a worker does: hold encoded rows, and answer questions with sums over them.

use serde::{Deserialize, Serialize};

use super::pass::{Clip, FeatureGradient, Pass};
use super::remote::{Answer, Asked, HeldOut, Mark, Part, PersonsBy, Portion, Question, encode};
use crate::data::{Protect, Schema};
use crate::error::{Error, Fallible};
use crate::kernel::{Caps, PersonClips, Persons, Rows};
use crate::preprocess::{
    EncodedRows, EncodedTable, LoadReport, Recoding, SegmentReader, SegmentWriter, Waves, shape_of,
};

/// With waves a row is many times as long, so of a part as many rows have them at a time as take so many bytes.
const BLOCK_BYTES: usize = 8 << 20;

/// What error messages call the encoded rows of a part.
const NAME: &str = "part of the rows";

/// What a part carries besides its rows.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    number: u32,
    schema: String,
    /// What was counted of the rows.
    report: LoadReport,
    /// Where the part is of persons: by what, and the places of their identifiers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persons: Option<(PersonsBy, Vec<u16>)>,
}

/// What a worker holds, with the clips that it decided last.
enum Held {
    Rows(Rows, Option<(Clip, Caps)>),
    /// Rows with waves, which are made block by block for each question; the clips are those of the blocks.
    Waved(Rows, Waves, Option<(Clip, Vec<Caps>)>),
    Persons(Persons, Option<(Clip, PersonClips)>),
}

impl Held {
    /// These rows or persons in another encoding; clips are to be decided anew.
    fn recoded(self, map: &Recoding) -> Self {
        match (self, map) {
            (Held::Rows(rows, _), Recoding::Waves(waves)) => Held::Waved(rows, waves.clone(), None),
            (Held::Rows(rows, _), Recoding::Straight(waves)) => Held::Waved(rows, waves.clone().straight(), None),
            (Held::Rows(rows, _), map) => Held::Rows(map.recode(rows), None),
            (Held::Waved(rows, waves, _), map) => Held::Rows(map.recode(waves.recode(&rows)), None),
            (Held::Persons(persons, _), map) => Held::Persons(persons.recoded(|rows| map.recode(rows)), None),
        }
    }

    /// Those of these rows or persons that are held out, or all others; clips are to be decided anew.
    fn portion(self, (which, held_out): &(HeldOut, bool)) -> Self {
        let of = |all: usize| which.positions(*held_out, all);
        match self {
            Held::Rows(rows, _) => Held::Rows(rows.subset(&of(rows.len())), None),
            Held::Waved(rows, waves, _) => Held::Waved(rows.subset(&of(rows.len())), waves, None),
            Held::Persons(persons, _) => Held::Persons(persons.subset(&of(persons.len())), None),
        }
    }

    fn sum(&self, pass: &Pass) -> Fallible<Vec<i128>> {
        match self {
            Held::Rows(rows, _) => Ok(pass.over(rows)),
            Held::Waved(rows, waves, _) => over_blocks(rows, waves, |block| pass.over(block)),
            Held::Persons(persons, _) => pass.over_persons(persons),
        }
    }

    fn clipped_sum(&mut self, clip: Clip, gradient: &FeatureGradient) -> Fallible<Vec<i128>> {
        Ok(match self {
            Held::Rows(rows, kept) => {
                let known = kept.take().filter(|(known, _)| *known == clip);
                let caps = known.map_or_else(|| clip.of(rows), |(_, caps)| caps);
                let sums = gradient.over(rows, &caps);
                *kept = Some((clip, caps));
                sums.into_iter().map(i128::from).collect()
            }
            Held::Waved(rows, waves, kept) => {
                let known = kept.take().filter(|(known, _)| *known == clip).map(|(_, caps)| caps);
                let (mut caps, mut block) = (known.unwrap_or_default(), 0);
                let sums = over_blocks(rows, waves, |rows| {
                    let sums = match caps.get(block) {
                        Some(caps) => gradient.over(rows, caps),
                        None => {
                            let own = clip.of(rows);
                            let sums = gradient.over(rows, &own);
                            caps.push(own);
                            sums
                        }
                    };
                    block += 1;
                    sums.into_iter().map(i128::from).collect()
                })?;
                *kept = Some((clip, caps));
                sums
            }
            Held::Persons(persons, kept) => {
                let known = kept.take().filter(|(known, _)| *known == clip);
                let clips = known.map_or_else(|| clip.of_persons(persons), |(_, clips)| clips);
                let sums = gradient.over_persons(persons, &clips);
                *kept = Some((clip, clips));
                sums
            }
        })
    }
}

/// Adds up the vectors that `partial` makes of blocks of rows with waves.
fn over_blocks(rows: &Rows, waves: &Waves, mut partial: impl FnMut(&Rows) -> Vec<i128>) -> Fallible<Vec<i128>> {
    let mut sum: Option<Vec<i128>> = None;
    waves.each_block(rows, BLOCK_BYTES, |block| {
        let more = partial(block);
        match &mut sum {
            None => sum = Some(more),
            Some(sum) => sum.iter_mut().zip(more).for_each(|(total, entry)| *total += entry),
        }
        Ok(())
    })?;
    Ok(sum.unwrap_or_default())
}

/// One part of the rows, with what was made of it for the last question.
///
/// # Privacy
/// Nothing here is a release: rows and answers belong to the custodian, and stay on machines and wires of theirs. A
/// worker never sees noise, keys of noise or the ledger; the key by which rows are held out opens nothing else.
pub struct Worker {
    part: Part,
    /// What was counted of the rows when they were encoded.
    report: LoadReport,
    /// The places of the identifiers, where the part is of persons.
    places: Vec<u16>,
    held: Held,
    /// How the rows were re-encoded since they were read.
    recoding: Vec<Recoding>,
    /// Which of the rows are held, where that is not all: those held out, or all others.
    portion: Option<(HeldOut, bool)>,
}

impl Worker {
    /// Rows that were encoded by a schema as bytes, to be kept and sent until [`Worker::new`] takes them in, with what was
    /// counted of them; parts are numbered as the caller likes, each with another number.
    ///
    /// # Errors
    /// When they have other columns than the schema, it has a unit or protects labels alone, or they cannot be written.
    pub fn pack(rows: &Rows, report: &LoadReport, schema: &Schema, number: u32) -> Fallible<Vec<u8>> {
        if schema.protect == Protect::Label {
            let problem = "protects labels alone, and rows do not say whether a label decided that they are none";
            return Err(Error::parameter(
                "schema",
                problem,
                "pack what an encoder made by this schema, by pack_encoded",
            ));
        }
        Worker::pack_rows(rows, report, schema, number)
    }

    /// Rows that an encoder made by the schema, without identifiers.
    fn pack_rows(rows: &Rows, report: &LoadReport, schema: &Schema, number: u32) -> Fallible<Vec<u8>> {
        check_columns(rows, schema)?;
        if schema.unit.is_some() {
            let problem = "has a unit, and rows alone do not say whose they are";
            return Err(Error::parameter(
                "schema",
                problem,
                "pack what an encoder made with the persons, by pack_encoded",
            ));
        }
        let mut writer = SegmentWriter::new(Vec::new(), NAME.as_ref(), rows.shape())?;
        writer.append(rows)?;
        writer.finish(&Note { number, schema: schema.fingerprint(), report: report.to_owned(), persons: None })
    }

    /// Rows that were encoded by a schema as bytes, by person where it has a unit: all rows of each are in this part, see
    /// [`super::Cluster`].
    ///
    /// Persons and their rows are put in an order that follows from what the rows are, for a part that is read again may get its rows in
    /// another order. Identifiers are not in it.
    ///
    /// # Errors
    /// When the rows were not encoded by the schema, or cannot be written.
    pub fn pack_encoded(encoded: EncodedRows, report: &LoadReport, schema: &Schema, number: u32) -> Fallible<Vec<u8>> {
        if schema.protect == Protect::Label && !encoded.keeps_unlabelled {
            let problem =
                "protects labels alone, and the rows were encoded by one that does not: labels decided which are none";
            return Err(Error::parameter("schema", problem, "give the one that encoded them"));
        }
        let EncodedRows { rows, persons, places, .. } = encoded;
        check_columns(&rows, schema)?;
        let (by, persons) = match (PersonsBy::of(schema), persons) {
            (None, None) => return Worker::pack_rows(&rows, report, schema, number),
            (Some(by), Some(persons)) => (by, persons),
            (Some(_), None) | (None, Some(_)) => {
                let problem = "has another unit than the rows";
                return Err(Error::parameter("schema", problem, "give the one that encoded them"));
            }
        };
        let persons = Persons::gather_sorted(rows, &persons, by.max_rows);
        let mut writer = SegmentWriter::packing_persons(NAME.as_ref(), persons.shape())?;
        let firsts: Vec<u64> = (0..persons.len() as u64).collect();
        writer.append_persons(&persons, &firsts)?;
        let persons = Some((by, places));
        writer.finish(&Note { number, schema: schema.fingerprint(), report: report.to_owned(), persons })
    }

    /// The rows of a table that came in pieces as bytes, by person where the schema has a unit; see [`Worker::pack_encoded`].
    ///
    /// # Errors
    /// When the rows were not encoded by the schema, or cannot be written.
    pub fn pack_table(table: EncodedTable, schema: &Schema, number: u32) -> Fallible<Vec<u8>> {
        if table.fingerprint != schema.fingerprint() {
            return Err(Error::parameter("schema", "is not that of the rows", "give the one that encoded them"));
        }
        Worker::pack_encoded(table.rows, &table.report, schema, number)
    }

    /// Takes in what [`Worker::pack`] made.
    ///
    /// # Errors
    /// When it is damaged or something else.
    pub fn new(packed: &[u8]) -> Fallible<Self> {
        let reader = SegmentReader::of_bytes(packed, NAME)?;
        let Note { number, schema, report, persons } = reader.note()?;
        let (held, by, places) = match persons {
            None => (Held::Rows(reader.read_all()?, None), None, Vec::new()),
            Some((by, places)) => (Held::Persons(reader.read_persons()?, None), Some(by), places),
        };
        let part = Part { number, rows: reader.rows(), digest: reader.digest(), schema, persons: by };
        Ok(Worker { part, report, places, held, recoding: Vec::new(), portion: None })
    }

    /// The answer to a question of [`super::RemoteRows`]; `packed` is read again where the rows are needed as they were.
    ///
    /// # Errors
    /// When the question cannot be read or comes from another version, or `packed` has to be read and cannot be. The worker
    /// is gone then; a new one begins from `packed`.
    pub fn answer(mut self, packed: &[u8], question: &[u8]) -> Fallible<(Self, Vec<u8>)> {
        let asked = Question::read(question)?;
        let portion = self.portion_in(&asked)?;
        if !self.goes_on(&asked, &portion) {
            self = Worker::new(packed)?;
        }
        self.reply(asked, portion, question)
    }

    /// The answer to a question from the rows as they are held; `None` where they are needed as they were, and [`Worker::answer`]
    /// takes the bytes that they came from.
    ///
    /// # Errors
    /// When the question cannot be read or comes from another version. The worker is gone then.
    pub fn answer_as_held(self, question: &[u8]) -> Fallible<(Self, Option<Vec<u8>>)> {
        let asked = Question::read(question)?;
        let portion = self.portion_in(&asked)?;
        if !self.goes_on(&asked, &portion) {
            return Ok((self, None));
        }
        let (worker, answer) = self.reply(asked, portion, question)?;
        Ok((worker, Some(answer)))
    }

    /// Which of the rows of this part are asked, where that is not all.
    fn portion_in(&self, question: &Question<'_>) -> Fallible<Option<(HeldOut, bool)>> {
        let own = |portion: &Portion<'_>| match portion.of.of_part(self.part.number) {
            Some(which) => Ok((which, portion.held_out)),
            None => Err(Error::refused(
                format!("part {} was not there when rows were held out", self.part.number),
                "train on the parts that the run began with",
            )),
        };
        question.portion.as_ref().map(own).transpose()
    }

    /// Whether what is held, re-encoded further at most, is what is asked: all rows as they came may still become a portion.
    fn goes_on(&self, question: &Question<'_>, portion: &Option<(HeldOut, bool)>) -> bool {
        let untouched = self.recoding.is_empty() && self.portion.is_none();
        untouched || *portion == self.portion && question.recoding.starts_with(&self.recoding)
    }

    /// The answer, after what is held became what is asked.
    fn reply(
        mut self,
        question: Question<'_>,
        portion: Option<(HeldOut, bool)>,
        bytes: &[u8],
    ) -> Fallible<(Self, Vec<u8>)> {
        let Question { number, recoding, asked, .. } = question;
        if let Some(wanted) = portion.filter(|wanted| self.portion.as_ref() != Some(wanted)) {
            self.held = self.held.portion(&wanted);
            self.portion = Some(wanted);
        }
        for map in &recoding[self.recoding.len()..] {
            self.held = self.held.recoded(map);
            self.recoding.push(map.clone());
        }
        let first = matches!(asked, Asked::Presence);
        let report = first.then(|| self.report.to_owned());
        let places = if first { self.places.clone() } else { Vec::new() };
        let sums = match asked {
            Asked::Presence => Vec::new(),
            Asked::Sum(pass) => self.held.sum(&pass)?,
            Asked::ClippedSum(clip, gradient) => self.held.clipped_sum(clip.into_owned(), &gradient)?,
        };
        let answer = encode(&Answer { to: Mark::of(number, bytes), part: self.part.clone(), sums, report, places })?;
        Ok((self, answer))
    }
}

fn check_columns(rows: &Rows, schema: &Schema) -> Fallible<()> {
    if *rows.shape() == shape_of(schema) {
        return Ok(());
    }
    Err(Error::parameter("schema", "has other columns than the rows", "give the one that encoded them"))
}
