//! Choices that a user may leave to an algorithm: a field of [`Settings`], and a row of [`SETTINGS`] that says all else.
//!
//! The command line, the grid of `--tune`, the bindings and the refusals of algorithms read the rows.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Fallible};

/// Settings beyond this, or below one over it, would overflow numbers that are derived from them.
const MAX_SETTING: f64 = 1e12;

/// Choices of the user; `None` means "by the optimizer's own rule".
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Settings {
    /// Clip norm of one row's gradient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// Number of gradient releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Step size on the mean loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
    /// Momentum in `[0, 1)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub momentum: Option<f64>,
    /// Passes over the rows of an algorithm that deals them to batches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<u64>,
    /// l1 penalty on all coefficients but intercepts.
    pub l1: f64,
    /// l2 penalty on all coefficients but intercepts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l2: Option<f64>,
    /// Radius of the ball that iterates are kept in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// Which iterate is returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub averaging: Option<Averaging>,
    /// Probability with which a row joins a step of an algorithm that samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling_rate: Option<f64>,
    /// How rows come to the steps of an algorithm that samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
}

/// How rows come to steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Each row joins each step by a coin of its own.
    Poisson,
    /// Each row joins one step of each pass, which it draws evenly.
    Shuffle,
}

impl Sampling {
    /// Every kind with its name.
    pub const NAMED: [(&str, Sampling); 2] = [("poisson", Sampling::Poisson), ("shuffle", Sampling::Shuffle)];
}

/// Which iterate is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Averaging {
    /// The last one.
    Last,
    /// The mean of all, the starting point included.
    Mean,
    /// The mean of the second half.
    Tail,
}

impl Averaging {
    /// Every kind with its name.
    pub const NAMED: [(&str, Averaging); 3] =
        [("last", Averaging::Last), ("mean", Averaging::Mean), ("tail", Averaging::Tail)];
}

/// The numbers that a setting takes.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    has: fn(f64) -> bool,
    /// In words, as in `in [0, 1)`.
    pub words: &'static str,
}

/// What kind of value a setting has, and the field that holds it.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A number.
    Number {
        /// What is legal.
        range: Range,
        /// Reads the field.
        get: fn(&Settings) -> Option<f64>,
        /// Writes the field.
        set: fn(&mut Settings, f64),
    },
    /// A whole number.
    Count {
        /// What is legal.
        range: Range,
        /// Reads the field.
        get: fn(&Settings) -> Option<u64>,
        /// Writes the field.
        set: fn(&mut Settings, u64),
    },
    /// One of several names.
    Choice {
        /// All of them.
        names: &'static [&'static str],
        /// Reads the field.
        get: fn(&Settings) -> Option<&'static str>,
        /// Writes the field, if the name is one of them.
        set: fn(&mut Settings, &str),
    },
}

/// The name of a value.
fn name_of<T: Copy + PartialEq>(named: &'static [(&'static str, T)], value: Option<T>) -> Option<&'static str> {
    named.iter().find(|(_, other)| Some(*other) == value).map(|(name, _)| *name)
}

/// The value of a name.
fn value_of<T: Copy>(named: &[(&str, T)], name: &str) -> Option<T> {
    named.iter().find(|(other, _)| *other == name).map(|(_, value)| *value)
}

/// All that is said about a setting anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name, as in `learning-rate`; the flag has two dashes before it, Python writes `_` for `-`.
    pub name: &'static str,
    /// What stands for its value in a usage line.
    pub value_name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What holds where it is left out.
    pub default: &'static str,
    /// The value that is no request, because it asks for nothing.
    pub neutral: Option<f64>,
    /// Its values.
    pub kind: Kind,
}

const POSITIVE: Range =
    Range { has: |value| (1.0 / MAX_SETTING..=MAX_SETTING).contains(&value), words: "in [1e-12, 1e12]" };
const PENALTY: Range = Range { has: |value| (0.0..=MAX_SETTING).contains(&value), words: "in [0, 1e12]" };
const BELOW_ONE: Range = Range { has: |value| (0.0..1.0).contains(&value), words: "in [0, 1)" };
const PROBABILITY: Range = Range { has: |value| value > 0.0 && value <= 1.0, words: "in (0, 1]" };
const COUNT: Range = Range { has: |value| (1.0..2147483648.0).contains(&value), words: "in 1..2^31" };

/// Writes the rows and the list of them.
macro_rules! settings {
    ($($row:ident = { $($field:ident: $value:expr),* $(,)? })*) => {
        $(
            #[doc = concat!("The row of [`Settings`] that is called `", stringify!($row), "` here.")]
            pub static $row: Setting = Setting { $($field: $value),* };
        )*
        /// Every setting, in the order of `rhograd train --help`.
        pub static SETTINGS: &[&Setting] = &[$(&$row),*];
    };
}

settings! {
    CLIP = {
        name: "clip", value_name: "C", about: "Clip norm of one row's gradient", default: "by rule", neutral: None,
        kind: Kind::Number { range: POSITIVE, get: |it| it.clip, set: |it, value| it.clip = Some(value) },
    }
    STEPS = {
        name: "steps", value_name: "T", about: "Number of gradient steps", default: "by rule", neutral: None,
        kind: Kind::Count { range: COUNT, get: |it| it.steps, set: |it, value| it.steps = Some(value) },
    }
    LEARNING_RATE = {
        name: "learning-rate", value_name: "ETA", about: "Step size on the mean loss", default: "by rule",
        neutral: None,
        kind: Kind::Number {
            range: POSITIVE, get: |it| it.learning_rate, set: |it, value| it.learning_rate = Some(value),
        },
    }
    MOMENTUM = {
        name: "momentum", value_name: "MOMENTUM", about: "Momentum in [0, 1)", default: "by rule", neutral: None,
        kind: Kind::Number { range: BELOW_ONE, get: |it| it.momentum, set: |it, value| it.momentum = Some(value) },
    }
    PASSES = {
        name: "passes", value_name: "E", about: "Passes of dp-ftrl over the rows, which the steps are divided into",
        default: "1", neutral: None,
        kind: Kind::Count { range: COUNT, get: |it| it.passes, set: |it, value| it.passes = Some(value) },
    }
    SAMPLING_RATE = {
        name: "sampling-rate", value_name: "Q", about: "Probability with which a row joins a step of dp-sgd, or a pass of dp-ftrl",
        default: "0.02; 1 for dp-ftrl", neutral: None,
        kind: Kind::Number {
            range: PROBABILITY, get: |it| it.sampling_rate, set: |it, value| it.sampling_rate = Some(value),
        },
    }
    L1 = {
        name: "l1", value_name: "L1",
        about: "l1 penalty on all coefficients but intercepts, which sets small ones to zero; runs without whitening",
        default: "0", neutral: Some(0.0),
        kind: Kind::Number { range: PENALTY, get: |it| (it.l1 != 0.0).then_some(it.l1), set: |it, value| it.l1 = value },
    }
    L2 = {
        name: "l2", value_name: "L2", about: "l2 penalty on all coefficients but the intercept",
        default: "none; 0.01 for ridge", neutral: Some(0.0),
        kind: Kind::Number { range: PENALTY, get: |it| it.l2, set: |it, value| it.l2 = Some(value) },
    }
    RADIUS = {
        name: "radius", value_name: "RADIUS",
        about: "Radius of the ball that models are kept in: l2, l1 for frank-wolfe, a box for exponential-mechanism",
        default: "by rule", neutral: None,
        kind: Kind::Number { range: POSITIVE, get: |it| it.radius, set: |it, value| it.radius = Some(value) },
    }
    AVERAGING = {
        name: "averaging", value_name: "AVERAGING", about: "Which iterate is returned",
        default: "tail; mean for dp-gd-theory", neutral: None,
        kind: Kind::Choice {
            names: &["last", "mean", "tail"], get: |it| name_of(&Averaging::NAMED, it.averaging),
            set: |it, name| it.averaging = value_of(&Averaging::NAMED, name),
        },
    }
    SAMPLING = {
        name: "sampling", value_name: "SAMPLING",
        about: "How rows come to the steps of dp-sgd: a coin for each step, or one step of each pass",
        default: "poisson", neutral: None,
        kind: Kind::Choice {
            names: &["poisson", "shuffle"], get: |it| name_of(&Sampling::NAMED, it.sampling),
            set: |it, name| it.sampling = value_of(&Sampling::NAMED, name),
        },
    }
}

/// What gradient steps with a penalty and a ball take.
pub(super) static OF_DESCENT: &[&Setting] = &[&CLIP, &STEPS, &LEARNING_RATE, &MOMENTUM, &L1, &L2, &RADIUS, &AVERAGING];

/// What gradient steps take where an l1 penalty means nothing, for their coordinates are not the coefficients.
pub(super) static OF_SMOOTH_DESCENT: &[&Setting] =
    &[&CLIP, &STEPS, &LEARNING_RATE, &MOMENTUM, &L2, &RADIUS, &AVERAGING];

/// Those of a descent on samples.
pub(super) static OF_SAMPLED_DESCENT: &[&Setting] =
    &[&CLIP, &STEPS, &LEARNING_RATE, &MOMENTUM, &SAMPLING_RATE, &L1, &L2, &RADIUS, &AVERAGING, &SAMPLING];

/// Those of a descent on batches that every pass meets again.
pub(super) static OF_BATCH_PASSES: &[&Setting] =
    &[&CLIP, &STEPS, &LEARNING_RATE, &MOMENTUM, &PASSES, &SAMPLING_RATE, &L2, &RADIUS, &AVERAGING];

/// What gradient steps take where coordinates were made with a ridge of their own.
pub(super) static OF_ADDITIVE: &[&Setting] = &[&CLIP, &STEPS, &LEARNING_RATE, &MOMENTUM, &L2, &AVERAGING];

impl Setting {
    /// The row of a name.
    pub fn named(name: &str) -> Option<&'static Setting> {
        SETTINGS.iter().copied().find(|setting| setting.name == name)
    }

    /// The flag of the command line.
    pub fn flag(&self) -> String {
        format!("--{}", self.name)
    }

    /// Whether the settings ask for anything here.
    pub fn is_given(&self, settings: &Settings) -> bool {
        match self.kind {
            Kind::Number { get, .. } => get(settings).is_some_and(|value| Some(value) != self.neutral),
            Kind::Count { get, .. } => get(settings).is_some(),
            Kind::Choice { get, .. } => get(settings).is_some(),
        }
    }

    /// Writes a value given as text.
    ///
    /// # Errors
    /// When it is no value of this kind; [`Settings::check`] says whether it is a legal one.
    pub fn read(&self, settings: &mut Settings, text: &str) -> Fallible<()> {
        let read = match self.kind {
            Kind::Number { set, .. } => text.parse().ok().map(|value| set(settings, value)),
            Kind::Count { set, .. } => text.parse().ok().map(|value| set(settings, value)),
            Kind::Choice { names, set, .. } => names.contains(&text).then(|| set(settings, text)),
        };
        read.ok_or_else(|| {
            let cure = match self.kind {
                Kind::Number { .. } => "write a number".into(),
                Kind::Count { .. } => "write a whole number".into(),
                Kind::Choice { names, .. } => format!("use one of {}", names.join(", ")),
            };
            Error::parameter(self.flag(), format!("is {text:?}"), cure)
        })
    }

    /// Takes over what is left open from other settings.
    pub fn fill(&self, settings: &mut Settings, open: &Settings) {
        match self.kind {
            Kind::Number { get, set, .. } => {
                if let (None, Some(value)) = (get(settings), get(open)) {
                    set(settings, value);
                }
            }
            Kind::Count { get, set, .. } => {
                if let (None, Some(value)) = (get(settings), get(open)) {
                    set(settings, value);
                }
            }
            Kind::Choice { get, set, .. } => {
                if let (None, Some(value)) = (get(settings), get(open)) {
                    set(settings, value);
                }
            }
        }
    }

    fn check(&self, settings: &Settings) -> Fallible<()> {
        let (value, range) = match self.kind {
            Kind::Number { range, get, .. } => (get(settings), range),
            Kind::Count { range, get, .. } => (get(settings).map(|count| count as f64), range),
            Kind::Choice { .. } => return Ok(()),
        };
        match value.filter(|value| !(range.has)(*value)) {
            None => Ok(()),
            Some(value) => {
                let problem = format!("is {value:?}, must be {}", range.words);
                Err(Error::parameter(self.flag(), problem, "leave it out for the default"))
            }
        }
    }
}

impl Settings {
    /// Everything left open.
    pub const NONE: Settings = Settings {
        clip: None,
        steps: None,
        learning_rate: None,
        momentum: None,
        passes: None,
        l1: 0.0,
        l2: None,
        radius: None,
        averaging: None,
        sampling_rate: None,
        sampling: None,
    };

    /// Whether every value is legal.
    ///
    /// # Errors
    /// Names the flag, its legal range and the cure.
    pub fn check(&self) -> Fallible<()> {
        SETTINGS.iter().try_for_each(|setting| setting.check(self))
    }

    /// Refuses what an algorithm has no use for, so that nobody believes it did something.
    ///
    /// # Errors
    /// When a setting was given that is not among `taken`.
    pub(super) fn only(&self, taken: &[&'static Setting], algorithm: &str) -> Fallible<()> {
        let useless =
            |setting: &&&Setting| setting.is_given(self) && !taken.iter().any(|other| other.name == setting.name);
        match SETTINGS.iter().find(useless) {
            None => Ok(()),
            Some(setting) => {
                let cure = match setting.name {
                    "l1" => "leave it out, or use --algorithm dp-gd",
                    "l2" => "leave it out, or use --algorithm whitened; --model ridge sets it, --model linear does not",
                    _ => "leave it out",
                };
                Err(Error::parameter(setting.flag(), format!("means nothing to --algorithm {algorithm}"), cure))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A value of each kind, and one beyond its range where it has one.
    fn values(setting: &Setting) -> (&'static str, Option<&'static str>) {
        match setting.kind {
            Kind::Number { .. } => ("0.5", Some("-1")),
            Kind::Count { .. } => ("7", Some("0")),
            Kind::Choice { names, .. } => (names[0], None),
        }
    }

    #[test]
    fn each_row_reads_writes_and_checks_a_field_of_its_own() {
        let mut all = Settings::default();
        for (index, setting) in SETTINGS.iter().enumerate() {
            let (legal, beyond) = values(setting);
            assert_eq!(SETTINGS.iter().filter(|other| other.is_given(&all)).count(), index);
            setting.read(&mut all, legal).unwrap();
            assert!(setting.is_given(&all), "{}", setting.name);
            all.check().unwrap();
            let mut alone = Settings::default();
            setting.fill(&mut alone, &all);
            assert!(setting.is_given(&alone) && alone.only(&[setting], "x").is_ok());
            let refused = alone.only(&[], "x").unwrap_err().to_string();
            assert!(refused.contains(&setting.flag()) && refused.contains("means nothing"), "{refused}");
            for text in beyond.into_iter().chain(["best"]) {
                let mut wrong = Settings::default();
                let outcome = setting.read(&mut wrong, text).and_then(|()| wrong.check());
                assert!(outcome.unwrap_err().to_string().contains(&setting.flag()), "{} {text}", setting.name);
            }
        }
        // A field without a row would be left out of one of the two.
        let fields = serde_json::to_value(&all).unwrap();
        let names: Vec<String> = SETTINGS.iter().map(|setting| setting.name.replace('-', "_")).collect();
        assert!(names.iter().all(|name| fields.get(name).is_some()), "{fields}");
        assert_eq!(fields.as_object().unwrap().len(), SETTINGS.len());
        assert_eq!(Settings::NONE, Settings::default());
    }

    #[test]
    fn choices_have_the_names_of_their_values() {
        for (setting, named) in [
            (&AVERAGING, Averaging::NAMED.map(|(name, value)| (name, json!(value))).to_vec()),
            (&SAMPLING, Sampling::NAMED.map(|(name, value)| (name, json!(value))).to_vec()),
        ] {
            let Kind::Choice { names, get, set } = setting.kind else { panic!("{} is a choice", setting.name) };
            assert_eq!(names, named.iter().map(|(name, _)| *name).collect::<Vec<_>>());
            for (name, value) in named {
                let mut settings = Settings::NONE;
                set(&mut settings, name);
                assert!(get(&settings) == Some(name) && value == json!(name));
            }
        }
    }

    #[test]
    fn what_is_set_is_not_filled_in() {
        let open = Settings { clip: Some(2.0), steps: Some(3), averaging: Some(Averaging::Last), ..Settings::NONE };
        let mut set = Settings { clip: Some(1.0), ..Settings::NONE };
        SETTINGS.iter().for_each(|setting| setting.fill(&mut set, &open));
        assert_eq!(set, Settings { clip: Some(1.0), ..open });
    }
}
