//! The ledger under races, kills, tampering and foreign files.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, sync::Barrier, thread, time::Duration};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rhograd::error::{Error, ErrorKind};
use rhograd::ledger::{Cap, Ledger, Position, Record};
use rhograd::privacy::{Adjacency, Charge, DatasetId, GaussianCharge, NoiseLaw, Rho, Scope};
use rusqlite::Connection;
use tempfile::TempDir;

const TASK: &str = "RHOGRAD_LEDGER_TEST_TASK";
const FOLDER: &str = "RHOGRAD_LEDGER_TEST_FOLDER";

/// A folder in memory where there is one: a thousand fsyncs on a disk take a while.
fn quick_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

fn scope(name: &str) -> Scope {
    Scope::of_rows(DatasetId::new(name).unwrap(), Adjacency::AddRemove)
}

fn event(sensitivity: u64, log2_scale: u32, count: u64) -> GaussianCharge {
    GaussianCharge { what: "sum".into(), sensitivity, log2_scale, noise: NoiseLaw::FlooredNormal, count }
}

/// Costs rho 1/8.
fn run() -> Vec<GaussianCharge> {
    vec![event(1, 1, 1)]
}

fn rho(value: f64) -> Rho {
    Rho::from_f64(value).unwrap()
}

fn cap(rho: f64) -> Cap {
    Cap::rho(&self::rho(rho), 0.0).unwrap()
}

fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Refused { .. })
}

/// A ledger of six entries about two data sets, and the position of the last one.
fn sample(folder: &Path) -> (PathBuf, Position) {
    let path = folder.join("ledger.sqlite");
    let mut ledger = Ledger::open_or_create(&path).unwrap();
    ledger.init(&scope("a"), Some(&cap(1.0))).unwrap();
    let first = ledger.reserve(&scope("a"), &run(), true).unwrap();
    ledger.complete(&first, &"0a".repeat(32)).unwrap();
    ledger.set_cap(&scope("a").dataset, &cap(2.0)).unwrap();
    ledger.reserve(&scope("b"), &[event(3, 2, 5), event(7, 9, 100)], false).unwrap();
    let last = ledger.reserve(&scope("a"), &run(), true).unwrap();
    (path, last.position().unwrap().clone())
}

#[test]
fn shares_of_a_cap_fill_it_exactly() {
    let mut ledger = Ledger::in_memory().unwrap();
    for t in 1..=60u64 {
        let scope = scope(&format!("{t}"));
        // An odd cost: the cap is t times it, which no float addition would hit for every t.
        let part = [event(34_769_610_577, 40, 1)];
        let whole = event(34_769_610_577, 40, t).rho();
        ledger.init(&scope, Some(&Cap::rho(&whole, 0.0).unwrap())).unwrap();
        (0..t).for_each(|_| assert!(ledger.reserve(&scope, &part, true).is_ok()));
        assert_eq!(ledger.summary(&scope.dataset).unwrap().left, Some(Rho::zero()));
        assert!(is_refusal(&ledger.reserve(&scope, &[event(1, 50, 1)], true).unwrap_err()));
    }
}

#[test]
fn refusals_say_what_to_do() {
    let mut ledger = Ledger::in_memory().unwrap();
    ledger.init(&scope("a"), Some(&cap(0.2))).unwrap();
    assert!(ledger.reserve(&scope("a"), &run(), true).unwrap().position().is_none());
    let error = ledger.reserve(&scope("a"), &run(), true).unwrap_err();
    assert_eq!(error.exit_code(), 1);
    let text = error.to_string();
    assert!(
        text.contains("rho 0.075 left of its cap 0.2 ") && text.contains("this run costs rho 0.125 and delta 0;"),
        "{text}"
    );
    let other = Scope { adjacency: Adjacency::ReplaceOne, ..scope("a") };
    let text = ledger.reserve(&other, &run(), true).unwrap_err().to_string();
    assert!(text.contains("use --adjacency add-remove"), "{text}");
    let text = ledger.summary(&scope("z").dataset).unwrap_err().to_string();
    assert!(text.contains("\"z\" is not in the ledger"), "{text}");
    let foreign = Ledger::in_memory().unwrap().reserve(&scope("a"), &run(), true).unwrap();
    assert!(is_refusal(&ledger.complete(&foreign, &"00".repeat(32)).unwrap_err()));
}

#[test]
fn entries_can_be_read_back() {
    let folder = quick_folder();
    let (path, last) = sample(folder.path());
    let mut ledger = Ledger::open_existing(&path).unwrap();
    assert_eq!(ledger.path(), Some(path.as_path()));
    assert_eq!(ledger.head().unwrap(), last);
    assert_eq!(ledger.verify().unwrap().head, last);
    let entry = ledger.entry(last.sequence).unwrap().unwrap();
    assert!(
        matches!(entry.record, Record::Reserve { events, .. } if events == run().into_iter().map(Charge::from).collect::<Vec<_>>())
    );
    assert_eq!(ledger.entry(0).unwrap(), None);
    assert_eq!(ledger.entry(last.sequence + 1).unwrap(), None);
    assert_eq!(ledger.entry(u64::MAX).unwrap(), None);
    let a = ledger.summary(&scope("a").dataset).unwrap();
    assert_eq!((a.runs, a.completed, a.seeded, a.cap_raised, a.sequence), (2, 1, 0, 1, 6));
    assert_eq!((a.spent, a.left), (rho(0.25), Some(rho(1.75))));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "one file and its note");
}

// ---- other processes ----

/// What a child process does; an ordinary test run passes through.
#[test]
fn child() {
    let (Ok(task), Some(folder)) = (env::var(TASK), env::var_os(FOLDER)) else { return };
    let folder = PathBuf::from(folder);
    let path = folder.join("ledger.sqlite");
    match task.as_str() {
        "race" => {
            while !folder.join("go").exists() {
                thread::sleep(Duration::from_millis(1));
            }
            let mut ledger = Ledger::open_or_create(&path).unwrap();
            race(&mut ledger);
        }
        "forever" => loop {
            publish(&mut Ledger::open_existing(&path).unwrap(), &folder, "never");
        },
        "until-full" => {
            let mut ledger = Ledger::open_existing(&path).unwrap();
            let mut made = 0;
            let error = loop {
                match ledger.reserve(&scope("a"), &run(), true) {
                    Ok(_) if made < 10_000 => made += 1,
                    Ok(_) => panic!("the disk never filled"),
                    Err(error) => break error,
                }
            };
            // The handle still tells what is in the file.
            let runs = ledger.summary(&scope("a").dataset).unwrap().runs;
            assert_eq!(runs, Ledger::open_existing(&path).unwrap().summary(&scope("a").dataset).unwrap().runs);
            println!("\nmade {made} then {error}");
        }
        "read" => match Ledger::open_to_read(&path).and_then(|mut ledger| ledger.verify()) {
            Ok(report) => println!("\nread {}", report.head.hash),
            Err(error) => println!("\n{error}"),
        },
        at => publish(&mut Ledger::open_existing(&path).unwrap(), &folder, at),
    }
}

fn spawn(task: &str, folder: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["ledger::child", "--exact", "--nocapture"]).env(TASK, task).env(FOLDER, folder);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Data sets that are raced for in one ledger.
const ROUNDS: usize = 10;

/// Opens data sets with ten slots each and takes one slot of each, if there is one.
fn race(ledger: &mut Ledger) -> Vec<bool> {
    let slot = |round| {
        let scope = scope(&format!("round {round}"));
        match ledger.init(&scope, Some(&cap(1.25))) {
            Ok(()) => {}
            Err(error) => assert!(is_refusal(&error), "{error}"),
        }
        match ledger.reserve(&scope, &run(), true) {
            Ok(_) => true,
            Err(error) if is_refusal(&error) => false,
            Err(error) => panic!("{error}"),
        }
    };
    (0..ROUNDS).map(slot).collect()
}

fn ten_each(ledger: &mut Ledger) {
    let report = ledger.verify().unwrap();
    assert_eq!(report.datasets.len(), ROUNDS);
    for summary in report.datasets {
        assert_eq!((summary.runs, summary.left), (10, Some(Rho::zero())), "{}", summary.dataset);
    }
}

/// One run as a trainer makes it: charge, write the result, move it into place, complete.
fn publish(ledger: &mut Ledger, folder: &Path, abort_at: &str) {
    let fault = |point: &str| {
        if point == abort_at {
            std::process::abort();
        }
    };
    fault("before");
    let reservation = ledger.reserve(&scope("a"), &run(), true).unwrap();
    fault("reserved");
    let position = reservation.position().unwrap();
    let draft = folder.join(format!("{}.draft", reservation.run()));
    fs::write(&draft, serde_json::to_string(position).unwrap()).unwrap();
    fault("written");
    fs::rename(&draft, folder.join(format!("{}.model", reservation.run()))).unwrap();
    fault("released");
    ledger.complete(&reservation, &"00".repeat(32)).unwrap();
    fault("completed");
}

/// What the runs in this folder have released.
fn models(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|it| it == "model")).collect()
}

/// Every model that can be seen is covered; returns how many there are and how many runs were charged.
fn covered(folder: &Path) -> (usize, usize) {
    let mut ledger = Ledger::open_existing(folder.join("ledger.sqlite")).unwrap();
    let models = models(folder);
    for file in &models {
        let at: Position = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        assert!(ledger.contains(at.sequence, &at.hash).unwrap());
    }
    ledger.verify().unwrap();
    let summary = ledger.summary(&scope("a").dataset).unwrap();
    assert_eq!(summary.spent, event(1, 1, summary.runs).rho());
    let (completed, runs) = (summary.completed as usize, summary.runs as usize);
    assert!(completed <= models.len() && models.len() <= runs);
    (models.len(), runs)
}

#[test]
fn sixteen_processes_never_share_a_slot() {
    for _ in 0..20 {
        let folder = quick_folder();
        let children: Vec<_> = (0..16).map(|_| spawn("race", folder.path()).spawn().unwrap()).collect();
        fs::write(folder.path().join("go"), "").unwrap();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        ten_each(&mut Ledger::open_existing(folder.path().join("ledger.sqlite")).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "the drafts of other creators are gone");
    }
}

#[test]
fn sixteen_threads_never_share_a_slot() {
    let folder = quick_folder();
    let path = folder.path().join("ledger.sqlite");
    let start = Barrier::new(16);
    let work = || {
        start.wait();
        race(&mut Ledger::open_or_create(&path).unwrap())
    };
    let won: Vec<Vec<bool>> = thread::scope(|threads| {
        let handles: Vec<_> = (0..16).map(|_| threads.spawn(work)).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    (0..ROUNDS).for_each(|round| assert_eq!(won.iter().filter(|slots| slots[round]).count(), 10));
    ten_each(&mut Ledger::open_existing(&path).unwrap());
}

#[test]
fn an_abort_at_any_point_leaves_enough_charged() {
    for (point, models, runs) in
        [("before", 0, 0), ("reserved", 0, 1), ("written", 0, 1), ("released", 1, 1), ("completed", 1, 1)]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        Ledger::open_or_create(&path).unwrap().init(&scope("a"), Some(&cap(1.25))).unwrap();
        for times in 1..=10 {
            assert!(!spawn(point, folder.path()).status().unwrap().success(), "{point}");
            assert_eq!(covered(folder.path()), (times * models, times * runs), "{point}");
        }
    }
}

#[test]
fn a_kill_at_any_moment_leaves_enough_charged() {
    // On the disk, so that kills fall between the writes and syncs of a commit.
    let folder = tempfile::tempdir().unwrap();
    Ledger::open_or_create(folder.path().join("ledger.sqlite")).unwrap().init(&scope("a"), None).unwrap();
    let mut rng = StdRng::seed_from_u64(1);
    let mut seen = 0;
    for _ in 0..50 {
        let mut child = spawn("forever", folder.path()).spawn().unwrap();
        while models(folder.path()).len() <= seen {
            assert!(child.try_wait().unwrap().is_none(), "the child gave up");
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_micros(rng.random_range(0..15_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        seen = covered(folder.path()).0;
    }
}

/// A limit on the size of files stands in for a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error_and_loses_nothing() {
    let folder = quick_folder();
    let path = folder.path().join("ledger.sqlite");
    Ledger::open_or_create(&path).unwrap().init(&scope("a"), None).unwrap();
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 150; exec \"$0\" ledger::child --exact --nocapture"])
        .arg(env::current_exe().unwrap())
        .env(TASK, "until-full")
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("made ")).unwrap_or_else(|| panic!("{text}"));
    let made: u64 = line.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(made > 10 && line.contains("then ledger ") && line.contains("space"), "{line}");
    let mut ledger = Ledger::open_existing(&path).unwrap();
    let runs = ledger.summary(&scope("a").dataset).unwrap().runs;
    assert!(runs == made || runs == made + 1, "{runs} charged, {made} confirmed");
    ledger.reserve(&scope("a"), &run(), true).unwrap();
}

// ---- tampering ----

/// A connection past the guards, as somebody with another program has it.
fn burglar(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA synchronous = OFF").unwrap();
    connection
}

const TRIGGERS: &str = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'";

/// Runs `sql` with the triggers out of the way and puts them back.
fn tamper(path: &Path, sql: &str) {
    let connection = burglar(path);
    let triggers: Vec<(String, String)> = {
        let mut statement = connection.prepare(TRIGGERS).unwrap();
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    };
    triggers.iter().for_each(|(name, _)| connection.execute_batch(&format!("DROP TRIGGER {name}")).unwrap());
    connection.execute_batch(sql).unwrap();
    triggers.iter().for_each(|(_, sql)| connection.execute_batch(sql).unwrap());
}

#[test]
fn triggers_stop_accidents() {
    let folder = quick_folder();
    let (path, _) = sample(folder.path());
    let connection = burglar(&path);
    for sql in [
        "DELETE FROM entries WHERE sequence = 6",
        "UPDATE entries SET body = '' WHERE sequence = 2",
        "INSERT INTO entries VALUES (8, '', '', '')",
        "INSERT OR REPLACE INTO entries VALUES (6, '', '', '')",
    ] {
        assert!(connection.execute_batch(sql).is_err(), "{sql}");
    }
    Ledger::open_existing(&path).unwrap();
}

#[test]
fn every_changed_character_is_found() {
    let folder = quick_folder();
    let (path, _) = sample(folder.path());
    let connection = burglar(&path);
    connection.execute_batch("DROP TRIGGER entries_no_update").unwrap();
    let mut ledger = {
        // The missing trigger alone is found when opening; verify looks deeper.
        assert!(Ledger::open_existing(&path).is_err());
        connection
            .execute_batch(
                "CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries \
                 BEGIN SELECT RAISE(ABORT, 'entries may not be changed'); END",
            )
            .unwrap();
        let ledger = Ledger::open_existing(&path).unwrap();
        connection.execute_batch("DROP TRIGGER entries_no_update").unwrap();
        ledger
    };
    for sequence in 1..=6 {
        for column in ["body", "previous", "hash"] {
            let read = format!("SELECT {column} FROM entries WHERE sequence = {sequence}");
            let write = format!("UPDATE entries SET {column} = ?1 WHERE sequence = {sequence}");
            let text: String = connection.query_row(&read, [], |row| row.get(0)).unwrap();
            for at in 0..text.len() {
                let mut changed = text.clone().into_bytes();
                changed[at] ^= 1;
                connection.execute(&write, [String::from_utf8(changed).unwrap()]).unwrap();
                let error = ledger.verify().unwrap_err().to_string();
                assert!(error.contains(&format!("entry {sequence} ")), "{column} {at}: {error}");
            }
            connection.execute(&write, [&text]).unwrap();
            ledger.verify().unwrap();
        }
    }
}

#[test]
fn moved_and_missing_entries_are_found() {
    let folder = quick_folder();
    let (path, last) = sample(folder.path());
    let copy = folder.path().join("copy.sqlite");
    for (sql, bad) in [
        ("DELETE FROM entries WHERE sequence = 3", 3),
        ("DELETE FROM entries WHERE sequence = 1", 1),
        ("UPDATE entries SET sequence = 9 WHERE sequence = 6", 6),
        ("UPDATE entries SET sequence = sequence - 7", 1),
        ("UPDATE entries SET sequence = 9 WHERE sequence = 2; UPDATE entries SET sequence = 2 WHERE sequence = 6", 2),
        ("INSERT INTO entries SELECT 7, body, previous, hash FROM entries WHERE sequence = 6", 7),
        ("INSERT INTO entries SELECT -1, body, previous, hash FROM entries WHERE sequence = 6", 1),
        ("INSERT INTO entries SELECT 0, body, previous, hash FROM entries WHERE sequence = 6", 1),
        ("DELETE FROM entries WHERE sequence = 1; UPDATE entries SET sequence = sequence - 1", 1),
    ] {
        fs::copy(&path, &copy).unwrap();
        tamper(&copy, sql);
        for error in [Ledger::open_existing(&copy).unwrap_err(), Ledger::open_or_create(&copy).unwrap_err()] {
            assert!(error.to_string().contains(&format!("entry {bad} ")), "{sql}: {error}");
        }
    }
    fs::copy(&path, &copy).unwrap();
    tamper(&copy, "DELETE FROM entries WHERE sequence = 6");
    let mut shorter = Ledger::open_existing(&copy).unwrap();
    shorter.verify().unwrap();
    assert!(!shorter.contains(last.sequence, &last.hash).unwrap());
    shorter.reserve(&scope("a"), &run(), true).unwrap();
    assert!(!shorter.contains(last.sequence, &last.hash).unwrap(), "another run took its number");
    assert!(Ledger::open_existing(&path).unwrap().contains(last.sequence, &last.hash).unwrap());
}

#[test]
fn an_older_copy_is_found() {
    let folder = quick_folder();
    let (path, _) = sample(folder.path());
    let old = folder.path().join("old.sqlite");
    fs::copy(&path, &old).unwrap();
    let mut ledger = Ledger::open_existing(&path).unwrap();
    let newer = ledger.reserve(&scope("a"), &run(), true).unwrap().position().unwrap().clone();
    // Put back under an open ledger, byte by byte and as another file of the same name.
    fs::write(&path, fs::read(&old).unwrap()).unwrap();
    assert!(ledger.reserve(&scope("a"), &run(), true).is_err());
    assert!(ledger.verify().is_err());
    drop(ledger);
    let mut ledger = Ledger::open_existing(&path).unwrap();
    assert!(!ledger.contains(newer.sequence, &newer.hash).unwrap());
    fs::rename(&old, &path).unwrap();
    assert!(ledger.reserve(&scope("a"), &run(), true).is_err(), "nothing is charged to a file without a name");
    fs::remove_file(&path).unwrap();
    assert!(ledger.reserve(&scope("a"), &run(), true).is_err());
}

#[test]
fn another_branch_of_the_history_is_found() {
    let folder = quick_folder();
    let (path, _) = sample(folder.path());
    let branch = folder.path().join("branch.sqlite");
    fs::copy(&path, &branch).unwrap();
    let mut ledger = Ledger::open_existing(&path).unwrap();
    ledger.reserve(&scope("a"), &run(), true).unwrap();
    Ledger::open_existing(&branch).unwrap().reserve(&scope("a"), &run(), true).unwrap();
    // As many entries, but the last one is another run.
    fs::write(&path, fs::read(&branch).unwrap()).unwrap();
    assert!(ledger.reserve(&scope("a"), &run(), true).is_err());
    assert!(ledger.summary(&scope("a").dataset).is_err());
}

#[test]
fn a_flipped_bit_is_refused_or_changes_nothing() {
    let folder = quick_folder();
    let (path, last) = sample(folder.path());
    let whole = fs::read(&path).unwrap();
    let expected = Ledger::open_existing(&path).unwrap().summaries().unwrap();
    let mut rng = StdRng::seed_from_u64(2);
    let (mut refused, mut harmless) = (0, 0);
    // All of the header, and a sample of the rest.
    let sample: Vec<usize> = (0..1500).map(|_| rng.random_range(100..whole.len())).collect();
    for at in (0..100).chain(sample) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << rng.random_range(0..8);
        fs::write(&path, damaged).unwrap();
        let found = Ledger::open_existing(&path).and_then(|mut ledger| Ok((ledger.head()?, ledger.summaries()?)));
        match found {
            Err(_) => refused += 1,
            Ok((head, summaries)) => {
                assert_eq!((head, summaries), (last.clone(), expected.clone()), "byte {at}");
                harmless += 1;
            }
        }
    }
    assert!(refused > 100 && harmless > 0, "{refused} refused, {harmless} harmless");
}

// ---- files that are not ledgers ----

#[test]
fn foreign_files_are_refused_and_left_alone() {
    let folder = quick_folder();
    let (ledger, _) = sample(folder.path());
    let whole = fs::read(&ledger).unwrap();
    let place = folder.path().join("place");
    let other = folder.path().join("other.sqlite");
    burglar(&other).execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    let newer = folder.path().join("newer.sqlite");
    fs::copy(&ledger, &newer).unwrap();
    burglar(&newer).execute_batch("PRAGMA user_version = 2").unwrap();
    let spied = folder.path().join("spied.sqlite");
    fs::copy(&ledger, &spied).unwrap();
    burglar(&spied).execute_batch("CREATE TRIGGER x AFTER INSERT ON entries BEGIN SELECT 1; END").unwrap();
    let mut foreign: Vec<(Vec<u8>, &str)> = vec![
        (Vec::new(), "not a rhograd ledger"),
        (b"x".to_vec(), "not a rhograd ledger"),
        ("some notes\n".repeat(2000).into_bytes(), "not a rhograd ledger"),
        (fs::read(other).unwrap(), "not a rhograd ledger"),
        (fs::read(newer).unwrap(), "format 2"),
        (fs::read(spied).unwrap(), "tables"),
    ];
    foreign.extend((1..whole.len() / 512).map(|blocks| (whole[..blocks * 512].to_vec(), "ledger")));
    for (bytes, expected) in foreign {
        fs::write(&place, &bytes).unwrap();
        let before = fs::read_dir(folder.path()).unwrap().count();
        for open in [|path| Ledger::open_or_create(path), |path: &PathBuf| Ledger::open_existing(path)] {
            let error = open(&place).unwrap_err();
            let text = error.to_string();
            // What never was a ledger is bad input; one that is damaged is a check that failed.
            let code = if text.contains("not a rhograd ledger") { 2 } else { 1 };
            assert!(text.contains(expected) && text.contains("place") && error.exit_code() == code, "{text}");
            assert!(fs::read(&place).unwrap() == bytes, "{text}: the file was changed");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before);
    }
}

#[test]
fn impossible_places_are_refused() {
    let folder = quick_folder();
    let text = Ledger::open_or_create(folder.path()).unwrap_err().to_string();
    assert!(text.contains("is a directory"), "{text}");
    let missing = folder.path().join("missing.sqlite");
    let text = Ledger::open_existing(&missing).unwrap_err().to_string();
    assert!(text.contains("missing.sqlite") && text.contains("rhograd ledger init"), "{text}");
    assert!(!missing.exists());
    fs::write(folder.path().join("file"), "").unwrap();
    for bad in ["no/such/folder/l.sqlite", "file/l.sqlite"] {
        assert!(Ledger::open_or_create(folder.path().join(bad)).is_err());
    }
    fs::write(folder.path().join("lost.sqlite-journal"), "left behind").unwrap();
    let text = Ledger::open_or_create(folder.path().join("lost.sqlite")).unwrap_err().to_string();
    assert!(text.contains("lost.sqlite-journal"), "{text}");
    assert!(!folder.path().join("lost.sqlite").exists());
}

#[cfg(unix)]
#[test]
fn places_that_cannot_be_written_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = quick_folder();
    let (path, _) = sample(folder.path());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    // Permissions do not bind an administrator, who may run the tests.
    if fs::write(folder.path().join("probe"), "").is_err() {
        assert!(Ledger::open_or_create(folder.path().join("new.sqlite")).is_err());
        let text = Ledger::open_existing(&path).unwrap_err().to_string();
        assert!(text.contains("cannot be written"), "{text}");
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    if cfg!(target_os = "linux") {
        // Nobody can make a file here.
        assert!(Ledger::open_or_create("/proc/ledger.sqlite").is_err());
    }
}

#[cfg(unix)]
#[test]
fn a_ledger_with_two_names_is_refused_by_both() {
    let folder = quick_folder();
    let (path, _) = sample(folder.path());
    let other = folder.path().join("other.sqlite");
    fs::hard_link(&path, &other).unwrap();
    let before = fs::read(&path).unwrap();
    for path in [&path, &other] {
        for open in [
            |path| Ledger::open_or_create(path),
            |path| Ledger::open_existing(path),
            |path: &PathBuf| Ledger::open_to_read(path),
        ] {
            let text = open(path).unwrap_err().to_string();
            assert!(text.contains("more than one name") && text.contains("journal"), "{text}");
        }
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    fs::remove_file(&other).unwrap();
    Ledger::open_existing(&path).unwrap();
    // One file has one journal, also by way of a symbolic link.
    std::os::unix::fs::symlink(&path, &other).unwrap();
    Ledger::open_existing(&other).unwrap().reserve(&scope("a"), &run(), true).unwrap();
}

#[test]
fn what_is_opened_to_be_read_is_not_changed() {
    let folder = quick_folder();
    let (path, last) = sample(folder.path());
    let before = fs::read(&path).unwrap();
    let mut ledger = Ledger::open_to_read(&path).unwrap();
    assert_eq!(ledger.verify().unwrap().head, last);
    assert!(ledger.reserve(&scope("a"), &run(), true).is_err());
    assert!(ledger.set_cap(&scope("a").dataset, &cap(9.0)).is_err());
    assert_eq!(ledger.head().unwrap(), last);
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// What a child does as another user where the tests run as an administrator, whom no permission binds.
#[cfg(unix)]
fn as_nobody(task: &str, folder: &Path) -> String {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let public = tempfile::tempdir().unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    if fs::metadata(folder).unwrap().uid() == 0 {
        // A place from which anybody may run it. Another program writes it: what this one holds open to write, a test beside this one
        // that starts a program hands to its child for a moment, and no program runs that is open to be written.
        let program = public.path().join("test");
        assert!(Command::new("cp").args([&env::current_exe().unwrap(), &program]).status().unwrap().success());
        fs::set_permissions(public.path(), fs::Permissions::from_mode(0o755)).unwrap();
        command = Command::new(&program);
        command.uid(65_534).gid(65_534).current_dir("/");
    }
    command.args(["ledger::child", "--exact", "--nocapture"]).env(TASK, task).env(FOLDER, folder);
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[cfg(unix)]
#[test]
fn a_ledger_that_cannot_be_written_is_read_also_with_a_journal_left() {
    use std::os::unix::fs::PermissionsExt;
    let folder = quick_folder();
    let (path, last) = sample(folder.path());
    let permit = |mode: u32, file: u32| {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(file)).unwrap();
    };
    permit(0o555, 0o444);
    let text = as_nobody("read", folder.path());
    assert!(text.contains(&format!("read {}", last.hash)), "{text}");
    permit(0o755, 0o644);
    // As a program leaves it that is killed in a commit: pages written, the journal still there.
    let (journal, half) = killed_in_a_commit(&path);
    let beside = PathBuf::from(format!("{}-journal", path.display()));
    fs::write(&beside, &journal).unwrap();
    fs::write(&path, &half).unwrap();
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o444)).unwrap();
    permit(0o555, 0o444);
    let text = as_nobody("read", folder.path());
    assert!(text.contains("a write to it was cut off") && text.contains("rhograd ledger verify"), "{text}");
    permit(0o755, 0o644);
    // Whoever may write undoes it first.
    assert_eq!(Ledger::open_to_read(&path).unwrap().verify().unwrap().head, last);
    assert!(!beside.exists());
}

/// Journal and file in the middle of a commit that a foreign connection makes and takes back.
#[cfg(unix)]
fn killed_in_a_commit(path: &Path) -> (Vec<u8>, Vec<u8>) {
    let connection = burglar(path);
    connection.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE").unwrap();
    let (previous, filler): (String, String) = ("0".repeat(64), "x".repeat(3000));
    for sequence in 7..40 {
        let sql = "INSERT INTO entries (sequence, body, previous, hash) VALUES (?1, ?2, ?3, ?3)";
        connection.execute(sql, (sequence, &filler, &previous)).unwrap();
    }
    let journal = fs::read(format!("{}-journal", path.display())).unwrap();
    let half = fs::read(path).unwrap();
    connection.execute_batch("ROLLBACK").unwrap();
    assert!(!journal.is_empty());
    (journal, half)
}

#[test]
fn what_a_killed_creator_left_goes_with_the_next_one() {
    let folder = quick_folder();
    let left =
        [".rhograd-l.sqlite-Ab12.partial.draft", ".rhograd-l.sqlite-Ab12.partial.draft-journal", ".rhograd-x.partial"];
    left.iter().for_each(|name| fs::write(folder.path().join(name), "half").unwrap());
    let kept = [".rhograd-notes.draft.txt", "mine.draft"];
    kept.iter().for_each(|name| fs::write(folder.path().join(name), "kept").unwrap());
    Ledger::open_or_create(folder.path().join("l.sqlite")).unwrap();
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, [kept[0], "l.sqlite", "l.sqlite.note", kept[1]]);
}
