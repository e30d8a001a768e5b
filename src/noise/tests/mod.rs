//! Exact laws by enumeration, streams, and the ban on floating point.

mod allocations;
mod bounded;
mod choices;
mod coins;
mod laplace;
mod laws;
mod samples;
mod streams;
mod tape;
#[cfg(target_os = "linux")]
mod wiping;

use std::path::Path;

use syn::visit::Visit;

/// Collects floating-point literals of a file.
struct FloatLiterals(Vec<String>);

impl<'a> Visit<'a> for FloatLiterals {
    fn visit_lit_float(&mut self, literal: &'a syn::LitFloat) {
        self.0.push(literal.to_string());
    }
}

#[test]
fn samplers_have_no_floating_point() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/noise");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        files += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            // A suffix of a literal counts too.
            assert!(!word.ends_with("f32") && !word.ends_with("f64"), "{} has {word}", path.display());
        }
        let mut literals = FloatLiterals(Vec::new());
        literals.visit_file(&syn::parse_file(&text).unwrap());
        assert_eq!(literals.0, Vec::<String>::new(), "{}", path.display());
    }
    assert!(files >= 7, "the files were found");
}
