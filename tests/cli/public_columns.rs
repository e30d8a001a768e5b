//! `--public`: from a file to a statement that says which columns are public, beside accounts and audits.

use crate::support::Folder;

const PUBLIC: &str = "--public age --public children --public educ --public religious";

#[test]
fn columns_are_public_by_a_flag_or_by_the_schema_with_the_same_bits() {
    let folder = Folder::with("fair");
    let page = folder.succeed(&format!("train fair.csv --epsilon 1 {PUBLIC} --seed 3 --out a.model.json --no-ledger"));
    assert!(page.stdout.contains("private cells of a row"), "{page:?}");
    for column in ["age", "children", "educ", "religious"] {
        folder.edit(
            "fair.schema.json",
            &format!("\"{column}\": {{\"type\""),
            &format!("\"{column}\": {{\"public\": true, \"type\""),
        );
    }
    folder.succeed("train fair.csv --epsilon 1 --seed 3 --out b.model.json --no-ledger");
    let [a, b] = ["a", "b"].map(|name| folder.json(&format!("{name}.model.json")));
    assert_eq!(a["features"], b["features"]);
    let definition = &a["statement"]["definition"];
    assert_eq!(definition["protects"], serde_json::json!(["features of private columns", "label"]));
    assert_eq!(a["statement"]["facts"]["adjacency"], "replace-one");
    for name in ["a", "b"] {
        folder.succeed(&format!("verify {name}.model.json --log {name}.log.jsonl"));
        folder.succeed(&format!("predict {name}.model.json fair.csv"));
        folder.succeed(&format!("report {name}.model.json --out {name}.html"));
    }
    // What is kept apart needs all rows at hand.
    folder.refuse("train fair.csv --epsilon 1 --memory-limit 1MB --no-ledger", 2, &["public columns"]);
    folder.refuse("train fair.csv --epsilon 1 --adjacency add-remove --no-ledger", 2, &["replace-one"]);
    folder.refuse("summarize fair.csv --epsilon 1 count", 2, &["private cells alone"]);
    folder.refuse("train fair.csv --epsilon 1 --public nothing --no-ledger", 2, &["\"nothing\"", "feature"]);
}

#[test]
fn an_account_counts_rows_or_private_cells_beside_the_same_columns() {
    let folder = Folder::with("fair");
    folder.succeed(&format!("ledger init fair.ledger.sqlite fair --rho 0.1 {PUBLIC}"));
    folder.succeed(&format!("train fair.csv --rho 0.01 {PUBLIC}"));
    folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite");
    folder.refuse("statement fair.model.json --what-if new-rows", 1, &["public columns"]);
    let of_attribute = folder.succeed("statement fair.model.json --what-if attribute").stdout;
    assert!(of_attribute.contains("none of a public column"), "{of_attribute}");
    let of_group = folder.succeed("statement fair.model.json --what-if group:3").stdout;
    assert!(of_group.contains("private cells of up to 3 rows"), "{of_group}");
    folder.refuse("train fair.csv --rho 0.01 --adjacency replace-one --overwrite", 1, &["counted by the private"]);
    folder.refuse("train fair.csv --rho 0.01 --public age --overwrite", 1, &["no others"]);
    folder.refuse("ledger init b.sqlite d --rho 1 --public a --adjacency add-remove", 2, &["replace-one"]);
}

#[test]
fn an_audit_attacks_private_cells() {
    let folder = Folder::new();
    let found = folder.succeed("audit --rho 4.5 --algorithm whitened --public --trials 2000 --threads 1 --json").json();
    assert_eq!(
        (&found["unit"], &found["refuted"], &found["powerful"]),
        (&"private cells".into(), &false.into(), &true.into())
    );
    assert_eq!(found["attacks"].as_array().map(Vec::len), Some(3));
}
