//! The unit of privacy that a schema names, and whose mean is estimated.

use std::fmt;

use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, Fallible};

/// What of a row is protected: all of it, or its label alone.
///
/// ```
/// use rhograd::data::Protect;
/// assert_eq!(Protect::default(), Protect::Row);
/// assert_eq!(Protect::named("label")?, Protect::Label);
/// # Ok::<(), rhograd::error::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Protect {
    /// All cells of a row, and with add-remove also whether it is there.
    #[default]
    Row,
    /// The target of a row alone; features, and how many rows there are, are public.
    Label,
}

impl Protect {
    /// What has this name in files and on the command line.
    ///
    /// # Errors
    /// When it is neither "row" nor "label".
    pub fn named(name: &str) -> Fallible<Self> {
        match name {
            "row" => Ok(Protect::Row),
            "label" => Ok(Protect::Label),
            other => Err(Error::parameter(
                "protect",
                format!("is {other:?}"),
                "use \"row\", or \"label\" where features are public",
            )),
        }
    }

    /// Whether it is all of a row; files that say nothing mean that.
    pub fn is_row(&self) -> bool {
        *self == Protect::Row
    }
}

/// Whose mean a model estimates where persons with several rows are protected.
///
/// Either way a person's gradients are clipped together, to the same norm; what differs is how a person with more rows than others weighs
/// before that.
///
/// ```
/// use rhograd::data::{Estimand, Unit};
/// assert_eq!(Unit::new("patient").estimand(), Estimand::Persons);
/// assert_eq!(Estimand::named("rows")?, Estimand::Rows);
/// # Ok::<(), rhograd::error::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Estimand {
    /// The mean over persons of the mean over their rows: every person counts once.
    #[default]
    Persons,
    /// The mean over rows, as far as the clip lets it be: a person counts once for each row, up to the clip norm.
    Rows,
}

impl Estimand {
    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Estimand::Persons => "persons",
            Estimand::Rows => "rows",
        }
    }

    /// The estimand of a name.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn named(name: &str) -> Fallible<Self> {
        [Estimand::Persons, Estimand::Rows]
            .into_iter()
            .find(|estimand| estimand.name() == name)
            .ok_or_else(|| Error::parameter("--estimand", format!("{name:?} is unknown"), "give persons or rows"))
    }

    /// Whether it is that of persons; files do not say so.
    pub fn is_persons(&self) -> bool {
        *self == Estimand::Persons
    }
}

impl fmt::Display for Estimand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a guarantee protects where it is not one row: all rows of a person, told by an identifier.
///
/// A person is all records whose identifier is the same text after trimming. A record without one is nobody's and contributes
/// nothing.
///
/// ```
/// use rhograd::data::Unit;
/// let unit = Unit { persons: Some(4000), ..Unit::new("patient") };
/// assert_eq!(unit.max_rows(), Unit::DEFAULT_MAX_ROWS);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// The column that holds the identifier; no feature.
    pub column: String,
    /// A public hint of the number of persons, never counted from the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persons: Option<u64>,
    /// The most rows of a person that count; [`Unit::DEFAULT_MAX_ROWS`] where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "public_number")]
    pub max_rows: Option<u32>,
    /// Whose mean is estimated; that of persons where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimand: Option<Estimand>,
}

impl Unit {
    /// The most rows of a person that count where the schema does not say.
    pub const DEFAULT_MAX_ROWS: u32 = 1000;

    /// What somebody would say who wants the number of rows that count to be chosen from the rows.
    pub(crate) const PRIVATE: &str = "private";

    /// Why it is not.
    pub(crate) const NO_PRIVATE_MAX_ROWS: &str = "is a public number: a person's rows are clipped together, so one with many of them moves no sum further than one with a \
         single row, and a smaller number, chosen privately for a part of the budget or not, was never measured to be better; give a \
         number, or leave it out for 1000";

    /// All rows with the same text in a column, with all else left to the rules.
    pub fn new(column: impl Into<String>) -> Self {
        Unit { column: column.into(), persons: None, max_rows: None, estimand: None }
    }

    /// The most rows of a person that count.
    pub fn max_rows(&self) -> u32 {
        self.max_rows.unwrap_or(Self::DEFAULT_MAX_ROWS)
    }

    /// Whose mean is estimated.
    pub fn estimand(&self) -> Estimand {
        self.estimand.unwrap_or_default()
    }
}

/// A number of rows that count, or why it is not chosen privately.
fn public_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    struct Given;
    impl Visitor<'_> for Given {
        type Value = Option<u32>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number (u32)")
        }

        fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Self::Value, E> {
            let other = || E::invalid_value(Unexpected::Unsigned(number), &self);
            u32::try_from(number).map(Some).map_err(|_| other())
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            Err(match text {
                Unit::PRIVATE => E::custom(format!("\"max_rows\" {}", Unit::NO_PRIVATE_MAX_ROWS)),
                other => E::invalid_type(Unexpected::Str(other), &self),
            })
        }
    }
    deserializer.deserialize_any(Given)
}
