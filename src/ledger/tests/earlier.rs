//! Entries of versions whose caps bounded rho alone.

use crate::ledger::book::Book;
use crate::ledger::record::{RawEntry, Record, chain_hash};
use crate::ledger::{Cap, DatasetSummary, ExactRho};
use crate::privacy::{
    Adjacency, Charge, Claim, DatasetId, GaussianCharge, NoiseLaw, PoissonGaussianCharge, PrivacyUnit, Rho,
    ThresholdCharge,
};

/// As an earlier version wrote them.
const OPEN: &str = r#"{"open":{"dataset":"d","adjacency":"add-remove","cap":{"num":"1","log2_den":1}}}"#;
const SET: &str = r#"{"set-cap":{"dataset":"d","cap":{"num":"1","log2_den":0}}}"#;

fn append(book: &mut Book, body: &str) -> Result<(), String> {
    let head = book.head().clone();
    let hash = chain_hash(&head.hash, head.sequence + 1, body);
    book.read(&RawEntry { sequence: head.sequence as i64 + 1, body, previous: &head.hash, hash: &hash })
}

fn summary(book: &Book) -> DatasetSummary {
    book.summary(&DatasetId::new("d").unwrap()).unwrap()
}

fn reserve(run: char, charge: Charge) -> String {
    let rho = ExactRho::new(&charge.rho().unwrap()).unwrap();
    let (dataset, adjacency) = (DatasetId::new("d").unwrap(), Adjacency::AddRemove);
    let run = String::from(run).repeat(32);
    let (unit, events) = (PrivacyUnit::Row, vec![charge]);
    Record::Reserve { dataset, adjacency, unit, run, at: 0, events, rho, rho_at_order: None, private: true }
        .body()
        .unwrap()
}

fn noised(count: u64) -> GaussianCharge {
    GaussianCharge { what: "sum".into(), sensitivity: 1, log2_scale: 1, noise: NoiseLaw::FlooredNormal, count }
}

/// rho 1/8 and a delta of one half.
fn claim() -> Charge {
    ThresholdCharge { noised: noised(1), row: 1, threshold: 2, delta: 0.5 }.into()
}

fn change(cap: Cap) -> String {
    Record::ChangeCap { dataset: DatasetId::new("d").unwrap(), cap, spent_at_order: None }.body().unwrap()
}

#[test]
fn caps_written_before_bind_rho_as_before_and_say_that_delta_is_not_capped() {
    let mut book = Book::new();
    append(&mut book, OPEN).unwrap();
    append(&mut book, &reserve('a', claim())).unwrap();
    append(&mut book, &reserve('b', claim())).unwrap();
    let found = summary(&book);
    assert_eq!((found.spent_delta, found.left_delta, found.cap_raised), (1.0, None, 0));
    assert_eq!(found.cap.as_ref().map(Cap::notion), Some("rho"));
    assert!(
        append(&mut book, &reserve('c', noised(3).into()))
            .unwrap_err()
            .contains("left of its cap 0.5, and this run costs")
    );
    append(&mut book, SET).unwrap();
    append(&mut book, &reserve('c', noised(3).into())).unwrap();
    let found = summary(&book);
    assert_eq!((found.cap_raised, found.runs_before_cap, found.runs), (1, 2, 3));
    // A new cap over the old one binds both numbers from then on.
    append(&mut book, &change(Cap::rho(&Rho::from_f64(1.0).unwrap(), 1.0 - 1e-9).unwrap())).unwrap();
    let found = summary(&book);
    assert_eq!((found.cap_raised, found.left_delta), (1, Some(0.0)));
    assert!(append(&mut book, &reserve('d', claim())).unwrap_err().contains("for claims"));
    // What was spent before is more than the new cap allows, so that nothing fits under it.
    assert!(append(&mut book, &reserve('d', noised(1).into())).is_err());
}

#[test]
fn new_records_have_one_text() {
    let cap = Cap::rho(&Rho::from_f64(0.5).unwrap(), 1e-7).unwrap();
    let expected = r#"{"change-cap":{"dataset":"d","cap":{"zcdp":{"rho":{"num":"1","log2_den":1},"claims_delta":1e-7,"asked":null}}}}"#;
    assert_eq!(change(cap), expected);
    let mut book = Book::new();
    append(
        &mut book,
        &expected.replace("change-cap", "open-capped").replace(r#""cap""#, r#""adjacency":"add-remove","cap""#),
    )
    .unwrap();
    append(&mut book, expected).unwrap();
    for bad in [
        expected.replace("1e-7", "1.0"),
        expected.replace("1e-7", "-1e-7"),
        expected.replace("1e-7", "0.0000001"),
        expected.replace("zcdp", "rho"),
        // More than (1, 1e-6) allows.
        expected.replace("null", r#"{"epsilon":1.0,"delta":1e-6}"#),
        r#"{"change-cap":{"dataset":"d","cap":{"rho":{"rho":{"num":"1","log2_den":1}}}}}"#.to_owned(),
        r#"{"change-cap":{"dataset":"d","cap":{"median":{}}}}"#.to_owned(),
        r#"{"lift-cap":{"dataset":"d"}}"#.to_owned(),
    ] {
        assert!(append(&mut book, &bad).is_err(), "{bad}");
    }
}

#[test]
fn an_entry_claims_only_what_can_be_confirmed_in_bounded_time() {
    let charges = |count: u64| -> Vec<Charge> {
        let different = |k: u64| ThresholdCharge { noised: noised(1), row: 1, threshold: 2 + k, delta: 0.5 }.into();
        (0..count).map(different).collect()
    };
    let book = Book::new();
    book.cost_of(&charges(128), Adjacency::AddRemove).unwrap();
    let problem = book.cost_of(&charges(129), Adjacency::AddRemove).unwrap_err().to_string();
    assert!(problem.contains("claim more"), "{problem}");
    // What is repeated is confirmed once.
    book.cost_of(&vec![claim(); 5000], Adjacency::AddRemove).unwrap();
}

#[test]
fn entries_under_an_order_have_one_text_and_those_without_say_nothing_of_it() {
    let eight = |rho: f64| Cap::renyi_rho(&Rho::from_f64(rho).unwrap(), 8.0).unwrap();
    let mut ledger = crate::ledger::Ledger::in_memory().unwrap();
    let scope = crate::privacy::Scope::of_rows(DatasetId::new("d").unwrap(), Adjacency::AddRemove);
    ledger.init(&scope, Some(&eight(2.0))).unwrap();
    ledger.reserve(&scope, &[noised(1)], true).unwrap();
    ledger.set_cap(&scope.dataset, &eight(1.5)).unwrap();
    let text = |ledger: &mut crate::ledger::Ledger, at: u64| ledger.entry(at).unwrap().unwrap().record.body().unwrap();
    assert_eq!(
        text(&mut ledger, 1),
        r#"{"open-capped":{"dataset":"d","adjacency":"add-remove","cap":{"renyi":{"order":8.0,"rho":{"num":"2","log2_den":0},"asked":null}}}}"#
    );
    assert!(
        text(&mut ledger, 2)
            .contains(r#""rho":{"num":"1","log2_den":3},"rho_at_order":{"num":"1","log2_den":3},"private":true"#)
    );
    assert!(text(&mut ledger, 3).ends_with(r#""asked":null}},"spent_at_order":{"num":"1","log2_den":3}}}"#));
    ledger.set_cap(&scope.dataset, &Cap::rho(&Rho::from_f64(2.0).unwrap(), 0.0).unwrap()).unwrap();
    ledger.reserve(&scope, &[noised(1)], true).unwrap();
    assert!((4..=5).all(|at| !text(&mut ledger, at).contains("order")));
    ledger.verify().unwrap();
}

#[test]
fn a_ledger_is_counted_at_a_bounded_number_of_orders_and_at_each_of_them_once() {
    let charge = |exponent: u64| -> Charge {
        let sampled = GaussianCharge { sensitivity: 1 << 28, log2_scale: 30, ..noised(20) };
        let claim = Claim { epsilon: 1.0, delta: 1e-6, rho: 1.0 };
        PoissonGaussianCharge { sampled, exponent, claim }.into()
    };
    let scope = crate::privacy::Scope::of_rows(DatasetId::new("d").unwrap(), Adjacency::AddRemove);
    let mut ledger = crate::ledger::Ledger::in_memory().unwrap();
    let cap = |order: u32| Cap::renyi_rho(&Rho::from_f64(9.0).unwrap(), f64::from(order)).unwrap();
    ledger.init(&scope, Some(&cap(2))).unwrap();
    for k in 0..20 {
        ledger.reserve(&scope, &[charge((1 << 57) + k)], true).unwrap();
    }
    for order in 3..66 {
        ledger.set_cap(&scope.dataset, &cap(order)).unwrap();
    }
    let refused = ledger.set_cap(&scope.dataset, &cap(66)).unwrap_err().to_string();
    assert!(refused.contains("64 different orders"), "{refused}");
    // As long as it takes to read thousands of entries, not thousands of times as long.
    for k in 0..3000 {
        ledger.set_cap(&scope.dataset, &cap(2 + k % 64)).unwrap();
    }
    let before = ledger.summary(&scope.dataset).unwrap();
    ledger.verify().unwrap();
    assert_eq!(ledger.summary(&scope.dataset).unwrap(), before);
    ledger.summary_at(&scope.dataset, 50).unwrap();
}

#[test]
fn a_name_that_looks_like_another_is_refused_when_new_and_read_when_old() {
    let (known, alike) = ("adult", "аdult");
    let scope = |name: &str| crate::privacy::Scope::of_rows(DatasetId::new(name).unwrap(), Adjacency::AddRemove);
    let mut ledger = crate::ledger::Ledger::in_memory().unwrap();
    ledger.init(&scope(known), None).unwrap();
    let before = ledger.head().unwrap();
    for name in [alike, "Adult", "adult ", "ａｄｕｌｔ"] {
        for error in [
            ledger.init(&scope(name), None).unwrap_err(),
            ledger.init(&scope(name), Some(&Cap::rho(&Rho::from_f64(1.0).unwrap(), 0.0).unwrap())).unwrap_err(),
            ledger.reserve(&scope(name), &[noised(1)], true).unwrap_err(),
        ] {
            assert!(error.to_string().contains("\"adult\", which looks the same"), "{error}");
        }
    }
    assert_eq!(ledger.head().unwrap(), before);
    ledger.reserve(&scope(known), &[noised(1)], true).unwrap();
    // Earlier versions opened both.
    let mut book = Book::new();
    for name in [known, alike, "a\u{202e}b"] {
        append(&mut book, &OPEN.replace("\"d\"", &format!("{name:?}").replace("\\u{202e}", "\u{202e}"))).unwrap();
    }
    assert_eq!(book.summaries().len(), 3);
}
