//! Where the results of `rhograd train` go, and what they must not overwrite.

use std::path::{Path, PathBuf};

use super::arguments::TrainArguments;
use crate::cli::arguments::{check_ledger_named, ledger_beside, open_or_create, same_file, stem};
use crate::cli::input::is_passing;
use crate::cli::sign::refuse_to_replace_key;
use crate::data::{CsvFile, Schema};
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::preprocess::RowCache;
use crate::train::{Checkpoint, SecretKey, Signature, StagedFile, Trained, check_destination, check_unsigned};

impl TrainArguments {
    /// Opens the data for the columns of a schema.
    pub(in crate::cli) fn open_data(&self, schema: &Schema) -> Fallible<CsvFile> {
        if self.memory_limit.is_some() && is_passing(&self.data) {
            let problem =
                format!("cannot hold: {} is no file, and would be held in memory as a whole", self.data.display());
            return Err(Error::parameter("--memory-limit", problem, "store the rows in a file, or leave it out"));
        }
        let features = schema.features().map(|(name, _)| name);
        CsvFile::open_for_in(&self.data, self.dialect.dialect()?, &schema.target, features)
    }

    pub(super) fn outputs(&self) -> (PathBuf, PathBuf) {
        let name = stem(&self.data);
        let out = self.out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.model.json")));
        let log = self.log.clone().unwrap_or_else(|| beside(&out, ".log.jsonl"));
        (out, log)
    }

    /// Where releases and result are kept until they are published.
    fn checkpoint_path(&self, out: &Path) -> Option<PathBuf> {
        (!self.no_checkpoint).then(|| self.checkpoint.clone().unwrap_or_else(|| beside(out, ".checkpoint")))
    }

    /// What a run has left, if one was stopped.
    pub(super) fn open_checkpoint(&self, out: &Path) -> Fallible<Checkpoint> {
        let checkpoint = match self.checkpoint_path(out) {
            Some(path) => Checkpoint::open(&path)?,
            None => Checkpoint::none(),
        };
        checkpoint.about(format!("seed {:?}", self.seed));
        Ok(checkpoint)
    }

    /// A model or a log that exists was paid for: it is not replaced without a word.
    pub(super) fn refuse_replacing(&self, out: &Path, log: &Path) -> Fallible<()> {
        check_destination(out, self.overwrite, true)?;
        if self.sign.is_none() {
            check_unsigned(out, self.overwrite)?;
        }
        check_destination(log, self.overwrite, false)
    }

    fn ledger_path(&self) -> PathBuf {
        self.ledger.clone().unwrap_or_else(|| ledger_beside(&self.data))
    }

    /// Whether no ledger can be found beside the data, and none is named.
    pub(in crate::cli) fn needs_ledger_named(&self) -> bool {
        self.ledger.is_none() && !self.no_ledger && is_passing(&self.data)
    }

    /// The ledger that a run would be charged to; none with `--no-ledger`.
    pub(in crate::cli) fn account_path(&self) -> Option<PathBuf> {
        (!self.no_ledger).then(|| self.ledger_path())
    }

    /// The ledger as it stands, for reading.
    pub(in crate::cli) fn read_ledger(&self, path: &Path) -> Fallible<Ledger> {
        Ledger::open_to_read(path)
    }

    /// What signs the model, where --sign asks for it: read and staged before anything is charged.
    pub(super) fn signer(&self, out: &Path) -> Fallible<Option<Signer>> {
        let Some(path) = &self.sign else { return Ok(None) };
        refuse_to_replace_key("--sign", path, out)?;
        let key = SecretKey::read(path)?;
        // It takes the place of an earlier one.
        Ok(Some(Signer { key, file: StagedFile::new(&Signature::beside(out), true)? }))
    }

    pub(super) fn open_ledger(&self) -> Fallible<Ledger> {
        if self.no_ledger { Ledger::in_memory() } else { open_or_create(&self.ledger_path()) }
    }

    /// Refuses a ledger that is to be there and is not, and one that has no place, before a row is read.
    pub(super) fn check_ledger(&self) -> Fallible<()> {
        check_ledger_named(&self.data, self.ledger.is_some() || self.no_ledger)?;
        let path = self.ledger_path();
        if self.require_ledger && !path.exists() {
            let problem = format!("is given, and the ledger {} does not exist", path.display());
            return Err(Error::parameter(
                "--require-ledger",
                problem,
                "put the ledger back or name its place by --ledger; `rhograd ledger init` makes a new one",
            ));
        }
        Ok(())
    }

    fn cache_path(&self) -> Option<PathBuf> {
        let beside = || {
            let mut name = self.data.clone().into_os_string();
            name.push(".rows");
            PathBuf::from(name)
        };
        self.cache.clone().map(|path| if path.as_os_str() == "auto" { beside() } else { path })
    }

    /// The cache that was asked for. It is written while rows are read, so it is checked before.
    pub(super) fn cache(&self) -> Fallible<Option<RowCache>> {
        let Some(path) = self.cache_path() else { return Ok(None) };
        let (out, log) = self.outputs();
        self.refuse_overwriting(&out, &log)?;
        RowCache::new(&path, self.cache_verify).map(Some)
    }

    /// A result must not take the place of an input, of the ledger, or of the other result.
    pub(super) fn refuse_overwriting(&self, out: &Path, log: &Path) -> Fallible<()> {
        let ledger = self.ledger_path();
        let mut kept = vec![("the data", self.data.clone()), ("the schema", self.schema.path(&self.data)?)];
        for suffix in ["", "-journal", "-wal", ".note"] {
            let mut name = ledger.clone().into_os_string();
            name.push(suffix);
            kept.push(("the ledger", PathBuf::from(name)));
        }
        let cache = self.cache_path();
        let cache = cache.as_deref().map(|path| ("--cache", path));
        let checkpoint = self.checkpoint_path(out);
        let checkpoint = checkpoint.as_deref().map(|path| ("--checkpoint", path));
        let signature = self.sign.as_ref().map(|_| Signature::beside(out));
        let signature = signature.as_deref().map(|path| ("--sign", path));
        let results = [("--out", out), ("--log", log)];
        for (flag, output) in cache.into_iter().chain(results).chain(checkpoint).chain(signature) {
            if let Some((what, _)) = kept.iter().find(|(_, path)| same_file(path, output)) {
                return Err(Error::parameter(flag, format!("would overwrite {what}"), "name another file"));
            }
            kept.push((if flag == "--cache" { "the cache" } else { "the other result" }, output.to_owned()));
        }
        Ok(())
    }
}

/// The file that belongs to a model, named after it.
fn beside(model: &Path, ending: &str) -> PathBuf {
    let file = model.file_name().map(|f| f.to_string_lossy().into_owned()).unwrap_or_default();
    let base = file.strip_suffix(".model.json").or(file.strip_suffix(".json")).unwrap_or(&file);
    model.with_file_name(format!("{base}{ending}"))
}

/// The key of a run, and the place of its signature.
pub(super) struct Signer {
    key: SecretKey,
    file: StagedFile,
}

impl Signer {
    /// The file in the making.
    pub(super) fn staged(&self) -> &StagedFile {
        &self.file
    }

    /// The signature of a result that the ledger has noted, ready to be published with it.
    pub(super) fn sign(self, trained: &Trained, ledger: &mut Ledger) -> Fallible<StagedFile> {
        let Signer { key, mut file } = self;
        let signature = Signature::of_own(&trained.model, &trained.text, Some(ledger), &key)?;
        file.append(signature.to_json()?.as_bytes())?;
        Ok(file)
    }
}
