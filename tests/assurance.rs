//! Every test that docs/assurance.md names exists.

use std::path::Path;

/// Pairs of a file and a test, as in `tests/gate.rs: once`.
fn named(text: &str) -> Vec<(&str, &str)> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|name| name.split_once(": ")).filter(|(file, _)| file.ends_with(".rs")).collect()
}

fn has_test(source: &str, name: &str) -> bool {
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
        .filter(|(file, name)| !std::fs::read_to_string(root.join(file)).is_ok_and(|source| has_test(&source, name)))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_test_that_is_not_there_is_noticed() {
    let source = "#[test]\nfn here() {}\nfn helper() {}";
    assert!(has_test(source, "here") && !has_test(source, "gone"));
    assert_eq!(named("`tests/a.rs: b` and `c` and `d: e`"), [("tests/a.rs", "b")]);
}
