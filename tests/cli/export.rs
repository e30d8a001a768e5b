//! Models in other forms.

use super::support::{Folder, rows};

/// Schema of [`rows`]; a value and a table that would end a text.
const SCHEMA: &str = r#"{"name":"trial'; DROP TABLE x --","task":"classification","target":"y","positive":"yes","negative":"no",
    "columns":{"x":{"type":"numeric","lower":0,"upper":10},"z":{"type":"numeric","lower":-1,"upper":1},
    "c":{"type":"categorical","values":["u","v","w","it's"]}}}"#;

fn folder(flags: &str) -> Folder {
    let folder = Folder::trial(SCHEMA, rows(3000));
    folder.succeed(&format!("train trial.csv --epsilon 8 --no-ledger --out m.json {flags}"));
    folder
}

#[test]
fn a_query_has_every_column_and_obeys_no_name() {
    for flags in ["", "--features additive"] {
        let folder = folder(flags);
        let query = folder.succeed("export m.json --to sql --table it\"s").stdout;
        assert!(query.contains("FROM \"it\"\"s\"") && query.contains("AS \"probability\""), "{query}");
        assert!(["\"x\"", "\"z\"", "\"c\"", "'it''s'"].iter().all(|part| query.contains(part)), "{query}");
        // What a name says stays in the comment that it stands in.
        assert_eq!(query.lines().filter(|line| line.starts_with("--")).count(), 2, "{query}");
        assert!(query.lines().skip(2).all(|line| !line.contains("DROP")), "{query}");
        folder.succeed("export m.json --out q.sql --table it\"s");
        assert_eq!(folder.text("q.sql"), query);
    }
}

#[test]
fn what_no_query_holds_is_refused() {
    let folder = folder("--features rich");
    folder.refuse("export m.json --to sql --out q.sql", 1, &["together", "--features additive"]);
    assert!(!folder.path("q.sql").exists());
    folder.refuse("export m.json --to poem", 2, &["--to", "sql"]);
    folder.refuse("export m.json --out m.json --overwrite", 2, &["would overwrite the model"]);
}
