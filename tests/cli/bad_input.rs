//! Bad input: exit code 2, a message that names the place and the cure, and nothing else happens.

use super::support::Folder;

const OLD: &str = "an older result";

/// A folder with good data, older results at the output paths and a capped ledger.
fn prepared() -> Folder {
    let folder = Folder::with("fair");
    folder.write("fair.model.json", OLD);
    folder.write("fair.log.jsonl", OLD);
    folder.succeed("ledger init fair.ledger.sqlite fair --rho 1");
    folder
}

/// Runs a command that must be refused: nothing on standard output, no file changed, made or left over.
#[track_caller]
fn refuse(folder: &Folder, arguments: &str, needles: &[&str]) {
    let before = folder.contents();
    // Older results lie at the output paths; that they are not replaced without the flag is tested elsewhere.
    let replaces = ["train ", "predict "].iter().any(|command| arguments.starts_with(command));
    let outcome = folder.run(&format!("{arguments}{}", if replaces { " --overwrite" } else { "" }));
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
    for needle in needles {
        assert!(outcome.stderr.contains(needle), "{needle:?} is not in {outcome:?}");
    }
    assert!(!outcome.stderr.contains("panicked"), "{outcome:?}");
    let after = folder.contents();
    for (name, content) in &after {
        assert!(before.get(name) == Some(content), "{name} was made or changed by {outcome:?}");
    }
    assert_eq!(before.len(), after.len(), "a file vanished: {outcome:?}");
}

/// One test per line: what is changed in the folder, the command, and what its message must contain.
macro_rules! refused {
    ($($(#[$mark:meta])* $name:ident: $change:expr, $arguments:expr, $needles:expr;)*) => {
        $(#[test]
        $(#[$mark])*
        fn $name() {
            let folder = prepared();
            let change: fn(&Folder) = $change;
            change(&folder);
            refuse(&folder, $arguments, &$needles);
        })*
    };
}

const TRAIN: &str = "train fair.csv --epsilon 1";

mod data_file {
    use super::*;

    refused! {
        a_missing_feature_column: |f| f.edit("fair.csv", "rate_marriage,age", "rate_marriage,years"), TRAIN,
            ["fair.csv:1", "\"age\"", "lacks this column", "add the column"];
        a_missing_target_column: |f| f.edit("fair.csv", "_husb,affair", "_husb,other"), TRAIN,
            ["fair.csv:1", "\"affair\"", "lacks this column"];
        columns_separated_by_semicolons: |f| f.write("fair.csv", f.text("fair.csv").replace(',', ";")), TRAIN,
            ["fair.csv:1", "separate columns by commas"];
        a_column_named_twice: |f| f.edit("fair.csv", "rate_marriage,age", "age,age"), TRAIN,
            ["fair.csv:1", "\"age\"", "twice", "rename"];
        an_empty_file: |f| f.write("fair.csv", ""), TRAIN, ["fair.csv", "empty", "first line names the columns"];
        a_file_that_begins_with_an_empty_line: |f| f.write("fair.csv", "\n\n1,2\n"), TRAIN, ["fair.csv:1", "empty"];
        a_file_of_blanks: |f| f.write("fair.csv", "   \n"), TRAIN, ["fair.csv:1", "empty"];
        a_binary_file: |f| f.write("fair.csv", b"\x7fELF\x02\x01\x00\x00,\xff\xfe\x00\n"), TRAIN,
            ["fair.csv:1", "not text", "CSV file in UTF-8"];
        a_folder_in_place_of_the_file: |_| (), "train tmp --schema fair.schema.json --epsilon 1", ["tmp: cannot read"];
        a_file_that_does_not_exist: |_| (), "train none.csv --schema fair.schema.json --epsilon 1",
            ["none.csv: cannot read"];
        a_path_below_a_file: |_| (), "train fair.csv/x.csv --schema fair.schema.json --epsilon 1",
            ["fair.csv/x.csv: cannot read"];
    }
}

mod schema {
    use super::*;

    refused! {
        no_schema_beside_the_data: |f| f.remove("fair.schema.json"), TRAIN,
            ["--schema", "fair.schema.json does not exist", "rhograd inspect fair.csv"];
        a_schema_that_does_not_exist: |_| (), "train fair.csv --schema none.json --epsilon 1",
            ["none.json: cannot read the schema"];
        a_folder_in_place_of_the_schema: |_| (), "train fair.csv --schema tmp --epsilon 1", ["tmp: cannot read"];
        a_schema_that_is_no_json: |f| f.write("fair.schema.json", "name: fair\n"), TRAIN,
            ["fair.schema.json:1", "not a valid schema"];
        a_schema_cut_off: |f| f.write("fair.schema.json", &f.text("fair.schema.json")[..200]), TRAIN,
            ["fair.schema.json:", "not a valid schema", "EOF"];
        a_schema_of_bytes: |f| f.write("fair.schema.json", b"\xff\xfe\x00"), TRAIN, ["fair.schema.json: cannot read"];
        an_unknown_key: |f| f.edit("fair.schema.json", "\"ignore\"", "\"ignored\""), TRAIN,
            ["fair.schema.json:7", "unknown field `ignored`", "correct the key"];
        an_unknown_key_of_a_column: |f| f.edit("fair.schema.json", "\"lower\": 17.5", "\"lowest\": 17.5"), TRAIN,
            ["fair.schema.json:", "\"age\"", "`lowest`"];
        an_unknown_type_of_a_column: |f| f.edit("fair.schema.json", "\"numeric\", \"lower\": 17.5", "\"date\", \"lower\": 17.5"),
            TRAIN, ["fair.schema.json:", "\"age\"", "date"];
        an_unknown_task: |f| f.edit("fair.schema.json", "classification", "ranking"), TRAIN, ["fair.schema.json:3", "ranking"];
        inverted_bounds: |f| f.edit("fair.schema.json", "17.5, \"upper\": 42", "42, \"upper\": 17.5"), TRAIN,
            ["fair.schema.json, \"age\"", "inverted", "lower < upper"];
        equal_bounds: |f| f.edit("fair.schema.json", "17.5, \"upper\": 42", "42, \"upper\": 42"), TRAIN,
            ["fair.schema.json, \"age\"", "equal"];
        bounds_that_overflow: |f| f.edit("fair.schema.json", "\"upper\": 42", "\"upper\": 1e999"), TRAIN,
            ["fair.schema.json:", "number out of range"];
        no_positive_label: |f| f.edit("fair.schema.json", "  \"positive\": \"1\",\n", ""), TRAIN,
            ["fair.schema.json, \"positive\"", "missing", "name the label"];
        a_positive_label_that_is_not_declared: |f| f.edit("fair.schema.json", "\"columns\": {",
            "\"columns\": {\"affair\": {\"type\": \"categorical\", \"values\": [\"no\", \"yes\"]},"), TRAIN,
            ["fair.schema.json, \"positive\"", "declared values of \"affair\"", "declare the label"];
        two_labels_that_are_one: |f| f.edit("fair.schema.json", "\"positive\": \"1\"", "\"positive\": \"1\", \"negative\": \"1\""),
            TRAIN, ["fair.schema.json, \"negative\"", "equals"];
        a_target_that_is_ignored: |f| f.edit("fair.schema.json", "\"ignore\": []", "\"ignore\": [\"affair\"]"), TRAIN,
            ["fair.schema.json, \"ignore\"", "lists the target"];
        no_feature_at_all: |f| f.write("fair.schema.json",
            r#"{"name":"fair","task":"classification","target":"affair","positive":"1","columns":{}}"#), TRAIN,
            ["fair.schema.json, \"columns\"", "declares no feature"];
        a_value_declared_twice: |f| f.edit("fair.schema.json", "\"1\", \"2\", \"3\"", "\"1\", \"1\", \"3\""), TRAIN,
            ["fair.schema.json, \"occupation", "twice"];
        regression_without_bounds: |f| f.write("fair.schema.json",
            r#"{"name":"fair","task":"regression","target":"affair","columns":{"age":{"type":"numeric","lower":1,"upper":2}}}"#),
            TRAIN, ["fair.schema.json, \"target_lower\"", "missing", "public bounds"];
        a_data_set_without_a_name: |f| f.edit("fair.schema.json", "\"name\": \"fair\"", "\"name\": \"\""), TRAIN,
            ["fair.schema.json, \"name\"", "empty"];
    }
}

mod flags {
    use super::*;

    refused! {
        no_budget: |_| (), "train fair.csv", ["--epsilon"];
        two_budgets: |_| (), "train fair.csv --epsilon 1 --rho 1", ["--epsilon", "--rho"];
        epsilon_0: |_| (), "train fair.csv --epsilon 0", ["epsilon", "0", "positive"];
        epsilon_negative: |_| (), "train fair.csv --epsilon -1", ["--epsilon: is -1", "positive"];
        epsilon_nan: |_| (), "train fair.csv --epsilon nan", ["--epsilon: is NaN", "positive"];
        epsilon_infinite: |_| (), "train fair.csv --epsilon inf", ["epsilon", "inf"];
        epsilon_that_is_no_number: |_| (), "train fair.csv --epsilon one", ["--epsilon", "one"];
        rho_0: |_| (), "train fair.csv --rho 0", ["--rho", "positive"];
        rho_too_small_to_train: |_| (), "train fair.csv --rho 1e-300", ["budget", "too small", "epsilon"];
        rho_too_large_to_train: |_| (), "train fair.csv --rho 1e300", ["--rho", "at most 1e6"];
        more_steps_than_the_budget_bears: |_| (), "train fair.csv --rho 1e-15 --steps 2147483647", ["too small", "--steps"];
        rho_negative: |_| (), "train fair.csv --rho -0.5", ["rho", "-0.5"];
        rho_nan: |_| (), "train fair.csv --rho nan", ["rho", "NaN"];
        rho_infinite: |_| (), "train fair.csv --rho inf", ["rho", "inf"];
        delta_0: |_| (), "train fair.csv --epsilon 1 --delta 0", ["delta", "strictly between 0 and 1", "1e-6"];
        delta_1: |_| (), "train fair.csv --epsilon 1 --delta 1", ["delta", "strictly between 0 and 1"];
        delta_2: |_| (), "train fair.csv --epsilon 1 --delta 2", ["delta", "is 2", "strictly between 0 and 1"];
        delta_negative: |_| (), "train fair.csv --epsilon 1 --delta -0.1", ["delta", "strictly between 0 and 1"];
        delta_negative_with_an_exponent: |_| (), "train fair.csv --epsilon 1 --delta -1e-6", ["delta"];
        delta_nan: |_| (), "train fair.csv --epsilon 1 --delta nan", ["delta", "NaN", "strictly between 0 and 1"];
        clip_0: |_| (), "train fair.csv --epsilon 1 --clip 0", ["--clip", "1e-12", "default"];
        clip_nan: |_| (), "train fair.csv --epsilon 1 --clip nan", ["--clip", "NaN"];
        clip_infinite: |_| (), "train fair.csv --epsilon 1 --clip inf", ["--clip", "1e12"];
        steps_0: |_| (), "train fair.csv --epsilon 1 --steps 0", ["--steps", "1..2^31"];
        steps_negative: |_| (), "train fair.csv --epsilon 1 --steps=-3", ["--steps", "-3"];
        steps_beyond_the_format: |_| (), "train fair.csv --epsilon 1 --steps 2147483648", ["--steps", "1..2^31"];
        learning_rate_nan: |_| (), "train fair.csv --epsilon 1 --learning-rate nan", ["--learning-rate", "NaN"];
        learning_rate_negative: |_| (), "train fair.csv --epsilon 1 --learning-rate -1", ["--learning-rate", "1e-12"];
        momentum_1: |_| (), "train fair.csv --epsilon 1 --momentum 1", ["--momentum", "[0, 1)"];
        momentum_nan: |_| (), "train fair.csv --epsilon 1 --momentum nan", ["--momentum", "[0, 1)"];
        l2_negative: |_| (), "train fair.csv --epsilon 1 --l2 -1", ["--l2", "[0, 1e12]"];
        radius_0: |_| (), "train fair.csv --epsilon 1 --radius 0", ["--radius", "1e-12"];
        rows_0: |_| (), "train fair.csv --epsilon 1 --rows 0", ["--rows", "positive"];
        threads_0: |_| (), "train fair.csv --epsilon 1 --threads 0", ["--threads", "1..=1024"];
        threads_beyond_reason: |_| (), "train fair.csv --epsilon 1 --threads 100000", ["--threads", "1..=1024"];
        threads_that_are_no_number: |_| (), "train fair.csv --epsilon 1 --threads many", ["--threads", "many"];
        a_seed_that_is_no_number: |_| (), "train fair.csv --epsilon 1 --seed x", ["--seed"];
        an_unknown_algorithm: |_| (), "train fair.csv --epsilon 1 --algorithm adam", ["--algorithm", "adam", "dp-gd"];
        an_unknown_model: |_| (), "train fair.csv --epsilon 1 --model forest", ["--model", "forest", "logistic"];
        a_model_that_does_not_fit_the_task: |_| (), "train fair.csv --epsilon 1 --model linear",
            ["--model", "does not fit", "--model logistic"];
        three_labels_asked_of_two: |_| (), "train fair.csv --epsilon 1 --model multinomial",
            ["three labels or more", "schema of two", "--model logistic"];
        a_dash_for_standard_input_beside_which_no_ledger_lies: |_| (), "train - --epsilon 1 --schema fair.schema.json",
            ["--ledger: is missing", "/dev/stdin is no file that a ledger could lie beside"];
        a_dash_for_a_model: |_| (), "evaluate - fair.csv", ["-: cannot read the model: no such file", "standard input"];
        an_unknown_adjacency: |_| (), "train fair.csv --epsilon 1 --adjacency both", ["--adjacency", "add-remove"];
        an_unknown_noise: |_| (), "train fair.csv --epsilon 1 --noise laplace", ["--noise", "normal"];
        an_unknown_flag: |_| (), "train fair.csv --epsilon 1 --epochs 3", ["--epochs", "--help"];
        an_unknown_command: |_| (), "trian fair.csv --epsilon 1", ["trian", "train"];
        no_command: |_| (), "", ["Usage"];
        a_ledger_and_none: |_| (), "train fair.csv --epsilon 1 --ledger l.sqlite --no-ledger", ["--ledger", "--no-ledger"];
    }
}

mod outputs {
    use super::*;

    refused! {
        a_folder_for_the_model_that_does_not_exist: |_| (), "train fair.csv --epsilon 1 --out none/m.json",
            ["none/m.json", "cannot create it: no such file or folder"];
        a_folder_for_the_log_that_does_not_exist: |_| (), "train fair.csv --epsilon 1 --log none/l.jsonl",
            ["none/l.jsonl", "cannot create"];
        a_folder_in_place_of_the_model: |_| (), "train fair.csv --epsilon 1 --out tmp", ["tmp", "is a directory"];
        a_folder_in_place_of_the_log: |_| (), "train fair.csv --epsilon 1 --log tmp", ["tmp", "is a directory"];
        a_folder_for_the_ledger_that_does_not_exist: |_| (), "train fair.csv --epsilon 1 --ledger none/l.sqlite",
            ["none/l.sqlite", "cannot create"];
        a_folder_for_generated_data_that_does_not_exist: |_| (), "generate linear --rows 5 --out none/g.csv",
            ["none/g", "cannot create"];
        generated_data_without_features: |_| (), "generate linear --features 0 --out g.csv", ["--features", "at least one"];
        generated_data_with_noise_nan: |_| (), "generate linear --noise nan --out g.csv", ["--noise", "at least 0"];
    }

    /// Every file of a run has a path of its own, or an output silently takes the place of data, ledger or log.
    #[test]
    fn two_roles_for_one_path() {
        for arguments in [
            "--out fair.csv",
            "--log fair.csv",
            "--out ./fair.csv",
            "--out fair.schema.json",
            "--out fair.ledger.sqlite",
            "--log fair.ledger.sqlite",
            "--out both.json --log both.json",
            "--out both.json --ledger both.json",
        ] {
            refuse(&prepared(), &format!("train fair.csv --epsilon 1 {arguments}"), &["--"]);
        }
    }

    #[test]
    fn a_ledger_path_that_is_another_file_is_refused_and_left_alone() {
        for (name, content) in [("notes.txt", "meeting at ten\n"), ("empty.txt", ""), ("fair.schema.json", "")] {
            let folder = prepared();
            if !content.is_empty() || name == "empty.txt" {
                folder.write(name, content);
            }
            let before = folder.contents();
            let outcome = folder.run(&format!("train fair.csv --overwrite --epsilon 1 --ledger {name}"));
            if outcome.code == Some(0) {
                assert_eq!(name, "empty.txt", "only an empty file may become a ledger: {outcome:?}");
                continue;
            }
            assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
            assert!(outcome.stderr.contains(name), "{outcome:?}");
            assert!(folder.contents() == before, "{outcome:?}");
        }
    }
}

mod models {
    use super::*;

    fn trained() -> Folder {
        let folder = Folder::with("fair");
        folder.succeed("train fair.csv --epsilon 1 --steps 3");
        folder
    }

    const READERS: [&str; 4] = [
        "verify fair.model.json",
        "statement fair.model.json",
        "predict fair.model.json fair.csv --out p.csv",
        "evaluate fair.model.json fair.csv",
    ];

    #[track_caller]
    fn no_model(change: fn(&Folder), needles: &[&str]) {
        let folder = trained();
        change(&folder);
        for arguments in READERS {
            refuse(&folder, arguments, needles);
        }
    }

    #[test]
    fn a_model_that_does_not_exist() {
        no_model(|f| f.remove("fair.model.json"), &["fair.model.json: cannot read the model"]);
    }

    #[test]
    fn a_model_that_is_no_json() {
        no_model(|f| f.write("fair.model.json", "weights: 1\n"), &["fair.model.json:1", "not a rhograd model"]);
    }

    #[test]
    fn a_model_that_is_empty() {
        no_model(|f| f.write("fair.model.json", ""), &["fair.model.json", "not a rhograd model"]);
    }

    #[test]
    fn a_model_that_is_binary() {
        no_model(|f| f.write("fair.model.json", b"\x00\xff\xfe"), &["fair.model.json: cannot read the model"]);
    }

    #[test]
    fn a_model_that_is_another_json_file() {
        no_model(
            |f| f.write("fair.model.json", f.bytes("fair.schema.json")),
            &["fair.model.json:", "not a rhograd model"],
        );
    }

    #[test]
    fn a_model_cut_off_anywhere() {
        let folder = trained();
        let whole = folder.bytes("fair.model.json");
        for step in 0..20 {
            folder.write("fair.model.json", &whole[..whole.len() * step / 20]);
            refuse(&folder, READERS[step % 4], &["fair.model.json", "not a rhograd model"]);
        }
        folder.write("fair.model.json", &whole[..whole.len() - 3]);
        refuse(&folder, READERS[0], &["EOF"]);
    }

    #[test]
    fn a_model_with_an_unknown_key() {
        no_model(|f| f.edit("fair.model.json", "\"intercept\":", "\"bias\": 1.0,\n  \"intercept\":"), &["`bias`"]);
        no_model(|f| f.edit("fair.model.json", "\"dp\": true,", "\"dp\": true, \"safe\": true,"), &["`safe`"]);
        no_model(|f| f.edit("fair.model.json", "\"budget_rho\":", "\"extra\": 1, \"budget_rho\":"), &["`extra`"]);
    }

    #[test]
    fn a_model_with_a_key_twice() {
        no_model(
            |f| f.edit("fair.model.json", "\"dp\": true,", "\"dp\": false, \"dp\": true,"),
            &["duplicate", "`dp`"],
        );
    }

    #[test]
    fn a_model_of_another_format() {
        no_model(|f| f.edit("fair.model.json", "rhograd-model/1", "rhograd-model/9"), &["format", "rhograd-model/1"]);
    }

    #[test]
    fn data_without_a_column_of_the_model() {
        let folder = trained();
        folder.edit("fair.csv", "rate_marriage,age", "rate_marriage,years");
        for arguments in &READERS[2..] {
            refuse(&folder, arguments, &["fair.csv:1", "\"age\"", "lacks this column"]);
        }
    }

    #[test]
    fn data_without_the_target_predict_but_do_not_evaluate() {
        let folder = trained();
        folder.edit("fair.csv", "_husb,affair", "_husb,other");
        refuse(&folder, READERS[3], &["fair.csv:1", "\"affair\"", "lacks this column"]);
        folder.succeed(READERS[2]);
    }

    #[test]
    fn evaluation_names_the_line_of_a_bad_label() {
        let folder = Folder::with("fair");
        folder.edit("fair.schema.json", "\"positive\": \"1\"", "\"positive\": \"1\", \"negative\": \"0\"");
        folder.succeed("train fair.csv --epsilon 1 --steps 3");
        folder.write(
            "new.csv",
            "rate_marriage,age,yrs_married,children,religious,educ,occupation,occupation_husb,affair\n\
             3,32,9,3,3,17,2,5,1\n3,32,9,3,3,17,2,5,maybe\n",
        );
        refuse(&folder, "evaluate fair.model.json new.csv", &["new.csv:3", "\"affair\"", "not in the schema"]);
        folder.write(
            "new.csv",
            "rate_marriage,age,yrs_married,children,religious,educ,occupation,occupation_husb,affair\n",
        );
        refuse(&folder, "evaluate fair.model.json new.csv", &["new.csv", "no rows"]);
    }

    #[test]
    fn predictions_do_not_replace_an_older_file_on_failure() {
        let folder = trained();
        folder.write("p.csv", OLD);
        folder.write("fair.csv", "a,b\n1,2\n");
        refuse(&folder, READERS[2], &["lacks this column"]);
        assert_eq!(folder.text("p.csv"), OLD);
    }
}

#[test]
fn inspect_refuses_what_it_cannot_describe() {
    let folder = prepared();
    refuse(&folder, "inspect none.csv", &["none.csv: cannot read"]);
    refuse(&folder, "inspect fair.csv --target none", &["fair.csv:1", "\"none\""]);
    folder.write("empty.csv", "a,b\n");
    refuse(&folder, "inspect empty.csv", &["empty.csv: has a header and no rows", "give a file with rows"]);
    folder.write("ragged.csv", "a,b\n1\n1,2,3\n\n");
    refuse(&folder, "inspect ragged.csv", &["ragged.csv: has no line with as many cells as the header"]);
    folder.write("words.csv", "a,b\n1,x\n2,x\n3,x\n");
    refuse(&folder, "inspect words.csv", &["words.csv", "\"b\"", "--target"]);
}
