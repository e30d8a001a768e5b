//! Damped Newton steps, with gradient steps where they do not help.

use ndarray::{Array1, Array2};

use crate::num::dense::solve_positive;

/// Points are integers over `2^32`.
pub const LOG2_POINT: u32 = 32;

/// Halvings of a Newton step before a gradient step is made instead.
const MAX_HALVINGS: i32 = 8;

/// A function with `mu I <= Hessian <= M I`, whose gradient can be computed with a known error.
pub trait Convex {
    /// The gradient at a point, as integers over `2^62`.
    fn gradient(&self, point: &[i128]) -> Vec<i128>;

    /// Whether a gradient is certainly small enough for its point to be the answer.
    fn is_small(&self, gradient: &[i128]) -> bool;

    /// An approximate Hessian at a point; a bad one costs steps and nothing else.
    fn hessian(&self, point: &[i128]) -> Array2<f64>;

    /// `M`, an upper bound on the Hessian.
    fn smoothness(&self) -> f64;

    /// The largest size of a coordinate that [`Convex::gradient`] accepts; the minimiser lies within.
    fn largest_coordinate(&self) -> i128;
}

/// A point whose gradient is certified to be small.
///
/// # Termination
/// Every round shrinks the norm of the gradient by a fixed factor at least. A Newton step is kept only if it does:
/// for step length `a` by `1 - a/4`, `a >= 2^-8`. Otherwise a gradient step of length `1/M` is made. With `B` the mean of
/// the Hessian between the two points, `mu I <= B <= M I`, the new gradient is `(I - B/M)` times the old one, so
/// its norm falls by `1 - mu/M`. Rounding stops this only where the gradient is of the size of its own error,
/// which a problem must declare small. Nothing is returned before the certificate holds, whatever the data.
///
/// Reference: Nesterov 2018, "Lectures on Convex Optimization", Theorem 2.1.5; Boyd and Vandenberghe 2004, section 9.5.
pub fn minimize(problem: &impl Convex, dimension: usize) -> Vec<i128> {
    let mut point = vec![0; dimension];
    let mut gradient = problem.gradient(&point);
    while !problem.is_small(&gradient) {
        let next = newton(problem, &point, &gradient);
        (point, gradient) = next.unwrap_or_else(|| descend(problem, &point, &gradient));
    }
    point
}

/// The longest Newton step among halvings that shrinks the gradient enough.
fn newton(problem: &impl Convex, point: &[i128], gradient: &[i128]) -> Option<(Vec<i128>, Vec<i128>)> {
    let direction = solve_positive(problem.hessian(point), &real(gradient))?;
    let size = norm(gradient);
    (0..=MAX_HALVINGS).map(|halvings| 0.5f64.powi(halvings)).find_map(|length| {
        let next = moved(problem, point, &direction, length);
        let gradient = problem.gradient(&next);
        (norm(&gradient) <= (1.0 - length / 4.0) * size).then_some((next, gradient))
    })
}

/// A gradient step of length `1/M`.
fn descend(problem: &impl Convex, point: &[i128], gradient: &[i128]) -> (Vec<i128>, Vec<i128>) {
    let next = moved(problem, point, &real(gradient), 1.0 / problem.smoothness());
    let gradient = problem.gradient(&next);
    (next, gradient)
}

/// `point - length * direction`, kept where gradients can be computed; a coordinate that is no number stays.
fn moved(problem: &impl Convex, point: &[i128], direction: &Array1<f64>, length: f64) -> Vec<i128> {
    let most = problem.largest_coordinate();
    let scale = length * 2f64.powi(LOG2_POINT as i32);
    let step = |(x, d): (&i128, &f64)| x.saturating_sub((d * scale).round() as i128).clamp(-most, most);
    point.iter().zip(direction).map(step).collect()
}

fn real(gradient: &[i128]) -> Array1<f64> {
    gradient.iter().map(|&g| g as f64 / 2f64.powi(62)).collect()
}

fn norm(gradient: &[i128]) -> f64 {
    let g = real(gradient);
    g.dot(&g).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sum_j a_j (sqrt(1 + (x_j - c_j)^2)) + mu x^2 / 2`, whose Hessian may be withheld.
    struct Bowl {
        centres: Vec<f64>,
        hessian: bool,
    }

    impl Bowl {
        fn slope(&self, j: usize, x: f64) -> f64 {
            let r = x - self.centres[j];
            50.0 * r / (1.0 + r * r).sqrt() + 0.5 * x
        }
    }

    impl Convex for Bowl {
        fn gradient(&self, point: &[i128]) -> Vec<i128> {
            let x = |j: usize| point[j] as f64 / 2f64.powi(32);
            (0..point.len()).map(|j| (self.slope(j, x(j)) * 2f64.powi(62)) as i128).collect()
        }
        fn is_small(&self, gradient: &[i128]) -> bool {
            norm(gradient) < 1e-5
        }
        fn hessian(&self, point: &[i128]) -> Array2<f64> {
            let scale = if self.hessian { 1.0 } else { f64::NAN };
            let second = |j: usize| {
                let r = point[j] as f64 / 2f64.powi(32) - self.centres[j];
                50.0 / (1.0 + r * r).powf(1.5) + 0.5
            };
            Array2::from_diag(&(0..point.len()).map(|j| scale * second(j)).collect::<Array1<f64>>())
        }
        fn smoothness(&self) -> f64 {
            50.5
        }
        fn largest_coordinate(&self) -> i128 {
            1 << 96
        }
    }

    #[test]
    fn both_kinds_of_steps_arrive() {
        for hessian in [true, false] {
            for centres in [vec![0.0], vec![1.0, -30.0, 1e3], vec![1e6; 4]] {
                let bowl = Bowl { centres, hessian };
                let point = minimize(&bowl, bowl.centres.len());
                assert!(bowl.is_small(&bowl.gradient(&point)));
            }
        }
    }
}
