//! What a report draws: the trade-off of the guarantee, the budget as a bar, effects with intervals, shapes.

use super::html::{escaped, figure};
use super::tiles;
use super::words::number;
use crate::accounting::notion::ApproximateDp;
use crate::accounting::trade_off::TradeOff;
use crate::error::{Error, Fallible};
use crate::plot::{Figure, Format, Panel, Scale, Series, Tiles};
use crate::statement::Guarantee;
use crate::text::counted;
use crate::train::{Explanation, Reliability};

/// Half of an interval of 95%, in standard deviations.
const TWO_SIDED: f64 = 1.96;

/// Points of a curve.
const POINTS: u32 = 200;

/// Width of a bar, in its own units.
const WIDTH: f64 = 1000.0;

/// Panels with the shape of a column, or of a pair.
const MOST_SHAPES: usize = 24;

/// The errors that whoever looks for one row must make.
pub(super) fn trade_off(guarantee: &Guarantee) -> Fallible<String> {
    let read =
        |text: &str| text.parse().map_err(|_| Error::numerical("statement", "a number of the guarantee is none"));
    let (curve, name) = match &guarantee.gaussian_mu {
        Some(mu) => (TradeOff::gaussian(read(mu)?)?, format!("this release, mu {mu}")),
        None => {
            let pair = ApproximateDp::new(read(&guarantee.epsilon)?, read(&guarantee.delta)?)?;
            (TradeOff::approximate(pair)?, format!("this release, ({}, {})-DP", guarantee.epsilon, guarantee.delta))
        }
    };
    let equal = equal_rates(&curve)?;
    // A chord across the place where both rates are equal would promise too much.
    let mut rates: Vec<f64> = (0..=POINTS).map(|i| f64::from(i) / f64::from(POINTS)).chain([equal]).collect();
    rates.sort_by(f64::total_cmp);
    let rates = rates.into_iter();
    let points = rates.map(|rate| Ok((rate, curve.false_negative_rate(rate)?))).collect::<Fallible<Vec<_>>>()?;
    // Curves are convex and mirror images of themselves, so the sum is least there; rounded down.
    let least = (200.0 * equal).floor() / 100.0;
    let alternative = format!(
        "Trade-off curve: with {name}, the two error rates of any test add up to at least {least:.2}; a coin's add up to 1, and without protection a \
         test makes no error."
    );
    let series =
        vec![Series::curve(name, &points), Series::curve("a coin: nothing is learned", &[(0.0, 1.0), (1.0, 0.0)])];
    let panel = Panel::of("Errors that no test can go below", series);
    let panel = panel.x("false positive rate", Scale::Linear).y("false negative rate", Scale::Linear);
    let drawn = figure(Figure::column(&[panel], 0).to_bytes(Format::Svg)?, &alternative)?;
    Ok(drawn.replacen("class=\"figure\"", "class=\"figure curve\"", 1))
}

/// Predicted probabilities beside what was observed of rows held out.
pub(super) fn calibration(curve: &[Reliability]) -> Fallible<String> {
    let points: Vec<_> = curve.iter().map(|it| (it.predicted, it.observed, TWO_SIDED * it.deviation)).collect();
    let farthest = curve.iter().map(|it| (it.predicted - it.observed).abs()).fold(0.0, f64::max);
    let alternative = format!(
        "Calibration curve: in {} of rows held out, the share observed lies at most {farthest:.2} from the probability predicted; bars are 95% intervals, of noise \
         and sampling.",
        counted(curve.len() as u64, "group")
    );
    let series = vec![
        Series::measured("rows held out (95%, noise and sampling)", points),
        Series::curve("as predicted", &[(0.0, 0.0), (1.0, 1.0)]),
    ];
    let panel = Panel::of("Probabilities beside what was observed", series);
    let panel = panel.x("predicted probability", Scale::Linear).y("share observed", Scale::Linear);
    let drawn = figure(Figure::column(&[panel], 0).to_bytes(Format::Svg)?, &alternative)?;
    Ok(drawn.replacen("class=\"figure\"", "class=\"figure curve\"", 1))
}

/// At most the rate at which both error rates of a trade-off are equal.
fn equal_rates(curve: &TradeOff) -> Fallible<f64> {
    let (mut low, mut high) = (0.0, 0.5);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if curve.false_negative_rate(middle)? >= middle { low = middle } else { high = middle }
    }
    Ok(low)
}

/// What was spent of a cap before this run, by it, and by runs after it, as shares of the cap.
pub(super) fn meter(before: f64, run: f64, after: f64) -> String {
    let share = |x: f64| WIDTH * x.clamp(0.0, 1.0);
    let block = |class: &str, from: f64, to: f64| {
        let (from, to) = (share(from), share(to));
        format!("<rect class=\"{class}\" x=\"{from:.1}\" y=\"0\" width=\"{:.1}\" height=\"24\"/>", (to - from).max(0.0))
    };
    // Spending is rounded up.
    let percent = |x: f64| format!("{:.1}%", (1000.0 * x).ceil() / 10.0);
    let words = format!(
        "{} of the cap was spent before this run, {} by it, {} by later runs",
        percent(before),
        percent(run),
        percent(after)
    );
    format!(
        "<svg class=\"meter\" viewBox=\"0 0 {WIDTH} 24\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{words}\">{}{}{}{}</svg>\n<p class=\"soft\">{words}.</p>\n",
        block("whole", 0.0, 1.0),
        block("before", 0.0, before),
        block("run", before, before + run),
        block("before", before + run, before + run + after)
    )
}

/// An effect with its interval, on an axis from `low` to `high`.
pub(super) fn interval(value: f64, ends: Option<(f64, f64)>, (low, high): (f64, f64)) -> String {
    let place = |x: f64| 4.0 + 192.0 * ((x - low) / (high - low)).clamp(0.0, 1.0);
    let words = match ends {
        Some((from, to)) => format!("{}, {} to {}", number(value), number(from), number(to)),
        None => number(value),
    };
    let bar = ends.map_or(String::new(), |(from, to)| {
        format!("<line class=\"bar\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"8\" y2=\"8\"/>", place(from), place(to))
    });
    format!(
        "<svg class=\"interval\" viewBox=\"0 0 200 16\" role=\"img\" aria-label=\"{}\"><line class=\"zero\" x1=\"{zero:.1}\" x2=\"{zero:.1}\" y1=\"0\" \
         y2=\"16\"/>{bar}<circle class=\"dot\" cx=\"{:.1}\" cy=\"8\" r=\"3.5\"/></svg>",
        escaped(&words),
        place(value),
        zero = place(0.0)
    )
}

/// A panel for each column, the most important first, and for pairs.
pub(super) fn shapes(explanation: &Explanation) -> Fallible<(String, usize)> {
    let tiles = tiles::of(explanation);
    let drawn = tiles.iter().take(MOST_SHAPES).map(|tile| {
        let svg = Tiles(std::slice::from_ref(tile)).to_bytes(Format::Svg)?;
        figure(svg, &format!("Shape of {}", tile.title))
    });
    let drawn: String = drawn.collect::<Fallible<_>>()?;
    Ok((format!("<div class=\"figures\">\n{drawn}</div>\n"), tiles.len().saturating_sub(MOST_SHAPES)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_never_said_to_be_larger_than_they_are() {
        let pair = TradeOff::approximate(ApproximateDp::new(1.0, 0.01).unwrap()).unwrap();
        let exact = 0.99 / (1.0 + 1f64.exp());
        let found = equal_rates(&pair).unwrap();
        assert!(found <= exact && found > exact - 1e-12, "{found} {exact}");
        // 2 * 0.99 / (1 + e) is 0.5325, and between two of the even rates.
        let guarantee = crate::train::ModelFile::read(
            &std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/runs/first/dp-gd.model.json"),
        );
        let guarantee = guarantee.unwrap().statement.guarantee;
        let drawn = |epsilon: &str| {
            let claimed =
                Guarantee { gaussian_mu: None, epsilon: epsilon.into(), delta: "0.01".into(), ..guarantee.clone() };
            trade_off(&claimed).unwrap()
        };
        assert!(drawn("1").contains("at least 0.53;") && drawn("20").contains("at least 0.00;"));
        assert!(meter(0.0, 1e-6, 0.0).contains("0.1% by it"));
    }

    #[test]
    fn a_bar_has_its_shares_and_an_interval_its_ends() {
        let bar = meter(0.25, 0.5, 0.0);
        assert!(bar.contains("x=\"250.0\" y=\"0\" width=\"500.0\"") && bar.contains("50.0% by it"), "{bar}");
        // More than the cap, as before a cap was set, is drawn to its end.
        assert!(meter(0.9, 0.5, 0.0).contains("x=\"900.0\" y=\"0\" width=\"100.0\""));
        let drawn = interval(1.0, Some((0.0, 2.0)), (-2.0, 2.0));
        assert!(drawn.contains("x1=\"100.0\" x2=\"196.0\"") && drawn.contains("cx=\"148.0\""), "{drawn}");
        assert!(!interval(1.0, None, (0.0, 2.0)).contains("class=\"bar\""));
    }
}
