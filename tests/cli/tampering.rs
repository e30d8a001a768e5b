//! `verify` finds every edit of a model file.

use serde_json::{Value, json};

use rhograd::privacy::{Charge, GaussianCharge};
use rhograd::private::query;
use rhograd::statement::{Facts, LedgerFacts, Statement};
use rhograd::train::{Coefficient, Feature, ModelFile};

use super::support::Folder;

fn trained() -> (Folder, Value) {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --epsilon 1 --steps 5");
    let model = folder.json("fair.model.json");
    (folder, model)
}

/// JSON pointers of all leaves and containers below `value`.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, v)| pointers(v, &format!("{at}/{key}"), found)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, v)| pointers(v, &format!("{at}/{index}"), found));
        }
        _ => {}
    }
}

/// Small and large lies in place of a value.
fn edits(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![json!(1), json!("none")],
        Value::Bool(b) => vec![json!(!b)],
        Value::Number(n) if n.is_u64() => {
            let n = n.as_u64().unwrap();
            vec![json!(n + 1), json!(n.saturating_sub(1).max(u64::from(n == 0) * 2)), json!(n ^ 1 << 40)]
        }
        Value::Number(n) => {
            let x = n.as_f64().unwrap();
            vec![json!(x.next_up()), json!(x.next_down()), json!(-x - 1.0), json!(x * 0.5 + 0.125)]
        }
        Value::String(text) => {
            let mut lies = vec![json!(format!("{text}0")), json!("")];
            if let Some(at) = text.find(|c: char| c.is_ascii_digit()) {
                let digit = if &text[at..=at] == "9" { "8" } else { "9" };
                lies.push(json!(format!("{}{digit}{}", &text[..at], &text[at + 1..])));
            }
            lies
        }
        Value::Array(items) => {
            let (mut longer, mut shorter) = (items.clone(), items.clone());
            longer.push(items.last().cloned().unwrap_or(json!("x")));
            shorter.pop();
            if items.is_empty() { vec![json!(longer)] } else { vec![json!(longer), json!(shorter)] }
        }
        // Without one of its keys; a key with null may be left out, which says the same.
        Value::Object(fields) => fields
            .keys()
            .filter(|key| !fields[*key].is_null())
            .map(|key| fields.iter().filter(|(k, _)| k != &key).map(|(k, v)| (k.clone(), v.clone())).collect())
            .map(Value::Object)
            .collect(),
    }
}

/// Every single edit below `root` is found.
fn every_edit_below_is_found(root: &str, at_least: usize) {
    let (folder, model) = trained();
    let mut places = Vec::new();
    pointers(model.pointer(root).unwrap(), root, &mut places);
    let mut tried = 0;
    for place in places {
        let truth = model.pointer(&place).unwrap();
        for lie in edits(truth).into_iter().filter(|lie| lie != truth) {
            let mut edited = model.clone();
            *edited.pointer_mut(&place).unwrap() = lie.clone();
            folder.write("edited.json", edited.to_string());
            let outcome = folder.run("verify edited.json");
            assert!(matches!(outcome.code, Some(1 | 2)), "{place} = {lie} passes: {outcome:?}");
            assert!(!outcome.stdout.ends_with("\nverified\n"), "{place} = {lie}: {outcome:?}");
            tried += 1;
        }
    }
    assert!(tried >= at_least, "only {tried} edits");
}

#[test]
fn every_edit_of_the_guarantee_is_found() {
    every_edit_below_is_found("/statement/guarantee", 25);
}

#[test]
fn every_edit_of_the_facts_is_found() {
    every_edit_below_is_found("/statement/facts", 100);
}

#[test]
fn every_edit_of_the_rest_of_the_statement_is_found() {
    for part in [
        "schema",
        "dp",
        "statement",
        "reasons_not_dp",
        "setting",
        "definition",
        "scope",
        "mechanism",
        "dataset",
        "limits",
    ] {
        every_edit_below_is_found(&format!("/statement/{part}"), 1);
    }
}

#[test]
fn every_edit_of_coefficients_target_and_digests_is_found() {
    for part in ["features", "target", "intercept", "format", "model", "log_sha256", "digest"] {
        every_edit_below_is_found(&format!("/{part}"), 1);
    }
}

/// With a digest that fits the edit: the statement must still follow from its facts, and the facts fit each other.
#[test]
fn every_edit_of_what_follows_from_the_facts_is_found_although_the_digest_fits() {
    let (folder, model) = trained();
    let mut places = Vec::new();
    pointers(&model["statement"], "/statement", &mut places);
    places.retain(|place| !place.starts_with("/statement/facts"));
    for fact in [
        "releases/0/charge/sensitivity",
        "releases/1/charge/sensitivity",
        "releases/1/query/bound",
        "dimension",
        "adjacency",
    ] {
        places.push(format!("/statement/facts/{fact}"));
    }
    let mut tried = 0;
    for place in places {
        let truth = model.pointer(&place).unwrap();
        for lie in edits(truth).into_iter().filter(|lie| lie != truth) {
            let mut edited = model.clone();
            *edited.pointer_mut(&place).unwrap() = lie.clone();
            let Ok(mut forged) = serde_json::from_value::<ModelFile>(edited) else { continue };
            forged.digest = forged.expected_digest();
            folder.write("forged.json", forged.to_json());
            let outcome = folder.run("verify forged.json");
            assert_eq!(outcome.code, Some(1), "{place} = {lie} passes: {outcome:?}");
            assert!(outcome.stdout.contains("ok      the digest belongs to the content"), "{outcome:?}");
            tried += 1;
        }
    }
    assert!(tried > 100, "only {tried} edits");
}

#[test]
fn formatting_alone_is_no_edit_without_the_ledger_and_is_found_with_it() {
    let (folder, model) = trained();
    folder.write("compact.json", model.to_string());
    folder.succeed("verify compact.json");
    folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite");
    assert_eq!(folder.run("verify compact.json --ledger fair.ledger.sqlite").code, Some(1));
}

/// A statement that follows from forged facts, under a digest that fits: the ledger knows better.
fn the_ledger_finds(forge: fn(&mut ModelFile)) {
    let (folder, _) = trained();
    let mut model = ModelFile::read(&folder.path("fair.model.json")).unwrap();
    forge(&mut model);
    model.statement = Statement::new(model.statement.facts.clone()).unwrap();
    model.digest = model.expected_digest();
    folder.write("forged.json", model.to_json());
    let outcome = folder.run("verify forged.json --ledger fair.ledger.sqlite");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stdout.ends_with("NOT verified\n"), "{outcome:?}");
    let by_ledger = ["FAILED  the file is the one that the ledger noted", "FAILED  the statement names a ledger entry"];
    assert!(by_ledger.iter().any(|check| outcome.stdout.contains(check)), "{outcome:?}");
}

#[test]
fn every_edit_of_the_log_is_found() {
    let (folder, _) = trained();
    let log = folder.text("fair.log.jsonl");
    folder.succeed("verify fair.model.json --log fair.log.jsonl");
    let lines: Vec<&str> = log.lines().collect();
    for edited in [
        log.replace("\"rho_step\":0", "\"rho_step\":1"),
        lines[1..].join("\n") + "\n",
        lines[..4].join("\n") + "\n",
        format!("{log}{}\n", lines[3]),
        String::new(),
    ] {
        assert_ne!(edited, log);
        folder.write("edited.jsonl", edited);
        assert_eq!(folder.run("verify fair.model.json --log edited.jsonl").code, Some(1));
    }
}

/// A seeded run that calls itself private, and a release that was made cheaper than its weights say.
#[test]
fn a_consistent_claim_of_secret_noise_is_found_with_the_ledger() {
    the_ledger_finds(|model| model.statement.facts.version = "9".into());
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --overwrite --epsilon 1 --seed 3");
    let mut model = ModelFile::read(&folder.path("fair.model.json")).unwrap();
    model.statement.facts.secret_noise = true;
    model.statement = Statement::new(model.statement.facts.clone()).unwrap();
    model.digest = model.expected_digest();
    assert!(model.statement.dp);
    folder.write("forged.json", model.to_json());
    let outcome = folder.run("verify forged.json --ledger fair.ledger.sqlite");
    assert!(outcome.stdout.contains("FAILED  the entry charges exactly"), "{outcome:?}");
}

fn gaussian(facts: &mut Facts, index: usize) -> &mut GaussianCharge {
    match &mut facts.releases[index].charge {
        Charge::Gaussian(event) => event,
        Charge::PoissonGaussian(event) => &mut event.sampled,
        Charge::Objective(event) => &mut event.perturbed,
        other => panic!("{other:?} adds no noise of its own"),
    }
}

#[test]
fn moments_that_are_left_out_or_made_cheaper_do_not_fit_their_weights() {
    let (folder, _) = trained();
    let model = ModelFile::read(&folder.path("fair.model.json")).unwrap();
    let forged: [fn(&mut Facts); 4] = [
        |facts| gaussian(facts, 0).sensitivity = 1,
        |facts| drop(facts.releases.remove(0)),
        |facts| gaussian(facts, 1).count = 0,
        |facts| facts.releases[0].query = query::Gram { clip_steps: 1 }.into(),
    ];
    for forge in forged {
        let mut facts = model.statement.facts.clone();
        forge(&mut facts);
        assert!(Statement::new(facts).is_err());
    }
}

#[test]
fn a_consistent_claim_of_less_rho_is_found_with_the_ledger() {
    the_ledger_finds(|model| {
        let facts = &mut model.statement.facts;
        let last = facts.releases.len() - 1;
        gaussian(facts, last).sensitivity /= 2;
        facts.releases[last].query = query::ClippedSum { clip_steps: gaussian(facts, last).sensitivity }.into();
    });
}

#[test]
fn a_consistent_claim_of_fewer_steps_is_found_with_the_ledger() {
    the_ledger_finds(|model| {
        let facts = &mut model.statement.facts;
        let last = facts.releases.len() - 1;
        gaussian(facts, last).count = 1;
    });
}

#[test]
fn a_consistent_omission_of_the_moments_is_found_with_the_ledger() {
    the_ledger_finds(|model| {
        let facts = &mut model.statement.facts;
        facts.releases.remove(0);
        (facts.standardized, facts.rows) = (false, Some(9));
    });
}

#[test]
fn a_consistent_change_of_the_data_set_is_found_with_the_ledger() {
    the_ledger_finds(|model| model.statement.facts.dataset = "public".into());
}

#[test]
fn a_consistent_change_of_delta_is_found_with_the_ledger() {
    the_ledger_finds(|model| model.statement.facts.delta = "1e-9".into());
}

#[test]
fn a_consistent_change_of_a_coefficient_is_found_with_the_ledger() {
    the_ledger_finds(|model| {
        if let Feature::Numeric { coefficient, .. } = &mut model.features[0] {
            *coefficient = Coefficient::One(coefficient.values()[0] + 1.0);
        }
    });
}

#[test]
fn a_consistent_lie_about_what_a_renyi_cap_counted_is_found_with_the_ledger() {
    let folder = Folder::with("fair");
    folder.succeed("ledger init fair.ledger.sqlite fair --epsilon 3 --delta 1e-6");
    folder.succeed("train fair.csv --epsilon 0.1 --steps 5 --out first.json");
    folder.succeed("ledger cap fair.ledger.sqlite fair --epsilon 3 --delta 1e-6 --renyi");
    folder.succeed("train fair.csv --epsilon 0.1 --steps 5 --out honest.json");
    let honest = ModelFile::read(&folder.path("honest.json")).unwrap();
    let check = |forge: &dyn Fn(&mut LedgerFacts)| {
        let mut model = honest.clone();
        forge(model.statement.facts.ledger.as_mut().unwrap());
        model.statement = Statement::new(model.statement.facts.clone()).unwrap();
        model.digest = model.expected_digest();
        folder.write("forged.json", model.to_json());
        folder
            .run("verify forged.json --ledger fair.ledger.sqlite")
            .stdout
            .contains("ok      cap and spending are as stated")
    };
    assert!(check(&|_| ()));
    let stated = honest.statement.facts.ledger.clone().unwrap();
    assert_eq!((stated.runs_before_cap, stated.cap_raised), (Some(1), 1));
    assert!(!check(&|facts| facts.spent_at_order_after = None));
    assert!(!check(&|facts| facts.spent_at_order_after = facts.cap_rho.clone()));
    assert!(!check(&|facts| facts.runs_before_cap = None));
    assert!(!check(&|facts| facts.runs_before_cap = Some(0)));
}

#[test]
fn a_model_that_denies_its_ledger_entry_is_found_with_the_ledger() {
    the_ledger_finds(|model| model.statement.facts.ledger = None);
}

#[test]
fn a_seeded_run_that_claims_secret_noise_is_found_with_the_ledger() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --overwrite --epsilon 1 --steps 5 --seed 1");
    let mut model = ModelFile::read(&folder.path("fair.model.json")).unwrap();
    model.statement.facts.secret_noise = true;
    model.statement = Statement::new(model.statement.facts.clone()).unwrap();
    model.digest = model.expected_digest();
    folder.write("forged.json", model.to_json());
    let outcome = folder.run("verify forged.json --ledger fair.ledger.sqlite");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
}

#[test]
fn every_statement_says_who_is_trusted_and_those_that_named_a_page_or_nothing_are_still_verified() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --overwrite --epsilon 1 --steps 5");
    let shown =
        folder.succeed("statement fair.model.json").stdout + &folder.succeed("statement fair.model.json --json").stdout;
    assert_eq!(shown.matches("trusted are those who hold the rows").count(), 2, "{shown}");
    // Whoever holds a statement may hold nothing else.
    assert!(![".md", "docs/", "http"].iter().any(|page| shown.contains(page)), "{shown}");
    let mut model = ModelFile::read(&folder.path("fair.model.json")).unwrap();
    let earlier = model.statement.earlier().unwrap();
    assert_eq!(earlier.iter().filter(|it| it.limits.iter().any(|limit| limit.contains(".md"))).count(), 1);
    let present = model.statement.clone();
    for statement in earlier {
        assert!(statement != present);
        model.statement = statement;
        model.digest = model.expected_digest();
        folder.write("earlier.json", model.to_json());
        folder.succeed("verify earlier.json");
        // Today's words for what is printed, whoever wrote the file.
        assert!(folder.succeed("statement earlier.json").stdout.contains("In plain words: "));
    }
    model.statement.limits.pop();
    model.digest = model.expected_digest();
    folder.write("earlier.json", model.to_json());
    assert_eq!(folder.run("verify earlier.json").code, Some(1));
}

/// Earlier releases certified wider bounds where samples are rare, and counted a choice as any mechanism of its epsilon.
#[test]
fn a_bound_by_losses_may_be_wider_than_the_certified_one_and_not_narrower() {
    let folder = Folder::with("fair");
    for (algorithm, closer) in [("dp-sgd", 5e-6), ("frank-wolfe", 0.0)] {
        folder.succeed(&format!("train fair.csv --overwrite --epsilon 1 --delta 1e-6 --algorithm {algorithm}"));
        let mut model = ModelFile::read(&folder.path("fair.model.json")).unwrap();
        let present = model.statement.clone();
        assert!(present.earlier().unwrap().iter().all(|it| it.guarantee == present.guarantee));
        let least: f64 = present.guarantee.epsilon.parse().unwrap();
        let spelled = |epsilon: f64| rhograd::num::round::decimal_up(epsilon, 7);
        let cases = [
            (spelled(1.01 * least), true),
            (spelled(0.99 * least), false),
            // Another version may have come closer to the truth; a narrower bound confirms it.
            (spelled((1.0 - closer) * least), true),
            (spelled((1.0 - 1e-4) * least), false),
            (spelled(f64::INFINITY), false),
            // A number that holds, spelled as it is never written.
            (format!("+{}", spelled(1.01 * least)), false),
            (format!("{}0", spelled(1.01 * least)), false),
        ];
        for (recorded, holds) in cases {
            let said =
                |text: &str| text.replace(&format!("({}, ", present.guarantee.epsilon), &format!("({recorded}, "));
            model.statement = present.clone();
            model.statement.statement = said(&present.statement);
            model.statement.guarantee.epsilon = recorded.clone();
            model.statement.guarantee.epsilon_pld = Some(recorded.clone());
            if algorithm == "frank-wolfe" {
                let before = "with each choice as a pure mechanism";
                let now = "with each choice as a mechanism of bounded range (Dong, Durfee and Rogers 2020)";
                assert!(present.guarantee.conversion.contains(now));
                model.statement.guarantee.conversion = present.guarantee.conversion.replace(now, before);
            }
            model.digest = model.expected_digest();
            folder.write("wider.json", model.to_json());
            assert_eq!(folder.run("verify wider.json").code, Some(i32::from(!holds)), "{algorithm} {recorded}");
        }
    }
}

/// Models of earlier releases claim a perturbed objective by Renyi divergences, which promise less.
#[test]
fn a_statement_by_renyi_divergences_still_holds_and_nothing_below_the_profile_does() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --overwrite --epsilon 1 --delta 1e-6 --algorithm objective-perturbation");
    let mut model = ModelFile::read(&folder.path("fair.model.json")).unwrap();
    let present = model.statement.guarantee.clone();
    assert!(present.epsilon_pld.as_ref() == Some(&present.epsilon) && present.epsilon_rdp > present.epsilon_pld);
    model.statement = model.statement.earlier().unwrap().pop().unwrap();
    assert_eq!(Some(&model.statement.guarantee.epsilon), present.epsilon_rdp.as_ref());
    model.digest = model.expected_digest();
    folder.write("earlier.json", model.to_json());
    folder.succeed("verify earlier.json");
    model.statement.guarantee.epsilon = "0.9".into();
    model.digest = model.expected_digest();
    folder.write("cheaper.json", model.to_json());
    let outcome = folder.run("verify cheaper.json");
    assert!(outcome.code == Some(1) && outcome.stdout.contains("recomputed"), "{outcome:?}");
}
