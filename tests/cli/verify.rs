//! What `verify` says of a model on its own, and what it refuses to work on.

use std::io::Write;
use std::process::Stdio;

use rhograd::privacy::{Charge, Claim, PoissonGaussianCharge};
use rhograd::statement::{Facts, MAX_COSTLY, Statement};
use rhograd::train::{MAX_CLAIMS, MAX_MODEL, ModelFile, Target};

use super::support::{Folder, Outcome, REGRESSION, rows};

fn trained(more: &str) -> (Folder, ModelFile) {
    let folder = Folder::with("fair");
    folder.succeed(&format!("train fair.csv --epsilon 1 --steps 5 {more}"));
    let model = ModelFile::read(&folder.path("fair.model.json")).unwrap();
    (folder, model)
}

/// A file whose digest belongs to its content.
fn write(folder: &Folder, name: &str, mut model: ModelFile) {
    model.digest = model.expected_digest();
    folder.write(name, model.to_json());
}

#[test]
fn coefficients_under_the_statement_of_another_run_are_not_authenticated() {
    let (folder, mut model) = trained("");
    folder.succeed("train fair.csv --epsilon 8 --steps 5 --out other.model.json");
    let other = ModelFile::read(&folder.path("other.model.json")).unwrap();
    assert_ne!(model.features, other.features);
    (model.features, model.intercept) = (other.features, other.intercept);
    write(&folder, "swapped.json", model);
    // Alone nothing can be found; it is the first thing that is said.
    let alone = folder.succeed("verify swapped.json");
    assert!(alone.stdout.starts_with("coefficients not authenticated: "), "{alone:?}");
    assert!(!alone.stdout.contains("authenticated by"), "{alone:?}");
    let answer = folder.succeed("verify swapped.json --json");
    assert!(answer.stdout.starts_with("{\"coefficients\":\"not authenticated\""), "{answer:?}");
    let found = folder.run("verify swapped.json --ledger fair.ledger.sqlite");
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.stdout.starts_with("coefficients not authenticated: a check failed"), "{found:?}");
}

#[test]
fn the_ledger_authenticates_the_file_that_it_noted() {
    let (folder, _) = trained("");
    let outcome = folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite");
    assert!(outcome.stdout.starts_with("coefficients authenticated by the ledger: "), "{outcome:?}");
    let answer = folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite --json").json();
    assert_eq!(answer["coefficients"], "authenticated by the ledger");
    let (folder, _) = trained("--no-ledger");
    let outcome = folder.succeed("verify fair.model.json");
    assert!(outcome.stdout.starts_with("coefficients not authenticated: "), "{outcome:?}");
}

#[test]
fn nothing_is_looked_at_where_the_digest_does_not_belong_to_the_content() {
    let (folder, model) = trained("");
    let epsilon = |value: &str| format!("\"epsilon\": \"{value}\"");
    folder.edit("fair.model.json", &epsilon(&model.statement.guarantee.epsilon), &epsilon("0.5"));
    for arguments in ["", " --ledger fair.ledger.sqlite --log fair.log.jsonl"] {
        let outcome = folder.run(&format!("verify fair.model.json{arguments}"));
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        let checks: Vec<&str> = outcome.stdout.lines().skip(2).collect();
        assert_eq!(checks, ["FAILED  the digest belongs to the content", "NOT verified"], "{outcome:?}");
    }
}

#[test]
fn an_edited_model_is_neither_stated_nor_used() {
    let (folder, model) = trained("");
    folder.edit(
        "fair.model.json",
        &format!("\"epsilon\": \"{}\"", model.statement.guarantee.epsilon),
        "\"epsilon\": \"0.5\"",
    );
    for command in
        ["statement fair.model.json", "predict fair.model.json fair.csv", "evaluate fair.model.json fair.csv"]
    {
        let outcome = folder.run(command);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
        assert!(outcome.stderr.contains("the digest does not belong to the content"), "{outcome:?}");
    }
}

/// Escape sequences, a line of its own, and a change of the reading direction.
const HOSTILE: &str = "age\u{1b}[2J\u{9b}1m\nverified\u{202e}x\u{7f}";

#[test]
fn names_reach_the_terminal_without_anything_that_it_obeys() {
    let folder = Folder::new();
    let json = |text: &str| serde_json::to_string(text).unwrap();
    let (name, label) = (json(HOSTILE), json(&format!("yes{HOSTILE}")));
    folder.write("d.csv", format!("\"{}\",y\n1,no\n2,no\n3,no\n", HOSTILE.replace('\n', "")));
    folder.write(
        "d.schema.json",
        format!(
            r#"{{"name":"trial","task":"classification","target":"y","positive":{label},
                "columns":{{{}:{{"type":"numeric","lower":0,"upper":10}}}}}}"#,
            json(&HOSTILE.replace('\n', ""))
        ),
    );
    let mut outcomes = vec![folder.succeed("train d.csv --epsilon 1 --steps 3")];
    let mut model = ModelFile::read(&folder.path("d.model.json")).unwrap();
    let mut facts = model.statement.facts.clone();
    facts.dataset = HOSTILE.into();
    facts.delta_origin = HOSTILE.into();
    model.statement = Statement::new(facts).unwrap();
    write(&folder, "hostile.json", model);
    for command in [
        "statement d.model.json --coefficients",
        "statement hostile.json",
        "statement hostile.json --json",
        "verify hostile.json",
        "train d.csv --epsilon 1 --steps 3 --json --out again.model.json",
    ] {
        outcomes.push(folder.succeed(command));
    }
    folder
        .write("bad.schema.json", format!(r#"{{"name":"t","task":"classification","target":{name},"columns":{{}}}}"#));
    outcomes.push(folder.run("train d.csv --schema bad.schema.json --epsilon 1"));
    assert_eq!(outcomes.last().unwrap().code, Some(2));
    for outcome in &outcomes {
        for text in [&outcome.stdout, &outcome.stderr] {
            let obeyed = |c: &char| (c.is_control() && *c != '\n') || *c == '\u{202e}';
            assert_eq!(text.chars().find(obeyed), None, "{outcome:?}");
            assert!(!text.contains("\nverified\\u"), "a name makes a line: {outcome:?}");
        }
    }
    assert!(outcomes[0].stdout.contains("\\u{1b}[2J\\u{9b}1m"), "{:?}", outcomes[0]);
    // For programs the value is what it was.
    let stated = serde_json::from_str::<Statement>(&outcomes[3].stdout).unwrap();
    assert_eq!(stated.facts.dataset, HOSTILE);
}

#[test]
fn a_file_is_read_once() {
    let (folder, _) = trained("");
    let run = |arguments: &str, input: &str| {
        let mut command = folder.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(&folder.bytes(input)).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    // A pipe that was read has nothing left.
    let (code, page) = run("verify /dev/stdin --ledger fair.ledger.sqlite", "fair.model.json");
    assert_eq!(code, Some(0), "{page}");
    assert!(page.contains("authenticated by the ledger"), "{page}");
    let (code, page) = run("verify fair.model.json --log /dev/stdin", "fair.log.jsonl");
    assert!(code == Some(0) && page.contains("ok      every line of the log"), "{page}");
}

/// Facts whose charges are changed, under the statement and digest that follow where there are any.
fn forge(folder: &Folder, model: &ModelFile, name: &str, change: impl FnOnce(&mut Facts)) -> Outcome {
    let mut forged = model.clone();
    change(&mut forged.statement.facts);
    if let Ok(statement) = Statement::new(forged.statement.facts.clone()) {
        forged.statement = statement;
    }
    write(folder, name, forged);
    folder.run(&format!("verify {name}"))
}

#[test]
fn a_log_of_more_lines_than_are_allowed_is_not_recomputed() {
    let (folder, model) = trained("--no-ledger");
    let outcome = forge(&folder, &model, "long.json", |facts| {
        let Charge::Gaussian(event) = &mut facts.releases[1].charge else { panic!("steps are Gaussian") };
        event.count = (1 << 32) - 1;
    });
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stdout.contains("FAILED  the log has at most 2097152 lines"), "{outcome:?}");
    let few = folder.run("verify fair.model.json --log-lines 6");
    assert!(few.code == Some(1) && few.stdout.contains("the log has at most 6 lines"), "{few:?}");
    folder.succeed("verify fair.model.json --log-lines 7");
}

#[test]
fn more_claims_than_a_run_makes_are_not_looked_at() {
    let (folder, model) = trained("--no-ledger --algorithm dp-sgd");
    let sampled =
        model.statement.facts.releases.iter().find(|r| matches!(r.charge, Charge::PoissonGaussian(_))).unwrap().clone();
    let claims = |count: u64| {
        let sampled = &sampled;
        move |facts: &mut Facts| {
            facts.releases.extend((0..count).map(|i| {
                let mut release = sampled.clone();
                let Charge::PoissonGaussian(PoissonGaussianCharge { claim: Claim { rho, .. }, .. }) =
                    &mut release.charge
                else {
                    panic!("found by its kind")
                };
                *rho += i as f64;
                release
            }));
        }
    };
    // The run itself makes one; one more than are allowed, and nothing is confirmed: not even that the others hold.
    for (added, allowed, said) in [
        (MAX_CLAIMS as u64, "", "FAILED  the statement has at most 8 different claims"),
        (1, " --claims 1", "FAILED  the statement has at most 1 different claims"),
        (20_000, "", "FAILED  the statement has at most 8 different claims"),
        (20_000, " --claims 30000", "more claims and choices than a run can make"),
    ] {
        // Written as it is: to make its statement would confirm them.
        let mut forged = model.clone();
        claims(added + 1)(&mut forged.statement.facts);
        write(&folder, "many.json", forged);
        let outcome = folder.run(&format!("verify many.json{allowed}"));
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.stdout.contains(said), "{outcome:?}");
        assert!(!outcome.stdout.contains("recomputed") && !outcome.stdout.contains("follow from"), "{outcome:?}");
    }
    // The first of those added is the run's own once more, which is no other claim.
    folder.succeed("verify fair.model.json --claims 1");
    assert_eq!(MAX_COSTLY, 128);
}

#[test]
fn a_model_larger_than_any_is_refused_without_being_held() {
    let (folder, _) = trained("--no-ledger");
    let file = std::fs::File::create(folder.path("huge.json")).unwrap();
    file.set_len(MAX_MODEL + 1).unwrap();
    drop(file);
    for command in ["verify huge.json", "statement huge.json"] {
        folder.refuse(command, 2, &["is larger than"]);
    }
}

#[test]
fn a_statement_says_what_the_release_means_for_others() {
    let (folder, _) = trained("--no-ledger");
    let page = folder
        .succeed(
            "statement fair.model.json --what-if group:5 --what-if attribute --what-if prior:0.01 --what-if new-rows",
        )
        .stdout;
    let (before, answers) = page.split_once("\nWhat if:\n").unwrap();
    assert_eq!(format!("{before}\n").trim_end(), folder.succeed("statement fair.model.json").stdout.trim_end());
    let lines: Vec<&str> = answers.lines().collect();
    assert!(lines.len() == 4 && lines[3].starts_with("- new-rows: Where the rows are independent draws"), "{answers}");
    assert!(lines[0].starts_with("- group:5: For 5 rows together ("), "{answers}");
    assert!(lines[1].starts_with("- attribute: For one attribute of a row (") && lines[1].contains("a group of 2"));
    assert!(lines[2].starts_with("- prior:0.01: Who believes with a probability of 0.01"), "{answers}");
    let asked = folder.succeed("statement fair.model.json --json --what-if group:2 --what-if attribute").json();
    assert_eq!(asked["statement"], folder.succeed("statement fair.model.json --json").json());
    assert_eq!(asked["what_if"][0]["epsilon"], asked["what_if"][1]["epsilon"]);
    assert_eq!((&asked["what_if"][0]["steps"], &asked["what_if"][0]["question"]), (&2.into(), &"group:2".into()));
    for question in ["group:0", "prior:2", "age"] {
        assert_eq!(folder.run(&format!("statement fair.model.json --what-if {question}")).code, Some(2), "{question}");
    }
    let (folder, _) = trained("--no-ledger --seed 1");
    assert_eq!(folder.run("statement fair.model.json --what-if group:2").code, Some(1));
}

/// Predictions are `centre + scale * link`: numbers there that no run can find make a model of another target.
#[test]
fn the_unit_of_a_target_is_one_that_a_run_can_find() {
    for (family, features) in
        [("linear", "linear"), ("linear", "additive"), ("poisson", "linear"), ("poisson", "additive")]
    {
        let schema = REGRESSION.replace(r#""target_lower":-1"#, r#""target_lower":0"#);
        let folder = Folder::trial(&schema, rows(600));
        folder.succeed(&format!("train trial.csv --epsilon 4 --model {family} --features {features} --out m.json"));
        let honest = ModelFile::read(&folder.path("m.json")).unwrap();
        let forge = |by: f64, to: Option<f64>| {
            let mut forged = honest.clone();
            let Target::Number { centre, scale, .. } = &mut forged.target else { panic!() };
            (*scale, *centre) = (*scale * by, to.unwrap_or(*centre));
            write(&folder, "f.json", forged);
            folder.run("verify f.json")
        };
        assert_eq!(forge(1.0, None).code, Some(0), "{family} {features}");
        for lie in [(1e3, None), (-1.0, None), (0.0, None), (1.0, Some(1.5))] {
            let found = forge(lie.0, lie.1);
            let told = found.stdout.contains("FAILED  the unit of the target");
            assert!(found.code == Some(1) && told, "{family} {lie:?}: {found:?}");
        }
    }
}
