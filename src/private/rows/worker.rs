//! What a worker does: hold encoded rows, and answer questions with sums over them.

use serde::{Deserialize, Serialize};

use super::pass::Clip;
use super::remote::{Answer, Asked, Mark, Part, Question, encode};
use crate::data::Schema;
use crate::error::{Error, Fallible};
use crate::kernel::{Caps, Rows};
use crate::preprocess::{LoadReport, SegmentReader, SegmentWriter, Standardiser, shape_of};

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
}

/// One part of the rows, with what was made of it for the last question.
///
/// # Privacy
/// Nothing here is a release: rows and answers belong to the custodian, and stay on machines and wires of theirs. A
/// worker never sees noise, keys or the ledger.
pub struct Worker {
    part: Part,
    /// What was counted of the rows when they were encoded.
    report: LoadReport,
    rows: Rows,
    /// How the rows were re-encoded since they were read.
    recoding: Vec<Standardiser>,
    clips: Option<(Clip, Caps)>,
}

impl Worker {
    /// Rows that were encoded by a schema as bytes, to be kept and sent until [`Worker::new`] takes them in, with what was
    /// counted of them; parts are numbered as the caller likes, each with another number.
    ///
    /// # Errors
    /// When they have other columns than the schema, or cannot be written.
    pub fn pack(rows: &Rows, report: &LoadReport, schema: &Schema, number: u32) -> Fallible<Vec<u8>> {
        if *rows.shape() != shape_of(schema) {
            return Err(Error::parameter(
                "schema",
                "has other columns than the rows",
                "give the one that encoded them",
            ));
        }
        let mut writer = SegmentWriter::new(Vec::new(), NAME.as_ref(), rows.shape())?;
        writer.append(rows)?;
        writer.finish(&Note { number, schema: schema.fingerprint(), report: report.to_owned() })
    }

    /// Takes in what [`Worker::pack`] made.
    ///
    /// # Errors
    /// When it is damaged or something else.
    pub fn new(packed: &[u8]) -> Fallible<Self> {
        let reader = SegmentReader::of_bytes(packed, NAME)?;
        let Note { number, schema, report } = reader.note()?;
        let part = Part { number, rows: reader.rows(), digest: reader.digest(), schema };
        Ok(Worker { part, report, rows: reader.read_all()?, recoding: Vec::new(), clips: None })
    }

    /// The answer to a question of [`super::RemoteRows`]; `packed` is read again where the rows are needed as they were.
    ///
    /// # Errors
    /// When the question cannot be read or comes from another version, or `packed` has to be read and cannot be. The worker
    /// is gone then; a new one begins from `packed`.
    pub fn answer(mut self, packed: &[u8], question: &[u8]) -> Fallible<(Self, Vec<u8>)> {
        let Question { number, recoding, asked, .. } = Question::read(question)?;
        if !recoding.starts_with(&self.recoding) {
            self = Worker::new(packed)?;
        }
        for map in &recoding[self.recoding.len()..] {
            self.rows = map.recode(self.rows);
            self.recoding.push(map.clone());
            self.clips = None;
        }
        let report = matches!(asked, Asked::Presence).then(|| self.report.to_owned());
        let sums = match asked {
            Asked::Presence => Vec::new(),
            Asked::Sum(pass) => pass.over(&self.rows),
            Asked::ClippedSum(clip, gradient) => {
                let known = self.clips.take().filter(|(known, _)| known == &*clip);
                let caps = known.map_or_else(|| clip.of(&self.rows), |(_, caps)| caps);
                let sums = gradient.over(&self.rows, &caps);
                self.clips = Some((clip.into_owned(), caps));
                sums.into_iter().map(i128::from).collect()
            }
        };
        let to = Mark::of(number, question);
        let answer = encode(&Answer { to, part: self.part.clone(), sums, report })?;
        Ok((self, answer))
    }
}
