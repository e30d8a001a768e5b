//! The picture: the error at equal numbers of gradients against the sampling rate, and the noise multiplier behind it.

use rhograd::error::Fallible;

use super::points::{Point, TRAINED, curve, curves};
use super::{DELTA, REGIMES, TRAINER, fitted, found, noise_multiplier, price};
use crate::fit;
use crate::results::Results;
use rhograd::plot::{Panel, Scale, Series};

pub(super) fn panels(results: &Results, quick: bool) -> Fallible<Vec<Panel>> {
    let epsilons: &[f64] = if quick { &[1.0] } else { &[1.0, 8.0] };
    let mut panels = epsilons.iter().map(|e| errors(results, *e, quick)).collect::<Fallible<Vec<_>>>()?;
    panels.push(multipliers(results, quick));
    panels.push(trained(results)?);
    Ok(panels)
}

fn of(epsilon: f64, quick: bool) -> impl Iterator<Item = (f64, u64)> {
    curves(quick).iter().copied().filter(move |which| which.0 == epsilon)
}

fn errors(results: &Results, epsilon: f64, quick: bool) -> Fallible<Panel> {
    let mut series = Vec::new();
    for which in of(epsilon, quick) {
        let points = curve(which, quick);
        let limit = points.iter().map(|p| Ok((p.rate(), p.limit_at(p.rate())?))).collect::<Fallible<Vec<_>>>()?;
        series.push(Series::theory("central limit", limit));
        let measured = points.iter().map(|p| Ok((p.rate(), price(results, p)?, 0.0))).collect::<Fallible<Vec<_>>>()?;
        let name = passes(which.1);
        series.push(Series::measured(name.clone(), measured));
        if let Some(regime) = REGIMES.iter().find(|regime| regime.which == which) {
            series.extend(fit::exact_line(&name, &fitted(results, regime, quick)?));
        }
    }
    Ok(Panel::of(format!("epsilon {epsilon}, delta {DELTA:e}"), series)
        .x("sampling rate q", Scale::Log)
        .y("error over that of full batches", Scale::Log))
}

fn multipliers(results: &Results, quick: bool) -> Panel {
    let line = |which: (f64, u64)| {
        let points = curve(which, quick).into_iter().map(|p| (p.rate(), noise_multiplier(results, &p), 0.0));
        Series::measured(passes(which.1), points.collect())
    };
    Panel::of("noise multiplier of a step, epsilon 1", of(1.0, quick).map(line).collect())
        .x("sampling rate q", Scale::Log)
        .y("noise multiplier", Scale::Log)
}

fn trained(results: &Results) -> Fallible<Panel> {
    let mut series = Vec::new();
    for (epsilon, name) in [(0.5, "trainer, epsilon 0.5, 50 passes"), (8.0, "trainer, epsilon 8, 2 passes")] {
        let points = TRAINED.iter().filter(|p| p.epsilon == epsilon);
        let point = |p: &Point| {
            let (error, full) = (found(results, "error", TRAINER, p), p.full_batch()?);
            Ok((p.rate(), error.mean / full, error.half_width() / full))
        };
        series.push(Series::measured(name, points.map(point).collect::<Fallible<Vec<_>>>()?));
    }
    Ok(Panel::of("dp-sgd, and dp-gd at rate 1", series)
        .x("sampling rate q", Scale::Log)
        .y("error over that of full batches", Scale::Log))
}

pub(super) fn passes(passes: u64) -> String {
    if passes == 1 { "1 pass".into() } else { format!("{passes} passes") }
}
