//! Killed at each point of a run that leaves another state behind, as it is seen from outside and at every system call.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use super::support::{Folder, PROGRAM};
use super::{Seen, TRAIN, check, look, no_cell_is_left_behind, prepared, start};

/// What a bystander sees of a folder: names, times and sizes.
struct Sight {
    ledger: Option<(u64, i64, i64)>,
    files: BTreeMap<String, u64>,
}

impl Sight {
    fn of(folder: &Folder) -> Self {
        use std::os::unix::fs::MetadataExt;
        let stamp = std::fs::metadata(folder.path("data.ledger.sqlite")).ok();
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(folder.path("")).unwrap().flatten() {
            // A file may be gone by now.
            if let Ok(metadata) = entry.metadata() {
                files.insert(entry.file_name().to_string_lossy().into_owned(), metadata.len());
            }
        }
        Sight { ledger: stamp.map(|m| (m.size(), m.mtime(), m.mtime_nsec())), files }
    }

    fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Size of the file that is to become `name`.
    fn partial(&self, name: &str) -> Option<u64> {
        let prefix = format!(".rhograd-{name}-");
        self.files.iter().find(|(name, _)| name.starts_with(&prefix)).map(|(_, &size)| size)
    }
}

const JOURNAL: &str = "data.ledger.sqlite-journal";

/// Whether a moment has come, given what was seen before a run and what is seen now.
type Moment = fn(&Sight, &Sight) -> bool;

/// The moments at which a run is killed.
const POINTS: [(&str, Moment); 7] = [
    ("before the charge is appended", |_, now| now.partial("data.log.jsonl").is_some()),
    // One that was cut off before it mattered may lie there from a run before.
    ("while the charge is appended", |old, now| now.files.get(JOURNAL) > old.files.get(JOURNAL)),
    ("after the charge is synced", |old, now| {
        now.ledger != old.ledger && !now.has(JOURNAL) && now.partial("data.log.jsonl").is_some()
    }),
    ("while noise is drawn", |_, now| now.partial("data.log.jsonl").is_some_and(|size| size > 50_000)),
    ("while the model is written", |_, now| now.partial("data.model.json").is_some_and(|size| size > 0)),
    ("after the first file is renamed", |_, now| now.has("data.log.jsonl")),
    ("after everything is committed", |_, now| now.has("data.model.json")),
];

/// Kills a run as soon as the point is seen; whether it was.
fn kill_at(folder: &Folder, seen: Moment) -> bool {
    let old = Sight::of(folder);
    let mut child = start(folder, TRAIN);
    loop {
        let mut now = Sight::of(folder);
        // What a run left that was killed before says nothing about this one.
        now.files.retain(|name, _| !(name.starts_with(".rhograd-") && old.files.contains_key(name)));
        if seen(&old, &now) {
            child.kill().unwrap();
            child.wait().unwrap();
            return true;
        }
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::hint::spin_loop();
    }
}

/// Kills runs at every point until each has had so many; checks the promises after each.
fn kill_at_every_point(kills: u32) {
    let folder = prepared(Folder::on_disk());
    folder.succeed(TRAIN);
    let (mut lost, mut missed) = (0, 0);
    for (point, seen) in POINTS {
        let mut killed = 0;
        while killed < kills {
            assert!(missed < 3 * 7 * kills, "{point}: runs end before anybody sees it ({killed} killed)");
            let before = without_results(&folder);
            if !kill_at(&folder, seen) {
                missed += 1;
                continue;
            }
            killed += 1;
            let now = check(&folder, &before, point);
            let charged = now.runs > before.runs;
            lost += u32::from(charged && now.model.is_none());
            if point.starts_with("after") || point == "while noise is drawn" || point == "while the model is written" {
                assert!(charged, "{point}: nothing is charged");
            }
        }
    }
    println!("{} kills, {lost} runs charged without a model, {missed} runs ended before they were seen", 7 * kills);
    no_cell_is_left_behind(&folder);
    folder.succeed(TRAIN);
    folder.succeed("verify data.model.json --ledger data.ledger.sqlite");
}

/// Logs of equal runs are equal, so only where there is none can be seen when one appears.
fn without_results(folder: &Folder) -> Seen {
    for result in ["data.log.jsonl", "data.model.json"] {
        let _ = std::fs::remove_file(folder.path(result));
    }
    look(folder)
}

#[test]
fn a_run_killed_at_each_of_seven_points_keeps_its_promises() {
    kill_at_every_point(2);
}

/// `cargo test --test crash -- --ignored --nocapture three_hundred`
#[test]
#[ignore = "takes minutes; the short form runs always"]
fn three_hundred_and_fifty_kills_at_seven_points_keep_the_promises() {
    kill_at_every_point(50);
}

/// Every system call that changes a file or makes it durable.
const CALLS: &str = "pwrite64,fsync,fdatasync,ftruncate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,fchmod";

/// `cargo test --test crash -- --ignored --nocapture every_system_call`
#[test]
#[ignore = "needs strace"]
#[cfg(target_os = "linux")]
fn a_run_killed_at_every_system_call_keeps_its_promises() {
    let folder = prepared(Folder::on_disk());
    folder.succeed(TRAIN);
    for call in CALLS.split(',') {
        let mut kills = 0;
        loop {
            let before = without_results(&folder);
            let mut command = Command::new("strace");
            command.args(["-f", "-qqq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
            command.args(["-e", &format!("inject={call}:signal=KILL:when={}", kills + 1)]).arg(PROGRAM);
            command.args(TRAIN.split_whitespace()).current_dir(folder.path("")).env("TMPDIR", folder.path("tmp"));
            let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("strace is there");
            check(&folder, &before, &format!("killed at call {} of {call}", kills + 1));
            if status.success() {
                break;
            }
            kills += 1;
        }
        println!("{call}: {kills} kills");
    }
    no_cell_is_left_behind(&folder);
    folder.succeed(TRAIN);
}
