//! The data sets: generated persons, and files that were given with a schema that names the person.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rhograd::data::{Schema, Synthetic, SyntheticKind};
use rhograd::error::{Error, Fallible};
use rhograd::train::sha256_hex;

use crate::rows::write;
use crate::setup::Setup;

/// Rows that are generated, those of the test included.
const ROWS: u64 = 50_000;

/// A training and a test file, the lines of each person, and the schema.
pub(super) struct DataSet {
    pub(super) name: String,
    /// How many rows and persons, in words.
    pub(super) about: String,
    pub(super) schema: Schema,
    pub(super) test: PathBuf,
    /// One row of each person of the test.
    pub(super) test_persons: PathBuf,
    pub(super) folder: PathBuf,
    header: String,
    /// The lines of each person, in the order of the file.
    pub(super) persons: Vec<Vec<String>>,
    /// Changes with every byte of the files and the schema.
    pub(super) fingerprint: String,
}

impl DataSet {
    fn new(name: &str, schema: Schema, train: &str, test: &str, folder: &Path) -> Fallible<Self> {
        let unit = schema
            .unit
            .clone()
            .ok_or_else(|| Error::parameter("schema", "names no person", "give it \"unit\": {\"column\": \"NAME\"}"))?;
        let (header, lines) = train.split_once('\n').unwrap_or((train, ""));
        let at = header.split(',').position(|name| name == unit.column).ok_or_else(|| {
            Error::parameter("schema", format!("names {:?}, which is no column", unit.column), "name one of the file")
        })?;
        let mut persons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for line in lines.lines() {
            persons.entry(line.split(',').nth(at).unwrap_or("")).or_default().push(line.to_owned());
        }
        let persons: Vec<Vec<String>> = persons.into_values().collect();
        let rows: usize = persons.iter().map(Vec::len).sum();
        let most = persons.iter().map(Vec::len).max().unwrap_or(0);
        let about = format!("{rows} rows of {} persons, {most} of one at most", persons.len());
        let path = folder.join(format!("{name}_test.csv"));
        write(&path, test)?;
        let test_persons = folder.join(format!("{name}_test_persons.csv"));
        write(&test_persons, first_rows(test, &unit.column))?;
        let fingerprint = [schema.fingerprint(), sha256_hex(train.as_bytes()), sha256_hex(test.as_bytes())].join(" ");
        let (name, header, folder) = (name.to_owned(), header.to_owned(), folder.to_owned());
        Ok(DataSet { name, about, schema, test: path, test_persons, folder, header, persons, fingerprint })
    }

    /// The most rows of a person.
    pub(super) fn most(&self) -> usize {
        self.persons.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Writes a training file with at most so many rows of each person, drawn anew with each seed.
    pub(super) fn with_at_most(&self, rows: usize, seed: u64) -> Fallible<PathBuf> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut text = format!("{}\n", self.header);
        for own in &self.persons {
            let mut own: Vec<&String> = own.iter().collect();
            if own.len() > rows {
                own.shuffle(&mut random);
            }
            own.iter().take(rows).for_each(|line| {
                text.push_str(line);
                text.push('\n');
            });
        }
        let path = self.folder.join(format!("{}-{rows}.csv", self.name));
        write(&path, &text)?;
        Ok(path)
    }
}

/// A file with the first row of each person.
fn first_rows(text: &str, column: &str) -> String {
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    let at = header.split(',').position(|name| name == column).unwrap_or(0);
    let mut met = BTreeSet::new();
    let first = lines.filter(|line| met.insert(line.split(',').nth(at).unwrap_or_default()));
    std::iter::once(header).chain(first).flat_map(|line| [line, "\n"]).collect()
}

/// Pairs of files that were given, or generated persons.
pub(super) fn sets(setup: &Setup, scratch: &Path) -> Fallible<Vec<DataSet>> {
    if setup.utility.data.is_empty() {
        return Ok(vec![generated(scratch)?]);
    }
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|e| Error::io(path, "read it", e));
    let pair = |pair: &[PathBuf]| match pair {
        [train, test] => {
            let stem = train.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let name = stem.strip_suffix("_train").unwrap_or(&stem);
            let schema = Schema::read(&train.with_file_name(format!("{name}.schema.json")))?;
            DataSet::new(name, schema, &read(train)?, &read(test)?, scratch)
        }
        _ => Err(Error::parameter("data", "is no pair of files", "give files in pairs: TRAIN.csv TEST.csv")),
    };
    setup.utility.data.chunks(2).map(pair).collect()
}

/// Persons of 1 to 20 rows, every fifth of them held back for the test.
fn generated(folder: &Path) -> Fallible<DataSet> {
    let synthetic = Synthetic {
        kind: SyntheticKind::Logistic,
        rows: ROWS,
        features: 6,
        categories: 2,
        noise: 0.0,
        seed: 0,
        persons: true,
    };
    let mut bytes = Vec::new();
    synthetic.write(&mut bytes, &|_| ())?;
    let text = String::from_utf8_lossy(&bytes);
    let (header, lines) = text.split_once('\n').unwrap_or((&text, ""));
    let mut parts = [format!("{header}\n"), format!("{header}\n")];
    for line in lines.lines() {
        let number = line.split(',').next().and_then(|person| person.trim_start_matches('p').parse::<u64>().ok());
        let part = &mut parts[usize::from(number.is_some_and(|number| number % 5 == 0))];
        part.push_str(line);
        part.push('\n');
    }
    DataSet::new("generated", synthetic.schema(), &parts[0], &parts[1], folder)
}

/// How many rows persons have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// 1 to 20, equally often.
    Even,
    /// `1 / U - 1` rounded up for a uniform `U`, up to 500: half of the persons have one, and one in a hundred a hundred or more.
    Heavy,
}

impl Rows {
    pub(super) const ALL: [Rows; 2] = [Rows::Even, Rows::Heavy];

    fn name(self) -> &'static str {
        match self {
            Rows::Even => "correlated",
            Rows::Heavy => "heavy",
        }
    }

    fn most(self) -> usize {
        match self {
            Rows::Even => 20,
            Rows::Heavy => 500,
        }
    }

    fn draw(self, random: &mut ChaCha8Rng) -> usize {
        match self {
            Rows::Even => random.random_range(1..=self.most()),
            Rows::Heavy => ((1.0 / (1.0 - random.random::<f64>()) - 1.0).ceil() as usize).clamp(1, self.most()),
        }
    }
}

/// Persons in whom two effects turn around from those with one row to those with most, and with them the share of labels; every fifth of
/// them is held back for the test.
pub(super) fn correlated(rows_of: Rows, scratch: &Path) -> Fallible<DataSet> {
    const PERSONS: usize = 5000;
    const LIMIT: f64 = 4.0;
    let most = rows_of.most();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let header = "who,a,b,c,d,y\n";
    let mut parts = [header.to_owned(), header.to_owned()];
    for person in 0..PERSONS {
        let rows = rows_of.draw(&mut random);
        // From -1 to 1.
        let heavy = 2.0 * (rows as f64).ln() / (most as f64).ln() - 1.0;
        let effects = [1.0 - 0.8 * heavy, 0.5, -0.5, 0.8 * heavy];
        let own: [f64; 4] = std::array::from_fn(|_| normal(&mut random) / 2.0);
        for _ in 0..rows {
            let x = own.map(|own| (own + normal(&mut random)).clamp(-LIMIT, LIMIT));
            let margin = heavy + x.iter().zip(effects).map(|(x, effect)| x * effect).sum::<f64>();
            let label = u8::from(random.random_bool(1.0 / (1.0 + (-margin).exp())));
            let [a, b, c, d] = x;
            let _ = writeln!(parts[usize::from(person % 5 == 0)], "p{person},{a:.3},{b:.3},{c:.3},{d:.3},{label}");
        }
    }
    let column = |name| format!("\"{name}\":{{\"type\":\"numeric\",\"lower\":-{LIMIT},\"upper\":{LIMIT}}}");
    let columns = ["a", "b", "c", "d"].map(column).join(",");
    let name = rows_of.name();
    let schema = format!(
        "{{\"name\":\"{name}\",\"task\":\"classification\",\"target\":\"y\",\"positive\":\"1\",\"negative\":\"0\",\
         \"unit\":{{\"column\":\"who\",\"max_rows\":{most}}},\"columns\":{{{columns}}}}}"
    );
    let schema = Schema::parse(&schema, Path::new("correlated.schema.json"))?;
    DataSet::new(name, schema, &parts[0], &parts[1], scratch)
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(random)
}
