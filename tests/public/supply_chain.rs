//! What comes in from outside: known sources, allowed licences, and a reason for every crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::architecture::sources;
use crate::pages::root;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// What cargo knows of the crates that are built here; with all features where their crates are at hand.
fn metadata() -> Value {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let host = Command::new(rustc).arg("-vV").output().expect("rustc runs");
    let host = String::from_utf8(host.stdout).unwrap();
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host").to_owned();
    // What the Python module needs may not be here yet, for its tests are not built with these.
    for how in [&["--offline", "--all-features"][..], &["--offline"], &["--all-features"]] {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &host])
            .args(how)
            .current_dir(root())
            .output()
            .expect("cargo runs");
        if output.status.success() {
            return serde_json::from_slice(&output.stdout).unwrap();
        }
    }
    panic!("cargo metadata fails");
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("{key} is no list"))
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The crates of this workspace.
fn members(metadata: &Value) -> Vec<&Value> {
    let ids: Vec<&Value> = list(metadata, "workspace_members").iter().collect();
    list(metadata, "packages").iter().filter(|package| ids.contains(&&package["id"])).collect()
}

/// The strings of a list in deny.toml.
fn denied(deny: &str, key: &str) -> BTreeSet<String> {
    let list = deny.split_once(&format!("\n{key} = [")).unwrap_or_else(|| panic!("deny.toml lacks {key}")).1;
    let list = list.split_once(']').unwrap().0;
    list.split('"').skip(1).step_by(2).map(String::from).collect()
}

/// Whether a licence expression can be met with allowed licences; `/` is an old way to write OR.
fn met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    fn split<'a>(text: &'a str, by: &str) -> Vec<&'a str> {
        let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
        for (at, c) in text.char_indices() {
            depth += i32::from(c == '(') - i32::from(c == ')');
            if depth == 0 && at >= start && text[at..].starts_with(by) {
                parts.push(&text[start..at]);
                start = at + by.len();
            }
        }
        parts.push(&text[start..]);
        parts
    }
    let text = expression.trim();
    let (either, both) = (split(text, " OR "), split(text, " AND "));
    if either.len() > 1 {
        either.iter().any(|part| met(part, allowed))
    } else if both.len() > 1 {
        both.iter().all(|part| met(part, allowed))
    } else if let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        met(inner, allowed)
    } else {
        !text.is_empty() && allowed.contains(text)
    }
}

#[test]
fn licences_are_allowed_ones() {
    let (metadata, allowed) = (metadata(), denied(&text("deny.toml"), "allow"));
    let packages = list(&metadata, "packages");
    assert!(packages.len() > 100, "{} crates", packages.len());
    let faults: Vec<_> = packages
        .iter()
        .filter(|package| !met(&word(package, "license").replace('/', " OR "), &allowed))
        .map(|package| format!("{} has licence {:?}", word(package, "name"), word(package, "license")))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn expressions_are_read_as_they_are_meant() {
    let allowed: BTreeSet<String> = ["MIT", "Zlib"].map(String::from).into();
    for good in
        ["MIT", "GPL-3.0 OR MIT", "(GPL-3.0 OR Zlib) AND MIT", "MIT AND Zlib", "(MIT)", "MIT OR GPL-3.0 AND LGPL-3.0"]
    {
        assert!(met(good, &allowed), "{good}");
    }
    for bad in ["", "GPL-3.0", "GPL-3.0 AND MIT", "(MIT AND GPL-3.0) OR LGPL-3.0", "MIT WITH x", "(GPL-3.0) AND (MIT)"]
    {
        assert!(!met(bad, &allowed), "{bad}");
    }
    assert_eq!(
        denied("\nx = 1\nallow = [\n \"a\", # b\n \"c d\",\n]\ny = [\"e\"]", "allow"),
        ["a", "c d"].map(String::from).into()
    );
}

#[test]
fn every_crate_comes_from_one_registry_and_is_pinned_by_a_checksum() {
    let own: BTreeSet<String> = members(&metadata()).iter().map(|package| word(package, "name").to_owned()).collect();
    let lock = text("Cargo.lock");
    let mut seen = 0;
    for entry in lock.split("[[package]]").skip(1) {
        let field = |key: &str| {
            let prefix = format!("{key} = \"");
            entry.lines().find_map(|line| line.strip_prefix(&prefix)).map(|rest| rest.trim_end_matches('"'))
        };
        let name = field("name").unwrap();
        match (field("source"), field("checksum")) {
            (Some(source), Some(checksum)) => {
                assert!(source == REGISTRY && checksum.len() == 64, "{name} from {source}")
            }
            found => assert!(found == (None, None) && own.contains(name), "{name}: {found:?}"),
        }
        seen += 1;
    }
    assert!(seen > 100);
}

/// What is linked into the program and not only used to build or test it.
#[test]
fn one_version_of_rand_and_nothing_that_is_denied_is_linked() {
    let metadata = metadata();
    let nodes: BTreeMap<&str, &Value> =
        list(&metadata["resolve"], "nodes").iter().map(|node| (word(node, "id"), node)).collect();
    let program = members(&metadata).into_iter().filter(|package| word(package, "name") == "rhograd");
    let mut open: Vec<&str> = program.map(|package| word(package, "id")).collect();
    let mut linked = BTreeSet::new();
    while let Some(id) = open.pop() {
        if linked.insert(id) {
            let normal = |dependency: &&Value| list(dependency, "dep_kinds").iter().any(|kind| kind["kind"].is_null());
            open.extend(list(nodes[id], "deps").iter().filter(normal).map(|dependency| word(dependency, "pkg")));
        }
    }
    let names: Vec<&str> = list(&metadata, "packages")
        .iter()
        .filter(|p| linked.contains(word(p, "id")))
        .map(|p| word(p, "name"))
        .collect();
    // Cargo tells what tests ask of `rand_core` as if it were linked; `cargo tree` in .ci/run knows better.
    for once in ["rand", "rand_chacha", "rand_distr"] {
        assert_eq!(names.iter().filter(|name| **name == once).count(), 1, "versions of {once}");
    }
    let deny = text("deny.toml");
    let never = deny.split("{ crate = \"").skip(1).filter_map(|entry| entry.split_once("\" }")).map(|(name, _)| name);
    let found: Vec<&str> = never.filter(|name| names.contains(name)).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn every_direct_dependency_is_explained_and_nothing_else_is() {
    let metadata = metadata();
    let members = members(&metadata);
    let own: Vec<&str> = members.iter().map(|package| word(package, "name")).collect();
    let asked: BTreeSet<&str> = members
        .iter()
        .flat_map(|package| list(package, "dependencies"))
        .map(|dependency| word(dependency, "name"))
        .filter(|name| !own.contains(name))
        .collect();
    let page = text("docs/dependencies.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let explained: BTreeSet<&str> = rows
        .map(|(name, rest)| {
            let cells: Vec<&str> = rest.trim_end_matches(" |").split(" | ").collect();
            assert!(cells.len() == 3 && ["yes", "no"].contains(&cells[2]), "docs/dependencies.md, {name}: {cells:?}");
            name
        })
        .collect();
    let missing: Vec<_> = asked.difference(&explained).collect();
    assert!(missing.is_empty(), "docs/dependencies.md does not explain {missing:?}: add a row for each");
    let stale: Vec<_> = explained.difference(&asked).collect();
    assert!(stale.is_empty(), "docs/dependencies.md explains {stale:?}, which nothing asks for");
}

/// The exceptions of deny.toml: the number of the advisory, and the crate that its reason begins with.
fn exceptions(deny: &str) -> Vec<(&str, &str)> {
    let entries = deny.split("{ id = \"").skip(1).filter_map(|rest| rest.split_once("\", reason = \""));
    entries.map(|(id, rest)| (id, rest.split_once(": ").map_or("", |(name, _)| name))).collect()
}

#[test]
fn an_exception_names_a_crate_that_is_still_there() {
    let (deny, lock) = (text("deny.toml"), text("Cargo.lock"));
    let exceptions = exceptions(&deny);
    assert_eq!(exceptions.len(), deny.matches("RUSTSEC-").count(), "an exception without a reason: {exceptions:?}");
    for (id, name) in exceptions {
        assert!(
            lock.contains(&format!("\nname = \"{name}\"\n")),
            "{id}: {name:?} is gone; take its exception out of deny.toml"
        );
    }
    let gone = "{ id = \"RUSTSEC-0000-0000\", reason = \"nothing: no longer used\" }";
    assert_eq!(self::exceptions(gone), [("RUSTSEC-0000-0000", "nothing")]);
    assert!(!lock.contains("\nname = \"nothing\"\n"));
}

/// Whether code has the word, comments left out.
fn has_unsafe(source: &str) -> bool {
    let code = source.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).any(|word| word == "unsafe")
}

#[test]
fn unsafe_is_forbidden_in_every_member_and_occurs_in_none() {
    assert!(has_unsafe("let x = 1;\nunsafe { f() }") && !has_unsafe("// unsafe\nfn unsafe_code() {}"));
    let metadata = metadata();
    for member in members(&metadata) {
        let manifest = PathBuf::from(word(member, "manifest_path"));
        let lints = std::fs::read_to_string(&manifest).unwrap();
        assert!(lints.contains("\nunsafe_code = \"forbid\"\n"), "{} does not forbid unsafe code", word(member, "name"));
        let files = sources(&manifest.with_file_name("src"));
        assert!(!files.is_empty());
        for file in files {
            let relative = file.strip_prefix(root()).unwrap();
            assert!(!has_unsafe(&std::fs::read_to_string(&file).unwrap()), "{} has unsafe code", relative.display());
        }
    }
}
