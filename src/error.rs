//! The one error type of the crate: what went wrong, where, and the cure.

use std::path::{Path, PathBuf};

use crate::text::visible;

/// Result of everything in this crate that can be refused.
pub type Fallible<T> = Result<T, Error>;

/// A refusal: boxed so that results stay one pointer wide.
///
/// Messages carry public parameters and positions in files only. They never carry the content of a
/// cell, a count of rows, or anything else computed from rows.
///
/// Names in them come from files, so whatever a terminal would obey is written out; see [`visible`].
#[derive(Debug)]
pub struct Error(Box<ErrorKind>);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&visible(&self.0.to_string()))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// What kind of refusal it is; decides the exit code of the command line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A parameter outside its legal range.
    #[error("{name}: {problem}; {cure}")]
    Parameter {
        /// Name of the parameter as the user typed it.
        name: String,
        /// What is wrong with the value.
        problem: String,
        /// What to do about it.
        cure: String,
    },
    /// An input file that cannot be used.
    #[error("{}: {problem}; {cure}", Place(file, *line, column.as_deref()))]
    Input {
        /// The file.
        file: PathBuf,
        /// Line, counted from 1.
        line: Option<u64>,
        /// Column name or key.
        column: Option<String>,
        /// What is wrong.
        problem: String,
        /// What to do about it.
        cure: String,
    },
    /// The operating system refused to read or write.
    #[error("{}: cannot {action}: {}; {}", .path.display(), said(source), cure(path, source))]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A budget, cap or permit does not allow what was asked.
    #[error("refused: {problem}; {cure}")]
    Refused {
        /// What was not allowed.
        problem: String,
        /// What to do about it.
        cure: String,
    },
    /// The ledger cannot be read or written, so nothing may be released.
    #[error("ledger {}: {problem}", .path.display())]
    Ledger {
        /// The ledger file.
        path: PathBuf,
        /// What went wrong.
        problem: String,
        /// What kind of fault it is.
        fault: LedgerFault,
    },
    /// A run was charged, and its result could not be noted or published; what was made is kept where that was asked for.
    #[error("{charged}, and its result is not published: {problem}; {cure}")]
    Unpublished {
        /// What was charged, and where.
        charged: String,
        /// What went wrong.
        problem: String,
        /// How the result can be had.
        cure: String,
    },
    /// A computation did not reach a trustworthy answer.
    #[error("{what}: no trustworthy answer ({problem})")]
    Numerical {
        /// The quantity.
        what: &'static str,
        /// Why there is none.
        problem: String,
    },
}

/// What is wrong with a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerFault {
    /// What was named is no ledger at all: nothing is wrong but the name.
    Absent,
    /// The system could not read or write it: no space, no permission, a disk that fails, another program that holds it.
    System,
    /// It holds something else than what was written, or what this version cannot go by.
    Content,
}

/// The system's generator failed; there is no second choice.
pub(crate) fn no_randomness(why: &dyn std::fmt::Display) -> Error {
    Error::input(
        Path::new("the system's random generator"),
        format!("gave no randomness ({why})"),
        "run where it works; there is no fallback",
    )
}

/// What the operating system said, in its words where it has any.
fn said(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or folder".into(),
        _ => error.to_string(),
    }
}

/// What to do about a refusal of the operating system.
fn cure(path: &Path, error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::{FileTooLarge, NotFound, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match error.kind() {
        NotFound if path == Path::new("-") => "- does not stand for standard input here: name a file, or /dev/stdin",
        StorageFull | QuotaExceeded | FileTooLarge => "make room or name a place that has some",
        ReadOnlyFilesystem => "name a place that can be written to",
        _ => "check the path and its permissions",
    }
}

/// Prints `file`, `file:line` or `file:line, column "name"`.
struct Place<'a>(&'a Path, Option<u64>, Option<&'a str>);

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.display())?;
        if let Some(line) = self.1 {
            write!(f, ":{line}")?;
        }
        match self.2 {
            Some(column) => write!(f, ", \"{column}\""),
            None => Ok(()),
        }
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error(Box::new(kind))
    }
}

impl Error {
    /// The kind, for callers that act on it.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// A parameter outside its legal range.
    pub fn parameter(name: impl Into<String>, problem: impl Into<String>, cure: impl Into<String>) -> Self {
        ErrorKind::Parameter { name: name.into(), problem: problem.into(), cure: cure.into() }.into()
    }

    /// A file that cannot be used as it is.
    pub fn input(file: &Path, problem: impl Into<String>, cure: impl Into<String>) -> Self {
        ErrorKind::Input { file: file.to_owned(), line: None, column: None, problem: problem.into(), cure: cure.into() }
            .into()
    }

    /// Adds the line (counted from 1) to an input error; other kinds stay as they are.
    pub fn at_line(mut self, at: u64) -> Self {
        if let ErrorKind::Input { line, .. } = &mut *self.0 {
            *line = Some(at);
        }
        self
    }

    /// Adds the column or key name to an input error; other kinds stay as they are.
    pub fn in_column(mut self, name: impl Into<String>) -> Self {
        if let ErrorKind::Input { column, .. } = &mut *self.0 {
            *column = Some(name.into());
        }
        self
    }

    /// A failed read or write.
    pub fn io(path: &Path, action: &'static str, source: std::io::Error) -> Self {
        ErrorKind::Io { path: path.to_owned(), action, source }.into()
    }

    /// A refusal by budget or permit.
    pub fn refused(problem: impl Into<String>, cure: impl Into<String>) -> Self {
        ErrorKind::Refused { problem: problem.into(), cure: cure.into() }.into()
    }

    /// A ledger whose content cannot be trusted or used.
    pub fn ledger(path: &Path, problem: impl Into<String>) -> Self {
        ErrorKind::Ledger { path: path.to_owned(), problem: problem.into(), fault: LedgerFault::Content }.into()
    }

    /// A ledger that the system could not read or write; what it holds may be as good as ever.
    pub fn ledger_out_of_reach(path: &Path, problem: impl Into<String>) -> Self {
        ErrorKind::Ledger { path: path.to_owned(), problem: problem.into(), fault: LedgerFault::System }.into()
    }

    /// A path under which there is no ledger: bad input, not a ledger gone bad.
    pub fn no_ledger(path: &Path, problem: impl Into<String>) -> Self {
        ErrorKind::Ledger { path: path.to_owned(), problem: problem.into(), fault: LedgerFault::Absent }.into()
    }

    /// This refusal of a parameter under the name that the user typed; other kinds stay as they are.
    pub fn named(mut self, typed: impl FnOnce(&str) -> Option<String>) -> Self {
        if let ErrorKind::Parameter { name, .. } = &mut *self.0
            && let Some(typed) = typed(name)
        {
            *name = typed;
        }
        self
    }

    /// A computation without a trustworthy answer.
    pub fn numerical(what: &'static str, problem: impl Into<String>) -> Self {
        ErrorKind::Numerical { what, problem: problem.into() }.into()
    }

    /// A paid result that could not be noted or published.
    pub fn unpublished(charged: impl Into<String>, problem: impl Into<String>, cure: impl Into<String>) -> Self {
        ErrorKind::Unpublished { charged: charged.into(), problem: problem.into(), cure: cure.into() }.into()
    }

    /// Exit code of the command line: 1 refused, or a check failed; 2 bad usage or input, or the system failed.
    pub fn exit_code(&self) -> u8 {
        match self.kind() {
            ErrorKind::Refused { .. }
            | ErrorKind::Ledger { fault: LedgerFault::Content, .. }
            | ErrorKind::Numerical { .. } => 1,
            ErrorKind::Ledger { fault: LedgerFault::Absent | LedgerFault::System, .. }
            | ErrorKind::Parameter { .. }
            | ErrorKind::Input { .. }
            | ErrorKind::Io { .. }
            | ErrorKind::Unpublished { .. } => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_errors_name_file_line_and_column() {
        let error = Error::input(Path::new("a.csv"), "no such label", "declare it").at_line(7).in_column("y");
        assert_eq!(error.to_string(), "a.csv:7, \"y\": no such label; declare it");
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn a_message_is_one_line_that_no_terminal_obeys() {
        let error = Error::input(Path::new("a\u{1b}[2J.csv"), "no\nlabel", "x").in_column("y\u{202e}");
        assert_eq!(error.to_string(), "a\\u{1b}[2J.csv, \"y\\u{202e}\": no\\nlabel; x");
    }

    #[test]
    fn refusals_exit_with_one() {
        assert_eq!(Error::refused("over", "wait").exit_code(), 1);
        assert_eq!(Error::ledger(Path::new("l"), "is damaged").exit_code(), 1);
        assert_eq!(Error::no_ledger(Path::new("l"), "does not exist").exit_code(), 2);
        assert_eq!(Error::ledger_out_of_reach(Path::new("l"), "the disk is full").exit_code(), 2);
    }

    #[test]
    fn a_missing_file_is_said_in_one_way() {
        let missing = |path: &str, source| Error::io(Path::new(path), "read the data", source).to_string();
        // One from the system, one that a library made of its kind alone.
        for source in [std::io::Error::from_raw_os_error(2), std::io::ErrorKind::NotFound.into()] {
            let text = missing("a.csv", source);
            assert_eq!(text, "a.csv: cannot read the data: no such file or folder; check the path and its permissions");
        }
        assert!(missing("-", std::io::ErrorKind::NotFound.into()).contains("standard input"));
    }

    #[test]
    fn a_parameter_is_named_as_it_was_typed() {
        let refused = || Error::parameter("epsilon", "is -1", "use 1");
        assert_eq!(refused().named(|name| Some(format!("--{name}"))).to_string(), "--epsilon: is -1; use 1");
        assert_eq!(refused().named(|_| None).to_string(), refused().to_string());
    }
}
