//! Files that results go to, and what ends a run before they are there.
#![cfg(unix)]

use std::fs::File;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::support::{Folder, Outcome, PROGRAM};

fn mode(folder: &Folder, name: &str) -> u32 {
    std::fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777
}

fn refused_as_existing(folder: &Folder, command: &str) {
    let before = folder.contents();
    let outcome = folder.run(command);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
    assert!(outcome.stderr.contains("exists already; give --overwrite"), "{outcome:?}");
    assert!(!outcome.stderr.contains("lines read"), "before the rows are read: {outcome:?}");
    assert_eq!(folder.contents(), before);
}

#[test]
fn what_exists_is_replaced_on_request_only() {
    let folder = Folder::with("fair");
    let train = "train fair.csv --epsilon 1 --steps 3";
    folder.succeed(train);
    refused_as_existing(&folder, train);
    assert_eq!(folder.spending("fair.ledger.sqlite")["runs"], 1);
    let paid = folder.bytes("fair.model.json");
    folder.remove("fair.model.json");
    // The log alone is in the way as well.
    refused_as_existing(&folder, train);
    folder.write("fair.model.json", &paid);
    folder.succeed(&format!("{train} --overwrite"));
    assert_ne!(folder.bytes("fair.model.json"), paid);
    folder.succeed("verify fair.model.json --log fair.log.jsonl --ledger fair.ledger.sqlite");
    assert!(!folder.names().iter().any(|name| name.ends_with(".checkpoint") || name.ends_with(".partial")));
    for command in [
        "predict fair.model.json fair.csv --out p.csv",
        "generate linear --rows 5 --out g.csv",
        "account curve delta --noise-multiplier 20 --points 3 --out c.svg --csv c.csv",
        "inspect fair.csv --epsilon 1 --out s.json",
        "inspect fair.csv --out s.json --overwrite",
    ] {
        folder.succeed(command);
        let again = command.replace(" --overwrite", "");
        refused_as_existing(&folder, &again);
        folder.succeed(&format!("{again} --overwrite"));
    }
    assert_eq!(mode(&folder, "p.csv"), 0o600, "predictions are as private as the rows");
    assert_eq!(mode(&folder, "fair.model.json"), mode(&folder, "fair.csv") & mode(&folder, "g.csv"));
}

#[test]
fn devices_pipes_links_and_dashes() {
    let folder = Folder::with("fair");
    for (flags, problem) in
        [("--out /dev/null", "keeps no model"), ("--out -", "standard output"), ("--log -", "standard output")]
    {
        folder.refuse(&format!("train fair.csv --epsilon 1 {flags}"), 2, &[problem]);
        assert!(!folder.path("fair.ledger.sqlite").exists());
    }
    std::fs::create_dir(folder.path("real")).unwrap();
    symlink("real/m.json", folder.path("m.model.json")).unwrap();
    folder.succeed("train fair.csv --epsilon 1 --steps 3 --out m.model.json --log /dev/null");
    assert!(folder.path("m.model.json").is_symlink() && folder.path("real/m.json").is_file());
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    folder.succeed("verify m.model.json --ledger fair.ledger.sqlite");
    let printed = folder.succeed("predict m.model.json fair.csv --out -").stdout;
    assert_eq!(printed, folder.succeed("predict m.model.json fair.csv").stdout);
    assert!(!folder.path("-").exists());
    // A pipe is written to, and stays one.
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).unwrap()
    });
    folder.succeed("predict m.model.json fair.csv --out pipe");
    assert_eq!(reader.join().unwrap(), printed);
    assert!(std::fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
}

/// Interrupts a run once it has kept some releases.
fn interrupted(folder: &Folder, command: &str, signal: &str) -> Outcome {
    let lines = || std::fs::read_to_string(folder.path("fair.checkpoint")).map_or(0, |text| text.lines().count());
    let before = lines();
    let mut program = folder.command(command);
    program.stdin(File::open(folder.path("fair.csv")).unwrap());
    let child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    // More than a run before it has left: only then does this one listen.
    while lines() <= before + 5 {
        assert!(Instant::now() < deadline, "nothing was kept");
    }
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    Outcome {
        arguments: command.into(),
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn an_interrupt_says_what_was_charged_and_the_same_command_goes_on() {
    let folder = Folder::with("fair");
    let command = "train fair.csv --epsilon 1 --delta 1e-6 --algorithm dp-gd --steps 9000";
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let outcome = interrupted(&folder, command, signal);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(code), ""), "{outcome:?}");
        for needle in [
            "interrupted: the run was charged: rho ",
            "epsilon at most 1, delta 0.000001",
            "fair.ledger.sqlite",
            "the same command goes on",
        ] {
            assert!(outcome.stderr.contains(needle), "{needle}: {outcome:?}");
        }
        assert!(!folder.names().iter().any(|name| name.ends_with(".partial")), "{:?}", folder.names());
        assert_eq!(mode(&folder, "fair.checkpoint"), 0o600);
    }
    // Another request does not take its place, and says why.
    let other = folder.run("train fair.csv --epsilon 2");
    assert!(other.code == Some(2) && other.stderr.contains("asked for something else"), "{other:?}");
    assert_eq!(folder.spending("fair.ledger.sqlite")["runs"], 1);
}

#[test]
fn a_run_on_standard_input_goes_on_with_the_same_bytes_alone() {
    let folder = Folder::with("fair");
    let command = "train - --schema fair.schema.json --ledger l.sqlite --out fair.model.json --epsilon 1 --algorithm dp-gd \
                   --steps 2000";
    assert_eq!(interrupted(&folder, command, "-INT").code, Some(130));
    let fed = |text: &str| {
        // Another file and another time: only the bytes are the same, or not even those.
        folder.write("other.csv", text);
        let mut program = folder.command(command);
        program.stdin(File::open(folder.path("other.csv")).unwrap());
        let output = program.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let text = folder.text("fair.csv");
    let (code, told) = fed(&text.replacen("3.0", "2.0", 1).replacen("3,", "2,", 1));
    assert!(code == Some(2) && told.contains("fair.checkpoint"), "{told}");
    let (code, told) = fed(&text);
    assert!(code == Some(0) && told.contains("going on with a run that was stopped"), "{told}");
    assert_eq!(folder.spending("l.sqlite")["runs"], 1);
}

#[test]
fn what_is_refused_leaves_no_checkpoint() {
    let folder = Folder::with("fair");
    folder.succeed("ledger init fair.ledger.sqlite fair --rho 0.01");
    assert_eq!(folder.run("train fair.csv --rho 0.02").code, Some(1));
    assert!(!folder.path("fair.checkpoint").exists(), "{:?}", folder.names());
    folder.succeed("train fair.csv --rho 0.005 --steps 3");
}

/// The program with every call of this name failing from the n-th on; `None` without `strace`.
fn failing(folder: &Folder, call: &str, error: &str, from: u32, arguments: &str) -> Option<Outcome> {
    let mut command = Command::new("strace");
    let inject = format!("inject={call}:error={error}:when={from}+");
    command.args(["-f", "-qqq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject]).arg(PROGRAM);
    command.args(arguments.split_whitespace()).current_dir(folder.path("")).env("TMPDIR", folder.path("tmp"));
    if Command::new("strace").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        println!("skipped: strace is not installed");
        return None;
    }
    Some(Outcome::of(command, arguments))
}

#[test]
fn limits_of_the_system_are_refused_before_the_charge() {
    let folder = Folder::with("fair");
    for command in ["train fair.csv --epsilon 1", "inspect fair.csv --epsilon 1"] {
        for (call, error) in [("clone3", "EAGAIN"), ("getrandom", "EIO")] {
            for from in 1..=4 {
                let Some(outcome) = failing(&folder, call, error, from, command) else { return };
                assert!(!outcome.stderr.contains("panicked"), "{call} {from}: {outcome:?}");
                if outcome.code != Some(0) {
                    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{call} {from}: {outcome:?}");
                }
                assert!(outcome.code == Some(2) || from > 1, "{call} {from}: {outcome:?}");
                for name in folder.names() {
                    if !name.ends_with("fair.csv") && !name.ends_with("fair.schema.json") {
                        folder.remove(&name);
                    }
                }
            }
        }
    }
}
