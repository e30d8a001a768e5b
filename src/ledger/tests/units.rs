//! Guarantees for different units are never added up.

use crate::error::ErrorKind;
use crate::ledger::record::Record;
use crate::ledger::{Cap, Ledger};
use crate::privacy::{Adjacency, Charge, DatasetId, GaussianCharge, NoiseLaw, PrivacyUnit, Rho, Scope};

fn scope(unit: PrivacyUnit) -> Scope {
    Scope { dataset: DatasetId::new("visits").unwrap(), adjacency: Adjacency::AddRemove, unit }
}

fn units() -> [PrivacyUnit; 6] {
    [
        PrivacyUnit::Row,
        PrivacyUnit::person("patient").unwrap(),
        PrivacyUnit::person("household").unwrap(),
        PrivacyUnit::Label,
        PrivacyUnit::private_cells(["age"]),
        PrivacyUnit::private_cells(["age", "sex"]),
    ]
}

/// Costs rho 1/8.
fn run() -> [Charge; 1] {
    [GaussianCharge { what: "sum".into(), sensitivity: 1, log2_scale: 1, noise: NoiseLaw::FlooredNormal, count: 1 }
        .into()]
}

#[test]
fn a_charge_for_another_unit_is_refused_before_anything_is_written() {
    let cap = Cap::rho(&Rho::from_f64(4.0).unwrap(), 0.0).unwrap();
    for counted in units() {
        // By hand with a cap, by hand without one, and by the first run.
        for opened in 0..3 {
            let mut ledger = Ledger::in_memory().unwrap();
            let own = scope(counted.clone());
            match opened {
                0 => ledger.init(&own, Some(&cap)).unwrap(),
                1 => ledger.init(&own, None).unwrap(),
                _ => drop(ledger.reserve(&own, &run(), true).unwrap()),
            }
            let before = (ledger.head().unwrap(), ledger.summaries().unwrap());
            assert_eq!(before.1[0].unit, counted);
            for other in units().into_iter().filter(|unit| *unit != counted) {
                let wrong = scope(other.clone());
                let error = ledger.reserve(&wrong, &run(), true).unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::Refused { .. }), "{error}");
                let text = error.to_string();
                assert!(
                    text.contains(&format!("counted by the {counted}")) && text.contains(&format!("by the {other}"))
                );
                let cure = match &counted {
                    PrivacyUnit::Row if other == PrivacyUnit::Label => "--protect label".to_string(),
                    PrivacyUnit::Row if other.is_private_cells() => "--public".to_string(),
                    PrivacyUnit::PrivateCells { public } => format!("no others ({})", public.join(", ")),
                    PrivacyUnit::Row => "leave the unit out".to_string(),
                    PrivacyUnit::Label => "--protect label".to_string(),
                    PrivacyUnit::Person { column } => format!("--unit {column}"),
                };
                assert!(text.contains(&cure), "{text}");
                assert!(ledger.affords(&wrong, &Rho::from_f64(0.125).unwrap(), 0.0, true).is_err());
                assert_eq!((ledger.head().unwrap(), ledger.summaries().unwrap()), before);
            }
            assert_eq!(ledger.reserve(&own, &run(), true).unwrap().scope(), &own);
        }
    }
}

#[test]
fn a_run_goes_on_for_the_unit_that_it_was_charged_for() {
    let folder = tempfile::tempdir().unwrap();
    for (charged, unit) in units().into_iter().enumerate() {
        let mut ledger = Ledger::open_or_create(folder.path().join(format!("{charged}.sqlite"))).unwrap();
        let paid = ledger.reserve(&scope(unit.clone()), &run(), true).unwrap();
        for other in units() {
            let place = paid.position().unwrap().clone();
            let resumed = ledger.resume(&scope(other.clone()), &run(), true, paid.run(), &place, 0);
            assert_eq!(resumed.is_ok(), other == unit, "{other}");
        }
    }
}

#[test]
fn entries_about_rows_are_written_as_ever_and_others_name_their_unit() {
    let body = |unit: PrivacyUnit| {
        let (dataset, adjacency) = (DatasetId::new("d").unwrap(), Adjacency::AddRemove);
        Record::Open { dataset, adjacency, unit, cap: None }.body().unwrap()
    };
    let [row, patient, _, label, private, _] = units().map(body);
    assert_eq!(row, r#"{"open":{"dataset":"d","adjacency":"add-remove","cap":null}}"#);
    assert_eq!(
        patient,
        r#"{"open":{"dataset":"d","adjacency":"add-remove","unit":{"person":{"column":"patient"}},"cap":null}}"#
    );
    assert_eq!(label, r#"{"open":{"dataset":"d","adjacency":"add-remove","unit":"label","cap":null}}"#);
    assert_eq!(
        private,
        r#"{"open":{"dataset":"d","adjacency":"add-remove","unit":{"private-cells":{"public":["age"]}},"cap":null}}"#
    );
    assert!(PrivacyUnit::person(" ").is_err());
}
