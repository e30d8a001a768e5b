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
