//! Shapes that are changed after release, from the command line: free, said in the file, and made again by `verify`.

use serde_json::json;

use super::support::{Folder, SCHEMA, number, rows};

fn folder(flags: &str) -> Folder {
    let folder = Folder::trial(SCHEMA, rows(3000));
    folder.succeed(&format!("train trial.csv --epsilon 8 --out m.json {flags}"));
    folder
}

/// The effects of a column as `explain` tells them.
fn effects(folder: &Folder, model: &str, column: &str) -> Vec<f64> {
    let told = folder.succeed(&format!("explain {model} --columns {column} --json")).json();
    told["columns"][0]["effects"].as_array().unwrap().iter().map(|effect| effect.as_f64().unwrap()).collect()
}

#[test]
fn a_curve_gets_its_shape_and_everything_works_on_the_edited_file() {
    for flags in ["--features additive", "--features rich"] {
        let folder = folder(flags);
        let spent = folder.spending("trial.ledger.sqlite");
        let page =
            folder.succeed("reshape m.json --increasing x --concave x --convex z --set c:u=0.25 --out e.json").stdout;
        assert!(
            page.contains("x made increasing; z made convex; x made concave") && page.contains("Nothing was charged")
        );
        assert_eq!(page.contains("what columns do together is as it was released"), flags.contains("rich"), "{page}");
        assert_eq!(folder.spending("trial.ledger.sqlite"), spent);
        // The file itself, for with `rich` a shape holds what columns do together, too.
        let model = folder.json("e.json");
        let of = |column: usize| -> Vec<f64> {
            let all = model["features"][column]["coefficients"].as_array().unwrap();
            all.iter().map(|c| c.as_f64().unwrap()).collect()
        };
        assert!(of(0).windows(2).all(|pair| pair[0] <= pair[1]) && of(0)[0] < of(0)[of(0).len() - 1]);
        assert_eq!(of(2)[0], 0.25);
        assert!(model["features"].as_array().unwrap().iter().all(|feature| feature["deviations"].is_null()));
        let mean = |model: &serde_json::Value, column: usize| -> f64 {
            let feature = &model["features"][column];
            let pairs = feature["coefficients"].as_array().unwrap().iter().zip(feature["shares"].as_array().unwrap());
            pairs.map(|(c, share)| c.as_f64().unwrap() * share.as_f64().unwrap()).sum()
        };
        let source = folder.json("m.json");
        for column in [0, 1] {
            assert!((mean(&model, column) - mean(&source, column)).abs() < 1e-12);
        }
        assert_eq!((&model["intercept"], &model["statement"]), (&source["intercept"], &source["statement"]));
        let page = folder.succeed("statement e.json").stdout;
        assert!(
            page.starts_with("Edited after release: x made increasing") && page.contains("nothing more was charged")
        );
        assert_eq!(page.contains("What columns do together was left"), flags.contains("rich"));
        let told = folder.succeed("statement e.json --json").json();
        assert_eq!(told["reshaped"]["edits"][0], json!({"edit": "increasing", "column": "x"}));
        let told = folder.succeed("explain e.json").stdout;
        assert!(told.contains("edited after release (x made increasing"), "{told}");
        // There are no bands of `rich` that an edit could take away.
        assert_eq!(told.contains("bands and standard errors of what was edited"), flags.contains("additive"), "{told}");
        let [before, after] =
            ["m.json", "e.json"].map(|model| folder.succeed(&format!("predict {model} trial.csv")).stdout);
        assert!(before != after && before.lines().count() == after.lines().count());
        assert!(number(&folder.succeed("evaluate e.json trial.csv --json").json(), "/accuracy") > 0.6);
    }
}

#[test]
fn verify_makes_the_edits_again_from_the_source() {
    let folder = folder("--features additive --evaluate-budget 0.2");
    folder.succeed("reshape m.json --decreasing x --set z:0.5=0.125 --out e.json");
    assert!(folder.json("m.json")["evaluation"].is_object() && folder.json("e.json")["evaluation"].is_null());
    let alone = folder.succeed("verify e.json").stdout;
    assert!(alone.starts_with("coefficients not authenticated: the file was edited after its release"), "{alone}");
    // Anybody can name the noted file as the source of anything.
    let ledger = folder.run("verify e.json --ledger trial.ledger.sqlite");
    assert!(
        ledger.code == Some(1) && ledger.stdout.contains("FAILED  the file is the one that the ledger noted"),
        "{ledger:?}"
    );
    let whole = "verify e.json --source m.json --ledger trial.ledger.sqlite";
    let whole = folder.succeed(whole).stdout;
    assert!(whole.starts_with("coefficients authenticated by the ledger"), "{whole}");
    assert!(whole.contains("ok      the edits, made again, give this file"), "{whole}");
    assert!(whole.contains("notes the digest of the source") && whole.contains("ok      of the source: "), "{whole}");
    // Keys: the source is signed, never what became of it.
    folder.succeed("key new k");
    folder.refuse("sign e.json --key k --ledger trial.ledger.sqlite", 1, &["not signed", "edited later"]);
    folder.succeed("sign m.json --key k --ledger trial.ledger.sqlite");
    let signed = folder.succeed("verify e.json --source m.json --key k.pub").stdout;
    assert!(signed.starts_with("coefficients authenticated by a signature"), "{signed}");
    // Other effects, under a digest that fits, are found with the source; without it where a shape is broken.
    let mut forged: rhograd::train::ModelFile = serde_json::from_value(folder.json("e.json")).unwrap();
    let rhograd::train::Feature::Steps { coefficients, .. } = &mut forged.features[0] else { panic!() };
    *coefficients.last_mut().unwrap() = rhograd::train::Coefficient::One(-50.0);
    forged.digest = forged.expected_digest();
    folder.write("f.json", forged.to_json());
    assert!(folder.succeed("verify f.json").stdout.contains("not authenticated"));
    let found = folder.run("verify f.json --source m.json");
    assert!(found.code == Some(1) && found.stdout.contains("FAILED  the edits, made again"), "{found:?}");
    let rhograd::train::Feature::Steps { coefficients, .. } = &mut forged.features[0] else { panic!() };
    *coefficients.last_mut().unwrap() = rhograd::train::Coefficient::One(50.0);
    forged.digest = forged.expected_digest();
    folder.write("f.json", forged.to_json());
    let found = folder.run("verify f.json");
    assert!(found.code == Some(1) && found.stdout.contains("FAILED  edited after release"), "{found:?}");
    // Effects under no edit at all.
    forged.reshaped.as_mut().unwrap().edits.clear();
    forged.digest = forged.expected_digest();
    folder.write("f.json", forged.to_json());
    assert_eq!(folder.run("verify f.json").code, Some(1));
    // Another source, and a file that was never edited.
    folder.succeed("train trial.csv --epsilon 8 --features additive --out other.json");
    assert_eq!(folder.run("verify e.json --source other.json").code, Some(1));
    assert_eq!(folder.run("verify m.json --source m.json").code, Some(1));
}

#[test]
fn edits_come_from_a_file_and_categories_take_an_order() {
    let folder = folder("--features additive");
    folder.write("edits.json", r#"[{"edit":"increasing","column":"c","order":["w","v","u"]},{"edit":"set","column":"x","at":"0","effect":-3}]"#);
    let moved = folder.succeed("reshape m.json --edits edits.json --out e.json --json").json();
    assert_eq!(moved["moved"][0]["column"], "x");
    let of_c = effects(&folder, "e.json", "c");
    assert!(of_c[2] <= of_c[1] && of_c[1] <= of_c[0]);
    assert_eq!(effects(&folder, "e.json", "x")[0], -3.0);
    folder.succeed("reshape m.json --increasing c:w<v<u --set x:0=-3 --out same.json");
    assert_eq!(folder.json("same.json")["features"], folder.json("e.json")["features"]);
    folder.refuse("reshape m.json --edits m.json --out f.json", 2, &["is no list of edits"]);
}

#[test]
fn a_slope_is_cut_at_zero() {
    let folder = folder("");
    let slope = |model: &str| number(&folder.json(model), "/features/0/coefficient");
    let wrong = if slope("m.json") > 0.0 { "decreasing" } else { "increasing" };
    folder.succeed(&format!("reshape m.json --{wrong} x --out e.json"));
    assert_eq!(slope("e.json"), 0.0);
    assert!(folder.json("m.json")["standard_errors"].is_array() && folder.json("e.json")["standard_errors"].is_null());
    folder.succeed("verify e.json --source m.json --ledger trial.ledger.sqlite");
    folder.refuse("reshape m.json --convex x --out f.json", 2, &["straight line"]);
    folder.refuse("reshape m.json --set x:3=1 --out f.json", 2, &["straight line"]);
}

#[test]
fn what_cannot_have_a_shape_is_refused_and_nothing_is_written() {
    let folder = folder("--features additive");
    folder.write("spaced.json", r#"[{"edit":"increasing","column":"c","order":["u","u ","v"]}]"#);
    folder.write("many.json", format!("[{}]", vec![r#"{"edit":"convex","column":"x"}"#; 4097].join(",")));
    for (flags, words) in [
        ("", ["edits", "are none"]),
        ("--increasing nothing", ["\"nothing\"", "no column"]),
        ("--increasing c", ["category", "no order"]),
        ("--increasing c:u<u", ["twice", "order"]),
        ("--edits spaced.json", ["twice", "order"]),
        ("--edits many.json", ["4096", "edits"]),
        ("--increasing c:u<q", ["\"q\"", "no value"]),
        ("--increasing x:1<2", ["number", "order of its own"]),
        ("--convex c", ["category", "distances"]),
        ("--increasing x --decreasing x", ["two directions", "\"x\""]),
        ("--convex x --concave x", ["two bends", "\"x\""]),
        ("--set x:99=1", ["no place", "from 0 to 10"]),
        ("--set x:1=much", ["--set", "COLUMN:AT=EFFECT"]),
        ("--set x:1=1 --set x:1=2", ["set twice", "\"x\""]),
        ("--decreasing x --set x:10=100", ["contradict", "edits"]),
    ] {
        folder.refuse(&format!("reshape m.json {flags} --out e.json"), 2, &words);
        assert!(!folder.path("e.json").exists(), "{flags}");
    }
    folder.refuse("reshape m.json --decreasing x --out m.json --overwrite", 2, &["would overwrite the model"]);
    folder.refuse("reshape m.json --edits many.json --out many.json --overwrite", 2, &["would overwrite the edits"]);
    folder.succeed("reshape m.json --decreasing x --out e.json");
    folder.refuse("reshape m.json --decreasing x --out e.json", 2, &["exists already"]);
    folder.refuse("reshape e.json --decreasing z --out f.json", 2, &["edited after its release already"]);
    let classes = Folder::trial(
        &SCHEMA.replace(r#""positive":"yes","negative":"no","#, "").replace(r#""target":"y""#, r#""target":"c""#),
        rows(500),
    );
    classes.succeed("train trial.csv --epsilon 8 --no-ledger --features additive --out m.json");
    classes.refuse("reshape m.json --increasing x --out e.json", 2, &["a curve for each label"]);
}

#[test]
fn an_order_of_values_that_no_row_has_is_refused_with_the_cure() {
    let folder = folder("--features additive");
    let mut model: rhograd::train::ModelFile = serde_json::from_value(folder.json("m.json")).unwrap();
    let rhograd::train::Feature::Categorical { shares, .. } = &mut model.features[2] else { panic!() };
    shares[..2].fill(0.0);
    model.digest = model.expected_digest();
    folder.write("z.json", model.to_json());
    folder.refuse(
        "reshape z.json --increasing c:u<v --out e.json",
        2,
        &["no released share of rows", "by hand (--set"],
    );
    folder.succeed("reshape z.json --increasing c:u<v<w --out e.json");
}

#[test]
fn probabilities_are_corrected_by_the_rows_held_out_and_verify_does_it_again() {
    // Few steps of the wrong length: log-odds too close to zero.
    for flags in ["--algorithm dp-gd --steps 2 --learning-rate 0.2", "--features additive", "--features rich"] {
        let folder = folder(&format!("{flags} --evaluate-budget 0.3 --seed 3"));
        let spent = folder.spending("trial.ledger.sqlite");
        let told = folder.succeed("statement m.json").stdout;
        assert!(told.contains("probability predicted, and the share observed"), "{told}");
        let page = folder.succeed("report m.json --ledger trial.ledger.sqlite").stdout;
        assert!(page.contains("aria-label=\"Calibration curve: in ") && page.contains("Probabilities in numbers"));
        let page = folder.succeed("reshape m.json --recalibrate --out r.json").stdout;
        assert!(page.contains("log-odds moved and stretched") && page.contains("Nothing was charged"), "{page}");
        assert!(!page.contains("Curves alone"), "{page}");
        assert_eq!(folder.spending("trial.ledger.sqlite"), spent);
        let [loss, corrected] = ["m.json", "r.json"]
            .map(|model| number(&folder.succeed(&format!("evaluate {model} trial.csv --json")).json(), "/log_loss"));
        // What was right already moves within the noise of these few rows.
        let worst = if flags.contains("dp-gd") { loss - 0.001 } else { loss + 0.03 };
        assert!(corrected < worst, "{flags}: {loss} becomes {corrected}");
        folder.succeed("verify r.json --source m.json");
        let told = folder.succeed("statement r.json").stdout;
        assert!(told.starts_with("Edited after release: log-odds moved and stretched"), "{told}");
        assert!(!told.contains("What columns do together was left"), "{told}");
        let model = folder.json("r.json");
        assert!(model["evaluation"].is_null() && model["standard_errors"].is_null());
        // Another intercept is not what the source's rows ask for.
        let mut forged: rhograd::train::ModelFile = serde_json::from_value(model).unwrap();
        forged.intercept = rhograd::train::Coefficient::One(0.125);
        forged.digest = forged.expected_digest();
        folder.write("s.json", forged.to_json());
        let found = folder.run("verify s.json --source m.json");
        assert!(found.code == Some(1) && found.stdout.contains("FAILED  the edits, made again"), "{found:?}");
        // Without the source nothing shows it, and nothing is said to.
        let alone = folder.succeed("verify s.json").stdout;
        assert!(alone.contains("not authenticated") && alone.contains("which only the source can show"), "{alone}");
        let told = folder.succeed("explain r.json").stdout;
        assert!(!told.contains("what columns do together is as it was"), "{told}");
    }
}

#[test]
fn probabilities_are_left_as_they_are_where_no_rows_can_correct_them() {
    let folder = Folder::trial(SCHEMA, rows(3000));
    for (train, cause) in [
        ("--epsilon 8", "tells of no rows held out by label"),
        ("--epsilon 8 --model svm --evaluate-budget 0.2", "tells of no rows held out by label"),
    ] {
        folder.succeed(&format!("train trial.csv --no-ledger {train} --out m.json --overwrite"));
        folder.refuse("reshape m.json --recalibrate --out r.json", 2, &[cause, "--evaluate-budget"]);
        assert!(!folder.path("r.json").exists());
    }
    folder.refuse("reshape m.json --recalibrate --convex x --out r.json", 2, &["--recalibrate"]);
    folder.succeed("train trial.csv --no-ledger --epsilon 8 --evaluate-budget 0.2 --out m.json --overwrite");
    let both = r#"[{"edit": "recalibrated"}, {"edit": "increasing", "column": "x"}]"#;
    for (edits, words) in
        [(both, "recalibrate the released file alone"), (r#"[{"edit": "recalibrated", "column": "x"}]"#, "column")]
    {
        folder.write("edits.json", edits);
        folder.refuse("reshape m.json --edits edits.json --out r.json", 2, &[words]);
    }
}
