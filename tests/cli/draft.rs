//! Private drafts of a schema, and models trained with them.

use crate::support::{Folder, number, rows};

const COUNT: u64 = 20_000;

fn with_rows(extra: &str) -> Folder {
    let folder = Folder::new();
    folder.write("a.csv", rows(COUNT) + extra);
    folder
}

#[test]
fn a_private_draft_trains_a_private_model_and_costs_add_up() {
    let folder = with_rows("");
    let draft = folder.succeed("inspect a.csv --epsilon 1");
    assert!(!draft.stderr.contains("NOT PRIVATE") && draft.stderr.contains("differentially private"), "{draft:?}");
    let schema = draft.json();
    assert_eq!((&schema["target"], &schema["task"]), (&"y".into(), &"classification".into()));
    assert_eq!(schema["ignore"], serde_json::json!(["note"]));
    assert!(schema.get("draft").is_none() && number(&schema, "/released/epsilon") <= 1.0);
    assert_eq!(schema["released"]["ledger"].as_array().unwrap().len(), 2);
    let drafted = number(&folder.spending("a.ledger.sqlite"), "/spent_rho");
    assert!(drafted > 0.0 && drafted <= number(&schema, "/released/rho"));

    folder.write("a.schema.json", &draft.stdout);
    let trained = folder.succeed("train a.csv --overwrite --epsilon 1");
    for warning in ["warning: the schema is a draft", "warning: the release of the schema"] {
        assert!(!trained.stderr.contains(warning), "{trained:?}");
    }
    let model = folder.json("a.model.json");
    assert_eq!(model["statement"]["dp"], true);
    let limits = model["statement"]["limits"].to_string();
    assert!(limits.contains("released from these rows") && limits.contains("both together are"), "{limits}");
    assert!(model["statement"]["scope"]["preprocessing"].as_str().unwrap().contains("privately released schema"));
    let verified = folder.succeed("verify a.model.json --ledger a.ledger.sqlite");
    assert!(verified.stdout.contains("the ledger holds the release of the schema"), "{verified:?}");
    let all = folder.spending("a.ledger.sqlite");
    assert!(number(&all, "/spent_rho") >= drafted + number(&model, "/statement/guarantee/rho_upper") * 0.999);
    assert_eq!((&all["runs"], &all["completed"]), (&3.into(), &3.into()));
    assert!(number(&all, "/spent_delta") > 0.0);
    // Three in four labels are the more frequent one or so; the model does better.
    let quality = folder.succeed("evaluate a.model.json a.csv --json").json();
    assert!(number(&quality, "/auc") > 0.95, "{quality}");
}

#[test]
fn a_released_schema_is_held_to_its_ledger_and_its_relation() {
    let folder = with_rows("");
    let draft = folder.succeed("inspect a.csv --rho 0.05 --task classification --ignore note");
    folder.write("a.schema.json", &draft.stdout);
    folder.refuse("train a.csv --overwrite --epsilon 1 --adjacency replace-one", 2, &["--adjacency", "add-remove"]);
    // Another ledger does not know of the draft.
    let elsewhere = folder.succeed("train a.csv --overwrite --epsilon 1 --ledger other.sqlite");
    assert!(elsewhere.stderr.contains("not in this ledger"), "{elsewhere:?}");
    assert_eq!(folder.run("verify a.model.json --ledger other.sqlite").code, Some(1));
    assert_eq!(folder.run("verify a.model.json").code, Some(0));
    // Under another name its cost would be counted on another account.
    let name = draft.json()["name"].to_string();
    folder.write("a.schema.json", draft.stdout.replacen(&format!("\"name\": {name}"), "\"name\": \"renamed\"", 1));
    folder.refuse("train a.csv --overwrite --epsilon 1", 1, &[&name, "one account"]);
    folder.write("a.schema.json", &draft.stdout);
    // A cost that is stated lower than it was.
    let schema = draft.json();
    let rho = schema["released"]["rho"].as_str().unwrap();
    folder.edit("a.schema.json", "This schema is", "This schema is harmless and");
    assert_eq!(folder.run("train a.csv --overwrite --epsilon 1").code, Some(2));
    let epsilon = format!("\"epsilon\": \"{}\"", schema["released"]["epsilon"].as_str().unwrap());
    let said = schema["released"]["epsilon"].as_str().unwrap();
    folder.write(
        "a.schema.json",
        draft.stdout.replace(&epsilon, "\"epsilon\": \"0.001\"").replace(&format!("({said},"), "(0.001,"),
    );
    let small = folder.run("train a.csv --overwrite --epsilon 1");
    assert!(small.code == Some(2) && small.stderr.contains("smaller epsilon"), "{small:?}");
    folder.write("a.schema.json", draft.stdout.replace(rho, "0.001"));
    folder.succeed("train a.csv --overwrite --epsilon 1");
    assert_eq!(folder.run("verify a.model.json --ledger a.ledger.sqlite").code, Some(1));
    folder.edit("a.schema.json", "\"rho\": \"0.001\"", "\"rho\": \"none\"");
    assert_eq!(folder.run("train a.csv --overwrite --epsilon 1").code, Some(2));
}

#[test]
fn a_draft_for_persons_is_held_to_its_unit() {
    let folder = Folder::new();
    folder.succeed("generate logistic --persons --rows 8000 --features 2 --categories 1 --out a.csv");
    folder.succeed("inspect a.csv --epsilon 1 --unit person --with-rows --out b.schema.json");
    let schema = folder.json("b.schema.json");
    assert_eq!(schema["unit"]["column"], "person");
    assert!(schema["unit"]["persons"].is_u64() && schema.get("rows").is_none(), "{schema}");
    assert!(schema["released"]["statement"].as_str().unwrap().contains("all rows of one person"), "{schema}");
    let trained = folder.succeed("train a.csv --schema b.schema.json --epsilon 1");
    assert!(!trained.stderr.contains("NOT PRIVATE"), "{trained:?}");
    let verified = folder.succeed("verify a.model.json --ledger a.ledger.sqlite");
    assert!(verified.stdout.contains("the ledger holds the release of the schema"), "{verified:?}");
    let before = folder.contents();
    // Costs for rows and for persons do not add up, whichever came first.
    for command in [
        "inspect a.csv --epsilon 1",
        "inspect a.csv --epsilon 1 --unit x1",
        "train a.csv --schema b.schema.json --epsilon 1 --unit x1 --out c.json",
    ] {
        let refused = folder.run(command);
        assert!(refused.code != Some(0) && refused.stderr.contains("unit"), "{refused:?}");
        assert!(folder.contents() == before, "{command}");
    }
    let (mut other, mut none) = (schema.clone(), schema);
    other["unit"]["column"] = "c0".into();
    other["columns"].as_object_mut().unwrap().remove("c0");
    none.as_object_mut().unwrap().remove("unit");
    for (odd, words) in [(other, "protect persons by"), (none, "protect persons:")] {
        folder.write("b.schema.json", odd.to_string());
        let refused = folder.run("train a.csv --schema b.schema.json --epsilon 1 --overwrite");
        assert!(refused.code == Some(2) && refused.stderr.contains(words), "{refused:?}");
    }
}

#[test]
fn a_draft_shows_nothing_that_few_rows_hold() {
    let odd = "77777777,-inf,MARKER1,MARKER2,MARKER3\n1e300,,MARKER1\n\"MARKER4\n,,,,\n";
    for arguments in ["inspect a.csv --epsilon 1", "inspect a.csv --epsilon 0.2 --adjacency replace-one"] {
        let mut files = Vec::new();
        for extra in ["", odd] {
            let folder = with_rows(extra);
            let draft = folder.succeed(arguments);
            for secret in ["MARKER", "7777777", "1e300", "n17"] {
                assert!(!draft.stdout.contains(secret) && !draft.stderr.contains(secret), "{secret}: {draft:?}");
            }
            let ledger = folder.bytes("a.ledger.sqlite");
            assert!(!ledger.windows(6).any(|bytes| bytes == b"MARKER"));
            files.push(folder.names());
        }
        assert_eq!(files[0], files[1]);
    }
    // The search finds what is there.
    assert!(with_rows(odd).succeed("inspect a.csv").stdout.contains("MARKER3"));
}

#[test]
fn seeds_and_flags_of_a_draft() {
    let folder = with_rows("");
    let seeded = folder.succeed("inspect a.csv --epsilon 1 --seed 4 --no-ledger");
    assert_eq!(seeded.stdout, folder.succeed("inspect a.csv --epsilon 1 --seed 4 --no-ledger").stdout);
    assert_eq!(seeded.json()["draft"], true);
    assert!(seeded.stderr.contains("NOT PRIVATE") && seeded.json()["released"].get("ledger").is_none());
    folder.write("a.schema.json", &seeded.stdout);
    assert!(folder.succeed("train a.csv --overwrite --epsilon 1 --no-ledger").stdout.contains("NOT PRIVATE"));
    let ranged = "inspect a.csv --epsilon 1 --range z=-1..1 --target z --ignore note --with-rows --no-ledger";
    let ranged = folder.succeed(ranged).json();
    assert_eq!(ranged["task"], "regression");
    assert!(number(&ranged, "/target_lower") >= -1.0 && number(&ranged, "/target_upper") <= 1.0);
    assert!((number(&ranged, "/rows") / COUNT as f64 - 1.0).abs() < 0.05);
    for wrong in [
        "inspect a.csv --epsilon 1 --rho 1",
        "inspect a.csv --numeric x",
        "inspect a.csv --epsilon 1 --range x=1",
        "inspect a.csv --epsilon 1 --numeric nowhere",
        "inspect a.csv --epsilon -1",
        "inspect a.csv --epsilon 0",
        "inspect a.csv --epsilon 1 --ledger l --no-ledger",
    ] {
        assert_eq!(folder.run(wrong).code, Some(2), "{wrong}");
    }
    assert!(!folder.names().iter().any(|name| name.ends_with("sqlite")), "nothing was charged");
}
