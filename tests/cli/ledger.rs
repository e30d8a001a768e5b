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
fn an_account_names_its_unit_and_takes_no_run_for_another() {
    let folder = Folder::with("fair");
    assert!(!folder.succeed("ledger init l.sqlite other --rho 1").stdout.contains("person"));
    let page = folder.succeed("ledger init fair.ledger.sqlite fair --rho 1 --unit religious");
    let counted = "fair (add-remove by the person (all rows with the same \"religious\"))\n";
    assert!(page.stdout.starts_with(counted), "{page:?}");
    assert!(folder.succeed("ledger show fair.ledger.sqlite").stdout.starts_with(counted));
    let log = folder.succeed("ledger log fair.ledger.sqlite").stdout;
    assert!(log.contains("opened for add-remove by the person (all rows with the same \"religious\"), cap"), "{log}");
    assert_eq!(folder.spending("fair.ledger.sqlite")["unit"]["person"]["column"], "religious");
    assert_eq!(folder.spending("l.sqlite")["unit"], "row");
    let refused = folder.refuse("train fair.csv --rho 0.1 --steps 5", 1, &["guarantees by the row cannot be added"]);
    assert!(refused.stderr.contains("--unit religious"), "{refused:?}");
    assert_eq!(number(&folder.spending("fair.ledger.sqlite"), "/runs"), 0.0);
    assert_eq!(folder.run("ledger init m.sqlite fair --rho 1 --unit=").code, Some(2));
}

#[test]
fn runs_for_persons_and_runs_for_rows_never_share_an_account() {
    let folder = Folder::new();
    folder.succeed("generate logistic --persons --rows 1000 --features 2 --out p.csv");
    let unit = folder.json("p.schema.json")["unit"].clone();
    assert_eq!(unit["column"], "person");
    let mut rows = folder.json("p.schema.json");
    rows.as_object_mut().unwrap().remove("unit");
    folder.write("rows.schema.json", rows.to_string());
    let train = |ledger: &str, schema: &str, out: &str| {
        folder.run(&format!("train p.csv --rho 0.1 --steps 3 --schema {schema} --ledger {ledger} --out {out}"))
    };
    for (ledger, first, other) in
        [("a.sqlite", "p.schema.json", "rows.schema.json"), ("b.sqlite", "rows.schema.json", "p.schema.json")]
    {
        let out = format!("{ledger}.model.json");
        assert_eq!(train(ledger, first, &out).code, Some(0));
        let before = folder.succeed(&format!("ledger log {ledger}")).stdout;
        let refused = train(ledger, other, "refused.model.json");
        assert!(refused.code == Some(1) && refused.stderr.contains("cannot be added"), "{refused:?}");
        assert_eq!(folder.succeed(&format!("ledger log {ledger}")).stdout, before, "nothing is written");
        assert!(!folder.path("refused.model.json").exists());
        let verified = folder.succeed(&format!("verify {out} --ledger {ledger}")).stdout;
        let named =
            "ok      the entry counts by the person (all rows with the same \"person\"), and so does the statement\n";
        assert_eq!(verified.contains(named), first == "p.schema.json", "{verified}");
        let page = folder.succeed(&format!("statement {out}")).stdout;
        assert_eq!(page.contains("unit       person (all rows"), first == "p.schema.json", "{page}");
    }
}

#[test]
fn a_cap_given_as_epsilon_is_the_rho_that_guarantees_it() {
    let folder = Folder::new();
    folder.succeed("ledger init l.sqlite fair --epsilon 1 --delta 1e-6");
    let cap = number(&folder.spending("l.sqlite"), "/cap_rho");
    // Converted at nine tenths of delta: a tenth is kept for claims.
    assert!((0.0240..=0.024355970359538372).contains(&cap), "{cap}");
    let asked = folder.spending("l.sqlite")["cap"].clone();
    assert_eq!((&asked["notion"], number(&asked, "/epsilon"), number(&asked, "/delta")), (&"zcdp".into(), 1.0, 1e-6));
    assert!((number(&asked, "/claims_delta") / 1e-7 - 1.0).abs() < 1e-12);
    folder.succeed("ledger cap l.sqlite fair --epsilon 1 --delta 1e-6 --claims-delta 0");
    let whole = number(&folder.spending("l.sqlite"), "/cap_rho");
    assert!((0.02435..=0.024355970359538372).contains(&whole), "{whole}");
}

#[test]
fn raising_a_cap_stays_on_record_and_lowering_does_not_count() {
    let folder = Folder::new();
    folder.succeed("ledger init l.sqlite fair --rho 0.5");
    folder.succeed("ledger cap l.sqlite fair --rho 0.25");
    assert_eq!(folder.spending("l.sqlite")["cap_raised"], 0);
    let page = folder.succeed("ledger cap l.sqlite fair --rho 0.75");
    assert!(page.stdout.contains("cap raised 1 time\n"), "{page:?}");
    assert_eq!(number(&folder.spending("l.sqlite"), "/cap_rho"), 0.75);
}

#[test]
fn runs_add_up_and_what_is_left_shrinks() {
    let folder = Folder::with("fair");
    folder.succeed("ledger init fair.ledger.sqlite fair --rho 1");
    for run in 1..=3u64 {
        folder.succeed("train fair.csv --overwrite --rho 0.1 --steps 5");
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
    folder.succeed("train fair.csv --overwrite --rho 0.1 --steps 5 --out first.json");
    let before = folder.contents();
    let outcome = folder.run("train fair.csv --overwrite --rho 0.1 --steps 5");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""), "{outcome:?}");
    assert!(outcome.stderr.contains("rho 0.05") && outcome.stderr.contains("left of its cap 0.15"), "{outcome:?}");
    assert!(folder.contents() == before, "no model, no entry: {:?}", folder.names());
    folder.succeed("train fair.csv --overwrite --rho 0.05 --steps 5");
    assert_eq!(folder.run("train fair.csv --overwrite --rho 0.05 --steps 5").code, Some(1));
}

#[test]
fn a_seeded_run_does_not_slip_past_the_cap() {
    let folder = Folder::with("fair");
    folder.succeed("ledger init fair.ledger.sqlite fair --rho 0.05");
    let outcome = folder.run("train fair.csv --overwrite --rho 0.1 --seed 1");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(!folder.names().contains(&"fair.model.json".into()));
}

#[test]
fn an_edited_ledger_is_refused_by_every_command() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --overwrite --epsilon 1 --steps 5");
    let whole = folder.bytes("fair.ledger.sqlite");
    let at = whole.windows(6).position(|window| window == b"\"fair\"").expect("the name of the data set");
    let mut edited = whole;
    edited[at + 1] = b'h';
    folder.write("fair.ledger.sqlite", &edited);
    for arguments in [
        "ledger verify fair.ledger.sqlite",
        "ledger show fair.ledger.sqlite",
        "ledger cap fair.ledger.sqlite fair --rho 9",
        "train fair.csv --overwrite --epsilon 1 --out new.json",
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
    folder.write("notes.txt", "some notes\n".repeat(100));
    let before = folder.contents();
    for (arguments, code, needle) in [
        ("init l.sqlite fair --rho 1", 1, "in the ledger already"),
        ("init l.sqlite other --rho -1", 2, "rho"),
        ("init l.sqlite other --rho nan", 2, "rho"),
        ("init l.sqlite other --epsilon 1", 2, "--delta"),
        ("init l.sqlite other --epsilon 1 --delta 2", 2, "delta"),
        ("init l.sqlite other --epsilon 0.5 --delta 0.5", 2, "--accept-large-delta"),
        ("init l.sqlite other --epsilon 1 --delta 1e-6 --claims-delta 1e-6", 2, "--claims-delta"),
        ("init l.sqlite other --rho 1 --claims-delta 0.5", 2, "--accept-large-delta"),
        ("init l.sqlite other --gaussian", 2, "--epsilon E --delta D"),
        ("init l.sqlite Fair", 1, "\"fair\", which looks the same"),
        ("init none/l.sqlite other", 2, "none/l.sqlite"),
        ("cap l.sqlite other --rho 1", 2, "not in the ledger"),
        ("cap l.sqlite fair", 2, "--rho"),
        ("cap none.sqlite fair --rho 1", 2, "does not exist"),
        ("show none.sqlite", 2, "does not exist"),
        ("show l.sqlite --delta 0", 2, "delta"),
        ("verify none.sqlite", 2, "does not exist"),
        ("show notes.txt", 2, "not a rhograd ledger"),
        ("verify notes.txt", 2, "not a rhograd ledger"),
        ("show .", 2, "directory"),
        ("show -", 2, "does not exist"),
        ("cap l.sqlite fair --rho -1", 2, "--rho: is -1"),
        ("show l.sqlite --delta 2", 2, "--delta: is 2"),
    ] {
        let outcome = folder.run(&format!("ledger {arguments}"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(code), ""), "{outcome:?}");
        assert!(outcome.stderr.contains(needle), "{outcome:?}");
    }
    assert!(folder.contents() == before);
}

/// What a refusal may leave: nothing.
fn refused(folder: &Folder, arguments: &str, code: i32, needles: &[&str]) {
    let before = folder.contents();
    let outcome = folder.run(arguments);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(code), ""), "{outcome:?}");
    needles.iter().for_each(|needle| assert!(outcome.stderr.contains(needle), "{needle}: {outcome:?}"));
    assert!(folder.contents() == before, "{arguments}: {:?}", folder.names());
}

#[test]
fn a_delta_of_one_half_passes_no_cap() {
    let folder = Folder::with("fair");
    folder.succeed("ledger init fair.ledger.sqlite fair --epsilon 0.5 --delta 1e-6");
    let run = "train fair.csv --algorithm dp-sgd --no-standardise --steps 5 --epsilon 0.001 --delta 0.5";
    refused(&folder, run, 2, &["--delta: is 0.5", "--accept-large-delta"]);
    // Whoever accepts it meets the cap.
    refused(&folder, &format!("{run} --accept-large-delta"), 1, &["delta 1e-7 left of its 1e-7 for claims"]);
    // A tenth of one over the declared rows.
    refused(&folder, "train fair.csv --epsilon 0.1 --steps 5 --delta 2e-5", 2, &["6366 declared rows"]);
    folder.succeed("train fair.csv --epsilon 0.1 --steps 5 --delta 1.5e-5");
}

#[test]
fn an_accepted_delta_stands_in_the_statement() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --epsilon 0.1 --steps 5 --delta 0.01 --accept-large-delta");
    let statement = folder.json("fair.model.json")["statement"].clone();
    assert_eq!(statement["facts"]["large_delta_accepted"], true);
    assert!(folder.succeed("statement fair.model.json").stdout.contains("delta 1e-2 was accepted on purpose"));
    folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite");
    // The flag alone says nothing where it was not needed.
    folder.succeed("train fair.csv --epsilon 0.1 --steps 5 --accept-large-delta --out b.model.json");
    assert!(folder.json("b.model.json")["statement"]["facts"].get("large_delta_accepted").is_none());
}

#[test]
fn drafts_do_not_pass_a_cap_by_their_delta() {
    let folder = Folder::with("fair");
    folder.remove("fair.schema.json");
    folder.succeed("ledger init fair.ledger.sqlite fair --epsilon 0.5 --delta 1e-6");
    for _ in 0..3 {
        refused(&folder, "inspect fair.csv --rho 1e-5 --delta 0.99", 2, &["--accept-large-delta"]);
        let accepted = "inspect fair.csv --rho 1e-5 --delta 0.99 --accept-large-delta";
        refused(&folder, accepted, 1, &["delta 1e-7 left of its 1e-7 for claims"]);
    }
}

#[test]
fn deltas_of_claims_add_up_to_the_cap_and_no_further() {
    let folder = Folder::with("fair");
    folder.succeed("ledger init fair.ledger.sqlite fair --epsilon 3 --delta 1e-6");
    let run = |algorithm: &str, delta: &str| {
        format!(
            "train fair.csv --algorithm {algorithm} --epsilon 0.2 --steps 20 --rows 6366 {delta} --out {algorithm}.json"
        )
    };
    for algorithm in ["dp-sgd", "objective-perturbation"] {
        // The delta of the public rule alone is ten times what the cap holds for claims.
        let arguments =
            run(algorithm, "").replace("--steps 20 ", if algorithm == "dp-sgd" { "--steps 20 " } else { "" });
        refused(&folder, &arguments, 1, &["for claims", "--delta that is left"]);
    }
    folder.succeed(&run("dp-sgd", "--delta 6e-8"));
    let more = run("objective-perturbation", "--delta 6e-8").replace("--steps 20 ", "");
    refused(&folder, &more, 1, &["left of its 1e-7 for claims"]);
    folder.succeed(&more.replace("6e-8", "3e-8"));
    let spending = folder.spending("fair.ledger.sqlite");
    let (spent, left) = (number(&spending, "/spent_delta"), number(&spending, "/left_delta"));
    assert!((spent / 9e-8 - 1.0).abs() < 1e-9 && (left / 1e-8 - 1.0).abs() < 1e-6, "{spending}");
    // Runs whose cost is a rho go on.
    folder.succeed("train fair.csv --epsilon 0.2 --steps 5");
    let page = folder.succeed("ledger show fair.ledger.sqlite").stdout;
    assert!(page.contains("cap        epsilon 3 at delta 1e-6, epsilon ") && page.contains(" spent\n"), "{page}");
    assert!(page.contains("delta 1e-7 for claims, "), "{page}");
    let limits = folder.succeed("statement dp-sgd.json").stdout;
    assert!(limits.contains("all runs in it on the data set together to (3, 1e-6)-differential privacy"), "{limits}");
    folder.succeed("verify dp-sgd.json --ledger fair.ledger.sqlite");
}

#[test]
fn a_gaussian_cap_admits_gaussian_runs_alone_and_more_of_them() {
    let folder = Folder::with("fair");
    folder.succeed("ledger init fair.ledger.sqlite fair --epsilon 1 --delta 1e-6 --gaussian");
    for algorithm in ["dp-sgd --steps 5", "objective-perturbation", "dp-gd --steps 5 --noise discrete-gaussian"] {
        let run = format!("train fair.csv --epsilon 0.1 --delta 1e-8 --algorithm {algorithm}");
        refused(&folder, &run, 1, &["fixes mu and admits Gaussian noise on all rows alone", "left of its"]);
    }
    // All of it at once, by the exact trade-off: a cap in zCDP has no room for that.
    folder.succeed("train fair.csv --epsilon 0.999 --delta 1e-6 --steps 5");
    let page = folder.succeed("ledger show fair.ledger.sqlite").stdout;
    assert!(page.contains("as Gaussian DP") && page.contains("Gaussian noise on all rows alone is admitted"), "{page}");
    refused(&folder, "train fair.csv --overwrite --epsilon 0.1 --delta 1e-6 --steps 5", 1, &["left of its cap"]);
    let other = Folder::with("fair");
    other.succeed("ledger init fair.ledger.sqlite fair --epsilon 1 --delta 1e-6");
    refused(&other, "train fair.csv --epsilon 0.999 --delta 1e-6 --steps 5", 1, &["left of its cap"]);
    // A run that was not Gaussian is in the account for good.
    other.succeed("train fair.csv --epsilon 0.1 --delta 1e-8 --algorithm objective-perturbation");
    refused(&other, "ledger cap fair.ledger.sqlite fair --rho 1 --gaussian", 1, &["which no mu covers"]);
}

#[test]
fn a_renyi_cap_counts_sampled_runs_by_their_own_divergence() {
    let folder = Folder::with("fair");
    folder.succeed("ledger init fair.ledger.sqlite fair --epsilon 1 --delta 1e-6 --renyi");
    let sgd = |epsilon: &str, out: &str| {
        format!(
            "train fair.csv --algorithm dp-sgd --steps 200 --rows 6366 --epsilon {epsilon} --delta 1e-6 --out {out}.json"
        )
    };
    // Two runs that a cap in zCDP with all of delta for claims would not admit: 0.5 alone is worth rho 0.12 of its 0.02.
    let told = folder.succeed(&sgd("0.5", "a")).stderr;
    assert!(told.contains("left under its cap") && told.contains(" at order "), "{told}");
    folder.succeed(&sgd("0.5", "b"));
    refused(&folder, &sgd("0.7", "c"), 1, &["left of its cap", "--renyi=ORDER", " at order "]);
    // Full-batch runs go on by their rho.
    folder.succeed("train fair.csv --epsilon 0.05 --delta 1e-6 --steps 5 --out d.json");
    let spending = folder.spending("fair.ledger.sqlite");
    let [spent, most, left] = ["/spent_at_order", "/cap/rho", "/left_rho"].map(|name| number(&spending, name));
    assert!((spent + left - most).abs() < 1e-12 && spent > 0.6 * most && left > 0.0, "{spending}");
    let order = number(&spending, "/cap/order");
    assert!(order > 15.0 && order < 30.0 && spending["left_delta"].is_null(), "{spending}");
    let page = folder.succeed("ledger show fair.ledger.sqlite").stdout;
    assert!(page.contains(", as Renyi DP, ") && page.contains("every run counts by its divergence"), "{page}");
    assert!(
        page.contains("  spent      rho 0.01") && page.contains(" at order 22\n") && page.contains("% of it spent"),
        "{page}"
    );
    let told = folder.succeed("check fair.csv").stdout;
    assert!(told.contains("has spent rho 0.01") && told.contains(" at order 22 in 3 runs"), "{told}");
    let log = folder.succeed("ledger log fair.ledger.sqlite").stdout;
    assert_eq!(log.matches(" (at order ").count(), 3, "{log}");
    for model in ["a", "b", "d"] {
        folder.succeed(&format!("verify {model}.json --ledger fair.ledger.sqlite"));
        let limits = folder.succeed(&format!("statement {model}.json")).stdout;
        assert!(limits.contains("data set together to (1, 1e-6)-differential privacy"), "{limits}");
    }
    let report =
        folder.succeed("report a.json --ledger fair.ledger.sqlite --out a.html").stdout + &folder.text("a.html");
    assert!(
        report.contains(" at order 22, of which this one 0.0074")
            && report.contains(". 3 of them released")
            && report.contains("left under its cap"),
        "{report}"
    );
    // What was charged before counts under a new order; a cap in its place is a raise.
    folder.succeed("ledger cap fair.ledger.sqlite fair --epsilon 1 --delta 1e-6 --renyi=16");
    assert_eq!(number(&folder.spending("fair.ledger.sqlite"), "/cap_raised"), 1.0);
    folder.succeed("train fair.csv --epsilon 0.01 --delta 1e-6 --steps 5 --out e.json");
    let limits = folder.succeed("statement e.json").stdout;
    assert!(
        limits.contains("it was raised 1 times, and holds") && limits.contains("it was set after 3 runs"),
        "{limits}"
    );
    folder.succeed("verify e.json --ledger fair.ledger.sqlite");
    let log = folder.succeed("ledger log fair.ledger.sqlite --json").json();
    let last = log["entries"].as_array().unwrap().last().unwrap();
    assert!(last["cap_order"] == 16.0 && last["spent_at_order"].as_f64().unwrap() > 0.0, "{last}");
    refused(&folder, "ledger cap fair.ledger.sqlite fair --rho 1 --renyi", 2, &["--renyi=ORDER"]);
    refused(&folder, "ledger cap fair.ledger.sqlite fair --epsilon 1 --delta 1e-6 --renyi=1", 2, &["above 1"]);
    refused(&folder, "ledger cap fair.ledger.sqlite fair --epsilon 1 --delta 1e-6 --renyi --gaussian", 2, &[]);
    // A draft opens what passes a threshold, and so may fail.
    refused(&folder, "inspect fair.csv --rho 1e-5 --delta 1e-7", 1, &["none that is finite"]);
    folder.succeed("ledger verify fair.ledger.sqlite");
}

#[test]
fn a_lost_ledger_is_not_replaced_by_an_empty_one() {
    let folder = Folder::with("fair");
    refused(
        &folder,
        "train fair.csv --epsilon 1 --steps 5 --require-ledger",
        2,
        &["fair.ledger.sqlite does not exist"],
    );
    folder.succeed("train fair.csv --epsilon 1 --steps 5");
    folder.succeed("train fair.csv --epsilon 1 --steps 5 --require-ledger --out second.json");
    folder.remove("fair.ledger.sqlite");
    for run in ["train fair.csv --epsilon 1 --steps 5 --out third.json", "ledger show fair.ledger.sqlite"] {
        refused(&folder, run, 1, &["is missing", "fair.ledger.sqlite.note says that it was here"]);
    }
    folder.remove("fair.ledger.sqlite.note");
    folder.succeed("train fair.csv --epsilon 1 --steps 5 --out third.json");
}

#[cfg(unix)]
#[test]
fn rows_from_a_pipe_need_a_ledger_that_is_named() {
    let folder = Folder::with("fair");
    for command in ["train /dev/stdin --schema fair.schema.json --epsilon 1", "inspect /dev/stdin --epsilon 1"] {
        let mut run = assert_cmd::Command::from_std(folder.command(command));
        let outcome = run.write_stdin(folder.bytes("fair.csv")).output().unwrap();
        assert_eq!(outcome.status.code(), Some(2));
        let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert!(text.contains("--ledger: is missing, and /dev/stdin is no file"), "{text}");
    }
    let named = "train /dev/stdin --schema fair.schema.json --epsilon 1 --steps 5 --ledger l.sqlite --out m.json";
    assert_cmd::Command::from_std(folder.command(named)).write_stdin(folder.bytes("fair.csv")).assert().success();
}

#[test]
fn a_ledger_in_memory_is_warned_of() {
    let folder = Folder::with("fair");
    let told = folder.succeed("train fair.csv --epsilon 1 --steps 5").stderr;
    let memory = folder.path("").starts_with("/dev/shm");
    assert_eq!(told.contains("lies in memory (tmpfs)"), memory, "{told}");
    let disk = Folder::on_disk();
    assert!(!disk.succeed("ledger init l.sqlite d").stderr.contains("warning"));
}

#[test]
fn the_log_tells_every_entry_with_what_was_spent_then() {
    let folder = Folder::with("fair");
    folder.succeed("ledger init fair.ledger.sqlite fair --rho 2");
    folder.succeed("ledger init fair.ledger.sqlite other");
    folder.succeed("train fair.csv --rho 0.5 --steps 3 --out a.json");
    folder.succeed("train fair.csv --rho 0.25 --steps 3 --seed 1 --out b.json");
    folder.succeed("ledger cap fair.ledger.sqlite fair --epsilon 9 --delta 1e-6");
    let entries = folder.succeed("ledger log fair.ledger.sqlite --json").json()["entries"].clone();
    let entries = entries.as_array().unwrap();
    let column = |name: &str| entries.iter().map(|entry| entry[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("what"), ["open", "open", "charge", "complete", "charge", "complete", "cap"]);
    assert_eq!(column("sequence"), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(column("dataset"), ["fair", "other", "fair", "fair", "fair", "fair", "fair"]);
    let spent: Vec<f64> = column("spent_rho").iter().map(|rho| rho.as_f64().unwrap()).collect();
    assert!(spent.windows(2).all(|pair| pair[0] <= pair[1] || pair[1] == 0.0), "{spent:?}");
    let charged: f64 = column("rho").iter().filter_map(serde_json::Value::as_f64).sum();
    let shown = folder.succeed("ledger show fair.ledger.sqlite --json").json();
    assert!((charged - spent[6]).abs() < 1e-12 && shown["datasets"][0]["spent_rho"] == entries[6]["spent_rho"]);
    assert_eq!(shown["datasets"][0]["head"], entries[6]["hash"]);
    assert_eq!((&entries[2]["private"], &entries[4]["private"]), (&true.into(), &false.into()));
    let run = folder.json("a.json")["statement"]["facts"]["ledger"]["run"].clone();
    assert_eq!((&entries[2]["run"], &entries[3]["run"]), (&run, &run));

    let page = folder.succeed("ledger log fair.ledger.sqlite").stdout;
    let lines: Vec<&str> = page.lines().collect();
    assert_eq!(lines.len(), 7, "{page}");
    assert!(lines[0].starts_with("1 ") && lines[0].contains("fair: opened for add-remove, cap rho 2"), "{page}");
    assert!(lines[2].contains("charged rho 0.5; in all 0.5 in 1 run") && lines[2].contains(" 20"), "{page}");
    assert!(lines[4].contains("in all 0.75 in 2 runs, NOT PRIVATE"), "{page}");
    assert!(lines[6].contains("cap epsilon 9 at delta 1e-6"), "{page}");
    assert_eq!(folder.succeed("ledger log fair.ledger.sqlite --dataset other").stdout.lines().count(), 1);
    let unknown = folder.run("ledger log fair.ledger.sqlite --dataset nobody");
    assert!(unknown.code == Some(2) && unknown.stderr.contains("--dataset"), "{unknown:?}");
    let bytes = folder.bytes("fair.ledger.sqlite");
    let at = bytes.windows(6).position(|it| it == b"\"fair\"").unwrap();
    folder.write("fair.ledger.sqlite", [&bytes[..at], b"\"fAir\"", &bytes[at + 6..]].concat());
    assert_ne!(folder.run("ledger log fair.ledger.sqlite").code, Some(0));
}
