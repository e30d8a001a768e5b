//! What pages name in the repository is there.

use std::path::{Path, PathBuf};

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Folders of the repository that git ignores: what is in them was made, like the copies of pages of the Python site.
fn made() -> Vec<PathBuf> {
    let text = std::fs::read_to_string(root().join(".gitignore")).unwrap();
    text.lines().filter_map(|line| line.strip_prefix('/')).map(|line| root().join(line.trim_end_matches('/'))).collect()
}

/// Every page, what is made left out.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let made = made();
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match path.is_dir() {
                true if name.starts_with('.') || name == "node_modules" || made.contains(&path) => Vec::new(),
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
    for folder in ["target", "bindings/python/docs/algorithms"] {
        assert!(made().contains(&root().join(folder)), "{folder}");
    }
    let page = root().join("docs/design.md");
    assert!(exists(&page, "src/lib.rs") && exists(&page, "tests/NAME.rs") && !exists(&page, "src/gone.rs"));
}

/// `docs/extending.md` tells where algorithms and settings are listed; a file that merely exists may be another one.
#[test]
fn what_is_said_to_be_in_a_file_is_in_it() {
    let has = |file: &str, text: &str| std::fs::read_to_string(root().join(file)).unwrap().contains(text);
    let page = "docs/extending.md";
    for (file, text) in [("src/optim/mod.rs", "algorithms! {"), ("src/optim/settings.rs", "pub static SETTINGS")] {
        assert!(has(page, file), "{page} does not name {file}");
        assert!(has(file, text), "{file} lacks {text}");
    }
}

/// Names of the experiments that a line links to.
fn experiments(line: &str) -> Vec<&str> {
    let pages = line.split("](").skip(1).filter_map(|rest| rest.split_once("/README.md)"));
    pages.map(|(path, _)| path.rsplit('/').next().unwrap_or(path)).collect()
}

/// Numbers with two decimals or more.
fn decimals(line: &str) -> Vec<&str> {
    let words = line.split(|c: char| !c.is_ascii_digit() && c != '.' && c != '-');
    let long = |word: &&str| word.split_once('.').is_some_and(|(_, after)| after.len() > 1);
    words.map(|word| word.trim_matches('.')).filter(|word| word.parse::<f64>().is_ok()).filter(long).collect()
}

/// Estimates and ends of intervals in `fits.csv` of an experiment.
fn measured(experiment: &str) -> Vec<f64> {
    let path = root().join("experiments").join(experiment).join("fits.csv");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let numbers = text.lines().skip(1).flat_map(|line| line.rsplit(',').skip(3).take(3));
    numbers.map(|number| number.parse().unwrap()).collect()
}

#[test]
fn what_pages_say_was_measured_is_what_the_experiments_wrote() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for page in ["docs/bounds.md", "experiments/README.md"] {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        for line in text.lines().filter(|line| line.starts_with('|')) {
            let (experiments, numbers) = (experiments(line), decimals(line));
            if experiments.is_empty() || numbers.is_empty() {
                continue;
            }
            let values: Vec<f64> = experiments.iter().flat_map(|it| measured(it)).collect();
            for number in numbers {
                seen += 1;
                let places = number.len() - number.find('.').unwrap() - 1;
                if !values.iter().any(|value| format!("{value:.places$}") == number) {
                    wrong.push(format!("{page}: {number} is not in fits.csv of {experiments:?}"));
                }
            }
        }
    }
    assert!(seen > 60, "{seen}");
    assert!(wrong.is_empty(), "{wrong:#?}");
    let line = "| [a](../experiments/erm-rate/README.md) | n -0.959 [-0.999, -0.920], d^(1/2), 0.1 and 1.25. |";
    assert_eq!(experiments(line), ["erm-rate"]);
    assert_eq!(decimals(line), ["-0.959", "-0.999", "-0.920", "1.25"]);
}

/// Words of privacy that pages for readers use, and where the glossary explains them.
const TERMS: [(&str, &str); 17] = [
    ("epsilon", "epsilon"),
    ("delta", "delta"),
    ("rho", "rho-zcdp"),
    ("zCDP", "rho-zcdp"),
    ("Gaussian DP", "mu-gaussian-dp"),
    ("add-remove", "adjacency"),
    ("replace-one", "adjacency"),
    ("l2 sensitivity", "l2-sensitivity"),
    ("sensitivity", "l2-sensitivity"),
    ("clip norm", "clip-norm"),
    ("noise multiplier", "noise-multiplier"),
    ("post-processing", "post-processing"),
    ("exponential mechanism", "exponential-mechanism"),
    ("Gram matrix", "gram-matrix"),
    ("ledger", "ledger"),
    ("null row", "null-row"),
    ("custodian", "custodian"),
];

/// The pages that readers meet first.
const READ: [&str; 21] = [
    "README.md",
    "docs/additive.md",
    "docs/algorithms.md",
    "docs/audit.md",
    "docs/benchmarks.md",
    "docs/bounds.md",
    "docs/cells.md",
    "docs/choosing.md",
    "docs/defaults.md",
    "docs/design.md",
    "docs/faq.md",
    "docs/improving.md",
    "docs/private-schema.md",
    "docs/protect.md",
    "docs/reports.md",
    "docs/schema.md",
    "docs/summaries.md",
    "docs/threat-model.md",
    "docs/tutorial.md",
    "docs/units.md",
    "docs/weights.md",
];

/// Sentences alone: no code, tables, headings, links or words in bold.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let lines = text.lines().filter(|line| {
        let start = line.trim_start();
        fenced ^= start.starts_with("```");
        !fenced && !start.starts_with(['|', '#', '`']) && !line.starts_with("    ")
    });
    let without_code: String = lines.flat_map(|line| line.split('`').step_by(2).chain(["\n"])).collect();
    let without_bold: String = without_code.split("**").step_by(2).collect();
    let mut parts = without_bold.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + " " + part.split_once("](").and_then(|(_, rest)| rest.split_once(')')).map_or(part, |it| it.1)
    })
}

fn uses(text: &str, term: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_');
    text.match_indices(term)
        .any(|(at, _)| !inside(text[..at].chars().next_back()) && !inside(text[at + term.len()..].chars().next()))
}

#[test]
fn words_of_privacy_are_linked_to_the_glossary() {
    let glossary = std::fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let anchor = |heading: &str| heading.to_lowercase().replace(' ', "-").replace([',', '(', ')'], "");
    let anchors: Vec<String> = glossary.lines().filter_map(|line| line.strip_prefix("### ")).map(anchor).collect();
    let mut missing: Vec<String> = Vec::new();
    for page in READ {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let prose = prose(&text);
        for (term, anchor) in TERMS {
            assert!(anchors.iter().any(|it| it == anchor), "{anchor} is no entry of the glossary");
            if uses(&prose, term) && !text.contains(&format!("glossary.md#{anchor})")) {
                missing.push(format!("{page}: {term}"));
            }
        }
    }
    assert!(missing.is_empty(), "link the first use of {missing:#?} to docs/glossary.md");
}

#[test]
fn a_word_without_a_link_is_noticed() {
    let text = prose(
        "# delta\nSee `rho` and **ledger**, [epsilon](glossary.md#epsilon).\n| zCDP |\n```\ndelta\n```\nThe clip norm; sub-ledger.\n",
    );
    let used: Vec<&str> = TERMS.iter().map(|it| it.0).filter(|term| uses(&text, term)).collect();
    assert_eq!(used, ["clip norm"]);
}
