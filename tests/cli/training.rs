//! The main job: train, then use and check what was written.

use serde_json::Value;

use super::support::{Folder, HEADER, SCHEMA, number, rows};

fn log_entries(folder: &Folder, name: &str) -> Vec<Value> {
    folder.text(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn one_command_gives_model_log_and_ledger_and_nothing_else() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --epsilon 1");
    assert_eq!(
        folder.names(),
        [
            "fair.csv",
            "fair.ledger.sqlite",
            "fair.ledger.sqlite.note",
            "fair.log.jsonl",
            "fair.model.json",
            "fair.schema.json"
        ]
    );
    let spending = folder.spending("fair.ledger.sqlite");
    assert_eq!((&spending["runs"], &spending["completed"]), (&1.into(), &1.into()));
    let model = folder.json("fair.model.json");
    assert_eq!(model.pointer("/statement/dp"), Some(&true.into()));
    assert_eq!(
        spending["spent_rho"].as_f64().map(|rho| rho <= number(&model, "/statement/guarantee/rho_upper")),
        Some(true)
    );
}

#[test]
fn training_leaves_data_and_schema_as_they_are() {
    let folder = Folder::with("fair");
    let before = folder.contents();
    folder.succeed("train fair.csv --epsilon 1");
    let after = folder.contents();
    assert!(before.iter().all(|(name, content)| after.get(name) == Some(content)));
}

#[test]
fn standard_output_holds_the_guarantee_and_nothing_for_the_custodian() {
    let folder = Folder::with("fair");
    let outcome = folder.succeed("train fair.csv --epsilon 1");
    assert!(outcome.stdout.contains("(1, 1e-5)-differentially private"), "{outcome:?}");
    assert!(outcome.stdout.contains("fair.model.json") && outcome.stdout.contains("fair.log.jsonl"));
    for secret in ["custodian", "lines read", "seconds", "6366"] {
        assert!(!outcome.stdout.contains(secret), "{secret}: {outcome:?}");
    }
    assert!(outcome.stderr.contains("custodian-only: 6366 lines read"), "{outcome:?}");
}

#[test]
fn standard_output_holds_no_timing_so_a_replay_prints_the_same() {
    let folder = Folder::with("fair");
    let print = || folder.succeed("train fair.csv --overwrite --epsilon 1 --no-ledger --seed 7").stdout;
    assert_eq!(print(), print());
}

#[test]
fn two_private_runs_draw_different_noise() {
    let folder = Folder::with("fair");
    let model = || {
        folder.succeed("train fair.csv --overwrite --epsilon 1");
        folder.json("fair.model.json")
    };
    let (first, second) = (model(), model());
    assert_ne!(first["intercept"], second["intercept"]);
    assert_ne!(first["features"], second["features"]);
}

#[test]
fn verify_accepts_what_train_wrote_with_and_without_the_ledger() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --epsilon 1");
    for arguments in ["", " --log fair.log.jsonl", " --ledger fair.ledger.sqlite"] {
        let outcome = folder.succeed(&format!("verify fair.model.json{arguments}"));
        assert!(outcome.stdout.contains("\nverified") && !outcome.stdout.contains("FAILED"), "{outcome:?}");
        let answer = folder.succeed(&format!("verify fair.model.json --json{arguments}")).json();
        assert_eq!(answer["verified"], true);
        assert_eq!(answer["dp"], true);
    }
}

#[test]
fn verify_with_another_ledger_fails() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --epsilon 1");
    folder.succeed("train fair.csv --epsilon 1 --ledger other.sqlite --out other.model.json");
    let outcome = folder.run("verify fair.model.json --ledger other.sqlite");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stdout.contains("FAILED") && outcome.stdout.ends_with("NOT verified\n"), "{outcome:?}");
}

#[test]
fn verify_finds_a_ledger_that_was_rolled_back() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --epsilon 1");
    let old = folder.bytes("fair.ledger.sqlite");
    folder.succeed("train fair.csv --epsilon 1 --out second.model.json");
    folder.write("fair.ledger.sqlite", old);
    folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite");
    assert_eq!(folder.run("verify second.model.json --ledger fair.ledger.sqlite").code, Some(1));
    folder.succeed("train fair.csv --epsilon 1 --out third.model.json");
    assert_eq!(folder.run("verify second.model.json --ledger fair.ledger.sqlite").code, Some(1), "a fork");
}

#[test]
fn predict_gives_a_label_and_a_probability_per_row() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --epsilon 1");
    let outcome = folder.succeed("predict fair.model.json fair.csv");
    let mut lines = outcome.stdout.lines();
    assert_eq!(lines.next(), Some("label,probability"));
    let values: Vec<(&str, f64)> = lines
        .map(|line| line.split_once(',').unwrap())
        .map(|(label, probability)| (label, probability.parse().unwrap()))
        .collect();
    assert_eq!(values.len(), 6366);
    assert!(values.iter().all(|(label, p)| *p > 0.0 && *p < 1.0 && *label == if *p >= 0.5 { "1" } else { "not 1" }));
    assert!(["1", "not 1"].iter().all(|label| values.iter().any(|(it, _)| it == label)));
    let silent = folder.succeed("predict fair.model.json fair.csv --out predictions.csv");
    assert_eq!(silent.stdout, "");
    assert_eq!(folder.text("predictions.csv"), outcome.stdout);
}

#[test]
fn predict_keeps_its_lines_in_step_with_a_file_that_has_broken_lines() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --epsilon 1");
    let text = folder.text("fair.csv");
    let mut lines: Vec<&str> = text.lines().take(4).collect();
    lines.insert(2, "no,record");
    folder.write("new.csv", lines.join("\r\n"));
    let outcome = folder.succeed("predict fair.model.json new.csv");
    let cells: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(cells.len(), 5);
    assert_eq!(cells[2], ",");
    let whole = folder.succeed("predict fair.model.json fair.csv");
    let expected: Vec<&str> = whole.stdout.lines().collect();
    assert_eq!([cells[1], cells[3], cells[4]], [expected[1], expected[2], expected[3]]);
    let kept = folder.succeed("predict fair.model.json new.csv --keep age --keep children").stdout;
    let kept: Vec<&str> = kept.lines().collect();
    assert_eq!((kept[0], kept[2]), ("age,children,label,probability", ",,,"));
    for (line, (whole, record)) in [(1, (cells[1], lines[1])), (3, (cells[3], lines[3])), (4, (cells[4], lines[4]))] {
        let record: Vec<&str> = record.split(',').collect();
        assert_eq!(kept[line], format!("{},{},{whole}", record[1], record[3]));
    }
}

#[test]
fn identifiers_are_copied_as_they_stand() {
    let folder = Folder::new();
    folder.write("trial.csv", rows(300));
    folder.write("trial.schema.json", SCHEMA);
    folder.succeed("train trial.csv --epsilon 5 --out m.json");
    let header = HEADER.trim_end();
    assert_eq!(header, "x,z,c,note,y");
    folder.write("new.csv", format!("id,{header}\n\"Li, A\",1,0,u,a,yes\n  7 ,2,0.5,v,b,no\n,3,0,w,c,no\n"));
    let page = folder.succeed("predict m.json new.csv --keep id").stdout;
    let lines: Vec<&str> = page.lines().collect();
    assert_eq!(lines[0], "id,label,probability");
    for (line, start) in lines[1..].iter().zip(["\"Li, A\",", "7,", ","]) {
        let rest = line.strip_prefix(start).unwrap_or_else(|| panic!("{line:?} lacks {start:?}"));
        // Both labels are declared, so the other one has a name.
        let (label, probability) = rest.split_once(',').unwrap();
        assert_eq!(label, if probability.parse::<f64>().unwrap() >= 0.5 { "yes" } else { "no" });
    }
    for (arguments, needles) in
        [("--keep who", vec!["new.csv:1", "\"who\""]), ("--keep probability", vec!["lacks this column"])]
    {
        let outcome = folder.run(&format!("predict m.json new.csv {arguments}"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
        assert!(needles.iter().all(|needle| outcome.stderr.contains(needle)), "{outcome:?}");
    }
    folder.edit("new.csv", "id,x", "label,x");
    let outcome = folder.run("predict m.json new.csv --keep label");
    assert!(outcome.code == Some(2) && outcome.stderr.contains("--keep"), "{outcome:?}");
}

#[test]
fn a_file_of_one_label_has_no_area_under_the_curve() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --epsilon 1");
    let text = folder.text("fair.csv");
    for label in ["0", "1"] {
        let of_label = text.lines().enumerate().filter(|(at, line)| *at == 0 || line.ends_with(&format!(",{label}")));
        let lines: Vec<&str> = of_label.map(|(_, line)| line).take(40).collect();
        folder.write("one.csv", lines.join("\n"));
        let metrics = folder.succeed("evaluate fair.model.json one.csv --json").json();
        assert!(metrics["auc"].is_null() && metrics["accuracy"].is_f64(), "{metrics}");
        let page = folder.succeed("evaluate fair.model.json one.csv").stdout;
        assert!(page.contains("auc       undefined: all rows have one label"), "{page}");
    }
}

#[test]
fn equal_targets_have_no_share_that_is_explained() {
    let folder = Folder::with("randhie");
    folder.succeed("train randhie.csv --epsilon 8 --steps 5");
    let text = folder.text("randhie.csv");
    let mut lines = text.lines();
    let (header, row) = (lines.next().unwrap(), lines.next().unwrap());
    folder.write("same.csv", [header, row, row, ""].join("\n"));
    let metrics = folder.succeed("evaluate randhie.model.json same.csv --json").json();
    assert!(metrics["r2"].is_null() && metrics["rmse"].is_f64(), "{metrics}");
    let page = folder.succeed("evaluate randhie.model.json same.csv").stdout;
    assert!(page.contains("r2        undefined: all targets are equal"), "{page}");
}

#[test]
fn a_model_of_fair_beats_the_majority() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --epsilon 1");
    let metrics = folder.succeed("evaluate fair.model.json fair.csv --json").json();
    assert_eq!(metrics["rows"], 6366);
    assert_eq!(metrics["custodian_only"], true);
    assert!(number(&metrics, "/accuracy") > number(&metrics, "/majority") + 0.02, "{metrics}");
    assert!(number(&metrics, "/auc") > 0.7, "{metrics}");
    let page = folder.succeed("evaluate fair.model.json fair.csv");
    assert!((page.number("accuracy") - number(&metrics, "/accuracy")).abs() < 1e-4);
    assert!(page.stderr.contains("custodian-only"), "{page:?}");
}

#[test]
fn a_model_of_randhie_explains_some_of_it() {
    let folder = Folder::with("randhie");
    folder.succeed("train randhie.csv --epsilon 2");
    folder.succeed("verify randhie.model.json --ledger randhie.ledger.sqlite");
    let metrics = folder.succeed("evaluate randhie.model.json randhie.csv --json").json();
    assert!(number(&metrics, "/r2") > 0.05, "{metrics}");
    let predictions = folder.succeed("predict randhie.model.json randhie.csv");
    assert_eq!(predictions.stdout.lines().count(), 20_191);
    assert!(predictions.stdout.lines().skip(1).all(|line| (0.0..=20.0).contains(&line.parse::<f64>().unwrap())));
}

#[test]
fn the_statement_says_what_is_guaranteed_and_what_is_not() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --epsilon 1");
    let page = folder.succeed("statement fair.model.json").stdout;
    let stated = folder.json("fair.model.json")["statement"].clone();
    for needle in ["differentially private", "adding or removing one row", "In plain words", "Limits:", "add-remove"] {
        assert!(page.contains(needle), "{needle}: {page}");
    }
    assert!(page.contains(stated["guarantee"]["rho_upper"].as_str().unwrap()));
    assert_eq!(folder.succeed("statement fair.model.json --json").json(), stated);
    let full = folder.succeed("statement fair.model.json --coefficients").stdout;
    assert!(full.starts_with(&page));
    for name in ["rate_marriage", "occupation = 6", "occupation_husb = 1", "(intercept)"] {
        assert!(full.contains(name), "{name}: {full}");
    }
}

#[test]
fn plain_words_follow_epsilon() {
    let folder = Folder::with("fair");
    let mut factors = Vec::new();
    for (epsilon, said, unsaid) in [
        ("0.1", vec!["nearly as often", "at most 1.106 times"], vec!["weak", "next to none"]),
        ("1", vec!["at most 2.719 times as often with", "at most 73.11%"], vec!["nearly", "weak", "next to none"]),
        ("3", vec!["at most 20.09 times", "weak protection"], vec!["nearly", "next to none"]),
        ("8", vec!["at most 2981 times", "next to none"], vec!["nearly"]),
        ("1000", vec!["more than a million times", "at most 100%", "next to none"], vec!["nearly", "inf"]),
    ] {
        let page = folder
            .succeed(&format!("train fair.csv --epsilon {epsilon} --steps 3 --no-ledger --out m{epsilon}.json"))
            .stdout;
        let words = page.lines().find(|line| line.starts_with("In plain words")).unwrap();
        assert!(said.iter().all(|it| words.contains(it)), "{epsilon}: {words}");
        assert!(!unsaid.iter().any(|it| words.contains(it)), "{epsilon}: {words}");
        factors.push(words.to_owned());
    }
    factors.dedup();
    assert_eq!(factors.len(), 5);
}

#[test]
fn a_tuned_run_says_who_won() {
    let folder = Folder::with("fair");
    let page = folder.succeed("train fair.csv --epsilon 1 --tune=algorithm=whitened,dp-gd;steps=4,5,6").stdout;
    let stated = folder.json("fair.model.json")["statement"]["facts"]["settings"]["tuned"].clone();
    let chosen = stated["chosen"].as_str().unwrap();
    let line = format!("chosen     {chosen}, of 6 candidates: {}", stated["runs"].as_str().unwrap());
    assert!(page.lines().any(|it| it == line), "{line}: {page}");
    assert!(folder.succeed("statement fair.model.json").stdout.contains(&line));
    let json = folder.succeed("train fair.csv --epsilon 1 --tune=steps=4,5 --json --out j.json").json();
    assert!(["steps=4", "steps=5"].contains(&json["chosen"].as_str().unwrap()), "{json}");
    let untuned = folder.succeed("train fair.csv --epsilon 1 --json --out u.json").json();
    assert!(untuned["chosen"].is_null() && untuned.get("chosen").is_some());
}

#[test]
fn the_json_summary_is_one_object_with_the_promised_keys() {
    let folder = Folder::with("fair");
    let outcome = folder.succeed("train fair.csv --epsilon 1 --json");
    assert_eq!(outcome.stdout.lines().count(), 1);
    let summary = outcome.json();
    for key in ["rho", "epsilon", "delta", "steps", "noise_multiplier", "clip"] {
        assert!(number(&summary, &format!("/{key}")) > 0.0, "{key}");
    }
    for key in ["rows_per_second", "seconds_per_step", "load_seconds", "train_seconds"] {
        assert!(number(&summary, &format!("/{key}")) > 0.0, "{key}");
        assert!(summary["custodian_only"].as_array().unwrap().contains(&key.into()), "{key} is a timing");
    }
    assert_eq!(summary["algorithm"], "whitened");
    let stated = folder.json("fair.model.json")["statement"].clone();
    assert_eq!(number(&summary, "/rho"), number(&stated, "/guarantee/rho_upper"));
    assert_eq!(number(&summary, "/epsilon"), number(&stated, "/guarantee/epsilon"));
    assert_eq!(number(&summary, "/delta"), number(&stated, "/guarantee/delta"));
    assert_eq!(number(&summary, "/noise_multiplier"), number(&stated, "/mechanism/noise_multiplier"));
    assert_eq!(number(&summary, "/steps"), number(&stated, "/mechanism/steps"));
}

#[test]
fn the_log_adds_up_to_the_statement_line_by_line() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --epsilon 1 --steps 40");
    let log = log_entries(&folder, "fair.log.jsonl");
    let model = folder.json("fair.model.json");
    let counts = model.pointer("/statement/scope/data_accesses").unwrap().as_array().unwrap();
    let releases: u64 = counts.iter().map(|access| access["count"].as_u64().unwrap()).sum();
    assert_eq!(log.len() as u64, releases);
    assert_eq!(log.len(), 42);
    let (mut rho, mut epsilon, mut left, mut sum) = (0.0, 0.0, f64::INFINITY, 0.0);
    for (index, line) in log.iter().enumerate() {
        assert_eq!(line["release"], index as u64 + 1);
        assert_eq!(
            line["step"],
            (index as u64).saturating_sub(1),
            "moments and Gram matrix are step 0, then one line per step"
        );
        sum += number(line, "/rho_step");
        assert!(number(line, "/rho") >= rho && number(line, "/epsilon_exact") >= epsilon);
        assert!((number(line, "/rho") / sum - 1.0).abs() < 1e-9, "cumulative rho is the sum of the steps");
        assert!(number(line, "/rho_remaining") < left && number(line, "/rho_remaining") >= 0.0);
        assert!(number(line, "/epsilon_exact") <= number(line, "/epsilon_zcdp"));
        assert!(number(line, "/sensitivity") > 0.0 && number(line, "/sigma") > 0.0);
        let multiplier = number(line, "/sigma") / number(line, "/sensitivity");
        assert!((number(line, "/rho_step") * 2.0 * multiplier * multiplier - 1.0).abs() < 1e-9);
        (rho, epsilon, left) = (number(line, "/rho"), number(line, "/epsilon_exact"), number(line, "/rho_remaining"));
    }
    let guarantee = &model["statement"]["guarantee"];
    for (last, stated) in [
        (rho, number(guarantee, "/rho_upper")),
        (epsilon, number(guarantee, "/epsilon")),
        (number(&log[41], "/epsilon_zcdp"), number(guarantee, "/epsilon_zcdp")),
    ] {
        assert!(last <= stated && stated <= last * (1.0 + 1e-6), "last line {last}, statement {stated}");
    }
    assert!(epsilon <= 1.0 && epsilon > 0.999, "the budget is kept and used: {epsilon}");
    assert_eq!(model["log_sha256"], rhograd::train::sha256_hex(&folder.bytes("fair.log.jsonl")));
}
