//! Private Newton steps whose direction is released instead of the Hessian.

use ndarray::Array1;
use serde_json::json;

use super::descent::Average;
use super::penalty::Penalties;
use super::{
    Averaging, ClipRule, ClippedPlan, Descent, Fitted, Observer, Optimizer, Planned, Problem, Progress, Record,
    Settings, Start,
};
use crate::error::{Error, Fallible};
use crate::kernel::{GRAM_MULTIPLIER, gram_unit};
use crate::loss::Curved;
use crate::privacy::{Adjacency, GaussianEvent, MAX_LOG2_SCALE, NoiseLaw, Rho};
use crate::private::{Direction, Gradient, Paid, PrivateDataset, Query};

/// Newton steps.
const STEPS: u64 = 12;

/// Most steps: each is two entries of the statement.
const MOST_STEPS: u64 = 1000;

/// Share of the budget for the directions.
const DIRECTION_SHARE: f64 = 0.5;

/// Length of a direction's noise over the gradient divided by the mean eigenvalue.
const NOISE: f64 = 0.1;

/// Size of the grid on which directions are released: their reach is near `2^40` grid steps.
const TARGET_BITS: f64 = 40.0;

/// Newton's method with double noise: first the gradient `g` is released, then the direction `(H + r)^(-1) g` for that `g`.
///
/// A direction moves by at most `|g| b / (r (r + b))` if a row is added, `b` the largest curvature of one row, so its noise shrinks
/// with the gradient. The ridge `r = b sqrt(n / (0.1 mu_t sqrt(d)))` makes the noise of a direction a tenth of `|g|` over the mean
/// eigenvalue `n b / d`; `mu_t` is the sensitivity of one direction over its noise.
///
/// # Privacy
/// Per step one Gaussian release of a clipped sum and one of a direction, both adjacencies, both in exact integers.
///
/// # Reference
/// Ganesh, Haghifam, Steinke, Thakurta 2023, "Faster differentially private convex optimization via second-order methods".
#[derive(Clone, Debug, PartialEq)]
pub struct NewtonDoubleNoise {
    gradient: ClippedPlan,
    reach: u64,
    log2_scale: u32,
    noise: NoiseLaw,
    adjacency: Adjacency,
    clip: ClipRule,
    loss: Curved,
    descent: Descent,
    /// `R^2`.
    square: f64,
    /// The integer that stands for 1.0 in the rows of a Hessian.
    unit: f64,
}

impl NewtonDoubleNoise {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the budget is too small for the number of steps, or a setting is given that means nothing here.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        let refused = ["--momentum", "--l1", "--l2", "--sampling-rate"];
        problem.settings.refuse("newton-double-noise", &refused)?;
        let loss = problem.curved("newton-double-noise")?;
        let Settings { clip, steps, learning_rate, radius, averaging, .. } = *problem.settings;
        let steps = steps.unwrap_or(STEPS);
        if steps > MOST_STEPS {
            let problem = format!("is {steps}, must be at most {MOST_STEPS} with --algorithm newton-double-noise");
            return Err(Error::parameter("--steps", problem, "use fewer"));
        }
        let share = DIRECTION_SHARE * problem.budget.lower() / steps as f64;
        let (reach, log2_scale) = reach_of((2.0 * share).sqrt(), problem.adjacency)?;
        let mut plan = NewtonDoubleNoise {
            gradient: ClippedPlan {
                bound: 0,
                log2_scale: 0,
                steps,
                noise: problem.noise,
                adjacency: problem.adjacency,
            },
            reach,
            log2_scale,
            noise: problem.noise,
            adjacency: problem.adjacency,
            clip: clip.map_or(
                ClipRule::ByNoise(match loss {
                    Curved::Logistic => [0.15, 0.15, 0.6],
                    Curved::Squared => [0.36, 0.15, 3.0],
                }),
                ClipRule::Fixed,
            ),
            loss,
            descent: Descent {
                loss: problem.loss,
                steps,
                learning_rate: learning_rate.unwrap_or(1.0),
                momentum: 0.0,
                l1: 0.0,
                l2: 0.0,
                radius,
                averaging: averaging.unwrap_or(Averaging::Last),
            },
            square: problem.typical_square(),
            unit: f64::from(gram_unit(problem.unit)),
        };
        let spent = plan.direction_event().rho();
        let left: Rho = (0..steps).fold(problem.budget.clone(), |left, _| left.minus(&spent));
        let unit = problem.unit.unsigned_abs().into();
        plan.gradient = ClippedPlan::new(unit, problem.adjacency, &left, steps, problem.noise)?;
        Ok(plan)
    }

    fn planned_gradient(&self) -> Planned {
        let Planned { charge, query } = self.gradient.planned();
        Planned { charge: charge.single(), query }
    }

    fn direction_event(&self) -> GaussianEvent {
        GaussianEvent {
            what: "Newton direction".into(),
            sensitivity: self.direction_query().sensitivity(self.adjacency),
            log2_scale: self.log2_scale,
            noise: self.noise,
            count: 1,
        }
    }

    fn direction_query(&self) -> Query {
        Query::Direction { reach: self.reach }
    }

    fn planned_direction(&self) -> Planned {
        Planned { charge: self.direction_event().into(), query: self.direction_query() }
    }

    /// Largest Frobenius norm of a row in the Hessian, in its integers.
    fn bound(&self) -> f64 {
        (GRAM_MULTIPLIER as f64 * self.square * self.unit * self.unit).ceil()
    }

    fn ridge(&self, rows: f64, dimension: f64) -> u64 {
        let signal = self.reach as f64 / 2f64.powi(self.log2_scale as i32);
        (self.bound() * (rows / (NOISE * signal * dimension.sqrt())).sqrt()).clamp(1.0, 2f64.powi(60)) as u64
    }
}

/// Reach and scale of a direction with `sensitivity / 2^k <= mu`.
fn reach_of(mu: f64, adjacency: Adjacency) -> Fallible<(u64, u32)> {
    let factor = adjacency.sum_sensitivity(1) as f64;
    let log2_scale = (TARGET_BITS - (mu / factor).log2()).floor().clamp(0.0, f64::from(MAX_LOG2_SCALE)) as u32;
    let reach = (mu / factor * 2f64.powi(log2_scale as i32) * (1.0 - 1e-9)).floor();
    // Coarser, and the slack of the solution would be most of what is paid for.
    if !(2f64.powi(24)..2f64.powi(52)).contains(&reach) {
        return Err(Error::parameter(
            "budget",
            "is too small or too large for releases of directions",
            "use another epsilon or fewer --steps",
        ));
    }
    Ok((reach as u64, log2_scale))
}

impl Optimizer for NewtonDoubleNoise {
    fn planned(&self) -> Vec<Planned> {
        (0..self.descent.steps).flat_map(|_| [self.planned_gradient(), self.planned_direction()]).collect()
    }

    fn run(
        &self,
        data: &PrivateDataset,
        start: &Start,
        paid: &mut Paid,
        observe: &mut Observer<'_>,
    ) -> Fallible<Fitted> {
        let (loss, bound, dimension) = (self.loss, self.gradient.bound, data.shape().dimension());
        let clip_norm = self.clip.clip_norm(self.square.sqrt(), dimension as f64, start.rows, self.gradient.signal());
        let rows = data.clipped(bound);
        let ball = Penalties::new(&rows, 0.0, 0.0, self.descent.radius)?;
        let (gradient, direction) = (self.planned_gradient(), self.planned_direction());
        let unit = clip_norm / bound as f64;
        // From the integers of the Hessian to the sum of second derivatives.
        let curvature = loss.smoothness() / (GRAM_MULTIPLIER as f64 * self.unit * self.unit);
        let ridge = self.ridge(start.rows, dimension as f64);
        let mut weights = Array1::<f64>::zeros(dimension);
        let mut average = Average::new(self.descent.averaging, self.descent.steps, dimension);
        average.add(0, &weights);
        let mut records = Vec::new();
        for step in 1..=self.descent.steps {
            let asked = Gradient { loss: loss.into(), weights: &weights, label_scale: start.label_scale, clip_norm };
            let slope = paid.permit()?.release(rows.gradient_sum(&asked))?;
            observe(&Progress { released: &slope, query: &gradient.query, unit })?;
            let asked = Direction { gradient: slope.values(), bound: self.bound() as u64, ridge, reach: self.reach };
            let grid = unit / (curvature * asked.scale()? as f64);
            let released = paid.permit()?.release(data.direction(loss, &weights, &asked)?)?;
            observe(&Progress { released: &released, query: &direction.query, unit: grid })?;
            let along: Array1<f64> = released.values().iter().map(|&v| v as f64 * grid).collect();
            weights.scaled_add(-self.descent.learning_rate, &along);
            weights = ball.project(&rows, weights);
            average.add(step, &weights);
            records.push(Record { planned: gradient.clone(), unit });
            records.push(Record { planned: direction.clone(), unit: grid });
        }
        let weights = average.finish(weights);
        if !weights.iter().all(|w| w.is_finite()) {
            return Err(Error::numerical("training", "the iterates diverged; use a smaller learning rate"));
        }
        let mut settings = self.descent.settings();
        settings.insert("ridge".into(), json!(ridge as f64 * curvature / start.rows));
        Ok(Fitted { weights: weights.to_vec(), standard_errors: None, records, settings })
    }
}
