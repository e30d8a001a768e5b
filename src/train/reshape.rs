//! Shapes of a released model as its user wants them: ascending, convex, set by hand. All of it is post-processing.

use std::collections::BTreeMap;

use serde::Serialize;

use super::calibration::{Recalibration, recalibration};
use super::edits::{Edit, MOST_EDITS, Reshaped};
use super::effects::unit_of_margin;
use super::files::sha256_hex;
use super::model::{Coefficient, Feature, ModelFile, Target};
use crate::error::{Error, Fallible};
use crate::model_kind::Link;
use crate::num::shapes;

/// Shares of rows below this are taken as this: effects without rows follow their neighbours.
const LEAST_SHARE: f64 = 1e-6;

/// Intervals that a bend is fitted to: more than any column is cut into, so few that the fit ends soon.
const MOST_BENT: usize = 8192;

/// What rounding does to a shape, of the size of its effects.
const ROUNDING: f64 = 1e-9;

/// How far the effects of a column were moved.
///
/// ```
/// let moved = rhograd::train::Moved { column: "age".into(), distance: 0.1, changed: 3, of: 40 };
/// assert!(moved.changed <= moved.of);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moved {
    /// Column name.
    pub column: String,
    /// Root of the mean square, under the released shares of rows and in the units of [`Shape`](super::Shape); of a line, of one scaled unit.
    pub distance: f64,
    /// Effects that are others now.
    pub changed: usize,
    /// Effects of the column.
    pub of: usize,
}

impl Moved {
    /// From what a column was to what it is.
    fn between(before: &Line, feature: &Feature, unit: f64) -> Fallible<Self> {
        let after = Line::of(feature, &[])?;
        let total: f64 = before.shares.iter().sum();
        let squares = before.values.iter().zip(&after.values).zip(&before.shares);
        let square: f64 = squares.map(|((old, new), share)| share * (new - old).powi(2)).sum();
        Ok(Moved {
            column: feature.name().to_owned(),
            // Where no row is known to be, nothing of any weight was moved.
            distance: if total > 0.0 { unit * (square / total).sqrt() } else { 0.0 },
            changed: before.values.iter().zip(&after.values).filter(|(old, new)| old != new).count(),
            of: after.values.len(),
        })
    }
}

/// Gives the shapes of a released model the forms that are asked for, and says how far each was moved.
///
/// A curve becomes the nearest one of its form, `argmin sum_i p_i (f_i - e_i)^2` over its effects `e_i` with the released shares of rows `p_i`:
/// the mean square by which predictions change, column by column. So the mean effect of the column stays, and the intercept with it. Where
/// no shares are told, all count alike. A category takes its order from the edit, and values outside of it stay; a line has its slope cut at zero.
/// Effects that are set by hand stand as given. Of what columns do together nothing is changed.
///
/// The new file names its source and all edits. It has no deviations of edited columns, no standard errors and no metrics on held-out rows, for
/// those are of the source.
///
/// ```
/// use rhograd::prelude::*;
/// use rhograd::train::{Edit, Evidence, Moved, reshape, verify};
///
/// let schema = Schema::read("datasets/fair.schema.json".as_ref())?;
/// let file = CsvFile::open("datasets/fair.csv".as_ref())?;
/// let mut config = TrainConfig::new(Budget::Rho(Rho::from_f64(0.1)?, None));
/// config.algorithm = Algorithm::Additive;
/// let (trained, _) = train(load(&config, schema, &file, &|_, _| Ok(()))?, &mut Ledger::in_memory()?, NoiseSource::from_os()?, &mut |_| Ok(()))?;
///
/// let edits = [Edit::Decreasing { column: "rate_marriage".into(), order: vec![] }];
/// let (edited, moved): (_, Vec<Moved>) = reshape(&trained.model, &trained.text, &edits)?;
/// assert!(moved[0].column == "rate_marriage" && edited.statement == trained.model.statement);
/// let evidence = Evidence { source: Some((&trained.model, &trained.text)), ..Evidence::default() };
/// assert!(verify(&edited, &edited.to_json(), evidence)?.held());
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// When a model was edited before or has several labels, an edit names what is not there, edits of a column contradict each other, or a
/// column cannot have the form.
///
/// # Privacy
/// Post-processing of released values: nothing is charged, and the statement of the source covers the result. That holds of edits that were
/// chosen by what is known and what was released. Edits chosen by looking at private rows, or at what `evaluate` says of them, are a release
/// of their own that nobody has paid for.
pub fn reshape(model: &ModelFile, text: &str, edits: &[Edit]) -> Fallible<(ModelFile, Vec<Moved>)> {
    if model.reshaped.is_some() {
        let cure = "reshape the file that was released, with all edits at once";
        return Err(Error::parameter("model", "was edited after its release already", cure));
    }
    if matches!(model.target, Target::Classes { .. }) {
        let problem = "has a curve for each label, and probabilities follow from differences of these: no shape of one is that of a prediction";
        return Err(Error::parameter("model", problem, "reshape models of one margin"));
    }
    if edits.is_empty() {
        return Err(Error::parameter("edits", "are none", "say which shape which column is to have"));
    }
    if told(edits) > MOST_EDITS {
        let cure = "edit fewer values by hand";
        return Err(Error::parameter(
            "edits",
            format!("are more than {MOST_EDITS} with the values of their orders"),
            cure,
        ));
    }
    let mut asked: BTreeMap<usize, Wish<'_>> = BTreeMap::new();
    for edit in edits {
        let Some(column) = edit.column() else { continue };
        let at = model.features.iter().position(|feature| feature.name() == column).ok_or_else(|| {
            refused(column, "is no column of the model", "name columns as `rhograd explain` lists them")
        })?;
        asked.entry(at).or_default().take(edit)?;
    }
    let (mut new, unit) = (model.clone(), unit_of_margin(model).0);
    let mut moved = Vec::new();
    for (at, wish) in asked {
        if let Some(feature) = new.features.get_mut(at) {
            moved.push(wish.apply(feature, unit)?);
        }
    }
    if edits.iter().any(is_recalibration) {
        if edits.len() > 1 {
            let cure = "recalibrate the released file alone";
            return Err(Error::parameter("edits", "correct probabilities and change shapes besides", cure));
        }
        moved = recalibrate(&mut new, unit)?;
    }
    new.evaluation = None;
    new.standard_errors = None;
    new.reshaped = Some(Reshaped { source_sha256: sha256_hex(text.as_bytes()), edits: edits.to_vec() });
    if !shapes_hold(&new) {
        let cure = "leave out the shape or the effects of that column that are set by hand";
        return Err(Error::parameter("edits", "contradict each other: an effect that is set breaks a shape", cure));
    }
    new.digest = new.expected_digest();
    Ok((new, moved))
}

fn is_recalibration(edit: &Edit) -> bool {
    matches!(edit, Edit::Recalibrated {})
}

/// Moves and stretches the log-odds of a model: the effects of all columns and the intercept.
fn recalibrate(model: &mut ModelFile, unit: f64) -> Fallible<Vec<Moved>> {
    let probabilities = model.model.link() == Link::LogOdds && matches!(model.target, Target::Label { .. });
    let told = model.evaluation.as_ref().filter(|_| probabilities);
    let margins = told.and_then(|evaluation| evaluation.margins.as_ref()).ok_or_else(|| {
        let problem = "tells of no rows held out by label and log-odds, by which probabilities could be corrected";
        let cure = "train a model of two labels that predicts probabilities with --evaluate-budget (evaluate_budget= in Python)";
        Error::parameter("model", problem, cure)
    })?;
    let Recalibration { shift, slope } = recalibration(margins)?;
    let stretch = |coefficient: &mut Coefficient| {
        *coefficient = Coefficient::One(slope * coefficient.values().first().copied().unwrap_or(f64::NAN));
    };
    let mut moved = Vec::new();
    for feature in &mut model.features {
        let before = Line::of(feature, &[])?;
        match feature {
            Feature::Numeric { coefficient, .. } => stretch(coefficient),
            Feature::Steps { coefficients, deviations, .. } | Feature::Categorical { coefficients, deviations, .. } => {
                coefficients.iter_mut().for_each(stretch);
                // They are about the effects as they were released.
                deviations.clear();
            }
        }
        moved.push(Moved::between(&before, feature, unit)?);
    }
    if let Some(together) = &mut model.together {
        together.coefficients.iter_mut().for_each(stretch);
    }
    stretch(&mut model.intercept);
    let intercept = model.intercept.values().first().copied().unwrap_or(f64::NAN);
    model.intercept = Coefficient::One(shift + intercept);
    let features = model.features.iter().flat_map(Feature::coefficients);
    let all = features.chain(model.together.iter().flat_map(|it| &it.coefficients)).chain([&model.intercept]);
    match all.flat_map(Coefficient::values).all(|value| value.is_finite()) {
        true => Ok(moved),
        false => Err(Error::parameter("model", "has coefficients near the largest number", "use an unedited file")),
    }
}

/// Edits and values of their orders.
fn told(edits: &[Edit]) -> usize {
    edits.iter().map(|edit| 1 + edit.order().len()).sum()
}

/// Whether the curves of an edited file have the shapes that it tells, and nothing beside them that is its source's.
pub(super) fn shapes_hold(model: &ModelFile) -> bool {
    let Some(Reshaped { edits, .. }) = &model.reshaped else { return true };
    let possible = !edits.is_empty() && told(edits) <= MOST_EDITS && !matches!(model.target, Target::Classes { .. });
    let unit = unit_of_margin(model).0;
    let holds = |edit: &Edit| match edit.column() {
        Some(column) => model.features.iter().find(|it| it.name() == column).is_some_and(|it| holds(it, edit, unit)),
        // By what, only the source knows.
        None => edits.len() == 1 && model.features.iter().all(Feature::tells_no_deviations),
    };
    possible && model.evaluation.is_none() && model.standard_errors.is_none() && edits.iter().all(holds)
}

fn holds(feature: &Feature, edit: &Edit, unit: f64) -> bool {
    let told = match (feature, edit) {
        (Feature::Numeric { coefficient, .. }, Edit::Increasing { .. }) => {
            return coefficient.values().iter().all(|slope| *slope >= 0.0);
        }
        (Feature::Numeric { coefficient, .. }, Edit::Decreasing { .. }) => {
            return coefficient.values().iter().all(|slope| *slope <= 0.0);
        }
        (Feature::Numeric { .. }, _) => return false,
        (Feature::Steps { deviations, .. } | Feature::Categorical { deviations, .. }, _) => deviations,
    };
    let Ok(Line { values, places, .. }) = Line::of(feature, edit.order()) else { return false };
    let size = values.iter().fold(0.0, |size: f64, value| size.max(value.abs()));
    told.is_empty()
        && match edit {
            Edit::Increasing { .. } => values.is_sorted(),
            Edit::Decreasing { .. } => values.iter().rev().is_sorted(),
            Edit::Convex { .. } | Edit::Concave { .. } => {
                let sign = if matches!(edit, Edit::Convex { .. }) { 1.0 } else { -1.0 };
                values.windows(3).zip(places.windows(3)).all(|(f, x)| {
                    let between = f[0] + (f[2] - f[0]) * (x[1] - x[0]) / (x[2] - x[0]);
                    sign * (f[1] - between) <= ROUNDING * size
                })
            }
            Edit::Set { at, effect, .. } => {
                place_of(feature, at).is_ok_and(|at| values.get(at).is_some_and(|value| *value == effect / unit))
            }
            Edit::Recalibrated {} => false,
        }
}

impl Edit {
    /// The order of values that it gives.
    fn order(&self) -> &[String] {
        match self {
            Edit::Increasing { order, .. } | Edit::Decreasing { order, .. } => order,
            Edit::Convex { .. } | Edit::Concave { .. } | Edit::Set { .. } | Edit::Recalibrated {} => &[],
        }
    }
}

fn refused(column: &str, problem: impl Into<String>, cure: impl Into<String>) -> Error {
    Error::parameter(format!("column {column:?}"), problem, cure)
}

/// Effects in an order, with their weights and places.
struct Line {
    /// Which effects of the column these are.
    at: Vec<usize>,
    values: Vec<f64>,
    shares: Vec<f64>,
    /// Middles of intervals; numbers of values.
    places: Vec<f64>,
}

impl Line {
    /// All effects of a feature, or those of some values in an order.
    fn of(feature: &Feature, order: &[String]) -> Fallible<Self> {
        let (at, places, coefficients, shares): (Vec<usize>, Vec<f64>, _, &[f64]) = match feature {
            Feature::Numeric { coefficient, .. } => (vec![0], vec![0.0], std::slice::from_ref(coefficient), &[]),
            Feature::Steps { lower, upper, edges, coefficients, shares, .. } => {
                let ends = [&[*lower], edges.as_slice(), &[*upper]].concat();
                let middles = ends.windows(2).map(|pair| pair[0] + (pair[1] - pair[0]) / 2.0).collect();
                ((0..coefficients.len()).collect(), middles, coefficients.as_slice(), shares)
            }
            Feature::Categorical { coefficients, shares, .. } if order.is_empty() => {
                let at: Vec<usize> = (0..coefficients.len()).collect();
                (at.clone(), at.iter().map(|&at| at as f64).collect(), coefficients.as_slice(), shares)
            }
            Feature::Categorical { coefficients, shares, .. } => {
                let at = order.iter().map(|value| place_of(feature, value)).collect::<Fallible<Vec<usize>>>()?;
                let places = (0..at.len()).map(|at| at as f64).collect();
                (at, places, coefficients.as_slice(), shares)
            }
        };
        let value = |&at: &usize| coefficients.get(at).and_then(|c| c.values().first()).copied().unwrap_or(f64::NAN);
        let share = |&at: &usize| if shares.is_empty() { 1.0 } else { shares.get(at).copied().unwrap_or(0.0) };
        let (values, shares) = (at.iter().map(value).collect(), at.iter().map(share).collect());
        Ok(Line { at, values, shares, places })
    }
}

/// Which effect of a column belongs to a number or a value.
fn place_of(feature: &Feature, at: &str) -> Fallible<usize> {
    let name = feature.name();
    match feature {
        Feature::Numeric { .. } => {
            let cure = "reshape an additive model, which has an effect for each interval";
            Err(refused(name, "is a straight line, of which no single effect can be set", cure))
        }
        Feature::Steps { lower, upper, edges, .. } => match at.trim().parse::<f64>() {
            Ok(number) if (*lower..=*upper).contains(&number) => Ok(edges.partition_point(|&edge| edge <= number)),
            _ => Err(refused(name, format!("has no place {at:?}"), format!("give a number from {lower} to {upper}"))),
        },
        Feature::Categorical { values, .. } => values
            .iter()
            .position(|value| value.trim() == at.trim())
            .ok_or_else(|| refused(name, format!("has no value {at:?}"), "give one of those that the schema declared")),
    }
}

/// Whether an order has a value twice, however it is written.
fn repeats(feature: &Feature, order: &[String]) -> Fallible<bool> {
    let mut places = order.iter().map(|value| place_of(feature, value)).collect::<Fallible<Vec<usize>>>()?;
    places.sort_unstable();
    Ok(places.windows(2).any(|pair| pair[0] == pair[1]))
}

/// What is asked of one column.
#[derive(Default)]
struct Wish<'a> {
    /// Whether it ascends, with the order of its values.
    rising: Option<(bool, &'a [String])>,
    convex: Option<bool>,
    set: Vec<(&'a str, f64)>,
}

impl<'a> Wish<'a> {
    fn take(&mut self, edit: &'a Edit) -> Fallible<()> {
        let column = edit.column().unwrap_or_default();
        let twice = |what: &str| Err(refused(column, format!("is given two {what}"), "ask for one of them"));
        match edit {
            Edit::Increasing { .. } | Edit::Decreasing { .. } if self.rising.is_some() => return twice("directions"),
            Edit::Convex { .. } | Edit::Concave { .. } if self.convex.is_some() => return twice("bends"),
            Edit::Increasing { order, .. } => self.rising = Some((true, order)),
            Edit::Decreasing { order, .. } => self.rising = Some((false, order)),
            Edit::Convex { .. } => self.convex = Some(true),
            Edit::Concave { .. } => self.convex = Some(false),
            Edit::Set { at, effect, .. } => self.set.push((at, *effect)),
            Edit::Recalibrated {} => (),
        }
        Ok(())
    }

    fn apply(&self, feature: &mut Feature, unit: f64) -> Fallible<Moved> {
        let order = self.rising.map_or(&[][..], |(_, order)| order);
        self.check(feature, order)?;
        let before = Line::of(feature, &[])?;
        let Line { at, values, shares, places } = Line::of(feature, order)?;
        let slope = matches!(feature, Feature::Numeric { .. });
        if (self.rising.is_some() || self.convex.is_some()) && shares.iter().sum::<f64>() <= 0.0 {
            let problem = "has no released share of rows with any value of that order, so that no curve is the nearest";
            let cure = "order a value that rows have, too, or set these effects by hand (--set, in Python effects=)";
            return Err(refused(feature.name(), problem, cure));
        }
        let found = if slope { self.cut(&values) } else { self.project(&places, &values, &shares)? };
        let (mut set, mut chosen) = (at.into_iter().zip(found).collect::<Vec<_>>(), Vec::new());
        for &(text, effect) in &self.set {
            let place = place_of(feature, text)?;
            if !(effect / unit).is_finite() || chosen.contains(&place) {
                let problem = format!("has an effect at {text:?} that is no number, or is set twice");
                return Err(refused(feature.name(), problem, "set each interval and each value once"));
            }
            chosen.push(place);
            set.push((place, effect / unit));
        }
        let (coefficients, deviations) = match feature {
            Feature::Numeric { coefficient, .. } => (std::slice::from_mut(coefficient), None),
            Feature::Steps { coefficients, deviations, .. } | Feature::Categorical { coefficients, deviations, .. } => {
                (coefficients.as_mut_slice(), Some(deviations))
            }
        };
        // They are about the curve as it was released.
        deviations.into_iter().for_each(Vec::clear);
        for (at, value) in set {
            if let Some(coefficient) = coefficients.get_mut(at) {
                *coefficient = Coefficient::One(value);
            }
        }
        Moved::between(&before, feature, unit)
    }

    /// Refuses what a column cannot have.
    fn check(&self, feature: &Feature, order: &[String]) -> Fallible<()> {
        let name = feature.name();
        match feature {
            Feature::Categorical { .. } if self.convex.is_some() => Err(refused(
                name,
                "is a category, whose values have no distances",
                "ask for a direction along an order",
            )),
            Feature::Categorical { .. } if self.rising.is_some() && order.len() < 2 => {
                let cure = "give one, as in --increasing 'size:small<middle<large'";
                Err(refused(name, "is a category, whose values have no order", cure))
            }
            Feature::Categorical { .. } if repeats(feature, order)? => {
                Err(refused(name, "has a value twice in its order", "give each value once"))
            }
            Feature::Steps { .. } | Feature::Numeric { .. } if !order.is_empty() => {
                Err(refused(name, "is a number, which has an order of its own", "leave the order out"))
            }
            Feature::Steps { coefficients, .. } if self.convex.is_some() && coefficients.len() > MOST_BENT => {
                let problem = format!("has more than {MOST_BENT} intervals, to which no bend is fitted");
                Err(refused(name, problem, "ask for a direction"))
            }
            Feature::Numeric { .. } if self.convex.is_some() => {
                let cure = "ask for a direction, or reshape an additive model";
                Err(refused(name, "is a straight line, which bends nowhere but where values are cut off", cure))
            }
            _ => Ok(()),
        }
    }

    /// The nearest slope.
    fn cut(&self, slope: &[f64]) -> Vec<f64> {
        let cut = |slope: &f64| match self.rising {
            Some((true, _)) => slope.max(0.0),
            Some((false, _)) => slope.min(0.0),
            None => *slope,
        };
        slope.iter().map(cut).collect()
    }

    /// The nearest curve with the form, with the same mean.
    fn project(&self, places: &[f64], values: &[f64], shares: &[f64]) -> Fallible<Vec<f64>> {
        let total: f64 = shares.iter().sum();
        let weights: Vec<f64> = shares.iter().map(|share| (share / total).max(LEAST_SHARE)).collect();
        let rising = self.rising.map(|(rising, _)| rising);
        // What falls ascends upside down, and what is concave is convex there.
        let down = self.convex.map_or(rising == Some(false), |convex| !convex);
        let turned = |values: &[f64]| -> Vec<f64> {
            if down { values.iter().map(|value| -value).collect() } else { values.to_vec() }
        };
        let ascends = rising.map(|rising| rising != down);
        let mut found = turned(values);
        if self.convex.is_some() {
            // What is convex and falls ascends from the other end.
            let back = ascends == Some(false);
            let mirrored =
                |numbers: &[f64], sign: f64| -> Vec<f64> { numbers.iter().rev().map(|x| sign * x).collect() };
            found = if back {
                let there = (mirrored(places, -1.0), mirrored(&found, 1.0), mirrored(&weights, 1.0));
                mirrored(&shapes::convex(&there.0, &there.1, &there.2, true)?, 1.0)
            } else {
                shapes::convex(places, &found, &weights, ascends == Some(true))?
            };
        }
        // Of a convex curve this undoes roundings alone.
        match ascends {
            Some(true) => found = shapes::ascending(&found, &weights),
            Some(false) => {
                let falling: Vec<f64> = found.iter().map(|value| -value).collect();
                found = shapes::ascending(&falling, &weights).iter().map(|value| -value).collect();
            }
            None => {}
        }
        let found = turned(&found);
        let gap = |(share, (old, new)): (&f64, (&f64, &f64))| share * (old - new);
        let off = shares.iter().zip(values.iter().zip(&found)).map(gap).sum::<f64>() / total;
        let kept: Vec<f64> = if found == values { found } else { found.iter().map(|value| value + off).collect() };
        if kept.iter().all(|value| value.is_finite()) {
            Ok(kept)
        } else {
            Err(Error::numerical("reshape", "an effect is not finite"))
        }
    }
}
