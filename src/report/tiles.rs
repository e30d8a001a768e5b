//! What is drawn of an explanation: a tile for each column, and for each pair.

use super::shapes::{pair_title, title};
use super::words::number;
use crate::plot::{Bar, Body, Side, Spread, Tile};
use crate::text::visible;
use crate::train::{Curve, Explanation, Pair, Shape};

/// Standard deviations on either side of an interval of 95%.
const TWO_SIDED: f64 = 1.96;

/// Bars of a tile; the values that most rows have.
const MOST_BARS: usize = 24;

/// Cells of a heat map with fewer rows than this share of what two independent columns would have are not coloured.
const RARE: f64 = 0.1;

/// A numeric axis is not linear where this share of the rows lies in less than that share of its length.
const MOST_ROWS: f64 = 0.9;
const SHORT: f64 = 0.25;

/// A tile for each column, and for each pair.
pub(crate) fn of(explanation: &Explanation) -> Vec<Tile> {
    let tile =
        |shape: &Shape| Tile { title: format!("{} ({})", title(shape), number(shape.importance)), body: body(shape) };
    explanation.columns.iter().map(tile).chain(explanation.pairs.iter().map(heat)).collect()
}

fn heat(pair: &Pair) -> Tile {
    let side = |name: &str, at: &Curve, shares: &[f64]| match at {
        Curve::Line { places: ends } | Curve::Steps { ends } => {
            Side::Ends(visible(name).into_owned(), ends.clone(), spread(ends, shares))
        }
        Curve::Values { values } => {
            Side::Names(visible(name).into_owned(), values.iter().map(|value| visible(value).into_owned()).collect())
        }
    };
    // Where hardly a row is, effects are extrapolated: such cells stay grey.
    let alone: Vec<f64> = pair.shares.iter().map(|row| row.iter().sum()).collect();
    let other = |column: usize| pair.shares.iter().filter_map(|row| row.get(column)).sum::<f64>();
    let seen = |row: usize, column: usize| pair.shares[row][column] > RARE * alone[row] * other(column);
    let cells = |(row, effects): (usize, &Vec<f64>)| {
        let shown = |(column, effect): (usize, &f64)| if seen(row, column) { *effect } else { f64::NAN };
        effects.iter().enumerate().map(shown).collect::<Vec<f64>>()
    };
    let others: Vec<f64> = (0..pair.shares.first().map_or(0, Vec::len)).map(other).collect();
    let values: Vec<Vec<f64>> = pair.effects.iter().enumerate().map(cells).collect();
    let all = || values.iter().flatten().copied().filter(|value| value.is_finite());
    let (low, high) = (all().fold(0.0, f64::min), all().fold(0.0, f64::max));
    Tile {
        title: format!("{} ({} to {})", pair_title(pair), number(low), number(high)),
        body: Body::Heat {
            x: side(&pair.first, &pair.first_at, &alone),
            y: side(&pair.second, &pair.second_at, &others),
            values,
        },
    }
}

fn body(shape: &Shape) -> Body {
    let half = |at: usize| TWO_SIDED * shape.deviations.get(at).copied().unwrap_or(0.0);
    let numbered = || shape.effects.iter().copied().enumerate();
    match &shape.curve {
        Curve::Values { values } => Body::Bars(bars(shape, values, half)),
        Curve::Line { places } => {
            let line = places.iter().copied().zip(shape.effects.iter().copied()).collect();
            let banded = numbered().zip(places).map(|((at, effect), &x)| (x, effect - half(at), effect + half(at)));
            let band = if shape.deviations.is_empty() { Vec::new() } else { banded.collect() };
            Body::Curve { line, band, rug: Vec::new(), spread: None }
        }
        Curve::Steps { ends } => {
            let sides = |at: usize| ends.get(at).copied().into_iter().chain(ends.get(at + 1).copied());
            let line = numbered().flat_map(|(at, effect)| sides(at).map(move |x| (x, effect))).collect();
            let both = |(at, effect): (usize, f64)| sides(at).map(move |x| (x, effect, at)).collect::<Vec<_>>();
            let banded = numbered().flat_map(both).map(|(x, effect, at)| (x, effect - half(at), effect + half(at)));
            let band = if shape.deviations.is_empty() { Vec::new() } else { banded.collect() };
            let between = ends.windows(2).map(|pair| (pair[0], pair[1]));
            let rug = between.zip(&shape.shares).map(|((from, to), &share)| (from, to, share)).collect();
            Body::Curve { line, band, rug, spread: spread(ends, &shape.shares) }
        }
    }
}

/// The axis of a column whose rows lie close together: each interval is as long as the root of its share, so that neither few rows nor a value
/// that nearly all have take all of it; `None` where a linear axis does.
fn spread(ends: &[f64], shares: &[f64]) -> Option<Spread> {
    let wanted = MOST_ROWS * shares.iter().sum::<f64>();
    // The shortest stretch with so many rows.
    let (mut from, mut rows, mut width) = (0, 0.0, f64::INFINITY);
    for (to, share) in shares.iter().enumerate() {
        rows += share;
        while rows - shares.get(from)? >= wanted {
            rows -= shares.get(from)?;
            from += 1;
        }
        if rows >= wanted {
            width = width.min(ends.get(to + 1)? - ends.get(from)?);
        }
    }
    let whole = ends.last()? - ends.first()?;
    let roots: Vec<f64> = shares.iter().map(|share| share.max(0.0).sqrt()).collect();
    if width < SHORT * whole { Spread::new(ends, &roots) } else { None }
}

/// Bars by size, each with the share of rows that have the value.
fn bars(shape: &Shape, values: &[String], half: impl Fn(usize) -> f64) -> Vec<Bar> {
    let share = |at: usize| shape.shares.get(at).copied();
    let mut chosen: Vec<usize> = (0..values.len().min(shape.effects.len())).collect();
    chosen.sort_by(|&a, &b| share(b).unwrap_or(0.0).total_cmp(&share(a).unwrap_or(0.0)));
    chosen.truncate(MOST_BARS);
    chosen.sort_by(|&a, &b| shape.effects[b].total_cmp(&shape.effects[a]));
    let named = |at: usize| match share(at) {
        Some(share) => format!("{} {:.0}%", visible(&values[at]), 100.0 * share),
        None => visible(&values[at]).into_owned(),
    };
    chosen.iter().map(|&at| Bar { name: named(at), effect: shape.effects[at], deviation: half(at) }).collect()
}
