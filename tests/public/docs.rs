//! What the documentation of code owes its reader: sentences that stand alone, and examples that are compiled.

use std::collections::BTreeSet;
use std::path::Path;

use crate::architecture::{sources, src};

/// Modules all of whose public types stand in an example of the module, of the type or of a function beside it.
const WITH_EXAMPLES: [&str; 16] = [
    "accounting",
    "audit",
    "calculator",
    "data",
    "kernel",
    "ledger",
    "loss",
    "optim",
    "preprocess",
    "privacy",
    "private",
    "report",
    "schema_draft",
    "statement",
    "statistics",
    "train",
];

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The text of a line of documentation, outer or inner.
fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim_start)
}

/// Words of the examples in the documentation of a file, those left out that are not compiled.
fn words_of_examples(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut inside = None;
    for line in text.lines().filter_map(doc) {
        match (line.strip_prefix("```"), inside) {
            (Some(kind), None) => inside = Some(["", "no_run"].contains(&kind)),
            (Some(_), Some(_)) => inside = None,
            (None, Some(true)) => {
                words.extend(line.split(|c: char| !c.is_alphanumeric() && c != '_').map(String::from));
            }
            (None, _) => {}
        }
    }
    words
}

/// Names of types that a module exports: what its `pub use` and its own public items name.
fn exported(module: &str) -> BTreeSet<String> {
    let is_type = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && (name.len() == 2 || name.chars().any(|c| c.is_ascii_lowercase()))
    };
    let folder = src().join(module);
    let own = text(&folder.join("mod.rs"));
    // What it names itself, and what its public modules do.
    let below = own.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let file = |name: &str| [format!("{name}.rs"), format!("{name}/mod.rs")].map(|path| folder.join(path));
    let below = below.filter_map(|name| file(name).into_iter().find(|path| path.exists())).map(|path| text(&path));
    let mut names = BTreeSet::new();
    for text in below.chain([own.clone()]) {
        for part in text.split("\npub use ").skip(1) {
            let list = part.split(';').next().unwrap();
            names.extend(list.split(|c: char| !c.is_alphanumeric() && c != '_').map(String::from));
        }
        for kind in ["struct", "enum", "trait", "type"] {
            let start = format!("\npub {kind} ");
            let defined = text.split(&start).skip(1);
            names.extend(defined.map(|rest| rest.chars().take_while(|c| c.is_alphanumeric()).collect::<String>()));
        }
    }
    names.retain(|name| is_type(name));
    names
}

#[test]
fn every_public_type_of_the_modules_that_users_meet_has_an_example_that_compiles() {
    for module in WITH_EXAMPLES {
        let exported = exported(module);
        assert!(exported.len() >= 2, "{module}: {exported:?}");
        let files = sources(&src().join(module));
        let shown: BTreeSet<String> = files.iter().flat_map(|file| words_of_examples(&text(file))).collect();
        let missing: Vec<&String> = exported.difference(&shown).collect();
        assert!(missing.is_empty(), "{module}: no example shows {missing:?}");
    }
}

#[test]
fn every_name_of_the_prelude_has_an_example_that_compiles() {
    let library = text(&src().join("lib.rs"));
    let prelude = library.split("pub mod prelude {").nth(1).unwrap().split('}').collect::<Vec<_>>().join(" ");
    let names = prelude
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()));
    let mut shown = words_of_examples(&library);
    // Its text is an example of the prelude.
    let own = "../examples/own_algorithm.rs";
    assert!(library.contains(&format!("#[doc = include_str!(\"{own}\")]")));
    shown.extend(text(&src().join(own)).split(|c: char| !c.is_alphanumeric()).map(String::from));
    let missing: Vec<&str> = names.filter(|name| !shown.contains(*name)).collect();
    assert!(missing.is_empty(), "no example shows {missing:?}");
}

#[test]
fn documentation_says_the_whole_instead_of_pointing_at_something_else() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pointing = Vec::new();
    for file in [src(), root.join("bindings/python/src"), root.join("faults")].iter().flat_map(|folder| sources(folder))
    {
        for (number, line) in text(&file).lines().enumerate() {
            if doc(line).is_some_and(|doc| doc.starts_with("The same ") || doc.starts_with("As [`")) {
                pointing.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(pointing.is_empty(), "{pointing:#?}");
}
