//! What is asked of cells before there is a schema, where neighbours differ in all lines of one person, in integers.

use std::collections::BTreeMap;
use std::io::Write;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::{DescribeQuery, Grid, GridPrice, PrivateCells, query};
use crate::data::CsvFile;
use crate::privacy::{Adjacency, DatasetId, PrivacyUnit, Scope};

const WEIGHT: u64 = 1000;

/// The lines of each person, without the identifier.
type People = BTreeMap<String, Vec<String>>;

fn scope(adjacency: Adjacency) -> Scope {
    let unit = PrivacyUnit::Person { column: "who".into() };
    Scope { unit, ..Scope::of_rows(DatasetId::new("a").unwrap(), adjacency) }
}

/// The persons' lines in any order, with lines of nobody and lines that are no record among them.
fn cells(people: &People, adjacency: Adjacency, rng: &mut ChaCha8Rng) -> PrivateCells {
    let line =
        |(who, lines): (&String, &Vec<String>)| lines.iter().map(|line| format!("{line}, {who} ")).collect::<Vec<_>>();
    let mut lines: Vec<String> = people.iter().flat_map(line).collect();
    lines.extend(["1,u,7,".into(), "2,v,8,NA".into(), "1,2,p0".into(), "\"open,u,1,p1".into()]);
    lines.shuffle(rng);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(format!("n,v,y,who\n{}\n", lines.join("\n")).as_bytes()).unwrap();
    PrivateCells::by_unit(CsvFile::open(file.path()).unwrap(), scope(adjacency)).unwrap()
}

/// One line or many: the same again and again, all of them different, or anything.
fn person(rng: &mut ChaCha8Rng) -> Vec<String> {
    let number = |rng: &mut ChaCha8Rng| match rng.random_range(0..8) {
        0 => ["inf", "-inf", "nan", "", "1e300", "no number"][rng.random_range(0..6)].to_owned(),
        _ => rng.random_range(-30..30).to_string(),
    };
    let value = |rng: &mut ChaCha8Rng| match rng.random_range(0..6) {
        0 => format!("secret{}", rng.random_range(0..1000)),
        1 => String::new(),
        _ => ["u", "v", "w"][rng.random_range(0..3)].to_owned(),
    };
    let line = |rng: &mut ChaCha8Rng| format!("{},{},{}", number(rng), value(rng), number(rng));
    let many = [1, 2, 5, 100][rng.random_range(0..4)];
    match rng.random_range(0..5) {
        0 => vec![line(rng); many],
        // Texts and numbers the other way round.
        4 => vec!["word,7,word".into(); many],
        1 => (0..many).map(|i| format!("{},own{i},3", 50 + i)).collect(),
        2 => vec![format!("{},{},4", rng.random_range(-30..30), ["u", "v"][rng.random_range(0..2)])],
        _ => (0..many).map(|_| line(rng)).collect(),
    }
}

fn crowd(rng: &mut ChaCha8Rng) -> People {
    (0..rng.random_range(0..9)).map(|i| (format!("p{i}"), person(rng))).collect()
}

/// How much of each sensitivity a pair of neighbours uses; more than 1 is a broken bound.
fn used(first: &PrivateCells, second: &PrivateCells, adjacency: Adjacency) -> [f64; 4] {
    let kinds = |cells: &PrivateCells| cells.kinds(&[0, 1, 2], true, WEIGHT).unwrap();
    let (a, b) = (kinds(first), kinds(second));
    let square: i128 = a.values.iter().zip(&b.values).map(|(x, y)| (x - y).pow(2)).sum();
    let stated = query::Kinds { weight: WEIGHT, columns: 3, counted: true }.sensitivity(adjacency);
    let by_kinds = (square as f64).sqrt() / stated as f64;

    let price = GridPrice { allowed: 1, halving: 0.5 };
    let grids = [(0, Grid::geometric(), price), (2, Grid::within(-10.0, 5.0).unwrap(), price)];
    let scores = |cells: &PrivateCells| cells.intervals(&grids, WEIGHT).unwrap();
    let (a, b) = (scores(first), scores(second));
    let by_intervals = a.iter().zip(&b).zip(&grids).map(|((a, b), (_, grid, _))| {
        let moved: Vec<i128> = a.values.iter().zip(&b.values).map(|(x, y)| x - y).collect();
        let spread = moved.iter().max().unwrap().max(&0) - moved.iter().min().unwrap().min(&0);
        let stated = query::Intervals { weight: WEIGHT, candidates: grid.candidates() }.sensitivity(adjacency);
        spread as f64 / stated as f64
    });
    let by_intervals = by_intervals.fold(0.0, f64::max);

    let mut by_values = 0f64;
    for (a, b) in
        first.vocabularies(&[0, 1], WEIGHT).unwrap().iter().zip(&second.vocabularies(&[0, 1], WEIGHT).unwrap())
    {
        let both = a.counts.iter().filter_map(|(value, &count)| Some(count.abs_diff(*b.counts.get(value)?)));
        let square: u64 = both.map(|moved| moved * moved).sum();
        let stated = query::Vocabulary { weight: WEIGHT }.sensitivity(adjacency);
        by_values = by_values.max((square as f64).sqrt() * WEIGHT as f64 / stated as f64);
        // What only one of them has: one value at most, that counts once, which is what the threshold is for.
        for (a, b) in [(a, b), (b, a)] {
            let alone: Vec<u64> =
                a.counts.iter().filter(|(value, _)| !b.counts.contains_key(*value)).map(|it| *it.1).collect();
            assert!(alone.is_empty() || alone == [1], "{alone:?}");
        }
    }

    let (a, b) = (first.mode(1, WEIGHT).unwrap(), second.mode(1, WEIGHT).unwrap());
    assert!(a.answer == b.answer || a.distance.max(b.distance) <= 1, "{} {}", a.distance, b.distance);
    [by_kinds, by_intervals, by_values, a.distance.abs_diff(b.distance) as f64]
}

#[test]
fn neighbours_who_differ_in_all_lines_of_a_person_move_what_neighbours_in_a_row_do() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        let mut most = [0f64; 4];
        for _ in 0..1000 {
            let common = crowd(&mut rng);
            let with = |name: &str, lines: Vec<String>| {
                let mut people = common.clone();
                people.insert(name.into(), lines);
                people
            };
            let one = with("newcomer", person(&mut rng));
            let other = match adjacency {
                Adjacency::AddRemove => common.clone(),
                Adjacency::ReplaceOne => with("somebody else", person(&mut rng)),
            };
            let [a, b] = [&one, &other].map(|people| cells(people, adjacency, &mut rng));
            let moved = used(&a, &b, adjacency);
            assert!(moved.iter().all(|&used| used <= 1.0), "{moved:?} {one:?} {other:?}");
            most.iter_mut().zip(moved).for_each(|(most, used)| *most = most.max(used));
        }
        assert!(most.iter().all(|&most| most > 0.99), "{adjacency}: {most:?}");
    }
}

#[test]
fn a_person_counts_once_whatever_the_order_and_how_often_a_line_is_repeated() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let repeated = vec!["1,again,2".to_owned(); 100];
    let different: Vec<String> = (0..100).map(|i| format!("{i},d{i},{i}")).collect();
    let people = People::from([("p0".into(), repeated), ("p1".into(), different), ("p2".into(), vec!["1,u,2".into()])]);
    let mut seen = Vec::new();
    for _ in 0..10 {
        let cells = cells(&people, Adjacency::ReplaceOne, &mut rng);
        assert_eq!(cells.public_len().unwrap(), Some(3));
        assert_eq!(cells.kinds(&[0, 1], true, 1).unwrap().values, [3, 3, 0, 0, 3]);
        let counts = cells.vocabularies(&[1], 1).unwrap().pop().unwrap().counts;
        assert_eq!((counts.len(), counts["again"], counts["u"]), (3, 1, 1), "{counts:?}");
        seen.push(counts);
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "the order of the file decides nothing");
    // Which line is kept is not the first, nor the same place for everybody.
    let places: std::collections::BTreeSet<String> = (0..40)
        .map(|who| {
            let lines = (0..10).map(|i| format!("{i},d{i},0")).collect();
            let cells = cells(&People::from([(format!("q{who}"), lines)]), Adjacency::AddRemove, &mut rng);
            let counts = cells.vocabularies(&[1], 1).unwrap().pop().unwrap().counts;
            counts.into_keys().next().unwrap()
        })
        .collect();
    assert!(places.len() > 7, "{places:?}");
}

#[test]
fn cells_that_are_not_brought_together_protect_rows() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"n,who\n1,a\n2,a\n").unwrap();
    let file = || CsvFile::open(file.path()).unwrap();
    let of_rows = PrivateCells::new(file(), scope(Adjacency::ReplaceOne));
    assert_eq!((of_rows.scope().unit.is_row(), of_rows.public_len().unwrap()), (true, Some(2)));
    let of_persons = PrivateCells::by_unit(file(), scope(Adjacency::ReplaceOne)).unwrap();
    assert_eq!((of_persons.scope().unit.is_row(), of_persons.public_len().unwrap()), (false, Some(1)));
    let elsewhere = Scope { unit: PrivacyUnit::Person { column: "z".into() }, ..scope(Adjacency::AddRemove) };
    assert!(PrivateCells::by_unit(file(), elsewhere).is_err());
}
