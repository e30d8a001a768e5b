//! `verify`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::output::{print, print_json};
use super::summarize;
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::report::authentication;
use crate::summary::SummaryFile;
use crate::text::visible;
use crate::train::{self, Evidence, ModelFile, PublicKey, Signature};

const VERIFY: &str = "\
Examples:
  rhograd verify fair.model.json
  rhograd verify fair.model.json --ledger datasets/fair.ledger.sqlite --log fair.log.jsonl
  rhograd verify fair.model.json --key custodian.key.pub
  rhograd verify fair.summary.json --ledger datasets/fair.ledger.sqlite
  rhograd verify edited.model.json --source fair.model.json --ledger datasets/fair.ledger.sqlite

Recomputes rho, epsilon and every other number from the recorded releases. Exit code 1 if any differs.
The first line says whether the coefficients are authenticated. A model alone cannot show that its coefficients
came from the run that its statement is of: a ledger that notes its digest can, and a signature by a key that
you have from the custodian. Of a file that `rhograd reshape` wrote, --source makes the edits again; ledger, log and
signature are then those of the source.";

#[derive(Args)]
#[command(after_help = VERIFY)]
pub(super) struct VerifyArguments {
    /// Model written by `rhograd train`, or summary by `rhograd summarize`; read once, so it may be a pipe
    model: PathBuf,
    /// Also look the charge up in this ledger
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Also check every line of this log
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Also check a signature, with this public key of the custodian's
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Of an edited model: the released one that it was made from
    #[arg(long, value_name = "FILE")]
    source: Option<PathBuf>,
    /// The signature [default: MODEL.sig, of an edited model that of its source]
    #[arg(long, value_name = "FILE", requires = "key")]
    signature: Option<PathBuf>,
    /// Recompute logs of at most so many lines; a longer one is not verified
    #[arg(long, value_name = "N", default_value_t = train::MAX_LOG_LINES)]
    log_lines: u64,
    /// Confirm at most so many different claims and choices, of some seconds each; a statement of more is not verified
    #[arg(long, value_name = "N", default_value_t = train::MAX_CLAIMS)]
    claims: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn verify(arguments: &VerifyArguments) -> Fallible<ExitCode> {
    let text = ModelFile::read_text(&arguments.model)?;
    if SummaryFile::is_named_in(&text) {
        return summary(arguments, &text);
    }
    let model = ModelFile::parse_unchecked(&text, &arguments.model)?;
    let open = |path: &PathBuf| File::open(path).map_err(|e| Error::io(path, "read the log", e));
    let mut log = arguments.log.as_ref().map(open).transpose()?.map(BufReader::new);
    let mut ledger = arguments.ledger.as_deref().map(Ledger::open_to_read).transpose()?;
    let key = arguments.key.as_deref().map(PublicKey::read).transpose()?;
    let signature = match &key {
        Some(_) => {
            let beside = || Signature::beside(arguments.source.as_ref().unwrap_or(&arguments.model));
            Some(Signature::read(&arguments.signature.clone().unwrap_or_else(beside))?)
        }
        None => None,
    };
    let source = arguments.source.as_deref().map(|path| {
        let text = ModelFile::read_text(path)?;
        Fallible::Ok((ModelFile::parse_unchecked(&text, path)?, text))
    });
    let source = source.transpose()?;
    let evidence = Evidence {
        source: source.as_ref().map(|(source, text)| (source, text.as_str())),
        signature: signature.as_ref().zip(key.as_ref()),
        log: log.as_mut().map(|log| log as &mut dyn BufRead),
        ledger: ledger.as_mut(),
        most_log_lines: arguments.log_lines,
        most_claims: arguments.claims,
    };
    let verified = train::verify(&model, &text, evidence)?;
    let held = verified.held();
    if arguments.json {
        let list: Vec<_> = verified.checks.iter().map(|c| json!({"check": c.what, "held": c.held})).collect();
        print_json(&json!({
            "coefficients": authentication(&verified, &model, source.is_some()).0,
            "verified": held,
            "dp": model.statement.dp,
            "checks": list,
        }))?;
    } else {
        let (who, why) = authentication(&verified, &model, source.is_some());
        let mut page = format!("coefficients {who}: {why}\n\n");
        for check in &verified.checks {
            page.push_str(if check.held { "ok      " } else { "FAILED  " });
            page.push_str(&visible(&check.what));
            page.push('\n');
        }
        page.push_str(match (held, model.statement.dp) {
            (true, true) if ledger.is_some() => "verified\n",
            (true, true) if key.is_some() => "verified; --ledger FILE also checks that the releases were charged\n",
            (true, true) => "verified against itself; --ledger FILE also checks that the releases were charged\n",
            (true, false) => "consistent, but the statement says that the model is NOT PRIVATE\n",
            (false, _) => "NOT verified\n",
        });
        print(&page)?;
    }
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A summary has no log, no signature and no source.
fn summary(arguments: &VerifyArguments, text: &str) -> Fallible<ExitCode> {
    let given = [("--log", &arguments.log), ("--key", &arguments.key), ("--source", &arguments.source)];
    if let Some((flag, _)) = given.iter().find(|(_, given)| given.is_some()) {
        return Err(Error::parameter(
            *flag,
            "has no meaning for a summary",
            "give --ledger, or no evidence beside the file",
        ));
    }
    let mut ledger = arguments.ledger.as_deref().map(Ledger::open_to_read).transpose()?;
    summarize::verify(&arguments.model, text, ledger.as_mut(), arguments.json)
}
