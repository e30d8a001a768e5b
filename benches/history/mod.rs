//! What a run of benchmarks took, as one line of JSON in a file: machine, commit, times and ratios.
//!
//! The file is `target/bench-history.jsonl`, or what `RHOGRAD_BENCH_HISTORY` names. Smoke runs write nothing. Two commits are compared
//! by `cargo run --release -p rhograd-experiments --example compare_benchmarks`, not by lines of two days.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// Seconds by group and name.
static NOTED: Mutex<BTreeMap<String, BTreeMap<String, f64>>> = Mutex::new(BTreeMap::new());

/// Notes what pieces of work of a group took, in seconds.
#[allow(dead_code, reason = "not every benchmark measures by itself")]
pub fn note<const N: usize>(group: &str, seconds: [(&str, f64); N]) {
    let mut noted = NOTED.lock().expect("no panic while noting");
    let group = noted.entry(group.to_owned()).or_default();
    group.extend(seconds.map(|(name, seconds)| (name.to_owned(), seconds)));
}

/// Runs benchmarks of criterion, and writes the line of the run.
#[allow(dead_code, reason = "not every benchmark is criterion's")]
pub fn of_criterion(bench: &str, run: impl FnOnce()) {
    let began = SystemTime::now();
    run();
    criterion::Criterion::default().configure_from_args().final_summary();
    let folder = std::env::var_os("CRITERION_HOME").map_or_else(|| target().join("criterion"), PathBuf::from);
    read_estimates(&folder, began);
    write(bench);
}

/// Writes the line of the run.
pub fn write(bench: &str) {
    let smoke = std::env::args().any(|a| ["--test", "--list", "--quick"].contains(&a.as_str()));
    let noted = NOTED.lock().expect("no panic while noting");
    if smoke || noted.is_empty() {
        return;
    }
    let mut ratios = BTreeMap::new();
    for (group, times) in noted.iter() {
        let fastest = times.values().copied().fold(f64::INFINITY, f64::min);
        ratios.insert(group, times.iter().map(|(name, time)| (name, time / fastest)).collect::<BTreeMap<_, _>>());
    }
    let line = json!({
        "format": "rhograd-bench/1",
        "bench": bench,
        "time": SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        "commit": git(&["rev-parse", "HEAD"]),
        "changed": git(&["status", "--porcelain"]).map(|changes| !changes.is_empty()),
        "machine": machine(),
        "seconds": *noted,
        "over_fastest": ratios,
    });
    let path =
        std::env::var_os("RHOGRAD_BENCH_HISTORY").map_or_else(|| target().join("bench-history.jsonl"), PathBuf::from);
    let file = OpenOptions::new().create(true).append(true).open(&path);
    match file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())) {
        Ok(()) => eprintln!("noted in {}", path.display()),
        Err(error) => eprintln!("{}: {error}; the times of this run are not kept", path.display()),
    }
}

/// Medians that criterion wrote since then.
fn read_estimates(folder: &Path, since: SystemTime) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()).filter(|path| path.is_dir()) {
        let fresh = fs::metadata(path.join("estimates.json")).and_then(|facts| facts.modified());
        if path.ends_with("new") && fresh.is_ok_and(|written| written >= since) {
            let read = |name: &str| -> Option<Value> { serde_json::from_slice(&fs::read(path.join(name)).ok()?).ok() };
            let (estimates, names) = (read("estimates.json"), read("benchmark.json"));
            if let (Some(estimates), Some(names)) = (estimates, names)
                && let Some(nanoseconds) = estimates["median"]["point_estimate"].as_f64()
            {
                let text = |name: &str| names[name].as_str().unwrap_or_default().to_owned();
                let parts = [text("function_id"), text("value_str")].into_iter().filter(|part| !part.is_empty());
                let name = parts.collect::<Vec<_>>().join("/");
                note(&text("group_id"), [(&name, nanoseconds / 1e9)]);
            }
        }
        read_estimates(&path, since);
    }
}

fn machine() -> Value {
    let facts = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = facts
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map(|rest| rest.trim_start_matches([' ', '\t', ':']));
    json!({
        "processor": model,
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "threads": rayon::current_num_threads(),
        "system": std::env::consts::OS,
        "architecture": std::env::consts::ARCH,
    })
}

fn git(arguments: &[&str]) -> Option<String> {
    let said = Command::new("git").args(arguments).output().ok().filter(|said| said.status.success())?;
    Some(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

/// The folder of what cargo builds: this program lies in `release/deps` of it.
fn target() -> PathBuf {
    let own = std::env::current_exe().ok();
    own.as_deref().and_then(|own| own.ancestors().nth(3)).map_or_else(|| PathBuf::from("."), PathBuf::from)
}
