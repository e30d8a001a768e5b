//! Algorithms that solve or choose inside the gate, from the command line.

use serde_json::Value;

use rhograd::optim::{Algorithm, Description, Losses};
use rhograd::train::ModelFile;

use super::support::{Folder, number};

const ONE_COLUMN: &str = r#"{"name":"fair","task":"classification","target":"affair","positive":"1","rows":6366,
    "columns":{"rate_marriage":{"type":"numeric","lower":1,"upper":5}}}"#;

/// What solves or chooses inside the gate.
fn algorithms() -> impl Iterator<Item = &'static Description> {
    let all = Algorithm::ALL.into_iter().map(Algorithm::description);
    all.filter(|it| matches!(it.losses, Losses::Bounded | Losses::NeverNegative | Losses::OneMargin))
}

fn folder(algorithm: &str) -> Folder {
    let folder = Folder::with("fair");
    if algorithm == "exponential-mechanism" {
        folder.write("fair.schema.json", ONE_COLUMN);
    }
    folder
}

#[test]
fn each_is_charged_logged_stated_and_verified() {
    for &Description { name: algorithm, needs, .. } in algorithms() {
        for adjacency in ["add-remove", "replace-one"] {
            let folder = folder(algorithm);
            let train = format!(
                "train fair.csv --overwrite --epsilon 1 --delta 1e-6 --algorithm {algorithm} --adjacency {adjacency}"
            );
            let summary = folder.succeed(&format!("{train} --json")).json();
            let epsilon = number(&summary, "/epsilon");
            assert!(epsilon <= 1.0 && epsilon > 0.99, "{algorithm} {adjacency}: {epsilon}");
            assert_eq!(summary["algorithm"], algorithm);
            folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite --log fair.log.jsonl");
            let page = folder.succeed("statement fair.model.json").stdout;
            assert!(page.contains("differentially private"), "{page}");
            let spent = folder.spending("fair.ledger.sqlite");
            let claimed = needs.epsilon.is_some();
            assert_eq!(number(&spent, "/spent_delta") > 0.0, claimed, "{algorithm}");
            let log = folder.text("fair.log.jsonl");
            assert_eq!(log.lines().count() as f64, number(&summary, "/releases"));
            let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
            assert_eq!(last.get("rho").is_none(), claimed);
            assert_eq!(last.get("epsilon_exact").is_some(), algorithm == "output-perturbation");
        }
    }
}

#[test]
fn statements_of_choices_cannot_be_made_cheaper() {
    for (algorithm, from, to) in [
        ("frank-wolfe", "\"bound\": ", "\"bound\": 1"),
        ("objective-perturbation", "\"quarters\": 1", "\"quarters\": 2"),
        ("output-perturbation", "\"tolerance\": ", "\"tolerance\": 1"),
    ] {
        let folder = folder(algorithm);
        folder.succeed(&format!("train fair.csv --overwrite --epsilon 1 --algorithm {algorithm} --no-ledger"));
        folder.edit("fair.model.json", from, to);
        // With a digest that fits the edit: what is recorded must still fit itself.
        let path = folder.path("fair.model.json");
        let mut forged = ModelFile::parse_unchecked(&folder.text("fair.model.json"), &path).unwrap();
        forged.digest = forged.expected_digest();
        folder.write("fair.model.json", forged.to_json());
        let outcome = folder.run("verify fair.model.json");
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.stdout.contains("the recorded facts are consistent ("), "{outcome:?}");
    }
}

#[test]
fn a_rho_budget_pays_for_what_has_a_rho() {
    for algorithm in algorithms().filter(|it| it.needs.epsilon.is_none()).map(|it| it.name) {
        let folder = folder(algorithm);
        let summary =
            folder.succeed(&format!("train fair.csv --overwrite --rho 0.05 --algorithm {algorithm} --json")).json();
        assert!((0.0498..=0.05).contains(&number(&summary, "/rho")), "{summary}");
    }
}

#[test]
fn what_cannot_be_done_is_refused_with_the_flag_and_nothing_is_charged() {
    for (arguments, word) in [
        ("--algorithm amp --rho 0.1", "--epsilon"),
        ("--algorithm objective-perturbation --epsilon 1 --noise discrete-gaussian", "--noise"),
        ("--algorithm objective-perturbation --epsilon 1 --l2 0.1", "--l2"),
        ("--algorithm objective-perturbation --epsilon 1e-6", "epsilon"),
        ("--algorithm exponential-mechanism --epsilon 1", "--algorithm dp-gd"),
        ("--algorithm output-perturbation --epsilon 1 --clip 1e9", "--clip"),
        ("--algorithm output-perturbation --epsilon 1 --clip 1e-9", "--clip"),
    ] {
        let folder = Folder::with("fair");
        folder.refuse(&format!("train fair.csv --overwrite {arguments}"), 2, &[word]);
        assert!(!folder.names().iter().any(|name| name.contains("sqlite")), "nothing was charged");
    }
}

#[test]
fn families_without_a_theory_are_refused_with_a_cure_and_nothing_is_charged() {
    for (arguments, word) in [
        ("--algorithm output-perturbation --model svm", "--model logistic"),
        ("--algorithm amp --model svm", "--model logistic"),
        ("--algorithm objective-perturbation --model svm", "dp-gd"),
        ("--algorithm output-perturbation --l1 0.1", "--l1"),
        ("--algorithm amp --l1 0.1", "--l1"),
        ("--algorithm frank-wolfe --l1 0.1", "--l1"),
        ("--algorithm frank-wolfe --l2 0.1", "--l2"),
    ] {
        let folder = Folder::with("fair");
        folder.refuse(&format!("train fair.csv --overwrite --epsilon 1 {arguments}"), 2, &[word]);
        assert!(!folder.names().iter().any(|name| name.contains("sqlite")), "nothing was charged");
    }
}

#[test]
fn a_hold_out_is_paid_for_beside_solvers_and_choices() {
    for &Description { name: algorithm, .. } in algorithms() {
        let folder = folder(algorithm);
        let train =
            format!("train fair.csv --overwrite --epsilon 1 --algorithm {algorithm} --evaluate-budget 0.1 --json");
        let summary = folder.succeed(&train).json();
        assert!(number(&summary, "/epsilon") <= 1.0, "{algorithm}: {summary}");
        assert!(!summary["evaluation"].is_null(), "{algorithm}: {summary}");
        folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite --log fair.log.jsonl");
    }
}
