//! Help, and output into pipes that nobody reads.

use std::process::Stdio;

use super::support::Folder;

pub(super) const COMMANDS: [&str; 30] = [
    "",
    "train",
    "check",
    "predict",
    "evaluate",
    "explain",
    "export",
    "report",
    "reshape",
    "statement",
    "verify",
    "sign",
    "key new",
    "audit",
    "algorithms",
    "account convert",
    "account calibrate",
    "account curve",
    "account eval",
    "ledger init",
    "ledger cap",
    "ledger show",
    "ledger log",
    "ledger verify",
    "inspect",
    "generate",
    "summarize",
    "json-schema",
    "completions",
    "man",
];

#[test]
fn every_command_explains_itself_with_an_example() {
    let folder = Folder::new();
    for command in COMMANDS {
        let outcome = folder.succeed(&format!("{command} --help"));
        assert!(outcome.stdout.contains("Example") && outcome.stdout.contains("rhograd"), "{outcome:?}");
        assert_eq!(outcome.stderr, "");
    }
}

#[test]
fn groups_of_commands_list_their_members() {
    let folder = Folder::new();
    for (group, members) in [
        ("account", vec!["convert", "calibrate", "curve", "eval"]),
        ("ledger", vec!["init", "cap", "show", "log", "verify"]),
    ] {
        let outcome = folder.succeed(&format!("{group} --help"));
        assert!(members.iter().all(|member| outcome.stdout.contains(member)), "{outcome:?}");
        assert_eq!(folder.run(group).code, Some(2));
    }
}

#[test]
fn groups_of_commands_show_an_example() {
    let folder = Folder::new();
    for group in ["account", "ledger"] {
        let outcome = folder.succeed(&format!("{group} --help"));
        assert!(outcome.stdout.contains("Example"), "{outcome:?}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let outcome = Folder::new().succeed("--version");
    assert_eq!(outcome.stdout.trim(), concat!("rhograd ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --overwrite --epsilon 1");
    for arguments in [
        "train fair.csv --overwrite --epsilon 1",
        "train fair.csv --overwrite --epsilon 1 --json",
        "predict fair.model.json fair.csv",
        "evaluate fair.model.json fair.csv",
        "statement fair.model.json",
        "verify fair.model.json",
        "account convert --rho 1 --delta 1e-6",
        "ledger show fair.ledger.sqlite",
        "inspect fair.csv",
        "train --help",
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = folder.command(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {stderr}");
        assert!(!stderr.contains("panicked"), "{arguments}: {stderr}");
    }
}

#[test]
fn messages_into_a_closed_pipe_are_no_panic() {
    let folder = Folder::with("fair");
    for (arguments, code) in
        [("train fair.csv --overwrite --epsilon 1", 0), ("inspect fair.csv", 0), ("train none.csv --epsilon 1", 2)]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = folder.command(arguments).stderr(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments}");
    }
}
