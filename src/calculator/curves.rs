//! Curves for comparison: epsilon against delta or steps by several notions, and trade-off functions.

use crate::accounting::notion::{ApproximateDp, GaussianDp, TradeOff};
use crate::accounting::{pld, rdp, zcdp};
use crate::error::{Error, Fallible};
use crate::privacy::{Adjacency, Delta, DpEvent};

/// A way from an event to an epsilon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notion {
    /// zCDP by the classical conversion (Bun and Steinke 2016, Lemma 3.5).
    Classical,
    /// zCDP by the optimal-order conversion (Canonne, Kamath, Steinke 2020, Proposition 12).
    Optimal,
    /// Renyi DP minimised over real orders (Mironov 2017).
    Rdp,
    /// Gaussian DP, exact (Balle and Wang 2018, Theorem 8); Gaussian events only.
    Exact,
    /// Privacy loss distribution, certified upper bound.
    Pld,
}

impl Notion {
    /// All of them, from the loosest to the tightest where several apply.
    pub const ALL: [Notion; 5] = [Notion::Classical, Notion::Optimal, Notion::Rdp, Notion::Pld, Notion::Exact];

    /// The name used on the command line and in legends.
    pub fn name(self) -> &'static str {
        match self {
            Notion::Classical => "classical",
            Notion::Optimal => "optimal",
            Notion::Rdp => "rdp",
            Notion::Exact => "exact",
            Notion::Pld => "pld",
        }
    }

    /// The notion of a name.
    ///
    /// # Errors
    /// When there is none of that name; lists those there are.
    pub fn of_name(name: &str) -> Fallible<Self> {
        Self::ALL.into_iter().find(|notion| notion.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Notion::name).join(", ");
            Error::parameter("--notions", format!("has no {name:?}"), format!("choose among {known}"))
        })
    }

    /// An upper bound on epsilon at `delta`.
    ///
    /// # Errors
    /// When the notion does not cover the event, or a parameter is outside its range.
    ///
    /// # Privacy
    /// Rounded upward; holds under `adjacency`.
    pub fn epsilon(self, event: &DpEvent, adjacency: Adjacency, delta: Delta) -> Fallible<f64> {
        Ok(match self {
            Notion::Classical => zcdp::of_event(event, adjacency)?.to_epsilon_classical(delta)?.value(),
            Notion::Optimal => zcdp::of_event(event, adjacency)?.to_epsilon_optimal(delta)?.value(),
            Notion::Rdp => rdp::curve(event, adjacency)?.to_approximate_dp(delta)?.epsilon(),
            Notion::Exact => GaussianDp::of_event(event, adjacency)?.to_approximate_dp(delta)?.epsilon(),
            Notion::Pld => pld::narrow_epsilon(event, adjacency, delta, f64::INFINITY)?.upper,
        })
    }
}

/// A named curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Points by growing abscissa.
    pub points: Vec<(f64, f64)>,
}

/// `count` values from `first` to `last`, equally spaced in the logarithm; the result has the length `count`.
pub fn logarithmic_grid(first: f64, last: f64, count: usize) -> Vec<f64> {
    let step = (last / first).ln() / count.saturating_sub(1).max(1) as f64;
    (0..count).map(|i| if i + 1 == count { last } else { first * (step * i as f64).exp() }).collect()
}

/// Epsilon against delta, one series per notion, each with one point per delta.
///
/// # Errors
/// When a notion does not cover the event, or a parameter is outside its range.
pub fn epsilon_against_delta(
    event: &DpEvent,
    adjacency: Adjacency,
    notions: &[Notion],
    deltas: &[f64],
) -> Fallible<Vec<Series>> {
    let point = |notion: Notion, delta: f64| Ok((delta, notion.epsilon(event, adjacency, Delta::new(delta)?)?));
    notions.iter().map(|&notion| series(notion, deltas, |delta| point(notion, delta))).collect()
}

/// Epsilon at `delta` against the number of times an event is repeated, one series per notion, each with one point per entry of `steps`.
///
/// # Errors
/// When a notion does not cover the event, or a parameter is outside its range.
pub fn epsilon_against_steps(
    event: &DpEvent,
    adjacency: Adjacency,
    notions: &[Notion],
    delta: Delta,
    steps: &[f64],
) -> Fallible<Vec<Series>> {
    let point = |notion: Notion, steps: f64| {
        let count = steps.round().max(1.0);
        let repeated = DpEvent::Repeated { event: Box::new(event.clone()), count: count as u64 };
        Ok((count, notion.epsilon(&repeated, adjacency, delta)?))
    };
    notions.iter().map(|&notion| series(notion, steps, |steps| point(notion, steps))).collect()
}

fn series(notion: Notion, at: &[f64], point: impl Fn(f64) -> Fallible<(f64, f64)>) -> Fallible<Series> {
    let points = at.iter().map(|&x| point(x)).collect::<Fallible<Vec<_>>>()?;
    Ok(Series { name: notion.name().into(), points })
}

/// Trade-off functions of a Gaussian event: its own, and what single `(epsilon, delta)` pairs allow.
///
/// Points are (false positive rate, smallest false negative rate): `points + 1` even ones, and the corner of each
/// pair.
///
/// # Errors
/// When the event is not Gaussian, or a parameter is outside its range.
pub fn trade_offs(event: &DpEvent, adjacency: Adjacency, deltas: &[Delta], points: usize) -> Fallible<Vec<Series>> {
    let gaussian = GaussianDp::of_event(event, adjacency)?;
    let mut curves = vec![(format!("exact, mu = {:.4}", gaussian.mu()), gaussian.to_trade_off()?)];
    let mut rates: Vec<f64> = (0..=points).map(|i| i as f64 / points.max(1) as f64).collect();
    for &delta in deltas {
        let pair = gaussian.to_approximate_dp(delta)?;
        let name = format!("({:.3}, {:e})-DP", pair.epsilon(), delta.value());
        // The two lines of a pair meet here; a chord across their corner would promise too much.
        rates.push((1.0 - delta.value()) / (1.0 + pair.epsilon().exp()));
        curves.push((name, TradeOff::approximate(ApproximateDp::new(pair.epsilon(), delta.value())?)?));
    }
    rates.sort_by(f64::total_cmp);
    curves
        .into_iter()
        .map(|(name, curve)| {
            let point = |&rate: &f64| Ok((rate, curve.false_negative_rate(rate)?));
            Ok(Series { name, points: rates.iter().map(point).collect::<Fallible<_>>()? })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Mechanism;

    fn gaussian() -> DpEvent {
        DpEvent::repeated(Mechanism::Gaussian { noise_multiplier: 20.0 }, 100)
    }

    #[test]
    fn tighter_notions_lie_below() {
        let deltas = logarithmic_grid(1e-9, 1e-3, 5);
        let all = epsilon_against_delta(&gaussian(), Adjacency::AddRemove, &Notion::ALL, &deltas).unwrap();
        let at = |notion: usize, index: usize| all[notion].points[index].1;
        for index in 0..deltas.len() {
            assert!(at(4, index) <= at(3, index) * 1.001 && at(3, index) < at(2, index) + 1e-9);
            assert!(at(2, index) <= at(1, index) * 1.001 && at(1, index) < at(0, index));
        }
    }

    #[test]
    fn epsilon_grows_with_steps() {
        let event = DpEvent::PoissonSampled { mechanism: Mechanism::Gaussian { noise_multiplier: 1.0 }, rate: 0.01 };
        let delta = Delta::new(1e-6).unwrap();
        let steps = logarithmic_grid(10.0, 1000.0, 4);
        for notion in [Notion::Rdp, Notion::Pld] {
            let curve = epsilon_against_steps(&event, Adjacency::AddRemove, &[notion], delta, &steps).unwrap();
            assert!(curve[0].points.windows(2).all(|w| w[0].1 < w[1].1), "{curve:?}");
        }
    }

    #[test]
    fn a_trade_off_lies_above_what_its_pairs_allow() {
        let delta = Delta::new(1e-5).unwrap();
        let curves = trade_offs(&gaussian(), Adjacency::AddRemove, &[delta], 50).unwrap();
        let (exact, pair) = (&curves[0].points, &curves[1].points);
        assert!(exact.iter().zip(pair).all(|(e, p)| e.1 >= p.1 - 1e-9));
        assert!(exact.windows(2).all(|w| w[0].1 >= w[1].1));
        assert!((exact[0].1 - 1.0).abs() < 1e-9 && exact[51].1.abs() < 1e-9);
    }
}
