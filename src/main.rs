//! The command line program; see `rhograd --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rhograd::cli::main()
}
