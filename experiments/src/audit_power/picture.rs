//! The picture: what an attack tells apart, and its trials against the noise that is missing and against the excess in units of its standard error.

use rhograd::error::Fallible;
use rhograd::num::special::normal_tail;

use super::theory::Case;
use super::{CLAIMS, FACTORS, factors, fitted, needed};
use crate::fit;
use crate::results::Results;
use rhograd::plot::{Panel, Scale, Series};

/// Quantiles between which trade-offs are drawn, in tenths.
const QUANTILES: i32 = 31;

pub(super) fn panels(results: &Results, quick: bool) -> Fallible<Vec<Panel>> {
    let missing = |case: &Case| Ok(100.0 * (1.0 - case.factor));
    let share = panel((results, quick), "trials that expose missing noise", "noise missing (%)", &missing, false)?;
    let excess = panel((results, quick), "theory: slope -2", "excess of mu / its deviation", &Case::excess, true)?;
    Ok(vec![trade_off(), share, excess])
}

/// Claims, and what a mechanism with too little noise gives away: straight lines on normal quantiles.
fn trade_off() -> Panel {
    let rate = |quantile: f64| normal_tail(-quantile);
    let line = |mu: f64| -> Vec<(f64, f64)> {
        let at = (-QUANTILES..=QUANTILES).map(|tenth| f64::from(tenth) / 10.0);
        at.filter(|z| z + mu <= f64::from(QUANTILES) / 10.0).map(|z| (rate(z), rate(z + mu))).collect()
    };
    let mut series: Vec<Series> =
        CLAIMS.iter().map(|claimed| Series::theory(theory(*claimed), line(*claimed))).collect();
    let least = Case { claimed: CLAIMS[CLAIMS.len() - 1], factor: FACTORS[0] };
    series.extend(CLAIMS.iter().take(2).map(|claimed| {
        let case = Case { claimed: *claimed, ..least };
        Series::curve(format!("true, mu {claimed} with {} of its noise", case.factor), &line(case.truth()))
    }));
    Panel::of("trade-off claimed and true", series)
        .x("false positive rate", Scale::Quantile)
        .y("true positive rate", Scale::Quantile)
}

fn theory(mu: f64) -> String {
    format!("theory, mu {mu}")
}

fn panel(
    (results, quick): (&Results, bool),
    title: &str,
    x: &str,
    at: &dyn Fn(&Case) -> Fallible<f64>,
    power: bool,
) -> Fallible<Panel> {
    let mut series = Vec::new();
    for claimed in CLAIMS {
        let cases: Vec<Case> = factors(quick).iter().map(|&factor| Case { claimed, factor }).collect();
        let expected = cases.iter().map(|case| Ok((at(case)?, case.trials()?))).collect::<Fallible<Vec<_>>>()?;
        series.push(Series::theory(theory(claimed), expected));
        let measured = cases.iter().map(|case| {
            let found = needed(results, *case);
            Ok((at(case)?, found.mean, found.half_width()))
        });
        let name = format!("measured, mu {claimed}");
        series.push(Series::measured(&name, measured.collect::<Fallible<Vec<_>>>()?));
        if power {
            series.extend(fit::line(&name, &fitted(results, claimed, quick)?));
        }
    }
    let y = ("trials in each world".into(), Scale::Log);
    Ok(Panel { title: title.into(), x: (x.into(), Scale::Log), y, series })
}
