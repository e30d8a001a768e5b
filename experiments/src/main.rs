//! Experiments on the public library: each states a claim, runs it, and says whether it held.
//!
//! `cargo run --release -p rhograd-experiments -- utility [--quick] [--algorithm NAME] [TRAIN.csv TEST.csv]...`

mod utility;

use std::process::ExitCode;

const USAGE: &str = "\
usage: rhograd-experiments list
       rhograd-experiments utility [--quick] [--algorithm NAME] [TRAIN.csv TEST.csv]...

utility   untuned private models against epsilon; without files on datasets/fair.csv and randhie.csv,
          split four to one. The claim: at epsilon 1 the loss against epsilon 1000 is below 0.02.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("list") => {
            println!("utility");
            ExitCode::SUCCESS
        }
        Some("utility") => match utility::run(&arguments[1..]) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("rhograd-experiments: {error}");
                ExitCode::from(2)
            }
        },
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
