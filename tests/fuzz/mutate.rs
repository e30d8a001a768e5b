//! Small changes of an input, at random.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, RngCore};
use serde_json::{Map, Value};

/// What matters in a table.
pub const CELLS: &[&str] = &[
    "\"",
    "\"\"",
    ",",
    "\n",
    "\r\n",
    "\r",
    "\0",
    "\u{feff}",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "-0",
    "1e-400",
    " ",
    "\t",
    "?",
    "yes",
    "no",
    "u",
    "w",
    "\"u",
    "9999999999999999999999",
    "0x10",
    "1.2.3",
    ";",
    "\u{1f}\u{8b}",
    "PAR1",
    "ü",
    "x,z,c,note,y\n",
];

/// What matters in JSON.
pub const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1e999",
    "1e-999",
    "9007199254740993",
    "18446744073709551616",
    "170141183460469231731687303715884105728",
    "NaN",
    "\\u0000",
    "\\ud800",
    "\\",
    "\n",
    " ",
    "\u{feff}",
    "\"dp\":true",
    "\"draft\":false",
    "[[[[[[[[[[[[[[[[",
    "{\"a\":{\"a\":{\"a\":{\"a\":",
];

/// Words of the command line; none of them makes a run that takes long.
pub const ARGUMENTS: &[&str] = &[
    " train",
    " predict",
    " evaluate",
    " statement",
    " verify",
    " account convert",
    " account eval",
    " ledger show",
    " ledger verify",
    " ledger init",
    " inspect",
    " --help",
    " --version",
    " data.csv",
    " data.model.json",
    " data.ledger.sqlite",
    " data.log.jsonl",
    " data.schema.json",
    " --schema",
    " --epsilon",
    " --delta",
    " --rho",
    " --clip",
    " --steps 3",
    " --algorithm whitened",
    " --algorithm dp-sgd",
    " --algorithm adassp",
    " --model logistic",
    " --model linear",
    " --adjacency replace-one",
    " --noise discrete",
    " --l1 0.1",
    " --l2 0.1",
    " --no-ledger",
    " --ledger",
    " --log",
    " --out",
    " --json",
    " --seed 1",
    " --threads 2",
    " --rows 60",
    " --cache auto",
    " --memory-limit 1MB",
    " --evaluate-budget 0.1",
    " --coefficients",
    " --target c",
    " --name a",
    " --",
    " -",
    " =",
    " -1",
    " 0",
    " 1",
    " 1e-6",
    " nan",
    " inf",
    " 1e999",
];

/// Changes one input; `other` is one to take pieces from.
pub struct Mutator<'a> {
    pub rng: &'a mut StdRng,
    pub tokens: &'a [&'a str],
    pub other: &'a [u8],
}

impl Mutator<'_> {
    /// A few changes, of the text or of the tree that it stands for.
    pub fn change(&mut self, input: &[u8]) -> Vec<u8> {
        if self.rng.random_bool(0.5)
            && let Ok(mut value) = serde_json::from_slice::<Value>(input)
        {
            for _ in 0..self.rng.random_range(1..4) {
                self.change_tree(&mut value);
            }
            let pretty = self.rng.random();
            let text = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) };
            return text.unwrap_or_default();
        }
        let mut bytes = input.to_vec();
        for _ in 0..self.rng.random_range(1..6) {
            self.change_bytes(&mut bytes);
        }
        bytes
    }

    fn change_bytes(&mut self, bytes: &mut Vec<u8>) {
        let at = self.rng.random_range(0..=bytes.len());
        let end = (at + self.rng.random_range(0..40)).min(bytes.len());
        match self.rng.random_range(0..10) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.rng.random_range(0..8),
            1 if at < bytes.len() => bytes[at] = self.rng.random(),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let piece = bytes[at..end].to_vec();
                let times = self.rng.random_range(1..20);
                bytes.splice(at..at, piece.repeat(times));
            }
            4 => {
                let from = self.rng.random_range(0..=self.other.len());
                let to = (from + self.rng.random_range(0..200)).min(self.other.len());
                bytes.splice(at..end, self.other[from..to].iter().copied());
            }
            5 => bytes.truncate(at),
            6 => {
                let mut noise = vec![0; self.rng.random_range(1..8)];
                self.rng.fill_bytes(&mut noise);
                bytes.splice(at..at, noise);
            }
            7 => self.change_number(bytes),
            _ => {
                let token = self.tokens.choose(self.rng).copied().unwrap_or_default().as_bytes().to_vec();
                let end = if self.rng.random() { at } else { end };
                bytes.splice(at..end, token);
            }
        }
    }

    /// Puts another number in the place of one.
    fn change_number(&mut self, bytes: &mut Vec<u8>) {
        let digits: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at].is_ascii_digit()).collect();
        let Some(&at) = digits.choose(self.rng) else { return };
        let size = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = self.number();
        bytes.splice(at..at + size, number.into_bytes());
    }

    fn number(&mut self) -> String {
        const EDGES: [&str; 16] = [
            "0",
            "1",
            "2",
            "3",
            "7",
            "255",
            "256",
            "32768",
            "65535",
            "65536",
            "2147483648",
            "4294967296",
            "9223372036854775808",
            "18446744073709551615",
            "1e308",
            "5e-324",
        ];
        if self.rng.random() {
            EDGES.choose(self.rng).unwrap().to_string()
        } else {
            self.rng.random_range(0..100).to_string()
        }
    }

    /// Changes one place of a tree, chosen by a walk from the root.
    fn change_tree(&mut self, value: &mut Value) {
        let stop = self.rng.random_bool(0.15);
        match value {
            Value::Object(map) if !map.is_empty() && !stop => {
                let key = map.keys().nth(self.rng.random_range(0..map.len())).unwrap().clone();
                match self.rng.random_range(0..30) {
                    0 => drop(map.shift_remove(&key)),
                    1 => self.rename(map, &key),
                    _ => self.change_tree(&mut map[&key]),
                }
            }
            Value::Array(list) if !list.is_empty() && !stop => {
                let at = self.rng.random_range(0..list.len());
                match self.rng.random_range(0..15) {
                    0 => drop(list.remove(at)),
                    1 => list.insert(at, list[at].clone()),
                    2 => list.swap(0, at),
                    _ => self.change_tree(&mut list[at]),
                }
            }
            _ => *value = self.leaf(value),
        }
    }

    fn rename(&mut self, map: &mut Map<String, Value>, key: &str) {
        let value = map.shift_remove(key).unwrap_or_default();
        map.insert(format!("{key}{}", self.rng.random_range(0..10)), value);
    }

    /// Something like the value, or something else.
    fn leaf(&mut self, old: &Value) -> Value {
        match (self.rng.random_range(0..8), old) {
            (0, _) => Value::Null,
            (1, _) => Value::Bool(self.rng.random()),
            (2, _) => Value::Array(vec![old.clone(); self.rng.random_range(0..3)]),
            (3, _) => Value::String(self.tokens.choose(self.rng).copied().unwrap_or_default().into()),
            (4 | 5, Value::String(text)) => {
                let mut bytes = text.clone().into_bytes();
                self.change_bytes(&mut bytes);
                Value::String(String::from_utf8_lossy(&bytes).into_owned())
            }
            (4, Value::Number(number)) => number.as_f64().map_or(Value::Null, |number| {
                Value::from(
                    number * [-1.0, 0.5, 0.999_999, 1.000_001, 2.0, 1e10].choose(self.rng).copied().unwrap_or(1.0),
                )
            }),
            (5, Value::Number(number)) => number.as_u64().map_or(Value::Null, |number| {
                Value::from(if self.rng.random() { number.saturating_add(1) } else { number.saturating_sub(1) })
            }),
            (6, Value::String(_)) => Value::String(self.number()),
            (_, Value::Bool(old)) => Value::Bool(!old),
            _ => serde_json::from_str(&self.number()).unwrap_or(Value::Null),
        }
    }
}
