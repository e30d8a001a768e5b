//! Every algorithm from the command line to a verified model.

use std::path::Path;

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
        folder.refuse(
            &format!("train fair.csv --overwrite --epsilon 1 --algorithm {name}"),
            2,
            &["--adjacency replace-one"],
        );
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
                folder.refuse(
                    &format!("{command} --epsilon 1 {flags}"),
                    2,
                    &[&format!("--steps: means nothing to --algorithm {name}")],
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

/// Each pass is a release: of all rows at a cost that is added up, of samples at a claim.
#[test]
fn several_passes_are_paid_for_each() {
    let folder = Folder::with("fair");
    let train = "train fair.csv --overwrite --epsilon 1 --algorithm dp-ftrl --out m.json";
    let stated = |flags: &str| {
        folder.succeed(&format!("{train} {flags}"));
        let model = folder.json("m.json");
        folder.succeed("verify m.json");
        let facts = &model["statement"]["facts"];
        let passes = facts["releases"].as_array().unwrap().last().unwrap();
        (model["statement"]["mechanism"].clone(), passes.clone(), facts["settings"].clone())
    };
    let sensitivity = |passes: &Value| passes["charge"]["sensitivity"].as_u64().unwrap() as f64;
    let (once, one, _) = stated("--steps 16");
    let (mechanism, all, settings) = stated("--steps 14 --passes 4");
    assert_eq!((&mechanism["steps"], &all["charge"]["count"]), (&16.into(), &4.into()), "{mechanism}");
    assert_eq!((&settings["passes"], &settings["batches"]), (&4.into(), &4.into()), "{settings}");
    assert!(mechanism["sampling"].as_str().unwrap().starts_with("4 passes over 4 batches"), "{mechanism}");
    // Four releases of shorter columns: together they move further than one of a long column.
    let moved =
        |passes: &Value| sensitivity(passes) / 2f64.powi(passes["charge"]["log2_scale"].as_u64().unwrap() as i32);
    assert!((2.0 * moved(&all) / moved(&one) - 1.0).abs() < 0.01, "{all} {one}");
    assert_eq!(once["steps"], 16);
    let (mechanism, sampled, settings) = stated("--steps 16 --passes 4 --sampling-rate 0.25");
    assert!(mechanism["sampling"].as_str().unwrap().starts_with("Poisson, rate at most 0.25"), "{mechanism}");
    assert!(mechanism["sampling"].as_str().unwrap().contains("in each pass over 4 batches"), "{mechanism}");
    assert_eq!((&mechanism["steps"], &settings["passes"]), (&16.into(), &4.into()));
    assert!(sampled["charge"]["claim"]["epsilon"].as_f64().unwrap() <= 1.0, "{sampled}");
    let refused = |flags: &str| folder.run(&format!("{train} {flags}")).stderr;
    for (flags, expected) in [
        ("--passes 9 --steps 8", "--passes: is 9, and there are 8 steps"),
        ("--passes 4 --steps 16385", "--steps: is 16388"),
        ("--sampling-rate 0.7", "--sampling-rate: is 0.7"),
        ("--sampling-rate 0.5 --noise discrete-gaussian", "--noise"),
        ("--passes 0", "--passes"),
    ] {
        let text = refused(flags);
        assert!(text.contains(expected), "{flags}: {text}");
    }
    let by_rho = "train fair.csv --overwrite --rho 0.1 --delta 1e-6 --algorithm dp-ftrl --sampling-rate 0.5";
    let text = folder.run(by_rho).stderr;
    assert!(text.contains("--rho") && text.contains("--epsilon"), "{text}");
    let text = folder.run("train fair.csv --overwrite --epsilon 1 --algorithm dp-gd --passes 2").stderr;
    assert!(text.contains("--passes") && text.contains("means nothing"), "{text}");
}

#[test]
fn algorithms_are_listed_and_each_prints_its_page() {
    let folder = Folder::new();
    let (list, rows) = (folder.succeed("algorithms").stdout, folder.succeed("algorithms --json").stdout);
    let rows: Value = serde_json::from_str(&rows).unwrap();
    for (algorithm, row) in Algorithm::ALL.into_iter().zip(rows.as_array().unwrap()) {
        let it = algorithm.description();
        assert!(list.lines().any(|line| line.starts_with(it.name) && line.ends_with(it.about)), "{list}");
        assert_eq!((&row["name"], &row["reference"]), (&it.name.into(), &it.reference.into()));
        // Paragraphs are one line each, which a terminal breaks; no word is lost.
        let page = folder.succeed(&format!("algorithms {}", it.name)).stdout;
        assert!(page.split_whitespace().eq(algorithm.page().split_whitespace()), "{page}");
        assert!(page.lines().any(|line| line.starts_with("**Source.** ")), "{page}");
    }
    let formulas = "```text\nv_t = momentum v_(t-1) + g_t\nw_t = project(shrink(w_(t-1) - eta v_t))\n```\n";
    assert!(folder.succeed("algorithms dp-gd").stdout.contains(formulas), "formulas keep their lines");
    folder.refuse("algorithms no-such", 2, &["dp-gd"]);
}

/// `docs/algorithms` may lack an algorithm that came later, and says nothing else than the program does.
#[test]
fn the_pages_about_algorithms_are_what_the_program_writes() {
    let (folder, docs) = (Folder::new(), Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/algorithms"));
    folder.succeed("algorithms --markdown pages");
    let refused = folder.run("algorithms --markdown pages");
    assert!(refused.code == Some(2) && refused.stderr.contains("--overwrite"), "{refused:?}");
    let cure = "run `rhograd algorithms --markdown docs/algorithms --overwrite`";
    let mut compared = 0;
    for entry in std::fs::read_dir(&docs).unwrap().map(|entry| entry.unwrap()) {
        let name = entry.file_name().into_string().unwrap();
        let text = std::fs::read_to_string(entry.path()).unwrap();
        match name.as_str() {
            // What every algorithm can be combined with.
            "hold-out.md" | "selection.md" => continue,
            "README.md" => {
                let written = folder.text("pages/README.md");
                let mut rest = written.lines();
                assert!(text.lines().all(|line| rest.any(|other| other == line)), "{name}: {cure}");
            }
            page => assert_eq!(text, folder.text(&format!("pages/{page}")), "{name}: {cure}"),
        }
        compared += 1;
    }
    assert!(compared >= 17, "{compared}");
}
