//! What other processes may see of this one.
#![cfg(target_os = "linux")]

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::support::{Folder, PROGRAM};

/// A user without rights.
const NOBODY: u32 = 65_534;

/// A shell that anybody may run, with the program as its first argument and an input that stays open.
fn waiting(folder: &Folder, script: &str, user: Option<u32>) -> Child {
    let program = for_anybody(folder);
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(&program).stdin(Stdio::piped()).stdout(Stdio::null());
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    command.spawn().unwrap()
}

/// A copy of the program where anybody may run it. Another program writes it: what this one holds open to write, a test beside this
/// one that starts a program hands to its child for a moment, and no program runs that is open to be written.
fn for_anybody(folder: &Folder) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let program = folder.path("rhograd");
    assert!(Command::new("cp").args([Path::new(PROGRAM), &program]).status().unwrap().success());
    std::fs::set_permissions(program.parent().unwrap(), std::fs::Permissions::from_mode(0o777)).unwrap();
    program
}

/// Looks again until something is so, for as long as a start may take on a busy machine.
fn comes_true(mut look: impl FnMut() -> bool) -> bool {
    (0..1000).any(|_| {
        look() || {
            std::thread::sleep(Duration::from_millis(20));
            false
        }
    })
}

fn kill(mut child: Child, signal: &str) -> std::process::ExitStatus {
    Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    child.wait().unwrap()
}

#[test]
fn no_core_is_dumped_although_the_shell_allows_it() {
    let folder = Folder::new();
    let child = waiting(&folder, "ulimit -c unlimited 2>/dev/null; exec \"$1\" account eval -", None);
    let limits = format!("/proc/{}/limits", child.id());
    let is_zero = || {
        let limits = std::fs::read_to_string(&limits).unwrap();
        let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        core.split_whitespace().skip(4).take(2).eq(["0", "0"])
    };
    assert!(comes_true(is_zero), "{}", std::fs::read_to_string(&limits).unwrap());
    let status = kill(child, "-ABRT");
    assert!(status.signal() == Some(6) && !status.core_dumped(), "{status:?}");
}

/// What belongs to the superuser in `/proc` is what its owner may neither trace nor read.
#[test]
fn its_memory_is_out_of_reach_of_the_same_user() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        eprintln!("skipped: only the superuser can look from outside");
        return;
    }
    let folder = Folder::new();
    let owner = |child: &Child| Path::new(&format!("/proc/{}/environ", child.id())).metadata().unwrap().uid();
    let other = waiting(&folder, "read line", Some(NOBODY));
    assert!(comes_true(|| owner(&other) == NOBODY), "a shell can be traced");
    kill(other, "-KILL");
    let child = waiting(&folder, "exec \"$1\" account eval -", Some(NOBODY));
    let program = format!("/proc/{}/exe", child.id());
    let started = || std::fs::read_link(&program).is_ok_and(|path| path.ends_with("rhograd"));
    assert!(comes_true(|| started() && owner(&child) == 0));
    kill(child, "-KILL");
}

/// The program still reads its own standard input by way of `/proc` where it has no rights.
#[test]
fn a_user_without_rights_trains_from_a_pipe() {
    let folder = Folder::with("fair");
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return;
    }
    let mut command = Command::new(for_anybody(&folder));
    command
        .args("train /dev/stdin --schema fair.schema.json --epsilon 1 --steps 3 --no-ledger --out m.json".split(' '));
    command.current_dir(folder.path("")).uid(NOBODY).gid(NOBODY);
    command.stdin(std::fs::File::open(folder.path("fair.csv")).unwrap());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
