//! What a person sees: lines that fit, colour where it means something, help in groups; and nothing of it in a pipe.

use std::process::Command;

use super::support::{Folder, Outcome, PROGRAM};

const ESCAPE: char = '\u{1b}';

/// Red and bold, as alarms are.
const NOT_PRIVATE: &str = "\u{1b}[1m\u{1b}[31mNOT PRIVATE\u{1b}[0m";

/// Text without what a terminal obeys.
fn stripped(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        plain.push_str(before);
        rest = after.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, rest)| rest);
    }
    plain + rest
}

/// What stands on a terminal of so many columns after a command; `None` where no terminal can be made.
fn on_terminal(folder: &Folder, arguments: &str, columns: u32, variables: &[(&str, &str)]) -> Option<String> {
    if !Command::new("script").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no `script` here");
        return None;
    }
    let mut script = Command::new("script");
    // A shell may set COLUMNS anew after every command, so that variables stand right before the program.
    let set: String = variables.iter().map(|(name, value)| format!("{name}={value} ")).collect();
    script.args(["-qec", &format!("stty cols {columns} rows 40; {set}{PROGRAM} {arguments}"), "/dev/null"]);
    script.current_dir(folder.path("")).env("TMPDIR", folder.path("tmp")).env("TERM", "xterm").env_remove("COLUMNS");
    script.env_remove("NO_COLOR").stdin(std::process::Stdio::null());
    let outcome = Outcome::of(script, arguments);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    Some(outcome.stdout.replace("\r\n", "\n"))
}

fn trained() -> Folder {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --epsilon 1 --seed 5");
    folder
}

#[test]
fn a_pipe_gets_the_same_bytes_whatever_the_terminal_is() {
    let folder = trained();
    for arguments in [
        "statement fair.model.json --coefficients",
        "verify fair.model.json",
        "check fair.csv --json",
        "ledger show fair.ledger.sqlite",
        "ledger log fair.ledger.sqlite",
        "predict fair.model.json fair.csv",
        "evaluate fair.model.json fair.csv",
        "account convert --rho 0.5 --delta 1e-6",
        "inspect fair.csv",
        "train --help",
        "no-such-command",
    ] {
        let run = |variables: &[(&str, &str)]| {
            let mut command = folder.command(arguments);
            command.envs(variables.iter().copied());
            let Outcome { stdout, stderr, .. } = Outcome::of(command, arguments);
            (stdout, stderr)
        };
        let plain = run(&[("TERM", "dumb"), ("NO_COLOR", "1"), ("COLUMNS", "100")]);
        let (stdout, stderr) =
            run(&[("TERM", "xterm-256color"), ("COLUMNS", "100"), ("CLICOLOR", "1"), ("CLICOLOR_FORCE", "1")]);
        assert!(!stdout.contains(ESCAPE) && !stderr.contains(ESCAPE), "{arguments}");
        // The check measures time.
        assert!(arguments.starts_with("check") || (stdout, stderr) == plain, "{arguments}");
        // Help alone is as wide as the environment says.
        let narrow = run(&[("COLUMNS", "40")]);
        assert!(arguments.contains("check") || arguments.contains("help") || narrow == plain, "{arguments}");
    }
}

#[test]
fn results_fit_the_terminal() {
    let folder = trained();
    for arguments in ["statement fair.model.json", "verify fair.model.json", "ledger show fair.ledger.sqlite"] {
        let plain = folder.succeed(arguments).stdout;
        for columns in [60, 80, 140] {
            let Some(shown) = on_terminal(&folder, arguments, columns, &[]) else { return };
            let text = stripped(&shown);
            assert!(text.lines().all(|line| line.chars().count() <= columns as usize), "{columns}: {text}");
            assert!(text.split_whitespace().eq(plain.split_whitespace()), "{columns}: {text}");
        }
        let Some(shown) = on_terminal(&folder, arguments, 80, &[("COLUMNS", "50")]) else { return };
        assert!(stripped(&shown).lines().all(|line| line.chars().count() <= 50), "{shown}");
    }
    // Rows of tables for programs are never broken.
    let data = folder.succeed("predict fair.model.json fair.csv --columns age,educ,children").stdout;
    let shown = on_terminal(&folder, "predict fair.model.json fair.csv --columns age,educ,children", 20, &[]);
    assert!(shown.is_none_or(|shown| shown == data));
}

#[test]
fn colour_is_a_choice() {
    let folder = trained();
    let page = "statement fair.model.json";
    let plain = folder.succeed(page).stdout;
    let forced = folder.succeed(&format!("--color always {page}")).stdout;
    assert!(forced.contains(NOT_PRIVATE) && forced.contains("\u{1b}[1mLimits:\u{1b}[0m"), "{forced:?}");
    assert_eq!(stripped(&forced), plain);
    assert!(folder.succeed("train --color=always --help").stdout.contains(ESCAPE));
    let Some(shown) = on_terminal(&folder, page, 300, &[]) else { return };
    assert!(shown.contains(NOT_PRIVATE), "{shown:?}");
    for (arguments, variable) in [
        (page.to_owned(), ("NO_COLOR", "1")),
        (format!("{page} --color never"), ("A", "B")),
        (page.to_owned(), ("TERM", "dumb")),
    ] {
        // Machines that run tests set CI, which asks programs for colour.
        for others in [&[][..], &[("CI", "true")], &[("CLICOLOR", "1")]] {
            let variables = [&[variable], others].concat();
            let shown = on_terminal(&folder, &arguments, 300, &variables).unwrap();
            assert!(!shown.contains(ESCAPE) && shown.contains("NOT PRIVATE"), "{arguments} {variables:?}: {shown:?}");
        }
    }
}

#[test]
fn what_is_not_private_cannot_be_missed() {
    let folder = Folder::with("fair");
    for flags in ["", "--json", "--quiet", "--quiet --json"] {
        let outcome = folder
            .succeed(&format!("train fair.csv --epsilon 1 --steps 3 --seed 1 --overwrite --color always {flags}"));
        let last = outcome.stderr.lines().last().unwrap_or_default();
        assert!(last.contains(NOT_PRIVATE) && last.contains("Do not release this model"), "{flags}: {outcome:?}");
        assert!(flags.contains("json") || outcome.stdout.starts_with("Data set \"fair\": "), "{flags}: {outcome:?}");
        assert!(flags.contains("json") || outcome.stdout.contains(NOT_PRIVATE), "{flags}: {outcome:?}");
    }
    for arguments in ["evaluate fair.model.json fair.csv", "check fair.csv", "inspect fair.csv"] {
        let outcome = folder.succeed(&format!("{arguments} --color always -q"));
        assert!(outcome.stderr.contains(NOT_PRIVATE), "{outcome:?}");
    }
    let log = folder.succeed("ledger log fair.ledger.sqlite --color always").stdout;
    assert_eq!(log.matches(NOT_PRIVATE).count(), 4, "{log}");
    assert!(folder.succeed("ledger show fair.ledger.sqlite").stdout.contains("NOT PRIVATE"));
}

#[test]
fn quiet_says_results_and_charges_alone() {
    let folder = Folder::with("fair");
    let outcome = folder.succeed("train fair.csv --epsilon 1 -q");
    let said: Vec<&str> = outcome.stderr.lines().filter(|line| !line.contains("lies in memory")).collect();
    assert!(said.len() == 1 && said[0].contains("has spent rho"), "{outcome:?}");
    assert!(outcome.stdout.starts_with("In plain words") && outcome.stdout.contains("(1, 1e-5)"), "{outcome:?}");
    let loud = folder.succeed("train fair.csv --epsilon 1 --overwrite");
    assert!(loud.stderr.contains("lines read") && loud.stderr.contains("has spent rho"), "{loud:?}");
    let failed = folder.run("train none.csv --epsilon 1 --quiet");
    assert!(failed.code == Some(2) && failed.stderr.contains("--schema"), "{failed:?}");
    // Where most rows are lost, that is no small talk.
    folder.edit("fair.schema.json", "\"positive\": \"1\"", "\"positive\": \"7\", \"negative\": \"8\"");
    let lost = folder.run("train fair.csv --epsilon 1 --no-ledger --out lost.json -q");
    assert!(lost.stderr.contains("custodian-only"), "{lost:?}");
}

/// The options below each heading of a help page, in order.
fn sections(help: &str) -> Vec<(String, Vec<String>)> {
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for line in help.lines() {
        if line.ends_with(':') && !line.starts_with(' ') && line != "Examples:" {
            sections.push((line.trim_end_matches(':').into(), Vec::new()));
        }
        let option = line.trim_start().strip_prefix("-h, ").unwrap_or(line.trim_start());
        if let (true, Some((_, options))) = (option.starts_with("--"), sections.last_mut()) {
            let name: String = option.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            options.push(name);
        }
    }
    sections
}

#[test]
fn help_of_train_begins_with_the_ten_common_options() {
    let folder = Folder::new();
    let common = [
        "--epsilon",
        "--delta",
        "--schema",
        "--model",
        "--algorithm",
        "--adjacency",
        "--tune",
        "--out",
        "--ledger",
        "--json",
        "--help",
    ];
    let (short, long) = (folder.succeed("train -h").stdout, folder.succeed("train --help").stdout);
    let options = |help: &str| sections(help).into_iter().find(|(name, _)| name == "Options").unwrap().1;
    assert_eq!(options(&short), common);
    assert_eq!(options(&long), common);
    let names = |help: &str| sections(help).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(&short), ["Arguments", "Options", "Screen"]);
    for group in ["Model", "Budget and ledger", "Metrics on held-out rows", "Reading the data", "Files", "Running"] {
        assert!(names(&long).iter().any(|name| name == group), "{group}");
    }
    // Nothing stands in no group but the common ones, and nothing is left out of the long help.
    assert!(["--rho", "--checkpoint", "--clip", "--separator"].iter().all(|flag| long.contains(flag)));
}

#[test]
fn examples_in_help_fit_a_narrow_terminal_and_come_last() {
    let folder = Folder::new();
    for command in super::piping::COMMANDS {
        let mut run = folder.command(&format!("{command} --help"));
        run.env("COLUMNS", "80");
        let help = Outcome::of(run, command).stdout;
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{command}: {help}");
        let examples = help.find("Example").unwrap_or_else(|| panic!("{command} has no example"));
        assert!(!help[examples..].contains(":\n  -"), "options stand below the examples of {command}");
        // A shell takes them as they stand.
        let lines: Vec<&str> = help[examples..].lines().collect();
        for pair in lines.windows(2).filter(|pair| pair[0].ends_with('\\')) {
            assert!(pair[1].starts_with("      --"), "{command}: {pair:?}");
        }
    }
}

#[test]
fn completions_are_scripts_that_shells_take() {
    let folder = Folder::new();
    for (shell, check) in [
        ("bash", Some("bash -n")),
        ("zsh", Some("zsh -n")),
        ("fish", Some("fish --no-execute")),
        ("elvish", None),
        ("powershell", None),
    ] {
        let script = folder.succeed(&format!("completions {shell}")).stdout;
        assert!(["train", "epsilon", "completions"].iter().all(|word| script.contains(word)), "{shell}");
        folder.write("script", &script);
        let Some(check) = check else { continue };
        let (program, flag) = check.split_once(' ').unwrap();
        match Command::new(program).arg(flag).arg(folder.path("script")).output() {
            Ok(output) => assert!(output.status.success() && output.stderr.is_empty(), "{shell}: {output:?}"),
            Err(_) => eprintln!("skipped: there is no {program} here"),
        }
    }
    assert_eq!(folder.run("completions tcsh").code, Some(2));
}

#[test]
fn every_command_has_a_page_of_the_manual() {
    let folder = Folder::new();
    folder.succeed("man pages");
    for command in super::piping::COMMANDS {
        let name = ["rhograd"].into_iter().chain(command.split_whitespace()).collect::<Vec<_>>().join("-");
        let page = folder.text(&format!("pages/{name}.1"));
        assert!(page.contains(".SH NAME") && page.contains("Example"), "{name}: {page}");
        match Command::new("groff")
            .args(["-man", "-Tutf8", "-ww", "-z"])
            .arg(folder.path(&format!("pages/{name}.1")))
            .output()
        {
            Ok(output) => assert!(output.status.success() && output.stderr.is_empty(), "{name}: {output:?}"),
            Err(_) => eprintln!("skipped: there is no groff here"),
        }
    }
    assert_eq!(folder.succeed("man").stdout, folder.text("pages/rhograd.1"));
    // What a page names is there.
    assert!(!folder.text("pages/rhograd.1").contains("help(1)") && !folder.path("pages/rhograd-help.1").exists());
    folder.write("pages/rhograd.1", "mine");
    assert_eq!(folder.run("man pages").code, Some(2));
    assert_eq!(folder.text("pages/rhograd.1"), "mine");
    folder.succeed("man pages --overwrite");
    assert_ne!(folder.text("pages/rhograd.1"), "mine");
}
