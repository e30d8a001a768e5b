//! Shapes of columns, as tables.

use ndarray::Array2;
use serde::Serialize;

use crate::error::{Error, Fallible};
use crate::train::model::{Coefficient, Feature};

/// What one column adds to what a model describes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shape {
    /// Column name.
    pub name: String,
    /// The label of the margin, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Standard deviation of the effect under the shares of rows, see [`Explanation::of`](super::Explanation::of).
    pub importance: f64,
    /// The smallest effect.
    pub lowest: f64,
    /// The largest effect.
    pub highest: f64,
    /// Where the effects are.
    #[serde(flatten)]
    pub curve: Curve,
    /// The effects: one for each place, interval or value.
    pub effects: Vec<f64>,
    /// Standard deviation of each effect, see [`Bands`](super::Bands); empty where none is known.
    pub deviations: Vec<f64>,
    /// Released share of the rows in each interval or with each value; empty where none was released.
    pub shares: Vec<f64>,
}

/// Where the effects of a [`Shape`] are.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Curve {
    /// At these places, and linearly between them.
    Line {
        /// Ascending, from the lower bound to the upper one.
        places: Vec<f64>,
    },
    /// In the intervals between these ends.
    Steps {
        /// Ascending, from the lower bound to the upper one: one more than effects.
        ends: Vec<f64>,
    },
    /// Of these values.
    Values {
        /// Declared values.
        values: Vec<String>,
    },
}

/// What two columns do together: the mean effect where both are known, less that of each alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Name of the first column.
    pub first: String,
    /// Name of the second column.
    pub second: String,
    /// The label of the margin, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Standard deviation of the effect under `shares`.
    pub importance: f64,
    /// The parts of the first column: of a category the values that most rows have.
    pub first_at: Curve,
    /// The parts of the second column.
    pub second_at: Curve,
    /// For each part of the first column the effect at each part of the second.
    pub effects: Vec<Vec<f64>>,
    /// The share of rows in each, by the released shares of both columns and the normal law of the released covariance.
    pub shares: Vec<Vec<f64>>,
}

/// One feature, as its file tells it.
pub(super) struct Told<'a> {
    name: &'a str,
    curve: Curve,
    coefficients: Vec<&'a Coefficient>,
    /// By what each coefficient is multiplied.
    factors: Vec<f64>,
    /// Standard deviation of each effect, for each output.
    deviations: Vec<Vec<f64>>,
    shares: &'a [f64],
    /// What columns do together, in the mean, for each value and output.
    more: Option<&'a Array2<f64>>,
}

impl<'a> Told<'a> {
    /// `errors` are the standard errors that were not yet taken, of a model that has some.
    pub(super) fn of(feature: &'a Feature, errors: Option<&mut impl Iterator<Item = f64>>) -> Self {
        let told = match feature {
            Feature::Numeric { name, lower, upper, map, coefficient } => {
                let ends = [map.centre - map.limit * map.scale, map.centre, map.centre + map.limit * map.scale];
                let mut places: Vec<f64> = ends.into_iter().filter(|place| place > lower && place < upper).collect();
                places.insert(0, *lower);
                places.push(*upper);
                let factors: Vec<f64> = places.iter().map(|&place| map.apply(place)).collect();
                let coefficients = vec![coefficient; factors.len()];
                let (curve, deviations) = (Curve::Line { places }, Vec::new());
                Told { name, curve, coefficients, factors, deviations, shares: &[], more: None }
            }
            Feature::Steps { name, lower, upper, edges, coefficients, shares, deviations } => {
                let curve = Curve::Steps { ends: [&[*lower], edges.as_slice(), &[*upper]].concat() };
                Told::by_number(name, curve, coefficients, (shares, deviations))
            }
            Feature::Categorical { name, values, coefficients, shares, deviations, .. } => {
                Told::by_number(name, Curve::Values { values: values.clone() }, coefficients, (shares, deviations))
            }
        };
        let Some(errors) = errors else { return told };
        let outputs = told.coefficients.first().map_or(0, |coefficient| coefficient.values().len());
        let own = if matches!(told.curve, Curve::Line { .. }) { 1 } else { told.factors.len() };
        let all: Vec<f64> = errors.take(own * outputs).collect();
        let of = |output: usize| -> Vec<f64> {
            let error = |at: usize| all.get((at % own.max(1)) * outputs + output).copied().unwrap_or(f64::NAN);
            told.factors.iter().enumerate().map(|(at, factor)| factor.abs() * error(at)).collect()
        };
        let deviations = (0..outputs).map(of).collect();
        Told { deviations, ..told }
    }

    fn by_number(
        name: &'a str,
        curve: Curve,
        coefficients: &'a [Coefficient],
        (shares, deviations): (&'a [f64], &[f64]),
    ) -> Self {
        let outputs = coefficients.first().map_or(0, |coefficient| coefficient.values().len());
        let factors = vec![1.0; coefficients.len()];
        let deviations = vec![deviations.to_vec(); outputs];
        Told { name, curve, coefficients: coefficients.iter().collect(), factors, deviations, shares, more: None }
    }

    /// With what columns do together in the mean, for each value and output.
    pub(super) fn with(self, more: Option<&'a Array2<f64>>) -> Self {
        Told { more, ..self }
    }

    /// The shape for one margin, a unit of which is `unit` of what the model describes.
    pub(super) fn shape(&self, output: usize, unit: f64, label: Option<String>, standardized: bool) -> Fallible<Shape> {
        let missing = || Error::numerical("model", "a coefficient is missing");
        let more = |at: usize| self.more.and_then(|more| more.get((at, output))).copied().unwrap_or(0.0);
        let effect = |(at, (coefficient, factor)): (usize, (&&Coefficient, &f64))| {
            coefficient.values().get(output).map(|value| unit * (value * factor + more(at))).ok_or_else(missing)
        };
        let effects = self.coefficients.iter().zip(&self.factors).enumerate().map(effect);
        let effects = effects.collect::<Fallible<Vec<f64>>>()?;
        let deviations: Vec<f64> = self.deviations.get(output).into_iter().flatten().map(|d| unit * d).collect();
        let importance = match (&self.curve, self.coefficients.first()) {
            (Curve::Line { .. }, Some(slope)) => {
                // Numbers that are spread evenly between -1 and 1 have the variance 1/3.
                let spread = if standardized { 1.0 } else { 1.0 / 3f64.sqrt() };
                slope.values().get(output).ok_or_else(missing)?.abs() * unit * spread
            }
            _ => deviation_under(&effects, self.shares),
        };
        Ok(Shape {
            name: self.name.to_owned(),
            label,
            importance,
            lowest: effects.iter().copied().reduce(f64::min).unwrap_or(0.0),
            highest: effects.iter().copied().reduce(f64::max).unwrap_or(0.0),
            curve: self.curve.clone(),
            effects,
            deviations,
            shares: self.shares.to_vec(),
        })
    }
}

/// Standard deviation of numbers with these shares, or with equal ones.
pub(super) fn deviation_under(numbers: &[f64], shares: &[f64]) -> f64 {
    let share = |at: usize| if shares.is_empty() { 1.0 } else { shares.get(at).copied().unwrap_or(0.0) };
    let total: f64 = (0..numbers.len()).map(share).sum();
    if total <= 0.0 {
        return 0.0;
    }
    let mean = |of: &dyn Fn(f64) -> f64| {
        numbers.iter().enumerate().map(|(at, &number)| share(at) * of(number)).sum::<f64>() / total
    };
    let centre = mean(&|number| number);
    mean(&|number| (number - centre).powi(2)).sqrt()
}
