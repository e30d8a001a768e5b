//! `--protect label`: from a file to a statement that says what is public, beside accounts and audits.

use crate::support::Folder;

#[test]
fn labels_alone_are_protected_by_a_flag_or_by_the_schema_with_the_same_bits() {
    let folder = Folder::with("fair");
    // More rows than a megabyte holds.
    let text = folder.text("fair.csv");
    let (header, lines) = text.split_once('\n').unwrap();
    folder.write("fair.csv", format!("{header}\n{}", lines.repeat(5)));
    let page = folder.succeed("train fair.csv --epsilon 1 --protect label --seed 3 --out a.model.json --no-ledger");
    assert!(page.stdout.contains("unit       label"), "{page:?}");
    assert!(page.stdout.contains("protects labels alone"), "{page:?}");
    folder.edit("fair.schema.json", "\"target\"", "\"protect\": \"label\", \"target\"");
    folder.succeed("train fair.csv --epsilon 1 --seed 3 --out b.model.json --no-ledger");
    let streamed =
        folder.succeed("train fair.csv --epsilon 1 --seed 3 --out c.model.json --no-ledger --memory-limit 1MB");
    assert!(streamed.stderr.contains("stream"), "{streamed:?}");
    let [a, b, c] = ["a", "b", "c"].map(|name| folder.json(&format!("{name}.model.json")));
    assert_eq!((&b, a["features"].clone()), (&c, b["features"].clone()));
    assert_eq!(a["statement"]["definition"]["protects"], serde_json::json!(["label"]));
    assert_eq!(a["statement"]["facts"]["adjacency"], "replace-one");
    for name in ["a", "b"] {
        folder.succeed(&format!("verify {name}.model.json --log {name}.log.jsonl"));
        folder.succeed(&format!("predict {name}.model.json fair.csv"));
        folder.succeed(&format!("report {name}.model.json --out {name}.html"));
    }
}

#[test]
fn an_account_counts_labels_or_rows_and_never_both() {
    let folder = Folder::with("fair");
    folder.succeed("ledger init fair.ledger.sqlite fair --rho 0.1 --protect label");
    folder.succeed("train fair.csv --rho 0.01 --protect label");
    folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite");
    let of_attribute = folder.succeed("statement fair.model.json --what-if attribute").stdout;
    assert!(of_attribute.contains("for no feature, which are all public"), "{of_attribute}");
    folder.refuse("statement fair.model.json --what-if new-rows", 1, &["features are public"]);
    folder.refuse("train fair.csv --rho 0.01 --adjacency replace-one --overwrite", 1, &["counted by the label"]);
    folder.refuse("train fair.csv --rho 0.01 --adjacency add-remove --protect label --overwrite", 2, &["replace-one"]);
    folder.refuse("train fair.csv --rho 0.01 --protect label --unit who --overwrite", 2, &["persons"]);
    folder.refuse("train fair.csv --rho 0.01 --protect label --model svm --overwrite", 2, &["--model linear"]);
    folder.refuse("ledger init other.sqlite d --rho 1 --protect label --adjacency add-remove", 2, &["replace-one"]);
    let shown = folder.succeed("ledger show fair.ledger.sqlite --json").json();
    assert_eq!(shown["datasets"][0]["unit"], "label", "{shown}");
}

/// In such a file a label may hide the rest of its line.
#[test]
fn a_libsvm_file_is_refused() {
    let folder = Folder::new();
    folder.write("a.svm", "1 1:0.5\n0 1:0.2\n");
    folder.write(
        "a.schema.json",
        r#"{"name":"a","task":"classification","target":"y","positive":"1","columns":{"1":{"type":"numeric","lower":0,"upper":1}}}"#,
    );
    folder.refuse("train a.svm --epsilon 1 --protect label", 2, &["libsvm"]);
    folder.succeed("train a.svm --epsilon 1");
}

#[test]
fn an_audit_of_labels_finds_its_planted_fault_and_nothing_else() {
    let folder = Folder::new();
    let found = folder.succeed("audit --rho 4.5 --protect label --trials 3000 --json").json();
    assert_eq!((&found["unit"], &found["refuted"], &found["powerful"]), (&"label".into(), &false.into(), &true.into()));
    folder.refuse("audit --rho 4.5 --protect label --algorithm dp-gd", 2, &["label-sums"]);
}
