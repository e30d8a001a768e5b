//! The form of the effects that columns have.

use super::Algorithm;
use crate::error::{Error, Fallible};

/// The form of the effects of columns.
///
/// ```
/// use rhograd::optim::{Algorithm, Features};
/// let chosen = Features::algorithm(Some(Features::Additive), Algorithm::Auto)?;
/// assert_eq!(chosen, Algorithm::Additive);
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
}

impl Features {
    /// Both.
    pub const NAMED: [(&'static str, Features); 2] = [("linear", Features::Linear), ("additive", Features::Additive)];

    /// The algorithm that a form of effects and a choice of algorithm ask for together.
    ///
    /// # Errors
    /// When the algorithm makes effects of another form.
    pub fn algorithm(form: Option<Features>, algorithm: Algorithm) -> Fallible<Algorithm> {
        match (form, algorithm) {
            (None, algorithm) => Ok(algorithm),
            (Some(Features::Additive), Algorithm::Auto | Algorithm::Additive) => Ok(Algorithm::Additive),
            (Some(Features::Additive), other) => Err(Error::parameter(
                "--features",
                format!("is additive, and --algorithm {} makes linear effects", other.name()),
                "leave out one of them",
            )),
            (Some(Features::Linear), Algorithm::Additive) => Err(Error::parameter(
                "--features",
                "is linear, and --algorithm additive makes additive effects",
                "leave out one of them",
            )),
            (Some(Features::Linear), algorithm) => Ok(algorithm),
        }
    }
}
