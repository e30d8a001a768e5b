//! Recomputing a statement from its recorded facts, and looking it up in the ledger.

use serde_json::Value;

use super::files::sha256_hex;
use super::model::{Feature, ModelFile};
use super::statement::Statement;
use crate::error::Fallible;
use crate::ledger::{Ledger, Record};

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was checked.
    pub what: String,
    /// Whether it held.
    pub held: bool,
}

impl Check {
    fn new(what: impl Into<String>, held: bool) -> Self {
        Check { what: what.into(), held }
    }
}

/// Recomputes every number of a model's statement and compares; with a ledger also checks the charge.
///
/// `text` is the model file as read. The checks do not use anything but the file, the ledger and the
/// formulas: the statement is rebuilt from the recorded integer events.
///
/// # Errors
/// When the ledger cannot be read.
pub fn verify(model: &ModelFile, text: &str, ledger: Option<&mut Ledger>) -> Fallible<Vec<Check>> {
    let mut checks = vec![
        Check::new("the digest belongs to the content", model.expected_digest() == model.digest),
        Check::new("every coefficient is finite", coefficients(model).all(f64::is_finite)),
        Check::new("the number of coefficients is the recorded dimension", {
            coefficients(model).count() == model.statement.facts.dimension
        }),
    ];
    match Statement::new(model.statement.facts.clone()) {
        Err(error) => checks.push(Check::new(format!("the recorded facts are consistent ({error})"), false)),
        Ok(rebuilt) => {
            let (stated, rebuilt) = (to_value(&model.statement), to_value(&rebuilt));
            let mut differences = Vec::new();
            compare("statement", &stated, &rebuilt, &mut differences);
            if differences.is_empty() {
                let guarantee = &model.statement.guarantee;
                let what = format!(
                    "rho {} and epsilon {} at delta {} follow from the recorded releases",
                    guarantee.rho_upper, guarantee.epsilon, guarantee.delta
                );
                checks.push(Check::new(what, true));
            }
            checks.extend(differences.into_iter().map(|what| Check::new(what, false)));
        }
    }
    if let Some(ledger) = ledger {
        checks.extend(in_ledger(model, text, ledger)?);
    }
    Ok(checks)
}

fn coefficients(model: &ModelFile) -> impl Iterator<Item = f64> {
    let features = model.features.iter().flat_map(|feature| match feature {
        Feature::Numeric { coefficient, .. } => vec![*coefficient],
        Feature::Categorical { coefficients, .. } => coefficients.clone(),
    });
    features.chain([model.intercept])
}

fn to_value(statement: &Statement) -> Value {
    serde_json::to_value(statement).unwrap_or(Value::Null)
}

/// Collects the paths at which two values differ.
fn compare(path: &str, stated: &Value, expected: &Value, differences: &mut Vec<String>) {
    match (stated, expected) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let null = Value::Null;
                let (x, y) = (a.get(key).unwrap_or(&null), b.get(key).unwrap_or(&null));
                compare(&format!("{path}.{key}"), x, y, differences);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (x, y)) in a.iter().zip(b).enumerate() {
                compare(&format!("{path}[{index}]"), x, y, differences);
            }
        }
        _ if stated == expected => {}
        _ => differences.push(format!("{path} is {stated}, recomputed {expected}")),
    }
}

/// Checks that the charge is in the ledger, for the same releases, and whether the file is the one
/// that was noted.
fn in_ledger(model: &ModelFile, text: &str, ledger: &mut Ledger) -> Fallible<Vec<Check>> {
    let facts = &model.statement.facts;
    let Some(stated) = &facts.ledger else {
        return Ok(vec![Check::new("the statement names a ledger entry", false)]);
    };
    let report = ledger.verify()?;
    let mut checks = vec![Check::new("the ledger's chain and costs are consistent", true)];
    let known = ledger.contains(stated.position.sequence, &stated.position.hash)?;
    checks.push(Check::new(format!("the ledger holds entry {} of this run", stated.position.sequence), known));
    if !known {
        return Ok(checks);
    }
    let charged = match ledger.entry(stated.position.sequence)?.map(|entry| entry.record) {
        Some(Record::Reserve { dataset, adjacency, run, events, .. }) => {
            dataset.as_str() == facts.dataset
                && adjacency == facts.adjacency
                && run == stated.run
                && events == facts.events
        }
        _ => false,
    };
    checks.push(Check::new("the entry charges exactly the stated releases", charged));
    let digest = sha256_hex(text.as_bytes());
    for sequence in stated.position.sequence + 1..=report.head.sequence {
        if let Some(Record::Complete { run, artefact_sha256 }) = ledger.entry(sequence)?.map(|entry| entry.record)
            && run == stated.run
        {
            checks.push(Check::new("the file is the one the ledger noted", artefact_sha256 == digest));
        }
    }
    Ok(checks)
}
