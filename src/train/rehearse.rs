//! The releases of a plan, made in order: what a training run and an audit of it have in common.

use serde_json::json;

use super::load::Loaded;
use super::plan::{Holdout, Plan};
use super::response;
use crate::data::Schema;
use crate::error::Fallible;
use crate::grid::{FULL_SCALE, IntegerMap};
use crate::kernel::RawRow;
use crate::ledger::Ledger;
use crate::noise::NoiseSource;
use crate::optim::{Bins, Evaluation, Fitted, Moments, Start};
use crate::preprocess::{Binner, Recoding, Waves};
use crate::privacy::{Charge, PrivacyUnit};
use crate::private::{ChargedRun, Listener, LoggedRun, PrivateDataset, ReleaseRecord, charge_run};

/// The setting that says what the sum of a person's gradients was divided by, where rows are weighed.
const TYPICAL_ROWS: &str = "typical_rows";

/// Everything that the releases of one run led to.
pub(super) struct Releases {
    /// Every kind of release, in order.
    pub(super) records: Vec<ReleaseRecord>,
    /// What the optimizer found.
    pub(super) fitted: Fitted,
    /// The map by which features and target were re-encoded.
    pub(super) map: Option<Recoding>,
    /// The waves that were made of them then.
    pub(super) waves: Option<Waves>,
    /// Metrics on the private hold-out.
    pub(super) evaluation: Option<Evaluation>,
    /// The intervals that columns were cut into.
    pub(super) bins: Option<Bins>,
    /// Number of rows that training used: public or released.
    pub(super) rows: f64,
}

/// Makes every release of a paid plan, in its order; `stepping` is called when the optimizer starts and when it ends.
///
/// # Errors
/// When a release does not fit the plan, the listener fails, or training diverges.
pub(super) fn make(
    plan: &Plan,
    schema: &Schema,
    dataset: PrivateDataset,
    run: &mut ChargedRun,
    listener: &mut Listener<'_>,
    stepping: &mut dyn FnMut(),
) -> Fallible<Releases> {
    let (holdout, dataset) = divided(plan, run.take_over(dataset), run)?;
    let mut run = run.logged(listener);
    let moments = moments(plan, &dataset, &mut run)?;
    // At least one, so that a file without rows trains like any other.
    let rows = moments.as_ref().map_or(plan.training_rows().map_or(1.0, |n| n as f64), |moments| moments.rows);
    let typical = moments.as_ref().and_then(|moments| moments.sizes.as_ref()).zip(schema.unit.as_ref());
    let typical = typical.map(|(sizes, unit)| sizes.typical(unit.max_rows()));
    let share = match typical {
        Some(typical) => typical.share,
        None => moments.as_ref().and_then(|moments| moments.share).unwrap_or(1.0),
    };
    let bins = bins(plan, &dataset, rows, &mut run)?;
    let map = response::recoding(plan, schema, moments.as_ref(), bins.as_ref())?;
    let mapped = |data: PrivateDataset| match &map {
        Some(map) => data.recoded(map),
        None => Ok(data),
    };
    let dataset = mapped(dataset)?;
    let (bins, waves) = waves(plan, &dataset, bins, rows, &mut run)?;
    let (dataset, bins) = straight(plan, dataset, bins, rows, &mut run)?;
    let waved = |data: PrivateDataset| match &waves {
        Some(waves) => data.recoded(&Recoding::Waves(waves.clone())),
        None => Ok(data),
    };
    let dataset = waved(dataset)?;
    let dataset = match typical {
        Some(typical) => dataset.weighing_rows(typical.rows),
        None => dataset,
    };
    let label_scale = response::label_scale(plan.model, map.as_ref());
    let farthest_label = response::farthest_label(plan.model, map.as_ref());
    stepping();
    let start = Start { rows, share, label_scale, farthest_label, bins: bins.as_ref() };
    let mut fitted = plan.optimizer.run(&dataset, &start, &mut run)?;
    if let Some(typical) = typical {
        fitted = fitted.stating([(TYPICAL_ROWS, json!(typical.rows))]);
    }
    stepping();
    let map = map.map(|map| if fitted.unit == 1.0 { map } else { map.with_unit(fitted.unit) });
    let evaluation = match holdout {
        Some((part, held_out)) => {
            let units = response::units(plan, schema, map.as_ref());
            let held_out = match &map {
                Some(map) => held_out.recoded(map)?,
                None => held_out,
            };
            Some(part.scores.run(&waved(held_out)?, &fitted.weights, units, &mut run)?)
        }
        None => None,
    };
    Ok(Releases { records: run.finish()?, fitted, map, waves, evaluation, bins, rows })
}

/// The hold-out with its plan, if there is one, and the rows that train.
fn divided<'a>(
    plan: &'a Plan,
    dataset: PrivateDataset,
    run: &ChargedRun,
) -> Fallible<(Option<(&'a Holdout, PrivateDataset)>, PrivateDataset)> {
    let Some(part) = &plan.holdout else { return Ok((None, dataset)) };
    let how = part.choice(dataset.public_len());
    let (held_out, rest) = run.hold_out(dataset, how)?;
    Ok((Some((part, held_out)), rest))
}

/// The release of moments, where one was planned; moments of features that are public cost nothing.
fn moments(plan: &Plan, dataset: &PrivateDataset, run: &mut LoggedRun<'_>) -> Fallible<Option<Moments>> {
    if plan.scope.unit == PrivacyUnit::Label && plan.standardize {
        return Moments::public(dataset).map(Some);
    }
    let public = plan.public.as_ref();
    let Some(moments) = &plan.moments else {
        // All numbers are public.
        return if public.is_some() && plan.standardize { Moments::public(dataset).map(Some) } else { Ok(None) };
    };
    let rows = plan.training_rows().filter(|_| plan.weight.is_none());
    let moments = moments.run(dataset, rows, run)?;
    match public {
        Some(public) => moments.with_public(dataset, public).map(Some),
        None => Ok(Some(moments)),
    }
}

/// The release of counts, where one was planned.
fn bins(plan: &Plan, dataset: &PrivateDataset, rows: f64, run: &mut LoggedRun<'_>) -> Fallible<Option<Bins>> {
    plan.bins.as_ref().map(|bins| bins.run(dataset, rows, run)).transpose()
}

/// The release of what columns do together, where one was planned.
fn waves(
    plan: &Plan,
    dataset: &PrivateDataset,
    bins: Option<Bins>,
    rows: f64,
    run: &mut LoggedRun<'_>,
) -> Fallible<(Option<Bins>, Option<Waves>)> {
    let (Some(planned), Some(bins)) = (&plan.waves, &bins) else { return Ok((bins, None)) };
    let (waves, law) = planned.run(dataset, bins, rows, run)?;
    Ok((Some(bins.clone().with_waves(law)), Some(waves)))
}

/// The release that straight lines are whitened by, where one was planned, and rows with these lines.
fn straight(
    plan: &Plan,
    dataset: PrivateDataset,
    bins: Option<Bins>,
    rows: f64,
    run: &mut LoggedRun<'_>,
) -> Fallible<(PrivateDataset, Option<Bins>)> {
    let (Some(planned), Some(bins)) = (&plan.straight, &bins) else { return Ok((dataset, bins)) };
    let straight = planned.run(&dataset, bins, rows, run)?;
    let dataset = dataset.recoded(&Recoding::Straight(straight.waves.clone()))?;
    Ok((dataset, Some(bins.clone().with_straight(straight))))
}

/// A run that is paid for several times and made as often, without a model, a log or a statement; an audit does that.
pub struct Rehearsal<'a> {
    loaded: &'a Loaded,
    run: ChargedRun,
}

impl<'a> Rehearsal<'a> {
    /// Charges the plan `runs` times.
    ///
    /// All of them draw from one key: their noise and their samples are independent, but what is drawn once for a key, the
    /// hold-out and the order of rows, is the same in all.
    ///
    /// # Privacy
    /// The whole cost is in the ledger before this returns; noise is drawn afterwards only.
    ///
    /// # Errors
    /// When the ledger refuses.
    pub fn charge(loaded: &'a Loaded, ledger: &mut Ledger, noise: NoiseSource, runs: usize) -> Fallible<Self> {
        let plan = loaded.plan().charges();
        let charges: Vec<Charge> = (0..runs).flat_map(|_| plan.iter().cloned()).collect();
        Ok(Rehearsal { loaded, run: charge_run(ledger, &loaded.plan().scope, &charges, noise)? })
    }

    /// Makes every release of one run on a copy of the rows; `listener` hears of each.
    ///
    /// # Privacy
    /// Nothing but released values comes out.
    ///
    /// # Errors
    /// When every run that was paid for was made, the listener fails, or training diverges.
    pub fn run(&mut self, listener: &mut Listener<'_>) -> Fallible<Rehearsed> {
        let Loaded { schema, dataset, plan, .. } = self.loaded;
        let dataset = dataset.duplicate()?;
        let one = |run: &mut ChargedRun| make(plan, schema, dataset, run, listener, &mut || ());
        let Releases { fitted, map, waves, bins, rows, .. } = self.run.part(plan.charges().len(), one)?;
        let of_bins = |bins: &Bins| plan.optimizer.coordinates(bins, rows);
        let seen = bins.as_ref().map(of_bins).transpose()?.flatten();
        let cut = match (map, seen) {
            (Some(Recoding::Binned(binner)), Some(map)) => Some(Cut { binner, waves, map }),
            _ => None,
        };
        Ok(Rehearsed { weights: fitted.weights, cut })
    }
}

/// What a run led to that was made to be looked at.
pub struct Rehearsed {
    /// The final coefficients, in units of encoded rows.
    pub weights: Vec<f64>,
    cut: Option<Cut>,
}

/// How rows were encoded anew where columns were cut into intervals: a function of what was released.
struct Cut {
    binner: Binner,
    waves: Option<Waves>,
    map: IntegerMap,
}

/// A record as one run sees it, where that differs from run to run.
pub(crate) struct Sight {
    /// What it adds to a clipped sum, for each output, but for a factor.
    pub(crate) image: Vec<f64>,
    /// What the model says of it, for each output.
    pub(crate) margins: Vec<f64>,
}

impl Rehearsed {
    /// How the run sees a record that is known; `None` where all runs see it alike.
    ///
    /// Everything but the record follows from released values.
    pub(crate) fn sight(&self, record: &RawRow) -> Option<Sight> {
        let Cut { binner, waves, map } = self.cut.as_ref()?;
        let codes = binner.codes(record);
        let numbers = waves.as_ref().map_or_else(Vec::new, |waves| waves.of_codes(&codes));
        let one = i64::from(if waves.is_some() { Waves::ONE } else { FULL_SCALE });
        let mut features: Vec<i64> = numbers.into_iter().map(i64::from).collect();
        let shape = binner.shape();
        for (column, code) in codes.into_iter().enumerate().take(shape.categorical()) {
            features.extend((0..shape.levels(column)).map(|level| if level == usize::from(code) { one } else { 0 }));
        }
        features.push(one);
        let margin = |weights: &[f64]| weights.iter().zip(&features).map(|(w, &q)| w * q as f64 / one as f64).sum();
        let image = map.image(&features).into_iter().map(|entry| entry as f64).collect();
        Some(Sight { image, margins: self.weights.chunks(features.len()).map(margin).collect() })
    }
}
