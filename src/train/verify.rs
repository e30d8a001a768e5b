//! Recomputing a statement from its recorded facts, and looking it up in the ledger.

use serde_json::Value;

use super::files::{RunningDigest, sha256_hex};
use super::log;
use super::model::{Feature, ModelFile};
use super::schema_account;
use super::statement::Statement;
use crate::error::Fallible;
use crate::ledger::{ExactRho, Ledger, Record};

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
/// `text` is the model file as read, `log` the log as read. The checks do not use anything but the file, the ledger and the
/// formulas: the statement is rebuilt from the recorded integer events.
///
/// # Errors
/// When the ledger cannot be read.
pub fn verify(model: &ModelFile, text: &str, log: Option<&str>, ledger: Option<&mut Ledger>) -> Fallible<Vec<Check>> {
    let mut checks = vec![
        Check::new("the digest belongs to the content", model.expected_digest() == model.digest),
        Check::new("the model family is the recorded one", model.model == model.statement.facts.model),
        Check::new("every coefficient is finite", coefficients(model).all(f64::is_finite)),
        Check::new("the number of coefficients is the recorded dimension", {
            coefficients(model).count() == model.statement.facts.dimension
        }),
    ];
    match Statement::new(model.statement.facts.clone()) {
        Err(error) => checks.push(Check::new(format!("the recorded facts are consistent ({error})"), false)),
        Ok(rebuilt) => {
            // As it stands in the file: a key that was removed is an edit even where its value was null.
            let file: Value = serde_json::from_str(text).unwrap_or(Value::Null);
            let stated = file.get("statement").unwrap_or(&Value::Null);
            let mut differences = differences(stated, &rebuilt);
            if !differences.is_empty()
                && Statement::earlier(&model.statement.facts)
                    .is_ok_and(|known| known.iter().any(|earlier| self::differences(stated, earlier).is_empty()))
            {
                differences.clear();
            }
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
    // Only for a file that is consistent so far: an edited count could make the log as long as it likes.
    if checks.iter().all(|check| check.held) {
        checks.extend(of_log(model, log));
    }
    if let Some(ledger) = ledger {
        checks.extend(in_ledger(model, text, ledger)?);
    }
    Ok(checks)
}

/// The log is a function of the recorded facts, so it is recomputed whole.
fn of_log(model: &ModelFile, log: Option<&str>) -> Vec<Check> {
    let mut digest = RunningDigest::default();
    let mut unread = log;
    let replayed = log::replay(&model.statement.facts, |line| {
        digest.update(line.as_bytes());
        unread = unread.and_then(|rest| rest.strip_prefix(line));
    });
    let known = replayed.is_ok() && digest.finish() == model.log_sha256;
    let mut checks = vec![Check::new("the digest of the log belongs to the recorded releases", known)];
    if log.is_some() {
        checks.push(Check::new("every line of the log is as recomputed", unread == Some("")));
    }
    checks
}

fn coefficients(model: &ModelFile) -> impl Iterator<Item = f64> + '_ {
    let features = model.features.iter().flat_map(|feature| match feature {
        Feature::Numeric { coefficient, .. } => std::slice::from_ref(coefficient),
        Feature::Categorical { coefficients, .. } => coefficients.as_slice(),
    });
    features.chain([&model.intercept]).flat_map(|coefficient| coefficient.values().iter().copied())
}

/// Where a statement as written differs from one that was computed.
fn differences(stated: &Value, computed: &Statement) -> Vec<String> {
    let mut found = Vec::new();
    compare("statement", stated, &serde_json::to_value(computed).unwrap_or(Value::Null), &mut found);
    found
}

/// Collects the paths at which two values differ.
fn compare(path: &str, stated: &Value, expected: &Value, differences: &mut Vec<String>) {
    match (stated, expected) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                match (a.get(key), b.get(key)) {
                    (Some(x), Some(y)) => compare(&format!("{path}.{key}"), x, y, differences),
                    _ => differences.push(format!("{path}.{key} is missing or does not belong there")),
                }
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
    let sequence = stated.position.sequence;
    let charged = match ledger.entry(stated.position.sequence)?.map(|entry| entry.record) {
        Some(Record::Reserve { dataset, adjacency, run, events, private, .. }) => {
            let then = ledger.summary_at(&dataset, sequence)?;
            checks.push(Check::new("cap and spending are as stated", {
                then.spent == *stated.spent_after.rho()
                    && then.cap.as_ref() == stated.cap_rho.as_ref().map(ExactRho::rho)
                    && then.cap_raised == stated.cap_raised
            }));
            dataset.as_str() == facts.dataset
                && adjacency == facts.adjacency
                && run == stated.run
                && events == facts.charges()
                && private == facts.secret_noise
        }
        _ => false,
    };
    checks.push(Check::new("the entry charges exactly the stated releases", charged));
    if let Some(release) = &facts.released_schema {
        checks.push(Check::new("the ledger holds the release of the schema, at no more than is stated", {
            schema_account::is_charged(release, facts, ledger)?
        }));
    }
    let digest = sha256_hex(text.as_bytes());
    let mut noted = false;
    for sequence in stated.position.sequence + 1..=report.head.sequence {
        if let Some(Record::Complete { run, artefact_sha256 }) = ledger.entry(sequence)?.map(|entry| entry.record)
            && run == stated.run
        {
            noted = artefact_sha256 == digest;
        }
    }
    checks.push(Check::new("the file is the one that the ledger noted when the run was complete", noted));
    Ok(checks)
}
