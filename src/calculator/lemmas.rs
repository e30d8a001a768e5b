//! Questions about mean-concentrated privacy, chains of neighbours, and means of what is released.

use super::answer::Answer;
use super::kind::Kind;
use super::params::Params;
use crate::accounting::generalization;
use crate::accounting::mean_concentrated::MeanConcentrated;
use crate::accounting::notion::ApproximateDp;
use crate::accounting::zcdp;
use crate::error::Fallible;

pub(super) const KINDS: &[Kind] = &[
    Kind::new("zcdp_chained", &["rhos"], chained),
    Kind::new("mcdp_to_zcdp", &["mean", "spread"], mean_concentrated),
    Kind::new("zcdp_to_mcdp", &["rho"], of_zcdp),
    Kind::new("mcdp_two_outcomes", &["p", "q"], two_outcomes),
    Kind::new("generalization_gap_gaussian", &["mu", "width"], gaussian_gap),
    Kind::new("generalization_gap_zcdp", &["rho", "width"], zcdp_gap),
    Kind::new("generalization_gap_approximate_dp", &["epsilon", "delta", "width"], approximate_gap),
    Kind::new("moment_gap", &["epsilon", "delta", "positive", "negative", "low", "high"], moment_gap),
];

fn chained(p: &Params<'_>) -> Fallible<Answer> {
    let rho = p.numbers("rhos")?.into_iter().try_fold(0.0, zcdp::chained)?;
    Ok(Answer::new().number("rho", rho))
}

fn mean_concentrated(p: &Params<'_>) -> Fallible<Answer> {
    let zcdp = MeanConcentrated::new(p.number("mean")?, p.number("spread")?)?.to_zcdp()?;
    Ok(Answer::new().number("xi", zcdp.xi()).number("rho", zcdp.rho()))
}

fn of_zcdp(p: &Params<'_>) -> Fallible<Answer> {
    let found = MeanConcentrated::of_zcdp(p.number("rho")?)?;
    Ok(Answer::new().number("mean", found.mean()).number("spread", found.spread()))
}

fn two_outcomes(p: &Params<'_>) -> Fallible<Answer> {
    let found = MeanConcentrated::of_two_outcomes(p.number("p")?, p.number("q")?)?;
    Ok(Answer::new().number("mean", found.mean()).number("spread", found.spread()))
}

fn gaussian_gap(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().number("gap", generalization::gaussian_gap(p.number("mu")?, p.number("width")?)?))
}

fn zcdp_gap(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().number("gap", generalization::zcdp_gap(p.number("rho")?, p.number("width")?)?))
}

fn guarantee(p: &Params<'_>) -> Fallible<ApproximateDp> {
    ApproximateDp::new(p.number("epsilon")?, p.number("delta")?)
}

fn approximate_gap(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().number("gap", generalization::approximate_gap(guarantee(p)?, p.number("width")?)?))
}

fn moment_gap(p: &Params<'_>) -> Fallible<Answer> {
    let [positive, negative, low, high] = ["positive", "negative", "low", "high"].map(|name| p.number(name));
    Ok(Answer::new().number("gap", generalization::moment_gap(guarantee(p)?, positive?, negative?, low?, high?)?))
}
