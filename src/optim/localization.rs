//! Iterative localization for stochastic convex optimization: phases of one-pass descent, each closer to the last.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Fitted, Observer, Optimizer, Planned, Problem, Progress, Record, Settings, Start};
use crate::error::{Error, Fallible};
use crate::kernel::{LARGEST_WEIGHT, LOG2_WEIGHT};
use crate::loss::{Curved, LOG2_SLOPE};
use crate::privacy::{Adjacency, GaussianEvent, MAX_LOG2_SCALE, NoiseLaw};
use crate::private::{Paid, PhasePlan, PrivateDataset, Query};

/// Clip norm over the typical norm of a row.
const CLIP: f64 = 0.3;

/// Largest step size, at which a long row's step is still non-expansive or is shortened to be.
const LARGEST_RATE: f64 = 1.0;

/// Phased SGD: phase `i` runs one pass of SGD with step `eta / 4^i` over `n / 2^(i+1)` fresh rows from the released result of the
/// phase before, and releases its mean iterate with noise `4^i` times smaller.
///
/// `eta = (R / L) min(4 / sqrt(n), sqrt(2 rho) / (2 sqrt(d)))` to the nearest power of two in grid units, with `R` from `--radius`
/// and `L` from `--clip`. Single rows are read in random order, and the steps run in fixed-point integers: each is a non-expansive map
/// up to a rounding that the sensitivity includes, so no float decides it. Where a row is so long that its step would
/// overshoot, the row counts less.
///
/// # Requirements on the problem
/// A convex, smooth loss: the logistic one is interpolated between multiples of 1/16, the squared one has its slope cut.
///
/// # Privacy
/// Replace-one only, since blocks have public sizes. Phases use disjoint rows, so one event pays for all of them.
///
/// # Reference
/// Feldman, Koren, Talwar 2020, "Private stochastic convex optimization: optimal rates in linear time".
#[derive(Clone, Debug, PartialEq)]
pub struct Localization {
    phases: PhasePlan,
    log2_scale: u32,
    noise: NoiseLaw,
    loss: Curved,
    rate: f64,
    clip_norm: f64,
    radius: f64,
}

impl Localization {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the relation is not replace-one, a setting means nothing here, or the budget is too small.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        let refused = ["--steps", "--momentum", "--l1", "--l2", "--averaging", "--sampling-rate"];
        problem.settings.refuse("localization", &refused)?;
        let loss = problem.curved("localization")?;
        let (Adjacency::ReplaceOne, Some(rows)) = (problem.adjacency, problem.rows) else {
            return Err(Error::parameter(
                "--algorithm localization",
                "is private for replaced rows only: its blocks have public sizes",
                "use --adjacency replace-one",
            ));
        };
        let Settings { clip, learning_rate, radius, .. } = *problem.settings;
        let (n, d, mu) = (rows.max(1) as f64, problem.dimension() as f64, (2.0 * problem.budget.lower()).sqrt());
        // Measured on Adult and California housing; the distance from zero to the optimum is of that order.
        let radius = radius.unwrap_or(match loss {
            Curved::Logistic => 2.0,
            Curved::Squared => 1.0,
        });
        let wanted_clip = clip.unwrap_or(CLIP * problem.typical_square().sqrt());
        let rate = learning_rate.unwrap_or(radius / wanted_clip * (4.0 / n.sqrt()).min(mu / (2.0 * d.sqrt())));
        // A step of 1 / 2^shift in grid units is this long in units of 1.0.
        let unit = f64::from(problem.unit) * 2f64.powi(LOG2_SLOPE as i32 - LOG2_WEIGHT as i32);
        let shift = (unit / rate.min(LARGEST_RATE)).log2().round().clamp(0.0, 60.0) as u32;
        let grid = f64::from(problem.unit) * 2f64.powi(LOG2_SLOPE as i32);
        let plan = PhasePlan { lipschitz: 0, shift, rows, dimension: problem.dimension() };
        let lipschitz = (wanted_clip * grid).min(2f64.powi(62)) as u64;
        let (phases, log2_scale) = calibrate(PhasePlan { lipschitz, ..plan }, problem, mu)?;
        Ok(Localization {
            phases,
            log2_scale,
            noise: problem.noise,
            loss,
            rate: unit / 2f64.powi(shift as i32),
            clip_norm: phases.lipschitz as f64 / grid,
            radius,
        })
    }

    fn query(&self) -> Query {
        Query::Phases { plan: self.phases }
    }

    fn event(&self) -> GaussianEvent {
        event(&self.phases, self.log2_scale, self.noise)
    }
}

fn event(phases: &PhasePlan, log2_scale: u32, noise: NoiseLaw) -> GaussianEvent {
    let sensitivity = Query::Phases { plan: *phases }.sensitivity(Adjacency::ReplaceOne);
    GaussianEvent { what: "mean iterates of disjoint blocks of rows".into(), sensitivity, log2_scale, noise, count: 1 }
}

/// The clip nearest to the wanted one, and its noise, that cost what the budget allows.
fn calibrate(wanted: PhasePlan, problem: &Problem<'_>, mu: f64) -> Fallible<(PhasePlan, u32)> {
    let too_small = || {
        Error::parameter(
            "budget",
            "is too small or too large for phased descent",
            "use another epsilon, --learning-rate or --clip",
        )
    };
    let scale = (wanted.sensitivity() as f64 / mu).log2().round();
    if !(0.0..=f64::from(MAX_LOG2_SCALE)).contains(&scale) {
        return Err(too_small());
    }
    let log2_scale = scale as u32;
    let fits = |lipschitz: u64| {
        let plan = PhasePlan { lipschitz, ..wanted };
        event(&plan, log2_scale, problem.noise).rho() <= problem.budget
    };
    // The largest clip that the exact cost allows, by bisection.
    let (mut low, mut high) = (0, wanted.lipschitz.saturating_mul(2));
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    if low < wanted.lipschitz / 4 {
        return Err(too_small());
    }
    Ok((PhasePlan { lipschitz: low, ..wanted }, log2_scale))
}

impl Optimizer for Localization {
    fn planned(&self) -> Vec<Planned> {
        vec![Planned { charge: self.event().into(), query: self.query() }]
    }

    fn run(
        &self,
        data: &PrivateDataset,
        start: &Start,
        paid: &mut Paid,
        observe: &mut Observer<'_>,
    ) -> Fallible<Fitted> {
        let mut phases = paid.permit()?.phases(data, self.phases, self.loss, start.label_scale)?;
        let mut weights = vec![0i64; self.phases.dimension];
        let mut result = vec![0.0; self.phases.dimension];
        for phase in 0..self.phases.phases() {
            let finer = PhasePlan::log2_finer(phase);
            let released = phases.next(&weights)?;
            let unit = 2f64.powi(-((LOG2_WEIGHT + finer) as i32));
            result = released.iter().map(|&v| v as f64 * unit).collect();
            let bound = i128::from(LARGEST_WEIGHT);
            weights = released.iter().map(|&v| (v >> finer).clamp(-bound, bound) as i64).collect();
        }
        let unit = 2f64.powi(-(LOG2_WEIGHT as i32));
        observe(&Progress { released: &phases.finish(), query: &self.query(), unit })?;
        let settings = [
            ("phases", json!(self.phases.phases())),
            ("learning_rate", json!(self.rate)),
            ("clip", json!(self.clip_norm)),
            ("radius", json!(self.radius)),
        ];
        let settings: BTreeMap<_, _> = settings.map(|(name, value)| (name.to_owned(), value)).into();
        let record = Record { planned: Planned { charge: self.event().into(), query: self.query() }, unit };
        Ok(Fitted { weights: result, standard_errors: None, records: vec![record], settings })
    }
}
