//! A folder of its own for each test, and the program run in it.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_rhograd");

/// Longer than any run here takes, shorter than anybody's patience.
const LIMIT: Duration = Duration::from_secs(300);

/// A temporary folder in memory where there is one: a thousand syncs on a disk take a while.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        let memory = Path::new("/dev/shm");
        Folder::of(if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() })
    }

    /// On a disk, where there is time between one sync and the next.
    pub fn on_disk() -> Self {
        Folder::of(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")))
    }

    fn of(folder: std::io::Result<TempDir>) -> Self {
        let folder = Folder(folder.unwrap());
        fs::create_dir(folder.path("tmp")).unwrap();
        folder
    }

    /// With a copy of a shipped data set and its schema.
    pub fn with(name: &str) -> Self {
        let folder = Folder::new();
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets");
        for file in [format!("{name}.csv"), format!("{name}.schema.json")] {
            fs::copy(shipped.join(&file), folder.path(&file)).unwrap();
        }
        folder
    }

    /// With a schema and its data.
    pub fn trial(schema: &str, data: impl AsRef<[u8]>) -> Self {
        let folder = Folder::new();
        folder.write("trial.schema.json", schema);
        folder.write("trial.csv", data);
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    /// Replaces text that must occur.
    pub fn edit(&self, name: &str, from: &str, to: &str) {
        let text = self.text(name);
        assert!(text.contains(from), "{name} lacks {from:?}");
        self.write(name, text.replace(from, to));
    }

    pub fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    /// Every file below the folder with its content, the folder for temporary files included.
    pub fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let mut contents = BTreeMap::new();
        let mut open = vec![self.0.path().to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let name = path.strip_prefix(self.0.path()).unwrap().to_string_lossy().into_owned();
                    contents.insert(name, fs::read(&path).unwrap());
                }
            }
        }
        contents
    }

    /// Names of all files.
    pub fn names(&self) -> Vec<String> {
        self.contents().into_keys().collect()
    }

    /// The program with arguments separated by blanks, in this folder.
    pub fn command(&self, arguments: &str) -> std::process::Command {
        let mut command = std::process::Command::new(PROGRAM);
        command.args(arguments.split_whitespace()).current_dir(self.0.path()).env("TMPDIR", self.path("tmp"));
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &str) -> Outcome {
        Outcome::of(self.command(arguments), arguments)
    }

    /// Runs the program, which must succeed.
    pub fn succeed(&self, arguments: &str) -> Outcome {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        outcome
    }

    /// Runs the program, which must end with this code and say all of these words on standard error.
    #[track_caller]
    pub fn refuse(&self, arguments: &str, code: i32, words: &[&str]) -> Outcome {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, Some(code), "{outcome:?}");
        assert!(words.iter().all(|word| outcome.stderr.contains(word)), "{words:?} {outcome:?}");
        outcome
    }

    /// What the ledger says about its only data set.
    pub fn spending(&self, ledger: &str) -> Value {
        self.succeed(&format!("ledger show {ledger} --json")).json()["datasets"][0].clone()
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    pub arguments: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    pub fn of(command: std::process::Command, arguments: &str) -> Self {
        let output = assert_cmd::Command::from_std(command).timeout(LIMIT).output().unwrap();
        Outcome {
            arguments: arguments.into(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("standard output is text"),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Standard output as one JSON value.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The number that `name` stands before on a line of standard output.
    pub fn number(&self, name: &str) -> f64 {
        let line = self.stdout.lines().find(|line| line.split_whitespace().next() == Some(name));
        let value = line.and_then(|line| line.split_whitespace().nth(1)).unwrap_or_else(|| panic!("{name}: {self:?}"));
        value.parse().unwrap()
    }
}

/// A number at a JSON pointer, also where it is written as text.
pub fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is missing"));
    found.as_f64().or_else(|| found.as_str()?.parse().ok()).unwrap_or_else(|| panic!("{pointer} is {found}"))
}

/// Schema of [`rows`]: `note` is a column of the file that it does not declare.
pub const SCHEMA: &str = r#"{"name":"trial","task":"classification","target":"y","positive":"yes","negative":"no",
    "rows":1000,"columns":{"x":{"type":"numeric","lower":0,"upper":10},"z":{"type":"numeric","lower":-1,"upper":1},
    "c":{"type":"categorical","values":["u","v","w"]}}}"#;

/// The same for the target `z`.
pub const REGRESSION: &str = r#"{"name":"trial","task":"regression","target":"z","target_lower":-1,"target_upper":1,
    "columns":{"x":{"type":"numeric","lower":0,"upper":10},
    "c":{"type":"categorical","values":["u","v","w"],"other":"w"}}}"#;

/// The header of [`rows`].
pub const HEADER: &str = "x,z,c,note,y\n";

/// A header and `count` records without a pattern that repeats within a thousand rows.
pub fn rows(count: u64) -> String {
    let mut text = HEADER.to_string();
    for i in 0..count {
        let (x, z) = (i * 7919 % 1009, i * 104_729 % 2003);
        let label = if x + z / 4 > 700 { "yes" } else { "no" };
        let c = ["u", "v", "w"][(i * 31 % 7 % 3) as usize];
        text.push_str(&format!("{}.{:02},{},{c},n{i},{label}\n", x / 101, x % 100, z as f64 / 1001.5 - 1.0));
    }
    text
}
