//! Persons as the unit of privacy, from the command line.

use super::support::{Folder, rows};

/// Schema of [`visits`].
const SCHEMA: &str = r#"{"name":"trial","task":"classification","target":"y","positive":"yes","negative":"no",
    "columns":{"x":{"type":"numeric","lower":0,"upper":10},"z":{"type":"numeric","lower":-1,"upper":1},
    "c":{"type":"categorical","values":["u","v","w"]}}}"#;

/// Rows of persons with one row and more, in no order.
fn visits(person: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for (line, number) in rows(1500).lines().zip(0..) {
        let id = if number == 0 { "patient".into() } else { person(number) };
        text.push_str(&format!("{id},{line}\n"));
    }
    text
}

fn patient(number: usize) -> String {
    format!("{}", 1000 + number * number % 401)
}

fn folder() -> Folder {
    Folder::trial(SCHEMA, visits(patient))
}

const TRAIN: &str = "--epsilon 4 --seed 3 --no-ledger --schema trial.schema.json --out m.json --overwrite";

#[track_caller]
fn model(folder: &Folder, data: &str, flags: &str) -> Vec<u8> {
    folder.succeed(&format!("train {data} {TRAIN} {flags}"));
    folder.bytes("m.json")
}

#[test]
fn a_unit_of_the_flags_is_that_of_a_schema_and_stands_in_the_model() {
    let folder = folder();
    let flags = "--unit patient --persons 400 --max-rows 6";
    let outcome = folder.succeed(&format!("train trial.csv {TRAIN} {flags}"));
    assert!(outcome.stderr.contains("NOT PRIVATE"), "a seed: {outcome:?}");
    let facts = folder.json("m.json")["statement"]["facts"].clone();
    assert_eq!(facts["unit"]["person"]["column"], "patient", "{facts}");
    assert_eq!(facts["rows"], 400);
    let expected = folder.bytes("m.json");
    folder.edit(
        "trial.schema.json",
        "\"columns\"",
        "\"unit\":{\"column\":\"patient\",\"persons\":400,\"max_rows\":6},\"columns\"",
    );
    assert!(model(&folder, "trial.csv", "") == expected);
    assert!(model(&folder, "trial.csv", flags) == expected, "what the schema says may be said again");
    // Neither rows to predict nor rows to measure on need to say whose they are.
    folder.write("plain.csv", rows(100));
    folder.succeed("predict m.json plain.csv --out p.csv");
    folder.succeed("evaluate m.json plain.csv");
    // No standard errors: their theory is about independent rows.
    assert!(folder.json("m.json")["standard_errors"].is_null());
    // Another number of rows that count is another model.
    folder.write("trial.schema.json", SCHEMA);
    assert!(model(&folder, "trial.csv", "--unit patient --persons 400 --max-rows 2") != expected);
}

#[test]
fn persons_are_the_same_from_every_kind_of_file_and_in_any_order() {
    let folder = folder();
    let unit = "--unit patient";
    let expected = model(&folder, "trial.csv", unit);
    // Quoted, packed, in other dialects.
    folder.write("quoted.csv", visits(|number| format!("\" {} \"", patient(number))));
    assert!(model(&folder, "quoted.csv", unit) == expected);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, folder.text("trial.csv").as_bytes()).unwrap();
    folder.write("trial.csv.gz", encoder.finish().unwrap());
    assert!(model(&folder, "trial.csv.gz", unit) == expected);
    let other = folder.text("trial.csv").replace(',', ";").replace('.', ",");
    folder.write("other.csv", other);
    assert!(model(&folder, "other.csv", "--unit patient --separator ; --decimal ,") == expected);
    // Other identifiers of the same persons, with points and commas that a decimal comma would swap.
    for sign in [".", ","] {
        let names = visits(|number| format!("\"{}{sign}5\"", patient(number)));
        folder.write("named.csv", &names);
        assert!(model(&folder, "named.csv", unit) == expected, "{sign}");
    }
    // All rows of a person together, persons by their first row.
    let text = folder.text("trial.csv");
    let (header, lines) = text.split_once('\n').unwrap();
    let of = |line: &str| line.split(',').next().unwrap().to_owned();
    let mut order = Vec::new();
    lines.lines().map(of).for_each(|person| {
        if !order.contains(&person) {
            order.push(person);
        }
    });
    let place = |line: &&str| order.iter().position(|person| *person == of(line));
    let mut sorted: Vec<&str> = lines.lines().collect();
    sorted.sort_by_key(place);
    folder.write("sorted.csv", format!("{header}\n{}\n", sorted.join("\n")));
    assert!(model(&folder, "sorted.csv", unit) == expected);
}

#[test]
fn persons_train_under_a_memory_limit_and_from_a_cache_with_the_same_bits() {
    let folder = folder();
    let expected = model(&folder, "trial.csv", "--unit patient");
    for more in ["--memory-limit 1MB", "--cache a.rows", "--cache a.rows", "--cache a.rows --memory-limit 1MB"] {
        assert!(model(&folder, "trial.csv", &format!("--unit patient {more}")) == expected, "{more}");
    }
    // A cache of other persons, or of rows, is made anew.
    let told = |more: &str| folder.succeed(&format!("train trial.csv {TRAIN} --cache a.rows {more}")).stderr;
    for more in ["--unit patient --max-rows 2", "--unit patient", "", "--unit patient"] {
        let told = told(more);
        assert!(told.contains("the schema, the header or the encoding rules are others"), "{more}: {told}");
    }
}

#[test]
fn rows_are_weighed_where_they_are_asked_for_with_the_same_bits_everywhere() {
    let folder = folder();
    let flags = "--unit patient --max-rows 6 --estimand rows";
    let persons = model(&folder, "trial.csv", "--unit patient --max-rows 6");
    assert!(model(&folder, "trial.csv", "--unit patient --max-rows 6 --estimand persons") != persons, "another schema");
    let facts = |folder: &Folder| folder.json("m.json")["statement"]["facts"].clone();
    assert!(facts(&folder).get("estimand").is_none(), "as files before there was a choice");
    let expected = model(&folder, "trial.csv", flags);
    let rows = facts(&folder);
    assert_eq!(rows["estimand"], "rows");
    let typical = rows["settings"]["typical_rows"].as_u64().unwrap();
    assert!((2..=6).contains(&typical), "1500 rows of 400 persons: {rows}");
    let statement = folder.succeed("statement m.json").stdout;
    assert!(statement.contains("weighs rows as far as the clip lets it"), "{statement}");
    folder.succeed("verify m.json");
    for more in ["--memory-limit 1MB", "--cache a.rows", "--cache a.rows --memory-limit 1MB"] {
        assert!(model(&folder, "trial.csv", &format!("{flags} {more}")) == expected, "{more}");
    }
    for more in ["--algorithm dp-gd", "--algorithm dp-sgd", "--adjacency replace-one", "--evaluate-budget 0.2"] {
        model(&folder, "trial.csv", &format!("{flags} {more}"));
        assert_eq!(facts(&folder)["estimand"], "rows");
        folder.succeed("verify m.json");
    }
    folder.edit(
        "trial.schema.json",
        "\"columns\"",
        "\"unit\":{\"column\":\"patient\",\"max_rows\":6,\"estimand\":\"rows\"},\"columns\"",
    );
    assert!(model(&folder, "trial.csv", "") == expected);
    // A file that says what it did not pay for.
    folder.edit("m.json", "\"estimand\": \"rows\"", "\"estimand\": \"persons\"");
    let outcome = folder.run("verify m.json");
    assert!(outcome.code == Some(1), "{outcome:?}");
}

#[test]
fn a_row_without_an_identifier_is_nobodys_and_the_custodian_hears_of_it() {
    let folder = folder();
    let gaps = ["", "NA", "\" \"", "nan"];
    folder.write(
        "gaps.csv",
        visits(|number| if number % 300 == 7 { gaps[number / 300 % 4].into() } else { patient(number) }),
    );
    let lost = "5 of 1500 rows (0.33%) have no identifier in \"patient\", so nobody's, and contribute nothing; the first is line 8";
    let checked = folder.succeed("check gaps.csv --schema trial.schema.json --unit patient");
    assert!(checked.stdout.contains(lost), "{checked:?}");
    assert!(checked.stdout.contains("persons with 1495 rows"), "{checked:?}");
    assert!(!checked.stdout.contains("\"patient\", \"note\""), "the unit is used: {checked:?}");
    let trained = folder.succeed(&format!("train gaps.csv {TRAIN} --unit patient"));
    assert!(
        trained.stderr.contains("no identifier in \"patient\"") && !trained.stdout.contains("no identifier"),
        "{trained:?}"
    );
    // Without these rows the model is the same.
    let text = folder.text("gaps.csv");
    let kept: Vec<&str> = text.lines().filter(|line| !gaps.contains(&line.split(',').next().unwrap())).collect();
    folder.write("kept.csv", kept.join("\n"));
    let expected = folder.bytes("m.json");
    assert!(model(&folder, "kept.csv", "--unit patient") == expected);
    let json = folder
        .succeed("check gaps.csv --schema trial.schema.json --unit patient --max-rows 3 --persons 9 --json")
        .json();
    assert_eq!(json["persons"]["rows"], 1495);
    let found = json["findings"].to_string();
    assert!(found.contains("more than the 3 rows that count") && found.contains("9 persons are declared"), "{found}");
}

#[test]
fn what_cannot_protect_persons_is_refused_before_a_charge() {
    let folder = folder();
    let unit = r#""unit":{"column":"patient"},"columns""#;
    folder.write("unit.schema.json", SCHEMA.replace("\"columns\"", unit));
    folder.write("rows.schema.json", SCHEMA.replace("\"columns\"", "\"rows\":1500,\"columns\""));
    folder.write("other.schema.json", SCHEMA.replace("\"columns\"", r#""unit":{"column":"note"},"columns""#));
    let before = folder.contents();
    for (command, needles) in [
        (
            "train trial.csv --schema unit.schema.json --epsilon 1 --memory-limit 1GB --algorithm dp-sgd",
            &["--memory-limit", "dp-sgd"][..],
        ),
        ("train trial.csv --schema unit.schema.json --epsilon 1 --rows 1500", &["--rows", "--persons"]),
        ("train trial.csv --schema rows.schema.json --epsilon 1 --unit patient", &["\"rows\"", "persons"]),
        ("train trial.csv --schema other.schema.json --epsilon 1 --unit patient", &["--unit", "note"]),
        ("train trial.csv --schema trial.schema.json --epsilon 1 --unit x", &["is a feature"]),
        ("train trial.csv --schema trial.schema.json --epsilon 1 --unit y", &["names the target"]),
        ("train trial.csv --schema trial.schema.json --epsilon 1 --unit nowhere", &["nowhere", "header lacks"]),
        ("train trial.csv --schema trial.schema.json --epsilon 1 --persons 40", &["--persons", "--unit"]),
        ("train trial.csv --schema trial.schema.json --epsilon 1 --max-rows 4", &["--max-rows", "--unit"]),
        ("train trial.csv --schema trial.schema.json --epsilon 1 --unit patient --max-rows 0", &["max_rows"]),
        (
            "train trial.csv --schema trial.schema.json --epsilon 1 --unit patient --max-rows private",
            &["--max-rows", "is a public number", "1000"],
        ),
        ("train trial.csv --schema trial.schema.json --epsilon 1 --unit patient --persons 0", &["0 persons"]),
        ("train trial.csv --schema trial.schema.json --epsilon 1 --estimand rows", &["--estimand", "--unit"]),
        (
            "train trial.csv --schema unit.schema.json --epsilon 1 --estimand rows --algorithm newton",
            &["--estimand", "newton", "whitened"],
        ),
        (
            "train trial.csv --schema unit.schema.json --epsilon 1 --estimand rows --tune=algorithm=whitened,dp-gd",
            &["--estimand", "--tune"],
        ),
        (
            "train trial.csv --schema unit.schema.json --epsilon 1 --algorithm output-perturbation",
            &["--unit", "no proof"],
        ),
        ("inspect trial.csv --epsilon 1 --unit nobody --target y", &["--unit", "header lacks"]),
        ("inspect trial.csv --epsilon 1 --unit y --target y", &["--unit", "names the target"]),
        ("inspect trial.csv --epsilon 1 --unit patient --numeric patient --target y", &["--numeric", "a second time"]),
    ] {
        let outcome = folder.run(command);
        assert_ne!(outcome.code, Some(0), "{outcome:?}");
        assert!(needles.iter().all(|needle| outcome.stderr.contains(needle)), "{outcome:?}");
        assert!(outcome.stdout.is_empty() && folder.contents() == before, "nothing is charged or written: {outcome:?}");
    }
}

#[test]
fn a_draft_names_the_unit_and_keeps_identifiers_out() {
    let folder = folder();
    let outcome = folder.succeed("inspect trial.csv --unit patient --target y");
    assert!(outcome.stderr.contains("NOT PRIVATE"));
    let schema = outcome.json();
    assert_eq!(schema["unit"], serde_json::json!({ "column": "patient" }));
    assert!(schema["columns"].get("patient").is_none() && !outcome.stdout.contains("1400"), "{schema}");
    let refused = folder.run("inspect trial.csv --unit nobody --target y");
    assert!(refused.code == Some(2) && refused.stderr.contains("nobody"), "{refused:?}");
}

#[test]
fn generated_persons_train_as_the_schema_says() {
    let folder = Folder::new();
    folder.succeed("generate logistic --persons --rows 4000 --features 3 --out g.csv");
    assert_eq!(folder.json("g.schema.json")["unit"], serde_json::json!({ "column": "person", "max_rows": 20 }));
    let checked = folder.succeed("check g.csv");
    assert!(checked.stdout.contains("persons with 4000 rows"), "{checked:?}");
    folder.succeed("train g.csv --epsilon 2");
    folder.succeed("verify g.model.json --ledger g.ledger.sqlite");
}
