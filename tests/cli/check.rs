//! What the custodian is told before anything is paid.

use serde_json::Value;

use super::support::{Folder, HEADER, PROGRAM, SCHEMA, rows};

/// Good rows, then one line of each kind that does not fit [`SCHEMA`].
fn odd() -> String {
    let mut text = rows(60);
    for line in [
        "\"1,5\",0,u,n,yes", // 62
        "tall,0,u,n,yes",    // 63
        ",0,u,n,yes",        // 64
        "11,0,u,n,yes",      // 65
        "-1,0,u,n,yes",      // 66
        "1,0,green,n,yes",   // 67
        "1,0,u,n,maybe",     // 68
        "1,0,u",             // 69
        "1,0,u,n,yes,7",     // 70
        "1,0,u,\"a line",    // 71
        "break\",yes",       // 72
        "1,0,u,n,",          // 73
    ] {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// What `check` and `train` say of [`odd`], column by column.
const SAID: [&str; 10] = [
    "\"x\": 1 of 66 cells (1.52%) hold a number whose decimal sign is the other one of comma and point, which is not read (see --decimal); the first is line 62: \"1,5\"",
    "\"x\": 1 of 66 cells (1.52%) hold text where a number belongs; the first is line 63: \"tall\"",
    "\"x\": 1 of 66 cells (1.52%) hold nothing; the first is line 64",
    "\"x\": 1 of 66 cells (1.52%) hold a number above the upper bound; the first is line 65: \"11\"",
    "\"x\": 1 of 66 cells (1.52%) hold a number below the lower bound; the first is line 66: \"-1\"",
    "\"c\": 1 of 66 cells (1.52%) hold a value that the schema does not declare; the first is line 67: \"green\"",
    "\"y\": 1 of 72 cells (1.39%) hold a label that the schema does not declare, so their rows contribute nothing; the first is line 68: \"maybe\"; met: \"maybe\" once",
    "1 of 72 lines (1.39%) are no records and contribute nothing: fewer cells than the header; the first is line 69",
    "1 of 72 lines (1.39%) are no records and contribute nothing: more cells than the header",
    "2 of 72 lines (2.78%) are no records and contribute nothing: a quote that is not closed on its line: a line break inside quotes, for instance; the first is line 71",
];

#[test]
fn what_does_not_fit_is_named_by_column_with_a_line_and_a_cell() {
    let folder = Folder::trial(SCHEMA, odd());
    let before = folder.contents();
    let checked = folder.succeed("check trial.csv");
    for said in SAID {
        assert!(checked.stdout.contains(said), "{said:?} is not in {checked:?}");
    }
    for said in [
        "72 lines, of which 6 are lost",
        "labels met: \"yes\"",
        "\"maybe\" once",
        "columns that no model would see: \"note\"",
        "1000 rows are declared, and there are 72",
        "undeclared values that were met: \"green\" once",
        "algorithm  ",
        "noise      multiplier ",
        "epsilon 1 at delta ",
        "trial.ledger.sqlite, which the first run would make",
        "time       about ",
    ] {
        assert!(checked.stdout.contains(said), "{said:?} is not in {checked:?}");
    }
    assert!(checked.stderr.contains("custodian-only"), "{checked:?}");
    assert_eq!(folder.contents(), before, "a check writes nothing");
    // The worst comes first.
    let at = |text: &str| checked.stdout.find(text).unwrap();
    assert!(at("1000 rows are declared") < at("2 of 72 lines") && at("2 of 72 lines") < at("1 of 72 lines"));
}

#[test]
fn a_run_says_the_same_before_its_charge_and_keeps_it_off_standard_output() {
    let folder = Folder::trial(SCHEMA, odd());
    let trained = folder.succeed("train trial.csv --epsilon 1");
    for said in SAID.map(without_cell) {
        assert!(trained.stderr.contains(&format!("custodian-only: {said}")), "{said:?} is not in {trained:?}");
    }
    for count in ["of 66 cells", "of 72"] {
        assert!(!trained.stdout.contains(count), "{count}: {trained:?}");
    }
    // Standard error is kept in more places than anybody knows, so only a check shows cells.
    for cell in ["maybe", "green", "tall", "1,5"] {
        assert!(!trained.stdout.contains(cell) && !trained.stderr.contains(cell), "{cell}: {trained:?}");
    }
    let plain = Folder::trial(SCHEMA, rows(60)).succeed("train trial.csv --epsilon 1");
    assert_eq!(plain.stderr.matches("custodian-only").count(), 1, "one line where everything fits: {plain:?}");
}

#[test]
fn a_cache_and_a_stream_report_what_the_text_does() {
    let folder = Folder::trial(SCHEMA, odd());
    for extra in ["--cache a.rows", "--cache a.rows", "--memory-limit 1MB"] {
        folder.write("m.model.json", "");
        folder.remove("m.model.json");
        let trained = folder.succeed(&format!("train trial.csv --epsilon 1 --no-ledger --out m.model.json {extra}"));
        let _ = (std::fs::remove_file(folder.path("m.model.json")), std::fs::remove_file(folder.path("m.log.jsonl")));
        for said in SAID.map(without_cell) {
            assert!(trained.stderr.contains(said), "{said:?} is not in {trained:?}");
        }
    }
}

/// A finding without its example.
fn without_cell(said: &'static str) -> &'static str {
    said.split_once(": \"").filter(|(text, _)| text.contains("is line")).map_or(said, |(text, _)| text)
}

#[test]
fn json_holds_every_count() {
    let folder = Folder::trial(SCHEMA, odd());
    let checked = folder.succeed("check trial.csv --json").json();
    assert_eq!((&checked["rows"], &checked["lost"], &checked["custodian_only"]), (&72.into(), &6.into(), &true.into()));
    assert_eq!(checked["ignored"], serde_json::json!(["note"]));
    assert_eq!(checked["report"]["columns"][0]["decimal-comma"]["cell"], "1,5");
    assert_eq!(checked["report"]["lost"]["open-quote"]["count"], 2);
    assert!(checked["outlook"]["steps"].as_u64().unwrap() > 0 && checked["findings"].as_array().unwrap().len() >= 10);
}

#[test]
fn nothing_in_a_row_decides_the_exit_code_of_a_check() {
    for line in ["1,0,u,n,maybe", "\"", "", "\u{0}", &",".repeat(100), &"x".repeat(2_000_000), "PAR1"] {
        Folder::trial(SCHEMA, format!("{HEADER}{line}\n")).succeed("check trial.csv");
        Folder::trial(SCHEMA, format!("{HEADER}{line}")).succeed("check trial.csv");
    }
    let empty = Folder::trial(SCHEMA, HEADER).succeed("check trial.csv");
    assert!(empty.stdout.contains("there are no rows"), "{empty:?}");
}

#[test]
fn bytes_codes_and_marks_are_noticed() {
    let schema = r#"{"name":"trial","task":"classification","target":"y","positive":"1",
        "columns":{"code":{"type":"numeric","lower":0,"upper":9},"x":{"type":"numeric","lower":0,"upper":1},
        "k":{"type":"categorical","values":["1.0","2.0","nan"]}}}"#;
    let mut data = b"code,x,k,y\n".to_vec();
    for i in 0..50 {
        data.extend_from_slice(format!("{},0.{i:02},1.0,{}\n", [1, 2, 7][i % 3], i % 2).as_bytes());
    }
    data.extend_from_slice(b"1,caf\xe9,1.0,1\n");
    let checked = Folder::trial(schema, data).succeed("check trial.csv");
    for said in [
        "1 of 51 lines (1.96%) hold bytes that are not UTF-8 (Latin-1?); the first is line 52",
        "\"x\": 1 of 51 cells (1.96%) hold bytes that are not UTF-8",
        "\"code\": only the whole numbers 1, 2, 7 were met",
        "\"k\": the declared values are numbers and a mark of missing ones",
    ] {
        assert!(checked.stdout.contains(said), "{said:?} is not in {checked:?}");
    }
    assert!(!checked.stdout.contains("\"x\": only the whole"), "{checked:?}");
}

/// Every other label counts as the negative one where none is declared, so a misspelt one loses no row and shows nowhere else.
#[test]
fn a_positive_label_that_no_row_has_is_noticed() {
    let folder = Folder::with("fair");
    let mut schema = folder.json("fair.schema.json");
    schema.as_object_mut().unwrap().remove("negative");
    for (label, is_there) in [("yes", false), ("1", true)] {
        schema["positive"] = label.into();
        folder.write("fair.schema.json", schema.to_string());
        let checked = folder.succeed("check fair.csv");
        assert_eq!(checked.stdout.contains("no row has the positive label"), !is_there, "{checked:?}");
        let trained = folder.succeed("train fair.csv --epsilon 1 --steps 3 --overwrite");
        assert_eq!(
            trained.stderr.contains("custodian-only: no row has the positive label \"yes\""),
            !is_there,
            "{trained:?}"
        );
    }
}

#[test]
fn a_plan_of_very_many_steps_is_called_one() {
    let folder = Folder::with("fair");
    let checked = folder.succeed("check fair.csv --epsilon 1 --algorithm dp-gd-theory --rows 6366 --radius 10");
    assert!(checked.stdout.contains("so many follow from theory"), "{checked:?}");
    let few = folder.succeed("check fair.csv");
    assert!(few.stdout.contains("everything fits the schema") && !few.stdout.contains("so many"), "{few:?}");
}

#[test]
fn a_ledger_is_read_and_left_as_it_is() {
    let folder = Folder::trial(SCHEMA, rows(60));
    folder.succeed("train trial.csv --epsilon 1");
    let before = folder.contents();
    let checked = folder.succeed("check trial.csv");
    assert!(checked.stdout.contains("has spent rho") && checked.stdout.contains("in 1 run,"), "{checked:?}");
    assert_eq!(folder.contents(), before);
}

#[test]
fn a_misspelt_column_gets_a_suggestion() {
    let folder = Folder::trial(&SCHEMA.replace("\"z\":", "\"Zed\":").replace("\"x\":", "\"ex\":"), rows(9));
    folder.edit("trial.csv", HEADER, "Ex,zed,c,note,y\n");
    for command in ["check trial.csv", "train trial.csv --epsilon 1"] {
        let refused = folder.run(command);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        for said in ["\"ex\" may be \"Ex\" in the file", "\"Zed\" may be \"zed\" in the file"] {
            assert!(refused.stderr.contains(said), "{said:?} is not in {refused:?}");
        }
    }
}

#[test]
fn a_first_line_that_is_a_record_is_never_published() {
    let folder = Folder::new();
    folder.write("wages.csv", "Ann Smith,41,52000,yes\nBob,30,41000,no\nCem,29,39000,no\n");
    for command in ["inspect wages.csv --epsilon 1", "inspect wages.csv --rho 0.1 --no-ledger"] {
        let refused = folder.run(command);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused:?}");
        assert!(refused.stderr.contains("--header yes") && refused.stderr.contains("cell 2"), "{refused:?}");
        for cell in ["Ann", "41", "52000"] {
            assert!(!refused.stderr.contains(cell), "{cell}: {refused:?}");
        }
    }
    assert_eq!(folder.names(), ["wages.csv"], "no ledger was made");
    folder.write("empty.csv", "a,,b\n1,2,yes\n");
    assert_eq!(folder.run("inspect empty.csv --epsilon 1").code, Some(2));
    // Columns may be called like numbers, if somebody says so.
    let rows: String = (0..2000).map(|i| format!("{},{}\n", i % 10, i % 2)).collect();
    folder.write("numbers.csv", format!("2024,label\n{rows}"));
    assert_eq!(folder.run("inspect numbers.csv --epsilon 5").code, Some(2));
    let drafted = folder.succeed("inspect numbers.csv --epsilon 5 --header yes --no-ledger");
    assert!(drafted.stdout.contains("2024"), "{drafted:?}");
}

#[test]
fn a_draft_for_the_custodian_says_what_it_left_out() {
    let folder = Folder::new();
    let mut data = b"size,age,name,y\n".to_vec();
    for i in 0..40 {
        data.extend_from_slice(format!("\"1,{i}\",{},n{},{}\n", ["NaN", "31", "44"][i % 3], i % 4, i % 2).as_bytes());
    }
    data.extend_from_slice(b"1,2\n\"2,5\",30,\"two\nlines\",1\n\"2,5\",30,Ren\xe9,1\n");
    folder.write("a.csv", data);
    let drafted = folder.succeed("inspect a.csv");
    for said in [
        "3 of 44 lines have another number of cells than the header",
        "the first is line 42",
        "\"size\": 41 of 41 cells hold a number whose decimal sign is the other one of comma and point",
        "\"age\": 14 of 41 cells hold a mark such as NaN or NA, which is read as a missing number; the first is line 2",
        "\"name\": 1 of 41 cells hold bytes that are not UTF-8",
    ] {
        assert!(drafted.stderr.contains(said), "{said:?} is not in {drafted:?}");
    }
    let schema: Value = drafted.json();
    assert_eq!(schema["columns"]["age"]["type"], "numeric", "marks of missing numbers make no categories");
}

#[test]
fn labels_that_a_model_does_not_know_are_named_when_it_is_evaluated() {
    let folder = Folder::trial(SCHEMA, rows(300));
    folder.succeed("train trial.csv --epsilon 1 --no-ledger");
    folder.write("new.csv", format!("{}1,0,u,n,Yes\n1,0,u,n,Yes\n", rows(30)));
    folder.refuse(
        "evaluate trial.model.json new.csv",
        2,
        &["custodian-only: labels that the model does not know: \"Yes\" 2 times"],
    );
    let folder = Folder::trial(&SCHEMA.replace(r#","negative":"no""#, ""), rows(300));
    folder.succeed("train trial.csv --epsilon 1 --no-ledger");
    folder.write("new.csv", format!("{}1,0,u,n,Yes\n", rows(30)));
    let evaluated = folder.succeed("evaluate trial.model.json new.csv");
    assert!(
        evaluated.stderr.contains("several labels count as not the positive one")
            && evaluated.stderr.contains("\"Yes\" once")
    );
}

#[test]
fn a_line_that_is_too_long_gets_no_prediction() {
    let folder = Folder::trial(SCHEMA, rows(300));
    folder.succeed("train trial.csv --epsilon 1 --no-ledger");
    let good = folder.succeed("predict trial.model.json trial.csv").stdout;
    let lines = rows(300);
    let (head, tail) = lines.split_at(lines.find("n7,").unwrap());
    let at = head.rfind('\n').unwrap() + 1;
    let long = format!("1,0,u,{},yes\n", "n".repeat(1_100_000));
    folder.write("long.csv", [&head[..at], long.as_str(), &head[at..], tail].concat());
    let predicted = folder.succeed("predict trial.model.json long.csv").stdout;
    let mut expected: Vec<&str> = good.split('\n').collect();
    expected.insert(head[..at].matches('\n').count(), ",");
    assert!(predicted.split('\n').collect::<Vec<_>>() == expected);
    let checked = folder.succeed("check long.csv --schema trial.schema.json");
    assert!(checked.stdout.contains("too long a line; the first is line 9"), "{checked:?}");
}

#[cfg(unix)]
#[test]
fn a_line_of_a_third_of_a_gigabyte_needs_no_memory_of_its_size() {
    let folder = Folder::trial(SCHEMA, rows(300));
    folder.succeed("train trial.csv --epsilon 1 --no-ledger");
    // Packed it takes a few kilobytes.
    let mut packed = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    std::io::Write::write_all(&mut packed, rows(40).as_bytes()).unwrap();
    let commas = vec![b','; 1 << 20];
    (0..320).for_each(|_| std::io::Write::write_all(&mut packed, &commas).unwrap());
    std::io::Write::write_all(&mut packed, b"\n1,0,u,n,yes\n").unwrap();
    folder.write("trial.csv.zst", packed.finish().unwrap());
    for command in [
        "train trial.csv.zst --epsilon 1 --no-ledger --out m.json --log m.log",
        "predict trial.model.json trial.csv.zst --out p.csv",
        "check trial.csv.zst",
        "inspect trial.csv.zst",
    ] {
        let limited = format!("ulimit -v 800000; exec {PROGRAM} {command}");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &limited]).current_dir(folder.path("")).env("TMPDIR", folder.path("tmp"));
        let outcome = super::support::Outcome::of(shell, command);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
    }
    let page = folder.text("p.csv");
    assert_eq!((page.lines().count(), page.lines().nth(41)), (43, Some(",")));
}

/// Runs a command on a terminal, with an answer to its question; its exit code and what it showed.
#[cfg(target_os = "linux")]
fn on_a_terminal(folder: &Folder, command: &str, answer: &str) -> Option<(Option<i32>, String)> {
    let typed = format!("{answer}\n");
    let mut script = std::process::Command::new("script");
    let inner = format!("{PROGRAM} {command}");
    script.args(["-qec", &inner, "/dev/null"]).current_dir(folder.path("")).env("TMPDIR", folder.path("tmp"));
    let output = assert_cmd::Command::from_std(script).write_stdin(typed).output();
    match output {
        Ok(output) => Some((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())),
        Err(_) => {
            eprintln!("skipped: there is no `script` to make a terminal");
            None
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_somebody_is_asked_where_most_is_lost_and_in_a_pipe_nobody() {
    let bad = rows(60).replace(",yes\n", ",Yes\n").replace(",no\n", ",No\n");
    let folder = Folder::trial(SCHEMA, &bad);
    let before = folder.contents();
    let Some((code, shown)) = on_a_terminal(&folder, "train trial.csv --epsilon 1", "n") else { return };
    assert!(shown.contains("Train all the same?") && shown.contains("nothing was charged"), "{shown}");
    assert_eq!((code, folder.contents()), (Some(1), before), "{shown}");
    let (code, shown) = on_a_terminal(&folder, "train trial.csv --epsilon 1 --out a.json --no-ledger", "y").unwrap();
    assert_eq!(code, Some(0), "{shown}");
    let (code, shown) =
        on_a_terminal(&folder, "train trial.csv --epsilon 1 --out b.json --no-ledger --yes", "n").unwrap();
    assert!(code == Some(0) && !shown.contains("all the same"), "{shown}");
    // In a pipe the same data train like any other.
    let piped = folder.succeed("train trial.csv --epsilon 1 --out c.json --no-ledger");
    assert!(!piped.stderr.contains("all the same"), "{piped:?}");
    // Where things fit nobody is asked.
    let good = Folder::trial(SCHEMA, rows(60));
    let (code, shown) = on_a_terminal(&good, "train trial.csv --epsilon 1", "n").unwrap();
    assert!(code == Some(0) && !shown.contains("all the same"), "{shown}");
}
