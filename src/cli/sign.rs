//! `key` and `sign`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::arguments::same_file;
use super::output::{print_data, write_file};
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::train::{ModelFile, SecretKey, Signature};

#[derive(Subcommand)]
pub(super) enum KeyCommand {
    /// Make a key to sign models with: FILE for its owner alone, FILE.pub for everybody
    #[command(
        after_help = "Example:\n  rhograd key new custodian.key\n\nEd25519, as PEM; `openssl pkey` reads both. Nothing is replaced. Give FILE.pub to those who are to check\nmodels by a way that they trust: a key that comes with a model proves nothing."
    )]
    New(NewArguments),
}

#[derive(Args)]
pub(super) struct NewArguments {
    /// File of the secret key; must not exist
    file: PathBuf,
}

pub(super) fn run(command: &KeyCommand) -> Fallible<ExitCode> {
    let KeyCommand::New(NewArguments { file }) = command;
    let public = SecretKey::generate()?.write(file)?;
    print_data(&format!("{}\n{}\n", file.display(), public.display()))?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Args)]
#[command(
    after_help = "Example:\n  rhograd sign fair.model.json --key custodian.key --ledger datasets/fair.ledger.sqlite\n\nSigns what the ledger notes as the result of its run, after all checks of `verify`; exit code 1 if one fails.\nThe signature binds the model file, its statement and the head of the ledger. It is written to MODEL.sig, in place\nof an earlier one."
)]
pub(super) struct SignArguments {
    /// Model file written by `rhograd train`
    model: PathBuf,
    /// Secret key made by `rhograd key new`
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Ledger that the run was charged to
    #[arg(long, value_name = "FILE")]
    ledger: PathBuf,
}

pub(super) fn sign(arguments: &SignArguments) -> Fallible<ExitCode> {
    refuse_to_replace_key("--key", &arguments.key, &arguments.model)?;
    let key = SecretKey::read(&arguments.key)?;
    let text = ModelFile::read_text(&arguments.model)?;
    let model = ModelFile::parse(&text, &arguments.model)?;
    let mut ledger = Ledger::open_to_read(&arguments.ledger)?;
    let signature = Signature::of(&model, &text, &mut ledger, &key)?;
    let out = Signature::beside(&arguments.model);
    write_file(&out, signature.to_json()?.as_bytes(), true)?;
    print_data(&format!("{}\n", out.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The signature takes the place of an earlier one, and of nothing else.
pub(super) fn refuse_to_replace_key(flag: &'static str, key: &Path, model: &Path) -> Fallible<()> {
    if same_file(key, &Signature::beside(model)) {
        return Err(Error::parameter(flag, "lies where the signature would be written", "give the key another name"));
    }
    Ok(())
}
