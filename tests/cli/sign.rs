//! Signatures: made for what the ledger noted, found wrong after any edit.

use rhograd::train::{ModelFile, PublicKey, SecretKey, Signature};

use super::support::{Folder, Outcome};

fn signed() -> Folder {
    let folder = Folder::with("fair");
    folder.succeed("key new custodian.key");
    folder.succeed("train fair.csv --epsilon 1 --steps 5 --sign custodian.key");
    folder
}

const CHECK: &str = "verify fair.model.json --key custodian.key.pub";

fn is_found(outcome: &Outcome) {
    assert!(matches!(outcome.code, Some(1 | 2)), "{outcome:?}");
    assert!(!outcome.stdout.contains("authenticated by"), "{outcome:?}");
}

#[test]
fn a_model_is_signed_by_train_and_checked_with_the_public_key() {
    let folder = signed();
    let outcome = folder.succeed(CHECK);
    assert!(outcome.stdout.starts_with("coefficients authenticated by a signature: "), "{outcome:?}");
    let both = folder.succeed(&format!("{CHECK} --ledger fair.ledger.sqlite --json")).json();
    assert_eq!(both["coefficients"], "authenticated by the ledger and a signature");
    // Somewhere else, with nothing but model, signature and key.
    let away = Folder::new();
    for (from, to) in [("fair.model.json", "m"), ("fair.model.json.sig", "s"), ("custodian.key.pub", "k")] {
        away.write(to, folder.bytes(from));
    }
    away.succeed("verify m --key k --signature s");
    is_found(&away.run("verify m --key k"));
    assert!(away.succeed("verify m").stdout.starts_with("coefficients not authenticated"));
}

#[test]
fn a_signature_goes_with_the_model_that_it_is_of() {
    let folder = signed();
    let runs = || folder.spending("fair.ledger.sqlite")["runs"].as_u64();
    // The model was moved, and its signature forgotten: found before anything is paid.
    std::fs::rename(folder.path("fair.model.json"), folder.path("moved.json")).unwrap();
    std::fs::rename(folder.path("fair.log.jsonl"), folder.path("moved.jsonl")).unwrap();
    let train = "train fair.csv --epsilon 1 --steps 5";
    let refused = folder.run(train);
    assert_eq!((refused.code, runs()), (Some(2), Some(1)), "{refused:?}");
    assert!(refused.stderr.contains("fair.model.json.sig: is the signature of another model"), "{refused:?}");
    assert!(folder.path("fair.model.json.sig").exists());
    // It is replaced by the new model's own, or goes.
    folder.succeed(&format!("{train} --sign custodian.key"));
    folder.succeed(CHECK);
    folder.succeed(&format!("{train} --overwrite"));
    assert!(!folder.path("fair.model.json.sig").exists());
    let unsigned = folder.run(CHECK);
    assert!(unsigned.code == Some(2) && unsigned.stderr.contains("no such file"), "{unsigned:?}");
    folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite");
}

#[test]
fn every_edit_of_model_signature_and_key_is_found() {
    let folder = signed();
    for file in ["fair.model.json", "fair.model.json.sig", "custodian.key.pub"] {
        let truth = folder.bytes(file);
        let mut tried = 0;
        for at in (0..truth.len()).step_by(truth.len().div_ceil(120)) {
            for flip in [1, 0x20] {
                let mut edited = truth.clone();
                edited[at] ^= flip;
                folder.write(file, &edited);
                is_found(&folder.run(CHECK));
                tried += 1;
            }
        }
        assert!(tried > 100, "{file}: {tried}");
        for longer in [[&truth[..], b"\n"].concat(), [b" ", &truth[..]].concat()] {
            folder.write(file, &longer);
            let outcome = folder.run(CHECK);
            // White space around a key leaves the key as it is.
            assert!(file.ends_with(".pub") || outcome.code != Some(0), "{file}: {outcome:?}");
        }
        folder.write(file, truth);
    }
    folder.succeed(CHECK);
}

#[test]
fn a_forged_model_is_found_although_its_digest_fits() {
    let folder = signed();
    let mut model = ModelFile::read(&folder.path("fair.model.json")).unwrap();
    model.statement.facts.version = "9".into();
    model.statement = rhograd::statement::Statement::new(model.statement.facts.clone()).unwrap();
    model.digest = model.expected_digest();
    folder.write("fair.model.json", model.to_json());
    let outcome = folder.run(CHECK);
    is_found(&outcome);
    for check in ["of this very file", "of this statement"] {
        assert!(outcome.stdout.contains(&format!("FAILED  the signature is {check}")), "{outcome:?}");
    }
}

#[test]
fn the_key_is_that_of_the_custodian_and_not_of_the_signature() {
    let folder = signed();
    folder.succeed("key new other.key");
    let outcome = folder.run("verify fair.model.json --key other.key.pub");
    assert!(outcome.stdout.contains("FAILED  the signature is by the given key"), "{outcome:?}");
    is_found(&outcome);
    // Signed anew by somebody else, it names their key, and is found all the same.
    folder.succeed("sign fair.model.json --key other.key --ledger fair.ledger.sqlite");
    is_found(&folder.run(CHECK));
    folder.succeed("verify fair.model.json --key other.key.pub");
    // A signature that names the custodian's key is not one by it.
    let custodian = PublicKey::read(&folder.path("custodian.key.pub")).unwrap();
    let path = folder.path("fair.model.json.sig");
    let forged = Signature::read(&path).unwrap();
    let theirs = SecretKey::read(&folder.path("other.key")).unwrap();
    assert_ne!(theirs.public(), custodian);
    folder.succeed("sign fair.model.json --key custodian.key --ledger fair.ledger.sqlite");
    let own = Signature::read(&path).unwrap();
    folder.write("fair.model.json.sig", Signature { public_key: own.public_key, ..forged }.to_json().unwrap());
    is_found(&folder.run(CHECK));
}

#[test]
fn only_what_the_ledger_noted_is_signed() {
    let folder = signed();
    folder.remove("fair.model.json.sig");
    let sign = "sign fair.model.json --key custodian.key --ledger";
    folder.succeed("train fair.csv --epsilon 1 --ledger other.sqlite --out other.json --log other.jsonl");
    assert_eq!(folder.run(&format!("{sign} other.sqlite")).code, Some(1));
    let mut model = ModelFile::read(&folder.path("fair.model.json")).unwrap();
    model.features.reverse();
    model.digest = model.expected_digest();
    folder.write("edited.json", model.to_json());
    folder.refuse(
        "sign edited.json --key custodian.key --ledger fair.ledger.sqlite",
        1,
        &["the file is the one that the ledger noted"],
    );
    assert!(folder.names().iter().all(|name| !name.ends_with(".sig")));
    folder.succeed(&format!("{sign} fair.ledger.sqlite"));
    folder.succeed(CHECK);
}

#[test]
fn a_ledger_that_was_rolled_back_behind_a_signature_is_found() {
    let folder = signed();
    let old = folder.bytes("fair.ledger.sqlite");
    folder.succeed("train fair.csv --epsilon 1 --out second.json --log second.jsonl");
    folder.succeed("sign fair.model.json --key custodian.key --ledger fair.ledger.sqlite");
    folder.write("fair.ledger.sqlite", old);
    folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite");
    let outcome = folder.run(&format!("{CHECK} --ledger fair.ledger.sqlite"));
    assert!(outcome.stdout.contains("FAILED  the ledger holds entry"), "{outcome:?}");
    is_found(&outcome);
}

#[test]
fn a_key_or_a_place_that_cannot_be_used_costs_nothing() {
    let folder = Folder::with("fair");
    let train = "train fair.csv --epsilon 1 --steps 3 --sign";
    folder.write("no.key", "nothing");
    folder.succeed("key new custodian.key");
    std::fs::create_dir(folder.path("fair.model.json.sig")).unwrap();
    for refused in ["no.key", "missing.key", "custodian.key", "custodian.key --out m.json --log m.json.sig"]
        .map(|end| format!("{train} {end}"))
    {
        let outcome = folder.run(&refused);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        let names = folder.names();
        assert!(names.iter().all(|name| !name.contains("ledger") && !name.ends_with("model.json")), "{names:?}");
    }
    std::fs::remove_dir(folder.path("fair.model.json.sig")).unwrap();
    folder.succeed(&format!("{train} custodian.key"));
    folder.succeed(CHECK);
}

/// Model, log and signature appear together: what stops one of them stops the model, which the same command publishes.
#[test]
fn a_model_that_is_to_be_signed_is_never_seen_without_its_signature() {
    let folder = signed();
    let first = folder.bytes("fair.model.json");
    let train = "train fair.csv --epsilon 1 --algorithm dp-gd --steps 400 --seed 1 --overwrite --sign custodian.key";
    // What gets in the way once the run is under way: nothing can be renamed over a folder.
    let mut run = folder.command(train).spawn().unwrap();
    let signature = folder.path("fair.model.json.sig");
    while !folder.names().iter().any(|name| name.ends_with(".checkpoint")) {
        assert!(run.try_wait().unwrap().is_none(), "the run is over");
    }
    std::fs::remove_file(&signature).unwrap();
    std::fs::create_dir(&signature).unwrap();
    let code = run.wait().unwrap().code();
    assert_eq!(code, Some(2));
    let seen = folder.path("fair.model.json");
    assert!(!seen.exists() || folder.bytes("fair.model.json") == first);
    std::fs::remove_dir(&signature).unwrap();
    folder.succeed(train);
    folder.succeed(&format!("{CHECK} --ledger fair.ledger.sqlite"));
    assert_eq!(folder.spending("fair.ledger.sqlite")["runs"], 2);
}

#[test]
fn a_run_that_no_ledger_keeps_is_signed_by_itself_alone() {
    let folder = Folder::with("fair");
    folder.succeed("key new custodian.key");
    folder.succeed("train fair.csv --epsilon 1 --steps 3 --no-ledger --sign custodian.key");
    folder.succeed(CHECK);
    assert_eq!(folder.run("key new custodian.key").code, Some(2), "a key is never replaced");
    folder.succeed("train fair.csv --epsilon 1 --steps 3 --out kept.json");
    let refused = folder.run("sign fair.model.json --key custodian.key --ledger fair.ledger.sqlite");
    assert_eq!(refused.code, Some(1), "{refused:?}");
}
