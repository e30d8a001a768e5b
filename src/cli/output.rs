//! Writing results so that they can be piped, and progress so that it cannot get in the way.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use crate::error::{Error, Fallible};
use crate::num::round::decimal_up;
use crate::text::{visible_json, visible_page};

/// Prints a page to standard output, without anything that a terminal would obey; a reader that closed the pipe is no error.
///
/// Names from files are made visible where they are put on the page: here their line ends could not be told from its own.
pub(super) fn print(page: &str) -> Fallible<()> {
    write(&visible_page(page))
}

/// Prints what another program is to read, byte for byte; on a terminal as [`print`] does.
pub(super) fn print_data(text: &str) -> Fallible<()> {
    if std::io::stdout().is_terminal() { print(text) } else { write(text) }
}

fn write(text: &str) -> Fallible<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            let cure = "make room or redirect it elsewhere; files that this command was to write are complete";
            Err(Error::input(Path::new("standard output"), format!("cannot be written ({e})"), cure))
        }
        _ => Ok(()),
    }
}

/// Tells the user something on standard error; nobody has to listen.
pub(super) fn warn(message: &str) {
    let _ = writeln!(std::io::stderr(), "rhograd: {}", visible_page(message));
}

/// Prints one JSON value and a newline, with escapes for what a terminal would obey.
pub(super) fn print_json(value: &serde_json::Value) -> Fallible<()> {
    write(&visible_json(&format!("{value}\n")))
}

/// A bar on standard error that appears only on a terminal and only when the work takes a while.
pub(super) fn bar(length: u64, what: &'static str, unit: &str) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(4);
    let bar = ProgressBar::with_draw_target(Some(length), target);
    let counts = if unit == "bytes" { "{bytes}/{total_bytes}" } else { "{pos}/{len}" };
    let template = format!("{{msg:10}} {{wide_bar}} {counts} {{eta}}");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar.set_message(what);
    bar
}

/// Seconds for people.
pub(super) fn seconds(seconds: f64) -> String {
    format!("{:.2?}", Duration::from_secs_f64(seconds.max(0.0)))
}

/// Infinity has no JSON number; it is written as text.
pub(super) fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(decimal_up(value, 3)) }
}

/// `e^x` rounded up, at most 1: the exponential's own error is far below the last digits added here.
pub(super) fn delta_up(ln_delta: f64) -> f64 {
    crate::num::round::up(ln_delta.exp() * (1.0 + 1e-14), 1).min(1.0)
}
