//! Which algorithm is known to need the fewest gradients for an optimal excess population risk.

use rhograd::error::{Error, Fallible};

/// What is known of one algorithm, for given n, d and epsilon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The algorithm.
    pub method: &'static str,
    /// Gradients of single rows, without constants and logarithms.
    pub gradients: f64,
    /// The formula, with `t = min(n, n^2 eps^2 / d)`.
    pub formula: &'static str,
    /// Where it comes from, and how far that was checked.
    pub source: &'static str,
    /// Whether it needs losses that are smooth, or that depend on a linear predictor and can be smoothed at no cost.
    pub smooth: bool,
    /// Whether rhograd or this experiment has it.
    pub here: bool,
}

/// All algorithms that apply, the one of fewest gradients first; only those for any convex loss unless `smooth`.
///
/// Without smoothness many steps on the same rows need not generalise: descent is then charged more steps than t.
///
/// For a constant times the optimal risk `L R (1/sqrt(n) + sqrt(d ln(1/delta)) / (epsilon n))`. Formulas that are printed for
/// epsilon = 1 have it put where the number of useful steps, t, has it.
///
/// # Errors
/// When an argument is not positive and finite.
pub fn costs(n: f64, d: f64, epsilon: f64, smooth: bool) -> Fallible<Vec<Cost>> {
    for (name, value) in [("n", n), ("d", d), ("epsilon", epsilon)] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(Error::parameter(name, format!("is {value}, must be positive and finite"), "correct it"));
        }
    }
    let mut costs = known(n, d, epsilon);
    costs.retain(|cost| smooth || !cost.smooth);
    costs.sort_by(|a, b| a.gradients.total_cmp(&b.gradients));
    Ok(costs)
}

fn known(n: f64, d: f64, epsilon: f64) -> Vec<Cost> {
    let t = n.min(n * n * epsilon * epsilon / d).max(1.0);
    let any =
        |method, gradients, formula, source, here| Cost { method, gradients, formula, source, smooth: false, here };
    let smooth = |method, gradients, formula, source, here| Cost {
        smooth: true,
        ..any(method, gradients, formula, source, here)
    };
    vec![
        smooth("full-batch dp-gd", n * t, "n t", "Bassily, Smith, Thakurta 2014 for the steps; measured here", true),
        smooth("poisson dp-sgd", t * d.sqrt().min(n), "t sqrt(d)", "derived and measured here", true),
        smooth(
            "mini-batch sgd",
            n.powf(1.5).min(n * n / d.sqrt()),
            "min(n^3/2, n^2 / sqrt(d))",
            "Bassily, Feldman, Talwar, Thakurta 2019, its parameters, not checked; the abstract of Feldman, Koren, Talwar 2020 quotes n^5/2 / d, which is less for d > n",
            false,
        ),
        smooth("localization", t, "t", "Feldman, Koren, Talwar 2020, abstract; measured here", true),
        smooth("one-pass", t, "t", "Feldman, Koren, Talwar 2020, abstract; measured here", true),
        any(
            "phased erm",
            n * n,
            "n^2",
            "Feldman, Koren, Talwar 2020, Algorithm 3; count of the plain solver derived and measured here",
            true,
        ),
        any("noisy sgd", n * n, "n^2", "Bassily, Feldman, Guzman, Talwar 2020, not checked", false),
        any(
            "accelerated phases",
            n.powf(1.5).min(n * n / d.sqrt()),
            "min(n^3/2, n^2 / sqrt(d))",
            "Asi, Feldman, Koren, Talwar 2021, not checked",
            false,
        ),
        any(
            "smoothing by convolution",
            (n.powf(1.25) * d.powf(0.125)).min(n.powf(1.5) / d.powf(0.125)),
            "min(n^5/4 d^1/8, n^3/2 / d^1/8)",
            "Kulkarni, Lee, Liu 2021, abstract",
            false,
        ),
        any(
            "reweighted queries",
            t + ((n * d).powf(2.0 / 3.0) / epsilon).min(n.powf(4.0 / 3.0) * epsilon.cbrt()),
            "t + min((n d)^2/3 / eps, n^4/3 eps^1/3)",
            "Carmon, Jambulapati, Jin, Lee, Liu, Sidford, Tian 2023, not checked but for n above d^2 / eps^3 (abstract)",
            false,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cheapest(n: f64, d: f64, smooth: bool) -> Cost {
        costs(n, d, 1.0, smooth).unwrap()[0]
    }

    #[test]
    fn smooth_losses_need_one_pass() {
        let first = cheapest(1e6, 1e3, true);
        assert_eq!((first.method, first.gradients), ("localization", 1e6));
        // Where privacy limits, fewer rows than there are do.
        assert_eq!(cheapest(1e4, 1e6, true).gradients, 100.0);
    }

    #[test]
    fn queries_are_linear_for_many_rows_and_any_loss() {
        // n = d^2 / eps^3: both terms are n.
        let of = |n: f64| costs(n, 1e3, 1.0, false).unwrap().into_iter().find(|c| c.method == "reweighted queries");
        assert!((of(1e6).unwrap().gradients / 2e6 - 1.0).abs() < 1e-9);
        assert!(costs(1e6, 1e3, 1.0, false).unwrap().iter().all(|cost| !cost.smooth));
        assert!(costs(f64::NAN, 1.0, 1.0, true).is_err() && costs(1.0, 0.0, 1.0, true).is_err());
    }

    #[test]
    fn any_loss_takes_no_more_than_quadratic_and_no_less_than_smooth_ones() {
        for (n, d) in [(1e3, 10.0), (1e5, 1e3), (1e7, 1e5)] {
            let least = cheapest(n, d, false).gradients;
            assert!(least < n * n && least >= cheapest(n, d, true).gradients, "{n} {d}");
        }
    }
}
