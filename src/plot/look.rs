//! How series look: lines and marks that are told apart without colour.

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;

use super::{Drawn, Kind, Path, Pen};

/// How a series looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look {
    pub(super) colour: RGBColor,
    /// Width of the line in quarters of a point.
    width: u32,
    /// Dash and gap in points, where the line is not solid.
    dash: Option<(u32, u32)>,
    /// Whether strokes say that nothing is below.
    hatched: bool,
    /// The mark of measurements, and of a line that was fitted to them.
    mark: Option<usize>,
}

const fn line(colour: RGBColor, width: u32, dash: Option<(u32, u32)>) -> Look {
    Look { colour, width, dash, hatched: false, mark: None }
}

/// Curves often coincide, so a dashed one follows each solid one, which is wider and shows through its gaps.
const CURVES: [Look; 6] = [
    line(BLACK, 8, None),
    line(RGBColor(90, 170, 230), 16, None),
    line(RGBColor(170, 40, 0), 8, Some((8, 5))),
    line(RGBColor(60, 180, 110), 16, None),
    line(RGBColor(110, 20, 120), 8, Some((3, 4))),
    line(RGBColor(120, 120, 120), 8, Some((14, 5))),
];

/// Dash and gap of theories, and of lower bounds.
const DASHES: [Option<(u32, u32)>; 5] = [None, Some((9, 5)), Some((3, 4)), Some((16, 5)), Some((6, 2))];

/// Colours of measurements, dark to light, so that they differ in grey; with the marks they differ anyway.
const COLOURS: [RGBColor; OPEN] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 90, 170),
    RGBColor(190, 70, 0),
    RGBColor(0, 130, 90),
    RGBColor(150, 60, 140),
    RGBColor(110, 110, 110),
    RGBColor(60, 150, 210),
    RGBColor(160, 130, 0),
];

/// Marks of measurements that are strokes, each with its colour; behind them come filled ones.
const OPEN: usize = 8;

/// The marks that can be filled, and colours for them that their open ones do not have.
const FILLED: [(usize, usize); 5] = [(0, 3), (1, 2), (2, 4), (4, 1), (7, 0)];

/// Looks of measurements.
pub(super) const MARKS: usize = OPEN + FILLED.len();

/// Length of a stroke below a lower bound, and the way to the next one, in points.
const HATCH: (u32, u32) = (5, 7);

impl Look {
    /// Look `index` of a kind; they begin anew behind the last.
    pub(super) fn of(kind: Kind, index: usize) -> Look {
        let dash = DASHES[index % DASHES.len()];
        let mark = index % MARKS;
        let colour = COLOURS[mark.checked_sub(OPEN).map_or(mark, |filled| FILLED[filled].1)];
        match kind {
            Kind::Curve => CURVES[index % CURVES.len()],
            Kind::Theory => line(BLACK, 6, dash),
            Kind::Lower => Look { hatched: true, ..line(BLACK, 5, dash) },
            Kind::Measured => Look { mark: Some(mark), ..line(colour, 2, None) },
            Kind::Fit => Look { mark: Some(mark), ..line(lighter(colour, 0.55), 14, None) },
        }
    }

    /// The colour of a band about the line.
    pub(super) fn band(&self) -> RGBColor {
        lighter(self.colour, 0.5)
    }
}

/// A colour with this share of white.
fn lighter(RGBColor(red, green, blue): RGBColor, white: f64) -> RGBColor {
    let towards = |it: u8| (f64::from(it) + (255.0 - f64::from(it)) * white) as u8;
    RGBColor(towards(red), towards(green), towards(blue))
}

impl Pen {
    /// A line along a path.
    pub(super) fn line<B>(&self, area: &DrawingArea<B, Shift>, path: Path, look: &Look) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let style = self.style(look.colour, look.width);
        if look.hatched {
            for stroke in self.strokes(&path) {
                area.draw(&PathElement::new(stroke, self.style(look.colour, 4)))?;
            }
        }
        match look.dash.map(|(dash, gap)| (self.length(dash), self.length(gap))) {
            None => area.draw(&PathElement::new(path, style))?,
            Some((dash, gap)) => area.draw(&DashedPathElement::new(path, dash, gap, style))?,
        }
        Ok(())
    }

    /// Strokes at equal distances along a path, at right angles to it and on its lower side.
    fn strokes(&self, path: &Path) -> Vec<Path> {
        let (length, apart) = (f64::from(self.length(HATCH.0)), f64::from(self.length(HATCH.1)));
        let (mut strokes, mut left) = (Vec::new(), apart / 2.0);
        for pair in path.windows(2) {
            let [(x0, y0), (x1, y1)] = [pair[0], pair[1]].map(|(x, y)| (f64::from(x), f64::from(y)));
            let way = (x1 - x0).hypot(y1 - y0);
            let (along, down) = ((x1 - x0) / way, (y1 - y0) / way);
            // Of both right angles the one that points down, where coordinates grow.
            let (right, below) = if along >= 0.0 { (-down, along) } else { (down, -along) };
            while left < way {
                let (x, y) = (x0 + left * along, y0 + left * down);
                let end = (x + length * right, y + length * below);
                strokes.push(vec![(x as i32, y as i32), (end.0 as i32, end.1 as i32)]);
                left += apart;
            }
            left -= way;
        }
        strokes
    }

    /// The mark of a look at a place, if it has one.
    pub(super) fn mark<B>(&self, area: &DrawingArea<B, Shift>, (x, y): (i32, i32), look: &Look) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let Some(mark) = look.mark else { return Ok(()) };
        let filled = mark.checked_sub(OPEN);
        for path in self.outline(filled.map_or(mark, |filled| FILLED[filled].0)) {
            let path: Path = path.into_iter().map(|(right, below)| (x + right, y + below)).collect();
            if filled.is_some() {
                area.draw(&Polygon::new(path.clone(), look.colour.filled()))?;
            }
            area.draw(&PathElement::new(path, self.style(look.colour, 6)))?;
        }
        Ok(())
    }

    /// The strokes of a mark around the origin: circle, square, triangle, cross, diamond, plus, star, triangle on its head.
    fn outline(&self, mark: usize) -> Vec<Path> {
        let r = self.length(self.mark);
        let round = |corners: usize, turn: f64| -> Path {
            let angle = |i: usize| (i as f64 / corners as f64 + turn) * std::f64::consts::TAU;
            let at = |i: usize| ((f64::from(r) * angle(i).cos()) as i32, (f64::from(r) * angle(i).sin()) as i32);
            (0..=corners).map(at).collect()
        };
        match mark {
            0 => vec![round(24, 0.0)],
            1 => vec![round(4, 0.125)],
            2 => vec![round(3, 0.75)],
            3 => vec![vec![(-r, -r), (r, r)], vec![(-r, r), (r, -r)]],
            4 => vec![round(4, 0.0)],
            5 => vec![vec![(-r, 0), (r, 0)], vec![(0, -r), (0, r)]],
            6 => vec![vec![(-r, -r), (r, r)], vec![(-r, r), (r, -r)], vec![(-r, 0), (r, 0)], vec![(0, -r), (0, r)]],
            _ => vec![round(3, 0.25)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a look in grey.
    fn grey(look: Look) -> (u32, Option<(u32, u32)>, bool, Option<usize>, u8) {
        let RGBColor(red, green, blue) = look.colour;
        let light = 0.3 * f64::from(red) + 0.59 * f64::from(green) + 0.11 * f64::from(blue);
        (look.width, look.dash, look.hatched, look.mark, (light / 12.0) as u8)
    }

    #[test]
    fn no_two_looks_are_the_same_in_grey() {
        let counts =
            [(Kind::Curve, 6), (Kind::Theory, 5), (Kind::Lower, 5), (Kind::Measured, MARKS), (Kind::Fit, MARKS)];
        let looks: Vec<_> =
            counts.iter().flat_map(|&(kind, count)| (0..count).map(move |index| Look::of(kind, index))).collect();
        for (at, look) in looks.iter().enumerate() {
            let same: Vec<_> = looks[at + 1..].iter().filter(|other| grey(**other) == grey(*look)).collect();
            assert!(same.is_empty(), "{look:?} is as {same:?}");
        }
        // A line that was fitted is far wider than any theory, and lighter, also in black.
        let (fit, theory) = (Look::of(Kind::Fit, 0), Look::of(Kind::Theory, 0));
        assert!(fit.width >= 2 * theory.width && fit.colour.0 > 120, "{fit:?}");
    }

    #[test]
    fn strokes_point_down_whichever_way_a_line_goes() {
        let pen = Pen::new(14, 8);
        for path in [vec![(0, 0), (800, 400)], vec![(0, 400), (800, 0)], vec![(800, 0), (0, 0)], vec![(0, 0), (0, 0)]] {
            let strokes = pen.strokes(&path);
            assert!(strokes.iter().all(|stroke| stroke[1].1 > stroke[0].1), "{path:?}: {strokes:?}");
            assert_eq!(strokes.len() > 10, path[0] != path[1]);
        }
    }
}
