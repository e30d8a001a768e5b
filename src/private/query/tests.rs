//! What files hold of a query, and what the gate reads off it.

use std::collections::HashSet;

use serde_json::Value;

use super::*;

/// Every kind as files hold it, with its numbers in the order in which they are written.
const STORED: &[&str] = &[
    r#"{"kind":"moments","weights":{"count":1,"features":2,"squares":3,"label":4,"label_square":5},"columns":2}"#,
    r#"{"kind":"gram","bound":3}"#,
    r#"{"kind":"scores","scoring":"label","weight":3}"#,
    r#"{"kind":"hessian","bound":3}"#,
    r#"{"kind":"clipped-sum","bound":3}"#,
    r#"{"kind":"direction","reach":3}"#,
    r#"{"kind":"prefix-sums","bound":3,"batches":4}"#,
    r#"{"kind":"phases","plan":{"lipschitz":1,"shift":2,"rows":30,"dimension":4}}"#,
    r#"{"kind":"one-pass","plan":{"lipschitz":1,"shift":2,"rows":30,"dimension":4,"steps":2,"last":3}}"#,
    r#"{"kind":"minimiser","curvature":{"row_bound":1,"regularisation":2,"tolerance":3},"dimension":4}"#,
    r#"{"kind":"perturbation","curvature":{"row_bound":1,"regularisation":2,"tolerance":3},"log2_margin":40,"quarters":1,"step":9}"#,
    r#"{"kind":"perturbed-minimiser","curvature":{"row_bound":1,"regularisation":2,"tolerance":3},"dimension":4}"#,
    r#"{"kind":"losses","most":3,"candidates":4}"#,
    r#"{"kind":"vertices","bound":3,"candidates":4}"#,
    r#"{"kind":"best-run","candidates":[]}"#,
    r#"{"kind":"kinds","weight":3,"columns":4,"counted":true}"#,
    r#"{"kind":"intervals","weight":3,"candidates":4}"#,
    r#"{"kind":"vocabulary","weight":3}"#,
    r#"{"kind":"distance","weight":3}"#,
    r#"{"kind":"marginals","numeric":3,"categorical":4,"target":true,"step":5}"#,
    r#"{"kind":"histogram","step":3,"bins":4}"#,
    r#"{"kind":"histogram-l1","step":3,"bins":4}"#,
    r#"{"kind":"mean","step":3}"#,
    r#"{"kind":"mean-l1","step":3}"#,
    r#"{"kind":"ranks","weight":3,"candidates":4,"numerator":1,"denominator":2}"#,
    r#"{"kind":"first-above","weight":3,"questions":4}"#,
    r#"{"kind":"median-distance","weight":3,"bound":4}"#,
    r#"{"kind":"near-median","step":3,"bound":4}"#,
    r#"{"kind":"cross-gram","bound":3}"#,
    r#"{"kind":"label-sums","bound":3,"coding":"two"}"#,
    r#"{"kind":"label-sums","bound":3,"coding":{"classes":{"labels":4}}}"#,
];

fn stored() -> Vec<Query> {
    STORED.iter().map(|text| serde_json::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))).collect()
}

#[test]
fn files_hold_every_kind_under_its_name_and_nothing_beside_its_numbers() {
    let mut kinds = HashSet::new();
    for (text, query) in STORED.iter().zip(stored()) {
        assert_eq!(serde_json::to_string(&query).unwrap(), *text);
        kinds.insert(std::mem::discriminant(&query));
        let more = text.replacen('{', r#"{"more":1,"#, 1);
        assert!(serde_json::from_str::<Query>(&more).is_err(), "{more}");
        let Value::Object(fields) = serde_json::from_str(text).unwrap() else { panic!("{text}") };
        for field in fields.keys() {
            let mut less = fields.clone();
            less.remove(field);
            assert!(serde_json::from_value::<Query>(less.into()).is_err(), "{text} without {field}");
        }
    }
    assert_eq!(kinds.len(), KINDS, "a kind is missing here");
    assert!(serde_json::from_str::<Query>(r#"{"kind":"row","position":1}"#).is_err());
}

#[test]
fn all_but_a_few_are_paid_for_as_gaussian_noise() {
    let gaussian = Charge::Gaussian(crate::privacy::GaussianCharge {
        what: "t".into(),
        sensitivity: 1,
        log2_scale: 0,
        noise: crate::privacy::NoiseLaw::FlooredNormal,
        count: 1,
    });
    let others: Vec<&str> = STORED
        .iter()
        .zip(stored())
        .filter(|(_, query)| !query.kind().is_paid_by(&gaussian))
        .map(|(text, _)| text.split('"').nth(3).unwrap())
        .collect();
    assert_eq!(
        others,
        [
            "perturbation",
            "losses",
            "vertices",
            "best-run",
            "intervals",
            "vocabulary",
            "distance",
            "histogram-l1",
            "mean-l1",
            "ranks",
            "first-above",
            "median-distance"
        ],
        "these alone are paid for in another way"
    );
}

#[test]
fn rows_in_a_file_answer_sums_over_all_rows_alone() {
    let of = |access: fn(RowAccess) -> bool| -> Vec<&str> {
        let fits = STORED.iter().zip(stored()).filter(|(_, query)| access(query.kind().reads().rows));
        fits.map(|(text, _)| text.split('"').nth(3).unwrap()).collect()
    };
    let sums = [
        "moments",
        "gram",
        "scores",
        "hessian",
        "clipped-sum",
        "direction",
        "losses",
        "vertices",
        "marginals",
        "cross-gram",
        "label-sums",
        "label-sums",
    ];
    assert_eq!(of(|access| access == RowAccess::StreamedSum), sums);
    assert_eq!(of(|access| matches!(access, RowAccess::Order { .. })), ["phases", "one-pass"]);
    assert_eq!(of(|access| matches!(access, RowAccess::Batches(_))), ["prefix-sums"]);
    let drafts = ["kinds", "intervals", "vocabulary", "distance"];
    let summaries =
        ["histogram", "histogram-l1", "mean", "mean-l1", "ranks", "first-above", "median-distance", "near-median"];
    assert_eq!(of(|access| access == RowAccess::Cells), [&drafts[..], &summaries[..]].concat());
}

#[test]
fn fewer_phases_stand_in_a_file_and_all_of_them_do_not() {
    let plan = |text: &str| match serde_json::from_str(text).unwrap() {
        Query::Phases(phases) => phases.plan,
        other => panic!("{other:?}"),
    };
    let [few, all] = [r#","max_phases":3"#, ""].map(|said| {
        format!(r#"{{"kind":"phases","plan":{{"lipschitz":1,"shift":2,"rows":3000,"dimension":4{said}}}}}"#)
    });
    for (text, phases) in [(&few, 3), (&all, 8)] {
        assert_eq!(plan(text).phases(), phases);
        assert_eq!(serde_json::to_string(&Query::from(Phases { plan: plan(text) })).unwrap(), *text);
    }
    // A forged number is no more than the most, and no fewer than one.
    for (said, phases) in [("0", 1), ("4294967295", 8)] {
        assert_eq!(plan(&few.replace(":3}", &format!(":{said}}}"))).phases(), phases);
    }
}

#[test]
fn steps_are_those_of_optimizers() {
    let steps: Vec<(&str, u64)> = STORED
        .iter()
        .zip(stored())
        .filter(|(_, query)| query.is_step())
        .map(|(text, query)| (text.split('"').nth(3).unwrap(), query.steps()))
        .collect();
    let once = ["minimiser", "perturbation", "losses", "vertices", "best-run"].map(|kind| (kind, 1));
    let before = [("clipped-sum", 1), ("prefix-sums", 4), ("phases", 4), ("one-pass", 2)];
    let labels = [("label-sums", 1); 2];
    assert_eq!(steps, [&before[..], &once[..], &labels[..]].concat());
}
