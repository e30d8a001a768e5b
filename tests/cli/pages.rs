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
    assert!(run_all("README.md") >= 12);
}

#[test]
fn the_tutorial_can_be_followed() {
    assert_eq!(run_all("docs/tutorial.md"), 12);
}

#[test]
fn the_pages_about_schemas_can_be_followed() {
    assert_eq!(run_all("docs/private-schema.md"), 6);
    assert_eq!(run_all("docs/schema.md"), 1);
}

#[test]
fn the_page_about_units_can_be_followed() {
    assert_eq!(run_all("docs/units.md"), 5);
    assert_eq!(run_all("docs/additive.md"), 13);
    assert_eq!(run_all("docs/summaries.md"), 2);
    assert_eq!(run_all("docs/reports.md"), 5);
    assert_eq!(run_all("docs/weights.md"), 2);
}

#[test]
fn the_page_about_bad_models_can_be_followed() {
    assert_eq!(run_all("docs/improving.md"), 4);
}

#[test]
fn the_pages_about_audits_can_be_followed() {
    assert_eq!(run_all("docs/audit.md"), 5);
}

#[test]
fn the_pages_about_accounting_can_be_followed() {
    assert_eq!(run_all("docs/accounting/README.md"), 5);
    assert_eq!(run_all("docs/accounting/comparison.md"), 2);
}

/// Epsilon after the last step by a notion, as `account curve` prints it.
fn printed(arguments: &str, notion: &str) -> f64 {
    let table = Folder::new().succeed(&format!("account curve steps {arguments} --points 2 --notions {notion}")).stdout;
    let last = table.lines().last().unwrap_or_default();
    last.rsplit(',').next().unwrap().parse().unwrap_or_else(|e| panic!("{arguments} {notion}: {e} in {table}"))
}

/// The cells of the row of a table that begins with a name; a row that only one table has.
fn row<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let rows: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(&format!("| {name} | "))).collect();
    assert_eq!(rows.len(), 1, "{name}: {rows:?}");
    rows[0].trim_end_matches(" |").split(" | ").collect()
}

#[test]
fn the_figures_about_accounting_are_what_the_program_prints() {
    let text = page("docs/accounting/comparison.md");
    let mut compared = 0;
    let mut compare = |figure: &str, arguments: &str, notion: &str| {
        let (stated, printed): (f64, f64) = (figure.parse().unwrap(), printed(arguments, notion));
        // Rounded up, like everything that is spent.
        assert!((0.0..1e-4).contains(&(stated - printed)), "{arguments} {notion}: {figure}, but {printed} is printed");
        compared += 1;
    };
    for (name, notion) in [
        ("zCDP, classical", "classical"),
        ("zCDP, optimal order", "optimal"),
        ("Renyi DP, real orders", "rdp"),
        ("PLD, certified upper bound", "pld"),
        ("exact Gaussian", "exact"),
    ] {
        let runs = [
            "add-remove --delta 1e-5",
            "add-remove --delta 1e-8",
            "replace-one --delta 1e-5",
            "replace-one --delta 1e-8",
        ];
        for (figure, run) in row(&text, name).into_iter().zip(runs) {
            compare(figure, &format!("--noise-multiplier 16.3206 --steps 16 --adjacency {run}"), notion);
        }
    }
    for (name, arguments) in [
        (
            "Poisson sampling, rate 0.01, noise multiplier 1, 1,000 steps",
            "--noise-multiplier 1 --rate 0.01 --steps 1000 --delta 1e-5",
        ),
        ("Laplace noise, scale 20, 100 steps", "--laplace-scale 20 --steps 100 --delta 1e-5"),
    ] {
        for (figure, notion) in row(&text, name).into_iter().zip(["classical", "optimal", "rdp", "pld"]) {
            if figure != "-" {
                compare(figure, arguments, notion);
            }
        }
    }
    assert_eq!(compared, 26);
}

#[test]
fn the_example_of_the_readme_prints_what_it_says() {
    let text = page("README.md");
    let example = text.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = surroundings();
    let printed = folder.succeed("train datasets/fair.csv --epsilon 1").stdout;
    let mut compared = 0;
    for line in example.lines().take_while(|line| !line.starts_with("Largest")).filter(|line| *line != "...") {
        // The end of these lines is drawn anew in every run.
        let fixed = ["sigma ", "run "].iter().find_map(|word| Some(line.split_once(word)?.0)).unwrap_or(line);
        assert!(printed.lines().any(|it| it.starts_with(fixed)), "{line:?} is not in {printed}");
        compared += 1;
    }
    assert!(compared >= 12, "{compared}");
    // The run that another page compares notions on.
    let steps = printed.lines().find(|line| line.starts_with("algorithm")).unwrap();
    assert!(printed.contains("multiplier 16.3206 per step") && steps.contains(" 16 releases by gradient steps"));
    assert!(page("docs/accounting/comparison.md").contains("multiplier 16.3206, 16 steps"));
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
    let expected = [
        "docs/accounting/README.md",
        "docs/accounting/comparison.md",
        "docs/additive.md",
        "docs/audit.md",
        "docs/improving.md",
        "docs/private-schema.md",
        "docs/reports.md",
        "docs/schema.md",
        "docs/summaries.md",
        "docs/tutorial.md",
        "docs/units.md",
        "docs/weights.md",
    ];
    assert_eq!(found, expected);
}
