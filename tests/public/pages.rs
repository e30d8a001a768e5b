//! What pages name in the repository is there.

use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every page, what is built left out.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match path.is_dir() {
                true if name.starts_with('.') || name == "target" || name == "node_modules" => Vec::new(),
                true => pages(&path),
                false if name.ends_with(".md") => vec![path],
                false => Vec::new(),
            }
        })
        .collect()
}

/// Targets of links to files, without the place in them.
fn linked(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.map(|target| target.split('#').next().unwrap_or_default());
    files.filter(|file| !file.is_empty() && !file.contains("://") && !file.contains(char::is_whitespace)).collect()
}

/// Paths between backticks that begin with a folder of the repository; a test of the file may be named behind `: `.
fn named(text: &str) -> Vec<&str> {
    const FOLDERS: [&str; 10] =
        ["src", "tests", "docs", "bindings", "examples", "experiments", "faults", "benches", "datasets", ".ci"];
    let quoted = text.split('\n').flat_map(|line| line.split('`').skip(1).step_by(2));
    let words = quoted.filter_map(|quoted| quoted.split(": ").next()?.split_whitespace().next());
    words.filter(|word| word.split_once('/').is_some_and(|(folder, _)| FOLDERS.contains(&folder))).collect()
}

/// Whether a path lies below the page's folder or one above it. A part in capitals stands for any name.
fn exists(page: &Path, path: &str) -> bool {
    let open = |part: &str| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase());
    let path = Path::new(path);
    let placeholder = path.components().any(|part| open(part.as_os_str().to_string_lossy().split('.').next().unwrap()));
    placeholder
        || page.ancestors().skip(1).take_while(|folder| folder.starts_with(root())).any(|it| it.join(path).exists())
}

#[test]
fn files_that_pages_name_are_there() {
    let (mut missing, mut seen) = (Vec::new(), 0);
    for page in pages(root()) {
        let text = std::fs::read_to_string(&page).unwrap();
        let short = page.strip_prefix(root()).unwrap().display().to_string();
        for file in linked(&text) {
            seen += 1;
            if !page.parent().unwrap().join(file).exists() {
                missing.push(format!("{short} links to {file}"));
            }
        }
        for file in named(&text) {
            seen += 1;
            if !exists(&page, file) {
                missing.push(format!("{short} names {file}"));
            }
        }
    }
    assert!(seen > 200, "{seen}");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_file_that_is_not_there_is_noticed() {
    let text = "[a](b.md#c) [d](https://e.f) [g](#h) `src/gone.rs: x` `tests/NAME.rs` `no/folder` `1 / 2`";
    assert_eq!(linked(text), ["b.md"]);
    assert_eq!(named(text), ["src/gone.rs", "tests/NAME.rs"]);
    let page = root().join("docs/design.md");
    assert!(exists(&page, "src/lib.rs") && exists(&page, "tests/NAME.rs") && !exists(&page, "src/gone.rs"));
}

/// `docs/extending.md` tells where algorithms and settings are listed; a file that merely exists may be another one.
#[test]
fn what_is_said_to_be_in_a_file_is_in_it() {
    let has = |file: &str, text: &str| std::fs::read_to_string(root().join(file)).unwrap().contains(text);
    let page = "docs/extending.md";
    for (file, text) in [("src/optim/registry.rs", "algorithms! {"), ("src/optim/settings.rs", "pub static SETTINGS")] {
        assert!(has(page, file), "{page} does not name {file}");
        assert!(has(file, text), "{file} lacks {text}");
    }
}
