//! The profile of objective perturbation against the divergence of the two densities of the exact minimiser, by quadrature.
//!
//! The minimiser `w` of `sum_i l_i(w) + lambda/2 |w|^2 + b.w` stands for the noise `b(w) = -(sum_i l_i'(w) + lambda w)`, so its
//! density is that of `b(w)` times `det(sum_i l_i''(w) + lambda)`.

use rhograd::accounting::perturbed_objective;
use rhograd::privacy::{Adjacency, Delta, Rho};
use statrs::distribution::{ContinuousCDF, Normal};

const EPSILONS: [f64; 9] = [0.01, 0.03, 0.1, 0.3, 0.6, 1.0, 2.0, 3.0, 5.0];

/// A row in the plane; its loss has slope `slope(x.w)` with values in `[-1, 1]`.
#[derive(Clone, Copy)]
struct Row {
    x: [f64; 2],
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Of label 0 or 1.
    Logistic(f64),
    /// Slope `tanh(steepness (t - target))`, which takes both signs.
    Both { steepness: f64, target: f64 },
}

impl Row {
    fn slope(&self, t: f64) -> f64 {
        match self.kind {
            Kind::Logistic(label) => 1.0 / (1.0 + (-t).exp()) - label,
            Kind::Both { steepness, target } => (steepness * (t - target)).tanh(),
        }
    }

    fn curvature(&self, t: f64) -> f64 {
        match self.kind {
            Kind::Logistic(_) => 0.25 / (t / 2.0).cosh().powi(2),
            Kind::Both { steepness, target } => steepness / (steepness * (t - target)).cosh().powi(2),
        }
    }

    fn largest_curvature(&self) -> f64 {
        match self.kind {
            Kind::Logistic(_) => 0.25,
            Kind::Both { steepness, .. } => steepness,
        }
    }
}

struct Problem {
    lambda: f64,
    sigma: f64,
    /// One, or two, coordinates.
    dimension: usize,
}

impl Problem {
    fn density(&self, rows: &[Row], w: [f64; 2]) -> f64 {
        let mut b = [self.lambda * w[0], self.lambda * w[1]];
        let mut a = [self.lambda, 0.0, self.lambda];
        for row in rows {
            let [x, y] = row.x;
            let t = x * w[0] + y * w[1];
            let (slope, curvature) = (row.slope(t), row.curvature(t));
            b = [b[0] + slope * x, b[1] + slope * y];
            a = [a[0] + curvature * x * x, a[1] + curvature * x * y, a[2] + curvature * y * y];
        }
        let normal = |b: f64| (-b * b / (2.0 * self.sigma.powi(2))).exp() / (self.sigma * std::f64::consts::TAU.sqrt());
        if self.dimension == 1 {
            return normal(b[0]) * a[0];
        }
        normal(b[0]) * normal(b[1]) * (a[0] * a[2] - a[1] * a[1])
    }

    /// The larger hockey-stick divergence of both directions at each epsilon, and the mass that the grid misses.
    fn divergences(&self, one: &[Row], other: &[Row], cells: i32) -> ([f64; 9], f64) {
        let reach = (8.0 * self.sigma + one.len().max(other.len()) as f64) / self.lambda;
        let step = 2.0 * reach / f64::from(cells);
        let at = |i: i32| (f64::from(i) + 0.5) * step - reach;
        let area = step.powi(self.dimension as i32);
        let (mut found, mut masses) = ([[0.0f64; 9]; 2], [0.0; 2]);
        for i in 0..cells {
            for j in 0..if self.dimension == 1 { 1 } else { cells } {
                let w = [at(i), if self.dimension == 1 { 0.0 } else { at(j) }];
                let (p, q) = (self.density(one, w) * area, self.density(other, w) * area);
                masses = [masses[0] + p, masses[1] + q];
                for (k, epsilon) in EPSILONS.iter().enumerate() {
                    found[0][k] += (p - epsilon.exp() * q).max(0.0);
                    found[1][k] += (q - epsilon.exp() * p).max(0.0);
                }
            }
        }
        let missed = masses.map(|mass| (1.0 - mass).abs());
        (std::array::from_fn(|k| found[0][k].max(found[1][k])), missed[0].max(missed[1]))
    }
}

/// Checks the bound at every delta that was found; returns the least bound over true epsilon.
fn bounded(problem: &Problem, one: &[Row], other: &[Row], relation: Adjacency, cells: i32) -> f64 {
    let (truth, missed) = problem.divergences(one, other, cells);
    assert!(missed < 1e-4, "the grid is too coarse: {missed}");
    let norm = |row: &Row| row.x[0].hypot(row.x[1]);
    let changed: Vec<_> = one.iter().chain(other).collect();
    let longest = changed.iter().map(|row| norm(row)).fold(0.0, f64::max);
    let curved = changed.iter().map(|row| row.largest_curvature() * norm(row).powi(2)).fold(0.0, f64::max);
    let moved = relation.sum_sensitivity(1) as f64 * longest / problem.sigma;
    let gradient = Rho::from_f64(moved * moved / 2.0).unwrap();
    let mut closest = f64::INFINITY;
    for (epsilon, found) in EPSILONS.into_iter().zip(truth) {
        if found < 3.0 * missed.max(1e-9) || found >= 1.0 {
            continue;
        }
        let delta = Delta::new(found).unwrap();
        let bound =
            perturbed_objective::epsilon(&gradient, &Rho::zero(), curved / problem.lambda, relation, delta).unwrap();
        assert!(bound >= epsilon * (1.0 - 1e-4) - 2.0 * missed, "{bound} at {found} of {epsilon}, mu {moved}");
        closest = closest.min(bound / epsilon);
    }
    closest
}

fn row(angle: f64, kind: Kind) -> Row {
    Row { x: [angle.cos(), angle.sin()], kind }
}

/// Penalties and noise: the curvature dominates the first, the noise the last.
const SETTINGS: [(f64, f64); 6] = [(0.3, 3.0), (1.0, 0.4), (1.0, 2.0), (4.0, 1.0), (30.0, 0.3), (100.0, 10.0)];

fn kinds(lambda: f64) -> [Kind; 4] {
    let both = |share: f64, target| Kind::Both { steepness: share * lambda, target };
    [Kind::Logistic(0.0), Kind::Logistic(1.0), both(0.2, 0.0), both(2.0, 1.0)]
}

#[test]
fn one_coordinate_stays_below_the_profile() {
    let mut closest = f64::INFINITY;
    for (lambda, sigma) in SETTINGS {
        let problem = Problem { lambda, sigma, dimension: 1 };
        for common in [&[][..], &[row(0.0, Kind::Logistic(1.0)); 3][..]] {
            for kind in kinds(lambda) {
                let with = [common, &[row(0.0, kind)]].concat();
                closest = closest.min(bounded(&problem, common, &with, Adjacency::AddRemove, 40_000));
                for (angle, other) in [(0.0, 0), (std::f64::consts::PI, 0), (0.0, 2), (0.0, 3)] {
                    let other = [common, &[row(angle, kinds(lambda)[other])]].concat();
                    closest = closest.min(bounded(&problem, &with, &other, Adjacency::ReplaceOne, 40_000));
                }
            }
        }
    }
    assert!(closest < 1.2, "nothing came near the bound: {closest}");
}

#[test]
fn two_coordinates_and_two_directions_stay_below_the_profile() {
    for (lambda, sigma) in SETTINGS {
        let problem = Problem { lambda, sigma, dimension: 2 };
        // Both signs of the slope are within reach of the noise, and the grid resolves the turn.
        let steep = Kind::Both { steepness: lambda * (2.0 / sigma).min(3.0), target: 0.0 };
        for kind in [Kind::Logistic(0.0), steep] {
            let common = [row(0.7, Kind::Logistic(1.0)), row(2.0, Kind::Logistic(0.0))];
            for angle in [0.4, std::f64::consts::FRAC_PI_2, 2.9] {
                let one = [&common[..], &[row(0.0, kind)]].concat();
                let other = [&common[..], &[row(angle, kind)]].concat();
                bounded(&problem, &one, &other, Adjacency::ReplaceOne, 400);
                bounded(&problem, &common, &other, Adjacency::AddRemove, 400);
            }
        }
    }
}

/// Delta at epsilon of a ratio whose upper tail is the largest that the theorem for a replaced row allows.
///
/// The ratio exceeds `J + c k + c^2/2` with probability at most `2 F(y) + 2 F(1 - y)` at the worst `y`, `F(y) = P[Z > (k + c (1 - y) / 2) /
/// sqrt y]`: the corners of a parallelogram whose diagonals share the length `c`. What is integrated is `e^(epsilon - r)` times
/// the tail at `r`.
fn delta_of_the_worst_tail(c: f64, jacobian: f64, epsilon: f64) -> f64 {
    let law = Normal::new(0.0, 1.0).unwrap();
    let beyond = |k: f64, y: f64| if y > 0.0 { law.sf((k + c * (1.0 - y) / 2.0) / y.sqrt()) } else { 0.0 };
    let tail = |k: f64| {
        let at = (0..=25).map(|i| f64::from(i) / 50.0);
        at.map(|y| 2.0 * beyond(k, y) + 2.0 * beyond(k, 1.0 - y)).fold(0.0, f64::max).min(1.0)
    };
    let step = 1e-2 * c.max(0.1);
    let ratios = (0..3000).map(|i| epsilon + (f64::from(i) + 0.5) * step);
    ratios.map(|r| (epsilon - r).exp() * tail((r - jacobian - c * c / 2.0) / c) * step).sum()
}

#[test]
fn a_replaced_row_may_move_the_minimizer_in_two_directions() {
    let mut tightest = f64::INFINITY;
    for c in [0.05, 0.3, 1.0, 2.0, 4.0] {
        let gradient = Rho::from_f64(c * c / 2.0).unwrap();
        for curvature in [0.01, 0.5] {
            for share in [0.02, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0] {
                // From small deltas up to the one at which one direction alone would cost `J + c^2/2`.
                let delta = Delta::new(share * delta_of_one_direction(c)).unwrap();
                let relation = Adjacency::ReplaceOne;
                let found = perturbed_objective::epsilon(&gradient, &Rho::zero(), curvature, relation, delta).unwrap();
                let truth = delta_of_the_worst_tail(c, f64::ln_1p(curvature), found);
                assert!(truth <= delta.value() * (1.0 + 1e-3), "{c} {curvature} {share}: {truth} of {delta:?}");
                tightest = tightest.min(delta.value() / truth);
            }
        }
    }
    assert!(tightest < 1.01, "{tightest}");
}

/// `E[1 - e^(-c |Z|)]`: delta at `J + c^2/2` if the ratio were `J + c |Z| + c^2/2`, as for one direction.
fn delta_of_one_direction(c: f64) -> f64 {
    let law = Normal::new(0.0, 1.0).unwrap();
    1.0 - 2.0 * (c * c / 2.0).exp() * law.sf(c)
}
