//! Signatures of models by a key of the custodian's, and the files of such keys.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey};
use ed25519_dalek::{Signature as Bytes, Signer, SigningKey, VerifyingKey};
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::files::sha256_hex;
use super::model::ModelFile;
use crate::error::{Error, Fallible};
use crate::ledger::{Ledger, Position};

/// Name and version of the file format; signed too, so that a signature of this kind is none of another kind.
const FORMAT: &str = "rhograd-signature/1";

/// Largest key or signature that is read, in bytes.
const MAX_SIGNATURE: u64 = 1 << 14;

/// The custodian's secret key, with which models are signed. It is wiped when it is dropped, and cannot be printed.
pub struct SecretKey(SigningKey);

impl SecretKey {
    /// Makes a key from the operating system's randomness.
    ///
    /// # Errors
    /// When the operating system gives no randomness.
    pub fn generate() -> Fallible<Self> {
        let mut seed = Zeroizing::new([0; 32]);
        OsRng.try_fill_bytes(seed.as_mut_slice()).map_err(|why| {
            let problem = format!("the operating system gave no randomness ({why})");
            Error::refused(problem, "run where the system random generator works; there is no fallback")
        })?;
        Ok(SecretKey(SigningKey::from_bytes(&seed)))
    }

    /// Reads a key, in PKCS#8 as PEM.
    ///
    /// # Errors
    /// When the file cannot be read, may be read by others, or holds no Ed25519 key.
    pub fn read(path: &Path) -> Fallible<Self> {
        let text = Zeroizing::new(read_small(path, "read the key")?);
        if others_may_read(path) {
            let cure = format!("make it yours alone: chmod 600 {}", path.display());
            return Err(Error::input(path, "is a secret key that others may read", cure));
        }
        SigningKey::from_pkcs8_pem(&text).map(SecretKey).map_err(|_| {
            let cure = "give the file that `rhograd key new` wrote, and not its .pub";
            Error::input(path, "is no secret Ed25519 key in PKCS#8 as PEM", cure)
        })
    }

    /// Writes the key to a new file that only its owner may read, and the public key to a new one beside it, whose path is
    /// returned.
    ///
    /// # Errors
    /// When either file exists or cannot be written.
    pub fn write(&self, path: &Path) -> Fallible<PathBuf> {
        let failed = || Error::numerical("key", "it has no text");
        let secret = self.0.to_pkcs8_pem(LineEnding::LF).map_err(|_| failed())?;
        let public = self.0.verifying_key().to_public_key_pem(LineEnding::LF).map_err(|_| failed())?;
        let beside = with_suffix(path, ".pub");
        create_new(&beside, public.as_bytes(), 0o644)?;
        create_new(path, secret.as_bytes(), 0o600).inspect_err(|_| {
            // A public key without its secret one is good for nothing.
            let _ = std::fs::remove_file(&beside);
        })?;
        Ok(beside)
    }

    /// The public key, which anybody may have.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }
}

/// The key that signatures are checked with. It comes from the custodian and never from what it is to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Reads a public key, as PEM.
    ///
    /// # Errors
    /// When the file cannot be read or holds no Ed25519 public key.
    pub fn read(path: &Path) -> Fallible<Self> {
        let text = Zeroizing::new(read_small(path, "read the key")?);
        VerifyingKey::from_public_key_pem(&text).map(PublicKey).map_err(|_| {
            let cure = "give the .pub that `rhograd key new` wrote beside the secret key";
            Error::input(path, "is no public Ed25519 key as PEM", cure)
        })
    }

    fn hex(&self) -> String {
        hex(self.0.as_bytes())
    }
}

/// Where the ledger stood when a model was signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedLedger {
    /// Random name of the run.
    pub run: String,
    /// The entry of the charge.
    pub charge: Position,
    /// The last entry when the model was signed: a ledger that lacks it was rolled back or is another one.
    pub head: Position,
}

/// A signature over a model file, its statement and the head of its ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Name and version of the format, `rhograd-signature/1`.
    pub format: String,
    /// The public key in hexadecimal; it says whose signature this is meant to be and is not trusted.
    pub public_key: String,
    /// SHA-256 of the model file, byte for byte.
    pub model_sha256: String,
    /// SHA-256 of its statement as compact JSON in the order of the file.
    pub statement_sha256: String,
    /// The charge and the head of the ledger; absent for a run that no ledger holds.
    pub ledger: Option<SignedLedger>,
    /// The Ed25519 signature in hexadecimal, of this object with this field empty, as compact JSON.
    pub signature: String,
}

impl Signature {
    /// Signs a model that the caller has made just now; [`Signature::of`] is for all others.
    ///
    /// `ledger` is the one that the run was charged to, `None` where none keeps it.
    ///
    /// # Errors
    /// When the model names an entry that the ledger lacks, or names one and no ledger is given, or was edited after its release.
    pub fn of_own(model: &ModelFile, text: &str, ledger: Option<&mut Ledger>, key: &SecretKey) -> Fallible<Self> {
        if model.reshaped.is_some() {
            let cure = "sign the file that was released: `verify --source` shows that the edited one follows from it";
            return Err(Error::refused("the model was edited after its release, and is not signed", cure));
        }
        let Some(stated) = &model.statement.facts.ledger else { return Self::made(model, text, None, key) };
        let other = || Error::refused("the model names an entry of another ledger", "sign it with that ledger");
        let ledger = ledger.ok_or_else(other)?;
        if !ledger.contains(stated.position.sequence, &stated.position.hash)? {
            return Err(other());
        }
        let (run, charge, head) = (stated.run.clone(), stated.position.clone(), ledger.head()?);
        Self::made(model, text, Some(SignedLedger { run, charge, head }), key)
    }

    fn made(model: &ModelFile, text: &str, ledger: Option<SignedLedger>, key: &SecretKey) -> Fallible<Self> {
        let mut signature = Signature {
            format: FORMAT.into(),
            public_key: key.public().hex(),
            model_sha256: sha256_hex(text.as_bytes()),
            statement_sha256: statement_digest(model)?,
            ledger,
            signature: String::new(),
        };
        signature.signature = hex(&key.0.sign(signature.message()?.as_bytes()).to_bytes());
        Ok(signature)
    }

    /// What is signed: everything but the signature, the name of the format first.
    fn message(&self) -> Fallible<String> {
        let bare = Signature { signature: String::new(), ..self.clone() };
        serde_json::to_string(&bare).map_err(|e| Error::numerical("signature", e.to_string()))
    }

    /// The file's text.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn to_json(&self) -> Fallible<String> {
        let text = serde_json::to_string_pretty(self).map_err(|e| Error::numerical("signature", e.to_string()))?;
        Ok(text + "\n")
    }

    /// The place of a model's signature where no other is named: beside it, with `.sig` added to its name.
    pub fn beside(model: &Path) -> PathBuf {
        with_suffix(model, ".sig")
    }

    /// Whether a file is a signature by its format, be it a right one or not.
    ///
    /// # Errors
    /// When there is a file that cannot be read: it may be one.
    pub(super) fn lies_at(path: &Path) -> Fallible<bool> {
        let failed = |e| Error::io(path, "read the signature", e);
        let facts = match std::fs::metadata(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            facts => facts.map_err(failed)?,
        };
        if !facts.is_file() {
            return Ok(false);
        }
        let (mut start, name) = (Vec::new(), b"\"rhograd-signature/");
        File::open(path).map_err(failed)?.take(MAX_SIGNATURE).read_to_end(&mut start).map_err(failed)?;
        Ok(start.windows(name.len()).any(|part| part == name))
    }

    /// Reads a signature.
    ///
    /// # Errors
    /// When the file cannot be read or is not, byte for byte, as `rhograd` writes one.
    pub fn read(path: &Path) -> Fallible<Self> {
        Self::parse(&read_small(path, "read the signature")?, path)
    }

    /// Parses a signature's text; `path` is used in messages only.
    ///
    /// # Errors
    /// When it is no signature of this format, or is not written in its one form.
    pub fn parse(text: &str, path: &Path) -> Fallible<Self> {
        let cure = "give a file written by `rhograd sign` or `rhograd train --sign`";
        let signature: Signature = serde_json::from_str(text)
            .map_err(|e| Error::input(path, format!("not a rhograd signature: {e}"), cure).at_line(e.line() as u64))?;
        if signature.format != FORMAT || signature.to_json()? != text {
            return Err(Error::input(path, format!("is not written as a {FORMAT}"), cure));
        }
        Ok(signature)
    }

    pub(super) fn is_by(&self, key: &PublicKey) -> Fallible<bool> {
        let Some(bytes) = unhex(&self.signature) else { return Ok(false) };
        let signed = key.0.verify_strict(self.message()?.as_bytes(), &Bytes::from_bytes(&bytes));
        Ok(self.public_key == key.hex() && signed.is_ok())
    }
}

pub(super) fn statement_digest(model: &ModelFile) -> Fallible<String> {
    let text = serde_json::to_string(&model.statement).map_err(|e| Error::numerical("statement", e.to_string()))?;
    Ok(sha256_hex(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of a signature, if that is what a text is in hexadecimal of lower case: one signature has one text.
fn unhex(text: &str) -> Option<[u8; 64]> {
    let mut bytes = [0; 64];
    if text.len() != 2 * bytes.len() || !text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

fn read_small(path: &Path, action: &'static str) -> Fallible<String> {
    let failed = |e| Error::io(path, action, e);
    let mut text = String::new();
    File::open(path).map_err(failed)?.take(MAX_SIGNATURE + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_SIGNATURE {
        return Err(Error::input(path, "is too long for a key or a signature", "name the right file"));
    }
    Ok(text)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn create_new(path: &Path, bytes: &[u8], mode: u32) -> Fallible<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    permit(&mut options, mode);
    let mut file = options.open(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Error::input(path, "exists, and a key is never replaced", "name another file")
        }
        _ => Error::io(path, "create it", e),
    })?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|e| Error::io(path, "write it", e))
}

#[cfg(unix)]
fn permit(options: &mut OpenOptions, mode: u32) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(mode);
}

#[cfg(not(unix))]
fn permit(_: &mut OpenOptions, _: u32) {}

/// Whether a file, and not a pipe, may be read by anyone but its owner.
#[cfg(unix)]
fn others_may_read(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn others_may_read(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_once_for_their_owner_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("custodian.key");
        let key = SecretKey::generate().unwrap();
        let beside = key.write(&path).unwrap();
        assert_eq!(beside, folder.path().join("custodian.key.pub"));
        let again = SecretKey::read(&path).unwrap();
        assert_eq!(again.public(), key.public());
        assert_eq!(PublicKey::read(&beside).unwrap(), key.public());
        // Neither is taken for the other, and neither is replaced.
        assert!(SecretKey::read(&beside).is_err() && PublicKey::read(&path).is_err());
        let other = SecretKey::generate().unwrap();
        assert_ne!(other.public(), key.public());
        assert!(other.write(&path).unwrap_err().to_string().contains("never replaced"));
        std::fs::remove_file(&beside).unwrap();
        assert!(other.write(&path).is_err() && !beside.exists());
        assert_eq!(SecretKey::read(&path).unwrap().public(), key.public());
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k");
        SecretKey::generate().unwrap().write(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let error = SecretKey::read(&path).err().unwrap().to_string();
        assert!(error.contains("others may read") && !error.contains("PRIVATE"), "{error}");
    }
}
