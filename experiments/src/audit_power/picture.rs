//! The picture: trials against the noise that is missing, and against the excess in units of its standard error.

use rhograd::error::Fallible;

use super::theory::Case;
use super::{CLAIMS, FACTORS, needed};
use crate::results::Results;
use rhograd::plot::{Panel, Scale, Series};

pub(super) fn panels(results: &Results) -> Fallible<Vec<Panel>> {
    let missing = |case: &Case| Ok(100.0 * (1.0 - case.factor));
    let share = panel(results, "trials to expose missing noise", "noise missing (%)", &missing)?;
    let excess = panel(results, "exponent -2", "excess of mu / its deviation in one trial", &Case::excess)?;
    Ok(vec![share, excess])
}

fn panel(results: &Results, title: &str, x: &str, at: &dyn Fn(&Case) -> Fallible<f64>) -> Fallible<Panel> {
    let mut series = Vec::new();
    for claimed in CLAIMS {
        let cases = FACTORS.map(|factor| Case { claimed, factor });
        let theory = cases.iter().map(|case| Ok((at(case)?, case.trials()?))).collect::<Fallible<Vec<_>>>()?;
        series.push(Series::theory(format!("theory, mu {claimed}"), theory));
        let measured = cases.iter().map(|case| {
            let found = needed(results, *case);
            Ok((at(case)?, found.mean, found.half_width()))
        });
        series.push(Series::measured(format!("normal scores, mu {claimed}"), measured.collect::<Fallible<Vec<_>>>()?));
    }
    let y = ("trials in each world".into(), Scale::Log);
    Ok(Panel { title: title.into(), x: (x.into(), Scale::Log), y, series })
}
