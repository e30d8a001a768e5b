//! JSON Schemas from the command line.

use serde_json::Value;

use super::support::Folder;

#[test]
fn each_format_has_a_json_schema_that_needs_no_other_file() {
    let folder = Folder::new();
    for (format, field) in [("schema", "columns"), ("model", "digest"), ("statement", "reshaped"), ("log", "sigma")] {
        let printed = folder.succeed(&format!("json-schema {format}")).stdout;
        let schema: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["$id"], format!("urn:rhograd:{format}"));
        assert!(schema["properties"][field]["description"].as_str().unwrap().ends_with('.'), "{format}");
        assert_eq!(printed.matches("urn:rhograd:").count(), 1, "{format}");
        // Keys come in the order of the page about them, which an editor shows.
        assert!(printed.find("\"$id\"") < printed.find("\"properties\""), "{format}");
    }
    folder.refuse("json-schema ledger", 2, &["schema", "statement"]);
    assert_eq!(folder.run("json-schema").code, Some(2));
}

#[test]
fn a_schema_that_names_one_trains_as_without() {
    let folder = Folder::with("fair");
    let schema = folder.text("fair.schema.json");
    assert!(!schema.contains("$schema"));
    folder.succeed("train fair.csv --epsilon 1 --seed 3 --no-ledger --out plain.model.json --log plain.log.jsonl");
    folder.write("fair.schema.json", schema.replacen('{', "{\"$schema\": \"rhograd-schema.json\",", 1));
    folder.succeed("train fair.csv --epsilon 1 --seed 3 --no-ledger --out named.model.json --log named.log.jsonl");
    assert_eq!(folder.text("plain.model.json"), folder.text("named.model.json"));
}
