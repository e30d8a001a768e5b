//! What the operating system is told about the memory of this process.

use std::io;

/// Keeps the memory of this process out of core dumps, and out of reach of other processes of the same user.
///
/// Rows and the key of a run are in memory. A dump would put them on a disk, or hand them to whatever collects dumps. The
/// command line program calls this first thing. It holds for the whole process and for good, so a library that is loaded into
/// somebody else's program leaves it to that program: call it there if nothing in it needs dumps or a debugger.
///
/// On Linux the process is made not dumpable (which also keeps `ptrace` and `/proc/PID/mem` from all but the superuser), and
/// on Unix the largest core dump is set to zero.
///
/// # Errors
/// When the system refuses. What could be done is done nevertheless.
pub fn hide_memory() -> io::Result<()> {
    let limited = limit_dumps();
    forbid_dumps().and(limited)
}

#[cfg(unix)]
fn limit_dumps() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    Ok(())
}

#[cfg(target_os = "linux")]
fn forbid_dumps() -> io::Result<()> {
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}

#[cfg(not(unix))]
fn limit_dumps() -> io::Result<()> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn forbid_dumps() -> io::Result<()> {
    Ok(())
}
