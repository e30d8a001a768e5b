//! The lines of a checkpoint: what they say, and how far a file can be believed.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Fallible};
use crate::ledger::Position;
use crate::train::files::sha256_hex;

/// Format of new files.
pub(super) const FORMAT: &str = "rhograd-checkpoint-2";

/// Format of files without a result, in which the first line names the charge.
pub(super) const FORMAT_1: &str = "rhograd-checkpoint-1";

/// What every first line begins with.
const BEGINNING: &str = "{\"format\":\"rhograd-checkpoint-";

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub format: String,
    /// Name of the run, written down before it is charged.
    pub run: String,
    /// Where the charge stands; in files of the first format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// Digest of what was asked for; in files of the first format, of everything that must be the same when the run goes on.
    pub request_sha256: String,
    /// Digest of everything that must be the same when the run goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_sha256: Option<String>,
}

/// A line after the first; each ends with the digest of all before it and of what it says.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Line {
    Values(Values),
    Charged(Charged),
    Run(Run),
    Outcome(Outcome),
}

/// One released value: grid steps, separated by spaces, for they are too large for the numbers of JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Values {
    pub values: String,
    pub sha256: String,
}

/// The run is charged; `None` where no durable ledger holds it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Charged {
    pub charged: Option<Position>,
    pub sha256: String,
}

/// A further run of the same work, about to be charged.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    pub run: String,
    pub sha256: String,
}

/// The result; nothing is drawn any more.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Outcome {
    pub result: String,
    pub sha256: String,
}

impl Line {
    /// The digest that belongs to the line after one with the digest `last`.
    pub(super) fn digest(&self, last: &str) -> String {
        let said = match self {
            Line::Values(line) => line.values.clone(),
            Line::Charged(Charged { charged: None, .. }) => "charged".into(),
            Line::Charged(Charged { charged: Some(Position { sequence, hash }), .. }) => {
                format!("charged {sequence} {hash}")
            }
            Line::Run(line) => format!("run {}", line.run),
            Line::Outcome(line) => format!("result {}", sha256_hex(line.result.as_bytes())),
        };
        sha256_hex(format!("{last} {said}").as_bytes())
    }

    fn stated(&self) -> &str {
        match self {
            Line::Values(line) => &line.sha256,
            Line::Charged(line) => &line.sha256,
            Line::Run(line) => &line.sha256,
            Line::Outcome(line) => &line.sha256,
        }
    }

    /// The line with the digest that it has after `last`.
    pub(super) fn sealed(mut self, last: &str) -> Self {
        let digest = self.digest(last);
        match &mut self {
            Line::Values(line) => line.sha256 = digest,
            Line::Charged(line) => line.sha256 = digest,
            Line::Run(line) => line.sha256 = digest,
            Line::Outcome(line) => line.sha256 = digest,
        }
        self
    }
}

/// The line that says where a run is charged.
pub(super) fn charged(charged: Option<Position>) -> Line {
    Line::Charged(Charged { charged, sha256: String::new() })
}

/// What a run has left.
#[derive(Debug)]
pub(super) struct Found {
    pub header: Header,
    /// The runs of the work, in order; hardly ever more than one.
    pub parts: Vec<Part>,
    /// The result, once there is one.
    pub result: Option<String>,
    /// Digest of all lines.
    pub last: String,
    /// Length of the file.
    pub bytes: u64,
}

/// One run.
#[derive(Debug)]
pub(super) struct Part {
    pub run: String,
    /// Where it is charged; `None` where it may have been stopped before that.
    pub charged: Option<Option<Position>>,
    pub released: Vec<Vec<i128>>,
}

impl Found {
    pub(super) fn new(header: Header, text: &str) -> Self {
        // A run of the first format is charged before its first line is written.
        let charged = (header.format == FORMAT_1).then(|| header.position.clone());
        let first = Part { run: header.run.clone(), charged, released: Vec::new() };
        let last = sha256_hex(text.trim_end().as_bytes());
        Found { header, parts: vec![first], result: None, last, bytes: text.len() as u64 }
    }

    /// Takes in the next line; `false` if it does not belong there.
    fn admit(&mut self, line: Line) -> bool {
        let digest = line.digest(&self.last);
        if digest != line.stated() || self.result.is_some() {
            return false;
        }
        let Some(part) = self.parts.last_mut() else { return false };
        match line {
            Line::Values(line) => {
                let values: Result<Vec<i128>, _> = line.values.split_terminator(' ').map(str::parse).collect();
                let Ok(values) = values else { return false };
                part.released.push(values);
            }
            Line::Charged(line) => part.charged = Some(line.charged),
            Line::Run(line) => self.parts.push(Part { run: line.run, charged: None, released: Vec::new() }),
            Line::Outcome(line) => self.result = Some(line.result),
        }
        self.last = digest;
        true
    }
}

/// Reads as far as lines are whole, and cuts off the rest; `None` if not even the first is.
///
/// # Errors
/// When the file cannot be read or is something else.
pub(super) fn read(file: &mut File, path: &Path) -> Fallible<Option<Found>> {
    let failed = |e| Error::io(path, "read the checkpoint", e);
    let mut reader = BufReader::new(&*file);
    let mut text = String::new();
    reader.read_line(&mut text).map_err(failed)?;
    let header = match (text.strip_suffix('\n'), serde_json::from_str::<Header>(&text)) {
        (Some(_), Ok(header)) if header.format == FORMAT || header.format == FORMAT_1 => header,
        // A run that was stopped before its first line was whole; only this program starts a line so.
        _ if text.is_empty() || (!text.ends_with('\n') && BEGINNING.starts_with(first(&text))) => {
            drop(reader);
            file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
            return Ok(None);
        }
        _ => {
            return Err(Error::input(path, "is not a checkpoint of this format", "name another file, or delete it"));
        }
    };
    let mut found = Found::new(header, &text);
    loop {
        text.clear();
        let size = match reader.read_line(&mut text) {
            // What a crash left there is no text.
            Err(e) if e.kind() == ErrorKind::InvalidData => break,
            size => size.map_err(failed)?,
        };
        let line = text.strip_suffix('\n').and_then(|text| serde_json::from_str::<Line>(text).ok());
        if !line.is_some_and(|line| found.admit(line)) {
            break;
        }
        found.bytes += size as u64;
    }
    drop(reader);
    file.set_len(found.bytes).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed)?;
    Ok(Some(found))
}

/// As much of a text as the beginning of a checkpoint is long.
fn first(text: &str) -> &str {
    text.get(..text.len().min(BEGINNING.len())).unwrap_or(text)
}
