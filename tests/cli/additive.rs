//! Additive effects from the command line: what is released, what a model says, and what is refused before a charge.

use rhograd::private::Query;
use rhograd::statement::Statement;
use rhograd::train::{Feature, ModelFile};
use serde_json::json;

use super::support::{Folder, rows};

/// Schema of [`rows`].
const SCHEMA: &str = r#"{"name":"trial","task":"classification","target":"y","positive":"yes","negative":"no",
    "columns":{"x":{"type":"numeric","lower":0,"upper":10},"z":{"type":"numeric","lower":-1,"upper":1},
    "c":{"type":"categorical","values":["u","v","w"]}}}"#;

fn folder() -> Folder {
    Folder::trial(SCHEMA, rows(3000))
}

#[test]
fn counts_and_steps_are_charged_logged_and_verified() {
    for adjacency in ["add-remove", "replace-one"] {
        for (form, more) in [
            ("additive", ""),
            ("additive", "--rows 3000"),
            ("additive", "--evaluate-budget 0.1"),
            ("additive", "--noise discrete-gaussian"),
            ("additive", "--model svm"),
            ("rich", "--evaluate-budget 0.1"),
            ("auto", "--evaluate-budget 0.1"),
            ("auto", "--steps 9"),
            // Steps that do not settle: what is made of them is a model all the same, for it is paid for.
            ("auto", "--learning-rate 200 --steps 240"),
            ("auto", "--model svm --noise discrete-gaussian"),
        ] {
            if adjacency == "replace-one" && more.contains("--rows") {
                continue;
            }
            let folder = folder();
            let flags = format!("--adjacency {adjacency} {more}");
            folder.succeed(&format!("train trial.csv --epsilon 2 --features {form} --out m.json {flags}"));
            let facts = folder.json("m.json")["statement"]["facts"].clone();
            let kinds: Vec<&str> =
                facts["releases"].as_array().unwrap().iter().map(|it| it["query"]["kind"].as_str().unwrap()).collect();
            assert!(kinds.contains(&"marginals") && kinds.contains(&"clipped-sum"), "{flags}: {kinds:?}");
            assert_eq!(facts["algorithm"], if form == "auto" { "adaptive" } else { form });
            assert_eq!(kinds.contains(&"gram"), form != "additive", "{kinds:?}");
            assert_eq!(folder.json("m.json")["together"].is_object(), form == "rich");
            // Two trees of five levels counted twice, and a category.
            let square = if adjacency == "add-remove" { 41.0 } else { 82.0f64 };
            let counts =
                facts["releases"].as_array().unwrap().iter().find(|it| it["query"]["kind"] == "marginals").unwrap();
            let (step, paid) = (counts["query"]["step"].as_f64().unwrap(), &counts["charge"]["sensitivity"]);
            assert!((paid.as_f64().unwrap() - step * square.sqrt()).abs() <= 1.0, "{counts}");
            folder.succeed("verify m.json --ledger trial.ledger.sqlite");
            let log = folder.text("m.log.jsonl");
            assert!(log.lines().any(|line| line.contains("counts of every column")), "{log}");
        }
    }
}

#[test]
fn the_algorithm_and_the_form_of_effects_are_two_names_of_one_thing() {
    let folder = folder();
    let model = |flags: &str| {
        folder.succeed(&format!("train trial.csv --epsilon 2 --seed 3 --no-ledger --out m.json --overwrite {flags}"));
        folder.bytes("m.json")
    };
    assert!(model("--features additive") == model("--algorithm additive"));
    assert!(model("--features linear") == model(""));
    assert!(model("--features additive --memory-limit 1MB") == model("--features additive --threads 1"));
    assert!(model("--features rich --threads 2") == model("--algorithm rich --threads 1"));
    assert!(model("--features rich --memory-limit 1MB") == model("--features rich"));
    assert!(model("--features auto --threads 2") == model("--algorithm adaptive --threads 1"));
    assert!(model("--features auto --memory-limit 1MB") == model("--features auto"));
}

#[test]
fn candidates_of_one_form_share_its_counts() {
    for (form, budget) in [("additive", "--epsilon 2"), ("additive", "--rho 0.5"), ("rich", "--rho 0.5")] {
        let folder = folder();
        let flags = format!("train trial.csv {budget} --features {form} --tune=steps=8,16");
        folder.succeed(&format!("{flags} --out m.json"));
        let facts = folder.json("m.json")["statement"]["facts"].clone();
        assert_eq!(
            (&facts["algorithm"], &facts["settings"]["tuned"]["candidates"]),
            (&json!("tuned"), &json!(["steps=8", "steps=16"]))
        );
        let of =
            |kind: &str| facts["releases"].as_array().unwrap().iter().filter(|it| it["query"]["kind"] == kind).count();
        assert_eq!((of("marginals"), of("gram")), (1, usize::from(form == "rich")), "{facts}");
        folder.succeed("verify m.json --ledger trial.ledger.sqlite");
        folder.succeed("predict m.json trial.csv");
        let model = |more: &str| {
            folder.succeed(&format!("{flags} --seed 3 --no-ledger --out again.json --overwrite {more}"));
            folder.bytes("again.json")
        };
        assert!(model("") == model("--memory-limit 1MB"), "{form} {budget}");
        // The file says what was released.
        let mut edited = folder.json("m.json");
        edited["together"] = if form == "rich" { json!(null) } else { json!({}) };
        folder.write("edited.json", edited.to_string());
        assert_ne!(folder.run("verify edited.json").code, Some(0), "{form}");
    }
}

/// Of categories alone there are no curves by which a file would tell that something was counted.
#[test]
fn a_statement_that_leaves_out_the_counts_of_categories_does_not_verify() {
    let numbers =
        r#""columns":{"x":{"type":"numeric","lower":0,"upper":10},"z":{"type":"numeric","lower":-1,"upper":1},"#;
    let folder = Folder::trial(&SCHEMA.replace(numbers, r#""ignore":["x","z"],"columns":{"#), rows(3000));
    for (name, more) in [("additive", ""), ("tuned", "--tune=steps=8,16")] {
        folder.succeed(&format!(
            "train trial.csv --epsilon 2 --features additive --no-ledger --out m.json --overwrite {more}"
        ));
        let mut model: ModelFile = serde_json::from_value(folder.json("m.json")).unwrap();
        let mut facts = model.statement.facts.clone();
        assert_eq!(facts.algorithm.name(), name);
        facts.releases.retain(|release| !matches!(release.query, Query::Marginals(_)));
        assert!(Statement::new(facts.clone()).is_err(), "{name}");
        // An edit of the file itself, under a digest that fits.
        for feature in &mut model.features {
            if let Feature::Categorical { shares, deviations, .. } = feature {
                (*shares, *deviations) = (Vec::new(), Vec::new());
            }
        }
        model.statement.facts = facts;
        model.digest = model.expected_digest();
        folder.write("forged.json", model.to_json());
        assert_ne!(folder.run("verify forged.json").code, Some(0), "{name}");
    }
}

/// Without a ledger nothing else would tell that steps were paid for and left out.
#[test]
fn a_statement_that_leaves_out_steps_or_tells_them_twice_is_refused() {
    let folder = folder();
    for form in ["additive", "rich", "auto"] {
        folder.succeed(&format!("train trial.csv --epsilon 2 --features {form} --no-ledger --out m.json --overwrite"));
        let model: ModelFile = serde_json::from_value(folder.json("m.json")).unwrap();
        let facts = &model.statement.facts;
        assert!(Statement::new(facts.clone()).is_ok(), "{form}");
        let of_steps = |at: &usize| matches!(facts.releases[*at].query, Query::ClippedSum(_));
        let steps: Vec<usize> = (0..facts.releases.len()).filter(of_steps).collect();
        assert_eq!(steps.len(), if form == "auto" { 2 } else { 1 });
        for at in steps {
            let (mut less, mut more) = (facts.clone(), facts.clone());
            less.releases.remove(at);
            more.releases.insert(at, facts.releases[at].clone());
            for (forged, what) in [(less, "less"), (more, "more")] {
                let refused = Statement::new(forged).err().map(|error| error.to_string()).unwrap_or_default();
                assert!(refused.contains("releases of steps do not fit"), "{form} {what}: {refused}");
            }
        }
    }
}

#[test]
fn curves_of_persons_are_released_and_verified() {
    let folder = Folder::new();
    folder.succeed("generate logistic --persons --rows 4000 --features 2 --categories 1 --out visits.csv");
    for adjacency in ["add-remove", "replace-one"] {
        for more in ["", "--evaluate-budget 0.1", "--tune=steps=8,16"] {
            let out = format!("--out m.json --overwrite --ledger {adjacency}.sqlite --adjacency {adjacency}");
            folder.succeed(&format!("train visits.csv --epsilon 2 --features additive {out} {more}"));
            let facts = folder.json("m.json")["statement"]["facts"].clone();
            assert_eq!(facts["unit"], json!({"person": {"column": "person"}}), "{facts}");
            folder.succeed(&format!("verify m.json --ledger {adjacency}.sqlite"));
        }
    }
    let model = |more: &str| {
        folder.succeed(&format!(
            "train visits.csv --epsilon 2 --features additive --seed 3 --no-ledger --out s.json --overwrite {more}"
        ));
        folder.bytes("s.json")
    };
    assert!(model("--threads 1") == model("--threads 2"));
}

#[test]
fn an_audit_looks_at_steps_along_the_record_that_differs() {
    let folder = folder();
    let outcome = folder.run("audit --features additive --rho 4.5 --trials 400 --fault 0.4 --json");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let found: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(found["attacks"].as_array().map(Vec::len), Some(2), "{found}");
}

#[test]
fn a_model_tells_intervals_apart_as_the_rows_were() {
    let folder = folder();
    folder.succeed("train trial.csv --epsilon 20 --features additive --out m.json");
    let features = folder.json("m.json")["features"].clone();
    assert_eq!(features[0]["type"], "steps");
    let edges: Vec<f64> = features[0]["edges"].as_array().unwrap().iter().map(|edge| edge.as_f64().unwrap()).collect();
    assert!(edges.is_sorted() && edges.len() > 3, "{edges:?}");
    let page = folder.succeed("statement m.json --coefficients").stdout;
    assert!(page.contains("x from 0 to ") && page.contains("c = u"), "{page}");
    // On either side of an edge, far outside of the bounds, and where a number is missing.
    let at = |x: &str| format!("{x},0,u,yes");
    let cells =
        [edges[1].to_string(), edges[1].next_down().to_string(), "1e9".into(), "10".into(), "".into(), "5".into()];
    let lines: Vec<String> = cells.iter().map(|x| at(x)).collect();
    folder.write("new.csv", format!("x,z,c,y\n{}\n", lines.join("\n")));
    let scores = folder.succeed("predict m.json new.csv").stdout;
    let scores: Vec<&str> = scores.lines().skip(1).collect();
    assert!(scores[0] != scores[1] && scores[2] == scores[3] && scores[4] == scores[5], "{scores:?}");
}

/// Labels that no sum of effects of single columns can tell apart.
#[test]
fn what_columns_do_together_is_learned_and_predicted() {
    let folder = Folder::new();
    folder.write("trial.schema.json", SCHEMA);
    let line = |i: u32| {
        let (x, z) = (f64::from(i * 7919 % 4001) / 400.1, f64::from(i * 104_729 % 3989) / 1994.5 - 1.0);
        let label = if (x - 5.0) * z > 0.0 { "yes" } else { "no" };
        format!("{x},{z},{},{label}\n", ["u", "v", "w"][i as usize % 3])
    };
    folder.write("trial.csv", format!("x,z,c,y\n{}", (1..=4000).map(line).collect::<String>()));
    let accuracy = |form: &str| {
        folder.succeed(&format!("train trial.csv --epsilon 20 --features {form} --out {form}.json"));
        let table = folder.succeed(&format!("evaluate {form}.json trial.csv --json")).stdout;
        serde_json::from_str::<serde_json::Value>(&table).unwrap()["accuracy"].as_f64().unwrap()
    };
    let [additive, rich] = ["additive", "rich"].map(accuracy);
    assert!(additive < 0.6 && rich > 0.9, "{additive} {rich}");
    folder.succeed("verify rich.json --ledger trial.ledger.sqlite");
    let good = folder.json("rich.json");
    for (place, value) in [
        ("/together/waves/offsets", json!([1, 2])),
        ("/together/waves/scores/levels", json!([4])),
        ("/together/waves/frequencies", json!([])),
        ("/together/coefficients", json!([])),
        ("/together", json!(null)),
    ] {
        let mut model = good.clone();
        *model.pointer_mut(place).unwrap() = value;
        folder.write("edited.json", model.to_string());
        assert_eq!(folder.run("predict edited.json trial.csv").code, Some(2), "{place}");
        assert_ne!(folder.run("verify edited.json").code, Some(0), "{place}");
    }
}

#[test]
fn an_edited_curve_is_neither_stated_nor_used() {
    let folder = folder();
    folder.succeed("train trial.csv --epsilon 2 --features additive --out m.json");
    let mut model = folder.json("m.json");
    let good = model.clone();
    for (place, value) in
        [("edges", json!([3.0, 2.0])), ("edges", json!([])), ("coefficients", json!([])), ("lower", json!(99.0))]
    {
        model["features"][0][place] = value;
        folder.write("m.json", model.to_string());
        assert_eq!(folder.run("predict m.json trial.csv").code, Some(2), "{place}");
        assert_ne!(folder.run("verify m.json").code, Some(0), "{place}");
        model = good.clone();
    }
}

#[test]
fn what_does_not_fit_is_refused_before_a_charge() {
    let folder = folder();
    let outcome = folder.run("audit --features additive --epsilon 1 --trials 100 --tune=steps=4,8");
    assert!(outcome.code == Some(2) && outcome.stderr.contains("has no crafted neighbours"), "{outcome:?}");
    for (flags, named) in [
        ("--features additive --algorithm dp-gd", "--features"),
        ("--features linear --algorithm additive", "--features"),
        ("--features additive --algorithm rich", "--features"),
        ("--features rich --algorithm whitened", "--features"),
        ("--features rich --tune", "candidates share one encoding of the rows"),
        ("--features additive --tune=algorithm=additive,rich", "candidates share one encoding of the rows"),
        ("--tune=algorithm=rich,dp-gd", "candidates share one encoding of the rows"),
        ("--features rich --unit note", "has no proof for --algorithm rich"),
        ("--features auto --unit note", "has no proof for --algorithm adaptive"),
        ("--features auto --steps 2", "are 3 at least"),
        ("--tune=algorithm=additive,adaptive", "candidates share one encoding of the rows"),
        ("--features auto --tune=steps=12,24", "has nothing to choose for adaptive"),
        ("--features additive --unit note --memory-limit 1MB", "cut into intervals in memory alone"),
        ("--features additive --unit note --estimand rows", "--estimand"),
        ("--tune=algorithm=additive,dp-gd", "--tune"),
        ("--features additive --tune", "--tune"),
        ("--features additive --l1 0.1", "--l1"),
    ] {
        let outcome = folder.run(&format!("train trial.csv --epsilon 1 --out m.json {flags}"));
        assert!(outcome.code == Some(1) || outcome.code == Some(2), "{flags}: {outcome:?}");
        assert!(outcome.stderr.contains(named), "{flags}: {outcome:?}");
        assert!(!folder.path("m.json").exists(), "{flags}");
        assert!(
            !folder.path("trial.ledger.sqlite").exists() || folder.spending("trial.ledger.sqlite")["runs"] == 0,
            "{flags}"
        );
    }
}
