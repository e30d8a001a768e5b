//! The picture of an audit: what the claim allows, and what was measured, on axes on which Gaussian mechanisms are straight lines.

use std::path::Path;

use super::super::output::write_file;
use crate::audit::Guarantee;
use crate::error::Fallible;
use crate::num::special::normal_tail;
use crate::plot::{Figure, Format, Panel, Scale, Series};

/// Quantiles between which the claim is drawn, in hundredths, and from one of them to the next.
const QUANTILES: i32 = 310;
const STEP: usize = 10;

/// Rates of both errors of an attack, false positives first.
type Errors<'a> = &'a [(f64, f64)];

/// Writes the picture.
pub(super) fn write(
    (path, overwrite): (&Path, bool),
    format: Format,
    title: &str,
    guarantee: &Guarantee,
    measured: &[(String, Errors<'_>)],
) -> Fallible<()> {
    let panel = panel(title, claimed(guarantee)?, measured);
    write_file(path, &Figure::chart(&panel).to_bytes(format)?, overwrite)
}

fn panel(title: &str, claimed: Vec<(f64, f64)>, measured: &[(String, Errors<'_>)]) -> Panel {
    let mut series = vec![Series::theory("theory: the claim, nothing above", claimed)];
    series.extend(measured.iter().map(|(name, errors)| {
        let rates: Vec<(f64, f64)> = errors.iter().map(|&(positive, negative)| (positive, 1.0 - negative)).collect();
        Series::curve(format!("measured: {name}"), &rates)
    }));
    let title = format!("{title}; a straight line is a Gaussian mechanism");
    Panel::of(title, series).x("false positive rate", Scale::Quantile).y("true positive rate", Scale::Quantile)
}

/// The largest true positive rates that a guarantee allows, where neither rate is nearly certain.
fn claimed(guarantee: &Guarantee) -> Fallible<Vec<(f64, f64)>> {
    let mut points = Vec::new();
    for quantile in (-QUANTILES..=QUANTILES).step_by(STEP) {
        let rate = normal_tail(-f64::from(quantile) / 100.0);
        let missed = guarantee.least_false_negative_rate(rate)?;
        if missed >= normal_tail(f64::from(QUANTILES) / 100.0) {
            points.push((rate, 1.0 - missed));
        }
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claim_of_a_gaussian_mechanism_is_drawn_as_a_straight_line() {
        let claim = claimed(&Guarantee::Gaussian { mu: 2.0 }).unwrap();
        assert!(claim.len() > 20 && claim.iter().all(|(positive, hit)| hit > positive && *hit < 1.0), "{claim:?}");
        let errors = [(0.01, 0.6), (0.2, 0.1)];
        let panel = panel("trial", claim.clone(), &[("model alone".into(), &errors)]);
        let svg = String::from_utf8(Figure::chart(&panel).to_bytes(Format::Svg).unwrap()).unwrap();
        for part in ["true positive rate", "false positive rate", "theory: the claim", "measured: model alone"] {
            assert!(svg.contains(part), "{part}");
        }
        // The one black line of this width: its points lie on a line, to a unit of the picture.
        let lines = svg.split("<polyline ").filter(|line| line.contains("stroke-width=\"12\""));
        let longest = lines.max_by_key(|line| line.len()).unwrap();
        let places: Vec<(f64, f64)> = longest
            .split("points=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next())
            .unwrap()
            .split_whitespace()
            .map(|place| place.split_once(',').unwrap())
            .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
            .collect();
        assert_eq!(places.len(), claim.len());
        let (first, last) = (places[0], places[places.len() - 1]);
        for (x, y) in places {
            let line = first.1 + (last.1 - first.1) * (x - first.0) / (last.0 - first.0);
            assert!((y - line).abs() < 4.0, "{x} {y} {line}");
        }
    }
}
