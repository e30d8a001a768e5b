//! `summarize`: counts, means, medians and histograms, from the command line.

use crate::support::{Folder, number};

#[test]
fn a_summary_is_written_charged_and_verified() {
    let folder = Folder::with("fair");
    let made = folder.succeed("summarize fair.csv count mean:age median:age histogram:occupation --epsilon 1");
    for words in ["count: ", "mean:age: ", "histogram:occupation, noise", "Limits:", "fair.summary.json"] {
        assert!(made.stdout.contains(words), "{made:?}");
    }
    assert!(made.stderr.contains("charged to fair.ledger.sqlite"), "{made:?}");
    let file = folder.json("fair.summary.json");
    assert!(number(&file, "/answers/1/answer/mean") > 28.5 && number(&file, "/answers/1/answer/mean") < 29.7, "{file}");
    assert_eq!((&file["dp"], file["answers"].as_array().unwrap().len()), (&true.into(), 4));
    let spent = folder.spending("fair.ledger.sqlite");
    assert_eq!((&spent["runs"], &spent["completed"]), (&1.into(), &1.into()));
    let verified = folder.succeed("verify fair.summary.json --ledger fair.ledger.sqlite");
    assert!(verified.stdout.starts_with("answers authenticated by the ledger"), "{verified:?}");
    folder.refuse("verify fair.summary.json --log x", 2, &["--log", "summary"]);

    // It stands in the way of another one, before anything is charged.
    folder.refuse("summarize fair.csv count --epsilon 1", 2, &["fair.summary.json", "--overwrite"]);
    assert_eq!(folder.spending("fair.ledger.sqlite")["runs"], 1);
    folder.edit("fair.summary.json", "\"epsilon\": \"", "\"epsilon\": \"0");
    assert_eq!(folder.run("verify fair.summary.json").code, Some(1));
}

#[test]
fn laplace_noise_needs_no_delta_and_says_so() {
    let folder = Folder::with("fair");
    let made = folder.succeed("summarize fair.csv count first-above:occupation:500 --epsilon 1 --noise laplace --json");
    let file = made.json();
    assert_eq!((&file["delta"], &file["epsilon"]), (&"0".into(), &"1".into()), "{file}");
    assert!(file["statement"].as_str().unwrap().contains("1-differentially private (delta is 0)"), "{file}");
    assert!(!file["in_plain_words"].as_str().unwrap().contains("plus a probability"), "{file}");
    assert_eq!(file["answers"][1]["answer"]["first"], "2");
    folder.refuse(
        "summarize fair.csv stable-median:age:1 --epsilon 1 --noise laplace --overwrite",
        2,
        &["--noise", "median"],
    );
    folder.refuse("summarize fair.csv count --epsilon 1 --delta 1e-6 --noise laplace --overwrite", 2, &["--delta"]);
    assert_eq!(folder.spending("fair.ledger.sqlite")["runs"], 1);
}

#[test]
fn what_is_wrong_is_named_and_costs_nothing() {
    let folder = Folder::with("fair");
    for (arguments, words) in [
        ("summarize fair.csv mean:age", &["--epsilon"][..]),
        ("summarize fair.csv mode:age --epsilon 1", &["mode:age", "first-above"]),
        ("summarize fair.csv mean:height --epsilon 1", &["mean:height", "columns"]),
        ("summarize fair.csv mean:occupation --epsilon 1", &["mean:occupation", "histogram"]),
        ("summarize fair.csv --epsilon 1", &["STATISTIC"]),
        ("summarize fair.csv count --epsilon -1", &["--epsilon"]),
        ("summarize fair.csv count --epsilon 1 --out no/such/folder.json", &["no/such"]),
        ("summarize missing.csv count --epsilon 1", &["--schema"]),
        ("summarize fair.csv quantile:age:0.00001 --epsilon 1", &["thousandths"]),
        ("summarize fair.csv stable-median:age:1e6 --epsilon 1", &["no two numbers"]),
        ("summarize fair.csv count --epsilon 1 --overwrite --out fair.csv", &["--out", "the data"]),
        ("summarize fair.csv count --epsilon 1 --overwrite --out fair.schema.json", &["--out", "the schema"]),
        ("summarize fair.csv count --epsilon 1 --overwrite --ledger l --out l", &["--out", "the ledger"]),
        ("summarize fair.csv count --epsilon 1 --overwrite --ledger l --out l-wal", &["--out", "the ledger"]),
        ("summarize fair.csv count --epsilon 1 --overwrite --out o --checkpoint o", &["--out", "the checkpoint"]),
        ("summarize fair.csv count --epsilon 1 --checkpoint fair.csv", &["--checkpoint", "the data"]),
    ] {
        folder.refuse(arguments, 2, words);
    }
    assert!(
        folder.names().iter().all(|name| name.starts_with("fair.csv") || name.starts_with("fair.schema")),
        "{:?}",
        folder.names()
    );
    // A file that cannot be read, and a column that the file lacks.
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, folder.text("fair.csv").as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    folder.write("packed.csv.gz", &packed[..packed.len() / 2]);
    let asked = "summarize packed.csv.gz count --epsilon 1 --schema fair.schema.json --ledger g.sqlite --out g.json";
    folder.refuse(asked, 2, &["packed.csv.gz"]);
    folder.write("packed.csv.gz", &packed);
    folder.succeed(asked);
    assert_eq!(folder.spending("g.sqlite")["runs"], 1);
    // A median lies where most numbers are, however wide the bounds.
    let text =
        "income,y\n".to_owned() + &(0..5000).map(|i| format!("{},{}\n", 20_000 + 16 * i, i % 2)).collect::<String>();
    folder.write("wide.csv", text);
    folder.write(
        "wide.schema.json",
        r#"{"name": "wide", "task": "classification", "target": "y", "positive": "1",
            "columns": {"income": {"type": "numeric", "lower": 0, "upper": 1e9}}}"#,
    );
    let made = folder.succeed("summarize wide.csv median:income --epsilon 1 --seed 1 --no-ledger --json").json();
    assert!(number(&made, "/answers/0/answer/quantile") < 500_000.0, "{made}");
    folder.edit("fair.csv", "age,", "years,");
    folder.refuse("summarize fair.csv mean:age --epsilon 1", 2, &["age"]);
}

#[test]
fn a_seeded_summary_is_reproducible_and_not_private() {
    let folder = Folder::with("fair");
    let of = |out: &str| {
        folder.succeed(&format!("summarize fair.csv mean:age count --rho 0.1 --seed 7 --no-ledger --out {out}"))
    };
    let first = of("a.json");
    assert!(first.stdout.contains("NOT PRIVATE") && first.stderr.contains("no ledger"), "{first:?}");
    of("b.json");
    assert_eq!(folder.text("a.json"), folder.text("b.json"));
    let verified = folder.succeed("verify a.json");
    assert!(verified.stdout.contains("NOT PRIVATE") && verified.stdout.contains("not authenticated"), "{verified:?}");
    let quiet = folder.succeed("summarize fair.csv count --epsilon 1 -q --no-ledger --out c.json");
    assert!(quiet.stdout.contains("count: ") && quiet.stderr.contains("no ledger"), "{quiet:?}");
}

#[test]
fn rows_come_by_a_pipe_with_a_name_for_all_that_lies_beside() {
    let folder = Folder::with("fair");
    let data = folder.bytes("fair.csv");
    let mut command =
        folder.command("summarize - count --epsilon 1 --schema fair.schema.json --ledger l.sqlite --out s.json");
    let mut child = command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &data).unwrap();
    assert!(child.wait().unwrap().success());
    folder.succeed("verify s.json --ledger l.sqlite");
    folder.refuse("summarize - count --epsilon 1 --schema fair.schema.json", 2, &["--ledger"]);
}
