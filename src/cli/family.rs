//! The model family and its parameters on the command line.

use clap::{Args, ValueEnum};

use super::help::MODEL;
use crate::error::{Error, Fallible};
use crate::train::ModelKind;

#[derive(Clone, Copy, ValueEnum)]
enum ModelArgument {
    /// Two labels, log-odds
    Logistic,
    /// Two labels, support vector machine with a rounded hinge
    Svm,
    /// Three or more labels, log-odds
    Multinomial,
    /// Number, least squares
    Linear,
    /// Number, least squares with an l2 penalty of 0.01 where --l2 gives none
    Ridge,
    /// Number, robust against outlying targets
    Huber,
    /// Number, conditional quantile
    Quantile,
    /// Count, log of its mean
    Poisson,
}

impl ModelArgument {
    fn kind(self, arguments: &FamilyArguments) -> ModelKind {
        match self {
            ModelArgument::Logistic => ModelKind::Logistic,
            ModelArgument::Svm => ModelKind::svm(),
            ModelArgument::Multinomial => ModelKind::Multinomial,
            ModelArgument::Linear => ModelKind::Linear,
            ModelArgument::Ridge => ModelKind::Ridge,
            ModelArgument::Huber => ModelKind::huber(arguments.huber_threshold),
            ModelArgument::Quantile => ModelKind::quantile(arguments.quantile),
            ModelArgument::Poisson => ModelKind::poisson(),
        }
    }
}

/// Which model is fitted.
#[derive(Args)]
pub(super) struct FamilyArguments {
    /// Model family [default: what the schema's task asks for]
    #[arg(long, value_enum, display_order = 4)]
    model: Option<ModelArgument>,
    /// Level of --model quantile [default: 0.5]
    #[arg(long, value_name = "Q", allow_hyphen_values = true, help_heading = MODEL, hide_short_help = true)]
    quantile: Option<f64>,
    /// Where the loss of --model huber turns linear, in the target's deviations [default: 1.345]
    #[arg(long, value_name = "K", allow_hyphen_values = true, help_heading = MODEL, hide_short_help = true)]
    huber_threshold: Option<f64>,
}

impl FamilyArguments {
    /// The family with its parameters; a parameter without its family is a mistake.
    pub(super) fn kind(&self) -> Fallible<Option<ModelKind>> {
        let kind = self.model.map(|model| model.kind(self));
        let stray = [
            ("--quantile", self.quantile, "quantile", matches!(kind, Some(ModelKind::Quantile { .. }))),
            ("--huber-threshold", self.huber_threshold, "huber", matches!(kind, Some(ModelKind::Huber { .. }))),
        ];
        for (flag, value, family, used) in stray {
            if value.is_some() && !used {
                let cure = format!("add --model {family}, or leave it out");
                return Err(Error::parameter(flag, format!("belongs to --model {family}"), cure));
            }
        }
        Ok(kind)
    }
}
