//! A kind of question.

use super::answer::Answer;
use super::params::Params;
use crate::error::Fallible;

/// How one kind is answered.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) required: &'static [&'static str],
    pub(super) optional: &'static [&'static str],
    pub(super) solve: fn(&Params<'_>) -> Fallible<Answer>,
}

impl Kind {
    /// A kind whose parameters are all required.
    pub(super) const fn new(
        name: &'static str,
        required: &'static [&'static str],
        solve: fn(&Params<'_>) -> Fallible<Answer>,
    ) -> Self {
        Kind { name, required, optional: &[], solve }
    }

    /// The kind with parameters that may be left out.
    pub(super) const fn or(self, optional: &'static [&'static str]) -> Self {
        Kind { optional, ..self }
    }
}
