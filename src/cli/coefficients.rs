//! The coefficients of a model in the user's units, with their intervals.

use super::screen::width_of;
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

/// Five significant digits, in plain or scientific notation, whichever is readable.
pub(super) fn number(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        size if (1e-4..1e7).contains(&size) => {
            let digits = (4 - size.log10().floor() as i32).clamp(0, 8) as usize;
            format!("{x:.digits$}")
        }
        _ => format!("{x:.4e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_readable() {
        let cases =
            [(0.0, "0"), (1.0, "1.0000"), (-12_345.678, "-12346"), (0.000_5, "0.00050000"), (3e-9, "3.0000e-9")];
        for (x, expected) in cases {
            assert_eq!(number(x), expected);
        }
    }
}
