//! Pages as a terminal shows them: wrapped to its width, with weight and colour where they carry meaning.
//!
//! What goes into a pipe or a file is the page itself, byte for byte: no escape codes, no line broken.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::builder::styling::{AnsiColor, Style};
use clap::{Args, ColorChoice};
use textwrap::{Options, WordSeparator, WordSplitter};

use crate::text::visible_page;

/// Words that nobody may miss.
const ALARMS: [&str; 6] = ["NOT PRIVATE", "NOT verified", "FAILED", "REFUTED", "next to none", "warning:"];

const ALARM: Style = AnsiColor::Red.on_default().bold();
const HEADING: Style = Style::new().bold();

/// A longer line is hard to read, however wide the terminal is.
const WIDEST: usize = 120;

/// Values that begin further to the right do not indent the lines below them.
const DEEPEST: usize = 30;

/// Characters of the widest column of names; a format takes 65,535 at most.
const MOST_WIDTH: usize = 200;

/// How wide a column of names is; a very long one moves only its own line.
pub(super) fn width_of<'a>(names: impl Iterator<Item = &'a str>, least: usize) -> usize {
    names.map(|name| name.chars().count()).max().unwrap_or(0).clamp(least, MOST_WIDTH)
}

static QUIET: AtomicBool = AtomicBool::new(false);

/// How results and messages are shown.
#[derive(Args)]
pub(super) struct ScreenArguments {
    /// Print results and errors alone, and what protects: NOT PRIVATE, warnings, what was charged
    #[arg(short, long, global = true, help_heading = "Screen")]
    quiet: bool,
    /// Colour and weight; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, help_heading = "Screen", value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
}

impl ScreenArguments {
    /// Makes them hold for everything that follows.
    pub(super) fn apply(&self) {
        QUIET.store(self.quiet, Ordering::Relaxed);
        set_color(self.color);
    }
}

/// The choice that a command line makes, before it is understood: its help and its errors have colours, too.
pub(super) fn color_of(arguments: impl Iterator<Item = String>) -> ColorChoice {
    let words: Vec<String> = arguments.take_while(|word| word != "--").collect();
    let after = |at: usize| match words[at].strip_prefix("--color") {
        Some("") => words.get(at + 1).map(String::as_str),
        Some(value) => value.strip_prefix('='),
        None => None,
    };
    match (0..words.len()).find_map(after) {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

/// Makes a choice hold for everything that follows.
pub(super) fn set_color(choice: ColorChoice) {
    match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

/// Whether only results and errors are wanted.
pub(super) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// The columns of the terminal that a stream goes to; `None` for a pipe or a file, whatever the environment says.
pub(super) fn columns(stream: &impl IsTerminal) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let known = told.or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)));
    known.filter(|&columns| columns > 0).map(|columns| columns.min(WIDEST))
}

/// A page without anything that a terminal would obey but weight and colour, in lines of at most so many columns.
pub(super) fn page(text: &str, columns: Option<usize>) -> String {
    // Kept together; a blank of this kind in the text itself is written as its number by now.
    let text = visible_page(text).replace("NOT PRIVATE", "NOT\u{a0}PRIVATE");
    let lines: Vec<&str> = text.split('\n').collect();
    let mut shown = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        let is_heading = is_heading(line, lines.get(at + 1).copied().unwrap_or_default());
        let wrapped = columns.map_or_else(|| vec![(*line).to_owned()], |columns| wrap(line, columns));
        shown.extend(wrapped.into_iter().map(|line| if is_heading { styled(HEADING, &line) } else { alarmed(&line) }));
    }
    shown.join("\n").replace('\u{a0}', " ")
}

/// A line that names what the indented lines below it are.
fn is_heading(line: &str, next: &str) -> bool {
    line.ends_with(':') && !line.starts_with([' ', '-']) && (next.starts_with([' ', '-']) || next.is_empty())
}

/// A line in pieces that fit, those after the first below the value or the text of the first.
fn wrap(line: &str, columns: usize) -> Vec<String> {
    let indent = " ".repeat(hanging(line).min(columns / 2));
    let options = Options::new(columns)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(line, options).into_iter().map(std::borrow::Cow::into_owned).collect()
}

/// Where the text of a line begins: behind its name and at least two blanks, or behind the mark of an item of a list.
fn hanging(line: &str) -> usize {
    let start = line.len() - line.trim_start_matches(' ').len();
    let text = &line[start..];
    if text.starts_with("- ") || text.starts_with("! ") {
        return start + 2;
    }
    let value = text.find("  ").map(|gap| text.len() - text[gap..].trim_start_matches(' ').len());
    match value {
        Some(value) if value <= DEEPEST => start + value,
        _ => start + if start > 0 { 2 } else { 0 },
    }
}

fn styled(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{style}{text}{style:#}") }
}

/// A line with its alarms in red.
fn alarmed(line: &str) -> String {
    ALARMS.iter().fold(line.to_owned(), |line, words| {
        let words = words.replace("NOT PRIVATE", "NOT\u{a0}PRIVATE");
        line.replace(&words, &styled(ALARM, &words))
    })
}

/// The first words of an error.
pub(super) fn error_mark(text: &str) -> String {
    styled(ALARM, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str, columns: usize) -> String {
        anstream::adapter::strip_str(&page(text, Some(columns))).to_string()
    }

    #[test]
    fn lines_are_broken_between_words_below_their_text() {
        assert_eq!(
            plain("epsilon    1 exact, 2 by zCDP, 3 by classical\n", 30),
            "epsilon    1 exact, 2 by zCDP,\n           3 by classical\n"
        );
        assert_eq!(plain("- one two three\n", 9), "- one two\n  three\n");
        assert_eq!(plain("one two three", 9), "one two\nthree");
        assert_eq!(plain("  a=1  two three four", 14), "  a=1  two\n       three\n       four");
    }

    #[test]
    fn nothing_is_lost_and_no_flag_or_path_is_torn() {
        let text = "write --no-ledger or /a/very/long/path/that/does/not/fit/at/all and go";
        let shown = plain(text, 20);
        assert!(shown.contains("--no-ledger\n") || shown.contains("--no-ledger "), "{shown}");
        assert!(shown.contains("/a/very/long/path/that/does/not/fit/at/all"), "{shown}");
        assert_eq!(shown.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn alarms_are_red_and_never_broken() {
        for columns in 5..40 {
            let shown = page("the model is NOT PRIVATE: its noise came from a seed", Some(columns));
            assert!(shown.contains(&format!("{ALARM}NOT PRIVATE{ALARM:#}")), "{columns}: {shown:?}");
        }
    }

    #[test]
    fn headings_are_bold_and_sentences_are_not() {
        let bold = |text: &str| page(text, None).contains(&format!("{HEADING}"));
        assert!(bold("Limits:\n- one") && bold("Effects:\n\n  a"));
        assert!(!bold("- one:\n  two") && !bold("what follows:\nis text"));
    }

    #[test]
    fn a_name_can_paint_nothing() {
        let shown = page("a\u{1b}[31mb\u{a0}c", None);
        assert_eq!(shown, "a\\u{1b}[31mb\\u{a0}c");
    }

    #[test]
    fn a_page_without_a_terminal_keeps_its_lines() {
        let text = format!("{}\n", "word ".repeat(100));
        assert_eq!(page(&text, None), text);
    }

    #[test]
    fn the_colour_is_known_before_the_command_line_is() {
        let choice = |line: &str| color_of(line.split(' ').map(String::from));
        assert_eq!(choice("rhograd train --color never --help"), ColorChoice::Never);
        assert_eq!(choice("rhograd --color=always"), ColorChoice::Always);
        assert_eq!(choice("rhograd train -- --color never"), ColorChoice::Auto);
        assert_eq!(choice("rhograd train --color"), ColorChoice::Auto);
    }
}
