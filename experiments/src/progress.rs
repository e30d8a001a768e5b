//! How far an experiment is, on standard error.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar with an estimate of the time left.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar of `steps` steps.
    pub fn new(name: &str, steps: usize) -> Self {
        let bar = ProgressBar::new(steps as u64);
        if let Ok(style) = ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len}, about {eta} left  {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(name.to_owned());
        Progress(bar)
    }

    /// Shows what is being measured.
    pub fn say(&self, what: impl Into<String>) {
        self.0.set_message(what.into());
    }

    /// One step is done.
    pub fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
