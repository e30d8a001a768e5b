//! Recomputing a statement from its recorded facts, and looking it up in the ledger.

use std::io::BufRead;
use std::path::Path;

use serde_json::Value;

use super::edits::Reshaped;
use super::files::{RunningDigest, sha256_hex};
use super::model::{Feature, ModelFile, Target};
use super::reshape::{reshape, shapes_hold};
use super::schema_account;
use super::sign::{PublicKey, SecretKey, Signature, statement_digest};
use crate::error::{Error, Fallible};
use crate::ledger::{Cap, ExactRho, Ledger, Record};
use crate::model_kind::Link;
use crate::optim::Algorithm;
use crate::privacy::PrivacyUnit;
use crate::private::Query;
use crate::statement::{Statement, costly_releases, replay};

/// What rounding does to the centre and the unit of a target, of the size of its bounds.
const UNIT_ROUNDING: f64 = 1e-9;

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was checked.
    pub what: String,
    /// Whether it held.
    pub held: bool,
}

impl Check {
    pub(crate) fn new(what: impl Into<String>, held: bool) -> Self {
        Check { what: what.into(), held }
    }
}

/// Lines of a log that are recomputed unless more are asked for: some 10 microseconds of work each.
pub const MAX_LOG_LINES: u64 = 1 << 21;

/// Claims and choices of a statement that are confirmed unless more are asked for: each may take the accountant seconds, and a run
/// makes one, or one for each of its candidates.
pub const MAX_CLAIMS: usize = 8;

/// What a model is compared with, beside itself.
pub struct Evidence<'a> {
    /// The log of the run.
    pub log: Option<&'a mut dyn BufRead>,
    /// The ledger that the run was charged to.
    pub ledger: Option<&'a mut Ledger>,
    /// A signature, and the key that the custodian is known by.
    pub signature: Option<(&'a Signature, &'a PublicKey)>,
    /// The released model with its text, of one that was edited after release: edits are made again, and all else is checked of the source.
    pub source: Option<(&'a ModelFile, &'a str)>,
    /// Logs of more lines are not recomputed, and the check fails; a file could make its log as long as it likes.
    pub most_log_lines: u64,
    /// Statements of more different claims and choices are not recomputed, and the check fails.
    pub most_claims: usize,
}

impl Default for Evidence<'_> {
    fn default() -> Self {
        Evidence {
            log: None,
            ledger: None,
            signature: None,
            source: None,
            most_log_lines: MAX_LOG_LINES,
            most_claims: MAX_CLAIMS,
        }
    }
}

/// What was checked of a model, and who vouches for its coefficients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Everything that was checked, in order.
    pub checks: Vec<Check>,
    /// Whether the ledger noted this very file, or the source that its edits make it of, as the result of the run.
    pub by_ledger: bool,
    /// Whether the owner of the given key signed this very file, or that source.
    pub by_signature: bool,
}

impl Verified {
    /// Whether every check held.
    pub fn held(&self) -> bool {
        self.checks.iter().all(|check| check.held)
    }

    /// Whether somebody beside the file itself says that these coefficients came from that run.
    ///
    /// # Privacy
    /// A statement follows from its own facts, and its digest has no key: coefficients of one model under the statement of
    /// another pass every check that needs nothing but the file.
    pub fn authenticated(&self) -> bool {
        self.held() && (self.by_ledger || self.by_signature)
    }
}

/// Recomputes every number of a model's statement and compares; with a ledger also checks the charge.
///
/// `text` is the model file as read. The checks do not use anything but the file, the evidence and the formulas: the statement
/// is rebuilt from the recorded integer events. The digest comes first, and where it does not belong to the content nothing
/// else is looked at. Work is bounded: it is linear in the length of the file, but for the different claims and choices, which
/// are confirmed up to the number that the evidence allows, and the log is recomputed up to the lines that it allows.
///
/// A file that was edited after release ([`reshape`](super::reshape())) is authenticated with its source only: the edits are made again, and
/// ledger, log and signature are those of the source. Without it the file is checked for what it says of itself, and it is not the one that
/// a ledger noted or a key signed.
///
/// # Errors
/// When the ledger or the log cannot be read.
pub fn verify(model: &ModelFile, text: &str, evidence: Evidence<'_>) -> Fallible<Verified> {
    let digest = Check::new("the digest belongs to the content", model.expected_digest() == model.digest);
    if !digest.held {
        return Ok(Verified { checks: vec![digest], by_ledger: false, by_signature: false });
    }
    if let Some((source, source_text)) = evidence.source {
        let mut checks = vec![digest];
        checks.extend(of_source(model, source, source_text));
        let alone = Evidence { source: None, ..evidence };
        // Only for a source that this file is made of.
        let made = checks.iter().all(|check| check.held);
        let rest = if made { Some(verify(source, source_text, alone)?) } else { None };
        let vouched = |of: fn(&Verified) -> bool| rest.as_ref().is_some_and(of);
        let (by_ledger, by_signature) = (vouched(|rest| rest.by_ledger), vouched(|rest| rest.by_signature));
        let of_source = |check: Check| Check::new(format!("of the source: {}", check.what), check.held);
        checks.extend(rest.into_iter().flat_map(|rest| rest.checks).map(of_source));
        return Ok(Verified { checks, by_ledger, by_signature });
    }
    let mut checks = vec![
        digest,
        Check::new("the model family is the recorded one", model.model == model.statement.facts.model),
        Check::new("every coefficient is finite", coefficients(model).all(f64::is_finite)),
        Check::new("the number of coefficients is the recorded dimension", {
            coefficients(model).count() == model.statement.facts.dimension
        }),
        Check::new("curves are those of the columns that were counted", curves_fit(model)),
        Check::new("the unit of the target is one that a run can find", target_fits(model)),
    ];
    if let PrivacyUnit::PrivateCells { public } = &model.statement.facts.unit {
        checks.push(Check::new("the public columns are features of the model", public_fits(model, public)));
    }
    if let Some(reshaped) = &model.reshaped {
        // By what a file was recalibrated, its source alone tells.
        let seen = match reshaped.edits.iter().all(|edit| edit.column().is_some()) {
            true => "and the curves have the shapes that are told",
            false => "which only the source can show to be so (--source)",
        };
        let what = format!("edited after release, {seen}: {}", reshaped.words());
        checks.push(Check::new(what, shapes_hold(model)));
    }
    let claims = costly_releases(&model.statement.facts);
    if claims > evidence.most_claims {
        let most = evidence.most_claims;
        let what = format!(
            "the statement has at most {most} different claims and choices (more are recorded; --claims, in Python claims=, confirms more)"
        );
        checks.push(Check::new(what, false));
        return Ok(Verified { checks, by_ledger: false, by_signature: false });
    }
    checks.extend(of_statement(model, text));
    // Only for a file that is consistent so far.
    if checks.iter().all(|check| check.held) {
        checks.extend(of_log(model, evidence.log, evidence.most_log_lines)?);
    }
    let (mut ledger, mut by_ledger, mut by_signature) = (evidence.ledger, false, false);
    if let Some(ledger) = &mut ledger {
        let (found, noted) = in_ledger(model, text, ledger)?;
        checks.extend(found);
        by_ledger = noted;
    }
    if let Some((signature, key)) = evidence.signature {
        let found = signature.check(model, text, key, ledger)?;
        by_signature = found.iter().all(|check| check.held);
        checks.extend(found);
    }
    Ok(Verified { checks, by_ledger, by_signature })
}

/// Whether all public columns are features, and as many numbers are private as the statement says.
fn public_fits(model: &ModelFile, public: &[String]) -> bool {
    let is_public = |name: &str| public.iter().any(|known| known == name);
    let columns = || model.features.iter().filter(|feature| !feature.is_of_missing());
    let private = columns().filter(|feature| feature.is_number() && !is_public(feature.name())).count();
    let named = public.iter().all(|name| columns().any(|feature| feature.name() == name));
    named && model.statement.facts.private_numeric == Some(private)
}

/// Whether a file is what its edits make of its source, whole.
fn of_source(model: &ModelFile, source: &ModelFile, text: &str) -> Vec<Check> {
    let Some(Reshaped { source_sha256, edits }) = &model.reshaped else {
        return vec![Check::new("the file says that it was edited after release", false)];
    };
    let named = Check::new("the source is the file that this one names", *source_sha256 == sha256_hex(text.as_bytes()));
    if !named.held {
        return vec![named];
    }
    let again = reshape(source, text, edits);
    vec![
        named,
        Check::new("the edits, made again, give this file", again.is_ok_and(|(again, _)| again.digest == model.digest)),
    ]
}

/// The statement is a function of the recorded facts, so it is recomputed whole.
fn of_statement(model: &ModelFile, text: &str) -> Vec<Check> {
    let rebuilt = match Statement::new(model.statement.facts.clone()) {
        Ok(rebuilt) => rebuilt,
        Err(error) => return vec![Check::new(format!("the recorded facts are consistent ({error})"), false)],
    };
    // As it stands in the file: a key that was removed is an edit even where its value was null.
    let file: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    let stated = file.get("statement").unwrap_or(&Value::Null);
    let differences = differences(stated, &rebuilt);
    let known = differences.is_empty()
        || model
            .statement
            .earlier()
            .is_ok_and(|known| known.iter().any(|earlier| self::differences(stated, earlier).is_empty()));
    if !known {
        return differences.into_iter().map(|what| Check::new(what, false)).collect();
    }
    let guarantee = &model.statement.guarantee;
    let (rho, epsilon, delta) = (&guarantee.rho_upper, &guarantee.epsilon, &guarantee.delta);
    let what = format!("rho {rho} and epsilon {epsilon} at delta {delta} follow from the recorded releases");
    vec![Check::new(what, true)]
}

/// The log is a function of the recorded facts, so it is recomputed whole.
fn of_log(model: &ModelFile, log: Option<&mut dyn BufRead>, most: u64) -> Fallible<Vec<Check>> {
    let facts = &model.statement.facts;
    let lines = facts.releases.iter().fold(0, |sum: u64, release| sum.saturating_add(release.charge.count()));
    if lines > most {
        let what = format!("the log has at most {most} lines ({lines} are recorded; --log-lines recomputes more)");
        return Ok(vec![Check::new(what, false)]);
    }
    let mut digest = RunningDigest::default();
    let mut unread = log.map(Comparison::new);
    let replayed = replay(facts, |line| {
        digest.update(line.as_bytes());
        if let Some(unread) = &mut unread {
            unread.expect(line.as_bytes());
        }
    });
    let known = replayed.is_ok() && digest.finish() == model.log_sha256;
    let mut checks = vec![Check::new("the digest of the log belongs to the recorded releases", known)];
    if let Some(unread) = unread {
        checks.push(Check::new("every line of the log is as recomputed", unread.ends_here()?));
    }
    Ok(checks)
}

/// A file that is read once, and only as far as it is what it should be.
struct Comparison<'a> {
    file: &'a mut dyn BufRead,
    buffer: Vec<u8>,
    equal: std::io::Result<bool>,
}

impl<'a> Comparison<'a> {
    fn new(file: &'a mut dyn BufRead) -> Self {
        Comparison { file, buffer: Vec::new(), equal: Ok(true) }
    }

    fn expect(&mut self, bytes: &[u8]) {
        if matches!(self.equal, Ok(true)) {
            self.buffer.resize(bytes.len(), 0);
            self.equal = match self.file.read_exact(&mut self.buffer) {
                Ok(()) => Ok(self.buffer == bytes),
                Err(end) if end.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
                Err(error) => Err(error),
            };
        }
    }

    /// Whether the file is what was expected and nothing more.
    fn ends_here(self) -> Fallible<bool> {
        let ends = |file: &mut dyn BufRead| file.fill_buf().map(<[u8]>::is_empty);
        self.equal
            .and_then(|equal| if equal { ends(self.file) } else { Ok(false) })
            .map_err(|error| Error::io(Path::new("the log"), "read it", error))
    }
}

impl Signature {
    /// Signs a model that the ledger notes as the result of its run.
    ///
    /// `text` is the model file as read.
    ///
    /// # Errors
    /// When the model does not pass [`verify`] with the ledger: nothing is signed that is not what it says.
    pub fn of(model: &ModelFile, text: &str, ledger: &mut Ledger, key: &SecretKey) -> Fallible<Self> {
        // The custodian's own file: whatever was paid for can be signed, however long its claims take.
        let evidence = Evidence { ledger: Some(&mut *ledger), most_claims: usize::MAX, ..Evidence::default() };
        let verified = verify(model, text, evidence)?;
        if let Some(failed) = verified.checks.iter().find(|check| !check.held) {
            return Err(Error::refused(
                format!("the model is not signed, for a check failed: {}", failed.what),
                "sign the file that `train` wrote, with the ledger that its run was charged to",
            ));
        }
        Self::of_own(model, text, Some(ledger), key)
    }

    /// What was checked of the signature, and whether it held.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    fn check(
        &self,
        model: &ModelFile,
        text: &str,
        key: &PublicKey,
        ledger: Option<&mut Ledger>,
    ) -> Fallible<Vec<Check>> {
        let stated = model.statement.facts.ledger.as_ref().map(|stated| (&stated.run, &stated.position));
        let signed = self.ledger.as_ref().map(|signed| (&signed.run, &signed.charge));
        let mut checks = vec![
            Check::new("the signature is by the given key", self.is_by(key)?),
            Check::new("the signature is of this very file", self.model_sha256 == sha256_hex(text.as_bytes())),
            Check::new("the signature is of this statement", self.statement_sha256 == statement_digest(model)?),
            Check::new("the signature names the run of the statement", stated == signed),
        ];
        if let (Some(ledger), Some(signed)) = (ledger, &self.ledger) {
            let head = &signed.head;
            let what = format!("the ledger holds entry {}, its last when the model was signed", head.sequence);
            checks.push(Check::new(what, ledger.contains(head.sequence, &head.hash)?));
        }
        Ok(checks)
    }
}

/// Whether predictions lie where a run could place them: the released centre within the bounds, one unit no more than half of what is between
/// them; of counts zero stays zero, and one unit is a released mean.
fn target_fits(model: &ModelFile) -> bool {
    let Target::Number { lower, upper, centre, scale, .. } = &model.target else { return true };
    let slack = UNIT_ROUNDING * lower.abs().max(upper.abs());
    let (place, most) = match model.model.link() {
        Link::LogRate { .. } => (0.0..=0.0, *upper),
        Link::Identity | Link::LogOdds | Link::Score | Link::Softmax => (*lower..=*upper, (upper - lower) / 2.0),
    };
    (place.start() - slack..=place.end() + slack).contains(centre) && *scale > 0.0 && *scale <= most + slack
}

/// Whether a model has curves for all numeric columns that were counted, and for none otherwise.
fn curves_fit(model: &ModelFile) -> bool {
    let curves = model.features.iter().filter(|feature| matches!(feature, Feature::Steps { .. })).count();
    let categories = model.features.iter().filter(|feature| matches!(feature, Feature::Categorical { .. })).count();
    let facts = &model.statement.facts;
    let counted = facts.releases.iter().find_map(|release| match &release.query {
        Query::Marginals(query) => Some((query.numeric, query.categorical)),
        _ => None,
    });
    // Of straight lines the covariance leaves nothing beside the effects of single columns.
    let lines = facts.algorithm == Algorithm::Adaptive;
    let rich = !lines && facts.releases.iter().any(|release| matches!(release.query, Query::Gram(_)));
    match counted {
        // A statement with counts and a covariance beside them is about `rich`, or a choice among such.
        Some(counted) if facts.algorithm.cuts_columns() || facts.algorithm == Algorithm::Tuned => {
            // Nobody knows bands of `rich`.
            let bands = !rich || !model.features.iter().any(tells_deviations);
            counted == (curves, categories) && model.together.is_some() == rich && bands
        }
        _ => curves == 0 && model.together.is_none() && !model.features.iter().any(tells_shares),
    }
}

fn tells_deviations(feature: &Feature) -> bool {
    match feature {
        Feature::Numeric { .. } => false,
        Feature::Steps { deviations, .. } | Feature::Categorical { deviations, .. } => !deviations.is_empty(),
    }
}

fn tells_shares(feature: &Feature) -> bool {
    match feature {
        Feature::Numeric { .. } => false,
        Feature::Steps { shares, deviations, .. } | Feature::Categorical { shares, deviations, .. } => {
            !shares.is_empty() || !deviations.is_empty()
        }
    }
}

fn coefficients(model: &ModelFile) -> impl Iterator<Item = f64> + '_ {
    let features = model.features.iter().flat_map(Feature::coefficients);
    let together = model.together.iter().flat_map(|together| &together.coefficients);
    features.chain(together).chain([&model.intercept]).flat_map(|coefficient| coefficient.values().iter().copied())
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
/// that was noted, which is also told alone.
fn in_ledger(model: &ModelFile, text: &str, ledger: &mut Ledger) -> Fallible<(Vec<Check>, bool)> {
    let facts = &model.statement.facts;
    let Some(stated) = &facts.ledger else {
        return Ok((vec![Check::new("the statement names a ledger entry", false)], false));
    };
    let report = ledger.verify()?;
    let mut checks = vec![Check::new("the ledger's chain and costs are consistent", true)];
    let known = ledger.contains(stated.position.sequence, &stated.position.hash)?;
    checks.push(Check::new(format!("the ledger holds entry {} of this run", stated.position.sequence), known));
    if !known {
        return Ok((checks, false));
    }
    let sequence = stated.position.sequence;
    let charged = match ledger.entry(stated.position.sequence)?.map(|entry| entry.record) {
        Some(Record::Reserve { dataset, adjacency, unit, run, events, private, .. }) => {
            let then = ledger.summary_at(&dataset, sequence)?;
            checks.push(Check::new("cap and spending are as stated", {
                let before_delta = matches!(then.cap, None | Some(Cap::Rho { .. }));
                then.spent == *stated.spent_after.rho()
                    && then.cap.as_ref().map(Cap::most_rho) == stated.cap_rho.as_ref().map(ExactRho::rho)
                    && (then.cap == stated.cap || (stated.cap.is_none() && before_delta))
                    && stated.spent_delta_after.is_none_or(|delta| delta == then.spent_delta)
                    && then.spent_at_order.as_ref() == stated.spent_at_order_after.as_ref().map(ExactRho::rho)
                    && then.cap_raised == stated.cap_raised
                    // Versions before Renyi caps did not state it.
                    && match stated.runs_before_cap {
                        None => then.runs_before_cap == 0 || then.spent_at_order.is_none(),
                        Some(runs) => then.runs_before_cap == runs,
                    }
            }));
            if !(unit.is_row() && facts.unit.is_row()) {
                let what = match unit == facts.unit {
                    true => format!("the entry counts by the {unit}, and so does the statement"),
                    false => format!("the entry counts by the {unit}, and the statement by the {}", facts.unit),
                };
                checks.push(Check::new(what, unit == facts.unit));
            }
            dataset.as_str() == facts.dataset
                && adjacency == facts.adjacency
                && unit == facts.unit
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
    let what = match model.reshaped {
        None => "the file is the one that the ledger noted when the run was complete",
        // Anybody can name the noted file as the source of any effects.
        Some(_) => {
            "the file is the one that the ledger noted when the run was complete: it was edited later, and only with the released one \
             (--source, in Python the source that it was reshaped from) is it shown to follow"
        }
    };
    checks.push(Check::new(what, noted));
    Ok((checks, noted))
}
