//! The coefficients of a model in the user's units, with their intervals.

use super::model::{Coefficient, Feature, ModelFile, Target};
use crate::model_kind::Link;

/// Standard normal quantile of a two-sided interval of 95%.
const TWO_SIDED: f64 = 1.959_964;

/// What one unit of a feature, one category, or the intercept adds to what the model describes.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The feature, with its category and the label of the margin where there are such; `(intercept)` for the last ones.
    pub name: String,
    /// The effect per unit of the feature as in the data, within its winsorised range, or of lying in an interval.
    pub value: f64,
    /// Standard error in the same units: sampling and privacy noise, not the shrinkage of a private fit. Absent where no
    /// theory gives one.
    pub error: Option<f64>,
}

impl Effect {
    /// Ends of the two-sided interval of 95%, by the normal approximation.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.error.map(|error| (self.value - TWO_SIDED * error, self.value + TWO_SIDED * error))
    }
}

/// An end of an interval, to a hundred-thousandth of the range of the feature.
fn short(x: f64, range: f64) -> String {
    let digits = (5.0 - range.log10()).ceil().clamp(0.0, 12.0) as usize;
    let text = format!("{x:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// What effects add up to: a linear model's target, or the log-odds, logarithm of the rate, score or margins of another one.
pub fn effect_on(model: &ModelFile) -> String {
    match (&model.target, model.model.link()) {
        (Target::Classes { name, .. }, _) => format!("margins of the labels of {name}"),
        (Target::Label { name, positive, .. }, Link::Score) => format!("score of {name} = {positive}"),
        (Target::Label { name, positive, .. }, _) => format!("log-odds of {name} = {positive}"),
        (Target::Number { name, .. }, Link::LogRate { .. }) => format!("logarithm of {name}"),
        (Target::Number { name, .. }, _) => name.clone(),
    }
}

/// One unit of a margin in the units of [`effect_on`], and what a margin of zero is there.
pub(super) fn unit_of_margin(model: &ModelFile) -> (f64, f64) {
    match (&model.target, model.model.link()) {
        // A rate is `scale exp(margin)`.
        (Target::Number { scale, .. }, Link::LogRate { .. }) => (1.0, scale.ln()),
        (Target::Label { .. } | Target::Classes { .. }, _) => (1.0, 0.0),
        (Target::Number { scale, centre, .. }, _) => (*scale, *centre),
    }
}

/// All effects, features in the model's order and the intercept last, for each label where a model has one margin per label.
///
/// They are effects on the target of a linear model, on the log-odds, the logarithm of the rate or the score of another one.
/// The intercept is what the model says where every numeric feature is at its centre and no category is present.
///
/// Everything is a function of the released model.
pub fn effects(model: &ModelFile) -> Vec<Effect> {
    let labels: &[String] = if let Target::Classes { labels, .. } = &model.target { labels } else { &[] };
    let (unit, centre) = unit_of_margin(model);
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
            Feature::Steps { name, lower, upper, edges, coefficients, .. } => {
                let ends = [&[*lower], edges.as_slice(), &[*upper]].concat();
                for (interval, c) in ends.windows(2).zip(coefficients) {
                    let (from, to) = (short(interval[0], upper - lower), short(interval[1], upper - lower));
                    effects.extend(each(format!("{name} from {from} to {to}"), c, unit, 0.0));
                }
            }
            Feature::Categorical { name, values, coefficients, .. } => {
                let named = values.iter().zip(coefficients);
                effects.extend(named.flat_map(|(value, c)| each(format!("{name} = {value}"), c, unit, 0.0)));
            }
        }
    }
    effects.extend(each("(intercept)".into(), &model.intercept, unit, centre));
    effects
}
