//! Ctrl-C: what was charged is said before the program ends.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::output::warn;
use crate::error::{Error, ErrorKind, Fallible};
use crate::train::{Checkpoint, Notice, StagedFile};

/// What whoever interrupts a command has to be told.
#[derive(Clone, Default)]
pub(super) struct Interrupts(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    charge: Charge,
    /// Whether the same command goes on.
    kept: bool,
    /// Files in the making, which go.
    staged: Vec<PathBuf>,
}

#[derive(Default)]
enum Charge {
    #[default]
    None,
    UnderWay,
    Made(Vec<String>),
    Published,
}

impl Interrupts {
    /// Listens from here on: SIGINT and SIGTERM end the program with exit code 130 and 143, and a file that grows beyond what
    /// the system allows becomes an error of writing.
    ///
    /// # Errors
    /// When the system gives no thread or no handler.
    pub(super) fn listen() -> Fallible<Self> {
        let interrupts = Interrupts::default();
        listen(interrupts.clone()).map_err(|e| {
            Error::parameter("signals", format!("cannot be heard ({e})"), "raise the limit on processes")
        })?;
        Ok(interrupts)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the charges of a command that keeps its releases there.
    pub(super) fn follow(&self, checkpoint: &Checkpoint) {
        let same = self.clone();
        self.state().kept = checkpoint.keeps();
        checkpoint.on_charge(move |notice| {
            let mut state = same.state();
            state.charge = match (notice, std::mem::take(&mut state.charge)) {
                (Notice::Charging, Charge::None) => Charge::UnderWay,
                (Notice::Charged(run), Charge::Made(mut runs)) => {
                    runs.push(run.to_string());
                    Charge::Made(runs)
                }
                (Notice::Charged(run), _) => Charge::Made(vec![run.to_string()]),
                (Notice::Refused, Charge::UnderWay) => Charge::None,
                (Notice::Charging | Notice::Refused, before) => before,
            };
        });
    }

    /// Takes the file away when the command is interrupted.
    pub(super) fn forget(&self, staged: &StagedFile) {
        self.state().staged.extend(staged.temporary().map(PathBuf::from));
    }

    /// From here on an interrupt loses nothing.
    pub(super) fn published(&self) {
        self.state().charge = Charge::Published;
    }

    /// The error of a command with what it was charged, and how that can be had.
    pub(super) fn explain(&self, error: Error) -> Error {
        let Some((charged, cure)) = self.charged() else { return error };
        match error.kind() {
            // It says so itself.
            ErrorKind::Unpublished { .. } => error,
            ErrorKind::Ledger { .. } | ErrorKind::Io { .. } => Error::unpublished(charged, error.to_string(), cure),
            _ => {
                warn(&format!("{charged}; {cure}"));
                error
            }
        }
    }

    /// What was charged and is not published yet, and how that can be had; `None` where nothing was.
    fn charged(&self) -> Option<(String, &'static str)> {
        let state = self.state();
        let cure = match state.kept {
            true => "the same command goes on, and charges nothing again",
            false => "nothing was kept of it, so its result is lost",
        };
        match &state.charge {
            Charge::None | Charge::Published => None,
            Charge::UnderWay => {
                Some(("the run was about to be charged, and `rhograd ledger show` tells whether it was".into(), cure))
            }
            Charge::Made(runs) => Some((runs.join("; "), cure)),
        }
    }

    #[cfg(unix)]
    fn end(&self, signal: i32) -> ! {
        let told = match self.charged() {
            Some((charged, cure)) => format!("{charged}; {cure}"),
            None if matches!(self.state().charge, Charge::Published) => "the result is published".into(),
            None => "nothing was charged".into(),
        };
        warn(&format!("interrupted: {told}"));
        for path in &self.state().staged {
            // What was published has its own name by now.
            let _ = std::fs::remove_file(path);
        }
        std::process::exit(128 + signal)
    }
}

#[cfg(unix)]
fn listen(interrupts: Interrupts) -> std::io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
    use std::sync::atomic::AtomicBool;
    // A handler of any kind makes the write fail that would be too large; it would end the program otherwise.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            interrupts.end(signal);
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(wait).map(drop)
}

#[cfg(not(unix))]
fn listen(_: Interrupts) -> std::io::Result<()> {
    Ok(())
}
