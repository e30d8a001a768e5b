//! Schemas: what is read, what is said of it, and what is refused.

use super::*;

fn parse(text: &str) -> Result<Schema, String> {
    Schema::parse(text, Path::new("s.json")).map_err(|e| e.to_string())
}

const GOOD: &str = r#"{"name":"a","task":"classification","target":"y","positive":"1","ignore":["id"],
    "columns":{"x":{"type":"numeric","lower":0,"upper":1},"id":{"type":"numeric","lower":0,"upper":9},
    "c":{"type":"categorical","values":["u","v"],"other":"v"}}}"#;

const UNIT: &str = r#"{"name":"a","task":"classification","target":"y","positive":"1","ignore":["id"],
    "unit":{"column":"id","persons":40,"max_rows":5},
    "columns":{"x":{"type":"numeric","lower":0,"upper":1}}}"#;

#[test]
fn a_unit_is_read_and_says_what_is_protected() {
    let schema = parse(UNIT).unwrap();
    let unit = schema.unit.clone().unwrap();
    assert_eq!((unit.persons, unit.max_rows()), (Some(40), 5));
    assert_eq!(Unit::new("id").max_rows(), Unit::DEFAULT_MAX_ROWS);
    assert_eq!(schema.privacy_unit(), PrivacyUnit::Person { column: "id".into() });
    assert_eq!(parse(GOOD).unwrap().privacy_unit(), PrivacyUnit::Row);
    assert!(!serde_json::to_string(&parse(GOOD).unwrap()).unwrap().contains("unit"));
    let short = UNIT.replace(r#","persons":40,"max_rows":5"#, "").replace(r#""ignore":["id"],"#, "");
    assert_eq!(parse(&short).unwrap().unit, Some(Unit::new("id")));
    assert_eq!(parse(&serde_json::to_string(&schema).unwrap()).unwrap(), schema);
}

#[test]
fn units_that_protect_no_person_are_refused() {
    let released = r#""unit":{"column":"id"},"released":{"statement":"","adjacency":"add-remove","rho":"0.1",
        "approximate_delta":"0","epsilon":"2","delta":"1e-6","ledger":[]},"#;
    for (from, to, needle) in [
        (r#""column":"id""#, r#""column":"y""#, "names the target"),
        (r#""column":"id""#, r#""column":"x""#, "is a feature"),
        (r#""persons":40"#, r#""persons":0"#, "0 persons"),
        (r#""max_rows":5"#, r#""max_rows":0"#, "no row of a person"),
        (r#""max_rows":5"#, r#""max_rows":4097"#, "4096"),
        (r#""max_rows":5"#, r#""most_rows":5"#, "unknown field"),
        (r#""max_rows":5"#, r#""max_rows":4294967296"#, "u32"),
        (r#""max_rows":5"#, r#""max_rows":"private""#, "is a public number"),
        (r#""max_rows":5"#, r#""max_rows":"5""#, "u32"),
        (r#""max_rows":5"#, r#""max_rows":-5"#, "u32"),
        (r#""max_rows":5"#, r#""max_rows":5,"estimand":"everybody""#, "everybody"),
        (r#""ignore""#, r#""rows":9,"ignore""#, "remove \"rows\""),
    ] {
        let message = parse(&UNIT.replacen(from, to, 1)).unwrap_err();
        assert!(message.contains(needle), "{needle}: {message}");
    }
    let text = UNIT.replace(r#""unit":{"column":"id","persons":40,"max_rows":5},"#, released);
    let message = parse(&text).unwrap_err();
    assert!(message.contains("released"), "{message}");
    // What was released for rows is for rows, and what was released for persons is for these persons.
    let of = |unit: Option<&str>, released: PrivacyUnit| {
        let mut schema = parse(&UNIT.replace(r#""unit":{"column":"id","persons":40,"max_rows":5},"#, "")).unwrap();
        let adjacency = crate::privacy::Adjacency::AddRemove;
        let mut release = SchemaRelease {
            statement: String::new(),
            adjacency,
            unit: released,
            rho: "0.1".into(),
            approximate_delta: "1e-7".into(),
            epsilon: "2".into(),
            delta: "1e-6".into(),
            ledger: Vec::new(),
        };
        release.statement = release.sentence();
        (schema.released, schema.unit) = (Some(release), unit.map(Unit::new));
        parse(&serde_json::to_string(&schema).unwrap()).map(drop)
    };
    let person = |column: &str| PrivacyUnit::person(column).unwrap();
    assert_eq!((of(Some("id"), person("id")), of(None, PrivacyUnit::Row)), (Ok(()), Ok(())));
    for (unit, released, needle) in [
        (Some("id"), PrivacyUnit::Row, "protect rows"),
        (Some("id"), person("other"), "persons by \"other\""),
        (None, person("id"), "protect persons"),
    ] {
        let message = of(unit, released).unwrap_err();
        assert!(message.contains(needle), "{message}");
    }
}

#[test]
fn a_unit_that_is_given_beside_that_of_the_schema_must_agree() {
    let (with, without) = (parse(UNIT).unwrap(), parse(GOOD).unwrap());
    let unit = |column: &str, persons, max_rows| Unit { persons, max_rows, ..Unit::new(column) };
    assert_eq!(with.clone().with_unit(Unit::new("id")).unwrap(), with);
    assert_eq!(with.clone().with_unit(unit("id", Some(40), Some(5))).unwrap(), with);
    assert_eq!(without.clone().with_unit(unit("id", Some(3), None)).unwrap().unit, Some(unit("id", Some(3), None)));
    for (schema, given, needle) in [
        (&with, unit("x", None, None), "--unit"),
        (&with, unit("id", Some(41), None), "--persons"),
        (&with, unit("id", None, Some(6)), "--max-rows"),
        (&without, unit("x", None, None), "is a feature"),
        (&without, unit("id", Some(0), None), "0 persons"),
    ] {
        let message = schema.clone().with_unit(given).unwrap_err().to_string();
        assert!(message.contains(needle), "{needle}: {message}");
    }
}

#[test]
fn a_missing_number_may_have_a_feature_and_a_missing_category_is_a_value() {
    let told = GOOD.replace(r#""upper":1}"#, r#""upper":1,"missing":"indicator"}"#);
    let schema = parse(&told).unwrap();
    let features: Vec<_> = schema.categorical().collect();
    assert_eq!(features.iter().map(|c| &*c.name).collect::<Vec<_>>(), ["c", "x (missing)"]);
    assert_eq!((features[1].values, features[1].missing_of), (&["missing".to_owned()][..], Some(("x", 0))));
    assert_ne!(schema.fingerprint(), parse(GOOD).unwrap().fingerprint());
    assert_eq!(parse(&serde_json::to_string(&schema).unwrap()).unwrap(), schema);
    // What is not said is the middle, and a schema says it in one way.
    let middle = GOOD.replace(r#""upper":1}"#, r#""upper":1,"missing":"middle"}"#);
    assert_eq!(parse(&middle).unwrap().fingerprint(), parse(GOOD).unwrap().fingerprint());

    let value = |text: &str| parse(&GOOD.replace(r#""values":["u","v"]"#, text)).unwrap();
    let written = value(r#""values":["u","v",""]"#);
    assert_eq!(value(r#""values":["u","v"],"missing":"indicator""#), written);
    assert_eq!(value(r#""values":["u","v",""],"missing":"indicator""#), written);

    for (from, to, needle) in [
        (r#""upper":1}"#, r#""upper":1,"missing":"mean"}"#, "mean"),
        (r#""values":["u","v"]"#, r#""values":["u","v"],"missing":"middle""#, "middle"),
        (r#""c":{"#, r#""x (missing)":{"#, "another column are missing"),
    ] {
        let message = parse(&told.replace(from, to).replace(r#""indicator","missing""#, r#""missing""#));
        let message = message.err().unwrap_or_else(|| parse(&GOOD.replace(from, to)).unwrap_err());
        assert!(message.contains(needle), "{needle}: {message}");
    }
}

#[test]
fn features_leave_out_target_and_ignored() {
    let schema = parse(GOOD).unwrap();
    let names: Vec<_> = schema.features().map(|(name, _)| name).collect();
    assert_eq!(names, ["x", "c"]);
    let again = parse(&serde_json::to_string(&schema).unwrap()).unwrap();
    assert_eq!(again, schema);
    assert_eq!(again.fingerprint(), schema.fingerprint());
}

#[test]
fn a_key_for_editors_is_read_and_left_out() {
    let schema = parse(GOOD).unwrap();
    let with = |key: &str, value: &str| parse(&GOOD.replacen('{', &format!("{{\"{key}\":{value},"), 1));
    let read = with("$schema", "\"rhograd-schema.json\"").unwrap();
    assert_eq!((&read, read.fingerprint()), (&schema, schema.fingerprint()));
    assert!(parse(&GOOD.replace("}}}", "}},\"$schema\":\"\"}")).is_ok());
    for (key, value) in [("$schema", "null"), ("$schema", "{}"), ("$Schema", "\"\""), ("$id", "\"\"")] {
        assert!(with(key, value).is_err(), "{key}: {value}");
    }
    // In the schema alone, and what follows the object is still refused.
    assert!(parse(&GOOD.replace("\"lower\":0", "\"$schema\":\"\",\"lower\":0")).is_err());
    assert!(parse(&format!("{GOOD} {{}}")).unwrap_err().contains("s.json:3"));
    assert!(parse(&GOOD.replace("\"ignore\"", "\"ignored\"")).unwrap_err().contains("s.json:1"));
}

#[test]
fn faults_name_the_key_and_the_cure() {
    let cases = [
        (GOOD.replace("\"ignore\"", "\"ignored\""), "ignored"),
        (GOOD.replace("\"upper\":1}", "\"upper\":-1}"), "inverted"),
        (GOOD.replace("\"upper\":1}", "\"uper\":1}"), "uper"),
        (GOOD.replace("\"positive\":\"1\",", ""), "positive"),
        (GOOD.replace("\"u\",\"v\"", "\"v\",\"v\""), "twice"),
        (GOOD.replace("\"c\":{", "\"x\":{"), "declared twice"),
        (GOOD.replace("\"other\":\"v\"", "\"other\":\"w\""), "other"),
        (GOOD.replace("\"name\":\"a\"", "\"name\":\"\""), "name"),
        (GOOD.replace("\"c\":{\"type\":\"categorical\"", "\"y\":{\"type\":\"categorical\""), "declared values"),
        (GOOD.replace("classification", "regression"), "no meaning"),
        ("".into(), "valid"),
        ("[]".into(), "valid"),
    ];
    for (text, needle) in cases {
        let message = parse(&text).expect_err(needle);
        assert!(message.contains(needle) && message.contains("s.json"), "{message}");
    }
}
