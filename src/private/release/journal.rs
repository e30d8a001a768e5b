//! Released values kept as they are made, so that a run that was stopped can go on.

use std::sync::{Mutex, PoisonError};

use crate::error::Fallible;
use crate::ledger::Position;

/// Takes one released value after the other; it must reach the disk or an error.
pub type Keep = Box<dyn FnMut(&[i128]) -> Fallible<()> + Send>;

/// A run that was charged and stopped: its name, the place of its charge, and the values that it had released, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopped {
    /// Name of the run.
    pub run: String,
    /// Where the charge stands; `None` where no durable ledger held it.
    pub position: Option<Position>,
    /// Released values.
    pub released: Vec<Vec<i128>>,
}

/// What a run released before it was stopped, and where new values go.
///
/// A value is kept only if all values before it were: releases that are one event of many values are not, and what follows
/// them neither, so that a run goes on from the last point at which nothing but released values matters.
#[derive(Default)]
pub(in crate::private) struct Journal {
    released: Vec<Vec<i128>>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    next: u32,
    keep: Option<Keep>,
}

impl Journal {
    pub(in crate::private) fn of(released: Vec<Vec<i128>>) -> Self {
        let next = u32::try_from(released.len()).unwrap_or(u32::MAX);
        Journal { released, kept: Mutex::new(Kept { next, keep: None }) }
    }

    /// Hands values on from here on.
    pub(in crate::private) fn keep_in(&self, keep: Keep) {
        // A sink that panicked before is replaced, so its state does not matter.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).keep = Some(keep);
    }

    /// The value that a release had before the run was stopped.
    pub(in crate::private) fn released(&self, release: u32) -> Option<Vec<i128>> {
        self.released.get(release as usize).cloned()
    }

    /// Keeps the value of a release, before anything else sees it.
    pub(in crate::private) fn keep(&self, release: u32, values: &[i128]) -> Fallible<()> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.next != release {
            return Ok(());
        }
        if let Some(keep) = &mut kept.keep {
            keep(values)?;
        }
        kept.next += 1;
        Ok(())
    }
}
