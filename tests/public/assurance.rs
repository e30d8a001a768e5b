//! Every test that docs/assurance.md names exists.

use std::path::Path;

/// Pairs of a file and a test, as in `tests/public/gate.rs: once`.
fn named(text: &str) -> Vec<(&str, &str)> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter_map(|name| name.split_once(": "))
        .filter(|(file, _)| file.ends_with(".rs") || file.ends_with(".py"))
        .collect()
}

fn has_test(file: &str, source: &str, name: &str) -> bool {
    if file.ends_with(".py") {
        return name.starts_with("test_") && source.contains(&format!("\ndef {name}("));
    }
    source.match_indices(&format!("fn {name}(")).any(|(at, _)| {
        let before = &source[..at];
        before[before.len().saturating_sub(300)..].contains("#[test]")
    })
}

#[test]
fn every_named_test_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs/assurance.md")).unwrap();
    let named = named(&text);
    assert!(named.len() > 50, "{}", named.len());
    let missing: Vec<_> = named
        .into_iter()
        .filter(|(file, name)| {
            !std::fs::read_to_string(root.join(file)).is_ok_and(|source| has_test(file, &source, name))
        })
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The rows of the table of planted faults: number of the fault, and whether a test is named for it.
fn faults(text: &str) -> Vec<(usize, bool)> {
    let section = text.split("## Planted faults").nth(1).unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| Some((row.split(' ').next()?.parse().ok()?, !named(row).is_empty()))).collect()
}

#[test]
fn every_planted_fault_is_found_and_counted() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/assurance.md")).unwrap();
    let rows = faults(&text);
    assert!(rows.iter().map(|(number, _)| *number).eq(1..=63), "{rows:?}");
    let found = rows.iter().filter(|(_, found)| *found).count();
    assert!(text.contains(&format!("Found: {found} of {}.", rows.len())), "{found} of {}", rows.len());
}

/// A planted fault that no row names would count for nothing.
#[test]
fn every_test_of_a_planted_fault_is_named() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs/assurance.md")).unwrap();
    let folder = "faults/tests/killed";
    let mut tests = 0;
    for entry in std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap()) {
        let (file, source) = (entry.file_name(), std::fs::read_to_string(entry.path()).unwrap());
        for name in source.split("fn fault_").skip(1).filter_map(|rest| rest.split('(').next()) {
            let named = format!("`{folder}/{}: fault_{name}`", file.display());
            assert!(text.contains(&named), "{named} is not in docs/assurance.md");
            tests += 1;
        }
    }
    assert!(tests >= 34, "{tests}");
}

#[test]
fn a_test_that_is_not_there_is_noticed() {
    let source = "#[test]\nfn here() {}\nfn helper() {}";
    assert!(has_test("a.rs", source, "here") && !has_test("a.rs", source, "gone"));
    assert!(
        has_test("a.py", "\ndef test_here(points):", "test_here") && !has_test("a.py", "\ndef test_here():", "test_he")
    );
    assert_eq!(named("`tests/a.rs: b` and `c` and `d: e`"), [("tests/a.rs", "b")]);
    let table = "| 1 before |\n## Planted faults\n| fault | found by |\n| 1 a | `tests/a.rs: b` |\n| 2 b | none |";
    assert_eq!(faults(table), [(1, true), (2, false)]);
}
