//! Every command line that a page shows runs as it stands.

use std::path::Path;
use std::process::Command;

use super::support::{Folder, Outcome, PROGRAM};

/// Files that pages speak of and that every reader has under names of their own.
const OWN: &[&str] = &["mine", "huge", "wages"];

/// A query for `account eval`.
const QUERY: &str = r#"{"query":"zcdp_to_delta_exact","rho":0.5,"epsilon":2}"#;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// The command lines of a page, without their prompts.
fn commands(text: &str) -> Vec<&str> {
    let mut inside = false;
    let mut commands = Vec::new();
    for line in text.lines() {
        match line.trim_start() {
            fence if fence.starts_with("```") => inside = fence == "```console",
            command if inside => commands.extend(command.strip_prefix("$ ")),
            _ => {}
        }
    }
    commands
}

/// A folder with what the pages speak of.
fn surroundings() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("datasets")).unwrap();
    for entry in std::fs::read_dir(root().join("datasets")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, folder.path("datasets").join(path.file_name().unwrap())).unwrap();
        }
    }
    for name in OWN {
        folder.write(&format!("{name}.csv"), std::fs::read(folder.path("datasets/fair.csv")).unwrap());
        folder.write(
            &format!("{name}.schema.json"),
            folder.text("datasets/fair.schema.json").replace(r#""fair""#, &format!(r#""{name}""#)),
        );
    }
    folder.write("mine.csv.zst", zstd::encode_all(&*folder.bytes("mine.csv"), 1).unwrap());
    folder.write("queries.jsonl", format!("{QUERY}\n"));
    folder
}

/// Runs the lines one after the other in one folder, as somebody who reads the page would.
fn run_all(name: &str) -> usize {
    let text = page(name);
    let folder = surroundings();
    let programs = Path::new(PROGRAM).parent().unwrap().to_str().unwrap();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    let mut ran = 0;
    for line in commands(&text) {
        let line = line.replace("cargo run --release -- ", "rhograd ");
        if !line.starts_with("rhograd ") {
            continue;
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).current_dir(folder.path(".")).env("PATH", &path).env("TMPDIR", folder.path("tmp"));
        let outcome = Outcome::of(shell, &line);
        assert_eq!(outcome.code, Some(0), "{name}: {outcome:?}");
        ran += 1;
    }
    ran
}

#[test]
fn the_readme_can_be_followed() {
    assert!(run_all("README.md") >= 15);
}

#[test]
fn the_pages_about_schemas_can_be_followed() {
    assert_eq!(run_all("docs/private-schema.md"), 3);
}

#[test]
fn the_pages_about_audits_can_be_followed() {
    assert_eq!(run_all("docs/audit.md"), 2);
}

#[test]
fn the_pages_about_accounting_can_be_followed() {
    assert_eq!(run_all("docs/accounting/README.md"), 5);
    assert_eq!(run_all("docs/accounting/comparison.md"), 2);
}

#[test]
fn no_page_with_commands_is_left_out() {
    let mut open = vec![root().join("docs")];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if commands(&std::fs::read_to_string(&path).unwrap()).iter().any(|line| line.starts_with("rhograd "))
            {
                found.push(path.strip_prefix(root()).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    let expected =
        ["docs/accounting/README.md", "docs/accounting/comparison.md", "docs/audit.md", "docs/private-schema.md"];
    assert_eq!(found, expected);
}
