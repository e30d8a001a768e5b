//! The coefficients of a model in the user's units, with their intervals.

use super::screen::width_of;
use crate::report::number;
use crate::text::visible;
use crate::train::{ModelFile, effect_on, effects};

/// A table of all coefficients per unit of the features, with standard errors and intervals where the model has them.
///
/// Everything is a function of the released model.
pub(super) fn table(model: &ModelFile) -> String {
    let mut effects = effects(model);
    effects.iter_mut().for_each(|effect| effect.name = visible(&effect.name).into_owned());
    let what = visible(&effect_on(model)).into_owned();
    let known = effects.iter().any(|effect| effect.error.is_some());
    let width = width_of(effects.iter().map(|effect| effect.name.as_str()), 7);
    let mut page =
        format!("Effects on {what}, per unit of the feature as in the data (within its winsorised range):\n\n");
    page.push_str(&format!("  {:width$} {:>12}", "feature", "coefficient"));
    page.push_str(if known { "    std error    95% interval\n" } else { "\n" });
    for effect in effects {
        page.push_str(&format!("  {:width$} {:>12}", effect.name, number(effect.value)));
        if let (Some(error), Some((low, high))) = (effect.error, effect.interval()) {
            page.push_str(&format!(" {:>12}    {} to {}", number(error), number(low), number(high)));
        }
        page.push('\n');
    }
    if known {
        page.push_str(
            "\nErrors hold sampling and privacy noise; they do not hold the shrinkage of a fit that stops early.\n\
             Categories that always add up to one can only be told apart by their differences. The intercept holds where\n\
             numeric features are at their centre.\n",
        );
    }
    page
}
