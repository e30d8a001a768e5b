//! Training on rows that workers hold: the same bits as on one machine whatever happens to workers, and no wrong sum.

use std::path::Path;
use std::sync::{Arc, Mutex};

use rhograd::data::{Cells, CsvFile, Estimand, Numbers, Schema, Unit};
use rhograd::error::{Error, Fallible};
use rhograd::grid::MomentWeights;
use rhograd::ledger::Ledger;
use rhograd::loss::OwnLoss;
use rhograd::noise::NoiseSource;
use rhograd::optim::Settings;
use rhograd::preprocess::{Encoder, person_places};
use rhograd::privacy::{Adjacency, DatasetId, GaussianCharge, NoiseLaw, PrivacyUnit, Scope};
use rhograd::private::{Cluster, HoldOut, PrivateDataset, RemoteRows, Worker, charge_run};
use rhograd::train::{Algorithm, Loaded, ModelKind, TrainConfig, load, load_remote, train};

use crate::streaming::config;

const HEADER: &str = "a,b,c,y\n";

/// What goes wrong in a cluster, from the third question on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Nothing,
    /// Every worker is lost before each question, and its part is read again by another.
    Lost,
    Twice,
    Missing,
    /// All answers are those to the question before.
    Stale,
    /// One part's answer is that to the question before.
    Swapped,
    /// An answer to the question before comes along.
    Late,
    /// Another part answers in the place of one.
    Stranger,
    /// A part is read again from data that have changed.
    Changed,
    Garbled,
    /// The cluster itself gives up.
    Down,
}

struct Simulated {
    packed: Vec<Vec<u8>>,
    /// What is read of part 0 when its data have changed.
    changed: Vec<u8>,
    workers: Mutex<Vec<Option<Worker>>>,
    asked: Arc<Mutex<usize>>,
    /// The answers to the latest question.
    before: Mutex<Vec<Vec<u8>>>,
    /// The number of the first question that goes wrong.
    from: usize,
    fault: Fault,
}

impl Cluster for Simulated {
    fn ask(&self, question: &[u8]) -> Fallible<Vec<Vec<u8>>> {
        let mut workers = self.workers.lock().unwrap();
        let mut asked = self.asked.lock().unwrap();
        *asked += 1;
        let fault = if *asked >= self.from { self.fault } else { Fault::Nothing };
        if fault == Fault::Down {
            return Err(Error::refused("the cluster is gone", "start another"));
        }
        let mut answers = Vec::new();
        for (place, (packed, worker)) in self.packed.iter().zip(workers.iter_mut()).enumerate() {
            let known = worker.take().filter(|_| fault != Fault::Lost);
            let source = if fault == Fault::Changed && place == 0 { &self.changed } else { packed };
            let known = if fault == Fault::Changed { None } else { known };
            // Bytes are wanted again only where the rows are not held as they are asked.
            let (now, answer) = match known {
                // Whoever has the bytes at hand gives them along, needed or not.
                Some(known) if place % 2 == 1 => known.answer(source, question)?,
                Some(known) => match known.answer_as_held(question)? {
                    (now, Some(answer)) => (now, answer),
                    (known, None) => known.answer(source, question)?,
                },
                None => Worker::new(source)?.answer(source, question)?,
            };
            *worker = Some(now);
            answers.push(answer);
        }
        let before = std::mem::replace(&mut *self.before.lock().unwrap(), answers.clone());
        match fault {
            Fault::Stale => answers = before,
            Fault::Swapped => answers[1] = before[1].clone(),
            Fault::Late => answers.push(before[0].clone()),
            Fault::Stranger => {
                let stranger = Worker::new(&self.changed)?.answer(&self.changed, question)?.1;
                answers[0] = stranger;
            }
            Fault::Twice => answers.push(answers[0].clone()),
            Fault::Missing => drop(answers.pop()),
            Fault::Garbled => drop(answers[0].pop()),
            _ => (),
        }
        // No order is promised.
        if asked.is_multiple_of(2) {
            answers.reverse();
        }
        Ok(answers)
    }
}

fn schema(number: bool) -> Schema {
    let target = if number {
        r#""task":"regression","target_lower":-3,"target_upper":3"#
    } else {
        r#""task":"classification","positive":"1","negative":"0""#
    };
    let text = format!(
        r#"{{"name":"t",{target},"target":"y","columns":{{"a":{{"type":"numeric","lower":-1,"upper":1,"missing":"indicator"}},
        "b":{{"type":"numeric","lower":-1,"upper":1}},"c":{{"type":"categorical","values":["u","v"]}}}}}}"#
    );
    Schema::parse(&text, Path::new("s")).unwrap()
}

/// Evenly spread values, with a line that is no record and a cell that is no number among them.
fn line(i: usize, number: bool) -> String {
    let spread = |i: usize| 2.0 * (i as f64 * 0.618_033_988_749_895).fract() - 1.0;
    let (a, b) = (spread(i), spread(3 * i + 1));
    let t = a - 0.5 * b + spread(7 * i);
    let target = if number { format!("{t:.4}") } else { u8::from(t > 0.0).to_string() };
    match i % 97 {
        11 => "not,a,record\n".into(),
        12 => format!("x,{b:.4},{},{target}\n", ["u", "v"][i % 2]),
        _ => format!("{a:.4},{b:.4},{},{target}\n", ["u", "v"][i % 2]),
    }
}

fn file(folder: &Path, name: &str, lines: std::ops::Range<usize>, number: bool) -> CsvFile {
    let path = folder.join(name);
    let text: String = std::iter::once(HEADER.to_owned()).chain(lines.map(|i| line(i, number))).collect();
    std::fs::write(&path, text).unwrap();
    CsvFile::open(&path).unwrap()
}

/// The lines cut at some places, each part encoded by itself.
fn cluster(cuts: &[usize], number: bool, fault: Fault) -> Simulated {
    let folder = tempfile::tempdir().unwrap();
    let pack = |place: usize, lines: std::ops::Range<usize>| {
        let file = file(folder.path(), &format!("{place}.csv"), lines, number);
        let schema = schema(number);
        let (rows, report) = Encoder::new(&schema, &file, true).unwrap().encode(&file, &|_| Ok(())).unwrap();
        Worker::pack(&rows, &report, &schema, place as u32).unwrap()
    };
    let packed: Vec<Vec<u8>> = cuts.windows(2).enumerate().map(|(place, cut)| pack(place, cut[0]..cut[1])).collect();
    let workers = Mutex::new(packed.iter().map(|_| None).collect());
    let number = if fault == Fault::Stranger { 99 } else { 0 };
    let changed = pack(number, 3..10);
    Simulated { packed, changed, workers, asked: Arc::default(), before: Mutex::default(), from: 3, fault }
}

/// Model and log to the last bit.
fn bits(loaded: Loaded, ledger: &mut Ledger) -> Fallible<(String, Vec<String>)> {
    let mut log = Vec::new();
    let (trained, _) = train(loaded, ledger, NoiseSource::insecure_from_seed(5), &mut |entry| {
        log.push(entry.to_json()?);
        Ok(())
    })?;
    Ok((trained.model.to_json(), log))
}

fn here(config: &TrainConfig, rows: usize, number: bool) -> (String, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), "all.csv", 0..rows, number);
    let loaded = load(config, schema(number), &file, &|_, _| Ok(())).unwrap();
    bits(loaded, &mut Ledger::in_memory().unwrap()).unwrap()
}

fn there(config: &TrainConfig, number: bool, cluster: Simulated) -> Fallible<(String, Vec<String>)> {
    bits(load_remote(config, schema(number), Box::new(cluster))?, &mut Ledger::in_memory()?)
}

#[test]
fn model_and_log_have_the_bits_of_one_machine_however_rows_are_divided_and_workers_are_lost() {
    let divisions: [&[usize]; 3] = [&[0, 1500], &[0, 700, 700, 1500], &[0, 1, 40, 333, 1500]];
    for (algorithm, number) in [
        (Algorithm::Auto, false),
        (Algorithm::Whitened, false),
        (Algorithm::DpGd, true),
        (Algorithm::AdaSsp, true),
        (Algorithm::FrankWolfe, true),
        (Algorithm::Newton, false),
        (Algorithm::Additive, false),
        (Algorithm::Additive, true),
    ] {
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            let config = config(algorithm, adjacency);
            let expected = here(&config, 1500, number);
            for (cuts, fault) in divisions.iter().flat_map(|&cuts| [(cuts, Fault::Nothing), (cuts, Fault::Lost)]) {
                assert!(
                    there(&config, number, cluster(cuts, number, fault)).unwrap() == expected,
                    "{config:?} {cuts:?}"
                );
            }
        }
    }
}

/// Waves are made by workers, of a block of rows at a time: one part has several.
#[test]
fn waves_and_lines_have_the_bits_of_one_machine_however_rows_are_divided_and_workers_are_lost() {
    for (number, adjacency, evaluate_budget, rows, cuts) in [
        (false, Adjacency::AddRemove, None, 1500, &[0, 1, 700, 700, 1500][..]),
        (true, Adjacency::ReplaceOne, Some(0.2), 1500, &[0, 40, 1500]),
        (true, Adjacency::AddRemove, None, 24_000, &[0, 24_000]),
    ] {
        for algorithm in [Algorithm::Rich, Algorithm::Adaptive] {
            let config = TrainConfig { evaluate_budget, ..config(algorithm, adjacency) };
            let expected = here(&config, rows, number);
            for fault in [Fault::Nothing, Fault::Lost] {
                let got = there(&config, number, cluster(cuts, number, fault)).unwrap();
                assert!(got == expected, "{config:?} {cuts:?}");
            }
        }
    }
}

/// Positions go through the parts one after the other, so parts of consecutive lines are held out as the whole is.
#[test]
fn rows_held_out_in_parts_are_those_of_one_machine_however_workers_are_lost() {
    let divisions: [&[usize]; 3] = [&[0, 1500], &[0, 700, 700, 1500], &[0, 1, 40, 333, 1500]];
    for (algorithm, number) in [(Algorithm::Whitened, false), (Algorithm::DpGd, true), (Algorithm::Additive, true)] {
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            let config = TrainConfig { evaluate_budget: Some(0.2), ..config(algorithm, adjacency) };
            let expected = here(&config, 1500, number);
            for (cuts, fault) in divisions.iter().flat_map(|&cuts| [(cuts, Fault::Nothing), (cuts, Fault::Lost)]) {
                assert!(
                    there(&config, number, cluster(cuts, number, fault)).unwrap() == expected,
                    "{config:?} {cuts:?}"
                );
            }
        }
    }
    let config = TrainConfig { evaluate_budget: Some(0.2), ..config(Algorithm::DpGd, Adjacency::AddRemove) };
    for fault in [Fault::Changed, Fault::Stranger, Fault::Stale, Fault::Twice, Fault::Missing] {
        assert!(there(&config, false, cluster(&[0, 700, 1500], false, fault)).is_err(), "{fault:?}");
    }
}

/// A cluster, and the longest question that it was asked.
struct Measured(Simulated, Arc<Mutex<usize>>);

impl Cluster for Measured {
    fn ask(&self, question: &[u8]) -> Fallible<Vec<Vec<u8>>> {
        let mut longest = self.1.lock().unwrap();
        *longest = question.len().max(*longest);
        self.0.ask(question)
    }
}

/// Coins are tossed where the rows are: neither the driver nor a question knows each of them.
#[test]
fn questions_are_no_longer_where_more_rows_are_held_out() {
    let longest = |adjacency, rows: usize| {
        let config = TrainConfig { evaluate_budget: Some(0.2), ..config(Algorithm::DpGd, adjacency) };
        let longest = Arc::new(Mutex::new(0));
        let measured = Measured(cluster(&[0, rows / 3, rows], false, Fault::Nothing), Arc::clone(&longest));
        bits(load_remote(&config, schema(false), Box::new(measured)).unwrap(), &mut Ledger::in_memory().unwrap())
            .unwrap();
        *longest.lock().unwrap()
    };
    let (few, many) = (longest(Adjacency::AddRemove, 1500), longest(Adjacency::AddRemove, 15_000));
    assert!(many < few + 16, "{few} and {many} bytes");
    // Of an exact number there is a bit for each row.
    let (few, many) = (longest(Adjacency::ReplaceOne, 1500), longest(Adjacency::ReplaceOne, 15_000));
    assert!((1600..1700).contains(&(many - few)), "{few} and {many} bytes");
}

/// Coins have streams of 65,536 rows each, and parts begin anywhere.
#[test]
fn rows_beyond_a_block_of_coins_are_held_out_as_on_one_machine() {
    let settings = Settings { steps: Some(2), ..Settings::default() };
    let config = TrainConfig { evaluate_budget: Some(0.2), settings, ..config(Algorithm::DpGd, Adjacency::AddRemove) };
    let expected = here(&config, 140_000, true);
    for cuts in [&[0, 65_000, 66_500, 140_000][..], &[0, 140_000]] {
        assert!(there(&config, true, cluster(cuts, true, Fault::Nothing)).unwrap() == expected, "{cuts:?}");
    }
}

/// Whose a line is: one of many who have a few, anywhere; one with very many; nobody.
fn whose(i: usize) -> String {
    match i % 12 {
        2 => "giant".into(),
        7 => ["", "NA", " "][i / 12 % 3].into(),
        _ => format!(" p{} ", (i * i + i / 5) % 401),
    }
}

fn by_person(schema: Schema, column: &str, max_rows: u32) -> Schema {
    Schema { unit: Some(Unit { max_rows: Some(max_rows), ..Unit::new(column) }), ..schema }
}

fn file_of_persons(folder: &Path, lines: impl Iterator<Item = usize>, number: bool) -> CsvFile {
    let path = folder.join("persons.csv");
    let text: String = lines.map(|i| format!("{},{}", whose(i), line(i, number))).collect();
    std::fs::write(&path, format!("who,{HEADER}{text}")).unwrap();
    CsvFile::open(&path).unwrap()
}

/// The lines in parts, and part 0 once more with its lines in another order.
fn cluster_of_persons(parts: usize, number: bool, fault: Fault, part_of: impl Fn(usize) -> usize) -> Simulated {
    cluster_by(&by_person(schema(number), "who", 20), parts, number, fault, part_of)
}

/// The same by a schema.
fn cluster_by(
    schema: &Schema,
    parts: usize,
    number: bool,
    fault: Fault,
    part_of: impl Fn(usize) -> usize,
) -> Simulated {
    let folder = tempfile::tempdir().unwrap();
    let pack = |part: usize, mut lines: Vec<usize>| {
        lines.retain(|&i| part_of(i) % parts == part);
        let file = file_of_persons(folder.path(), lines.into_iter(), number);
        let (rows, report) = Encoder::new(schema, &file, true).unwrap().encode_grouped(&file, &|_| Ok(())).unwrap();
        Worker::pack_encoded(rows, &report, schema, part as u32).unwrap()
    };
    let packed: Vec<Vec<u8>> = (0..parts).map(|part| pack(part, (0..1500).collect())).collect();
    let workers = Mutex::new(packed.iter().map(|_| None).collect());
    let changed = pack(0, (0..1500).rev().collect());
    Simulated { packed, changed, workers, asked: Arc::default(), before: Mutex::default(), from: 3, fault }
}

/// The place of each line's identifier.
fn places() -> Vec<usize> {
    let list: Vec<String> = (0..1500).map(whose).collect();
    let rows: Vec<u32> = (0..1500).collect();
    let cells = Cells::Texts { list, places: Numbers::U32(ndarray::aview1(&rows)) };
    person_places(&cells).into_iter().map(usize::from).collect()
}

#[test]
fn persons_in_parts_give_the_bits_of_one_machine_and_lost_parts_may_come_back_in_another_order() {
    let places = places();
    for (algorithm, number, estimand) in [
        (Algorithm::Auto, false, None),
        (Algorithm::Whitened, false, Some(Estimand::Rows)),
        (Algorithm::DpGd, true, None),
        (Algorithm::DpGd, true, Some(Estimand::Rows)),
        (Algorithm::AdaSsp, true, None),
        (Algorithm::Newton, false, None),
    ] {
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            let config = config(algorithm, adjacency);
            let mut schema = by_person(schema(number), "who", 20);
            schema.unit.as_mut().unwrap().estimand = estimand;
            let folder = tempfile::tempdir().unwrap();
            let file = file_of_persons(folder.path(), 0..1500, number);
            let loaded = load(&config, schema.clone(), &file, &|_, _| Ok(())).unwrap();
            let expected = bits(loaded, &mut Ledger::in_memory().unwrap()).unwrap();
            for (parts, fault) in [(1, Fault::Nothing), (3, Fault::Lost), (7, Fault::Changed)] {
                let cluster = cluster_by(&schema, parts, number, fault, |i| places[i]);
                let remote = load_remote(&config, schema.clone(), Box::new(cluster)).unwrap();
                let found = bits(remote, &mut Ledger::in_memory().unwrap()).unwrap();
                assert!(found == expected, "{config:?} {parts} {fault:?}");
            }
        }
    }
}

/// Numbers of persons, and sums over them, of all and of both parts of a hold-out, read through noise far below them.
fn parts_of_persons(cluster: Simulated, schema: &Schema, adjacency: Adjacency, how: HoldOut) -> [Vec<i128>; 3] {
    let unit = PrivacyUnit::Person { column: "who".into() };
    let scope = Scope { unit, ..Scope::of_rows(DatasetId::new("t").unwrap(), adjacency) };
    let charge = GaussianCharge {
        what: "t".into(),
        sensitivity: 1 << 50,
        log2_scale: 0,
        noise: NoiseLaw::FlooredNormal,
        count: 3,
    };
    let noise = NoiseSource::insecure_from_seed(9);
    let mut paid = charge_run(&mut Ledger::in_memory().unwrap(), &scope, &[charge], noise).unwrap();
    let all = PrivateDataset::new(RemoteRows::new(Box::new(cluster), schema).unwrap().0, scope);
    let weights = MomentWeights { count: 1 << 20, features: 1 << 20, shares: 1 << 20, ..MomentWeights::default() };
    let whole = all.moments(&weights).unwrap();
    let (held, rest) = paid.hold_out(all, how).unwrap();
    if let HoldOut::Exactly { rows } = how {
        assert_eq!(held.public_len(), Some(rows));
    }
    let parts = [whole, held.moments(&weights).unwrap(), rest.moments(&weights).unwrap()];
    parts.map(|sums| paid.permit::<GaussianCharge>().unwrap().release(sums).unwrap().values().to_vec())
}

#[test]
fn persons_in_parts_are_held_out_whole_and_lost_parts_hold_out_the_same_ones() {
    let places = places();
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        let config = TrainConfig { evaluate_budget: Some(0.2), ..config(Algorithm::Whitened, adjacency) };
        let schema = by_person(schema(false), "who", 20);
        for parts in [1, 5] {
            let run = |fault| {
                let cluster = cluster_of_persons(parts, false, fault, |i| places[i]);
                let remote = load_remote(&config, schema.clone(), Box::new(cluster)).unwrap();
                bits(remote, &mut Ledger::in_memory().unwrap()).unwrap()
            };
            let expected = run(Fault::Nothing);
            assert!(run(Fault::Lost) == expected && run(Fault::Changed) == expected, "{adjacency} {parts}");
            let how = match adjacency {
                Adjacency::AddRemove => HoldOut::Coins { exponent: 1 << 62 },
                Adjacency::ReplaceOne => HoldOut::Exactly { rows: 61 },
            };
            let cluster = cluster_of_persons(parts, false, Fault::Lost, |i| places[i]);
            let [whole, held, rest] = parts_of_persons(cluster, &schema, adjacency, how);
            let off = |entry: usize| (whole[entry] - held[entry] - rest[entry]).abs();
            assert!((0..whole.len()).all(|entry| off(entry) < 100), "{whole:?} {held:?} {rest:?}");
            // Nearly everybody has a record. Of 252 persons 56 are expected by coins, with a deviation of 7.
            let persons = held[0] as f64 / f64::from(1 << 20);
            match how {
                HoldOut::Exactly { .. } => assert!((57.0..61.5).contains(&persons), "{persons}"),
                HoldOut::Coins { .. } => assert!((20.0..160.0).contains(&persons), "{persons}"),
            }
        }
    }
}

#[test]
fn a_person_in_two_parts_and_parts_of_other_units_are_refused_before_a_charge() {
    let places = places();
    let config = config(Algorithm::DpGd, Adjacency::AddRemove);
    let refused = |schema: Schema, cluster: Simulated| {
        let asked = Arc::clone(&cluster.asked);
        let error = load_remote(&config, schema, Box::new(cluster)).err().unwrap().to_string();
        assert_eq!(*asked.lock().unwrap(), 1, "nothing but who is there is asked: {error}");
        error
    };
    let cluster = || cluster_of_persons(3, false, Fault::Nothing, |i| places[i]);
    let ours = || by_person(schema(false), "who", 20);
    // Divided by lines, so that nearly everybody is cut in two.
    let cut = cluster_of_persons(3, false, Fault::Nothing, |i| i);
    let error = refused(ours(), cut);
    assert!(error.contains("rows of one person") && error.contains("places"), "{error}");
    // A single row that went astray.
    let astray = cluster_of_persons(3, false, Fault::Nothing, |i| if i == 700 { places[i] + 1 } else { places[i] });
    assert!(refused(ours(), astray).contains("rows of one person"));
    for (other, words) in [
        (by_person(schema(false), "who", 19), "at most 19 rows"),
        (by_person(schema(false), "household", 20), "by \"household\""),
        (schema(false), "about rows alone"),
    ] {
        let error = refused(other, cluster());
        assert!(error.contains(words) && error.contains("by \"who\" with at most 20 rows"), "{error}");
    }
    let error = refused(ours(), self::cluster(&[0, 700, 1500], false, Fault::Nothing));
    assert!(error.contains("is of rows alone"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), "all.csv", 0..100, false);
    let (rows, report) = Encoder::new(&schema(false), &file, true).unwrap().encode(&file, &|_| Ok(())).unwrap();
    assert!(Worker::pack(&rows, &report, &ours(), 0).unwrap_err().to_string().contains("whose they are"));
    let (rows, _) = Encoder::new(&schema(false), &file, true).unwrap().encode_grouped(&file, &|_| Ok(())).unwrap();
    assert!(Worker::pack_encoded(rows, &report, &ours(), 0).unwrap_err().to_string().contains("another unit"));
}

#[test]
fn a_part_of_persons_has_no_identifier() {
    let places = places();
    let cluster = cluster_of_persons(3, false, Fault::Nothing, |i| places[i]);
    assert!(cluster.packed.iter().all(|part| memchr::memmem::find(part, b"giant").is_none()));
}

/// Its table is data, and sent with each question.
#[test]
fn a_loss_from_outside_is_known_to_workers() {
    let loss = OwnLoss::of_residual("log-cosh", |r| r.abs() + (-2.0 * r.abs()).exp().ln_1p(), f64::tanh).unwrap();
    for algorithm in [Algorithm::Auto, Algorithm::FrankWolfe] {
        let plain = config(algorithm, Adjacency::AddRemove);
        let config = TrainConfig { model: Some(ModelKind::Own(loss)), ..plain };
        let expected = here(&config, 1500, true);
        assert!(there(&config, true, cluster(&[0, 700, 1500], true, Fault::Lost)).unwrap() == expected, "{config:?}");
    }
}

#[test]
fn parts_that_answer_twice_or_not_at_all_or_of_other_rows_end_the_run() {
    let config = config(Algorithm::DpGd, Adjacency::AddRemove);
    let message = |fault| there(&config, false, cluster(&[0, 700, 1500], false, fault)).unwrap_err().to_string();
    assert!(message(Fault::Twice).contains("part 0 answered twice"), "{}", message(Fault::Twice));
    assert!(message(Fault::Missing).contains("did not answer"), "{}", message(Fault::Missing));
    assert!(message(Fault::Changed).contains("does not hold the rows"), "{}", message(Fault::Changed));
    assert!(message(Fault::Garbled).contains("cannot be read"), "{}", message(Fault::Garbled));
    assert!(message(Fault::Down).contains("the cluster is gone"));
    assert!(message(Fault::Stranger).contains("was not there at first"), "{}", message(Fault::Stranger));
}

#[test]
fn an_answer_to_another_question_is_taken_for_no_other_whenever_it_comes() {
    // One question after the other goes wrong, those for moments, matrices and gradients among them.
    for algorithm in [Algorithm::DpGd, Algorithm::Whitened, Algorithm::Newton] {
        let config = config(algorithm, Adjacency::AddRemove);
        let asked = {
            let whole = cluster(&[0, 700, 1500], false, Fault::Nothing);
            let asked = Arc::clone(&whole.asked);
            there(&config, false, whole).unwrap();
            *asked.lock().unwrap()
        };
        assert!(asked >= 3, "{algorithm:?} asks {asked} questions");
        for (fault, from) in
            [Fault::Stale, Fault::Swapped, Fault::Late].iter().flat_map(|&f| (2..=asked).map(move |k| (f, k)))
        {
            let faulty = Simulated { from, ..cluster(&[0, 700, 1500], false, fault) };
            let message = there(&config, false, faulty).unwrap_err().to_string();
            assert!(message.contains("answered another question"), "{algorithm:?} {fault:?} {from}: {message}");
        }
    }
    // Two runs ask the same, and neither's answers are good for the other.
    let config = config(Algorithm::DpGd, Adjacency::AddRemove);
    let (one, two) = (cluster(&[0, 700, 1500], false, Fault::Nothing), cluster(&[0, 700, 1500], false, Fault::Stale));
    let kept = Arc::new(Mutex::new(Vec::new()));
    let heard = Listening { cluster: one, kept: Arc::clone(&kept) };
    load_remote(&config, schema(false), Box::new(heard)).unwrap();
    let two = Simulated { from: 1, before: Mutex::new(kept.lock().unwrap().clone()), ..two };
    let error = load_remote(&config, schema(false), Box::new(two)).err().unwrap().to_string();
    assert!(error.contains("answered another question"), "{error}");
}

/// Keeps the answers to the first question.
struct Listening {
    cluster: Simulated,
    kept: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Cluster for Listening {
    fn ask(&self, question: &[u8]) -> Fallible<Vec<Vec<u8>>> {
        let answers = self.cluster.ask(question)?;
        self.kept.lock().unwrap().clone_from(&answers);
        Ok(answers)
    }
}

#[test]
fn the_counts_of_the_parts_are_added_up() {
    let config = config(Algorithm::DpGd, Adjacency::AddRemove);
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), "all.csv", 0..1500, false);
    let expected = load(&config, schema(false), &file, &|_, _| Ok(())).unwrap().report;
    assert!(expected.lines == 1500 && expected.unusable > 3 && expected.missing > 3, "{expected:?}");
    for cuts in [&[0, 1500][..], &[0, 700, 700, 1500], &[0, 1, 40, 333, 1500]] {
        let remote = load_remote(&config, schema(false), Box::new(cluster(cuts, false, Fault::Nothing))).unwrap();
        let (mut report, mut expected) = (remote.report, expected.to_owned());
        // A part has no header line, so where a line stands depends on the parts.
        assert_eq!(report.first_unusable.is_some(), expected.first_unusable.is_some());
        (report.first_unusable, expected.first_unusable) = (None, None);
        assert_eq!(report, expected, "{cuts:?}");
    }
}

#[test]
fn a_run_that_its_cluster_leaves_is_charged_once_and_gives_no_model() {
    let config = config(Algorithm::DpGd, Adjacency::AddRemove);
    let mut ledger = Ledger::in_memory().unwrap();
    let loaded = load_remote(&config, schema(false), Box::new(cluster(&[0, 9, 1500], false, Fault::Down))).unwrap();
    let dataset = rhograd::privacy::DatasetId::new("t").unwrap();
    assert!(bits(loaded, &mut ledger).is_err());
    let spent = ledger.summary(&dataset).unwrap().spent;
    let whole = load_remote(&config, schema(false), Box::new(cluster(&[0, 9, 1500], false, Fault::Nothing))).unwrap();
    let mut other = Ledger::in_memory().unwrap();
    bits(whole, &mut other).unwrap();
    assert_eq!(spent, other.summary(&dataset).unwrap().spent);
}

#[test]
fn what_needs_all_rows_at_hand_is_refused_before_any_part_is_asked() {
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| algorithm.description().needs.rows_at_hand) {
        let cluster = cluster(&[0, 100], false, Fault::Nothing);
        let asked = Arc::clone(&cluster.asked);
        let config = TrainConfig {
            rows: Some(100),
            settings: Settings::default(),
            ..config(algorithm, algorithm.description().relations.all()[0])
        };
        let error = load_remote(&config, schema(false), Box::new(cluster)).err().unwrap().to_string();
        assert!(error.contains("cluster"), "{error}");
        assert_eq!(*asked.lock().unwrap(), 0);
    }
}

#[test]
fn parts_of_another_schema_or_with_one_number_are_refused() {
    let config = config(Algorithm::DpGd, Adjacency::AddRemove);
    let mut twins = cluster(&[0, 100, 200], false, Fault::Nothing);
    twins.packed[1] = twins.packed[0].clone();
    let error = load_remote(&config, schema(false), Box::new(twins)).err().unwrap().to_string();
    assert!(error.contains("two parts have the number 0"), "{error}");
    // The same columns, so the same sums would come back, of numbers that mean something else.
    let other = Schema { positive: Some("0".into()), negative: Some("1".into()), ..schema(false) };
    let error = load_remote(&config, other, Box::new(cluster(&[0, 100], false, Fault::Nothing))).err().unwrap();
    assert!(error.to_string().contains("another schema"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), "all.csv", 0..100, false);
    let (rows, report) = Encoder::new(&schema(false), &file, true).unwrap().encode(&file, &|_| Ok(())).unwrap();
    let mut narrow = schema(false);
    narrow.columns.0.pop();
    assert!(Worker::pack(&rows, &report, &narrow, 0).unwrap_err().to_string().contains("other columns"));
    let none = load_remote(&config, schema(false), Box::new(cluster(&[0], false, Fault::Nothing))).err().unwrap();
    assert!(none.to_string().contains("no part"), "{none}");
}

#[test]
fn packed_rows_that_are_damaged_or_cut_off_are_refused() {
    let packed = cluster(&[0, 100], false, Fault::Nothing).packed.remove(0);
    assert!(Worker::new(&packed).is_ok());
    for cut in [0, 1, packed.len() / 2, packed.len() - 1] {
        assert!(Worker::new(&packed[..cut]).is_err());
    }
    for at in (0..packed.len()).step_by(37) {
        let mut damaged = packed.clone();
        damaged[at] ^= 16;
        assert!(Worker::new(&damaged).is_err(), "{at}");
    }
}
