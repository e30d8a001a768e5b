//! Tests look at every coordinate of what is released: the first, where a count stands, and the last, where an intercept does.
//!
//! A slice of a release is found in the source of all tests. Those that are meant are named here, with the reason; whole
//! releases are compared by `invariants::coordinates::every_coordinate`, which refuses to look at nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

use crate::architecture::sources;

/// Functions that look at a part of a release, and why they may.
const MEANT: [(&str, &str, &str); 9] = [
    (
        "tests/cli/tampering.rs",
        "a_consistent_change_of_a_coefficient_is_found_with_the_ledger",
        "the one number of a coefficient in a model",
    ),
    (
        "tests/public/draft.rs",
        "a_draft_releases_what_was_planned_and_every_release_is_heard",
        "the number of rows, which stands first, tells what a grid step stands for",
    ),
    (
        "tests/public/draft.rs",
        "intervals_are_chosen_with_the_stated_probabilities",
        "a choice releases one number, the candidate's",
    ),
    (
        "tests/public/gate.rs",
        "only_the_best_run_is_opened_and_no_run_gets_more_than_was_paid_for",
        "a score for a run: any of its numbers does",
    ),
    ("tests/public/gate.rs", "samples_are_fresh", "rows of an intercept alone: there is one coordinate for each label"),
    ("tests/public/holdout.rs", "held_out", "each column is the mark of one row, and all of them are looked at"),
    ("tests/public/models.rs", "effects", "the one number of a coefficient in a model"),
    (
        "tests/public/training.rs",
        "every_combination_of_columns_and_public_facts_can_be_planned_and_run",
        "the one number of an intercept in a model",
    ),
    ("tests/statistical/uncertainty.rs", "scores", "the one number of a coefficient in a model"),
];

/// Calls that leave out a part of what they are called on.
const CUTS: [&str; 11] =
    ["skip", "take", "first", "last", "nth", "get", "step_by", "split_at", "split_first", "split_last", "chunks_exact"];

/// Whether released values are in an expression: a call of `values()`, or a name that was bound to one.
struct Mentions<'a> {
    bound: &'a BTreeSet<String>,
    found: bool,
}

impl<'ast> Visit<'ast> for Mentions<'_> {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.found |= call.method == "values" && call.args.is_empty();
        // What a call is given is not what it is called on.
        self.visit_expr(&call.receiver);
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        self.found |= path.path.get_ident().is_some_and(|name| self.bound.contains(&name.to_string()));
    }

    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
}

fn mentions(expr: &syn::Expr, bound: &BTreeSet<String>) -> bool {
    let mut search = Mentions { bound, found: false };
    search.visit_expr(expr);
    search.found
}

/// Whether an index picks a part that is fixed beforehand: a range with an end, or anything but a variable.
fn is_part(index: &syn::Expr) -> bool {
    match index {
        syn::Expr::Range(range) => range.start.is_some() || range.end.is_some(),
        syn::Expr::Path(_) => false,
        _ => true,
    }
}

/// The functions of a file in which a part of a release is taken.
#[derive(Default)]
struct Parts {
    inside: Vec<String>,
    bound: BTreeSet<String>,
    found: BTreeSet<String>,
}

impl Parts {
    fn note(&mut self) {
        self.found.insert(self.inside.last().cloned().unwrap_or_default());
    }
}

impl<'ast> Visit<'ast> for Parts {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.inside.push(item.sig.ident.to_string());
        let outer = std::mem::take(&mut self.bound);
        visit::visit_item_fn(self, item);
        self.bound = outer;
        self.inside.pop();
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        visit::visit_local(self, local);
        let pattern = match &local.pat {
            syn::Pat::Type(typed) => &*typed.pat,
            pattern => pattern,
        };
        let name = match pattern {
            syn::Pat::Ident(name) => Some(name.ident.to_string()),
            _ => None,
        };
        // A number that was computed from a release is none; the release itself, or a copy, is.
        let init = local.init.as_ref().map(|init| &*init.expr);
        let is_copy = init.is_some_and(|expr| match expr {
            syn::Expr::MethodCall(call) => {
                ["values", "to_vec", "clone", "collect", "iter"].contains(&call.method.to_string().as_str())
            }
            syn::Expr::Reference(_) | syn::Expr::Index(_) => true,
            _ => false,
        });
        if let (Some(name), Some(expr), true) = (name, init, is_copy)
            && mentions(expr, &self.bound)
        {
            self.bound.insert(name);
        }
    }

    fn visit_expr_index(&mut self, index: &'ast syn::ExprIndex) {
        if is_part(&index.index) && mentions(&index.expr, &self.bound) {
            self.note();
        }
        visit::visit_expr_index(self, index);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if CUTS.contains(&call.method.to_string().as_str()) && mentions(&call.receiver, &self.bound) {
            self.note();
        }
        visit::visit_expr_method_call(self, call);
    }

    /// Tests put much into macros, whose arguments are expressions as a rule.
    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        let list = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        if let Ok(arguments) = mac.parse_body_with(list) {
            let arguments: Vec<syn::Expr> = arguments.into_iter().collect();
            for argument in &arguments {
                let mut inner =
                    Parts { inside: self.inside.clone(), bound: self.bound.clone(), found: BTreeSet::new() };
                inner.visit_expr(argument);
                self.found.extend(inner.found);
            }
        }
    }
}

fn parts(source: &str) -> BTreeSet<String> {
    let mut search = Parts::default();
    search.visit_file(&syn::parse_file(source).unwrap());
    search.found
}

/// Files with tests: the folders of tests, and what is below them in the library.
fn test_sources(root: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        ["tests", "faults/tests", "faults/src", "src"].iter().flat_map(|folder| sources(&root.join(folder))).collect();
    let is_test = |path: &PathBuf| {
        let inside = path.strip_prefix(root).unwrap();
        // What must not compile is no test of values.
        if inside.starts_with("tests/compile_fail") {
            return false;
        }
        let named = inside.components().any(|part| part.as_os_str() == "tests");
        !inside.starts_with("src")
            || named
            || ["tests.rs", "theorems.rs", "streams.rs"].iter().any(|name| path.ends_with(name))
    };
    all.retain(is_test);
    all
}

#[test]
fn no_test_looks_at_a_part_of_a_release_without_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    let files = test_sources(root);
    assert!(files.len() > 60, "{}", files.len());
    for path in files {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let here = parts(&std::fs::read_to_string(&path).unwrap());
        found.extend(here.into_iter().map(|function| (name.clone(), function)));
    }
    let meant: BTreeSet<_> = MEANT.iter().map(|(file, function, _)| (file.to_string(), function.to_string())).collect();
    let new: Vec<_> = found.difference(&meant).collect();
    assert!(new.is_empty(), "look at every coordinate, or say in MEANT why not: {new:#?}");
    let gone: Vec<_> = meant.difference(&found).collect();
    assert!(gone.is_empty(), "these look at all there is by now: {gone:#?}");
    assert!(MEANT.iter().all(|(_, _, why)| why.len() > 20));
}

#[test]
fn a_part_of_a_release_is_seen_however_it_is_taken() {
    for part in [
        "let noise = &released.values()[1..];",
        "let noise = &released.values()[..n - 1];",
        "let first = released.values()[0];",
        "released.values().iter().skip(1).for_each(look);",
        "let all = released.values().to_vec(); look(&all[2..]);",
        "let all: Vec<i128> = paid.permit()?.release(x)?.values().to_vec(); let b = all.last();",
        "assert!(released.values()[1..].iter().all(|v| *v > 0));",
        "assert_eq!(released.values().iter().take(3).count(), 3, \"{name}\");",
    ] {
        let source = format!("fn looks() {{ {part} }}");
        assert_eq!(parts(&source).len(), 1, "{part}");
    }
    for whole in [
        "let noise = released.values(); noise.iter().for_each(look);",
        "let sum: i128 = released.values().iter().sum();",
        "for j in 0..released.values().len() { look(released.values()[j]); }",
        "let lines = text.lines().skip(1); let all = &released.values()[..];",
        "let names = map.keys().next(); look(&names[1..]);",
    ] {
        let source = format!("fn looks() {{ {whole} }}");
        assert!(parts(&source).is_empty(), "{whole}");
    }
}
