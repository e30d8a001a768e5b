//! Threads of our own, lent to one run at a time.
//!
//! A run that waits (for rows that Python hands over, for the answers of a cluster, for the lock of a ledger) keeps its
//! threads waiting. Were they shared, another run would wait with it, or would be begun inside the wait of the first: so no
//! two runs ever share threads. Pools that were handed back are lent again.

use std::sync::{Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};
use rhograd::error::{Error, Fallible};

/// Pools that nobody uses, and whose threads they are.
struct Idle {
    process: u32,
    wanted: usize,
    pool: ThreadPool,
}

static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

/// As many pools are kept; more are made where more runs go on at once.
const KEPT: usize = 4;

/// More threads help nobody, and are a slip.
const MAX_THREADS: usize = 4096;

/// A pool that belongs to one run until it is dropped.
pub struct Lent(Option<Idle>);

/// A pool with so many threads; `None` for one a core. Each caller gets one of its own.
///
/// # Errors
/// When there are none or far too many wanted, or the system gives none.
pub fn lend(threads: Option<usize>) -> Fallible<Lent> {
    if threads == Some(0) {
        return Err(Error::parameter("threads", "is 0, must be at least 1", "leave it out for all"));
    }
    if threads.is_some_and(|threads| threads > MAX_THREADS) {
        let problem = format!("is above {MAX_THREADS}");
        return Err(Error::parameter("threads", problem, "leave it out for one a core"));
    }
    let (wanted, process) = (threads.unwrap_or(0), std::process::id());
    {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        // Threads do not survive a fork: the pools of a parent process are useless here, and are not dropped either, for
        // what is left of them is not to be touched.
        let (own, others): (Vec<_>, Vec<_>) = idle.drain(..).partition(|pool| pool.process == process);
        std::mem::forget(others);
        *idle = own;
        if let Some(at) = idle.iter().position(|pool| pool.wanted == wanted) {
            return Ok(Lent(Some(idle.swap_remove(at))));
        }
    }
    let made = ThreadPoolBuilder::new().num_threads(wanted).thread_name(|k| format!("rhograd-{k}")).build();
    let pool = made.map_err(|e| Error::refused(format!("no threads ({e})"), "ask for fewer"))?;
    Ok(Lent(Some(Idle { process, wanted, pool })))
}

impl Lent {
    /// Runs something on the threads of this pool, and waits for it. With the interpreter's lock held only where it never asks for that lock.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Some(held) => held.pool.install(work),
            // It is taken out by `drop` alone.
            None => work(),
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(held) = self.0.take() else { return };
        if held.process != std::process::id() {
            std::mem::forget(held);
            return;
        }
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(held);
        }
    }
}
