//! Where the excess risk is measured: sweeps of one parameter through a common base.

use crate::results::Row;

/// Seeds of every point: quick and full.
const SEEDS: (u64, u64) = (10, 20);

/// How many seeds a run takes at every point.
pub(super) fn seeds(quick: bool) -> u64 {
    if quick { SEEDS.0 } else { SEEDS.1 }
}

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
        let (n, rows): (u64, &[u64]) = match (instance, quick) {
            (Instance::Logistic, false) => (4_000, &[500, 1_000, 2_000, 4_000, 8_000]),
            (Instance::Logistic, true) => (2_000, &[500, 1_000, 2_000]),
            (_, false) => (4_000, &[500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000]),
            (_, true) => (2_000, &[500, 1_000, 2_000, 4_000]),
        };
        let base = Point { instance, n, d: 20, epsilon: 1.0, delta: 1e-6, sweeps: Vec::new() };
        rows.iter().for_each(|n| add(&mut points, Point { n: *n, ..base.clone() }, Sweep::Rows));
        let dimensions = [5, 10, 20, 40, 80];
        dimensions.into_iter().for_each(|d| add(&mut points, Point { d, ..base.clone() }, Sweep::Dimension));
        let epsilons = [0.25, 0.5, 1.0, 2.0];
        epsilons.into_iter().for_each(|epsilon| add(&mut points, Point { epsilon, ..base.clone() }, Sweep::Epsilon));
        let deltas = [1e-3, 1e-6, 1e-12, 1e-24];
        deltas.into_iter().for_each(|delta| add(&mut points, Point { delta, ..base.clone() }, Sweep::Delta));
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
