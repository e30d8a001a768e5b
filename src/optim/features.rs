//! The form of the effects that columns have.

use super::Algorithm;
use crate::error::{Error, Fallible};

/// The form of the effects of columns.
///
/// ```
/// use rhograd::optim::{Algorithm, Features};
/// let chosen = Features::algorithm(Some(Features::Additive), Algorithm::Auto)?;
/// assert_eq!(chosen, Algorithm::Additive);
/// assert_eq!(Features::algorithm(Some(Features::Rich), Algorithm::Auto)?, Algorithm::Rich);
/// assert_eq!(Features::algorithm(Some(Features::Auto), Algorithm::Auto)?, Algorithm::Adaptive);
/// assert!(Features::algorithm(Some(Features::Additive), Algorithm::DpGd).is_err());
/// # Ok::<(), rhograd::error::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Features {
    /// A coefficient for each number, and for each value of a category
    Linear,
    /// An effect for every interval of a number: curves and jumps
    Additive,
    /// That, and what columns do together
    Rich,
    /// Straight lines, and curves of columns where released sums show them
    Auto,
}

impl Features {
    /// All of them.
    pub const NAMED: [(&'static str, Features); 4] = [
        ("linear", Features::Linear),
        ("additive", Features::Additive),
        ("rich", Features::Rich),
        ("auto", Features::Auto),
    ];

    /// Its name, and the algorithm that makes it and no other; `None` where many do.
    fn of(self) -> (&'static str, Option<Algorithm>) {
        match self {
            Features::Linear => ("linear", None),
            Features::Additive => ("additive", Some(Algorithm::Additive)),
            Features::Rich => ("rich", Some(Algorithm::Rich)),
            Features::Auto => ("auto", Some(Algorithm::Adaptive)),
        }
    }

    /// The algorithm that a form of effects and a choice of algorithm ask for together.
    ///
    /// # Errors
    /// When the algorithm makes effects of another form.
    pub fn algorithm(form: Option<Features>, algorithm: Algorithm) -> Fallible<Algorithm> {
        let Some(form) = form else { return Ok(algorithm) };
        match form.of() {
            (_, Some(own)) if algorithm == Algorithm::Auto || algorithm == own => Ok(own),
            (_, None) if !algorithm.cuts_columns() => Ok(algorithm),
            (name, _) => Err(Error::parameter(
                "--features",
                format!("is {name}, and --algorithm {} makes effects of another form", algorithm.name()),
                "leave out one of them",
            )),
        }
    }
}
