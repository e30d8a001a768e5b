//! `rhograd audit`.

mod many_runs;
mod one_run;
mod picture;

use std::process::ExitCode;

use super::arguments::as_flag;
use crate::error::Fallible;

pub(super) use many_runs::AuditArguments;

pub(super) fn run(arguments: &AuditArguments) -> Fallible<ExitCode> {
    if arguments.one_run { one_run::run(arguments) } else { many_runs::run(arguments) }.map_err(as_flag)
}
