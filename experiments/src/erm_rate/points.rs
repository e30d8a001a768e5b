//! Where the excess risk is measured: sweeps of one parameter through a common base.

use crate::results::Row;

/// Seeds of a point: quick, full, and where training takes many multiplications.
const SEEDS: (u64, u64, u64) = (5, 20, 5);
const MANY: f64 = 2e10;

/// Exponents are fitted where [`Point::rate`] is at most this. Beyond it the risk nears that of the centre of the ball, which it cannot pass.
const FITTED: f64 = 1.0 / 30.0;

/// What is minimised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instance {
    /// Linear losses of random corners of the cube: one-way marginals.
    Marginals,
    /// The same for a few rows, all others zero: the instance of the lower bound.
    Hard,
    /// Logistic loss, through the public trainer.
    Logistic,
}

impl Instance {
    pub(super) fn name(self) -> &'static str {
        match self {
            Instance::Marginals => "marginals",
            Instance::Hard => "hard marginals",
            Instance::Logistic => "logistic",
        }
    }
}

/// The parameter that varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sweep {
    Rows,
    Dimension,
    Epsilon,
    Delta,
}

impl Sweep {
    /// Every sweep with its exponent: Bassily, Smith, Thakurta 2014, Theorem 2.4.
    pub(super) const EXPONENTS: [(Sweep, f64); 4] =
        [(Sweep::Rows, -1.0), (Sweep::Dimension, 0.5), (Sweep::Epsilon, -1.0), (Sweep::Delta, 0.5)];

    pub(super) fn name(self) -> &'static str {
        match self {
            Sweep::Rows => "n",
            Sweep::Dimension => "d",
            Sweep::Epsilon => "epsilon",
            Sweep::Delta => "ln(1/delta)",
        }
    }

    /// What a point is plotted and fitted against.
    pub(super) fn at(self, point: &Point) -> f64 {
        match self {
            Sweep::Rows => point.n as f64,
            Sweep::Dimension => point.d as f64,
            Sweep::Epsilon => point.epsilon,
            Sweep::Delta => -point.delta.ln(),
        }
    }
}

/// One configuration.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) instance: Instance,
    pub(super) n: u64,
    pub(super) d: usize,
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    /// The sweeps that go through this point.
    pub(super) sweeps: Vec<Sweep>,
}

impl Point {
    pub(super) fn key(&self, seed: u64) -> [String; 6] {
        let Point { instance, n, d, epsilon, delta, .. } = self;
        let name = instance.name().to_owned();
        [name, n.to_string(), d.to_string(), epsilon.to_string(), delta.to_string(), seed.to_string()]
    }

    /// How many seeds a run takes.
    pub(super) fn seeds(&self, quick: bool) -> u64 {
        // As many as steps by rows by coordinates; linear losses need no rows in a step.
        let multiplications = (self.n as f64 * self.epsilon).powi(2) * self.n as f64 / (-16.0 * self.delta.ln());
        match quick {
            true => SEEDS.0,
            false if self.instance == Instance::Logistic && multiplications > MANY => SEEDS.2,
            false => SEEDS.1,
        }
    }

    /// `sqrt(d ln(1/delta)) / (epsilon n)`, what the theorem grows with.
    pub(super) fn rate(&self) -> f64 {
        (-(self.d as f64) * self.delta.ln()).sqrt() / (self.epsilon * self.n as f64)
    }

    /// Whether exponents are fitted to it.
    pub(super) fn is_fitted(&self) -> bool {
        self.rate() <= FITTED
    }

    /// Whether a line belongs to this point.
    pub(super) fn is(&self, row: &Row<'_>) -> bool {
        let numbers = [("n", self.n as f64), ("d", self.d as f64), ("epsilon", self.epsilon), ("delta", self.delta)];
        row.text("instance") == self.instance.name() && numbers.iter().all(|(name, value)| row.is(name, *value))
    }
}

/// All points, each once.
pub(super) fn all(quick: bool) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for instance in [Instance::Marginals, Instance::Logistic] {
        // The first of the rows and of the epsilons of a full run show where the risk bends; see `FITTED`.
        let (n, rows): (u64, &[u64]) = match (instance, quick) {
            (Instance::Logistic, false) => (4_000, &[250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000]),
            (Instance::Logistic, true) => (2_000, &[500, 1_000, 2_000]),
            (_, false) => (4_000, &[250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000]),
            (_, true) => (2_000, &[500, 1_000, 2_000, 4_000]),
        };
        let (dimensions, epsilons, deltas): (&[usize], &[f64], &[f64]) = if quick {
            (&[5, 10, 20, 40, 80], &[0.25, 0.5, 1.0, 2.0], &[1e-3, 1e-6, 1e-12, 1e-24])
        } else {
            (
                &[5, 10, 20, 40, 80, 160, 320, 640],
                &[0.05, 0.125, 0.25, 0.5, 1.0, 2.0, 5.0, 12.5],
                &[1e-3, 1e-6, 1e-12, 1e-24, 1e-48, 1e-96, 1e-192, 1e-300],
            )
        };
        let base = Point { instance, n, d: 20, epsilon: 1.0, delta: 1e-6, sweeps: Vec::new() };
        rows.iter().for_each(|n| add(&mut points, Point { n: *n, ..base.clone() }, Sweep::Rows));
        dimensions.iter().for_each(|&d| add(&mut points, Point { d, ..base.clone() }, Sweep::Dimension));
        epsilons.iter().for_each(|&epsilon| add(&mut points, Point { epsilon, ..base.clone() }, Sweep::Epsilon));
        deltas.iter().for_each(|&delta| add(&mut points, Point { delta, ..base.clone() }, Sweep::Delta));
    }
    let hard = Point { instance: Instance::Hard, n: 0, d: 160, epsilon: 0.25, delta: 1e-6, sweeps: Vec::new() };
    for n in [8_000, 16_000, 32_000].into_iter().take(if quick { 2 } else { 3 }) {
        add(&mut points, Point { n, ..hard.clone() }, Sweep::Rows);
    }
    points
}

/// Adds a point, or a sweep to one that is there.
fn add(points: &mut Vec<Point>, point: Point, sweep: Sweep) {
    let same = |p: &Point| {
        (p.instance, p.n, p.d, p.epsilon, p.delta) == (point.instance, point.n, point.d, point.epsilon, point.delta)
    };
    let at = points.iter().position(same).unwrap_or_else(|| {
        points.push(point);
        points.len() - 1
    });
    if !points[at].sweeps.contains(&sweep) {
        points[at].sweeps.push(sweep);
    }
}
