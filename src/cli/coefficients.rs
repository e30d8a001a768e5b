//! The coefficients of a model in the user's units, with their intervals.

use super::model::effect_on;
use crate::train::{Coefficient, Feature, ModelFile, ModelKind, Target};

/// Standard normal quantile of a two-sided interval of 95%.
const TWO_SIDED: f64 = 1.959_964;

/// One line of the table: name, effect and standard error in the user's units.
struct Effect {
    name: String,
    value: f64,
    error: Option<f64>,
}

/// A table of all coefficients per unit of the features, with standard errors and intervals where the model has them.
///
/// Everything is a function of the released model.
pub(super) fn table(model: &ModelFile) -> String {
    let effects = effects(model);
    let what = match (&model.target, model.model) {
        (Target::Number { name, .. }, kind) if !matches!(kind, ModelKind::Poisson { .. }) => name.clone(),
        _ => effect_on(model),
    };
    let known = effects.iter().any(|effect| effect.error.is_some());
    let width = effects.iter().map(|effect| effect.name.chars().count()).max().unwrap_or(0).max(7);
    let mut page =
        format!("Effects on {what}, per unit of the feature as in the data (within its winsorised range):\n\n");
    page.push_str(&format!("  {:width$} {:>12}", "feature", "coefficient"));
    page.push_str(if known { "    std error    95% interval\n" } else { "\n" });
    for Effect { name, value, error } in effects {
        page.push_str(&format!("  {name:width$} {:>12}", number(value)));
        if let Some(error) = error {
            let (low, high) = (value - TWO_SIDED * error, value + TWO_SIDED * error);
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

fn effects(model: &ModelFile) -> Vec<Effect> {
    let labels: &[String] = if let Target::Classes { labels, .. } = &model.target { labels } else { &[] };
    // One unit of margin in the units of what is described.
    let (unit, centre) = match (&model.target, model.model) {
        (Target::Number { scale, centre, .. }, kind) if !matches!(kind, ModelKind::Poisson { .. }) => (*scale, *centre),
        _ => (1.0, 0.0),
    };
    let mut errors = model.standard_errors.iter().flatten().copied();
    let mut each = |name: String, coefficient: &Coefficient, per_unit: f64, centre: f64| -> Vec<Effect> {
        let at = |k: usize| labels.get(k).map_or(name.clone(), |label| format!("{name} -> {label}"));
        let effect = |(k, &value): (usize, &f64)| {
            let error = errors.next().map(|error| error * per_unit);
            Effect { name: at(k), value: centre + value * per_unit, error }
        };
        coefficient.values().iter().enumerate().map(effect).collect()
    };
    let mut effects = Vec::new();
    for feature in &model.features {
        match feature {
            Feature::Numeric { name, map, coefficient, .. } => {
                effects.extend(each(name.clone(), coefficient, unit / map.scale, 0.0));
            }
            Feature::Categorical { name, values, coefficients, .. } => {
                let named = values.iter().zip(coefficients);
                effects.extend(named.flat_map(|(value, c)| each(format!("{name} = {value}"), c, unit, 0.0)));
            }
        }
    }
    // Where every numeric feature is at its centre and no category is present.
    effects.extend(each("(intercept)".into(), &model.intercept, unit, centre));
    effects
}

/// Five significant digits, in plain or scientific notation, whichever is readable.
fn number(x: f64) -> String {
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
