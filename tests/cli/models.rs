//! Every model family on the command line: train, state, verify, predict, evaluate.

use serde_json::Value;

use super::support::Folder;

/// Trains in a folder, checks that the statement verifies against ledger and log, and returns the model.
fn trained(folder: &Folder, name: &str, arguments: &str) -> Value {
    folder.succeed(&format!("train {name}.csv --overwrite --epsilon 2 --out m.model.json {arguments}"));
    let verified = folder.succeed(&format!("verify m.model.json --log m.log.jsonl --ledger {name}.ledger.sqlite"));
    assert!(verified.stdout.ends_with("\nverified\n"), "{verified:?}");
    folder.json("m.model.json")
}

#[test]
fn regressions_record_their_parameters_and_are_measured_by_them() {
    let folder = Folder::with("randhie");
    for (arguments, recorded, words, measures) in [
        ("--model ridge", serde_json::json!("ridge"), "ridge regression", vec!["rmse", "r2"]),
        (
            "--model huber --huber-threshold 2",
            serde_json::json!({"huber": {"threshold": 2.0}}),
            "threshold 2",
            vec!["mae"],
        ),
        (
            "--model quantile --quantile 0.75",
            serde_json::json!({"quantile": {"level": 0.75, "width": 0.1}}),
            "level 0.75",
            vec!["pinball", "coverage"],
        ),
        ("--model poisson", serde_json::json!({"poisson": {"bound": 3.0}}), "Poisson regression", vec!["deviance"]),
    ] {
        let model = trained(&folder, "randhie", arguments);
        assert_eq!(model["model"], recorded);
        assert_eq!(model["statement"]["facts"]["model"], recorded);
        assert!(folder.succeed("statement m.model.json --coefficients").stdout.contains(words), "{words}");
        let metrics = folder.succeed("evaluate m.model.json randhie.csv --json").json();
        assert!(measures.iter().all(|measure| metrics[measure].is_f64()), "{metrics}");
        let predicted = folder.succeed("predict m.model.json randhie.csv");
        assert!(predicted.stdout.starts_with("prediction\n"));
        assert!(predicted.stdout.lines().skip(1).all(|line| line.parse::<f64>().unwrap() >= 0.0));
        // The family is part of the facts; another one is an edit even where the digest fits.
        folder.edit("m.model.json", "\"model\": ", "\"model\": \"linear\", \"was\": ");
        assert_ne!(folder.run("verify m.model.json").code, Some(0));
    }
}

#[test]
fn a_support_vector_machine_scores() {
    let folder = Folder::with("fair");
    let model = trained(&folder, "fair", "--model svm");
    assert_eq!(model["model"], serde_json::json!({"svm": {"width": 0.5}}));
    let predicted = folder.succeed("predict m.model.json fair.csv");
    assert!(predicted.stdout.starts_with("label,score\n") && predicted.stdout.contains('-'));
    let metrics = folder.succeed("evaluate m.model.json fair.csv --json").json();
    assert!(metrics["log_loss"].is_null() && metrics["auc"].as_f64().unwrap() > 0.6, "{metrics}");
}

#[test]
fn more_than_two_labels_train_by_one_joint_clip() {
    let folder = Folder::new();
    folder.succeed("generate multinomial --rows 4000 --features 3 --categories 1 --out a.csv");
    for arguments in ["", "--algorithm dp-gd --model multinomial"] {
        let model = trained(&folder, "a", arguments);
        assert_eq!(model["model"], "multinomial");
        assert_eq!(model["target"]["labels"], serde_json::json!(["a", "b", "c", "d"]));
        assert_eq!(model["intercept"].as_array().unwrap().len(), 4);
        // Three numeric features, four values and the intercept, for each of four labels.
        assert_eq!(model["statement"]["facts"]["dimension"], 32);
        let releases = model["statement"]["facts"]["releases"].as_array().unwrap();
        let steps = releases.iter().filter(|release| release["query"]["kind"] == "clipped-sum");
        assert_eq!(steps.count(), 1, "one kind of release covers all labels");
    }
    let metrics = folder.succeed("evaluate m.model.json a.csv --json").json();
    assert!(metrics["accuracy"].as_f64().unwrap() > metrics["majority"].as_f64().unwrap() + 0.1, "{metrics}");
    let predicted = folder.succeed("predict m.model.json a.csv").stdout;
    assert!(predicted.starts_with("label,probability a,probability b,probability c,probability d\n"), "{predicted}");
    for line in predicted.lines().skip(1).take(20) {
        let cells: Vec<&str> = line.split(',').collect();
        let p: Vec<f64> = cells[1..].iter().map(|cell| cell.parse().unwrap()).collect();
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let best = (0..4).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
        assert_eq!(cells[0], ["a", "b", "c", "d"][best]);
    }
    for (from, to) in
        [("\"c\",\n      \"d\"", "\"d\",\n      \"c\""), ("\"intercept\": [", "\"intercept\": [\n    0.0,")]
    {
        let text = folder.text("m.model.json");
        folder.edit("m.model.json", from, to);
        assert_ne!(folder.run("verify m.model.json").code, Some(0), "{from}");
        folder.write("m.model.json", text);
    }
}

#[test]
fn a_row_with_an_undeclared_label_contributes_nothing() {
    let folder = Folder::new();
    folder.succeed("generate multinomial --rows 50 --features 1 --out a.csv");
    folder.edit("a.csv", ",a\n", ",z\n");
    let outcome = folder.succeed("train a.csv --overwrite --epsilon 1");
    assert!(outcome.stderr.contains("custodian-only") && outcome.stderr.contains("contribute nothing"), "{outcome:?}");
}

#[test]
fn schemas_with_labels_are_strict() {
    let target = |y: &str, more: &str| {
        format!(
            r#"{{"name":"t","task":"classification","target":"y"{more},"columns":{{"x":{{"type":"numeric","lower":0,"upper":1}}{y}}}}}"#
        )
    };
    let labels = |values: &str, more: &str| format!(r#","y":{{"type":"categorical","values":[{values}]{more}}}"#);
    for (schema, message) in [
        (target("", ""), "at least 3 labels"),
        (target(&labels(r#""a","b""#, ""), ""), "fewer than 3"),
        (target(&labels(r#""a","b","c""#, r#","other":"c""#), ""), "\"other\" has no meaning"),
        (target(&labels(r#""a","b","c""#, ""), r#","negative":"a""#), "negative"),
    ] {
        let folder = Folder::new();
        folder.write("t.schema.json", schema);
        folder.write("t.csv", "x,y\n0.5,a\n");
        let outcome = folder.run("train t.csv --overwrite --epsilon 1");
        assert!(outcome.code == Some(2) && outcome.stderr.contains(message), "{message}: {outcome:?}");
    }
}

#[test]
fn parameters_belong_to_their_families() {
    let folder = Folder::with("randhie");
    for (arguments, message) in [
        ("--quantile 0.5", "--model quantile"),
        ("--model linear --huber-threshold 1", "--model huber"),
        ("--model quantile --quantile 1.5", "--quantile"),
        ("--model huber --huber-threshold nan", "--huber-threshold"),
        ("--model multinomial", "--model linear"),
        ("--l1 -1", "--l1"),
        ("--l1 0.1 --algorithm whitened", "--algorithm dp-gd"),
    ] {
        let outcome = folder.run(&format!("train randhie.csv --overwrite --epsilon 1 {arguments}"));
        assert!(outcome.code == Some(2) && outcome.stderr.contains(message), "{arguments}: {outcome:?}");
    }
    assert_eq!(folder.names().len(), 2, "nothing was written or charged");
}

#[test]
fn texts_in_the_target_are_drafted_as_labels() {
    let folder = Folder::new();
    folder.write("a.csv", "x,y\n1,red\n2,green\n3,blue\n4,red\n");
    let drafted = folder.succeed("inspect a.csv").json();
    assert_eq!(drafted["columns"]["y"]["values"], serde_json::json!(["blue", "green", "red"]));
    folder.write("a.schema.json", drafted.to_string());
    assert!(folder.succeed("train a.csv --overwrite --epsilon 1").stdout.contains("multinomial"));
}
