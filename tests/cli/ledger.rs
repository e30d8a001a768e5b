//! Caps and spending at the command line.

use super::support::{Folder, number};

#[test]
fn a_ledger_shows_its_cap_and_what_is_left() {
    let folder = Folder::new();
    let page = folder.succeed("ledger init l.sqlite fair --rho 0.5");
    assert!(page.stdout.contains("rho 0.5, 0.5 left"), "{page:?}");
    let spending = folder.spending("l.sqlite");
    for (key, value) in [("spent_rho", 0.0), ("spent_epsilon", 0.0), ("cap_rho", 0.5), ("left_rho", 0.5), ("runs", 0.0)]
    {
        assert_eq!(number(&spending, &format!("/{key}")), value, "{key}");
    }
    assert_eq!((&spending["dataset"], &spending["adjacency"]), (&"fair".into(), &"add-remove".into()));
    assert!(folder.succeed("ledger show l.sqlite").stdout.starts_with("fair (add-remove)\n"));
    assert!(folder.succeed("ledger verify l.sqlite").stdout.starts_with("verified: 1 entries, head "));
}

#[test]
fn a_cap_given_as_epsilon_is_the_rho_that_guarantees_it() {
    let folder = Folder::new();
    folder.succeed("ledger init l.sqlite fair --epsilon 1 --delta 1e-6");
    let cap = number(&folder.spending("l.sqlite"), "/cap_rho");
    assert!((0.02435..=0.024355970359538372).contains(&cap), "{cap}");
}

#[test]
fn raising_a_cap_stays_on_record_and_lowering_does_not_count() {
    let folder = Folder::new();
    folder.succeed("ledger init l.sqlite fair --rho 0.5");
    folder.succeed("ledger cap l.sqlite fair --rho 0.25");
    assert_eq!(folder.spending("l.sqlite")["cap_raised"], 0);
    let page = folder.succeed("ledger cap l.sqlite fair --rho 0.75");
    assert!(page.stdout.contains("cap raised 1 times"), "{page:?}");
    assert_eq!(number(&folder.spending("l.sqlite"), "/cap_rho"), 0.75);
}

#[test]
fn runs_add_up_and_what_is_left_shrinks() {
    let folder = Folder::with("fair");
    folder.succeed("ledger init fair.ledger.sqlite fair --rho 1");
    for run in 1..=3u64 {
        folder.succeed("train fair.csv --rho 0.1 --steps 5");
        let spending = folder.spending("fair.ledger.sqlite");
        let spent = number(&spending, "/spent_rho");
        assert_eq!((&spending["runs"], &spending["completed"]), (&run.into(), &run.into()));
        assert!((0.0999 * run as f64..=0.1 * run as f64 + 1e-15).contains(&spent), "{spent}");
        assert!((number(&spending, "/left_rho") + spent - 1.0).abs() < 1e-12);
    }
    let facts = folder.json("fair.model.json")["statement"]["facts"]["ledger"].clone();
    assert!(facts["cap_rho"].is_object() && facts["spent_after"].is_object());
}

#[test]
fn a_run_over_the_cap_is_refused_names_what_is_left_and_changes_nothing() {
    let folder = Folder::with("fair");
    folder.succeed("ledger init fair.ledger.sqlite fair --rho 0.15");
    folder.succeed("train fair.csv --rho 0.1 --steps 5 --out first.json");
    let before = folder.contents();
    let outcome = folder.run("train fair.csv --rho 0.1 --steps 5");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""), "{outcome:?}");
    assert!(outcome.stderr.contains("rho 0.05") && outcome.stderr.contains("left of its cap 0.15"), "{outcome:?}");
    assert!(folder.contents() == before, "no model, no entry: {:?}", folder.names());
    folder.succeed("train fair.csv --rho 0.05 --steps 5");
    assert_eq!(folder.run("train fair.csv --rho 0.05 --steps 5").code, Some(1));
}

#[test]
fn a_seeded_run_does_not_slip_past_the_cap() {
    let folder = Folder::with("fair");
    folder.succeed("ledger init fair.ledger.sqlite fair --rho 0.05");
    let outcome = folder.run("train fair.csv --rho 0.1 --seed 1");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(!folder.names().contains(&"fair.model.json".into()));
}

#[test]
fn an_edited_ledger_is_refused_by_every_command() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --epsilon 1 --steps 5");
    let whole = folder.bytes("fair.ledger.sqlite");
    let at = whole.windows(6).position(|window| window == b"\"fair\"").expect("the name of the data set");
    let mut edited = whole;
    edited[at + 1] = b'h';
    folder.write("fair.ledger.sqlite", &edited);
    for arguments in [
        "ledger verify fair.ledger.sqlite",
        "ledger show fair.ledger.sqlite",
        "ledger cap fair.ledger.sqlite fair --rho 9",
        "train fair.csv --epsilon 1 --out new.json",
        "verify fair.model.json --ledger fair.ledger.sqlite",
    ] {
        let outcome = folder.run(arguments);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""), "{outcome:?}");
        assert!(outcome.stderr.contains("fair.ledger.sqlite"), "{outcome:?}");
    }
    assert_eq!(folder.bytes("fair.ledger.sqlite"), edited);
    assert!(!folder.names().contains(&"new.json".into()));
}

#[test]
fn senseless_ledger_commands_are_refused() {
    let folder = Folder::new();
    folder.succeed("ledger init l.sqlite fair --rho 0.5");
    let before = folder.contents();
    for (arguments, code, needle) in [
        ("init l.sqlite fair --rho 1", 1, "in the ledger already"),
        ("init l.sqlite other --rho -1", 2, "rho"),
        ("init l.sqlite other --rho nan", 2, "rho"),
        ("init l.sqlite other --epsilon 1", 2, "--delta"),
        ("init l.sqlite other --epsilon 1 --delta 2", 2, "delta"),
        ("init none/l.sqlite other", 2, "none/l.sqlite"),
        ("cap l.sqlite other --rho 1", 1, "not in the ledger"),
        ("cap l.sqlite fair", 2, "--rho"),
        ("cap none.sqlite fair --rho 1", 1, "does not exist"),
        ("show none.sqlite", 1, "does not exist"),
        ("show l.sqlite --delta 0", 2, "delta"),
        ("verify none.sqlite", 1, "does not exist"),
    ] {
        let outcome = folder.run(&format!("ledger {arguments}"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(code), ""), "{outcome:?}");
        assert!(outcome.stderr.contains(needle), "{outcome:?}");
    }
    assert!(folder.contents() == before);
}
