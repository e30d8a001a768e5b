//! The name of a loss from outside this crate: short, plain, and copied like a number.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::error::{Error, Fallible};

/// Longest name.
const MAX_LENGTH: usize = 32;

/// One to 32 letters, digits, `-`, `_` and `.`, the first a letter, so that a statement that holds it can be read aloud.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct OwnName {
    bytes: [u8; MAX_LENGTH],
    length: usize,
}

impl OwnName {
    /// # Errors
    /// When the text is no name.
    pub(super) fn new(text: &str) -> Fallible<Self> {
        Self::of(text).ok_or_else(|| {
            let cure = "use up to 32 letters, digits, '-', '_' and '.', beginning with a letter";
            Error::parameter("loss", format!("has the name {text:?}"), cure)
        })
    }

    fn of(text: &str) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let named = text.as_bytes().first()?.is_ascii_alphabetic() && text.bytes().all(plain);
        let mut bytes = [0; MAX_LENGTH];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        named.then_some(OwnName { bytes, length: text.len() })
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl fmt::Display for OwnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for OwnName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for OwnName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::of(&text).ok_or_else(|| D::Error::custom(format!("{text:?} is no name of a loss")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        for name in ["a", "expectile-0.8", "Log_cosh", &"x".repeat(32)] {
            assert_eq!(OwnName::new(name).unwrap().as_str(), name);
        }
        for name in ["", "0.8", "-a", "a b", "a\n", "é", "a\u{202e}", &"x".repeat(33)] {
            assert!(OwnName::new(name).err().unwrap().to_string().contains("beginning with a letter"), "{name:?}");
        }
    }
}
