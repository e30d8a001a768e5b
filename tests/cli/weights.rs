//! Weights of rows: flags and schema say the same, statements tell it, and what has no proof is refused.

use serde_json::json;

use crate::support::Folder;

/// The data of `fair`, with a weight for every row, and a schema that leaves it alone.
fn folder() -> Folder {
    let folder = Folder::with("fair");
    let text = folder.text("fair.csv");
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let weighed = lines.enumerate().map(|(i, line)| format!("{line},{}", ["1", "2.5", "30", "", "-1"][i % 5]));
    let body: Vec<String> = [format!("{header},w")].into_iter().chain(weighed).collect();
    folder.write("fair.csv", body.join("\n") + "\n");
    folder
}

#[test]
fn rows_are_weighed_by_flags_or_by_the_schema_with_the_same_bits() {
    let folder = folder();
    let flags = "--weight w --max-weight 20 --label-weight 1=3";
    let page = folder.succeed(&format!("train fair.csv --epsilon 1 {flags} --seed 3 --out a.model.json --no-ledger"));
    assert!(page.stderr.contains("\"w\"") && page.stderr.contains("above the upper bound"), "{page:?}");
    assert!(page.stderr.contains("no weight, exposure or offset"), "{page:?}");
    let weight = r#""weight": {"column": "w", "max": 20, "labels": {"1": 3}}, "target""#;
    folder.edit("fair.schema.json", "\"target\"", weight);
    folder.succeed("train fair.csv --epsilon 1 --seed 3 --out b.model.json --no-ledger");
    let [a, b] = ["a", "b"].map(|name| folder.json(&format!("{name}.model.json")));
    assert_eq!(a, b);
    assert_eq!(a["statement"]["facts"]["weight"], json!({"column": "w", "max": 20.0, "labels": {"1": 3.0}}));
    assert!(a["standard_errors"].is_null(), "rows that count differently have no theory for them");
    folder.succeed("verify a.model.json --log a.log.jsonl");
    let shown = folder.succeed("statement a.model.json").stdout;
    assert!(shown.contains("weighs rows") && shown.contains("at most 20"), "{shown}");
    // Nobody needs a weight to be predicted.
    folder.succeed("predict a.model.json fair.csv");
    folder.succeed("report a.model.json --out a.html");
    let checked = folder.succeed("check fair.csv --epsilon 1").stdout;
    assert!(checked.contains("no weight"), "{checked}");
    folder.refuse("train fair.csv --epsilon 1 --no-ledger --max-weight 5", 2, &["--max-weight", "20"]);
}

#[test]
fn offsets_are_added_by_flags_or_by_the_schema_with_the_same_bits() {
    let folder = folder();
    let flags = "--offset w --min-offset -1 --max-offset 5";
    folder.succeed(&format!("train fair.csv --epsilon 1 {flags} --seed 3 --out a.model.json --no-ledger"));
    let offset = r#""weight": {"offset": {"column": "w", "lower": -1, "upper": 5}}, "target""#;
    folder.edit("fair.schema.json", "\"target\"", offset);
    folder.succeed("train fair.csv --epsilon 1 --seed 3 --out b.model.json --no-ledger");
    assert_eq!(folder.json("a.model.json"), folder.json("b.model.json"));
    folder.succeed("verify a.model.json --log a.log.jsonl");
    let shown = folder.succeed("statement a.model.json").stdout;
    assert!(shown.contains("adds the number in \"w\", from -1 to 5, to the margin"), "{shown}");
    folder.refuse("train fair.csv --epsilon 1 --no-ledger --offset w", 2, &["--min-offset"]);
    let other = "train fair.csv --epsilon 1 --no-ledger --offset w --min-offset 0 --max-offset 5";
    folder.refuse(other, 2, &["--offset", "-1"]);
    folder.refuse("evaluate a.model.json fair.csv", 2, &["offset"]);
}

/// Labels weighed alike, from counts that were released and charged to the same account.
#[test]
fn labels_are_weighed_by_released_counts() {
    let folder = Folder::with("fair");
    let released = folder.succeed("summarize fair.csv histogram:affair --epsilon 0.5 --json").json();
    let count = |bin: usize| released["answers"][0]["answer"]["counts"][bin][1].as_f64().unwrap();
    let weight = format!("{:.2}", count(1) / count(0));
    assert!(weight.starts_with("2.0") || weight.starts_with("2.1"), "{weight}");
    folder.succeed(&format!("train fair.csv --epsilon 1 --label-weight 1={weight}"));
    let entries = folder.succeed("ledger show fair.ledger.sqlite --json").json();
    assert_eq!(entries["datasets"][0]["runs"], 2, "{entries}");
    folder.succeed("predict fair.model.json fair.csv --out p.csv");
    let predicted = folder.text("p.csv");
    let positive = predicted.lines().skip(1).filter(|line| line.starts_with('1')).count();
    // A third of the rows has it; of labels that count alike half is predicted.
    assert!(positive > 2400, "{positive} {}", predicted.lines().take(3).collect::<String>());
}

#[test]
fn what_is_no_weight_or_has_no_proof_for_weights_is_refused() {
    let folder = folder();
    let flags = "train fair.csv --epsilon 1 --no-ledger --weight w --max-weight 20";
    for (more, needle) in [
        ("--algorithm dp-sgd", "dp-sgd has no proof for rows with weights"),
        ("--evaluate-budget 0.1", "--evaluate-budget"),
        ("--tune", "--tune"),
        ("--memory-limit 1MB", "--memory-limit"),
        ("--cache c.rows", "--cache"),
        ("--protect label", "protect"),
        ("--exposure w --max-exposure 3", "label"),
        ("--exposure w", "--max-exposure"),
        ("--label-weight maybe=2", "maybe"),
        ("--label-weight 1=-2", "above 0"),
        ("--label-weight 1", "LABEL=W"),
    ] {
        folder.refuse(&format!("{flags} {more}"), 2, &[needle]);
    }
    folder.refuse("train fair.csv --epsilon 1 --no-ledger --weight w", 2, &["largest"]);
    folder.refuse("train fair.csv --epsilon 1 --no-ledger --weight age --max-weight 2", 2, &["feature"]);
    folder.refuse("train fair.csv --epsilon 1 --no-ledger --weight who --max-weight 2", 2, &["who"]);
    folder.edit("fair.schema.json", "\"target\"", r#""weight": {"labels": {"1": 3}}, "target""#);
    folder.refuse("summarize fair.csv count --epsilon 1 --no-ledger", 2, &["weights"]);
}
