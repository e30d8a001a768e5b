//! Help: groups of options, and examples that fit.

use clap::Command;

// Below the common options, which have no heading and are all that `-h` shows.
pub(super) const BUDGET: &str = "Budget and ledger";
pub(super) const MODEL: &str = "Model";
pub(super) const ALGORITHM: &str = "Settings of algorithms (see rhograd algorithms)";
pub(super) const HOLD_OUT: &str = "Metrics on held-out rows";
pub(super) const READING: &str = "Reading the data";
pub(super) const FILES: &str = "Files";
pub(super) const RUNNING: &str = "Running";

/// Columns of an example: what fits a terminal of 80.
const COLUMNS: usize = 78;

/// A command and all below it, with the text behind their options laid out for any width.
pub(super) fn laid_out(command: Command) -> Command {
    let short = command.get_after_help().map(|text| lay_out(&text.to_string()));
    let long = command.get_after_long_help().map(|text| lay_out(&text.to_string()));
    let command = short.into_iter().fold(command, Command::after_help);
    let command = long.into_iter().fold(command, Command::after_long_help);
    command.mut_subcommands(laid_out)
}

/// Lines of a paragraph become one, which clap breaks where the terminal ends; long examples go on in another line, as a
/// shell has it.
fn lay_out(text: &str) -> String {
    let mut laid: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
        match laid.last_mut() {
            Some(last) if is_prose(line) && is_prose(last) && !last.ends_with(':') => {
                last.push(' ');
                last.push_str(line);
            }
            _ if line.starts_with("  rhograd ") => laid.extend(example(line)),
            _ => laid.push(line.to_owned()),
        }
    }
    laid.join("\n")
}

/// An example in lines that fit, broken before options.
fn example(line: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = line.to_owned();
    while rest.chars().count() > COLUMNS {
        // Room for the sign that the line goes on.
        let Some(at) = rest[..COLUMNS - 2].rfind(" --").filter(|&at| at > 10) else { break };
        lines.push(format!("{} \\", &rest[..at]));
        rest = format!("      {}", &rest[at + 1..]);
    }
    lines.push(rest);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_joined_and_examples_are_not() {
        let text = "Examples:\n  rhograd a\n  rhograd b\n\nOne line\nand another.\n\nExit code: 0\n";
        assert_eq!(lay_out(text), "Examples:\n  rhograd a\n  rhograd b\n\nOne line and another.\n\nExit code: 0");
    }

    #[test]
    fn long_examples_go_on_as_in_a_shell() {
        let line = format!("  rhograd train a.csv --epsilon 1 {}--last 2", "--flag value ".repeat(8));
        let lines = example(&line);
        assert!(lines.len() > 1 && lines.iter().all(|line| line.len() <= COLUMNS), "{lines:?}");
        assert!(lines[..lines.len() - 1].iter().all(|line| line.ends_with(" \\")));
        let joined = lines.join("\n").replace("\\\n", "");
        assert_eq!(joined.split_whitespace().collect::<Vec<_>>(), line.split_whitespace().collect::<Vec<_>>());
    }
}
