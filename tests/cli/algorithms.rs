//! Every algorithm from the command line to a verified model.

use rhograd::optim::{Algorithm, Description, Losses, Relations};
use serde_json::Value;

use super::support::{Folder, number};

/// Descent, and what is made for two losses; `solvers.rs` has what solves or chooses.
fn algorithms() -> impl Iterator<Item = &'static Description> {
    let all = Algorithm::ALL.into_iter().map(Algorithm::description);
    all.filter(|it| it.losses == Losses::Curved || it.name == "dp-gd")
}

#[test]
fn every_algorithm_trains_and_its_statement_log_and_charge_verify() {
    for data in ["fair", "randhie"] {
        for &Description { name, relations, .. } in algorithms() {
            for relation in relations.all() {
                let folder = Folder::with(data);
                let flags = format!("--algorithm {name} --adjacency {relation}");
                folder.succeed(&format!("train {data}.csv --overwrite --epsilon 1 {flags} --out m.json --log m.jsonl"));
                let verified = folder.succeed(&format!("verify m.json --log m.jsonl --ledger {data}.ledger.sqlite"));
                assert!(verified.stdout.ends_with("\nverified\n"), "{verified:?}");
                let stated = folder.json("m.json")["statement"].clone();
                assert_eq!(stated["facts"]["algorithm"], name);
                assert!(number(&stated, "/guarantee/epsilon") <= 1.0 && number(&stated, "/guarantee/epsilon") > 0.98);
                let last: Value = serde_json::from_str(folder.text("m.jsonl").lines().last().unwrap()).unwrap();
                assert!(number(&last, "/epsilon_exact") <= number(&stated, "/guarantee/epsilon"), "{last}");
                folder.edit("m.json", "\"log2_scale\": ", "\"log2_scale\": 1");
                assert_eq!(folder.run("verify m.json --log m.jsonl").code, Some(1), "an edited event is seen");
            }
        }
    }
}

#[test]
fn passes_of_public_size_are_refused_where_rows_come_and_go() {
    let folder = Folder::with("fair");
    let before = folder.contents();
    for name in algorithms().filter(|it| it.relations != Relations::Both).map(|it| it.name) {
        let refused = folder.run(&format!("train fair.csv --overwrite --epsilon 1 --algorithm {name}"));
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains("--adjacency replace-one"), "{refused:?}");
    }
    assert!(folder.contents() == before);
}

#[test]
fn a_number_of_steps_is_refused_where_there_are_none() {
    let folder = Folder::with("fair");
    let before = folder.contents();
    let without: Vec<_> =
        Algorithm::ALL.into_iter().map(Algorithm::description).filter(|it| it.needs.no_steps).collect();
    assert!(without.len() >= 4);
    for &Description { name, .. } in &without {
        for flags in [format!("--algorithm {name} --steps 5"), format!("--tune=algorithm=dp-gd,{name};steps=5,6")] {
            for command in ["train fair.csv", "check fair.csv"] {
                let refused = folder.run(&format!("{command} --epsilon 1 {flags}"));
                assert_eq!(refused.code, Some(2), "{refused:?}");
                assert!(
                    refused.stderr.contains(&format!("--steps: means nothing to --algorithm {name}")),
                    "{refused:?}"
                );
            }
        }
    }
    assert!(folder.contents() == before);
}

#[test]
fn a_pass_whose_iterates_stay_secret_says_so_and_releases_one_value() {
    let folder = Folder::with("fair");
    let train = "train fair.csv --overwrite --epsilon 1 --algorithm one-pass --adjacency replace-one --steps 40 --out m.json --log m.jsonl";
    folder.succeed(train);
    let stated = folder.json("m.json")["statement"].clone();
    assert!(stated["mechanism"]["sampling"].as_str().unwrap().contains("40 disjoint batches"), "{stated}");
    assert!(stated["guarantee"]["conversion"].as_str().unwrap().contains("last iterate"), "{stated}");
    assert_eq!(stated["mechanism"]["steps"], 40);
    assert_eq!(folder.text("m.jsonl").lines().count(), 2, "moments and the last iterate");
    // Another plan costs something else.
    for (from, to) in
        [("\"last\": ", "\"last\": 1"), ("\"steps\": 40,\n", "\"steps\": 4,\n"), ("\"shift\": ", "\"shift\": 1")]
    {
        let whole = folder.text("m.json");
        folder.edit("m.json", from, to);
        assert_eq!(folder.run("verify m.json").code, Some(1), "{from}");
        folder.write("m.json", whole);
    }
    folder.succeed("verify m.json --log m.jsonl");
    assert!(folder.run(&train.replace("40", "6367")).stderr.contains("--steps"));
}

#[test]
fn one_pass_says_so() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --overwrite --epsilon 1 --algorithm dp-ftrl --steps 16 --out m.json");
    let stated = folder.json("m.json")["statement"].clone();
    assert!(stated["mechanism"]["sampling"].as_str().unwrap().contains("16 batches"), "{stated}");
    assert_eq!(stated["mechanism"]["steps"], 16);
    assert!(
        folder
            .run("train fair.csv --overwrite --epsilon 1 --algorithm dp-ftrl --steps 99999")
            .stderr
            .contains("--steps")
    );
}
