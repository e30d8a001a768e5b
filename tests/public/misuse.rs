//! What must not compile: each file of `tests/compile_fail` fails at the line that names the error, and nowhere else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Line and error, as the compiler reports them or as `//~ E0382` at the end of a line expects them.
type Errors = BTreeSet<(usize, String)>;

fn expected(source: &str) -> Errors {
    let line = |(number, line): (usize, &str)| Some((number + 1, line.split_once("//~ ")?.1.trim().to_owned()));
    source.lines().enumerate().filter_map(line).collect()
}

/// From lines as in `tests/compile_fail/a.rs:7:13: error[E0382]: use of moved value`.
fn reported(messages: &str) -> Errors {
    let error = |line: &str| {
        let (place, text) = line.split_once(": error")?;
        let number = place.rsplit(':').nth(1)?.parse().ok()?;
        let code = text.strip_prefix('[').and_then(|text| text.split(']').next()).unwrap_or("error");
        Some((number, code.to_owned()))
    };
    messages.lines().filter_map(error).collect()
}

/// The library as it was built last, by which this program was built, and the folder with what it needs.
fn library() -> (PathBuf, PathBuf) {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let built = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap()).filter(|entry| {
        let name = entry.file_name().into_string().unwrap_or_default();
        name.starts_with("librhograd-") && name.ends_with(".rlib")
    });
    let newest =
        built.max_by_key(|entry| entry.metadata().and_then(|facts| facts.modified()).unwrap_or(SystemTime::UNIX_EPOCH));
    (newest.expect("the library was built").path(), folder)
}

fn compile(source: &Path, library: &Path, folder: &Path) -> Errors {
    let out = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2024", "--emit=metadata", "--error-format=short", "--out-dir"])
        .arg(out.path())
        .arg("--extern")
        .arg(format!("rhograd={}", library.display()))
        .arg("-L")
        .arg(format!("dependency={}", folder.display()))
        .arg(source)
        .output()
        .expect("rustc runs");
    let messages = String::from_utf8(output.stderr).unwrap();
    let errors = reported(&messages);
    assert_eq!(errors.is_empty(), output.status.success(), "{}: {messages}", source.display());
    errors
}

#[test]
fn misuse_does_not_compile() {
    let (library, folder) = library();
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_fail");
    let mut tried = 0;
    for path in std::fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path()) {
        let source = std::fs::read_to_string(&path).unwrap();
        let expected = expected(&source);
        assert!(!expected.is_empty(), "{} names no error", path.display());
        assert_eq!(compile(&path, &library, &folder), expected, "{}", path.display());
        tried += 1;
    }
    assert!(tried >= 13, "{tried}");
}

#[test]
fn what_compiles_is_noticed() {
    let (library, folder) = library();
    let path = tempfile::tempdir().unwrap();
    let source = path.path().join("fine.rs");
    std::fs::write(&source, "use rhograd::private::PrivateDataset;\nfn _f(_: &PrivateDataset) {}\nfn main() {}\n")
        .unwrap();
    assert!(compile(&source, &library, &folder).is_empty());
    assert_eq!(
        reported("a/b.rs:7:13: error[E0382]: use: of\nerror: aborting").into_iter().next(),
        Some((7, "E0382".into()))
    );
}
