//! What tables and pictures of an explanation call things.

use crate::text::visible;
use crate::train::{Bands, Explanation, Pair, Shape};

/// Column name, with the label of its margin where there are several.
pub(crate) fn title(shape: &Shape) -> String {
    let name = match &shape.label {
        Some(label) => format!("{} -> {label}", shape.name),
        None => shape.name.clone(),
    };
    visible(&name).into_owned()
}

/// The columns of a pair, with the label of its margin where there are several.
pub(crate) fn pair_title(pair: &Pair) -> String {
    let names = format!("{} x {}", pair.first, pair.second);
    let name = pair.label.as_ref().map_or(names.clone(), |label| format!("{names} -> {label}"));
    visible(&name).into_owned()
}

/// What is beyond the effects of single columns, in a sentence.
pub(crate) fn together(explanation: &Explanation) -> Option<String> {
    let percent = 100.0 * explanation.beyond?;
    Some(format!(
        "Beyond the effects of single columns: {percent:.1}% of the score's variance, under the normal law of the released covariance."
    ))
}

/// What bands are about, in a sentence.
pub(crate) fn bands(explanation: &Explanation) -> &'static str {
    match explanation.bands {
        Some(Bands::StepNoise) => {
            "Bands are 95% of the noise of the steps, by a linear approximation. They do not cover the sampling of the rows, shrinkage, or the noise of \
             the counts that intervals follow from."
        }
        Some(Bands::StandardErrors) => {
            "Bands are intervals of 95% for sampling and privacy noise together. They do not cover the shrinkage of a private fit."
        }
        None => "The file does not tell what noise did to its numbers, so there are no bands.",
    }
}
