//! What a model says, as tables: a shape for every column, how much it matters, and what columns do together.

mod joint;
mod shape;

use serde::Serialize;

use super::effects::{effect_on, unit_of_margin};
use super::model::{Feature, ModelFile, Target};
use crate::error::{Error, Fallible};
use joint::Joint;
use shape::Told;
pub use shape::{Curve, Pair, Shape};

/// What a released model says, in tables: everything in it is a function of the model file.
///
/// ```
/// use rhograd::prelude::*;
/// use rhograd::train::{Bands, Curve, Explanation, Pair, Shape};
///
/// let schema = Schema::read("datasets/fair.schema.json".as_ref())?;
/// let file = CsvFile::open("datasets/fair.csv".as_ref())?;
/// let mut config = TrainConfig::new(Budget::Rho(Rho::from_f64(0.1)?, None));
/// config.algorithm = Algorithm::Additive;
/// let loaded = load(&config, schema, &file, &|_, _| Ok(()))?;
/// let (trained, _) = train(loaded, &mut Ledger::in_memory()?, NoiseSource::from_os()?, &mut |_| Ok(()))?;
///
/// let explanation: Explanation = Explanation::of(&trained.model, 3)?;
/// // Curves add up, and nothing is learned of pairs; `Algorithm::Rich` does.
/// let pairs: &[Pair] = &explanation.pairs;
/// assert!(pairs.is_empty() && explanation.beyond.is_none());
/// assert_eq!(explanation.bands, Some(Bands::StepNoise));
/// let Shape { curve, effects, shares, .. } = &explanation.columns[0];
/// assert!(effects.len() == shares.len() && matches!(curve, Curve::Steps { .. } | Curve::Values { .. }));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// What effects add up to: the target, log-odds, the logarithm of a rate, a score or margins.
    pub effect_on: String,
    /// What deviations cover; `None` where none is known.
    pub bands: Option<Bands>,
    /// What a row of which nothing is known has, for each label of several.
    pub intercept: Vec<f64>,
    /// The shape of each column, and for each label of several; the most important first.
    pub columns: Vec<Shape>,
    /// The pairs of columns that do most together beyond what each does alone, the strongest first, where a model tells of them.
    pub pairs: Vec<Pair>,
    /// The share of the score's variance that no sum of functions of single columns has, under the normal law of the released covariance;
    /// `None` where a model has no such effects or does not tell.
    pub beyond: Option<f64>,
    /// What the file does not tell, and what is shown in its place.
    pub missing: Vec<String>,
}

/// What the deviations of an [`Explanation`] cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bands {
    /// The noise of the steps alone, by a linear approximation: not the sampling of rows, shrinkage, or the noise of counts.
    StepNoise,
    /// Sampling and privacy noise together, not the shrinkage of a private fit.
    StandardErrors,
}

impl Explanation {
    /// Explains a model, with at most so many pairs of columns.
    ///
    /// A shape is what the model file holds of a column, and with effects of several columns together their mean where this column alone is
    /// known, under the normal law of the released covariance.
    ///
    /// The importance of a column is the standard deviation of its effect: under the released shares where there are some, else as if all
    /// values or intervals were equally frequent; of a line the effect of one released deviation, or of numbers that are spread evenly over the
    /// bounds where none was released.
    ///
    /// # Errors
    /// When the model has no coefficients for one of its features, which none that was read has, or a covariance is not finite.
    pub fn of(model: &ModelFile, pairs: usize) -> Fallible<Self> {
        let (unit, centre) = unit_of_margin(model);
        let labels: &[String] = if let Target::Classes { labels, .. } = &model.target { labels } else { &[] };
        let mut errors = model.standard_errors.iter().flatten().copied();
        let mut columns = Vec::new();
        let joint = Joint::of(model);
        let alone = joint.as_ref().map(Joint::alone).transpose()?;
        for (at, feature) in model.features.iter().enumerate() {
            let told = Told::of(feature, model.standard_errors.is_some().then_some(&mut errors));
            let told = told.with(alone.as_ref().and_then(|alone| alone.get(at)));
            for output in 0..model.target.outputs() {
                let label = labels.get(output).cloned();
                columns.push(told.shape(output, unit, label, model.statement.facts.standardized)?);
            }
        }
        columns.sort_by(|a, b| b.importance.total_cmp(&a.importance));
        let bands = match columns.iter().any(|shape| !shape.deviations.is_empty()) {
            true if model.standard_errors.is_some() => Some(Bands::StandardErrors),
            true => Some(Bands::StepNoise),
            false => None,
        };
        let mean = |output: usize| joint.as_ref().map_or(0.0, |joint| joint.mean()[output]);
        let intercept = model.intercept.values().iter().enumerate();
        let intercept = intercept.map(|(output, value)| centre + unit * (value + mean(output))).collect();
        let beyond = joint.as_ref().map(Joint::beyond).transpose()?;
        let pairs = joint.as_ref().map_or(Ok(Vec::new()), |joint| joint.pairs(model, pairs, unit))?;
        let (effect_on, missing) = (effect_on(model), missing(model, joint.is_some()));
        Ok(Explanation { effect_on, bands, intercept, columns, pairs, beyond, missing })
    }

    /// Keeps some columns, and pairs of these.
    ///
    /// # Errors
    /// When there is none of such a name.
    pub fn keep(&mut self, names: &[String]) -> Fallible<()> {
        let known = |name: &&String| self.columns.iter().any(|shape| shape.name == **name);
        if let Some(name) = names.iter().find(|name| !known(name)) {
            let problem = format!("names {name:?}, which is no column of the model");
            return Err(Error::parameter("--columns", problem, "name columns as the model file does"));
        }
        self.columns.retain(|shape| names.contains(&shape.name));
        self.pairs.retain(|pair| names.contains(&pair.first) && names.contains(&pair.second));
        Ok(())
    }
}

/// What is missing in the file.
fn missing(model: &ModelFile, joint: bool) -> Vec<String> {
    let mut missing = Vec::new();
    let curves = model.features.iter().any(|feature| matches!(feature, Feature::Steps { .. }));
    let told = |feature: &Feature| match feature {
        Feature::Numeric { .. } => true,
        Feature::Steps { shares, .. } | Feature::Categorical { shares, .. } => !shares.is_empty(),
    };
    if !model.features.iter().all(told) {
        let why = if curves { "the file is of an earlier version" } else { "counts were not released" };
        missing.push(format!("shares of rows ({why}): all values of a column are taken as equally frequent"));
    }
    if let Some(reshaped) = &model.reshaped {
        let words = reshaped.words();
        missing.push(match model.together {
            None => format!("bands and standard errors of what was edited after release ({words})"),
            Some(_) if reshaped.edits.iter().any(|edit| edit.column().is_none()) => {
                format!("effects as they were before they were edited after release ({words})")
            }
            // There were none before, either.
            Some(_) => format!("curves as they were before they were edited after release ({words}); what columns do together is as it was"),
        });
    }
    if model.together.is_some() && !joint {
        let why = "the file is of an earlier version, or scores are more than 512";
        missing.push(format!(
            "the covariance of scores ({why}): shapes are those of the curves alone, and pairs are not told"
        ));
    }
    missing
}
