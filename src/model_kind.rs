//! The model families: which schema they fit, their loss and its parameters, and how they read a target.

use serde::{Deserialize, Serialize};

use crate::data::{Schema, Task};
use crate::error::{Error, Fallible};
use crate::grid::LabelCoding;
use crate::loss::{Glm, Hinge, Huber, Objective, OwnForm, OwnLoss, Pinball, Poisson};

/// Ridge penalty where the user gives none: a hundredth of the curvature that a standardised feature has.
const RIDGE: f64 = 0.01;

/// The model family with its parameters; public, recorded in model and statement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ModelKind {
    /// Logistic regression.
    Logistic,
    /// Linear support vector machine with the Huberised hinge loss.
    Svm {
        /// Half the width of the strip where the hinge is rounded.
        width: f64,
    },
    /// Multinomial logistic regression.
    Multinomial,
    /// Linear regression.
    Linear,
    /// Linear regression with an l2 penalty even where none is asked for.
    Ridge,
    /// Linear regression with the Huber loss.
    Huber {
        /// Where the loss turns linear, in the target's released deviations (half its range where nothing is
        /// standardised).
        threshold: f64,
    },
    /// Quantile regression with the smoothed pinball loss.
    Quantile {
        /// The level of the quantile.
        level: f64,
        /// Half the width of the smoothed strip, in the same units as the threshold of Huber regression.
        width: f64,
    },
    /// Poisson regression with a bounded log-rate.
    Poisson {
        /// Largest absolute log-rate relative to the released mean of the counts.
        bound: f64,
    },
    /// A generalized linear model with a loss from outside this crate; files name the loss and the digest of its table.
    Own(#[serde(serialize_with = "OwnLoss::serialize_named", deserialize_with = "OwnLoss::deserialize_named")] OwnLoss),
}

/// A model family as it is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The name used in files and on the command line.
    pub name: &'static str,
    /// What it predicts and how, in one line.
    pub about: &'static str,
    /// The model, with parameters of this family where they are given.
    pub model: fn(&FamilyParameters) -> ModelKind,
}

/// The parameters of families that have one; `None` for the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct FamilyParameters {
    /// Level of a conditional quantile.
    pub quantile: Option<f64>,
    /// Where Huber's loss turns linear.
    pub huber_threshold: Option<f64>,
}

/// Every family that can be asked for by name, in the order of `rhograd train --help`.
pub static FAMILIES: &[Family] = &[
    Family { name: "logistic", about: "Two labels, log-odds", model: |_| ModelKind::Logistic },
    Family {
        name: "svm",
        about: "Two labels, support vector machine with a rounded hinge",
        model: |_| ModelKind::svm(),
    },
    Family { name: "multinomial", about: "Three or more labels, log-odds", model: |_| ModelKind::Multinomial },
    Family { name: "linear", about: "Number, least squares", model: |_| ModelKind::Linear },
    Family {
        name: "ridge",
        about: "Number, least squares with an l2 penalty of 0.01 where --l2 gives none",
        model: |_| ModelKind::Ridge,
    },
    Family {
        name: "huber",
        about: "Number, robust against outlying targets",
        model: |given| ModelKind::huber(given.huber_threshold),
    },
    Family {
        name: "quantile",
        about: "Number, conditional quantile",
        model: |given| ModelKind::quantile(given.quantile),
    },
    Family { name: "poisson", about: "Count, log of its mean", model: |_| ModelKind::poisson() },
];

/// How a model reads its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    /// One of two labels.
    Label,
    /// One of three or more labels.
    Class,
    /// A number, centred at its mean and scaled by its deviation.
    Centred,
    /// A count, scaled by its mean and not centred.
    Count,
}

/// What the margins of a model say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Link {
    /// The log-odds of the positive label.
    LogOdds,
    /// A score, positive on the side of the positive label.
    Score,
    /// One margin per label, whose softmax are the probabilities of labels.
    Softmax,
    /// The number itself.
    Identity,
    /// The logarithm of a rate.
    LogRate {
        /// Largest absolute log-rate.
        bound: f64,
    },
}

impl Response {
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Response::Centred | Response::Count)
    }
}

impl ModelKind {
    /// A support vector machine with the default width 1/2.
    pub fn svm() -> Self {
        ModelKind::Svm { width: 0.5 }
    }

    /// Huber regression; the default threshold keeps 95% of the efficiency of least squares on normal residuals.
    ///
    /// Reference: Huber 1964.
    pub fn huber(threshold: Option<f64>) -> Self {
        ModelKind::Huber { threshold: threshold.unwrap_or(1.345) }
    }

    /// Quantile regression, at the median by default, smoothed over a tenth of a deviation on either side.
    pub fn quantile(level: Option<f64>) -> Self {
        ModelKind::Quantile { level: level.unwrap_or(0.5), width: 0.1 }
    }

    /// Poisson regression for rates within a factor of `e^3` (about 20) of the mean.
    pub fn poisson() -> Self {
        ModelKind::Poisson { bound: 3.0 }
    }

    /// The family that a schema asks for; where rows have exposures, that of counts.
    pub fn of_schema(schema: &Schema) -> Self {
        match (schema.task, schema.classes()) {
            (Task::Classification, Some(_)) => ModelKind::Multinomial,
            (Task::Classification, None) => ModelKind::Logistic,
            (Task::Regression, _) if schema.weight_columns()[1].is_some() => ModelKind::poisson(),
            (Task::Regression, _) => ModelKind::Linear,
        }
    }

    /// The loss, for the labels of a schema.
    pub fn loss(self, schema: &Schema) -> Objective {
        Objective::Margin(match self {
            ModelKind::Multinomial => return Objective::Softmax { classes: schema.classes().map_or(0, <[_]>::len) },
            ModelKind::Logistic => Glm::Logistic,
            ModelKind::Svm { width } => Glm::Hinge(Hinge { width }),
            ModelKind::Linear | ModelKind::Ridge => Glm::Squared,
            ModelKind::Huber { threshold } => Glm::Huber(Huber { threshold }),
            ModelKind::Quantile { level, width } => Glm::Pinball(Pinball { level, width }),
            ModelKind::Poisson { bound } => Glm::Poisson(Poisson { bound, most: bound.exp() }),
            ModelKind::Own(loss) => Glm::Own(loss),
        })
    }

    /// How labels weigh rows in the score of a canonical link, `labels` of them where they are classes; `None` where the link is another.
    pub(crate) fn label_coding(self, labels: usize) -> Option<LabelCoding> {
        match self {
            ModelKind::Logistic => Some(LabelCoding::Two),
            ModelKind::Linear | ModelKind::Ridge => Some(LabelCoding::Numbers),
            ModelKind::Poisson { .. } => Some(LabelCoding::Counts),
            ModelKind::Multinomial => u16::try_from(labels).ok().map(|labels| LabelCoding::Classes { labels }),
            ModelKind::Svm { .. } | ModelKind::Huber { .. } | ModelKind::Quantile { .. } | ModelKind::Own(_) => None,
        }
    }

    /// The name used in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ModelKind::Logistic => "logistic",
            ModelKind::Svm { .. } => "svm",
            ModelKind::Multinomial => "multinomial",
            ModelKind::Linear => "linear",
            ModelKind::Ridge => "ridge",
            ModelKind::Huber { .. } => "huber",
            ModelKind::Quantile { .. } => "quantile",
            ModelKind::Poisson { .. } => "poisson",
            ModelKind::Own(_) => "own",
        }
    }

    /// The family in words.
    pub fn words(self) -> String {
        match self {
            ModelKind::Logistic | ModelKind::Linear | ModelKind::Ridge => format!("{} regression", self.name()),
            ModelKind::Multinomial => "multinomial logistic regression".into(),
            ModelKind::Svm { .. } => "linear support vector machine".into(),
            ModelKind::Huber { threshold } => format!("Huber regression, threshold {threshold}"),
            ModelKind::Quantile { level, .. } => format!("quantile regression, level {level}"),
            ModelKind::Poisson { .. } => "Poisson regression".into(),
            ModelKind::Own(loss) => format!("external loss {}, table SHA-256 {}", loss.name(), loss.table_sha256()),
        }
    }

    /// The l2 penalty where the user gives none.
    pub fn default_l2(self) -> f64 {
        if self == ModelKind::Ridge { RIDGE } else { 0.0 }
    }

    pub(crate) fn response(self) -> Response {
        match self {
            ModelKind::Logistic | ModelKind::Svm { .. } => Response::Label,
            ModelKind::Multinomial => Response::Class,
            ModelKind::Linear | ModelKind::Ridge | ModelKind::Huber { .. } | ModelKind::Quantile { .. } => {
                Response::Centred
            }
            ModelKind::Poisson { .. } => Response::Count,
            ModelKind::Own(loss) => match loss.form() {
                OwnForm::Label => Response::Label,
                OwnForm::Residual => Response::Centred,
                OwnForm::Count => Response::Count,
            },
        }
    }

    /// What its margins say.
    pub(crate) fn link(self) -> Link {
        match self {
            ModelKind::Logistic => Link::LogOdds,
            ModelKind::Svm { .. } => Link::Score,
            ModelKind::Multinomial => Link::Softmax,
            ModelKind::Linear | ModelKind::Ridge | ModelKind::Huber { .. } | ModelKind::Quantile { .. } => {
                Link::Identity
            }
            ModelKind::Poisson { bound } => Link::LogRate { bound },
            ModelKind::Own(loss) => match loss.form() {
                OwnForm::Label => Link::Score,
                OwnForm::Residual => Link::Identity,
                OwnForm::Count => Link::LogRate { bound: loss.log_rate_bound() },
            },
        }
    }

    /// Checks that the family fits a schema.
    ///
    /// # Errors
    /// Names the flag and a family that fits, or the key of the schema that does not.
    pub(crate) fn check_schema(self, schema: &Schema) -> Fallible<()> {
        let fitting = ModelKind::of_schema(schema);
        let name = self.name();
        let misfit = match (self.response(), fitting.response(), schema.classes()) {
            (Response::Class, Response::Label, _) => Some((
                format!("{name} is for three labels or more and does not fit a schema of two"),
                "use --model logistic, or declare all labels: list the target among \"columns\" as categorical, without \"positive\"",
            )),
            (Response::Label, Response::Class, labels) => Some((
                format!(
                    "{name} is for two labels and does not fit a schema that declares {}",
                    labels.map_or(0, <[_]>::len)
                ),
                "use --model multinomial, or name the label that counts as 1 in \"positive\"",
            )),
            (own, asked, _) if own.is_number() && !asked.is_number() => Some((
                format!("{name} predicts numbers and does not fit a schema whose \"task\" is classification"),
                "use a model for labels, or a schema for regression",
            )),
            (own, asked, _) if !own.is_number() && asked.is_number() => Some((
                format!("{name} predicts labels and does not fit a schema whose \"task\" is regression"),
                "use a model for numbers, or a schema for classification",
            )),
            _ => None,
        };
        if let Some((problem, cure)) = misfit {
            return Err(Error::parameter("--model", problem, format!("{cure} (--model {} fits)", fitting.name())));
        }
        match schema.target_bounds() {
            Some((lower, _)) if self.response() == Response::Count && lower < 0.0 => Err(Error::parameter(
                "--model",
                format!("{name} needs counts, but \"target_lower\" is {lower}"),
                "use --model linear, or set \"target_lower\" to 0",
            )),
            _ => Ok(()),
        }
    }

    /// Checks that there is a loss to train with.
    ///
    /// # Errors
    /// When the family was read from a file, which names a loss from outside and does not hold it.
    pub(crate) fn check_trainable(self) -> Fallible<()> {
        match self {
            ModelKind::Own(loss) if !loss.is_known() => {
                let problem = "is known by its name and digest alone, as files hold them";
                let cure = "make it again by OwnLoss::of_residual, of_label or of_count";
                Err(Error::parameter(format!("loss {}", loss.name()), problem, cure))
            }
            _ => Ok(()),
        }
    }

    /// Checks the parameters alone.
    ///
    /// # Errors
    /// Names the flag, its legal range and the cure.
    pub(crate) fn check_parameters(self) -> Fallible<()> {
        let (flag, value, legal, held) = match self {
            ModelKind::Logistic | ModelKind::Multinomial | ModelKind::Linear | ModelKind::Ridge | ModelKind::Own(_) => {
                return Ok(());
            }
            ModelKind::Svm { width } => ("--model svm", width, "in [0.01, 1]", (0.01..=1.0).contains(&width)),
            ModelKind::Huber { threshold } => {
                ("--huber-threshold", threshold, "in [0.01, 100]", (0.01..=100.0).contains(&threshold))
            }
            ModelKind::Quantile { width, .. } if !(0.01..=10.0).contains(&width) => {
                ("--model quantile", width, "smoothed over a width in [0.01, 10]", false)
            }
            ModelKind::Quantile { level, .. } => {
                ("--quantile", level, "in [0.01, 0.99]", (0.01..=0.99).contains(&level))
            }
            ModelKind::Poisson { bound } => ("--model poisson", bound, "in [0.1, 10]", (0.1..=10.0).contains(&bound)),
        };
        if held {
            return Ok(());
        }
        Err(Error::parameter(flag, format!("is {value:?}, must be {legal}"), "leave it out for the default"))
    }
}
