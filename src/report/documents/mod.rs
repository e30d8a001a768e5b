//! Documents for others, filled from a statement: an entry for the public registry of deployments, a model card, and answers to the
//! questions of NIST SP 800-226.

mod about;
mod besides;
mod guidelines;
mod markdown;
mod model_card;
mod registry;
mod yaml;

pub use about::About;

use crate::error::{Error, Fallible};
use crate::train::ModelFile;

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// An entry of the public registry of deployments of differential privacy, as YAML of its third and highest tier.
    Registry,
    /// A model card, as Markdown.
    ModelCard,
    /// Answers to what NIST SP 800-226 asks of a guarantee, as Markdown.
    Guidelines,
}

impl Document {
    /// The document about a model, with what no file tells.
    ///
    /// # Errors
    /// When the model is not private (a registry holds guarantees), or what the document needs is not told.
    ///
    /// # Privacy
    /// A function of the released model and of what is told.
    ///
    /// # Reference
    /// Nanayakkara, Ghazi and Vadhan 2025, "Practitioners' Perspectives on a Differential Privacy Deployment Registry" (its fields and
    /// tiers); Mitchell et al. 2019, "Model Cards for Model Reporting"; Near, Darais, Lefkovitz and Howarth 2025, NIST SP 800-226.
    pub fn of(self, model: &ModelFile, about: Option<&About>) -> Fallible<String> {
        let nothing = About::default();
        match (self, about) {
            (Document::Registry, None) => Err(Error::parameter(
                "--about",
                "is missing: no model tells what it is for, and who published it when",
                format!("write a file such as\n{}", About::template()),
            )),
            (Document::Registry, Some(about)) => registry::entry(model, about),
            (Document::ModelCard, about) => Ok(model_card::page(model, about.unwrap_or(&nothing))),
            (Document::Guidelines, about) => Ok(guidelines::page(model, about.unwrap_or(&nothing))),
        }
    }
}
