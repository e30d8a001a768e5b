//! Where the excess risk is measured: sweeps on either side of the crossover, and through it.

use crate::results::Row;

/// Delta of every point.
pub(super) const DELTA: f64 = 1e-6;

/// Seeds of every point, quick and full; the trainer has four coordinates, whose errors vary more, and takes five times as many.
const SEEDS: (u64, u64) = (30, 50);

/// Row counts of a sweep through the crossover, in units of `2 d / rho`. The step of localization is the smaller of two, which
/// are equal only at 16 such units.
const THROUGH: [f64; 6] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0];
const THROUGH_PHASED: [f64; 6] = [0.25, 1.0, 4.0, 8.0, 16.0, 64.0];

/// What is run on which instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Noisy full-batch descent on linear losses.
    Descent,
    /// Localization on linear losses.
    Phased,
    /// The public trainer's localization on least squares.
    Trained,
}

impl Method {
    pub(super) const ALL: [Method; 3] = [Method::Descent, Method::Phased, Method::Trained];

    pub(super) fn name(self) -> &'static str {
        match self {
            Method::Descent => "dp-gd, linear loss",
            Method::Phased => "localization, linear loss",
            Method::Trained => "trained localization, squares",
        }
    }

    /// The sweeps of a method: whatever the trainer's rows can stay within bounds for.
    pub(super) fn sweeps(self) -> &'static [Sweep] {
        match self {
            Method::Trained => &[Sweep::SampledRows, Sweep::PrivateRows],
            _ => &[Sweep::SampledRows, Sweep::PrivateRows, Sweep::Dimension, Sweep::Epsilon],
        }
    }
}

/// The parameter that varies, and the side of the crossover on which it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sweep {
    SampledRows,
    PrivateRows,
    Dimension,
    Epsilon,
}

impl Sweep {
    pub(super) const ALL: [Sweep; 4] = [Sweep::SampledRows, Sweep::PrivateRows, Sweep::Dimension, Sweep::Epsilon];

    pub(super) fn name(self) -> &'static str {
        match self {
            Sweep::SampledRows => "n where sampling limits",
            Sweep::PrivateRows => "n where privacy limits",
            Sweep::Dimension => "d where privacy limits",
            Sweep::Epsilon => "epsilon where privacy limits",
        }
    }

    /// The exponent: Bassily, Feldman, Talwar, Thakurta 2019, Theorem 3.2 and the lower bound beside it.
    pub(super) fn exponent(self) -> f64 {
        match self {
            Sweep::SampledRows => -0.5,
            Sweep::PrivateRows | Sweep::Epsilon => -1.0,
            Sweep::Dimension => 0.5,
        }
    }

    /// What a point is plotted and fitted against.
    pub(super) fn at(self, point: &Point) -> f64 {
        match self {
            Sweep::SampledRows | Sweep::PrivateRows => point.n as f64,
            Sweep::Dimension => point.d as f64,
            Sweep::Epsilon => point.epsilon,
        }
    }

    /// The points of a sweep.
    pub(super) fn points(self, method: Method, quick: bool) -> Vec<Point> {
        let trained = method == Method::Trained;
        let base = |n, d, epsilon| Point { method, n, d, epsilon };
        let rows = |first: u64, count: u32| (0..count).map(move |k| first << k);
        let d = if trained { 4 } else { 16 };
        // Where privacy limits, two decades need many rows: the risk stays well below that of the untrained model, and n below the crossover.
        match (self, quick) {
            (Sweep::SampledRows, true) => rows(512, 4).map(|n| base(n, d, 32.0)).collect(),
            (Sweep::SampledRows, false) => rows(512, 8).map(|n| base(n, d, 32.0)).collect(),
            (Sweep::PrivateRows, true) => rows(4096, 4).map(|n| base(n, d, if trained { 0.05 } else { 0.1 })).collect(),
            (Sweep::PrivateRows, false) if trained => rows(4096, 8).map(|n| base(n, d, 0.05)).collect(),
            (Sweep::PrivateRows, false) => rows(16_384, 8).map(|n| base(n, d, 0.02)).collect(),
            (Sweep::Dimension, true) => rows(8, 4).map(|d| base(8192, d as usize, 0.1)).collect(),
            (Sweep::Dimension, false) => rows(4, 8).map(|d| base(65_536, d as usize, 1.0 / 32.0)).collect(),
            (Sweep::Epsilon, true) => [0.05, 0.07, 0.1, 0.14, 0.2].map(|epsilon| base(8192, d, epsilon)).to_vec(),
            (Sweep::Epsilon, false) => {
                let epsilons = [3e-4, 6e-4, 1.5e-3, 3e-3, 6e-3, 1.5e-2, 3e-2];
                epsilons.map(|epsilon| base(1 << 20, d, epsilon)).to_vec()
            }
        }
    }
}

/// One configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) method: Method,
    pub(super) n: u64,
    pub(super) d: usize,
    pub(super) epsilon: f64,
}

impl Point {
    pub(super) fn key(&self, seed: u64) -> [String; 5] {
        let Point { method, n, d, epsilon } = self;
        [method.name().to_owned(), n.to_string(), d.to_string(), epsilon.to_string(), seed.to_string()]
    }

    /// How many seeds a run takes.
    pub(super) fn seeds(&self, quick: bool) -> u64 {
        let seeds = if quick { SEEDS.0 } else { SEEDS.1 };
        if self.method == Method::Trained { 5 * seeds } else { seeds }
    }

    /// Whether an exponent is fitted to it: where privacy limits, to a fifth of the rows at which sampling limits as much, `2 d / rho`, for with more the slope bends.
    pub(super) fn is_fitted(&self, sweep: Sweep) -> bool {
        (self.method, sweep) != (Method::Trained, Sweep::PrivateRows)
            || self.n as f64 <= 0.2 * 2.0 * self.d as f64 / self.rho()
    }

    /// Whether a line belongs to this point.
    pub(super) fn is(&self, row: &Row<'_>) -> bool {
        let numbers = [("n", self.n as f64), ("d", self.d as f64), ("epsilon", self.epsilon)];
        row.text("method") == self.method.name() && numbers.iter().all(|(name, value)| row.is(name, *value))
    }

    /// The zCDP budget `epsilon^2 / (8 ln(1/delta))`.
    pub(super) fn rho(&self) -> f64 {
        self.epsilon * self.epsilon / (-8.0 * DELTA.ln())
    }

    /// `d ln(1/delta) / epsilon^2`, where the crossover is predicted up to a constant.
    pub(super) fn predicted(&self) -> f64 {
        -(self.d as f64) * DELTA.ln() / (self.epsilon * self.epsilon)
    }

    /// `sqrt(1/n + 2 d / (rho n^2))`: how far a private mean of rows of norm one is off, sampling and noise together.
    ///
    /// The second term is the noise of a Gaussian release of the mean, which moves by `2/n`.
    pub(super) fn scale(&self) -> f64 {
        let n = self.n as f64;
        (1.0 / n + 2.0 * self.d as f64 / (self.rho() * n * n)).sqrt()
    }
}

impl Point {
    /// `1/sqrt(n) + sqrt(d ln(1/delta)) / (epsilon n)`, the rate of the lower bounds, in units of L D: Nemirovski and Yudin 1983 for the first
    /// term; Bassily, Feldman, Talwar and Thakurta 2019 for the second, up to logarithms. Constants are not known here.
    pub(super) fn lower_rate(&self) -> f64 {
        let n = self.n as f64;
        1.0 / n.sqrt() + (-(self.d as f64) * DELTA.ln()).sqrt() / (self.epsilon * n)
    }
}

/// Sweeps of n through the crossover, one for each of several predictions.
pub(super) fn crossings(method: Method, quick: bool) -> Vec<Vec<Point>> {
    let settings = [(8, 1.4), (8, 0.5), (16, 1.0), (16, 0.7), (16, 0.35), (8, 0.14)];
    let shares = if method == Method::Phased { THROUGH_PHASED } else { THROUGH };
    let sweep = |(d, epsilon)| {
        let base = Point { method, n: 0, d, epsilon };
        shares.iter().map(|share| Point { n: (share * 16.0 * base.predicted()).round() as u64, ..base }).collect()
    };
    match method {
        Method::Trained => Vec::new(),
        _ => settings.into_iter().take(if quick { 3 } else { 6 }).map(sweep).collect(),
    }
}

/// All points, each once.
pub(super) fn all(quick: bool) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for method in Method::ALL {
        let swept = method.sweeps().iter().flat_map(|sweep| sweep.points(method, quick));
        for point in swept.chain(crossings(method, quick).into_iter().flatten()) {
            if !points.contains(&point) {
                points.push(point);
            }
        }
    }
    points
}
