//! The model family and its parameters on the command line.

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::help::MODEL;
use crate::error::{Error, Fallible};
use crate::train::{FAMILIES, Family, FamilyParameters, ModelKind};

impl ValueEnum for Family {
    fn value_variants<'a>() -> &'a [Self] {
        FAMILIES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name).help(self.about))
    }
}

/// Which model is fitted.
#[derive(Args)]
pub(super) struct FamilyArguments {
    /// Model family [default: what the schema's task asks for]
    #[arg(long, value_enum, display_order = 4)]
    model: Option<Family>,
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
        let given = FamilyParameters { quantile: self.quantile, huber_threshold: self.huber_threshold };
        let kind = self.model.map(|family| (family.model)(&given));
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
