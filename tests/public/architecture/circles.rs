//! No file of the crate needs a file that needs it.
//!
//! Need is what code says: paths and imports, also those handed to macros, each followed through re-exports to the file that
//! defines the item. A re-export alone is no need, and neither are tests. Methods are not followed: a type's `impl` may lie above
//! the type.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::buffer::{Cursor, TokenBuffer};
use syn::visit::Visit;

use super::{flatten, is_test, sources, src};

/// Rooms inside a module, and all that they need there besides their own files.
const ROOMS: &[(&str, &[&str])] = &[
    ("private::rows", &["private::query::describe", "private::sensitive"]),
    ("optim::release", &["optim::problem", "optim::settings"]),
    ("optim::step", &["optim::release", "optim::problem", "optim::settings"]),
];

/// A path as it is written, or from the root of the crate.
type Names = Vec<String>;

/// What a file says.
#[derive(Default)]
struct File {
    /// Names that it imports, and what they stand for as written.
    imports: BTreeMap<String, Names>,
    /// Imports that it hands on.
    handed_on: BTreeSet<String>,
    /// Whole modules whose names it imports.
    globs: Vec<Names>,
    /// Paths in its code.
    paths: Vec<Names>,
}

impl<'ast> Visit<'ast> for File {
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
        let mut found = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut found);
        for (mut path, name) in found {
            if path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            let Some(name) = name else {
                self.globs.push(path);
                continue;
            };
            let name = if name == "self" { path.last().cloned().unwrap_or_default() } else { name };
            if !matches!(item.vis, syn::Visibility::Inherited) {
                self.handed_on.insert(name.clone());
            }
            self.imports.insert(name, path);
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        paths_in(TokenBuffer::new2(call.tokens.clone()).begin(), &mut self.paths);
        syn::visit::visit_macro(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.paths.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }
}

/// Names joined by `::` in what a macro is given.
fn paths_in(mut at: Cursor<'_>, paths: &mut Vec<Names>) {
    let mut path = Names::new();
    while !at.eof() {
        if let Some((name, next)) = at.ident() {
            path.push(name.to_string());
            let colon = |at: Cursor<'_>| at.punct().is_some_and(|(punct, _)| punct.as_char() == ':');
            match next.token_tree() {
                Some((_, second)) if colon(next) && colon(second) => {
                    at = second.token_tree().map_or(second, |(_, end)| end)
                }
                _ => {
                    paths.push(std::mem::take(&mut path));
                    at = next;
                }
            }
        } else if let Some((inner, _, _, next)) = at.any_group() {
            paths_in(inner, paths);
            at = next;
        } else if let Some((_, next)) = at.token_tree() {
            at = next;
        }
    }
}

/// Files by their place in the tree of modules.
struct House(BTreeMap<Names, File>);

impl House {
    fn read(root: &Path) -> Self {
        let in_tests = |file: &Path| file.components().any(|c| c.as_os_str() == "tests") || file.ends_with("tests.rs");
        let files = sources(root).into_iter().filter(|file| !in_tests(file) && !file.ends_with("main.rs"));
        House(
            files
                .map(|file| (place(file.strip_prefix(root).unwrap()), parsed(&std::fs::read_to_string(&file).unwrap())))
                .collect(),
        )
    }

    /// A path from the root, or nothing where it leads out of the crate.
    fn absolute(&self, place: &Names, path: &[String], depth: usize) -> Option<Names> {
        let (first, rest) = path.split_first()?;
        let child = || [place.as_slice(), std::slice::from_ref(first)].concat();
        let start = match first.as_str() {
            _ if depth == 0 => return None,
            "crate" => Vec::new(),
            "self" => place.clone(),
            "super" => {
                let above = place[..place.len().checked_sub(1)?].to_vec();
                let further = rest.first().is_some_and(|next| next == "super");
                return self.absolute(&above, &if further { rest.to_vec() } else { with("self", rest) }, depth);
            }
            _ if self.0.contains_key(&child()) => child(),
            // An import of a crate by its own name stands for itself.
            name => match self.0.get(place)?.imports.get(name) {
                Some(path) if path.first() != Some(first) => self.absolute(place, path, depth - 1)?,
                _ => return None,
            },
        };
        Some([start.as_slice(), rest].concat())
    }

    /// The file that defines what an absolute path names; nothing for a module as such.
    fn home(&self, path: &Names, depth: usize) -> Option<Names> {
        let length = (0..=path.len()).rev().find(|&n| self.0.contains_key(&path[..n]))?;
        let (place, rest) = (path[..length].to_vec(), &path[length..]);
        let import = self.0[&place].imports.get(rest.first()?);
        match import.filter(|_| depth > 0).and_then(|import| self.absolute(&place, import, 9)) {
            Some(target) => self.home(&[target.as_slice(), &rest[1..]].concat(), depth - 1),
            None if import.is_some() => None,
            None => Some(place),
        }
    }

    /// What the code of a file needs.
    fn needs(&self, place: &Names) -> BTreeSet<Names> {
        let file = &self.0[place];
        let imports = file.imports.iter().filter(|(name, _)| !file.handed_on.contains(*name)).map(|(_, path)| path);
        let homes = imports.chain(&file.paths).filter_map(|path| self.home(&self.absolute(place, path, 9)?, 9));
        let whole =
            file.globs.iter().filter_map(|path| self.absolute(place, path, 9)).filter(|path| self.0.contains_key(path));
        homes.chain(whole).filter(|home| home != place).collect()
    }

    /// Every set of files that need each other.
    fn circles(&self) -> Vec<Vec<String>> {
        let needs: BTreeMap<&Names, BTreeSet<Names>> = self.0.keys().map(|place| (place, self.needs(place))).collect();
        let reached = |from: &Names| {
            let (mut seen, mut todo) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(place) = todo.pop() {
                todo.extend(needs[&place].iter().filter(|next| seen.insert((*next).clone())).cloned());
            }
            seen
        };
        let reached: BTreeMap<&Names, BTreeSet<Names>> = needs.keys().map(|&place| (place, reached(place))).collect();
        let circle = |place: &Names| -> Vec<String> {
            reached[place].iter().filter(|other| reached[other].contains(place)).map(|other| other.join("::")).collect()
        };
        let circles: BTreeSet<Vec<String>> =
            needs.keys().map(|place| circle(place)).filter(|circle| !circle.is_empty()).collect();
        circles.into_iter().collect()
    }
}

fn with(first: &str, rest: &[String]) -> Names {
    [&[first.to_owned()], rest].concat()
}

/// Where a file stands in the tree of modules.
fn place(file: &Path) -> Names {
    let mut names: Names = file.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|last| last == "mod" || (names.len() == 1 && last == "lib")) {
        names.pop();
    }
    names
}

fn parsed(text: &str) -> File {
    let mut file = File::default();
    file.visit_file(&syn::parse_file(text).unwrap());
    file
}

#[test]
fn no_file_needs_a_file_that_needs_it() {
    let house = House::read(&src());
    let circles = house.circles();
    let needs = |file: &String| -> Vec<String> {
        house.needs(&file.split("::").map(String::from).collect()).iter().map(|need| need.join("::")).collect()
    };
    let told: Vec<_> = circles.iter().flatten().map(|file| (file, needs(file))).collect();
    assert!(circles.is_empty(), "{circles:#?}: {told:#?}");
}

#[test]
fn rooms_need_what_lies_below_them_only() {
    let house = House::read(&src());
    let lies_in =
        |file: &str, room: &str| file.strip_prefix(room).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
    let mut faults = Vec::new();
    for (room, below) in ROOMS {
        let module = room.split("::").next().unwrap();
        let files: Vec<&Names> = house.0.keys().filter(|place| lies_in(&place.join("::"), room)).collect();
        assert!(files.len() > 1, "{room} has no files");
        for place in files {
            let needs = house.needs(place).into_iter().map(|need| need.join("::"));
            let mut needs = needs.filter(|need| lies_in(need, module) && !lies_in(need, room));
            faults.extend(
                needs.find(|need| !below.iter().any(|low| lies_in(need, low))).map(|need| (place.join("::"), need)),
            );
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn circles_are_seen_through_imports_paths_and_re_exports() {
    let house = |files: &[(&str, &str)]| {
        House(files.iter().map(|(file, text)| (place(Path::new(file)), parsed(text))).collect())
    };
    let root = ("lib.rs", "pub mod a; pub mod b; pub use b::thing;");
    let none: [Vec<String>; 0] = [];
    let circle = [vec!["a".to_owned(), "b".to_owned()]];
    let through = |a: &str, b: &str| house(&[root, ("a.rs", a), ("b/mod.rs", b)]).circles();
    assert_eq!(through("use crate::b::thing; pub struct A;", "pub fn thing() {}"), none);
    assert_eq!(through("use crate::b::thing; pub struct A;", "use super::a::A; pub fn thing() {}"), circle);
    assert_eq!(through("fn f() { crate::thing(); } pub struct A;", "pub fn thing() { crate::a::A; }"), circle);
    assert_eq!(
        through("use crate::b; fn f() { b::thing(); } pub struct A;", "use crate::a::A as X; pub fn thing() {}"),
        circle
    );
    assert_eq!(through("use super::*; pub struct A;", "pub fn thing() { crate::a::A; }"), none);
    assert_eq!(through("use crate::b::*; pub struct A;", "pub fn thing() { crate::a::A; }"), circle);
    assert_eq!(through("use crate::b::thing; pub struct A;", "pub use crate::a::A; pub fn thing() {}"), none);
    assert_eq!(through("use crate::b::thing; pub struct A;", "pub use crate::a::A; pub fn thing() -> A {}"), circle);
    assert_eq!(through("use crate::b::thing; pub struct A;", "m!(1, [super::a::A]); pub fn thing() {}"), circle);
    assert_eq!(through("use crate::b::thing; pub struct A;", "use super::a::A; m!{ x: A<u8>, }"), circle);
    let deep = [root, ("a.rs", "use crate::b::c::thing; pub struct A;"), ("b/mod.rs", "pub mod c;")];
    let deep = |c: &'static str| house(&[deep.as_slice(), &[("b/c.rs", c)]].concat()).circles();
    assert_eq!(deep("pub fn thing() -> super::super::a::A {}"), [vec!["a".to_owned(), "b::c".to_owned()]]);
    assert_eq!(deep("pub fn thing() -> super::A {}"), none);
    let in_tests = "#[cfg(test)] mod tests { use crate::a::A; } pub fn thing() {}";
    assert_eq!(through("use crate::b::thing; pub struct A;", in_tests), none);
}
