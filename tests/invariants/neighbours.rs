//! Tables with rows of every kind that a reader or a clip stumbles over, and neighbours of them.

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

/// The header of every table.
pub const HEADER: &str = "x,z,c,y\n";

/// A label to learn from two numbers and a category.
pub const LABELS: &str = r#"{"name":"trial","task":"classification","target":"y","positive":"yes","negative":"no",
    "rows":60,"columns":{"x":{"type":"numeric","lower":0,"upper":10},"z":{"type":"numeric","lower":-1,"upper":1},
    "c":{"type":"categorical","values":["u","v","w"]}}}"#;

/// The number `z` to learn from the rest.
pub const NUMBERS: &str = r#"{"name":"trial","task":"regression","target":"z","target_lower":-1,"target_upper":1,
    "rows":60,"columns":{"x":{"type":"numeric","lower":0,"upper":10},
    "c":{"type":"categorical","values":["u","v","w"],"other":"w"}}}"#;

/// The category `c` to learn from two numbers.
pub const CLASSES: &str = r#"{"name":"trial","task":"classification","target":"c",
    "rows":60,"columns":{"x":{"type":"numeric","lower":0,"upper":10},"z":{"type":"numeric","lower":-1,"upper":1},
    "c":{"type":"categorical","values":["u","v","w"]}}}"#;

/// What a neighbour has that the table has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// One row more.
    Insert,
    /// One row less.
    Delete,
    /// Another row in one place.
    Replace,
}

/// All changes.
pub const CHANGES: [Change; 3] = [Change::Insert, Change::Delete, Change::Replace];

/// What is odd about the row that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Ordinary,
    /// Numbers at their bounds and far beyond.
    Extreme,
    /// Cells that are no numbers.
    NotANumber,
    /// Not a record at all.
    BadLine,
    /// A label or a category that nobody declared.
    NewLabel,
    /// The same as another row.
    Duplicate,
}

/// All kinds.
pub const KINDS: [Kind; 6] =
    [Kind::Ordinary, Kind::Extreme, Kind::NotANumber, Kind::BadLine, Kind::NewLabel, Kind::Duplicate];

/// Lines below the header.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    lines: Vec<(Kind, Vec<u8>)>,
}

impl Table {
    /// Some ordinary lines with a few of every kind between them; the last line is of the kind asked for.
    pub fn ending_in(last: Kind, rng: &mut ChaCha8Rng) -> Self {
        let mut table = Table { lines: Vec::new() };
        for _ in 0..5 {
            for kind in [Kind::Ordinary; 3].into_iter().chain(KINDS) {
                let line = table.line(kind, rng);
                table.lines.push((kind, line));
            }
        }
        let line = table.line(last, rng);
        table.lines.push((last, line));
        table
    }

    /// The same line so many times.
    pub fn of(line: &str, count: usize) -> Self {
        Table { lines: vec![(Kind::Duplicate, line.as_bytes().to_vec()); count] }
    }

    /// The table with the lines of another below its own.
    pub fn and(mut self, below: Table) -> Self {
        self.lines.extend(below.lines);
        self
    }

    /// The file, header included.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = HEADER.as_bytes().to_vec();
        for (_, line) in &self.lines {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        bytes
    }

    /// A neighbour, which differs in a row of this kind; where places matter, in the last one.
    pub fn neighbour(&self, change: Change, kind: Kind, last: bool, rng: &mut ChaCha8Rng) -> Self {
        let mut other = self.clone();
        let line = (kind, self.line(kind, rng));
        let count = self.lines.len();
        match change {
            Change::Insert => other.lines.insert(if last { count } else { rng.random_range(0..=count) }, line),
            Change::Delete => {
                let of_kind: Vec<usize> = (0..count).filter(|&i| self.lines[i].0 == kind).collect();
                other.lines.remove(if last { count - 1 } else { *of_kind.choose(rng).unwrap() });
            }
            Change::Replace => other.lines[rng.random_range(0..count)] = line,
        }
        other
    }

    /// A neighbour with another text in one cell of a line that has all of its cells.
    pub fn relabelled(&self, column: usize, cell: &str, rng: &mut ChaCha8Rng) -> Self {
        let mut other = self.clone();
        let cells = |line: &[u8]| {
            let text = String::from_utf8(line.to_vec()).ok().filter(|text| !text.contains('"'))?;
            let cells: Vec<String> = text.split(',').map(str::to_owned).collect();
            (cells.len() == 4).then_some(cells)
        };
        let whole: Vec<usize> = (0..self.lines.len()).filter(|&i| cells(&self.lines[i].1).is_some()).collect();
        let place = *whole.choose(rng).unwrap();
        let mut line = cells(&self.lines[place].1).unwrap();
        line[column] = cell.to_owned();
        other.lines[place].1 = line.join(",").into_bytes();
        other
    }

    /// A new line of a kind.
    fn line(&self, kind: Kind, rng: &mut ChaCha8Rng) -> Vec<u8> {
        let mut pick = |from: &[&'static str]| *from.choose(rng).unwrap();
        let (c, y) = (pick(&["u", "v", "w"]), pick(&["yes", "no"]));
        let far = ["0", "10", "-1", "1", "1e308", "-1e308", "inf", "-inf", "1e999", "-7", "11", "5e-324"];
        let none = ["nan", "NaN", "-nan", "", "?", "0x10", "1e", "--1", "1,0"];
        match kind {
            Kind::Ordinary => ordinary(c, y, rng),
            Kind::Extreme => format!("{},{},{c},{y}", pick(&far), pick(&far)).into_bytes(),
            Kind::NotANumber => format!("{},{},{c},{y}", pick(&none[..8]), pick(&none)).into_bytes(),
            Kind::BadLine => {
                match pick(&["1,0,u", "1,0,u,yes,no", "", "\"1,0,u,yes", "1,0,\"u,yes", "\0\0", "bytes"]) {
                    "bytes" => (0..rng.random_range(1..40)).map(|_| rng.random_range(128u8..=255)).collect(),
                    line => line.as_bytes().to_vec(),
                }
            }
            Kind::NewLabel => match pick(&["label", "category", "both"]) {
                "label" => format!("3,0.5,{c},maybe").into_bytes(),
                "category" => format!("3,0.5,never seen,{y}").into_bytes(),
                _ => b"3,0.5,never seen,maybe".to_vec(),
            },
            Kind::Duplicate => self.lines.choose(rng).map_or_else(|| ordinary(c, y, rng), |(_, line)| line.clone()),
        }
    }
}

/// A line of a kind, of no table; a duplicate is an ordinary one.
pub fn line(kind: Kind, rng: &mut ChaCha8Rng) -> Vec<u8> {
    Table::of("", 0).line(kind, rng)
}

fn ordinary(c: &str, y: &str, rng: &mut ChaCha8Rng) -> Vec<u8> {
    format!("{:.3},{:.3},{c},{y}", rng.random_range(0.0..10.0), rng.random_range(-1.0..1.0)).into_bytes()
}
