//! Options of training: each does what its name says and is recorded.

use serde_json::Value;

use super::support::{Folder, number};

fn model(folder: &Folder, arguments: &str) -> Value {
    folder.succeed(&format!("train {arguments} --overwrite --out m.model.json"));
    folder.succeed("verify m.model.json");
    folder.json("m.model.json")
}

#[test]
fn a_rho_budget_is_kept_and_used() {
    let folder = Folder::with("fair");
    let model = model(&folder, "fair.csv --rho 0.1");
    let spent = folder.spending("fair.ledger.sqlite");
    assert!((0.0999..=0.1).contains(&number(&spent, "/spent_rho")), "{spent}");
    assert!((0.0999..=0.1000001).contains(&number(&model, "/statement/guarantee/rho_upper")));
}

#[test]
fn a_given_delta_is_used_and_said_to_be_given() {
    let folder = Folder::with("fair");
    let model = model(&folder, "fair.csv --epsilon 1 --delta 1e-7");
    assert_eq!(number(&model, "/statement/guarantee/delta"), 1e-7);
    assert_eq!(model["statement"]["facts"]["delta_origin"], "given by the user");
}

#[test]
fn replace_one_needs_twice_the_noise_and_says_so() {
    let folder = Folder::with("fair");
    let add = model(&folder, "fair.csv --epsilon 1 --clip 1 --no-ledger");
    let replace = model(&folder, "fair.csv --epsilon 1 --clip 1 --no-ledger --adjacency replace-one");
    let ratio = number(&replace, "/statement/mechanism/sigma") / number(&add, "/statement/mechanism/sigma");
    assert!((1.99..2.01).contains(&ratio), "{ratio}");
    assert_eq!(replace["statement"]["definition"]["adjacency"], "replace-one");
    assert_eq!(replace["statement"]["definition"]["row_count_is_public"], true);
    assert_eq!(replace["statement"]["facts"]["rows"], 6366);
    assert!(replace["statement"]["statement"].as_str().unwrap().contains("replacing one row"));
}

#[test]
fn one_ledger_does_not_add_up_two_adjacencies() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --overwrite --epsilon 1");
    let before = folder.contents();
    let outcome = folder.run("train fair.csv --overwrite --epsilon 1 --adjacency replace-one");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert_eq!((outcome.stdout.as_str(), folder.contents() == before), ("", true));
}

#[test]
fn discrete_noise_claims_the_zcdp_epsilon_only() {
    let folder = Folder::with("fair");
    let discrete = model(&folder, "fair.csv --epsilon 1 --no-ledger --noise discrete-gaussian");
    let normal = model(&folder, "fair.csv --epsilon 1 --no-ledger");
    let guarantee = &discrete["statement"]["guarantee"];
    assert_eq!(guarantee["epsilon_exact"], Value::Null);
    assert_eq!(guarantee["epsilon"], guarantee["epsilon_zcdp"]);
    assert!(number(guarantee, "/epsilon") <= 1.0);
    let multiplier = "/statement/mechanism/noise_multiplier";
    assert!(number(&discrete, multiplier) > 1.02 * number(&normal, multiplier));
    assert!(!folder.text("m.log.jsonl").lines().next().unwrap().is_empty());
    folder.succeed("train fair.csv --overwrite --epsilon 1 --no-ledger --noise discrete-gaussian");
    assert!(!folder.text("fair.log.jsonl").contains("epsilon_exact"), "the exact trade-off does not hold");
}

#[test]
fn theory_runs_where_the_row_count_is_public_and_is_refused_elsewhere() {
    let folder = Folder::new();
    folder.succeed("generate logistic --rows 200 --features 3 --out s.csv");
    let stated = model(&folder, "s.csv --epsilon 1 --no-ledger --algorithm dp-gd-theory")["statement"].clone();
    assert_eq!(stated["facts"]["algorithm"], "dp-gd-theory");
    assert_eq!(stated["facts"]["settings"]["averaging"], "mean");
    assert_eq!(number(&stated, "/facts/settings/radius"), 1.0);
    assert_eq!(number(&stated, "/facts/rows"), 200.0);
    assert_eq!(stated["scope"]["data_accesses"].as_array().unwrap().len(), 1, "no release of moments");
    folder.edit("s.schema.json", "\"rows\": 200,", "");
    folder.remove("m.model.json");
    let before = folder.contents();
    folder.refuse(
        "train s.csv --overwrite --epsilon 1 --algorithm dp-gd-theory --out m.model.json",
        2,
        &["--rows", "replace-one"],
    );
    assert!(folder.contents() == before);
    model(&folder, "s.csv --epsilon 1 --no-ledger --algorithm dp-gd-theory --rows 200");
    model(&folder, "s.csv --epsilon 1 --no-ledger --algorithm dp-gd-theory --adjacency replace-one");
}

#[test]
fn a_count_that_is_not_public_is_released_and_paid_for() {
    let folder = Folder::with("fair");
    folder.edit("fair.schema.json", "\"rows\": 6366,", "");
    let stated = model(&folder, "fair.csv --epsilon 1 --no-ledger --no-standardise")["statement"].clone();
    assert_eq!(stated["facts"]["rows"], Value::Null);
    let accesses = stated["scope"]["data_accesses"].as_array().unwrap();
    assert_eq!(accesses.len(), 2);
    assert!(accesses[0]["what"].as_str().unwrap().contains("count") && number(&accesses[0], "/rho_upper") > 0.0);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let folder = Folder::new();
    folder.succeed("generate logistic --rows 20000 --features 5 --categories 2 --out big.csv");
    let mut files = Vec::new();
    for threads in [1, 2, 3] {
        folder.succeed(&format!(
            "train big.csv --overwrite --epsilon 1 --steps 20 --seed 3 --no-ledger --threads {threads}"
        ));
        files.push((folder.bytes("big.model.json"), folder.bytes("big.log.jsonl")));
    }
    assert!(files[0] == files[1] && files[1] == files[2]);
}

#[test]
fn another_seed_gives_another_model() {
    let folder = Folder::with("fair");
    let of = |seed: u64| model(&folder, &format!("fair.csv --epsilon 1 --no-ledger --seed {seed}"));
    assert_ne!(of(1)["intercept"], of(2)["intercept"]);
}

#[test]
fn a_seeded_run_is_marked_not_private_everywhere_and_still_charged() {
    let folder = Folder::with("fair");
    let printed = folder.succeed("train fair.csv --overwrite --epsilon 1 --seed 5");
    assert!(printed.stdout.contains("NOT PRIVATE") && !printed.stdout.contains("differential privacy"));
    // No number stands there as if it held.
    let line = |name: &str| printed.stdout.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
    assert!(line("epsilon").contains("none: NOT PRIVATE") && line("rho").ends_with("none"), "{printed:?}");
    assert!(!printed.stdout.contains("exact,") && !printed.stdout.contains("In plain words"), "{printed:?}");
    let model = folder.json("fair.model.json");
    assert_eq!(model["statement"]["dp"], false);
    assert!(model["statement"]["reasons_not_dp"][0].as_str().unwrap().contains("seed"));
    assert!(folder.succeed("statement fair.model.json").stdout.contains("NOT PRIVATE"));
    let verified = folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite");
    assert!(verified.stdout.ends_with("NOT PRIVATE\n"), "{verified:?}");
    assert_eq!(folder.succeed("verify fair.model.json --json").json()["dp"], false);
    assert_eq!(folder.succeed("train fair.csv --overwrite --epsilon 1 --seed 5 --json").json()["dp"], false);
    let spending = folder.spending("fair.ledger.sqlite");
    assert_eq!((&spending["runs"], &spending["seeded"]), (&2.into(), &2.into()));
}

#[test]
fn an_inspected_schema_trains_and_marks_the_model_not_private() {
    for (name, task) in [("fair", "classification"), ("randhie", "regression")] {
        let folder = Folder::with(name);
        folder.remove(&format!("{name}.schema.json"));
        let target = if name == "fair" { "affair" } else { "mdvis" };
        let draft = folder.succeed(&format!("inspect {name}.csv --target {target}"));
        assert!(draft.stderr.contains("NOT PRIVATE") && draft.stderr.contains("custodian-only"), "{draft:?}");
        assert_eq!((&draft.json()["draft"], &draft.json()["task"]), (&true.into(), &task.into()));
        folder.write("drafted.json", &draft.stdout);
        let trained =
            folder.succeed(&format!("train {name}.csv --overwrite --schema drafted.json --epsilon 1 --out m.json"));
        assert!(trained.stderr.contains("warning") && trained.stdout.contains("NOT PRIVATE"), "{trained:?}");
        let model = folder.json("m.json");
        assert_eq!(model["statement"]["dp"], false);
        assert!(model["statement"]["reasons_not_dp"][0].as_str().unwrap().contains("draft"));
        assert!(folder.succeed("verify m.json").stdout.ends_with("NOT PRIVATE\n"));
    }
}

#[test]
fn generated_data_train_well_with_categories() {
    let folder = Folder::new();
    folder.succeed("generate logistic --rows 5000 --features 4 --categories 2 --out a.csv");
    folder.succeed("generate linear --rows 5000 --features 4 --categories 2 --out b.csv");
    assert_eq!(folder.names(), ["a.csv", "a.schema.json", "b.csv", "b.schema.json"]);
    folder.succeed("train a.csv --overwrite --epsilon 1");
    folder.succeed("train b.csv --overwrite --epsilon 1");
    let label = folder.succeed("evaluate a.model.json a.csv --json").json();
    assert!(number(&label, "/accuracy") > number(&label, "/majority") + 0.1, "{label}");
    let line = folder.succeed("evaluate b.model.json b.csv --json").json();
    assert!(number(&line, "/r2") > 0.7, "{line}");
    assert_eq!(folder.text("a.csv").lines().count(), 5001);
}

#[test]
fn generated_data_without_rows_train() {
    let folder = Folder::new();
    folder.succeed("generate logistic --rows 0 --features 2 --out a.csv");
    folder.succeed("train a.csv --overwrite --epsilon 1");
}

#[test]
fn generated_data_depend_on_the_seed_alone() {
    let folder = Folder::new();
    for (name, seed) in [("a", 1), ("b", 1), ("c", 2)] {
        folder.succeed(&format!("generate linear --rows 100 --features 2 --seed {seed} --out {name}.csv"));
    }
    assert_eq!(folder.bytes("a.csv"), folder.bytes("b.csv"));
    assert_ne!(folder.bytes("a.csv"), folder.bytes("c.csv"));
}

#[test]
fn every_setting_is_recorded_in_the_statement() {
    let folder = Folder::with("fair");
    let settings = "--clip 0.75 --steps 12 --learning-rate 0.3 --momentum 0.2 --l2 0.01 --radius 3 --averaging last";
    let facts = model(&folder, &format!("fair.csv --epsilon 1 {settings}"))["statement"]["facts"].clone();
    let numbers = [("learning_rate", 0.3), ("momentum", 0.2), ("l2", 0.01), ("radius", 3.0)];
    for (key, value) in numbers {
        assert_eq!(number(&facts, &format!("/settings/{key}")), value, "{key}");
    }
    assert_eq!(facts["settings"]["averaging"], "last");
    let steps = &facts["releases"][2];
    assert_eq!(steps["charge"]["count"], 12);
    let clip = number(steps, "/unit") * number(steps, "/query/bound");
    assert!((clip / 0.75 - 1.0).abs() < 1e-12, "{clip}");
}

#[test]
fn without_a_ledger_nothing_is_kept_and_the_statement_says_so() {
    let folder = Folder::with("fair");
    let model = model(&folder, "fair.csv --epsilon 1 --no-ledger");
    assert!(!folder.names().iter().any(|name| name.contains("sqlite")));
    assert_eq!(model["statement"]["facts"]["ledger"], Value::Null);
    let limits = model["statement"]["limits"].to_string();
    assert!(limits.contains("no durable ledger"), "{limits}");
}

#[test]
fn files_go_where_they_are_asked_to() {
    let folder = Folder::with("fair");
    std::fs::create_dir(folder.path("out")).unwrap();
    folder.succeed("train fair.csv --overwrite --epsilon 1 --out out/a.json --ledger out/l.sqlite");
    folder
        .succeed("train fair.csv --overwrite --epsilon 1 --out out/b.model.json --log out/c.txt --ledger out/l.sqlite");
    let names = folder.names();
    let written: Vec<_> = names.iter().filter(|name| name.starts_with("out/")).collect();
    assert_eq!(
        written,
        ["out/a.json", "out/a.log.jsonl", "out/b.model.json", "out/c.txt", "out/l.sqlite", "out/l.sqlite.note"]
    );
    assert_eq!(names.len(), 8, "nothing beside the data: {names:?}");
    assert_eq!(folder.spending("out/l.sqlite")["runs"], 2);
}

#[test]
fn a_schema_is_found_beside_a_file_named_after_it() {
    let folder = Folder::with("fair");
    std::fs::rename(folder.path("fair.csv"), folder.path("fair_train.csv")).unwrap();
    folder.succeed("train fair_train.csv --overwrite --epsilon 1");
    folder.succeed("verify fair_train.model.json --ledger fair_train.ledger.sqlite");
}

#[test]
fn sampled_steps_are_accounted_for_by_privacy_loss_distributions() {
    let folder = Folder::with("fair");
    let train =
        "train fair.csv --overwrite --epsilon 1 --delta 1e-6 --algorithm dp-sgd --steps 60 --sampling-rate 0.1 --json";
    let summary = folder.succeed(train).json();
    let epsilon = number(&summary, "/epsilon_pld");
    assert!(epsilon <= 1.0 && epsilon > 0.98, "the budget is kept and used: {epsilon}");
    assert_eq!(number(&summary, "/epsilon"), epsilon);
    assert_eq!(summary["epsilon_zcdp"], Value::Null);
    folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite --log fair.log.jsonl");
    let stated = folder.json("fair.model.json")["statement"].clone();
    assert!(stated["mechanism"]["sampling"].as_str().unwrap().starts_with("Poisson, rate at most 0."));
    let spent = folder.spending("fair.ledger.sqlite");
    assert!(number(&spent, "/spent_delta") >= 1e-6, "approximate zCDP has a delta of its own: {spent}");
    let last: Value = serde_json::from_str(folder.text("fair.log.jsonl").lines().last().unwrap()).unwrap();
    let running = number(&last, "/epsilon_rdp");
    assert!(running >= epsilon && running < 1.4 * epsilon, "{running} bounds {epsilon}");
    assert_eq!(last.get("rho"), None);
}

#[test]
fn shuffled_passes_are_accounted_for_as_what_they_are() {
    let folder = Folder::with("fair");
    let train =
        "train fair.csv --overwrite --epsilon 1 --delta 1e-6 --algorithm dp-sgd --steps 55 --sampling-rate 0.1 --json";
    let by_coins = folder.succeed(train).json();
    folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite");
    let summary = folder.succeed(&format!("{train} --sampling shuffle")).json();
    let epsilon = number(&summary, "/epsilon_pld");
    assert!(epsilon <= 1.0 && epsilon > 0.98, "the budget is kept and used: {epsilon}");
    folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite --log fair.log.jsonl");
    let model = folder.json("fair.model.json");
    let (stated, facts) = (&model["statement"], &model["statement"]["facts"]);
    assert_eq!(stated["mechanism"]["sampling"], "each row in one step, drawn evenly, of each pass of 10");
    assert_eq!(
        (&facts["settings"]["sampling"], number(facts, "/settings/sampling_rate")),
        (&"shuffle".into(), 0.1f64.next_up())
    );
    // 55 steps are rounded up to whole passes.
    assert_eq!(number(stated, "/mechanism/steps"), 60.0);
    let multiplier = "/noise_multiplier";
    assert!(number(&summary, multiplier) < number(&by_coins, multiplier), "for the same epsilon, {summary} {by_coins}");
    // Of the whole run no more is logged than is stated.
    let log = folder.text("fair.log.jsonl");
    let lines: Vec<f64> =
        log.lines().map(|line| number(&serde_json::from_str(line).unwrap(), "/epsilon_rdp")).collect();
    assert!(lines.is_sorted() && lines.len() == 61);
    assert!(lines[60] >= epsilon * (1.0 - 1e-6) && lines[60] < 1.001 * epsilon, "{} bounds {epsilon}", lines[60]);
    // The first step of a pass pays for the others.
    assert!(lines[1] > lines[0] && lines[1] == lines[10], "{lines:?}");
}

#[test]
fn a_statement_of_passes_that_makes_them_cheaper_is_found() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --epsilon 1 --algorithm dp-sgd --sampling shuffle --steps 60 --sampling-rate 0.1");
    let honest = folder.text("fair.model.json");
    for (from, to) in [
        ("\"steps_of_pass\": 10", "\"steps_of_pass\": 20"),
        ("\"steps_of_pass\": 10", "\"steps_of_pass\": 1"),
        ("\"steps_of_pass\": 10", "\"steps_of_pass\": 4294967295"),
        ("each pass of 10", "each pass of 100"),
        ("\"sampling\": \"shuffle\"", "\"sampling\": \"poisson\""),
    ] {
        assert!(honest.contains(from), "{from}");
        folder.write("forged.json", honest.replace(from, to));
        let outcome = folder.run("verify forged.json --ledger fair.ledger.sqlite");
        assert_eq!(outcome.code, Some(1), "{to}: {outcome:?}");
    }
}

#[test]
fn sampled_steps_refuse_what_cannot_be_accounted_for() {
    let folder = Folder::with("fair");
    for (arguments, word) in [
        ("--rho 0.1", "--epsilon"),
        ("--epsilon 1 --noise discrete-gaussian", "--noise"),
        ("--epsilon 1 --sampling-rate 0.7", "--sampling-rate"),
        ("--epsilon 1 --sampling-rate nan", "--sampling-rate"),
        ("--epsilon 1 --sampling shuffle --adjacency replace-one", "--sampling"),
        ("--epsilon 1 --sampling shuffle --memory-limit 1GB", "--memory-limit"),
        ("--epsilon 1 --sampling balls", "shuffle"),
        ("--rho 0.1 --sampling shuffle", "--epsilon"),
        ("--epsilon 1 --sampling shuffle --steps 40", "a pass of 50 steps"),
    ] {
        folder.refuse(&format!("train fair.csv --overwrite --algorithm dp-sgd {arguments}"), 2, &[word]);
    }
    assert!(!folder.names().iter().any(|name| name.contains("sqlite")), "nothing was charged");
}

#[test]
fn a_hold_out_is_measured_within_the_budget_and_near_the_truth() {
    let folder = Folder::with("fair");
    let arguments = "train fair.csv --overwrite --epsilon 4 --delta 1e-6 --evaluate-budget 0.3 --holdout 0.25 --json";
    let summary = folder.succeed(arguments).json();
    assert!(number(&summary, "/epsilon") <= 4.0 && number(&summary, "/epsilon") > 3.98);
    let truth = folder.succeed("evaluate fair.model.json fair.csv --json").json();
    let stated = folder.json("fair.model.json")["evaluation"].clone();
    assert_eq!(stated, summary["evaluation"]);
    assert!((number(&stated, "/rows") - 0.25 * 6366.0).abs() < 250.0, "{stated}");
    for metric in ["accuracy", "auc", "log_loss"] {
        let (value, noise) = (
            number(&stated, &format!("/metrics/{metric}/value")),
            number(&stated, &format!("/metrics/{metric}/noise")),
        );
        let error = (value - number(&truth, &format!("/{metric}"))).abs();
        // The hold-out is a quarter of the rows; 0.06 is above four of its own standard deviations.
        assert!(error < 0.06 + 5.0 * noise, "{metric}: {stated} against {truth}");
    }
    let accesses = &folder.json("fair.model.json")["statement"]["scope"];
    assert!(accesses["evaluation_on_private_data"].as_str().unwrap().contains("held out with probability 0.25"));
    folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite --log fair.log.jsonl");
    folder.edit("fair.model.json", "\"evaluation\": {", "\"evaluation\": { \"extra\": 1,");
    assert_eq!(folder.run("verify fair.model.json").code, Some(2));
}

#[test]
fn a_regression_is_measured_on_a_hold_out_as_well() {
    let folder = Folder::with("randhie");
    let arguments =
        "train randhie.csv --overwrite --epsilon 8 --delta 1e-6 --evaluate-budget 0.3 --adjacency replace-one --json";
    let stated = folder.succeed(arguments).json()["evaluation"].clone();
    let truth = folder.succeed("evaluate randhie.model.json randhie.csv --json").json();
    for metric in ["rmse", "mae"] {
        let value = number(&stated, &format!("/metrics/{metric}/value"));
        assert!((value / number(&truth, &format!("/{metric}")) - 1.0).abs() < 0.3, "{stated} against {truth}");
    }
    folder.succeed("verify randhie.model.json --ledger randhie.ledger.sqlite");
}

#[test]
fn impossible_hold_outs_are_refused() {
    let folder = Folder::with("fair");
    for (arguments, word) in [
        ("--evaluate-budget 0", "--evaluate-budget"),
        ("--evaluate-budget 1.5", "--evaluate-budget"),
        ("--evaluate-budget 0.1 --holdout 0.9", "--holdout"),
        ("--evaluate-budget 0.1 --holdout nan", "--holdout"),
        ("--holdout 0.2", "--evaluate-budget"),
    ] {
        folder.refuse(&format!("train fair.csv --overwrite --epsilon 1 {arguments}"), 2, &[word]);
    }
}

#[test]
fn coefficients_are_printed_in_the_units_of_the_data_with_their_intervals() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --overwrite --epsilon 2");
    let page = folder.succeed("statement fair.model.json --coefficients").stdout;
    let line = page.lines().find(|line| line.trim_start().starts_with("rate_marriage ")).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!((cells.len(), cells[4]), (6, "to"), "{line}");
    let [value, error, low, high] = [1, 2, 3, 5].map(|cell| cells[cell].parse::<f64>().unwrap());
    assert!(low < value && value < high && error > 0.0);
    assert!(((high - low) / (2.0 * 1.959_964 * error) - 1.0).abs() < 1e-2, "{line}");
    // A happier marriage by one unit lowers the log-odds of an affair by about 0.7.
    assert!((-1.2..-0.3).contains(&value), "{line}");
    // Without a Gram matrix there is no theory, and no column.
    folder.succeed("train fair.csv --overwrite --epsilon 2 --algorithm dp-gd");
    assert!(!folder.succeed("statement fair.model.json --coefficients").stdout.contains("interval"));
}
