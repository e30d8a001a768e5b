//! Writing results so that they can be piped, and progress so that it cannot get in the way.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::screen;
use crate::error::{Error, Fallible};
use crate::num::round::decimal_up;
pub(super) use crate::report::DIGITS;
pub(super) use crate::text::counted;
use crate::text::{visible_json, visible_page};
use crate::train::StagedFile;

/// Columns of the name of the program before a message, and of what follows below it.
const NAME: usize = 9;

/// Prints a page for people to standard output, wrapped and coloured for a terminal and without anything else that it would
/// obey; a reader that closed the pipe is no error.
///
/// Names from files are made visible where they are put on the page: here their line ends could not be told from its own.
pub(super) fn print(page: &str) -> Fallible<()> {
    let out = std::io::stdout();
    let page = screen::page(page, screen::columns(&out));
    write(plain_in_pipes(out.lock()), &page)
}

/// Prints what another program is to read, byte for byte; on a terminal without anything that it would obey.
pub(super) fn print_data(text: &str) -> Fallible<()> {
    let out = std::io::stdout();
    if out.is_terminal() { write(out.lock(), &visible_page(text)) } else { write(out.lock(), text) }
}

/// A stream that hands on weight and colour to a terminal, or where `--color always` says so; no variable of the environment paints a
/// pipe, a file or a terminal that calls itself dumb, as `CI` would.
fn plain_in_pipes<S: RawStream>(stream: S) -> AutoStream<S> {
    let is_dumb = || std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    match ColorChoice::global() {
        ColorChoice::Auto if !stream.is_terminal() || is_dumb() => AutoStream::never(stream),
        _ => AutoStream::auto(stream),
    }
}

fn write(mut out: impl Write, text: &str) -> Fallible<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            let cure = "make room or redirect it elsewhere; files that this command was to write are complete";
            Err(Error::input(Path::new("standard output"), format!("cannot be written ({e})"), cure))
        }
        _ => Ok(()),
    }
}

/// Tells the user on standard error what must be heard, with `--quiet`, too; nobody has to listen.
pub(super) fn warn(message: &str) {
    say("rhograd:", message);
}

/// Tells the user on standard error what is good to know; silent with `--quiet`.
pub(super) fn tell(message: &str) {
    if !screen::is_quiet() {
        warn(message);
    }
}

/// Tells the user on standard error why the command failed.
pub(super) fn fail(error: &Error) {
    say(&screen::error_mark("rhograd:"), &error.to_string());
}

fn say(mark: &str, message: &str) {
    let err = std::io::stderr();
    // The name of the program takes the first columns, and a message is one line of them.
    let columns = screen::columns(&err).map(|columns| columns.saturating_sub(NAME).max(NAME));
    let shown = screen::page(message, columns).replace('\n', if columns.is_some() { "\n         " } else { "\n" });
    let _ = writeln!(plain_in_pipes(err.lock()), "{mark} {shown}");
}

/// Prints help, the version or what is wrong with a command line, and ends the program.
pub(super) fn end(answer: &clap::Error) -> ! {
    let shown = answer.render().ansi().to_string();
    let _ = if answer.use_stderr() {
        write(plain_in_pipes(std::io::stderr().lock()), &shown)
    } else {
        write(plain_in_pipes(std::io::stdout().lock()), &shown)
    };
    std::process::exit(answer.exit_code())
}

/// Prints one JSON value and a newline, with escapes for what a terminal would obey.
pub(super) fn print_json(value: &serde_json::Value) -> Fallible<()> {
    write(std::io::stdout().lock(), &visible_json(&format!("{value}\n")))
}

/// Puts a whole file in its place.
pub(super) fn write_file(path: &Path, bytes: &[u8], overwrite: bool) -> Fallible<()> {
    let mut file = StagedFile::new(path, overwrite)?;
    file.append(bytes)?;
    file.publish()
}

/// A bar on standard error that appears only on a terminal, only when the work takes a while, and not with `--quiet`.
pub(super) fn bar(length: u64, what: &'static str, unit: &str) -> ProgressBar {
    let target = if screen::is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(4) };
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
