//! Threads of our own, made anew where a process was forked: threads do not survive that.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rayon::{ThreadPool, ThreadPoolBuilder};
use rhograd::error::{Error, Fallible};

type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;

static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

/// The pool of this process with so many threads; `None` for one a core.
///
/// # Errors
/// When there are none wanted, or the system gives none.
pub fn of(threads: Option<usize>) -> Fallible<Arc<ThreadPool>> {
    if threads == Some(0) {
        return Err(Error::parameter("threads", "is 0, must be at least 1", "leave it out for all"));
    }
    let wanted = threads.unwrap_or(0);
    let process = std::process::id();
    let mut pools = POOLS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let pools = pools.get_or_insert_with(Pools::new);
    if let Some(pool) = pools.get(&(process, wanted)) {
        return Ok(pool.clone());
    }
    // Pools of a parent process have no threads here, and dropping one would wait for them.
    std::mem::forget(pools.extract_if(|(owner, _), _| *owner != process).collect::<Vec<_>>());
    let made = ThreadPoolBuilder::new().num_threads(wanted).thread_name(|k| format!("rhograd-{k}")).build();
    let pool = Arc::new(made.map_err(|e| Error::refused(format!("no threads ({e})"), "ask for fewer"))?);
    pools.insert((process, wanted), pool.clone());
    Ok(pool)
}
