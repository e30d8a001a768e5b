//! Killed, and failed, at every system call between the last release of a run and the moment at which all is published: the same
//! command publishes one result for one charge.
//!
//! `strace` stops the calls; without it these tests say so and pass.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use rhograd::train::sha256_hex;

use super::support::{Folder, Outcome, PROGRAM};

/// Every system call by which a file, its name or its locks change.
const CALLS: &str = "openat,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,fchmod,chmod,\
                     ftruncate,link,linkat,fcntl,flock,close";

/// Every system call by which a file or a folder is read, or its facts are asked for.
const READS: &str = "read,pread64,getdents64,statx,fstat,newfstatat,lseek,readlink";

/// A command whose last phase is stopped everywhere.
struct Case {
    name: &'static str,
    command: &'static str,
    /// The published file.
    result: &'static str,
    log: Option<&'static str>,
    /// Runs that it is charged for.
    runs: u64,
    /// What made an older result, which is replaced; "" where none is there.
    before: &'static str,
    /// Whether the model is signed.
    signed: bool,
}

impl Case {
    fn replaces(&self) -> bool {
        !self.before.is_empty()
    }
}

const fn training(name: &'static str, command: &'static str) -> Case {
    let (result, log) = ("data.model.json", Some("data.log.jsonl"));
    Case { name, command, result, log, runs: 1, before: "", signed: false }
}

/// A signed model.
const SIGNED: &str = "train data.csv --epsilon 1 --algorithm dp-ftrl --sign k.key";

const CASES: [Case; 17] = [
    training("dp-gd", "train data.csv --epsilon 1 --algorithm dp-gd --steps 3"),
    // A rate of one half: the noise of rarer samples takes ten times as long to find, in each of some thousand runs.
    training("dp-sgd", "train data.csv --epsilon 1 --algorithm dp-sgd --steps 2 --sampling-rate 0.5"),
    training("whitened", "train data.csv --epsilon 1 --algorithm whitened --steps 2"),
    training("dp-ftrl", "train data.csv --epsilon 1 --algorithm dp-ftrl"),
    training("localization", "train data.csv --epsilon 1 --algorithm localization --adjacency replace-one"),
    training("one-pass", "train data.csv --epsilon 1 --algorithm one-pass --adjacency replace-one"),
    training("objective-perturbation", "train data.csv --epsilon 1 --algorithm objective-perturbation"),
    training("amp", "train data.csv --epsilon 1 --algorithm amp"),
    training("output-perturbation", "train data.csv --epsilon 1 --algorithm output-perturbation"),
    training("frank-wolfe", "train data.csv --epsilon 1 --algorithm frank-wolfe --steps 3"),
    training("best of random runs", "train data.csv --epsilon 1 --algorithm dp-gd --tune=steps=2,3,4,5,6,7,8,9"),
    training("hold-out", "train data.csv --epsilon 1 --algorithm dp-gd --steps 3 --evaluate-budget 0.2"),
    training("cached", "train data.csv --epsilon 1 --algorithm dp-ftrl --json --cache auto"),
    Case {
        before: "train data.csv --epsilon 1 --algorithm dp-ftrl",
        ..training("replaced", "train data.csv --epsilon 1 --algorithm dp-ftrl --overwrite")
    },
    Case {
        name: "draft",
        command: "inspect data.csv --epsilon 1 --target y --out data.schema2.json",
        result: "data.schema2.json",
        log: None,
        runs: 2,
        before: "",
        signed: false,
    },
    Case {
        before: SIGNED,
        signed: true,
        ..training("signed", "train data.csv --epsilon 1 --algorithm dp-ftrl --overwrite --sign k.key")
    },
    Case {
        before: SIGNED,
        ..training("no longer signed", "train data.csv --epsilon 1 --algorithm dp-ftrl --overwrite")
    },
];

/// A place at which a run is stopped: the n-th call of this name by its first thread.
type Site = (String, usize);

/// How it is stopped there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stop {
    Kill,
    Fail(&'static str),
}

fn strace_is_there() -> bool {
    let there = Command::new("strace").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !there {
        println!("skipped: strace is not installed");
    }
    there
}

fn fresh(case: &Case) -> Folder {
    let folder = Folder::new();
    folder.succeed("generate logistic --rows 300 --features 2 --out data.csv");
    if case.before == SIGNED {
        folder.succeed("key new k.key");
    }
    if case.replaces() {
        folder.succeed(case.before);
    }
    folder
}

fn traced(folder: &Folder, options: &[&str], case: &Case) -> Outcome {
    let mut command = Command::new("strace");
    command.args(["-f", "-qqq"]).args(options).arg(PROGRAM).args(case.command.split_whitespace());
    command.current_dir(folder.path("")).env("TMPDIR", folder.path("tmp")).env("RAYON_NUM_THREADS", "1");
    Outcome::of(command, case.command)
}

/// The sites of the last phase among some calls: after the last line that keeps a release or a charge.
fn sites(case: &Case, calls: &str) -> Vec<Site> {
    let folder = fresh(case);
    let trace = folder.path("tmp").join("trace");
    let outcome =
        traced(&folder, &["-s", "24", "-o", trace.to_str().unwrap(), "-e", &format!("trace=write,{calls}")], case);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let text = std::fs::read_to_string(trace).unwrap();
    let main = text.split_whitespace().next().unwrap().to_owned();
    let mut counts = BTreeMap::new();
    let mut last_phase = Vec::new();
    for line in text.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        let Some((name, arguments)) = call.split_once('(') else { continue };
        if thread != main {
            continue;
        }
        if name == "write" && (arguments.contains("{\\\"values\\\"") || arguments.contains("{\\\"charged\\\"")) {
            last_phase.clear();
        }
        if calls.split(',').any(|known| known.trim() == name) {
            let count = counts.entry(name.to_owned()).or_insert(0);
            *count += 1;
            last_phase.push((name.to_owned(), *count));
        }
    }
    let fewest = if calls == CALLS { 20 } else { 10 };
    assert!(last_phase.len() > fewest, "{}: {} sites", case.name, last_phase.len());
    last_phase
}

/// The digest of the result that can be seen, if there is one.
fn visible(folder: &Folder, case: &Case) -> Option<String> {
    std::fs::read(folder.path(case.result)).ok().map(|bytes| sha256_hex(&bytes))
}

fn pair_is_whole(folder: &Folder, case: &Case, moment: &str) {
    if let (true, Some(log)) = (folder.path(case.result).exists(), case.log) {
        let digest = folder.json(case.result)["log_sha256"].clone();
        assert_eq!(digest, sha256_hex(&folder.bytes(log)), "{moment}: the visible log is another model's");
    }
    // A signature beside a model is that model's.
    let signed = case.signed || folder.path(&format!("{}.sig", case.result)).exists();
    if signed && folder.path(case.result).exists() {
        let outcome = folder.run(&format!("verify {} --key k.key.pub", case.result));
        assert_eq!(outcome.code, Some(0), "{moment}: the visible model is not signed: {outcome:?}");
    }
}

/// Stops one run at a site and goes on until it is published; whether the site was reached.
fn stop_at(case: &Case, (call, count): &Site, stop: Stop) -> bool {
    let folder = fresh(case);
    let old = visible(&folder, case);
    let before = if case.replaces() { case.runs } else { 0 };
    let moment = format!("{}: {stop:?} at {call} {count}", case.name);
    let inject = match stop {
        Stop::Kill => format!("inject={call}:signal=KILL:when={count}"),
        Stop::Fail(error) => format!("inject={call}:error={error}:when={count}"),
    };
    let outcome = traced(&folder, &["-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject], case);
    let reached = match stop {
        Stop::Kill => outcome.code.is_none() || outcome.code == Some(137),
        // Some errors have no consequence, as of closing a file.
        Stop::Fail(_) => true,
    };
    assert!(matches!(outcome.code, None | Some(0 | 2 | 137)), "{moment}: {outcome:?}");
    assert!(!outcome.stderr.contains("panicked"), "{moment}: {outcome:?}");
    let mut seen: BTreeSet<String> =
        visible(&folder, case).into_iter().filter(|now| Some(now) != old.as_ref()).collect();
    pair_is_whole(&folder, case, &moment);
    let kept = |folder: &Folder| folder.names().iter().any(|name| name.ends_with(".checkpoint"));
    let mut code = outcome.code;
    for _ in 0..3 {
        let published = visible(&folder, case).is_some_and(|now| Some(&now) != old.as_ref());
        // Killed at the very end, with everything in its place.
        if code == Some(0) || (published && !kept(&folder)) {
            code = Some(0);
            break;
        }
        code = folder.run(case.command).code;
        seen.extend(visible(&folder, case).filter(|now| Some(now) != old.as_ref()));
        pair_is_whole(&folder, case, &moment);
    }
    assert_eq!(code, Some(0), "{moment}: the run was lost: {:?}", folder.run(case.command));
    assert_eq!(seen.len(), 1, "{moment}: results {seen:?} for one charge");
    let spending = folder.spending("data.ledger.sqlite");
    let runs = before + case.runs;
    assert_eq!((&spending["runs"], &spending["completed"]), (&runs.into(), &runs.into()), "{moment}");
    assert_eq!(folder.path(&format!("{}.sig", case.result)).exists(), case.signed, "{moment}");
    match case.log {
        Some(log) => drop(folder.succeed(&format!("verify {} --log {log} --ledger data.ledger.sqlite", case.result))),
        None => drop(folder.succeed("ledger verify data.ledger.sqlite")),
    }
    reached
}

/// Stops a case at every `stride`-th of its sites among some calls, in every way.
fn campaign(case: &Case, calls: &str, stride: usize, stops: &[Stop]) {
    let sites = sites(case, calls);
    let (mut kills, mut failures, mut missed) = (0, 0, 0);
    let mut hit = BTreeSet::new();
    for (number, site) in sites.iter().enumerate() {
        for (way, stop) in stops.iter().enumerate() {
            if !(number + way).is_multiple_of(stride) {
                continue;
            }
            if !stop_at(case, site, *stop) {
                missed += 1;
                continue;
            }
            hit.insert(site);
            match stop {
                Stop::Kill => kills += 1,
                Stop::Fail(_) => failures += 1,
            }
        }
    }
    println!(
        "{}: {kills} kills and {failures} errors at {} of {} sites, {missed} not reached",
        case.name,
        hit.len(),
        sites.len()
    );
    assert!(missed * 10 <= sites.len() * stops.len(), "too many sites were not reached");
}

#[test]
fn stopped_in_its_last_phase_a_run_publishes_one_result() {
    if !strace_is_there() {
        return;
    }
    // The long form has every case, site and way.
    for name in ["dp-ftrl", "replaced", "signed", "no longer signed"] {
        let case = CASES.iter().find(|case| case.name == name).unwrap();
        campaign(case, CALLS, 12, &[Stop::Kill, Stop::Fail("EIO"), Stop::Fail("ENOSPC")]);
    }
    campaign(&CASES[3], READS, 12, &[Stop::Fail("EIO")]);
}

/// A released value, the charge and the result reach the disk before anything else is done with them: what is only in the memory of
/// the system outlives a killed run, and no power cut.
#[test]
fn each_line_of_a_checkpoint_is_on_the_disk_before_the_next_call() {
    if !strace_is_there() {
        return;
    }
    let folder = fresh(&CASES[0]);
    let trace = folder.path("tmp").join("trace");
    let calls = format!("trace={CALLS}");
    let outcome = traced(&folder, &["-s", "24", "-o", trace.to_str().unwrap(), "-e", &calls], &CASES[0]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let text = std::fs::read_to_string(trace).unwrap();
    let main = text.split_whitespace().next().unwrap();
    let calls: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(main)).map(str::trim_start).collect();
    let mut kept = [0; 3];
    for pair in calls.windows(2) {
        let kinds = ["{\\\"values\\\"", "{\\\"charged\\\"", "{\\\"result\\\""];
        let Some(kind) = kinds.iter().position(|kind| pair[0].starts_with("write(") && pair[0].contains(kind)) else {
            continue;
        };
        let file = pair[0]["write(".len()..].split(',').next().unwrap();
        assert!(pair[1].starts_with(&format!("fdatasync({file})")), "{pair:?}");
        kept[kind] += 1;
    }
    assert_eq!(kept, [4, 1, 1], "moments and three steps, the charge and the result");
}

#[test]
fn every_algorithm_whose_draws_may_be_kept_nowhere_is_stopped() {
    use rhograd::optim::Algorithm;
    let draws = |it: &Algorithm| it.description().needs.rows_at_hand;
    for algorithm in Algorithm::ALL.into_iter().filter(draws) {
        let flag = format!("--algorithm {}", algorithm.name());
        let is_named = |case: &Case| case.command.split(" --").any(|part| format!("--{part}") == flag);
        assert!(CASES.iter().any(is_named), "no case has {flag}");
    }
}

macro_rules! long {
    ($($test:ident $cases:expr;)*) => {$(
        /// `cargo test --test crash -- --ignored --nocapture every_site`
        #[test]
        #[ignore = "takes minutes and needs strace"]
        fn $test() {
            for case in &CASES[$cases] {
                campaign(case, CALLS, 1, &[Stop::Kill, Stop::Fail("EIO"), Stop::Fail("ENOSPC")]);
            }
        }
    )*};
}

/// `cargo test --test crash -- --ignored --nocapture every_read`
#[test]
#[ignore = "takes minutes and needs strace"]
fn every_read_of_a_last_phase_may_fail() {
    for case in &CASES {
        campaign(case, READS, 1, &[Stop::Fail("EIO")]);
    }
}

long! {
    every_site_of_descents 0..3;
    every_site_of_passes 3..6;
    every_site_of_objectives 6..9;
    every_site_of_choices 9..12;
    every_site_of_files 12..15;
    every_site_of_signed_models 15..17;
}

/// A disk that is full when the run ends; `mount` needs an administrator.
#[test]
#[ignore = "needs an administrator"]
fn a_disk_that_fills_up_anywhere_loses_nothing() {
    let case = &CASES[3];
    let folder = Folder::new();
    let disk = folder.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(&disk).status().unwrap();
    assert!(mounted.success());
    let run = || {
        let mut command = Command::new(PROGRAM);
        command.args(case.command.split_whitespace()).current_dir(&disk).env("TMPDIR", folder.path("tmp"));
        Outcome::of(command, case.command)
    };
    let clear = || {
        for entry in std::fs::read_dir(&disk).unwrap().flatten() {
            std::fs::remove_file(entry.path()).unwrap();
        }
    };
    let (mut full, mut charged) = (0, 0);
    for room in 0..60 {
        clear();
        folder.succeed("generate logistic --rows 300 --features 2 --out data.csv --overwrite");
        for name in ["data.csv", "data.schema.json"] {
            std::fs::copy(folder.path(name), disk.join(name)).unwrap();
        }
        // Fills the disk but for so many pages.
        let mut filler = vec![0u8; 1 << 20];
        while std::fs::write(disk.join("filler"), &filler).is_err() {
            filler.truncate(filler.len() - 4096);
        }
        filler.truncate(filler.len().saturating_sub(4096 * room));
        std::fs::write(disk.join("filler"), &filler).unwrap();
        let outcome = run();
        if outcome.code == Some(0) {
            continue;
        }
        full += 1;
        assert!(outcome.code == Some(2) && !outcome.stderr.contains("panicked"), "{outcome:?}");
        charged += u32::from(outcome.stderr.contains("the run was charged"));
        let model = |text: std::io::Result<Vec<u8>>| text.ok().map(|bytes| sha256_hex(&bytes));
        let seen = model(std::fs::read(disk.join("data.model.json")));
        std::fs::remove_file(disk.join("filler")).unwrap();
        let again = run();
        assert_eq!(again.code, Some(0), "{room} pages: {outcome:?} then {again:?}");
        let now = model(std::fs::read(disk.join("data.model.json")));
        assert!(seen.is_none() || seen == now, "{room} pages: two models for one charge");
        let show =
            Command::new(PROGRAM).args(["ledger", "show", "data.ledger.sqlite", "--json"]).current_dir(&disk).output();
        let show: serde_json::Value = serde_json::from_slice(&show.unwrap().stdout).unwrap();
        assert_eq!(show["datasets"][0]["runs"], 1, "{room} pages");
    }
    println!("{full} runs met a full disk, {charged} of them after the charge");
    drop(Command::new("umount").arg(&disk).status());
    assert!(full >= 5 && charged >= 1);
}

/// A disk that is full when the ledger is made, or the run charged, is no spent budget: nothing is charged, and nothing is left.
#[test]
fn a_disk_that_is_full_before_the_charge_is_a_failure_of_the_system() {
    if !strace_is_there() {
        return;
    }
    let case = &CASES[0];
    let (mut made, mut charged) = (0, 0);
    for there in [false, true] {
        for (write, error) in (1..=12).zip(["ENOSPC", "EIO", "EDQUOT"].into_iter().cycle()) {
            let folder = fresh(case);
            if there {
                let name = folder.json("data.schema.json")["name"].clone();
                folder.succeed(&format!("ledger init data.ledger.sqlite {}", name.as_str().unwrap()));
            }
            let inject = format!("inject=pwrite64:error={error}:when={write}");
            let outcome = traced(&folder, &["-o", "/dev/null", "-e", "trace=pwrite64", "-e", &inject], case);
            let moment = format!("{error} at write {write} of a ledger that is there: {there}: {outcome:?}");
            if folder.path(case.result).exists() {
                assert_eq!(outcome.code, Some(0), "{moment}");
                continue;
            }
            assert_eq!(outcome.code, Some(2), "{moment}");
            assert!(
                outcome.stderr.contains("ledger data.ledger.sqlite: ") && !outcome.stderr.contains("panicked"),
                "{moment}"
            );
            let noted = folder.path("data.ledger.sqlite").exists()
                && folder.spending("data.ledger.sqlite")["runs"].as_u64().is_some_and(|runs| runs > 0);
            // What is charged can be had by the same command; of what is not, nothing is said and nothing left.
            assert_eq!(outcome.stderr.contains("the run was"), noted, "{moment}");
            assert_eq!(folder.names().iter().any(|name| name.ends_with(".checkpoint")), noted, "{moment}");
            *(if there { &mut charged } else { &mut made }) += 1;
            folder.succeed(case.command);
            assert_eq!(folder.spending("data.ledger.sqlite")["runs"], 1, "{moment}");
        }
    }
    assert!(made >= 6 && charged >= 6, "{made} while the ledger was made, {charged} while it was charged");
}

/// One ledger under two names, of which one is a mount point: a run that is killed in a commit under that name would leave its
/// journal there, and the next one would undo what was charged by the other name. So nothing is ever written under it.
#[test]
#[ignore = "needs an administrator"]
fn a_ledger_under_a_bind_mount_loses_no_charge_to_a_kill() {
    if !strace_is_there() {
        return;
    }
    let folder = fresh(&CASES[0]);
    for name in ["host", "guest"] {
        std::fs::create_dir(folder.path(name)).unwrap();
    }
    let run = |ledger: &str, number: u64| {
        format!(
            "train data.csv --epsilon 1 --algorithm dp-gd --steps 3 --ledger {ledger}/l.sqlite --out {ledger}{number}.model.json"
        )
    };
    folder.succeed(&run("host", 0));
    let (there, here) = (folder.path("host/l.sqlite"), folder.path("guest/l.sqlite"));
    std::fs::write(&here, "").unwrap();
    assert!(Command::new("mount").arg("--bind").args([&there, &here]).status().unwrap().success());
    let outcomes: Vec<Outcome> = (1..=12)
        .map(|write| {
            let mut command = Command::new("strace");
            let inject = format!("inject=pwrite64:signal=KILL:when={write}");
            command.args(["-f", "-qqq", "-o", "/dev/null", "-e", "trace=pwrite64", "-e", &inject, PROGRAM]);
            command.args(run("guest", write).split_whitespace()).current_dir(folder.path(""));
            let outcome = Outcome::of(command, "guest");
            folder.succeed(&run("host", write));
            outcome
        })
        .collect();
    drop(Command::new("umount").arg(&here).status());
    for outcome in outcomes {
        assert!(outcome.code == Some(1) && outcome.stderr.contains("is itself a mount point"), "{outcome:?}");
    }
    assert_eq!(folder.spending("host/l.sqlite")["runs"], 13);
}

/// Another program holds the ledger while runs end: they wait for half a minute, and then say how to go on.
#[test]
#[ignore = "waits for half a minute, four times"]
fn a_ledger_that_is_held_while_runs_end_has_one_result_for_one_charge() {
    for case in [&CASES[3], &CASES[4], &CASES[6], &CASES[7]] {
        let folder = fresh(case);
        let mut command = folder.command(case.command);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let ledger = folder.path("data.ledger.sqlite");
        // Held from the charge on.
        let held = loop {
            let charged = folder.path("data.checkpoint");
            let charged = std::fs::read_to_string(charged).is_ok_and(|text| text.contains("\"charged\""));
            if charged {
                let connection = rusqlite::Connection::open(&ledger).unwrap();
                connection.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
                connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
                break connection;
            }
        };
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{}: {stderr}", case.name);
        assert!(stderr.contains("the run was charged") && stderr.contains("the same command"), "{stderr}");
        assert_eq!(visible(&folder, case), None, "{}", case.name);
        drop(held);
        folder.succeed(case.command);
        folder.succeed("verify data.model.json --ledger data.ledger.sqlite");
        assert_eq!(folder.spending("data.ledger.sqlite")["runs"], 1);
    }
}
