//! The page for whoever must approve a release.

use super::support::{Folder, rows};

/// Schema of [`rows`]; one value that a page must not obey.
const SCHEMA: &str = r#"{"name":"trial<b>","task":"classification","target":"y","positive":"yes","negative":"no",
    "columns":{"x":{"type":"numeric","lower":0,"upper":10},"z":{"type":"numeric","lower":-1,"upper":1},
    "c":{"type":"categorical","values":["u","v","w","<script>&\""]}}}"#;

fn folder(flags: &str) -> Folder {
    let folder = Folder::trial(SCHEMA, rows(3000));
    folder.succeed(&format!("train trial.csv --epsilon 2 --out m.json --log m.log --ledger l.sqlite {flags}"));
    folder
}

/// Every tag that is opened is closed, in order; what needs no end is left out.
fn is_well_formed(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    for piece in page.split('<').skip(1) {
        let tag = piece.split('>').next().unwrap();
        let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap();
        match () {
            () if tag.starts_with('!') || tag.ends_with('/') || name == "meta" => {}
            () if tag.starts_with('/') => assert_eq!(open.pop(), Some(name), "{tag}"),
            () => open.push(name),
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

#[test]
fn a_page_answers_who_is_protected_what_was_spent_and_how_to_check_it() {
    for flags in [
        "",
        "--features additive",
        "--features rich",
        "--algorithm dp-sgd --steps 20",
        "--adjacency replace-one --rows 3000",
    ] {
        let folder = folder(&format!("{flags} --evaluate-budget 0.1"));
        folder.succeed("report m.json --ledger l.sqlite --log m.log --out report.html");
        let page = folder.text("report.html");
        for words in [
            "In plain words",
            "Who is protected from what",
            "What is not protected",
            "How much was spent, and what is left",
            "has no cap",
            "What was released",
            "Effects on log-odds of y = yes",
            "were held out of training",
            "differ by at most 0.",
            "Who chose what",
            "authenticated by the ledger",
            "rhograd verify m.json --ledger l.sqlite --log m.log",
            "Entries of the ledger on this data set",
            "The log of the run",
            "role=\"img\" aria-label=\"Trade-off curve",
        ] {
            assert!(page.contains(words), "{flags}: {words}");
        }
        is_well_formed(&page);
        // Nothing is fetched or run, and no name is markup.
        assert!(
            !page.contains("<script") && !page.contains(" src=") && !page.contains("<link") && !page.contains("<b>\"")
        );
        assert!(page.contains("trial&lt;b&gt;") && page.contains("&lt;script&gt;&amp;"), "{flags}");
        let to_screen = folder.succeed("report m.json --ledger l.sqlite --log m.log").stdout;
        assert_eq!(to_screen, page);
    }
}

#[test]
fn a_page_tells_the_cap_and_every_run() {
    let folder = folder("");
    folder.succeed("ledger cap l.sqlite trial<b> --epsilon 4 --delta 1e-6");
    folder.succeed("train trial.csv --epsilon 1 --out n.json --log n.log --ledger l.sqlite");
    folder.succeed("report m.json --ledger l.sqlite --out m.html");
    let page = folder.text("m.html");
    assert!(page.contains("of the cap was spent before this run") && page.contains("All 2 runs on"), "{page}");
    assert!(page.contains("set after 1 run") && page.contains("class=\"meter\""));
    let spent = folder.spending("l.sqlite")["spent_rho"].as_f64().unwrap();
    assert!(page.contains(&format!("together cost rho {:.3}", spent)[..22]), "{spent}");
    let alone = folder.succeed("report m.json").stdout;
    assert!(
        alone.contains("made without the ledger")
            && alone.contains("not authenticated")
            && !alone.contains("All 2 runs")
    );
}

#[test]
fn of_what_does_not_verify_no_page_is_made() {
    let folder = folder("");
    folder.edit("m.json", "\"dimension\": ", "\"dimension\": 1");
    folder.refuse("report m.json --out report.html", 1, &["does not verify", "rhograd verify"]);
    assert!(!folder.path("report.html").exists());
}

#[test]
fn another_log_another_ledger_and_other_places_are_refused() {
    let folder = folder("");
    folder.succeed("train trial.csv --epsilon 1 --out n.json --log n.log --ledger other.sqlite");
    folder.refuse("report m.json --log n.log", 1, &["does not verify", "log"]);
    folder.refuse("report m.json --ledger other.sqlite", 1, &["does not verify", "ledger"]);
    folder.refuse("report m.json --ledger nowhere.sqlite", 2, &["nowhere.sqlite"]);
    folder.write("there.html", "mine");
    folder.refuse("report m.json --out there.html", 2, &["exists already", "--overwrite"]);
    for name in ["m.json", "l.sqlite", "m.log"] {
        let before = folder.bytes(name);
        let command = format!("report m.json --ledger l.sqlite --log m.log --out {name} --overwrite");
        folder.refuse(&command, 2, &["would overwrite", name]);
        assert_eq!(folder.bytes(name), before);
    }
    folder.succeed("report m.json --out there.html --overwrite");
    assert!(folder.text("there.html").starts_with("<!DOCTYPE html>"));
}

#[test]
fn a_model_with_a_seed_is_told_as_what_it_is() {
    let folder = folder("--seed 1 --overwrite");
    let outcome = folder.succeed("report m.json --ledger l.sqlite");
    assert!(outcome.stderr.contains("NOT PRIVATE") && outcome.stdout.contains("<b>NOT PRIVATE</b>"), "{outcome:?}");
    assert!(!outcome.stdout.contains("In plain words") && !outcome.stdout.contains("Trade-off"));
    assert!(outcome.stdout.contains("NOT PRIVATE: its noise came from a fixed seed"));
}

#[test]
fn documents_for_others_need_what_no_model_tells() {
    let folder = folder("");
    let card = folder.succeed("statement m.json --model-card").stdout;
    assert!(card.starts_with("# A model of \"trial&lt;b>\"\n") && card.contains("| x |"), "{card}");
    assert!(card.contains("## Intended use\n\n*Not told") && !card.contains("<script"), "{card}");
    let answers = folder.succeed("statement m.json --nist").stdout;
    for words in ["epsilon 2, delta", "(curator) *Not told", "For 5 rows together", "## 6. Trust"] {
        assert!(answers.contains(words), "{words}: {answers}");
    }
    folder.refuse("statement m.json --registry", 2, &["--about", "is missing", "\"curators\""]);
    folder.write("about.json", "{\"name\": \"x\"}");
    folder.refuse("statement m.json --registry --about about.json", 2, &["about.json", "line 1", "missing field"]);
    folder.write(
        "about.json",
        r#"{"name":"x","curators":["c"],"intended_use":"u","region":"r","published":"2026-11-25","authors":["a"]}"#,
    );
    let entry = folder.succeed("statement m.json --registry --about about.json").stdout;
    assert!(
        entry.contains("tier: 3\n") && entry.contains("      epsilon: 2.0\n") && entry.contains("    name: \"x\"\n"),
        "{entry}"
    );
    folder.refuse("statement m.json --about about.json", 2, &["--about", "no use alone"]);
    folder.refuse("statement m.json --registry --json --about about.json", 2, &["--json"]);
    let seeded = self::folder("--seed 1");
    seeded.write("about.json", folder.text("about.json"));
    seeded.refuse("statement m.json --registry --about about.json", 1, &["registry holds guarantees"]);
    assert!(seeded.succeed("statement m.json --nist").stdout.contains("**NOT PRIVATE**"));
}
