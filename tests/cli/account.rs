//! The calculator against known values, each on its safe side.

use super::support::{Folder, number};

/// `value` is at least `reference`, by a hair at most.
fn just_above(value: f64, reference: f64) {
    assert!(value >= reference && value <= reference * (1.0 + 1e-9), "{value} against {reference}");
}

/// `value` is at most `reference`, by a hair at most.
fn just_below(value: f64, reference: f64) {
    assert!(value <= reference && value >= reference * (1.0 - 1e-9), "{value} against {reference}");
}

#[test]
fn the_rho_that_may_be_spent_is_rounded_down() {
    let folder = Folder::new();
    let answer = folder.succeed("account convert --epsilon 1 --delta 1e-6 --json").json();
    let page = folder.succeed("account convert --epsilon 1 --delta 1e-6");
    for (key, reference) in [
        ("max_rho_exact", 0.028014481912630337),
        ("max_rho_optimal", 0.024355970359538372),
        ("max_rho_classical", 0.017468904769123376),
    ] {
        just_below(number(&answer, &format!("/{key}")), reference);
        just_below(page.number(key), reference);
    }
}

#[test]
fn the_noise_for_a_budget_is_rounded_up() {
    let folder = Folder::new();
    let answer = folder.succeed("account calibrate --epsilon 1 --delta 1e-6 --json").json();
    let page = folder.succeed("account calibrate --epsilon 1 --delta 1e-6");
    just_above(number(&answer, "/sigma_exact"), 4.224678889326835);
    just_above(number(&answer, "/noise_multiplier_exact"), 4.224678889326835);
    just_above(page.number("sigma_exact"), 4.224678889326835);
    let order = ["exact", "optimal", "classical"].map(|name| number(&answer, &format!("/sigma_{name}")));
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn converting_there_and_back_never_gains() {
    let folder = Folder::new();
    for (epsilon, delta) in [(0.1, 1e-9), (1.0, 1e-6), (8.0, 1e-5)] {
        let most = folder.succeed(&format!("account convert --epsilon {epsilon} --delta {delta} --json")).json();
        for name in ["exact", "optimal", "classical"] {
            let rho = number(&most, &format!("/max_rho_{name}"));
            let back = folder.succeed(&format!("account convert --rho {rho:e} --delta {delta} --json")).json();
            let again = number(&back, &format!("/epsilon_{name}"));
            assert!((epsilon * 0.999_999..=epsilon).contains(&again), "{name}: {again} for {epsilon}");
        }
    }
}

#[test]
fn classical_epsilon_is_its_formula() {
    let folder = Folder::new();
    let answer = folder.succeed("account convert --rho 0.5 --delta 1e-6 --json").json();
    let formula = 0.5 + 2.0 * (0.5 * 1e6_f64.ln()).sqrt();
    just_above(number(&answer, "/epsilon_classical"), formula * (1.0 - 1e-15));
    let (optimal, exact) = (number(&answer, "/epsilon_optimal"), number(&answer, "/epsilon_exact"));
    assert!(exact < optimal && optimal < formula);
    let delta = folder.succeed("account convert --rho 0.5 --epsilon 4 --json").json();
    let deltas = ["exact", "optimal", "classical"].map(|name| number(&delta, &format!("/delta_{name}")));
    assert!(deltas.is_sorted() && deltas[0] > 0.0, "{deltas:?}");
}

#[test]
fn steps_and_multiplier_compose_to_the_same_rho() {
    let folder = Folder::new();
    let answer = folder.succeed("account convert --noise-multiplier 10 --steps 100 --json").json();
    just_above(number(&answer, "/rho"), 0.5);
    just_above(number(&folder.succeed("account convert --mu 1 --json").json(), "/rho"), 0.5);
    let most = folder.succeed("account calibrate --epsilon 1 --delta 1e-6 --noise-multiplier 50 --json").json();
    // T / (2 * 50^2) <= rho, so T = floor(5000 rho).
    for (name, rho) in [("exact", 0.028014481912630337), ("optimal", 0.024355970359538372)] {
        assert_eq!(number(&most, &format!("/max_steps_{name}")), (5000.0_f64 * rho).floor());
    }
}

#[test]
fn replace_one_doubles_sigma_and_keeps_the_multiplier() {
    let folder = Folder::new();
    let base = "account calibrate --epsilon 1 --delta 1e-6 --steps 10 --clip 0.5 --json";
    let add = folder.succeed(base).json();
    let replace = folder.succeed(&format!("{base} --adjacency replace-one")).json();
    just_above(number(&replace, "/sigma_exact"), 2.0 * number(&add, "/sigma_exact") * (1.0 - 1e-12));
    let multiplier = number(&replace, "/noise_multiplier_exact") / number(&add, "/noise_multiplier_exact");
    assert!((multiplier - 1.0).abs() < 1e-9);
}

#[test]
fn a_plan_spends_what_the_calculator_allows() {
    let folder = Folder::with("fair");
    let trained = folder.succeed("train fair.csv --epsilon 1 --delta 1e-6 --no-ledger --json").json();
    let allowed = folder.succeed("account convert --epsilon 1 --delta 1e-6 --json").json();
    let share = number(&trained, "/rho") / number(&allowed, "/max_rho_exact");
    assert!((0.999..=1.000_001).contains(&share), "{share}");
}

#[test]
fn senseless_questions_are_refused() {
    let folder = Folder::new();
    for (arguments, needle) in [
        ("convert --rho nan --delta 1e-6", "rho"),
        ("convert --rho -1 --delta 1e-6", "rho"),
        ("convert --rho 1 --delta 0", "delta"),
        ("convert --rho 1 --delta 1", "delta"),
        ("convert --rho 1 --delta nan", "delta"),
        ("convert --rho 1 --epsilon nan", "epsilon"),
        ("convert --rho 1 --epsilon -1", "epsilon"),
        ("convert --rho 1 --epsilon 1 --delta 1e-6", "drop one"),
        ("convert --epsilon 1", "--delta"),
        ("convert", "--epsilon"),
        ("convert --noise-multiplier 0 --delta 1e-6", "--noise-multiplier: is 0"),
        ("convert --mu nan --delta 1e-6", "mu"),
        ("calibrate --epsilon 1", "--delta"),
        ("calibrate", "--epsilon"),
        ("calibrate --epsilon 1 --delta 1e-6 --steps 0", "steps"),
        ("calibrate --epsilon 1 --delta 1e-6 --clip 0", "--clip: is 0"),
        ("calibrate --epsilon 0 --delta 1e-6", "epsilon"),
        ("calibrate --rho 0", "rho"),
        ("calibrate --rho inf", "rho"),
    ] {
        let outcome = folder.run(&format!("account {arguments}"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
        assert!(outcome.stderr.contains(needle), "{outcome:?}");
    }
}

#[test]
fn eval_answers_a_line_for_every_query() {
    let folder = Folder::new();
    folder.write(
        "queries.jsonl",
        "{\"id\":\"a\",\"query\":\"zcdp_to_eps_classical\",\"params\":{\"xi\":0.0,\"rho\":0.5,\"delta\":1e-5}}\n\
         {\"id\":2,\"query\":\"zcdp_to_eps_classical\",\"params\":{\"xi\":0.0,\"rho\":-1,\"delta\":1e-5}}\n\
         {\"id\":3,\"query\":\"no_such_query\",\"params\":{}}\n",
    );
    let answers = folder.succeed("account eval queries.jsonl").stdout;
    let lines: Vec<serde_json::Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    let epsilon = lines[0]["answer"]["epsilon"].as_f64().unwrap();
    assert!((5.298525912188081..5.2985259122).contains(&epsilon), "{epsilon}");
    assert!(lines[1]["error"].as_str().unwrap().contains("rho") && lines[1]["id"] == 2);
    assert!(lines[2]["error"].is_string());
    assert!(folder.succeed("account eval --list").stdout.lines().count() >= 45);
    assert_eq!(folder.run("account eval none.jsonl").code, Some(2));
}

#[test]
fn eval_reads_standard_input_and_survives_malformed_lines() {
    let folder = Folder::new();
    let good = |id: u64| format!("{{\"id\":{id},\"query\":\"pure_dp_to_zcdp\",\"params\":{{\"epsilon\":1.0}}}}");
    let text = format!("{}\nnonsense\n\n{{\"id\":\"x\",\"query\":3}}\n{}\n", good(1), good(2));
    folder.write("queries.jsonl", &text);
    let mut command = folder.command("account eval -");
    command.stdin(std::fs::File::open(folder.path("queries.jsonl")).unwrap());
    let outcome = command.output().unwrap();
    assert_eq!(outcome.status.code(), Some(0));
    let answers = String::from_utf8(outcome.stdout).unwrap();
    assert_eq!(answers, folder.succeed("account eval queries.jsonl").stdout);
    let lines: Vec<serde_json::Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0]["answer"].is_object() && lines[3]["id"] == 2 && lines[3]["answer"].is_object());
    assert!(lines[1]["line"] == 2 && lines[1]["id"].is_null() && lines[1]["error"].is_string());
    assert!(lines[2]["line"] == 4 && lines[2]["id"] == "x" && lines[2]["error"].as_str().unwrap().contains("query"));
}

#[test]
fn the_help_of_eval_names_every_query_and_its_parameters() {
    let folder = Folder::new();
    let help = folder.succeed("account eval --help").stdout;
    let names = folder.succeed("account eval --list").stdout;
    assert!(names.lines().all(|name| help.contains(&format!("  {name}: "))), "{help}");
    assert!(help.contains("Exit code") && help.contains("zcdp_to_eps_classical: xi, rho, delta"), "{help}");
}

#[test]
fn curves_are_tabulated() {
    let folder = Folder::new();
    folder.succeed("account curve delta --noise-multiplier 20 --steps 100 --points 5 --csv c.csv");
    assert_eq!(folder.text("c.csv").lines().count(), 1 + 5 * 5);
    // Three curves, and the corners of the two pairs beside the even points.
    let table = folder.succeed("account curve trade-off --noise-multiplier 1 --points 4").stdout;
    assert!(table.lines().count() == 1 + 3 * (5 + 2) && table.contains("false negative rate"));
    for bad in [
        "account curve delta",
        "account curve delta --noise-multiplier 0",
        "account curve delta --noise-multiplier 1 --notions best",
        "account curve trade-off --laplace-scale 1",
        "account curve steps --noise-multiplier 1 --points 1",
    ] {
        assert!(matches!(folder.run(bad).code, Some(1 | 2)), "{bad}");
    }
}
