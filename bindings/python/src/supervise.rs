//! A run on threads of its own, while Python goes on.
//!
//! The thread that called us serves the run: it alone takes the interpreter's lock, asks about signals, and calls functions
//! of Python. It lets go of the lock whenever it waits, and no thread of the engine ever takes it. So nobody waits for a
//! thread with the lock held, and nobody who works for the engine waits for the lock. The one exception is [`held`], for milliseconds.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rhograd::error::{Error, Fallible};

use crate::errors::{exception, internal};
use crate::pool;

/// How often Ctrl-C is looked for.
const LISTEN: Duration = Duration::from_millis(50);

/// How often whoever watches is told how far a run is.
const TELL: Duration = Duration::from_millis(100);

/// Functions of Python that a run calls.
#[derive(Clone, Copy, Default)]
pub struct Ears<'a, 'py> {
    /// Brings the answers of a cluster to a question.
    pub ask: Option<&'a Bound<'py, PyAny>>,
    /// Hears how far the run is: what is done now, how much of it is done, and how much there is.
    pub progress: Option<&'a Bound<'py, PyAny>>,
}

/// What a run asks of the thread that called us.
enum Call {
    /// To look for signals now.
    Signals(SyncSender<()>),
    /// The answers of a cluster to a question; none where asking failed.
    Question(Vec<u8>, SyncSender<Option<Vec<Vec<u8>>>>),
    /// To warn the custodian of what does not fit.
    Warning(String, SyncSender<()>),
    /// To say how far it is, as the board has it; nobody waits for that.
    Progress,
}

/// How far a run is: the latest numbers of everything that was done and not told yet.
#[derive(Default)]
struct Board {
    told: Option<Instant>,
    waiting: Vec<(&'static str, u64, u64)>,
}

/// The way of a run to the thread that called us.
#[derive(Clone)]
pub struct Caller {
    calls: Sender<Call>,
    stop: Arc<AtomicBool>,
    /// None where nobody watches.
    board: Option<Arc<Mutex<Board>>>,
}

impl Caller {
    /// Refuses to where a signal came up to 50 milliseconds ago.
    pub fn go_on(&self, when: &str) -> Fallible<()> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(Error::refused(format!("interrupted {when}"), "fit again")),
            false => Ok(()),
        }
    }

    /// Refuses to where a signal has come at all.
    pub fn settle(&self, when: &str) -> Fallible<()> {
        let (reply, answer) = sync_channel(1);
        // Where nobody serves any more, the flag says all there is.
        if self.calls.send(Call::Signals(reply)).is_ok() {
            let _ = answer.recv();
        }
        self.go_on(when)
    }

    /// Warns the custodian; returns when that is done.
    pub fn warn(&self, text: String) {
        let (reply, answer) = sync_channel(1);
        if self.calls.send(Call::Warning(text, reply)).is_ok() {
            let _ = answer.recv();
        }
    }

    /// Tells whoever watches how far the run is, ten times a second at most, and when a part of it is done. Where the one who watches is slow,
    /// numbers that were not told yet give way to newer ones, so that a run waits for one call at most.
    pub fn tell(&self, what: &'static str, done: u64, total: u64) {
        // Where another thread is telling, there is no need to, but at the end.
        let Some(board) = &self.board else { return };
        let held = if done < total { board.try_lock().ok() } else { board.lock().ok() };
        let Some(mut board) = held else { return };
        if done < total && board.told.is_some_and(|last| last.elapsed() < TELL) {
            return;
        }
        board.told = Some(Instant::now());
        let silent = board.waiting.is_empty();
        match board.waiting.iter_mut().find(|(known, ..)| *known == what) {
            Some(waiting) => *waiting = (what, done, total),
            None => board.waiting.push((what, done, total)),
        }
        if silent {
            // Where nobody serves any more, nobody watches.
            let _ = self.calls.send(Call::Progress);
        }
    }

    /// The answers of a cluster.
    pub fn ask(&self, question: &[u8]) -> Fallible<Vec<Vec<u8>>> {
        self.go_on("between two questions to the cluster")?;
        let (reply, answer) = sync_channel(1);
        let asked = self.calls.send(Call::Question(question.to_vec(), reply)).is_ok();
        let answers = if asked { answer.recv().ok().flatten() } else { None };
        answers.ok_or_else(|| Error::refused("the cluster failed to answer", "look at its own message, and fit again"))
    }
}

/// Runs `work` on threads of its own, and calls the functions of Python that it needs.
///
/// # Errors
/// What `work` refuses, the interrupt that a signal raised, or that the engine stopped at a fault of its own. What `ask`
/// raised is the cause: a message of a cluster may show rows, so the engine does not repeat it.
pub fn supervise<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    ears: Ears<'_, '_>,
    work: impl FnOnce(&Caller) -> Fallible<T> + Send,
) -> PyResult<T> {
    let pool = pool::lend(threads).map_err(|error| exception(py, &error))?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut faults = Faults::default();
    let board: Option<Arc<Mutex<Board>>> = ears.progress.map(|_| Arc::default());
    let finished = std::thread::scope(|scope| {
        let (calls, heard) = channel();
        let (pool, caller) = (&pool, Caller { calls, stop: Arc::clone(&stop), board: board.clone() });
        // The caller is dropped when the work is over, whatever ends it.
        let body = move || pool.install(move || work(&caller));
        let run = std::thread::Builder::new().name("rhograd-run".into()).spawn_scoped(scope, body).map_err(|e| {
            exception(py, &Error::refused(format!("no thread ({e})"), "allow this process more threads"))
        })?;
        serve(py, heard, &stop, ears, board.as_deref(), &mut faults);
        py.detach(|| run.join()).map_err(|_| internal(py))
    });
    if let Some(interrupt) = faults.interrupt {
        return Err(interrupt);
    }
    finished?.map_err(|error| {
        let raised = exception(py, &error);
        if faults.asking.is_some() {
            raised.set_cause(py, faults.asking);
        }
        raised
    })
}

/// What Python raised while it served a run.
#[derive(Default)]
struct Faults {
    interrupt: Option<PyErr>,
    asking: Option<PyErr>,
}

impl Faults {
    /// Notes a signal, and asks the run to stop before its next release.
    fn interrupted(&mut self, signal: PyErr, stop: &AtomicBool) {
        stop.store(true, Ordering::Relaxed);
        self.interrupt.get_or_insert(signal);
    }
}

/// Serves a run until it is over.
fn serve(
    py: Python<'_>,
    mut heard: Receiver<Call>,
    stop: &AtomicBool,
    Ears { ask, progress }: Ears<'_, '_>,
    board: Option<&Mutex<Board>>,
    faults: &mut Faults,
) {
    loop {
        let call;
        (heard, call) = py.detach(move || {
            let call = heard.recv_timeout(LISTEN);
            (heard, call)
        });
        if let Err(signal) = py.check_signals() {
            faults.interrupted(signal, stop);
        }
        match call {
            Err(RecvTimeoutError::Timeout) => (),
            Err(RecvTimeoutError::Disconnected) => return,
            Ok(Call::Signals(reply)) => drop(reply.send(())),
            Ok(Call::Warning(text, reply)) => {
                // Never an error: whether a fit goes on must not depend on rows.
                let _ = py.import("rhograd._errors").and_then(|it| it.call_method1("warn_of_data", (text,)));
                let _ = reply.send(());
            }
            Ok(Call::Progress) => {
                let waiting = board
                    .map(|board| std::mem::take(&mut board.lock().unwrap_or_else(PoisonError::into_inner).waiting));
                for told in waiting.into_iter().flatten() {
                    // What fails there was dealt with there; what comes through is a signal, and after one nobody is told any more.
                    let heard = progress.filter(|_| !stop.load(Ordering::Relaxed)).map(|it| it.call1(told));
                    if let Some(Err(signal)) = heard {
                        faults.interrupted(signal, stop);
                    }
                }
            }
            Ok(Call::Question(question, reply)) => {
                let answers = match ask {
                    _ if stop.load(Ordering::Relaxed) => None,
                    None => None,
                    Some(ask) => match answers(py, ask, &question) {
                        Ok(answers) => Some(answers),
                        Err(error) if error.is_instance_of::<PyException>(py) => {
                            faults.asking = Some(error);
                            None
                        }
                        Err(signal) => {
                            faults.interrupted(signal, stop);
                            None
                        }
                    },
                };
                drop(reply.send(answers));
            }
        }
    }
}

fn answers(py: Python<'_>, ask: &Bound<'_, PyAny>, question: &[u8]) -> PyResult<Vec<Vec<u8>>> {
    let answers: Vec<Bound<'_, PyBytes>> = ask.call1((PyBytes::new(py, question),))?.extract()?;
    Ok(answers.iter().map(|bytes| bytes.as_bytes().to_vec()).collect())
}

/// Calls the engine on this thread, with Python free to go on, for work of well under a second that starts no threads.
///
/// # Errors
/// What it refuses, or that it stopped at a fault of its own.
pub fn alone<T: Send>(py: Python<'_>, work: impl FnOnce() -> Fallible<T> + Send) -> PyResult<T> {
    py.detach(|| std::panic::catch_unwind(AssertUnwindSafe(work)))
        .map_err(|_| internal(py))?
        .map_err(|error| exception(py, &error))
}

/// Calls the engine on threads of its own while Python waits, so that none of its code changes what is looked at. For work of milliseconds that asks
/// nothing of Python: whoever asks for the interpreter's lock in there waits forever.
///
/// # Errors
/// What it refuses, or that it stopped at a fault of its own.
pub fn held<T: Send>(py: Python<'_>, work: impl FnOnce() -> Fallible<T> + Send) -> PyResult<T> {
    let pool = pool::lend(None).map_err(|error| exception(py, &error))?;
    std::panic::catch_unwind(AssertUnwindSafe(|| pool.install(work)))
        .map_err(|_| internal(py))?
        .map_err(|error| exception(py, &error))
}

/// Calls the engine on threads of its own, with Python free to go on, where no signal need be heard before it ends.
///
/// # Errors
/// What it refuses, or that it stopped at a fault of its own.
pub fn aside<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce() -> Fallible<T> + Send,
) -> PyResult<T> {
    // Lent and given back with the interpreter's lock held, as everywhere where processes fork: what another thread holds then stays locked in
    // the child.
    let pool = pool::lend(threads).map_err(|error| exception(py, &error))?;
    py.detach(|| std::panic::catch_unwind(AssertUnwindSafe(|| pool.install(work))))
        .map_err(|_| internal(py))?
        .map_err(|error| exception(py, &error))
}
