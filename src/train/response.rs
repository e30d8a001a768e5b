//! The maps by which features and target are re-encoded before training, from the schema and released moments.

use super::plan::Plan;
use crate::data::Schema;
use crate::error::Fallible;
use crate::grid::FULL_SCALE;
use crate::model_kind::{Link, ModelKind, Response};
use crate::optim::{Algorithm, Bins, Moments, Spread, Units};
use crate::preprocess::{Affine, Recoding, Standardizer};

/// Deviations at which a standardised regression target is cut.
const TARGET_LIMIT: f64 = 6.0;

/// The smallest mean count that is told apart, as a share of the upper bound: with it a count of one still has more
/// than a handful of grid steps.
const MIN_MEAN: f64 = 1.0 / 4096.0;

/// The map for a run; `None` where rows stay as they were encoded.
///
/// # Errors
/// When released intervals are too many for codes.
pub(super) fn recoding(
    plan: &Plan,
    schema: &Schema,
    moments: Option<&Moments>,
    bins: Option<&Bins>,
) -> Fallible<Option<Recoding>> {
    let Some(bins) = bins else { return Ok(standardizer(plan, schema, moments).map(Recoding::Standardized)) };
    let target = match (plan.model.response(), bins.target()) {
        // By quantiles: a few far values move them by little.
        (Response::Centred, Some(law)) => {
            // Where straight lines are learned as well: no tighter than they are by themselves.
            let scale = if plan.algorithm == Algorithm::Adaptive { law.wide } else { law.scale };
            Some(Affine { centre: law.median, scale, limit: TARGET_LIMIT })
        }
        (_, law) => target_map(plan.model, schema.target_bounds(), law.map(|law| law.mean)),
    };
    Ok(Some(Recoding::Binned(bins.binner(target)?)))
}

fn standardizer(plan: &Plan, schema: &Schema, moments: Option<&Moments>) -> Option<Standardizer> {
    let moments = moments.filter(|_| plan.standardize);
    let target = target_map(plan.model, schema.target_bounds(), moments.and_then(|m| m.target));
    let by_bounds = Affine { centre: 0.0, scale: 1.0, limit: 1.0 };
    match (moments, target) {
        (None, None) => None,
        (None, target) => {
            Some(Standardizer { features: vec![by_bounds; plan.numeric_columns], target, limit: by_bounds.limit })
        }
        (Some(moments), target) => {
            let limit = plan.feature_limit();
            Some(Standardizer { features: moments.feature_maps(limit), target, limit })
        }
    }
}

/// The map of the target in encoded units, where its bounds lie at -1 and 1.
fn target_map(model: ModelKind, bounds: Option<(f64, f64)>, spread: Option<Spread>) -> Option<Affine> {
    match (model.response(), model.link(), bounds) {
        (Response::Centred, _, _) => spread.map(|s| Affine { centre: s.mean, scale: s.deviation, limit: TARGET_LIMIT }),
        (Response::Count, Link::LogRate { bound }, Some((lower, upper))) => {
            Some(count_map(bound.exp(), lower, upper, spread))
        }
        (Response::Count | Response::Label | Response::Class, ..) => None,
    }
}

/// A count of zero stays zero and one unit is the released mean; without it, what lets the largest rate be the upper bound.
/// Counts are cut where rates end, at `reach` units.
fn count_map(reach: f64, lower: f64, upper: f64, spread: Option<Spread>) -> Affine {
    let zero = -1.0 - 2.0 * lower / (upper - lower);
    let highest = 1.0 - zero;
    let scale = spread.map_or(highest / reach, |s| (s.mean - zero).max(highest * MIN_MEAN));
    Affine { centre: zero, scale, limit: reach }
}

/// What an encoded label of 1 stands for.
pub(super) fn label_scale(model: ModelKind, map: Option<&Recoding>) -> f64 {
    match (model.response(), map) {
        (Response::Label | Response::Class, _) => 1.0,
        (Response::Centred | Response::Count, Some(map)) if map.target().is_some() => map.label_scale(),
        // Between its bounds.
        (Response::Centred | Response::Count, _) => 1.0 / f64::from(FULL_SCALE),
    }
}

/// How far from their centre labels can lie, in deviations.
pub(super) fn farthest_label(model: ModelKind, map: Option<&Recoding>) -> Option<f64> {
    let target = map.and_then(Recoding::target).filter(|_| model.response() == Response::Centred)?;
    // In encoded units bounds lie at -1 and 1.
    Some(((1.0 + target.centre.abs()) / target.scale).min(target.limit))
}

/// The units in which a hold-out is measured.
pub(super) fn units(plan: &Plan, schema: &Schema, map: Option<&Recoding>) -> Units {
    let target = map.and_then(Recoding::target);
    let half = schema.target_bounds().map_or(1.0, |(lower, upper)| (upper - lower) / 2.0);
    Units {
        label_scale: label_scale(plan.model, map),
        per_margin: half * target.map_or(1.0, |target| target.scale),
        of_deviation: plan.model.response() == Response::Centred && target.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_zero_stays_zero_and_the_mean_is_one_unit() {
        for (lower, upper, mean) in [(0.0, 80.0, 2.5), (3.0, 40.0, 10.0), (0.0, 1.0, 0.5)] {
            let encoded = |y: f64| 2.0 * (y - lower) / (upper - lower) - 1.0;
            let map = count_map(20.0, lower, upper, Some(Spread { mean: encoded(mean), deviation: 0.1 }));
            assert!(map.apply(encoded(0.0)).abs() < 1e-12);
            assert!((map.apply(encoded(mean)) - 1.0).abs() < 1e-12);
            let units = map.in_units(lower, upper);
            assert!(units.centre.abs() < 1e-9 && (units.scale - mean).abs() < 1e-9, "{units:?}");
            let public = count_map(20.0, lower, upper, None);
            assert!((public.apply(encoded(upper)) - 20.0).abs() < 1e-9);
        }
        let rare = count_map(20.0, 0.0, 100.0, Some(Spread { mean: -1.5, deviation: 0.1 }));
        assert!(rare.scale > 0.0, "a mean that is all noise");
    }
}
