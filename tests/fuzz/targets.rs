//! What must hold for any input of each parser.

use std::os::unix::ffi::OsStringExt;
use std::process::Command;

use rhograd::calculator;
use rhograd::data::{CsvFile, Schema, draft_schema};
use rhograd::error::Error;
use rhograd::ledger::Ledger;
use rhograd::preprocess::{CacheUse, Encoder, RowCache, SegmentReader, SegmentWriter, shape_of};
use rhograd::statement::Statement;
use rhograd::train::{Checkpoint, Evidence, ModelFile, evaluate, predict, verify};
use serde_json::Value;

use crate::forge;
use crate::home::{Home, RECORDS};
use crate::support::{HEADER, Outcome, PROGRAM};

/// A refusal names the file and, behind a semicolon or in place of one, what to do.
#[track_caller]
fn refused(error: &Error, file: &str) -> String {
    let message = error.to_string();
    assert!(message.contains(file), "{message:?} does not name {file}");
    assert!(message.len() < 3000, "a message of {} bytes", message.len());
    format!("refused: {message}")
}

/// A data file: drafting, encoding and predicting end, count every line, and no line changes another one.
pub fn csv(home: &Home, bytes: &[u8]) -> String {
    let path = home.write("fuzz.csv", bytes);
    let drafted = CsvFile::open(&path).and_then(|file| {
        let schema = draft_schema(&file, "fuzz", None)?;
        let again = Schema::parse(&serde_json::to_string(&schema).unwrap(), &path)?;
        assert_eq!(again, schema);
        let (rows, report) = Encoder::new(&schema, &file, true)?.encode(&file, &|_| Ok(()))?;
        assert_eq!((rows.shape(), report.lines), (&shape_of(&schema), rows.len() as u64));
        Ok(())
    });
    let packed = [&b"\x1f\x8b"[..], b"\x28\xb5\x2f\xfd", b"PAR1"].iter().any(|magic| bytes.starts_with(magic));
    // Between two records whose reading is known.
    let [first, last] = RECORDS;
    let body = [HEADER.as_bytes(), first.as_bytes(), b"\n", bytes, b"\n", last.as_bytes()].concat();
    let file = CsvFile::open(&home.write("between.csv", &body)).unwrap();
    let lines = 3 + bytes.iter().filter(|&&byte| byte == b'\n').count();
    let predictions = predict(&home.model, &file).unwrap();
    let values: Vec<Option<f64>> = predictions.rows().map(|row| row.map(|row| row[0])).collect();
    assert_eq!(values.len(), lines);
    assert_eq!([values[0], values[lines - 1]], home.predictions.map(Some), "a line changed how another one is read");
    let (rows, report) = Encoder::new(&home.schema(), &file, true).unwrap().encode(&file, &|_| Ok(())).unwrap();
    assert_eq!((rows.len(), report.lines), (lines, lines as u64));
    assert!(report.unusable <= lines as u64 - 2 && report.positives >= Some(1));
    match drafted {
        Ok(()) => format!("accepted, {} unusable, packed {packed}", report.unusable > 0),
        Err(error) => refused(&error, "fuzz.csv"),
    }
}

/// A schema: what is accepted is written and read again as the same.
pub fn schema(home: &Home, bytes: &[u8]) -> String {
    let path = home.write("fuzz.json", bytes);
    let schema = match Schema::read(&path) {
        Ok(schema) => schema,
        Err(error) => return refused(&error, "fuzz.json"),
    };
    let again = Schema::parse(&serde_json::to_string(&schema).unwrap(), &path).unwrap();
    assert!(again == schema && again.fingerprint() == schema.fingerprint());
    let usable = Home::config().check(&schema).is_ok();
    let encoded =
        Encoder::new(&schema, &home.data(), true).and_then(|encoder| encoder.encode(&home.data(), &|_| Ok(())));
    match encoded {
        Ok((rows, _)) => assert_eq!(rows.len(), 60),
        Err(error) => drop(refused(&error, "data.csv")),
    }
    format!("accepted {:?} {usable} {}", schema.task, schema.draft)
}

/// A model: read or refused, and never verified as something that it is not, also where its digests were made to fit.
pub fn model(home: &Home, bytes: &[u8]) -> String {
    let path = home.write("fuzz.model.json", bytes);
    let read = ModelFile::read_text(&path).and_then(|text| Ok((ModelFile::parse_unchecked(&text, &path)?, text)));
    let (model, text) = match read {
        Ok(read) => read,
        Err(error) => return refused(&error, "fuzz.model.json"),
    };
    assert_eq!(ModelFile::read(&path).is_ok(), model.expected_digest() == model.digest, "an edited model is used");
    let mut answer = format!("accepted {}", judge(home, &model, &text));
    for forged in forge::models(&model) {
        let text = forged.to_json();
        let again = ModelFile::read(&home.write("forged.model.json", text.as_bytes())).unwrap();
        assert_eq!(again.to_json(), text, "a model is not read as it was written");
        answer += &format!(", forged {}", judge(home, &again, &text));
    }
    answer
}

/// Whether a model passes on its own, and with the ledger.
fn judge(home: &Home, model: &ModelFile, text: &str) -> String {
    let file = home.data();
    drop(predict(model, &file).map(|predictions| predictions.rows().count()));
    drop(evaluate(model, &file));
    let holds = |log: Option<&str>, ledger: Option<&mut Ledger>| {
        let mut log = log.map(str::as_bytes);
        let log = log.as_mut().map(|log| log as &mut dyn std::io::BufRead);
        verify(model, text, Evidence { log, ledger, most_log_lines: 5000, ..Evidence::default() })
            .is_ok_and(|found| found.held())
    };
    let alone = holds(Some(&home.log), None);
    if alone {
        // Coefficients and names belong to nobody without a ledger; what was released, and its price, are bound by the log.
        let (now, then) = (&model.statement, &home.model.statement);
        assert_eq!(now.guarantee, then.guarantee, "another guarantee passes for the same log");
        assert_eq!(now.facts.charges(), then.facts.charges());
        assert_eq!(now.facts.adjacency, then.facts.adjacency);
        assert_eq!(now.dp, now.facts.secret_noise && !now.facts.drafted_schema);
        let known = |statement: &Statement| serde_json::to_value(statement).unwrap();
        let earlier = now.earlier().unwrap();
        let computed: Vec<_> = [Statement::new(now.facts.clone()).unwrap()].iter().chain(&earlier).map(known).collect();
        let stated = serde_json::from_str::<Value>(text).unwrap()["statement"].clone();
        assert!(computed.contains(&stated), "a statement passes that does not follow from its facts");
    }
    let with_ledger = holds(None, Some(&mut home.ledger.borrow_mut()));
    assert!(!with_ledger || text == home.model_text, "an edited model passes with its ledger");
    format!("{alone} {with_ledger}")
}

/// A log: passes only as the one that was written.
pub fn log(home: &Home, bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else { return "refused: no text".into() };
    let evidence = Evidence { log: Some(&mut text.as_bytes()), ..Evidence::default() };
    let held = verify(&home.model, &home.model_text, evidence).unwrap().held();
    assert_eq!(held, text == home.log);
    let same = text.lines().zip(home.log.lines()).take_while(|(a, b)| a == b).count();
    format!("{} {}", if held { "accepted" } else { "refused" }, ["a", "b", "c", "d", "e", "f", "g"][same.min(6)])
}

/// A ledger: refused, the same, or an earlier state of it that is known as such.
pub fn ledger(home: &Home, bytes: &[u8]) -> String {
    let path = home.write("fuzz.sqlite", bytes);
    let _ = std::fs::remove_file(home.folder.path("fuzz.sqlite-journal"));
    let read = |ledger: &mut Ledger| Ok((ledger.verify()?, ledger.summaries()?));
    let (report, summaries) = match Ledger::open_existing(&path).and_then(|mut ledger| read(&mut ledger)) {
        Ok(found) => found,
        Err(error) => return refused(&error, "fuzz.sqlite"),
    };
    let whole = &mut home.ledger.borrow_mut();
    let last = whole.head().unwrap();
    let head = report.head;
    if head.sequence > 0 {
        assert!(whole.contains(head.sequence, &head.hash).unwrap(), "an entry that was never made passes");
    }
    let mut opened = Ledger::open_existing(&path).unwrap();
    assert_eq!(
        opened.contains(last.sequence, &last.hash).unwrap(),
        head == last,
        "a rolled back ledger is not noticed"
    );
    if head == last {
        assert_eq!(summaries, whole.summaries().unwrap());
    }
    // What was damaged where nobody looks must not come to light after a charge.
    let scope = rhograd::privacy::Scope::of_rows(
        rhograd::privacy::DatasetId::new("trial").unwrap(),
        rhograd::privacy::Adjacency::AddRemove,
    );
    if let Ok(paid) = opened.reserve(&scope, &home.model.statement.facts.charges(), true) {
        let position = paid.position().unwrap();
        assert!(
            Ledger::open_existing(&path)
                .and_then(|mut again| again.contains(position.sequence, &position.hash))
                .unwrap()
        );
    }
    format!("accepted {}", if head == last { "whole" } else { "earlier" })
}

/// A checkpoint: what it goes on from is a beginning of what the run has released.
pub fn checkpoint(home: &Home, bytes: &[u8]) -> String {
    let path = home.write("fuzz.checkpoint", bytes);
    let values = |text: &str| -> Vec<Value> {
        let lines = text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
        // The place of the charge and the result are lines, too.
        lines.map(|line| line["values"].clone()).filter(|values| !values.is_null()).collect()
    };
    match Checkpoint::open(&path).map(|checkpoint| checkpoint.releases()) {
        Err(error) => refused(&error, "fuzz.checkpoint"),
        Ok(None) => {
            // A file in which nothing was begun goes away with whoever opened it.
            assert!(std::fs::read(&path).map_or(true, |bytes| bytes.is_empty()));
            "accepted as new".into()
        }
        Ok(Some(count)) => {
            let (kept, made) =
                (values(&home.folder.text("fuzz.checkpoint")), values(&home.folder.text("run.checkpoint")));
            assert_eq!(kept.len(), count);
            assert!(made.starts_with(&kept), "a release that was never made is kept");
            format!("accepted {}", ["none", "one", "two", "three", "more"][count.min(4)])
        }
    }
}

/// A cache: gives the rows of the data, or is made anew; one whose checksums were made to fit still trains.
pub fn cache(home: &Home, bytes: &[u8]) -> String {
    let honest = read_rows(home, bytes);
    if let Ok(rows) = &honest {
        assert!(*rows == written(&home.folder.path("data.rows")), "other rows pass for the cached ones");
    }
    let forged = forge::cache(bytes).map(|forged| read_rows(home, &forged));
    let told = |rows: Result<Vec<u8>, String>| rows.map_or_else(|error| error, |_| "accepted".into());
    format!("{}, forged {:?}", told(honest), forged.map(told))
}

/// The rows of a file as they would be written, by the reader of segments; and a run on the file as a cache.
fn read_rows(home: &Home, bytes: &[u8]) -> Result<Vec<u8>, String> {
    let path = home.write("fuzz.rows", bytes);
    let cache = match RowCache::new(&path, false) {
        Ok(cache) => cache,
        Err(error) => return Err(refused(&error, "fuzz.rows")),
    };
    let opened = SegmentReader::open(&path).and_then(|reader| reader.read_all().map(|rows| (reader, rows)));
    let result = match opened {
        Ok((_, rows)) => {
            let mut writer = SegmentWriter::new(Vec::new(), &path, rows.shape()).unwrap();
            // Rows in another unit are the standardised ones, which no cache holds.
            writer.append(&rows).map_err(|e| e.to_string()).map(|()| writer.finish(&()).unwrap())
        }
        Err(error) => Err(refused(&error, "fuzz.rows")),
    };
    let (file, schema) = (home.data(), home.schema());
    let encoder = Encoder::new(&schema, &file, true).unwrap();
    let (rows, _, used) = cache.load(&schema, &file, &encoder, &|_| Ok(())).unwrap();
    assert!(rows.len() == 60 || used == CacheUse::Used);
    if used == CacheUse::Used {
        home.write("fuzz.rows", bytes);
        train_on(home, &cache);
    }
    result
}

fn train_on(home: &Home, cache: &RowCache) {
    use rhograd::train::{load_cached, train};
    let loaded = load_cached(&Home::config(), home.schema(), &home.data(), Some(cache), &|_, _| Ok(())).unwrap();
    let noise = rhograd::noise::NoiseSource::from_os().unwrap();
    drop(train(loaded, &mut Ledger::in_memory().unwrap(), noise, &mut |_| Ok(())));
}

/// The rows of a good cache, without its note.
fn written(path: &std::path::Path) -> Vec<u8> {
    let rows = SegmentReader::open(path).unwrap().read_all().unwrap();
    let mut writer = SegmentWriter::new(Vec::new(), path, rows.shape()).unwrap();
    writer.append(&rows).unwrap();
    writer.finish(&()).unwrap()
}

/// Kinds of question that are answered at once, whatever their parameters.
const QUICK: [&str; 4] = ["pure_dp_to_zcdp", "zcdp_to_eps_classical", "zcdp_to_eps_optimal", "gaussian_delta_exact"];

/// Questions: one line comes out for each that goes in, and it is JSON.
pub fn queries(_: &Home, bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let questions = match calculator::read_queries(&text) {
        Ok(questions) => questions,
        Err(error) => return refused(&error, "points"),
    };
    let mut answers = format!("accepted {}", ["none", "one", "more"][questions.len().min(2)]);
    for question in &questions {
        if question.as_ref().is_ok_and(|question| !QUICK.contains(&question.query.as_str())) {
            continue;
        }
        let line = calculator::answer_line(question);
        let value: Value = serde_json::from_str(&line).unwrap();
        assert!(value.get("answer").is_some() != value.get("error").is_some() && !line.contains('\n'));
        if let Some(epsilon) = value["answer"].get("epsilon") {
            assert!(epsilon == "inf" || epsilon.as_f64().is_some_and(|epsilon| epsilon >= 0.0), "{line}");
        }
        answers += value["error"].as_str().unwrap_or("; answered");
    }
    answers
}

/// A command line: an exit code that is documented, a message for every refusal, and never a panic.
pub fn arguments(home: &Home, bytes: &[u8]) -> String {
    let words = bytes.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let words: Vec<Vec<u8>> = words.map(|word| word.iter().copied().filter(|&byte| byte != 0).collect()).collect();
    let text = String::from_utf8_lossy(bytes).into_owned();
    let digits =
        words.iter().any(|word| word.len() > 6 && word.iter().filter(|byte| byte.is_ascii_digit()).count() > 4);
    // Runs that are right to take long, and places outside the folder.
    if words.len() > 40
        || digits
        || text.contains(['/', '\u{fffd}'])
        || text.contains("generate")
        || text.contains("audit")
    {
        return "left out".into();
    }
    let before = home.bytes("data.csv");
    let mut command = Command::new(PROGRAM);
    command.args(words.into_iter().map(std::ffi::OsString::from_vec)).env("TMPDIR", home.folder.path("tmp"));
    command.current_dir(home.folder.path("")).stdin(std::process::Stdio::null());
    let outcome = Outcome::of(command, &text);
    assert!(matches!(outcome.code, Some(0..=2)), "{outcome:?}");
    assert!(!outcome.stderr.contains("panicked"), "{outcome:?}");
    if outcome.code == Some(2) {
        assert!(outcome.stdout.is_empty() && !outcome.stderr.trim().is_empty(), "{outcome:?}");
    }
    assert!(home.bytes("data.csv") == before, "{outcome:?}: the data were overwritten");
    let first = outcome.stderr.lines().next().unwrap_or_default();
    format!("{} {first}", ["accepted", "refused", "bad usage"][outcome.code.unwrap_or(2) as usize])
}
