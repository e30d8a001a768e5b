//! What a model says of itself, from the command line: tables, pictures, and contributions to predictions.

use super::support::{Folder, rows};

/// Schema of [`rows`]; one value that a page must not obey.
const SCHEMA: &str = r#"{"name":"trial","task":"classification","target":"y","positive":"yes","negative":"no",
    "columns":{"x":{"type":"numeric","lower":0,"upper":10},"z":{"type":"numeric","lower":-1,"upper":1},
    "c":{"type":"categorical","values":["u","v","w","<script>&\""]}}}"#;

fn folder(flags: &str) -> Folder {
    let folder = Folder::trial(SCHEMA, rows(3000));
    folder.succeed(&format!("train trial.csv --epsilon 8 --no-ledger --out m.json {flags}"));
    folder
}

#[test]
fn tables_and_pictures_show_every_column() {
    for (flags, bands) in
        [("--features additive", "noise of the steps"), ("--features rich", "no bands"), ("", "sampling")]
    {
        let folder = folder(flags);
        let page = folder.succeed("explain m.json --out shapes.html").stdout;
        assert!(page.contains("log-odds of y = yes") && page.contains(bands), "{page}");
        assert!(["  x ", "  z ", "  c "].iter().all(|name| page.contains(name)), "{page}");
        assert_eq!(page.contains("x x z"), flags.contains("rich"), "{page}");
        let html = folder.text("shapes.html");
        let pairs = if flags.contains("rich") { 3 } else { 0 };
        assert_eq!(html.matches("<svg").count(), 3 + pairs, "{flags}");
        assert!(!html.contains("<script") && html.contains("&lt;script&gt;&amp;"));
        assert!(!html.contains(" src=") && !html.contains("<link"), "nothing is fetched");
        folder.succeed("explain m.json --out shapes.svg --columns x,c --pairs 0");
        let svg = folder.text("shapes.svg");
        assert!(
            svg.starts_with("<svg width=\"760\" height=\"270\"") && svg.contains("x (") && !svg.contains("z ("),
            "{flags}"
        );
        folder.succeed("explain m.json --out shapes.png");
        assert_eq!(&folder.bytes("shapes.png")[..8], b"\x89PNG\r\n\x1a\n");
        let json = folder.succeed("explain m.json --json --pairs 1").json();
        assert_eq!(json["columns"].as_array().unwrap().len(), 3);
        assert_eq!(json["pairs"].as_array().unwrap().len(), pairs.min(1));
        assert_eq!(json["beyond"].is_number(), pairs > 0);
    }
}

#[test]
fn what_cannot_be_shown_is_refused_before_anything_is_written() {
    let folder = folder("--features additive");
    folder.write("there.svg", "mine");
    folder.refuse("explain m.json --out there.svg", 2, &["exists already", "--overwrite"]);
    folder.succeed("explain m.json --out there.svg --overwrite");
    folder.refuse("explain m.json --out shapes.ps", 2, &["--out", ".html, .svg, .pdf or .png"]);
    folder.refuse("explain m.json --columns x,nothing --out new.svg", 2, &["--columns", "\"nothing\""]);
    assert!(!folder.path("new.svg").exists());
    std::fs::copy(folder.path("m.json"), folder.path("m.svg")).unwrap();
    folder.refuse("explain m.svg --out m.svg --overwrite", 2, &["would overwrite the model"]);
}

#[test]
fn contributions_stand_beside_predictions_and_add_up() {
    for flags in ["", "--features additive", "--features rich", "--model svm --features additive"] {
        let folder = folder(flags);
        let plain = folder.succeed("predict m.json trial.csv --columns note").stdout;
        let page = folder.succeed("predict m.json trial.csv --columns note --explain").stdout;
        let mut lines = page.lines();
        let heading: Vec<&str> = lines.next().unwrap().split(',').collect();
        let together: &[&str] = if flags.contains("rich") { &["contribution (together)"] } else { &[] };
        let number = if flags.contains("svm") { "score" } else { "probability" };
        let expected = [
            &[
                "note",
                "label",
                number,
                "contribution (intercept)",
                "contribution x",
                "contribution z",
                "contribution c",
            ],
            together,
            &["margin"],
        ]
        .concat();
        assert_eq!(heading, expected);
        for (line, plain) in lines.zip(plain.lines().skip(1)) {
            let kept = plain.split(',').count();
            assert!(line.starts_with(plain), "{line} {plain}");
            let cells: Vec<f64> = line.split(',').skip(kept).map(|cell| cell.parse().unwrap()).collect();
            let (margin, parts) = cells.split_last().unwrap();
            assert_eq!(parts.iter().sum::<f64>(), *margin);
            let told: f64 = plain.rsplit(',').next().unwrap().parse().unwrap();
            let expected = if flags.contains("svm") { *margin } else { 1.0 / (1.0 + (-margin).exp()) };
            assert!((told - expected).abs() < 1e-12, "{line}");
        }
    }
    let folder = folder("");
    folder.write("own.csv", "x,z,c,margin\n1,0,u,5\nnothing\n");
    folder.refuse("predict m.json own.csv --columns margin --explain", 2, &["\"margin\""]);
    let page = folder.succeed("predict m.json own.csv --explain").stdout;
    assert!(page.lines().last().unwrap().chars().all(|c| c == ','), "{page}");
}

#[test]
fn names_of_any_length_and_kind_are_told_apart() {
    let long = "n".repeat(70_000);
    let schema = format!(
        r#"{{"name":"trial","task":"classification","target":"y","positive":"yes","negative":"no","columns":{{
        "(intercept)":{{"type":"numeric","lower":0,"upper":10}},"{long}":{{"type":"numeric","lower":-1,"upper":1}}}}}}"#
    );
    let data = rows(500).replacen("x,", "(intercept),", 1).replacen(",z,", &format!(",{long},"), 1);
    let folder = Folder::trial(&schema, data);
    folder.succeed("train trial.csv --epsilon 8 --no-ledger --out m.json");
    let page = folder.succeed("explain m.json").stdout;
    assert!(page.lines().any(|line| line.starts_with("  (intercept) ")), "{}", &page[..500]);
    let page = folder.succeed("predict m.json trial.csv --explain").stdout;
    let heading = page.lines().next().unwrap();
    assert!(heading.contains(",contribution ((intercept)),contribution (intercept),"), "{}", &heading[..200]);
    folder.succeed("statement m.json --coefficients");
}
