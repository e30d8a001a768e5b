//! A model appears with the files that belong to it, and beside none that belong to another.

use std::path::{Path, PathBuf};

use super::files::{StagedFile, take_away};
use super::sign::Signature;
use crate::error::{Error, Fallible};

/// Publishes a model with the files that belong to it, its log and its signature, so that no reader ever sees a model without
/// them or beside those of another: an old model goes first, then its signature, then the other files appear, and the model last. A model that comes alone replaces an older
/// one in a single step.
///
/// Names are those given: what lies beside the file that a link leads to is not looked at.
///
/// What is `None`, or not among `others`, is in its place already; but a signature that is not among them is that of an earlier
/// model, and goes where the model may replace one.
///
/// # Errors
/// When the disk fails, a file has appeared that may not be overwritten, or an earlier model's signature may not go. The model is then
/// not to be seen.
pub fn publish_with(model: Option<StagedFile>, others: impl IntoIterator<Item = StagedFile>) -> Fallible<()> {
    let others: Vec<StagedFile> = others.into_iter().collect();
    model.iter().chain(&others).try_for_each(StagedFile::secure)?;
    if let Some(model) = &model {
        let replaced = Signature::beside(model.destination());
        // One that is replaced need not be read.
        let is_signed = others.iter().any(|other| other.destination() == replaced);
        let earlier = if is_signed { None } else { signature_of_another(model.destination())? };
        if !model.overwrites() {
            earlier.as_deref().map_or(Ok(()), |path| Err(belongs_to_another(path)))?;
        } else if earlier.is_some() || !others.is_empty() {
            // While the old model is there, so is its signature.
            model.clear()?;
            earlier.map_or(Ok(()), |path| take_away(&path, &path))?;
        }
    }
    others.into_iter().try_for_each(StagedFile::publish)?;
    model.map_or(Ok(()), StagedFile::publish)
}

/// Refuses a destination beside which the signature of another model lies, where a new model is not signed.
///
/// # Errors
/// When one lies there and may not go, or what lies there cannot be read.
pub fn check_unsigned(model: &Path, overwrite: bool) -> Fallible<()> {
    match signature_of_another(model)? {
        Some(path) if !overwrite => Err(belongs_to_another(&path)),
        _ => Ok(()),
    }
}

/// The signature beside a place for a model; a file of that name which is something else is nobody's business here.
fn signature_of_another(model: &Path) -> Fallible<Option<PathBuf>> {
    let path = Signature::beside(model);
    Ok(Signature::lies_at(&path)?.then_some(path))
}

fn belongs_to_another(path: &Path) -> Error {
    let cure = "give --overwrite (in Python overwrite=True) to remove it, sign the new model, or name another file";
    Error::input(path, "is the signature of another model, or of another run of this one", cure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_never_shows_an_old_model_beside_a_new_log() {
        let directory = tempfile::tempdir().unwrap();
        let [model, log] = ["m", "l"].map(|name| directory.path().join(name));
        std::fs::write(&model, "old").unwrap();
        let mut staged = [StagedFile::new(&model, true).unwrap(), StagedFile::new(&log, true).unwrap()].into_iter();
        let (new_model, new_log) = (staged.next(), staged.next());
        // The log cannot appear, so the run stops in between.
        std::fs::create_dir(&log).unwrap();
        assert!(publish_with(new_model, new_log).is_err());
        assert!(!model.exists() && log.is_dir());
    }

    #[test]
    fn a_model_is_never_seen_without_its_log_and_its_signature() {
        let directory = tempfile::tempdir().unwrap();
        let names = ["m", "l", "m.sig"].map(|name| directory.path().join(name));
        let stage = |overwrite| names.each_ref().map(|path| StagedFile::new(path, overwrite).unwrap());
        // The signature cannot appear: neither does the model, and what is in the way of either is found by name.
        let [model, log, signature] = stage(false);
        std::fs::create_dir(&names[2]).unwrap();
        assert!(publish_with(Some(model), [log, signature]).is_err());
        assert!(!names[0].exists() && names[1].exists());
        std::fs::remove_dir(&names[2]).unwrap();
        let [model, log, signature] = stage(true);
        publish_with(Some(model), [log, signature]).unwrap();
        assert!(names.iter().all(|path| path.is_file()));
    }

    #[test]
    fn the_signature_of_a_model_goes_with_it() {
        let directory = tempfile::tempdir().unwrap();
        let [model, signature] = ["m", "m.sig"].map(|name| directory.path().join(name));
        let put = |text: &str| std::fs::write(&signature, text).unwrap();
        let publish = |overwrite| {
            let mut staged = StagedFile::new(&model, overwrite)?;
            staged.append(b"new")?;
            publish_with(Some(staged), [])
        };
        let of_another = r#"{"format":"rhograd-signature/1"}"#;
        // Nobody asked to replace anything: nothing appears, and nothing goes.
        put(of_another);
        let refused = publish(false).unwrap_err().to_string();
        assert!(refused.contains("another model") && refused.contains("--overwrite"), "{refused}");
        assert!(check_unsigned(&model, false).is_err() && check_unsigned(&model, true).is_ok());
        assert!(!model.exists() && signature.exists());
        // Also where the model it was for is gone, as a run that was stopped in between leaves it.
        for old in [true, false] {
            put(of_another);
            if old {
                std::fs::write(&model, "old").unwrap();
            } else {
                std::fs::remove_file(&model).unwrap();
            }
            publish(true).unwrap();
            assert!(std::fs::read(&model).unwrap() == b"new" && !signature.exists());
        }
        // What is no signature of ours is left alone.
        put("-----BEGIN PGP SIGNATURE-----");
        publish(true).unwrap();
        std::fs::remove_file(&model).unwrap();
        publish(false).unwrap();
        assert!(signature.exists());
    }
}
