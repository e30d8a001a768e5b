//! Other separators and decimal commas, rows from standard input, and predictions with columns of one's choice.

use std::fs::File;
use std::process::Stdio;

use super::ingest::{TRAIN, folder};
use super::support::{Folder, HEADER, Outcome};

/// The same rows with other signs; numbers of the trial have points, and nothing else has.
fn written(text: &str, separator: char, decimal: char) -> String {
    text.replace(',', "\u{0}").replace('.', &decimal.to_string()).replace('\u{0}', &separator.to_string())
}

#[track_caller]
fn model(folder: &Folder, data: &str, flags: &str) -> Vec<u8> {
    folder.succeed(&format!("train {data} {TRAIN} {flags}"));
    folder.bytes("m.json")
}

/// Runs a command with a file as its standard input.
fn fed(folder: &Folder, arguments: &str, input: &str) -> Outcome {
    let mut command = folder.command(arguments);
    command.stdin(Stdio::from(File::open(folder.path(input)).unwrap()));
    // A limit of time needs an input of its own.
    let output = command.output().unwrap();
    Outcome {
        arguments: arguments.into(),
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn rows_in_another_dialect_are_the_same_rows() {
    let folder = folder();
    let expected = model(&folder, "trial.csv", "");
    let ask = |data: &str, flags: &str| {
        ["predict m.json", "evaluate m.json", "inspect --name a"]
            .map(|command| folder.succeed(&format!("{command} {data} {flags}")).stdout)
    };
    let answers = ask("trial.csv", "");
    let checked = |data: &str, flags: &str| {
        let mut value = folder.succeed(&format!("check {data} --schema trial.schema.json --json {flags}")).json();
        value["outlook"]["seconds"] = 0.into();
        value["ledger"] = 0.into();
        value
    };
    let check = checked("trial.csv", "");
    let text = folder.text("trial.csv");
    for (separator, decimal, flags) in [
        (';', ',', "--separator ; --decimal ,"),
        ('\t', ',', "--separator tab --decimal ,"),
        ('\t', '.', "--separator \\t"),
        ('|', '.', "--separator |"),
        (';', '.', "--separator=; --decimal=."),
        (',', '.', "--separator , --decimal ."),
    ] {
        folder.write("other.csv", written(&text, separator, decimal));
        assert!(model(&folder, "other.csv", flags) == expected, "{flags}");
        assert_eq!(ask("other.csv", flags), answers, "{flags}");
        assert_eq!(checked("other.csv", flags), check, "{flags}");
        folder.write("other.csv.zst", zstd::encode_all(&*folder.bytes("other.csv"), 1).unwrap());
        assert!(model(&folder, "other.csv.zst", flags) == expected, "{flags}");
    }
    // Line ends of another system, cells in quotes, and a file that streams.
    let quoted = written(&text, ';', ',').replace("u;", "\"u\";").replace('\n', "\r\n");
    folder.write("quoted.csv", quoted);
    let flags = "--separator ; --decimal ,";
    assert!(model(&folder, "quoted.csv", flags) == expected);
    assert!(model(&folder, "quoted.csv", &format!("{flags} --memory-limit 1MB")) == expected);
    folder.write("commas.csv", text.replacen("5.00,", "\"5,00\",", 1));
    assert!(model(&folder, "commas.csv", "--separator , --decimal ,") != expected, "points are no decimals there");
}

#[test]
fn a_stray_separator_touches_its_own_row_alone() {
    let folder = folder();
    model(&folder, "trial.csv", "");
    let flags = "--separator ; --decimal ,";
    folder.write("other.csv", written(&folder.text("trial.csv"), ';', ','));
    let predict = || {
        let page = folder.succeed(&format!("predict m.json other.csv {flags}")).stdout;
        page.lines().map(String::from).collect::<Vec<_>>()
    };
    let whole = predict();
    let lines: Vec<String> = folder.text("other.csv").lines().map(String::from).collect();
    for (at, stray) in [(1, ";"), (7, ";;;;;;"), (1500, "\""), (2999, "\";"), (3000, "\r;"), (40, "\u{18}"), (41, "\0")]
    {
        let mut touched = lines.clone();
        touched[at] = format!("{stray}{}", touched[at]);
        folder.write("other.csv", touched.join("\n"));
        let now = predict();
        assert_eq!(now.len(), whole.len(), "{stray:?}");
        let changed: Vec<usize> = (0..now.len()).filter(|&line| now[line] != whole[line]).collect();
        assert!(changed.iter().all(|&line| line == at), "{stray:?} at {at}: {changed:?}");
    }
    folder.write("other.csv", lines.join("\n"));
    assert_eq!(predict(), whole);
}

#[test]
fn a_line_that_is_too_long_is_no_record_in_any_dialect() {
    let folder = folder();
    model(&folder, "trial.csv", "");
    let mut lines: Vec<String> = written(&folder.text("trial.csv"), ';', ',').lines().map(String::from).collect();
    lines[5] = format!("{};{}", "9".repeat(3 << 20), lines[5]);
    lines[6] = format!("\"{}\"{}", "\"".repeat(3 << 20), lines[6]);
    folder.write("other.csv", lines.join("\n"));
    let page = folder.succeed("predict m.json other.csv --separator ; --decimal ,").stdout;
    let shown: Vec<&str> = page.lines().collect();
    assert_eq!((shown.len(), shown[5], shown[6]), (3001, ",", ","));
    assert_ne!(shown[7], ",");
}

#[test]
fn a_point_is_no_decimal_beside_a_comma() {
    let folder = folder();
    let mut lines: Vec<String> = written(&folder.text("trial.csv"), ';', ',').lines().map(String::from).collect();
    lines[1] = format!("1.500;{}", lines[1].split_once(';').unwrap().1);
    folder.write("other.csv", lines.join("\n"));
    let check = "check other.csv --schema trial.schema.json --separator ; --decimal , --json";
    let found = folder.succeed(check).json()["findings"].to_string();
    assert!(found.contains("\\\"x\\\"") && found.contains("1 "), "{found}");
}

#[test]
fn dialects_that_mean_nothing_are_refused() {
    let folder = folder();
    folder.write("a.svm", "1 1:2\n");
    for (arguments, needles) in [
        (format!("train trial.csv {TRAIN} --separator x"), vec!["--separator", "'x'", "tab"]),
        (format!("train trial.csv {TRAIN} --separator .,"), vec!["--separator", "one character"]),
        (format!("train trial.csv {TRAIN} --separator ; --decimal ;"), vec!["--decimal", "a point or a comma"]),
        (format!("train trial.csv {TRAIN} --decimal ,"), vec!["--separator", "is missing beside a decimal comma"]),
        (format!("train trial.csv {TRAIN} --separator ;"), vec!["lacks this column"]),
        (format!("train a.svm {TRAIN} --separator ;"), vec!["libsvm", "leave --separator"]),
    ] {
        let outcome = folder.run(&arguments);
        assert!(outcome.code == Some(2) && needles.iter().all(|it| outcome.stderr.contains(it)), "{outcome:?}");
    }
    folder.write("other.csv", written(&folder.text("trial.csv"), ';', '.'));
    let outcome = folder.run(&format!("train other.csv {TRAIN}"));
    assert!(outcome.code == Some(2) && outcome.stderr.contains("--separator names another sign"), "{outcome:?}");
}

#[test]
fn a_cache_and_a_stopped_run_know_their_dialect() {
    let folder = folder();
    folder.write("other.csv", written(&folder.text("trial.csv"), ';', ','));
    let said =
        |flags: &str| folder.succeed(&format!("train other.csv {TRAIN} --cache auto --separator ; {flags}")).stderr;
    assert!(said("--decimal ,").contains("rows kept in the cache"));
    assert!(said("--decimal ,").contains("rows read from the cache"));
    assert!(said("").contains("made anew"), "the same header and other numbers");
}

#[cfg(unix)]
#[test]
fn standard_input_is_a_file_of_rows() {
    let folder = folder();
    let expected = model(&folder, "trial.csv", "");
    let outcome = fed(&folder, &format!("train - {TRAIN}"), "trial.csv");
    assert!(outcome.code == Some(0) && folder.bytes("m.json") == expected, "{outcome:?}");
    for command in ["predict m.json", "evaluate m.json", "inspect --name a"] {
        let outcome = fed(&folder, &format!("{command} -"), "trial.csv");
        assert_eq!((outcome.code, outcome.stdout), (Some(0), folder.succeed(&format!("{command} trial.csv")).stdout));
    }
    let checked = fed(&folder, "check - --schema trial.schema.json", "trial.csv");
    assert!(checked.code == Some(0) && checked.stdout.contains("ledger     to be named by --ledger"), "{checked:?}");
    folder.write("other.csv", written(&folder.text("trial.csv"), '\t', ','));
    let outcome = fed(&folder, &format!("train - {TRAIN} --separator tab --decimal ,"), "other.csv");
    assert!(outcome.code == Some(0) && folder.bytes("m.json") == expected, "{outcome:?}");
}

/// A file that is redirected has a length and times like any other, and still nothing lies beside it.
#[cfg(unix)]
#[test]
fn what_lies_beside_standard_input_must_be_named() {
    let folder = folder();
    for (arguments, needles) in [
        ("train - --epsilon 1 --no-ledger", vec!["--schema: is missing", "name the schema"]),
        ("train - --epsilon 1 --schema trial.schema.json", vec!["--ledger: is missing"]),
        ("inspect -", vec!["--name: is missing"]),
        ("inspect - --epsilon 1", vec!["--ledger: is missing"]),
        ("inspect - --epsilon 1 --ledger l.sqlite", vec!["--name: is missing"]),
        (
            "train - --epsilon 1 --schema trial.schema.json --ledger l.sqlite --memory-limit 1GB",
            vec!["--memory-limit", "store the rows in a file"],
        ),
        ("train - --epsilon 1 --schema trial.schema.json --ledger l.sqlite --cache auto", vec!["--cache"]),
    ] {
        let before = folder.names();
        let outcome = fed(&folder, arguments, "trial.csv");
        assert!(outcome.code == Some(2) && needles.iter().all(|it| outcome.stderr.contains(it)), "{outcome:?}");
        assert_eq!(folder.names(), before, "{arguments}");
    }
}

#[test]
fn predictions_have_the_columns_of_choice() {
    let folder = folder();
    model(&folder, "trial.csv", "");
    folder.write("new.csv", format!("id,label,\"a,b\",{HEADER}7,old,p,1,0,u,n,yes\n8,new,q,9,0.5,v,n,no\n"));
    let page = |flags: &str| folder.succeed(&format!("predict m.json new.csv {flags}")).stdout;
    let head = |flags: &str| page(flags).lines().next().unwrap().to_owned();
    assert_eq!(head(""), "label,probability");
    assert_eq!(head("--columns id,note"), "id,note,label,probability");
    assert_eq!(head("--columns id,label --label-column risk"), "id,label,risk,probability");
    assert_eq!(head("--columns note --keep a,b"), "note,\"a,b\",label,probability");
    let chosen = page("--columns id --label-column risk");
    let plain = page("");
    for (chosen, (plain, id)) in chosen.lines().skip(1).zip(plain.lines().skip(1).zip(["7", "8"])) {
        assert_eq!(chosen, format!("{id},{plain}"));
    }
    // Copied as they stand, also where a decimal comma makes numbers of them.
    folder.write("codes.csv", written(&format!("id,{HEADER}1.500,1,0,u,n,yes\n31.12,9,0.5,v,n,no\n"), ';', '.'));
    let codes =
        |ids: &str| ids.lines().skip(1).map(|line| line.rsplitn(3, ',').last().unwrap().to_owned()).collect::<Vec<_>>();
    for decimal in [".", ","] {
        let page = folder.succeed(&format!("predict m.json codes.csv --separator ; --decimal {decimal} --columns id"));
        assert_eq!(codes(&page.stdout), ["1.500", "31.12"], "{decimal}");
    }
    for (flags, needles) in [
        ("--columns id,id", vec!["--columns", "twice"]),
        ("--columns label", vec!["--columns", "\"label\"", "--label-column"]),
        ("--columns who", vec!["lacks this column", "\"who\""]),
        ("--label-column probability", vec!["--label-column", "another column"]),
        ("--columns id --label-column id", vec!["--columns", "\"id\""]),
    ] {
        let outcome = folder.run(&format!("predict m.json new.csv {flags}"));
        assert!(outcome.code == Some(2) && needles.iter().all(|it| outcome.stderr.contains(it)), "{outcome:?}");
    }
    let out = folder.succeed("predict m.json new.csv --out -");
    assert_eq!(out.stdout, plain);
}
