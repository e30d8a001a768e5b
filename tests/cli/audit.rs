//! `rhograd audit`: verdicts by exit code, numbers as JSON, pictures, and clear refusals.

use serde_json::Value;

use super::support::Folder;

#[test]
fn an_honest_trainer_passes_and_its_planted_fault_is_found() {
    let folder = Folder::new();
    let text =
        folder.succeed("audit --algorithm dp-gd --rho 4.5 --trials 1500 --threads 2 --json --out curve.svg").stdout;
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&json["refuted"], &json["powerful"]), (&Value::Bool(false), &Value::Bool(true)));
    let attacks = json["attacks"].as_array().unwrap();
    assert_eq!(attacks.len(), 3);
    for attack in attacks {
        let [honest, faulty] = ["honest", "faulty"].map(|who| attack[who]["proved"].as_f64().unwrap());
        let claimed = attack["honest"]["claimed"].as_f64().unwrap();
        assert!((claimed - 3.0).abs() < 0.01 && honest > 2.0 && honest < claimed && faulty > honest, "{attack}");
        assert!((attack["fault"].as_f64().unwrap() - 0.8).abs() < 0.01, "{attack}");
    }
    let picture = String::from_utf8(folder.bytes("curve.svg")).unwrap();
    assert!(picture.contains("theory: the claim, nothing above") && picture.contains("model alone"));
    assert!(picture.contains("two labels, all releases") && !picture.contains("Labels"), "words, not names of types");
    assert!(attacks.iter().any(|attack| attack["attack"] == "two labels, all releases"), "{json}");
}

#[test]
fn an_audit_that_shows_nothing_fails_and_says_how_to_show_more() {
    let folder = Folder::new();
    let outcome = folder.run("audit --algorithm adassp --rho 0.001 --adjacency replace-one --trials 50");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stdout.contains("found by 0 of 3 attacks") && outcome.stdout.contains("too weak"), "{outcome:?}");
    assert!(outcome.stderr.contains("raise --trials"), "{outcome:?}");
}

#[test]
fn too_wide_a_clip_is_planted_by_a_factor_above_one() {
    let folder = Folder::new();
    let text = folder.succeed("audit --algorithm dp-gd --rho 4.5 --trials 1500 --fault 1.25 --json").stdout;
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&json["refuted"], &json["powerful"]), (&Value::Bool(false), &Value::Bool(true)));
    for attack in json["attacks"].as_array().unwrap() {
        assert!((attack["fault"].as_f64().unwrap() - 1.25).abs() < 0.01, "{attack}");
        assert_eq!(attack["faulty"]["refutes"], Value::Bool(true), "{attack}");
    }
}

#[test]
fn persons_are_audited_and_a_trainer_that_clips_rows_is_found() {
    let folder = Folder::new();
    for adjacency in ["add-remove", "replace-one"] {
        let arguments =
            format!("audit --algorithm dp-gd --rho 4.5 --trials 1500 --adjacency {adjacency} --unit patient");
        let json = folder.succeed(&format!("{arguments} --max-rows 4 --json")).json();
        assert_eq!((&json["refuted"], &json["powerful"]), (&Value::Bool(false), &Value::Bool(true)));
        assert_eq!(json["unit"], serde_json::json!({"person": {"column": "patient"}, "rows": 4}));
        for attack in json["attacks"].as_array().unwrap() {
            let [honest, rows] = ["honest", "rows_clipped"].map(|who| attack[who]["effect"].as_f64().unwrap());
            assert!(attack["rows_clipped"]["refutes"] == true && rows > 3.0 * honest, "{attack}");
        }
    }
    let page = folder.succeed("audit --algorithm dp-gd --rho 4.5 --trials 1500 --unit patient").stdout;
    let first = "audited         adding or removing all rows of one person (column \"patient\"), 20 rows\n";
    assert!(page.starts_with(first) && page.contains("rows clipped    found by 3 of 3 attacks"), "{page}");
    let one =
        folder.succeed("audit --algorithm dp-gd --rho 8 --one-run --canaries 900 --unit patient --max-rows 3").stdout;
    assert!(one.starts_with("audited ") && one.contains("\n  rows clipped ") && one.contains("3 of 3 found"), "{one}");
    let rows = folder.succeed("audit --algorithm dp-gd --rho 4.5 --trials 1500 --json").json();
    assert!(rows["unit"] == "row" && rows["attacks"][0]["rows_clipped"].is_null(), "{rows}");
}

#[test]
fn one_run_passes_and_its_planted_faults_are_found() {
    let folder = Folder::new();
    let arguments = "audit --algorithm dp-gd --rho 8 --one-run --canaries 900 --threads 2";
    let json: Value =
        serde_json::from_str(&folder.succeed(&format!("{arguments} --json --out one.svg")).stdout).unwrap();
    assert_eq!((&json["refuted"], &json["powerful"]), (&Value::Bool(false), &Value::Bool(true)));
    let [low, high] = [0, 1].map(|side| json["honest"]["mu_limits"][side].as_f64().unwrap());
    let claim = json["claim"]["mu"].as_f64().unwrap();
    assert!((claim - 4.0).abs() < 1e-3 && low < claim && high > 0.985 * claim && high - low < 1.2, "{json}");
    assert_eq!(json["faulty"][0]["fault"], "noise x 0.800");
    assert_eq!(json["faulty"][1]["fault"], "clip x 1.250");
    let picture = String::from_utf8(folder.bytes("one.svg")).unwrap();
    assert!(
        picture.contains("measured: this trainer")
            && picture.contains("true positive rate")
            && picture.contains("clip x 1.250")
    );
    let page = folder.succeed(arguments).stdout;
    assert!(page.contains("2 of 2 found") && page.contains("not refuted"), "{page}");
}

#[test]
fn one_run_that_shows_nothing_fails_and_says_how_to_show_more() {
    let folder = Folder::new();
    for (arguments, cure) in [("--rho 0.01 --canaries 100", "raise --canaries"), ("--rho 8 --clip 20", "leave --clip")]
    {
        let outcome = folder.run(&format!("audit --algorithm dp-gd --one-run {arguments}"));
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.stdout.contains("too weak") && outcome.stderr.contains(cure), "{outcome:?}");
    }
}

#[test]
fn what_cannot_be_audited_is_refused() {
    let folder = Folder::new();
    let refusals = [
        ("audit --rho 1 --model poisson", "counts"),
        ("audit --rho 1 --fault 1", "--fault"),
        ("audit --rho 1 --fault 1.25 --algorithm exponential-mechanism", "no clip"),
        ("audit --rho 1 --one-run --algorithm whitened", "a matrix"),
        ("audit --rho 1 --one-run --algorithm newton", "dp-gd"),
        ("audit --rho 1 --one-run --canaries 10", "--canaries"),
        ("audit --rho 1 --one-run --evaluate-budget 0.1", "clipped sums"),
        ("audit --rho 1 --one-run --trials 10", "--trials"),
        ("audit --rho 1 --one-run --fault 0", "--fault"),
        ("audit --rho 1 --canaries 100", "--one-run"),
        ("audit --rho 1 --confidence 0", "--confidence"),
        ("audit --rho 1 --trials 0", "trials"),
        ("audit --rho 1 --persons 100", "--unit"),
        ("audit --rho 1 --max-rows 4", "--unit"),
        ("audit --rho 1 --unit x", "--unit"),
        ("audit --rho 1 --unit patient --max-rows 0", "max_rows"),
        ("audit --rho 1 --unit patient --rows 100", "--persons"),
        ("audit --rho 1 --unit patient --algorithm output-perturbation", "no proof"),
        ("audit --rho 1 --unit patient --one-run --canaries 100 --algorithm whitened", "a matrix"),
        ("audit --rho 1 --out curve.ps", "--out"),
        ("audit --rho 1 --algorithm localization", "replace-one"),
        ("audit", "--epsilon"),
    ];
    for (arguments, needle) in refusals {
        let outcome = folder.run(arguments);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{arguments}: {outcome:?}");
        assert!(outcome.stderr.contains(needle), "{arguments}: {outcome:?}");
    }
}
