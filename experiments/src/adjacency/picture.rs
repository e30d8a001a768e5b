//! The picture: what replace-one costs over add-remove, in epsilon at equal noise and in noise at equal epsilon.

use rhograd::error::Fallible;

use super::noise::{Run, full_batch_ratio, limit};
use super::{COSTS, DELTA, NOISE, Runs, TRAINER, price, value};
use crate::results::Results;
use rhograd::plot::{Panel, Scale, Series};

pub(super) fn panels(results: &Results, runs: &Runs) -> Fallible<Vec<Panel>> {
    Ok(vec![epsilons(results, runs), ratios(results, runs)?, noise(results, runs), trainer(results, runs)?])
}

fn name(run: &Run) -> String {
    if run.one_in == 1 { "full batches".into() } else { format!("samples of 1/{}, {} steps", run.one_in, run.steps) }
}

fn epsilons(results: &Results, runs: &Runs) -> Panel {
    let mut series = Vec::new();
    for (column, what) in [("replace_one", "replace"), ("add_remove", "remove"), ("other", "add")] {
        let points = runs.sampled.iter().map(|run| (run.given, value(results, COSTS, run, column), 0.0));
        series.push(Series::measured(what, points.collect()));
    }
    Panel::of(format!("samples of 1/100, 1000 steps, delta {DELTA:e}"), series)
        .x("noise multiplier", Scale::Log)
        .y("epsilon", Scale::Log)
}

fn ratios(results: &Results, runs: &Runs) -> Fallible<Panel> {
    let exact = |run: &Run| Ok((run.given, full_batch_ratio(1.0 / run.given)?));
    let exact = runs.full.iter().map(exact).collect::<Fallible<Vec<_>>>()?;
    let measured = |part: &[Run]| part.iter().map(|run| (run.given, price(results, COSTS, run).mean, 0.0)).collect();
    Ok(Panel {
        title: "ε at equal noise, replace-one over add-remove".into(),
        x: ("noise multiplier".into(), Scale::Log),
        y: ("ratio".into(), Scale::Linear),
        series: vec![
            Series::theory("theory", exact),
            Series::measured("full batches", measured(&runs.full)),
            Series::measured("samples of 1/100, 1000 steps", measured(&runs.sampled)),
        ],
    })
}

fn noise(results: &Results, runs: &Runs) -> Panel {
    let multiplier = |run: &Run| value(results, NOISE, run, "add_remove");
    let mut all: Vec<f64> = runs.budgets.iter().map(multiplier).collect();
    all.sort_by(f64::total_cmp);
    let mut series = vec![Series::theory("central limit", all.into_iter().map(|z| (z, limit(z))).collect())];
    for which in runs.budgets.chunk_by(|a, b| (a.one_in, a.steps) == (b.one_in, b.steps)) {
        let points = which.iter().map(|run| (multiplier(run), price(results, NOISE, run).mean, 0.0)).collect();
        series.extend(which.first().map(|run| Series::measured(name(run), points)));
    }
    Panel::of("noise at equal epsilon, replace-one over add-remove", series)
        .x("noise multiplier under add-remove", Scale::Log)
        .y("ratio", Scale::Linear)
}

fn trainer(results: &Results, runs: &Runs) -> Fallible<Panel> {
    let mut expected = Vec::new();
    let mut found = Vec::new();
    for run in &runs.trainer {
        let (add_remove, replace_one) = run.noise(None)?;
        let price = price(results, TRAINER, run);
        expected.push((run.rate(), replace_one / add_remove));
        found.push((run.rate(), price.mean, price.half_width()));
    }
    Ok(Panel::of(
        "noise of the trainer, replace-one over add-remove",
        vec![Series::theory("theory", expected), Series::measured("trainer", found)],
    )
    .x("sampling rate", Scale::Log)
    .y("ratio", Scale::Linear))
}
