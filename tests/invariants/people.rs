//! Tables of persons with one row or many, in no order, and neighbours of them that differ in all rows of one person.

use rand::Rng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::neighbours::{Change, HEADER, KINDS, Kind, line};

/// The column of identifiers.
pub const WHO: &str = "who";

/// Rows of a person that count.
pub const MAX_ROWS: usize = 40;

/// Persons whom the schemas declare.
pub const DECLARED: usize = 60;

/// The most rows of a person.
const MOST: usize = 100;

/// A schema of [`super::neighbours`] whose unit is the person.
pub fn of_persons(schema: &str) -> String {
    let unit = format!(r#""unit":{{"column":"{WHO}","persons":{DECLARED},"max_rows":{MAX_ROWS}}},"#);
    let changed = schema.replace(r#""rows":60,"#, &unit);
    assert_ne!(changed, schema, "the schema declares no rows");
    changed
}

/// What is odd about all rows of the person that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Rows of every kind.
    Mixed,
    /// One row, of this kind, so many times that a person with few of them differs from one with many.
    Alike(Kind),
    /// More rows than count, each another one.
    TooMany,
    /// Some rows have no identifier.
    PartlyNamed,
}

/// All sorts.
pub const SORTS: [Sort; 9] = [
    Sort::Mixed,
    Sort::Alike(Kind::Ordinary),
    Sort::Alike(Kind::Extreme),
    Sort::Alike(Kind::NotANumber),
    Sort::Alike(Kind::BadLine),
    Sort::Alike(Kind::NewLabel),
    Sort::Alike(Kind::Duplicate),
    Sort::TooMany,
    Sort::PartlyNamed,
];

/// Lines below the header, each of a person.
#[derive(Clone, PartialEq)]
pub struct People {
    lines: Vec<(Owner, Vec<u8>)>,
    /// The number of the next person.
    next: usize,
}

/// Whose a line is, and whether it says so.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Owner {
    person: usize,
    named: bool,
}

impl std::fmt::Debug for People {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.bytes()))
    }
}

impl People {
    /// Persons with rows of every kind; each appears with an ordinary row, in the order of their numbers, and their other rows
    /// are anywhere below.
    pub fn new(count: usize, rng: &mut ChaCha8Rng) -> Self {
        let first = |person| (Owner { person, named: true }, line(Kind::Ordinary, rng));
        let mut people = People { lines: (0..count).map(first).collect(), next: 0 };
        for _ in 0..count {
            let rows = rng.random_range(0..12);
            people.join(Sort::Mixed, rows, count, rng);
        }
        people
    }

    /// The persons of another table below these.
    pub fn and(mut self, other: People) -> Self {
        let next = self.next;
        self.lines.extend(
            other.lines.into_iter().map(|(owner, line)| (Owner { person: owner.person + next, ..owner }, line)),
        );
        self.next += other.next;
        self
    }

    /// Persons with so many rows each, all of them the same line, persons in turns.
    pub fn of(cells: &str, persons: usize, rows: usize) -> Self {
        let line = |index: usize| (Owner { person: index % persons.max(1), named: true }, cells.as_bytes().to_vec());
        People { lines: (0..persons * rows).map(line).collect(), next: persons }
    }

    /// Tables of one person each, who pulls as hard as a person can, in groups of four: all numbers at a bound and either label, with one row, which is all
    /// that moments can hold of a person; with several, of whom a joint clip leaves no less than its clip norm; and one row of another length, for
    /// weights in matrices are whole numbers, and one of these lengths comes near to what they are cut from.
    pub fn extreme() -> Vec<Self> {
        let extreme = ["10,1,u,no", "10,1,u,yes", "0,-1,w,no", "0,-1,w,yes"];
        let others = ["9,0.8,v,no", "1,0.7,u,yes", "10,-0.4,w,yes", "3,-0.9,v,no"];
        let of = |lines: [&str; 4], rows| lines.map(|cells| People::of(cells, 1, rows));
        [of(extreme, 1), of(extreme, 7), of(others, 1)].concat()
    }

    /// The file, header included.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{WHO},{HEADER}").into_bytes();
        for (index, (owner, line)) in self.lines.iter().enumerate() {
            bytes.extend(owner.spelled(index).into_bytes());
            bytes.push(b',');
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        bytes
    }

    /// The lines in another order, identifiers being spelled otherwise, too.
    pub fn shuffled(mut self, rng: &mut ChaCha8Rng) -> Self {
        self.lines.shuffle(rng);
        self
    }

    /// A neighbour, which differs in all rows of one person; it is the one who appears last where places matter, and nobody
    /// else's number changes then.
    pub fn neighbour(&self, change: Change, sort: Sort, last: bool, rng: &mut ChaCha8Rng) -> Self {
        let mut other = self.clone();
        if change != Change::Insert {
            let gone = if last { self.next - 1 } else { rng.random_range(0..self.next) };
            other.lines.retain(|(owner, _)| owner.person != gone);
        }
        if change != Change::Delete {
            let below =
                if last { other.lines.iter().rposition(|line| other.is_first(line)).map_or(0, |at| at + 1) } else { 0 };
            let rows = match sort {
                Sort::TooMany => rng.random_range(MAX_ROWS + 1..=MOST),
                _ => *[1, 1, 2, 3, 7, MAX_ROWS, rng.random_range(1..=MOST)].choose(rng).unwrap(),
            };
            other.join(sort, rows, below, rng);
            if change == Change::Replace
                && !matches!(sort, Sort::Alike(Kind::Ordinary | Kind::Extreme | Kind::NewLabel))
            {
                // A line with more or fewer cells is nobody's, and the number of persons is public.
                let owner = Owner { person: other.next - 1, named: true };
                let at = rng.random_range(below..=other.lines.len());
                other.lines.insert(at, (owner, b"3,0.5,never seen,maybe".to_vec()));
            }
        }
        other
    }

    /// Whether nothing above is of the same person.
    fn is_first(&self, line: &(Owner, Vec<u8>)) -> bool {
        self.lines
            .iter()
            .find(|(owner, _)| owner.person == line.0.person)
            .is_some_and(|first| std::ptr::eq(first, line))
    }

    /// Puts rows of the next person anywhere from a line on, one more than asked for where it needs a name.
    fn join(&mut self, sort: Sort, rows: usize, below: usize, rng: &mut ChaCha8Rng) {
        let person = self.next;
        self.next += 1;
        let alike = match sort {
            Sort::Alike(kind) => Some(self.line(kind, rng)),
            Sort::Mixed | Sort::TooMany | Sort::PartlyNamed => None,
        };
        for row in 0..rows {
            let cells = match &alike {
                Some(cells) => cells.clone(),
                None => {
                    let kind = *KINDS.choose(rng).unwrap();
                    self.line(kind, rng)
                }
            };
            let named = sort != Sort::PartlyNamed || row == 0 || rng.random();
            let at = rng.random_range(below..=self.lines.len());
            self.lines.insert(at, (Owner { person, named }, cells));
        }
    }

    /// A new line of a kind; a duplicate is the line of somebody else.
    fn line(&self, kind: Kind, rng: &mut ChaCha8Rng) -> Vec<u8> {
        match self.lines.choose(rng) {
            Some((_, cells)) if kind == Kind::Duplicate => cells.clone(),
            _ => line(kind, rng),
        }
    }
}

impl Owner {
    /// The identifier on a line: one person's is spelled in several ways that mean the same, and nobody's in others.
    fn spelled(self, line: usize) -> String {
        if !self.named {
            return ["", " ", "NA", "nan", "\"\"", " null "][line % 6].into();
        }
        // In no order, and of several lengths.
        let id = format!("p{}", self.person * 7919 % 10_007);
        match line % 5 {
            0 => format!(" {id}"),
            1 => format!("{id}  "),
            2 => format!("\"{id}\""),
            3 => format!("\" {id} \""),
            _ => id,
        }
    }
}
