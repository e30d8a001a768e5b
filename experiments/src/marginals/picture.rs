//! The picture: rows needed against marginals, the error of a mean against rows, and the gap needed against bins.

use rhograd::error::Fallible;

use super::{ACCURACY, DELTA, EPSILON, Part, SUCCESS, fitted, lower, mechanisms, summary};
use crate::fit;
use crate::results::Results;
use rhograd::plot::{Panel, Scale, Series};

pub(super) fn panels(results: &Results) -> Fallible<[Panel; 3]> {
    let budget = format!("epsilon {EPSILON}, delta {DELTA:e}");
    Ok([
        Panel::of(
            format!("marginals to an error of {ACCURACY}, {budget}"),
            series(results, &[Part::LaplaceMarginals, Part::GaussianMarginals])?,
        )
        .x("marginals d", Scale::Log)
        .y("rows needed", Scale::Log),
        Panel::of(format!("mean of numbers in [0, 1], epsilon {EPSILON}"), series(results, &[Part::Mean])?)
            .x("n (rows)", Scale::Log)
            .y("mean absolute error", Scale::Log),
        Panel::of(format!("mode of a histogram, {budget}"), series(results, &[Part::NoisyCounts, Part::StableMode])?)
            .x("bins", Scale::Log)
            .y(format!("gap for success {SUCCESS} (rows)"), Scale::Linear),
    ])
}

fn series(results: &Results, parts: &[Part]) -> Fallible<Vec<Series>> {
    let mut series = Vec::new();
    for part in parts {
        let theory = |size: &u64| Ok((*size as f64, mechanisms::expected(*part, *size)?));
        let line = part.sizes().iter().map(theory).collect::<Fallible<Vec<_>>>()?;
        series.push(Series::theory("theory", line));
        let measured = |size: &u64| {
            let found = summary(results, *part, *size);
            (*size as f64, found.mean, found.half_width())
        };
        // The same mechanism on one number.
        let name = if *part == Part::Mean { Part::LaplaceMarginals.name() } else { part.name() };
        series.push(Series::measured(name, part.sizes().iter().map(measured).collect()));
        if let Some((bound, least)) = lower::bound(*part)? {
            series.push(Series::lower(bound, least));
        }
        // The gaps of a histogram are no powers of the bins.
        if !matches!(part, Part::NoisyCounts | Part::StableMode) {
            series.extend(fit::line(name, &fitted(results, *part)));
        }
    }
    Ok(series)
}
