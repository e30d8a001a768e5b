//! Killed at any moment, out of disk, or racing for a budget: no charge is lost and no file is half there.
#![cfg(all(unix, feature = "cli"))]

mod points;
mod sites;
#[path = "../cli/support.rs"]
mod support;

use std::fs::File;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{Folder, Outcome, PROGRAM};

const MARKER: &str = "7f3a9c51e08d46b2a4c1d97e5b60f823";

/// Data on which a run takes a third of a second or so, with a marker that must not get into any file.
fn prepared(folder: Folder) -> Folder {
    folder.succeed("generate logistic --rows 20000 --features 4 --categories 1 --out data.csv");
    let mut data = folder.text("data.csv");
    data.push_str(&format!("{MARKER},0,0,0,{MARKER},1\n"));
    folder.write("data.csv", data);
    folder
}

/// Each run starts anew, whatever the one before it has left.
const TRAIN: &str = "train data.csv --epsilon 1 --steps 800 --overwrite --no-checkpoint";

fn start(folder: &Folder, arguments: &str) -> Child {
    folder.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// What a reader of the folder sees.
struct Seen {
    model: Option<Vec<u8>>,
    log: Option<Vec<u8>>,
    runs: u64,
}

fn look(folder: &Folder) -> Seen {
    let read = |name: &str| std::fs::read(folder.path(name)).ok();
    let ledger = folder.path("data.ledger.sqlite").exists();
    let runs = if ledger { folder.spending("data.ledger.sqlite")["runs"].as_u64().unwrap_or(0) } else { 0 };
    Seen { model: read("data.model.json"), log: read("data.log.jsonl"), runs }
}

/// The promises after a crash, given what was there before the run.
fn check(folder: &Folder, before: &Seen, moment: &str) -> Seen {
    if folder.path("data.ledger.sqlite").exists() {
        folder.succeed("ledger verify data.ledger.sqlite");
    }
    let now = look(folder);
    assert!(now.runs == before.runs || now.runs == before.runs + 1, "{moment}: {} runs", now.runs);
    if now.model != before.model || now.log != before.log {
        assert_eq!(now.runs, before.runs + 1, "{moment}: a result is visible without its charge");
    }
    if now.model != before.model {
        folder.succeed("verify data.model.json --ledger data.ledger.sqlite");
        let digest = folder.json("data.model.json")["log_sha256"].clone();
        let log = now.log.as_deref().expect("the log is there before its model");
        assert_eq!(digest, rhograd::train::sha256_hex(log), "{moment}: the model's log is not the visible one");
    }
    if let Some(log) = &now.log {
        let text = std::str::from_utf8(log).unwrap();
        assert!(text.ends_with('\n'), "{moment}: the log is cut off");
        let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(last["step"], 800, "{moment}: the log is cut off");
    }
    now
}

/// Nothing that a crash leaves behind holds a cell.
fn no_cell_is_left_behind(folder: &Folder) {
    for (name, content) in folder.contents() {
        let found = content.windows(MARKER.len()).any(|window| window == MARKER.as_bytes());
        assert!(name == "data.csv" || !found, "{name} holds a cell");
    }
}

fn random_below(limit: Duration) -> Duration {
    let mut bytes = [0; 4];
    File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    limit.mul_f64(f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX))
}

#[test]
fn a_run_killed_at_any_moment_leaves_whole_files_and_its_charge() {
    const KILLS: u32 = 40;
    let folder = prepared(Folder::new());
    let started = Instant::now();
    folder.succeed(TRAIN);
    let whole = started.elapsed();
    let mut seen = look(&folder);
    let (mut lost, mut finished) = (0, 0);
    for kill in 0..KILLS {
        // One random moment in each fortieth of a run.
        let delay = whole.mul_f64(f64::from(kill) / f64::from(KILLS)) + random_below(whole / KILLS);
        let mut child = start(&folder, TRAIN);
        thread::sleep(delay);
        child.kill().unwrap();
        let status = child.wait().unwrap();
        let now = check(&folder, &seen, &format!("killed after {delay:?} of {whole:?}"));
        finished += u32::from(status.success());
        lost += u32::from(!status.success() && now.runs > seen.runs);
        seen = now;
    }
    assert!(lost >= 5, "too few kills between charge and end ({lost}; {finished} had ended) to mean anything");
    no_cell_is_left_behind(&folder);
    folder.succeed(TRAIN);
    folder.succeed("verify data.model.json --ledger data.ledger.sqlite");
}

#[test]
fn a_first_run_killed_at_any_moment_leaves_a_usable_folder() {
    for _ in 0..8 {
        let folder = prepared(Folder::new());
        let before = look(&folder);
        let mut child = start(&folder, TRAIN);
        thread::sleep(random_below(Duration::from_millis(60)));
        child.kill().unwrap();
        child.wait().unwrap();
        check(&folder, &before, "killed in its first moments");
        folder.succeed("train data.csv --epsilon 1 --steps 800 --rows 20000 --overwrite --no-checkpoint");
        folder.succeed("ledger verify data.ledger.sqlite");
    }
}

#[test]
fn a_run_with_a_checkpoint_goes_on_after_every_kill_and_is_charged_once() {
    let folder = prepared(Folder::new());
    const KEPT: &str = "train data.csv --epsilon 1 --steps 800 --checkpoint run.checkpoint";
    let kept = |folder: &Folder| {
        std::fs::read_to_string(folder.path("run.checkpoint")).map_or(0, |text| text.matches('\n').count())
    };
    let (mut before, mut charged, mut went_on) = (0, None, 0);
    for kill in 0..40 {
        let mut child = start(&folder, KEPT);
        let wait = |more: usize| kept(&folder) > before + more;
        // A few releases more each time, so that there is always something to go on from.
        let deadline = Instant::now() + Duration::from_secs(20);
        while !wait(8) && child.try_wait().unwrap().is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_micros(200));
        }
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert!(!status.success() || kept(&folder) == 0, "a complete run leaves no checkpoint");
        let now = kept(&folder);
        if now > 0 {
            assert!(now >= before, "kill {kill}: releases that were kept are never lost");
            let runs = look(&folder).runs;
            assert_eq!(*charged.get_or_insert(runs), runs, "kill {kill}: charged again");
            went_on += u32::from(before > 0);
            before = now;
        }
    }
    assert!(went_on >= 10, "too few runs went on ({went_on}) to mean anything");
    folder.succeed(KEPT);
    folder.succeed("verify data.model.json --ledger data.ledger.sqlite");
    assert_eq!(folder.json("data.model.json")["statement"]["mechanism"]["steps"], 800);
    assert_eq!(Some(look(&folder).runs), charged);
    assert!(!folder.path("run.checkpoint").exists());
    no_cell_is_left_behind(&folder);
}

/// The program under a limit on the size of files, in blocks of the shell; `signal` says what happens at the limit.
fn limited(folder: &Folder, blocks: u32, ignore_signal: bool, arguments: &str) -> Outcome {
    let trap = if ignore_signal { "trap '' XFSZ; " } else { "" };
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -c 0; ulimit -f {blocks}; {trap}exec \"$0\" \"$@\"")).arg(PROGRAM);
    command.args(arguments.split_whitespace()).current_dir(folder.path("")).env("TMPDIR", folder.path("tmp"));
    Outcome::of(command, arguments)
}

#[test]
fn a_full_disk_is_reported_and_leaves_the_old_files_and_the_charge() {
    let folder = prepared(Folder::new());
    folder.succeed(TRAIN);
    let (mut failed, mut charged) = (0, 0);
    for blocks in [0, 1, 2, 8, 15, 16, 17, 24, 32, 64, 100, 150, 300, 600] {
        let before = look(&folder);
        let names = folder.names();
        let outcome = limited(&folder, blocks, true, TRAIN);
        let now = check(&folder, &before, &format!("{blocks} blocks"));
        if outcome.code == Some(0) {
            continue;
        }
        assert!(matches!(outcome.code, Some(1 | 2)), "{outcome:?}");
        assert!(!outcome.stderr.contains("panicked") && outcome.stderr.contains("rhograd: "), "{outcome:?}");
        assert_eq!(outcome.stdout, "");
        let wrote = outcome.stderr.contains("cannot write it");
        assert!(!wrote || outcome.stderr.contains("make room"), "{outcome:?}");
        assert!(!outcome.stderr.contains(".partial"), "{outcome:?}");
        assert!(now.model == before.model, "{blocks} blocks: the old model is gone");
        assert_eq!(folder.names(), names, "{blocks} blocks: something is left over");
        failed += 1;
        charged += u32::from(now.runs > before.runs);
    }
    assert!(failed >= 4 && charged >= 1, "{failed} failed, {charged} after the charge");
}

/// Rows and identifiers go to files without a name, before anything is charged.
#[test]
fn persons_who_fill_a_disk_are_reported_and_nothing_of_them_is_left() {
    const PERSONS: &str = "train data.csv --epsilon 1 --steps 800 --memory-limit 1MB --overwrite --no-checkpoint";
    let folder = Folder::new();
    folder.succeed("generate logistic --persons --rows 40000 --features 4 --out data.csv");
    std::fs::create_dir_all(folder.path("tmp")).unwrap();
    folder.succeed(PERSONS);
    for blocks in [300, 600, 1200] {
        let before = look(&folder);
        let names = folder.names();
        let outcome = limited(&folder, blocks, true, PERSONS);
        let now = check(&folder, &before, &format!("{blocks} blocks"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{blocks}: {outcome:?}");
        assert!(outcome.stderr.contains("temporary rows") && outcome.stderr.contains("make room"), "{outcome:?}");
        assert!(now.runs == before.runs && now.model == before.model, "{blocks}: nothing is charged");
        assert_eq!(folder.names(), names, "{blocks} blocks: something is left over");
        assert_eq!(std::fs::read_dir(folder.path("tmp")).unwrap().count(), 0);
    }
    // Killed while persons are brought together, the files are gone as well.
    let mut child = folder.command(PERSONS).env("TMPDIR", folder.path("tmp")).stderr(Stdio::null()).spawn().unwrap();
    thread::sleep(Duration::from_millis(30));
    let _ = child.kill();
    child.wait().unwrap();
    assert_eq!(std::fs::read_dir(folder.path("tmp")).unwrap().count(), 0);
}

#[test]
fn a_file_that_may_not_grow_is_an_error_of_writing() {
    let folder = prepared(Folder::new());
    folder.succeed(TRAIN);
    let mut failed = 0;
    for blocks in [1, 8, 16, 17, 24, 64, 150, 300] {
        let before = look(&folder);
        // The signal would end the program, and how many rows there are would decide whether.
        let outcome = limited(&folder, blocks, false, TRAIN);
        check(&folder, &before, &format!("{blocks} blocks"));
        assert!(matches!(outcome.code, Some(0 | 2)), "{outcome:?}");
        failed += u32::from(outcome.code == Some(2));
    }
    assert!(failed >= 3, "{failed}");
    folder.succeed(TRAIN);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_standard_output_is_an_error_without_a_panic_and_the_files_are_whole() {
    let folder = Folder::with("fair");
    for arguments in [
        "train fair.csv --epsilon 1",
        "train fair.csv --epsilon 1 --json --overwrite",
        "statement fair.model.json",
        "verify fair.model.json --ledger fair.ledger.sqlite",
        "predict fair.model.json fair.csv",
        "ledger show fair.ledger.sqlite",
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = folder.command(arguments).stdout(full).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        // Not 1, which would say that a check has failed.
        assert_eq!(output.status.code(), Some(2), "{arguments}: {stderr}");
        let needles = ["standard output: cannot be written", "redirect it elsewhere", "files that"];
        assert!(needles.iter().all(|needle| stderr.contains(needle)), "{arguments}: {stderr}");
        assert!(!stderr.contains("panicked"), "{arguments}: {stderr}");
        folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite");
    }
    assert_eq!(folder.spending("fair.ledger.sqlite")["runs"], 2);
}

/// A folder in which nobody can make a file, not even an administrator, and one in which only an administrator can.
#[test]
#[cfg(target_os = "linux")]
fn a_folder_that_cannot_be_written_is_refused_before_anything_is_charged() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with("fair");
    let closed = folder.path("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o555)).unwrap();
    let mut places = vec!["/proc"];
    if std::fs::write(closed.join("probe"), "").is_err() {
        places.push("closed");
    }
    for place in places {
        for (flag, code) in [("--out", 2), ("--log", 2), ("--ledger", 2)] {
            let outcome = folder.run(&format!("train fair.csv --epsilon 1 {flag} {place}/file"));
            assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(code), ""), "{outcome:?}");
            assert!(outcome.stderr.contains(&format!("{place}/file: cannot create")), "{outcome:?}");
            assert!(!folder.path("fair.ledger.sqlite").exists() && !folder.path("fair.model.json").exists());
        }
    }
}

#[test]
fn what_a_killed_run_leaves_says_what_it_is_and_goes_with_the_next_run() {
    let folder = prepared(Folder::new());
    let partial = |folder: &Folder| {
        let names = folder.names().into_iter();
        names.filter(|name| name.starts_with(".rhograd-") && name.ends_with(".partial")).collect::<Vec<_>>()
    };
    let mut child = start(&folder, TRAIN);
    while partial(&folder).len() < 2 {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it was seen");
    }
    // Another run in the same folder meanwhile leaves the files of this one alone.
    folder.succeed("train data.csv --epsilon 1 --steps 2 --no-ledger --out other.model.json");
    child.kill().unwrap();
    child.wait().unwrap();
    let left = partial(&folder);
    for destination in ["data.model.json", "data.log.jsonl"] {
        let name = format!(".rhograd-{destination}-");
        assert!(left.iter().any(|left| left.starts_with(&name)), "{left:?}");
    }
    folder.succeed("train data.csv --epsilon 1 --steps 2 --overwrite");
    assert!(partial(&folder).is_empty(), "{:?}", folder.names());
}

#[test]
fn of_eight_racing_processes_exactly_as_many_succeed_as_the_cap_allows() {
    let folder = Folder::with("fair");
    for round in 0..3 {
        let ledger = format!("cap{round}.sqlite");
        folder.succeed(&format!("ledger init {ledger} fair --rho 0.035"));
        let runs: Vec<Child> = (0..8)
            .map(|run| {
                let files = format!("--out m{round}-{run}.model.json --ledger {ledger}");
                let mut command = folder.command(&format!("train fair.csv --rho 0.01 --steps 20 --threads 1 {files}"));
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let outputs: Vec<_> = runs.into_iter().map(|run| run.wait_with_output().unwrap()).collect();
        let winners: Vec<usize> = (0..8).filter(|run| outputs[*run].status.success()).collect();
        assert_eq!(winners.len(), 3, "{outputs:?}");
        for (run, output) in outputs.iter().enumerate() {
            let model = format!("m{round}-{run}.model.json");
            if winners.contains(&run) {
                folder.succeed(&format!("verify {model} --ledger {ledger}"));
            } else {
                let stderr = String::from_utf8_lossy(&output.stderr);
                assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{stderr}");
                assert!(stderr.contains("left of its cap"), "{stderr}");
                assert!(!folder.path(&model).exists());
            }
        }
        let spending = folder.spending(&ledger);
        assert_eq!((&spending["runs"], &spending["completed"]), (&3.into(), &3.into()));
        assert!(spending["spent_rho"].as_f64().unwrap() <= 0.035);
    }
}

#[test]
fn processes_that_create_one_ledger_together_are_all_charged() {
    let folder = Folder::with("fair");
    let runs: Vec<Child> = (0..6)
        .map(|run| {
            let files = format!("--out m{run}.model.json --ledger new.sqlite");
            let mut command = folder.command(&format!("train fair.csv --rho 0.01 --steps 20 --threads 1 {files}"));
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for run in runs {
        let output = run.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(folder.spending("new.sqlite")["runs"], 6);
    folder.succeed("ledger verify new.sqlite");
}
