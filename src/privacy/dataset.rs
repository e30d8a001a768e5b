//! To which data set a guarantee belongs.

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use unicode_security::confusable_detection::skeleton;

use crate::error::{Error, Fallible};

/// Longest name in bytes.
const MAX_NAME_LENGTH: usize = 200;

/// The custodian's name for a data set; never derived from its rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DatasetId(String);

impl DatasetId {
    /// Accepts 1 to 200 bytes without control, direction-changing and invisible characters.
    ///
    /// # Errors
    /// When the name is empty, too long or contains such a character.
    pub fn new(name: impl Into<String>) -> Fallible<Self> {
        let known = Self::recorded(name.into())?;
        match known.0.chars().find(|&c| is_invisible(c)) {
            None => Ok(known),
            Some(c) => Err(Error::parameter(
                "data set name",
                format!("has the character U+{:04X}, which cannot be seen or turns the text around it", u32::from(c)),
                "set another \"name\" in the schema",
            )),
        }
    }

    /// A name as a ledger of any version may hold it.
    fn recorded(name: String) -> Fallible<Self> {
        if name.trim().is_empty() || name.len() > MAX_NAME_LENGTH || name.chars().any(char::is_control) {
            return Err(Error::parameter(
                "data set name",
                "must have 1 to 200 characters and no control character",
                "set \"name\" in the schema",
            ));
        }
        Ok(DatasetId(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A text that two names share where people would take one for the other.
    ///
    /// Compatible characters, capital and small letters, runs of blanks and characters that look alike are made one; what
    /// cannot be seen is left out.
    ///
    /// # Reference
    /// Unicode Technical Standard 39, section 4 (skeletons); Unicode Standard Annex 15 (NFKC).
    pub fn look(&self) -> String {
        // Letters of one case before and after: the skeleton of a digit may be a capital letter.
        let small = |text: String| text.to_uppercase().to_lowercase();
        let visible: String = self.0.nfkc().filter(|&c| !is_invisible(c) && !is_joiner(c)).collect();
        let drawn: String = skeleton(&small(visible)).collect();
        let drawn: String = skeleton(&small(drawn)).collect();
        // A capital i is drawn as a one and as a small l, and is a small i in the other case: all of them are one.
        drawn.replace('i', "l").split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Whether a character shows nothing, or changes the direction of what is around it.
///
/// # Reference
/// Unicode Standard Annex 9 (directional formatting characters); Unicode Character Database, Default_Ignorable_Code_Point.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{200b}'
        | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
}

/// Whether a character is seen only in what it does to others: needed in some scripts, and no difference between names.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{180b}'..='\u{180d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

impl TryFrom<String> for DatasetId {
    type Error = Error;
    fn try_from(name: String) -> Fallible<Self> {
        Self::recorded(name)
    }
}

impl From<DatasetId> for String {
    fn from(id: DatasetId) -> String {
        id.0
    }
}

impl std::fmt::Display for DatasetId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for good in ["fair", "Umfrage 2024", "données", "調査", "می\u{200c}خواهم", "a".repeat(200).as_str()] {
            assert!(DatasetId::new(good).is_ok(), "{good}");
        }
        let long = "a".repeat(201);
        for bad in
            ["", "  ", "a\nb", "a\u{202e}b", "a\u{2066}b", "a\u{200b}b", "a\u{ad}b", "a\u{e0041}", "\u{feff}a", &long]
        {
            assert!(DatasetId::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn names_in_old_ledgers_stay_readable() {
        for old in ["a\u{202e}b", "a\u{200b}b"] {
            let text = serde_json::to_string(old).unwrap();
            let name: DatasetId = serde_json::from_str(&text).unwrap();
            assert_eq!((name.as_str(), serde_json::to_string(&name).unwrap()), (old, text));
        }
        assert!(serde_json::from_str::<DatasetId>("\"a\\nb\"").is_err());
    }

    #[test]
    fn names_that_look_alike_share_a_look() {
        let look = |name: &str| DatasetId::recorded(name.into()).unwrap().look();
        for (name, other) in [
            ("adult", "Adult"),
            ("adult", "аdult"),
            ("adult", "ａｄｕｌｔ"),
            ("adult", "adult "),
            ("adult", "ad\u{200d}ult"),
            ("my data", "my  data"),
            ("my data", "my\u{a0}data"),
            ("trial1", "trialI"),
            ("trial0", "trialO"),
            ("scope", "ѕсоре"),
            ("straße", "STRASSE"),
            ("é", "e\u{301}"),
            ("adult", "ad\u{200b}ult"),
        ] {
            assert_eq!(look(name), look(other), "{name} {other}");
        }
        let different =
            ["adult", "adults", "fair", "fair_train", "fair-train", "2023", "2024", "a", "b", "調査", "données"];
        let looks: std::collections::BTreeSet<String> = different.iter().map(|name| look(name)).collect();
        assert_eq!(looks.len(), different.len());
        let numbers: std::collections::BTreeSet<String> = (0..2000).map(|i| look(&format!("round {i}"))).collect();
        assert_eq!(numbers.len(), 2000);
    }
}
