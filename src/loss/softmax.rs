//! Softmax cross-entropy, the loss of multinomial logistic regression.

use super::approx::exp;
use super::{Tuning, WhitenedTuning};
use crate::grid::Scoring;

/// `l(t, y) = ln sum_k e^(t_k) - t_y` for margins `t` in `R^K` and a label `y` in `0..K`.
///
/// Its gradient is `p - e_y` with `p_k = e^(t_k) / sum_j e^(t_j)`, of l2 norm at most `sqrt(2)`, and its Hessian
/// `diag(p) - p p^T` has eigenvalues at most 1/2.
///
/// Reference: Boehning 1992 for the bound on the Hessian.
#[derive(Clone, Copy, Debug, Default)]
pub struct Softmax;

impl Softmax {
    /// What was measured about it, for so many labels.
    pub fn tuning(classes: usize) -> Tuning {
        // Two labels are logistic regression with half the step and gradients longer by the root of two.
        let whitened = WhitenedTuning { clip: [0.27, 0.21, 1.7], ..WhitenedTuning::labels(3.5) };
        let scoring = Scoring::Class { labels: classes };
        Tuning { step: 4.0, clip: [0.21, 0.21, 0.85], whitened, scoring, loss_cap: None }
    }

    /// `l(t, y)`, with one margin per label.
    pub fn value(margins: &[f64], label: usize) -> f64 {
        let top = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        top + margins.iter().map(|t| (t - top).exp()).sum::<f64>().ln() - margins[label]
    }

    /// Replaces the margins of `N` rows by the gradients with respect to them; `margins[k]` are those of label `k`.
    ///
    /// A pure function of each lane's margins and label, free of branches. Its error is harmless to privacy: the
    /// clip is decided afterwards, in integers.
    #[inline(always)]
    pub fn slopes<const N: usize>(margins: &mut [[f32; N]], labels: &[i16; N]) {
        let mut top = [f32::NEG_INFINITY; N];
        for class in &*margins {
            for lane in 0..N {
                top[lane] = if class[lane] > top[lane] { class[lane] } else { top[lane] };
            }
        }
        let mut total = [0f32; N];
        for class in &mut *margins {
            for lane in 0..N {
                class[lane] = exp(class[lane] - top[lane]);
                total[lane] += class[lane];
            }
        }
        for (k, class) in margins.iter_mut().enumerate() {
            for lane in 0..N {
                let truth = if labels[lane] == k as i16 { 1.0 } else { 0.0 };
                class[lane] = class[lane] / total[lane] - truth;
            }
        }
    }

    /// The probabilities that margins stand for.
    pub fn probabilities(margins: &mut [f64]) {
        let top = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        margins.iter_mut().for_each(|t| *t = (*t - top).exp());
        let total: f64 = margins.iter().sum();
        margins.iter_mut().for_each(|p| *p /= total);
    }

    /// The largest l2 norm of a gradient, `sqrt(2)`.
    pub fn lipschitz() -> f64 {
        std::f64::consts::SQRT_2
    }

    /// The largest eigenvalue of a Hessian, 1/2.
    pub fn smoothness() -> f64 {
        0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slopes(margins: &[f64], label: usize) -> Vec<f64> {
        let mut lanes: Vec<[f32; 1]> = margins.iter().map(|&t| [t as f32]).collect();
        Softmax::slopes(&mut lanes, &[label as i16]);
        lanes.iter().map(|lane| f64::from(lane[0])).collect()
    }

    fn norm(v: impl IntoIterator<Item = f64>) -> f64 {
        v.into_iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    #[test]
    fn slopes_are_the_gradient_and_the_constants_hold() {
        let (mut steepest, mut sharpest) = (0.0f64, 0.0f64);
        for a in -16..=16 {
            for b in -16..=16 {
                let t = [f64::from(a) * 0.5, f64::from(b) * 0.5, 0.0];
                for label in 0..3 {
                    let g = slopes(&t, label);
                    steepest = steepest.max(norm(g.iter().copied()));
                    for (k, &slope) in g.iter().enumerate() {
                        let h = 1e-5;
                        let moved = |d: f64| std::array::from_fn::<f64, 3, _>(|j| t[j] + if j == k { d } else { 0.0 });
                        let numeric =
                            (Softmax::value(&moved(h), label) - Softmax::value(&moved(-h), label)) / (2.0 * h);
                        assert!((numeric - slope).abs() < 1e-6, "{t:?} {label} {k}: {numeric} {slope}");
                    }
                    // Along the direction in which two labels trade places the curvature is largest.
                    let step = 1.0 / 16.0;
                    let moved = slopes(&[t[0] + step, t[1] - step, t[2]], label);
                    let change = norm(moved.iter().zip(&g).map(|(x, y)| x - y));
                    sharpest = sharpest.max(change / (step * std::f64::consts::SQRT_2));
                }
            }
        }
        assert!(
            steepest <= Softmax::lipschitz() * (1.0 + 1e-6) && steepest > 0.99 * Softmax::lipschitz(),
            "{steepest}"
        );
        assert!(
            sharpest <= Softmax::smoothness() * (1.0 + 1e-4) && sharpest > 0.97 * Softmax::smoothness(),
            "{sharpest}"
        );
    }

    #[test]
    fn probabilities_add_up_even_for_extreme_margins() {
        let mut p = [1000.0, 999.0, -1e9];
        Softmax::probabilities(&mut p);
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12 && p[0] > p[1] && p[2] == 0.0);
        assert!(
            slopes(&[f64::NAN, 0.0], 0).iter().all(|g| g.is_nan()),
            "NaN must be seen by the kernel, which drops it"
        );
    }

    #[test]
    fn two_labels_are_logistic_regression() {
        use crate::loss::{Logistic, Loss};
        for (a, b) in [(0.3, -0.4), (2.0, 5.0), (-1.0, -1.0)] {
            let g = slopes(&[a, b], 1);
            assert!((g[1] - f64::from(Logistic.slope((b - a) as f32, 1.0))).abs() < 1e-6);
            assert!((g[0] + g[1]).abs() < 1e-6);
        }
    }
}
