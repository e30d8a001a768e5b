//! The floors of the house: every module imports from lower floors only, and trusted code cannot panic by choice.

#[path = "architecture/circles.rs"]
mod circles;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::visit::Visit;

/// Module and its floor; modules of one floor do not import each other.
const FLOORS: &[(&str, u32)] = &[
    ("error", 0),
    ("num", 0),
    ("text", 0),
    ("process", 0),
    ("privacy", 1),
    ("grid", 1),
    ("partial", 1),
    ("plot", 1),
    ("accounting", 2),
    ("noise", 2),
    ("loss", 2),
    ("kernel", 2),
    ("solve", 2),
    ("data", 2),
    ("ledger", 3),
    ("statistics", 3),
    ("preprocess", 3),
    ("model_kind", 3),
    ("private", 4),
    ("calculator", 4),
    ("optim", 5),
    ("statement", 6),
    ("train", 7),
    ("audit", 8),
    ("schema_draft", 8),
    ("summary", 8),
    ("report", 9),
    ("formats", 9),
    ("cli", 10),
];

/// `num` reports failures, and reports are made visible; nothing else inside a floor imports.
const ALLOWED_SIDEWAYS: &[(&str, &str)] = &[("num", "error"), ("error", "text")];

/// Lower floors that a module does not see all the same: whoever plans and runs an optimizer asks the gate, never the rows.
const NEVER: &[(&str, &str)] =
    &[("optim", "kernel"), ("statement", "kernel"), ("schema_draft", "kernel"), ("summary", "kernel")];

/// Code whose errors would be privacy errors.
const TRUSTED: &[&str] = &["grid", "private", "kernel", "noise", "accounting", "solve", "ledger"];

/// Lines of a source file.
const MAX_LINES: usize = 700;

/// Rust files below a folder, in order.
pub(crate) fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            files.extend(sources(&entry));
        } else if entry.extension().is_some_and(|e| e == "rs") {
            files.push(entry);
        }
    }
    files.sort();
    files
}

pub(crate) fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The top-level module a file belongs to; `None` for lib.rs and main.rs.
fn module(file: &Path) -> Option<String> {
    let relative = file.strip_prefix(src()).unwrap();
    let first = relative.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    let name = first.strip_suffix(".rs").unwrap_or(&first).to_owned();
    (name != "lib" && name != "main").then_some(name)
}

/// Collects `crate::x` paths and forbidden calls outside tests.
#[derive(Default)]
struct Seen {
    imports: Vec<String>,
    panics: Vec<String>,
    prints: bool,
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|a| {
        a.path().is_ident("test")
            || (a.path().is_ident("cfg") && a.parse_args::<syn::Ident>().is_ok_and(|ident| ident == "test"))
    })
}

impl<'ast> Visit<'ast> for Seen {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if is_test(&item.attrs) {
            return;
        }
        let mut paths = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut paths);
        self.imports
            .extend(paths.into_iter().filter(|(p, _)| p[0] == "crate" && p.len() > 1).map(|(p, _)| p[1].clone()));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 && path.segments[0].ident == "crate" {
            self.imports.push(path.segments[1].ident.to_string());
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        if name == "unwrap" || name == "expect" {
            self.panics.push(name);
        }
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let name = call.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
        match name.as_str() {
            "panic" | "todo" | "unimplemented" | "unreachable" | "assert" | "assert_eq" => self.panics.push(name),
            "println" | "eprintln" | "print" | "eprint" | "dbg" => self.prints = true,
            _ => {}
        }
    }
}

/// Every path of an import, and the name that it gets; none for a whole module.
fn flatten(tree: &syn::UseTree, prefix: &mut Vec<String>, out: &mut Vec<(Vec<String>, Option<String>)>) {
    let named = |ident: &syn::Ident| [prefix.as_slice(), &[ident.to_string()]].concat();
    match tree {
        syn::UseTree::Name(name) => out.push((named(&name.ident), Some(name.ident.to_string()))),
        syn::UseTree::Rename(name) => out.push((named(&name.ident), Some(name.rename.to_string()))),
        syn::UseTree::Glob(_) => out.push((prefix.clone(), None)),
        syn::UseTree::Group(group) => group.items.iter().for_each(|item| flatten(item, prefix, out)),
        syn::UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, out);
            prefix.pop();
        }
    }
}

/// Every source file outside test folders with what was seen in it.
fn survey() -> Vec<(PathBuf, String, Seen)> {
    sources(&src())
        .into_iter()
        .filter(|file| !file.components().any(|c| c.as_os_str() == "tests") && !file.ends_with("tests.rs"))
        .filter_map(|file| module(&file).map(|module| (file, module)))
        .map(|(file, module)| {
            let mut seen = Seen::default();
            seen.visit_file(&syn::parse_file(&std::fs::read_to_string(&file).unwrap()).unwrap());
            (file, module, seen)
        })
        .collect()
}

#[test]
fn modules_import_from_lower_floors_only() {
    let floors: BTreeMap<&str, u32> = FLOORS.iter().copied().collect();
    let mut faults = Vec::new();
    for (file, module, seen) in survey() {
        let Some(own) = floors.get(module.as_str()) else {
            faults.push(format!("{}: module {module} has no floor", file.display()));
            continue;
        };
        for import in seen.imports.iter().filter(|import| **import != module) {
            let sideways = ALLOWED_SIDEWAYS.contains(&(module.as_str(), import.as_str()));
            match floors.get(import.as_str()) {
                Some(floor) if (floor < own || sideways) && !NEVER.contains(&(module.as_str(), import.as_str())) => {}
                _ => faults.push(format!("{}: {module} imports {import}", file.display())),
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn trusted_code_neither_unwraps_nor_prints() {
    let mut faults = Vec::new();
    for (file, module, seen) in survey() {
        if TRUSTED.contains(&module.as_str()) {
            faults.extend(seen.panics.iter().map(|what| format!("{}: {what}", file.display())));
        }
        if seen.prints && module != "cli" {
            faults.push(format!("{}: prints", file.display()));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn the_survey_sees_what_it_looks_for() {
    let mut seen = Seen::default();
    let text = "use crate::{noise::X, private}; fn f() { crate::kernel::g().unwrap(); panic!(); println!(); }
                #[cfg(test)] mod tests { use crate::cli; fn h() { x.unwrap(); } }";
    seen.visit_file(&syn::parse_str(text).unwrap());
    assert_eq!(seen.imports, ["noise", "private", "kernel"]);
    assert_eq!(seen.panics, ["unwrap", "panic"]);
    assert!(seen.prints);
}

#[test]
fn files_stay_readable() {
    let long: Vec<_> = sources(&src())
        .into_iter()
        .map(|file| (std::fs::read_to_string(&file).unwrap().lines().count(), file))
        .filter(|(lines, _)| *lines > MAX_LINES)
        .collect();
    assert!(long.is_empty(), "{long:?}");
}

/// A closure that is handed over directly stays code for the least processor, see `num::vectorized`.
#[test]
fn closures_are_compiled_for_every_instruction_set_in_one_place() {
    let hands_over = |file: &PathBuf| std::fs::read_to_string(file).unwrap().contains(".dispatch(");
    let found: Vec<_> = sources(&src()).into_iter().filter(hands_over).collect();
    let known = ["num/fourier.rs", "num/vectorized.rs"];
    assert!(found.iter().all(|file| known.iter().any(|known| file.ends_with(known))), "{found:?}");
    assert_eq!(found.len(), known.len());
}

#[test]
fn experiments_use_the_public_library_only() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/Cargo.toml");
    let text = std::fs::read_to_string(manifest).unwrap();
    assert!(text.contains("rhograd = { path = \"..\""));
}
