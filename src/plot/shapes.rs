//! Tiles: a curve with its band and a rug, bars of named values, or a heat map; several beside each other.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::{Axis, Spread};
use super::picture::{Sheet, to_bytes};
use super::{Drawn, Format, Pen, Scale};
use crate::error::Fallible;

/// Width and height of a tile, and of its letters, in points.
const TILE: (u32, u32) = (380, 270);
const TEXT: u32 = 12;

/// Tiles beside each other.
const ACROSS: usize = 3;

/// Share of the height of a curve's tile that is kept for the rug.
const RUG: f64 = 0.12;

/// Letters of a name that are shown, and of one that stands upright.
const NAME: usize = 24;
const UPRIGHT: usize = 10;

const LINE: RGBColor = RGBColor(0, 90, 170);
const BAND: RGBColor = RGBColor(196, 218, 240);
const GREY: RGBColor = RGBColor(150, 150, 150);
const LIGHT: RGBColor = RGBColor(222, 222, 222);

/// One tile.
#[derive(Clone, Debug)]
pub struct Tile {
    /// What it shows.
    pub title: String,
    /// What is drawn.
    pub body: Body,
}

/// What is drawn on a [`Tile`].
#[derive(Clone, Debug)]
pub enum Body {
    /// A curve.
    Curve {
        /// Points that a line joins.
        line: Vec<(f64, f64)>,
        /// Places with the ends of the band there; empty for none.
        band: Vec<(f64, f64, f64)>,
        /// Intervals with the share of rows in each; empty for none.
        rug: Vec<(f64, f64, f64)>,
        /// The horizontal axis, where equal differences are not equally long.
        spread: Option<Spread>,
    },
    /// Bars from zero, the first above.
    Bars(Vec<Bar>),
    /// Colours: blue below zero, red above.
    Heat {
        /// Along the horizontal axis.
        x: Side,
        /// Along the vertical axis.
        y: Side,
        /// A row for each part of `x`, a number for each part of `y`; grey where it is NaN.
        values: Vec<Vec<f64>>,
    },
}

/// A bar of a [`Body::Bars`].
#[derive(Clone, Debug)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// Where it ends.
    pub effect: f64,
    /// Half the length of its error bar.
    pub deviation: f64,
}

/// The parts of a side of a [`Body::Heat`], with what the side stands for.
#[derive(Clone, Debug)]
pub enum Side {
    /// Between these ends, on an axis of its own where equal differences are not equally long.
    Ends(String, Vec<f64>, Option<Spread>),
    /// Named parts of equal length.
    Names(String, Vec<String>),
}

impl Side {
    fn label(&self) -> &str {
        match self {
            Side::Ends(label, ..) | Side::Names(label, _) => label,
        }
    }

    /// Where parts end.
    fn ends(&self) -> Vec<f64> {
        match self {
            Side::Ends(_, ends, _) => ends.clone(),
            Side::Names(_, names) => (0..=names.len()).map(|at| at as f64).collect(),
        }
    }

    /// The axis along it.
    fn axis(&self, ends: (f64, f64)) -> Axis {
        let spread = if let Side::Ends(_, _, spread) = self { spread.as_ref() } else { None };
        Axis::whole(ends, spread)
    }

    fn names(&self) -> &[String] {
        match self {
            Side::Ends(..) => &[],
            Side::Names(_, names) => names,
        }
    }
}

/// A place with the ends of a band, or an interval with its share.
type Piece = (f64, f64, f64);

/// Several tiles on one sheet, three beside each other.
pub struct Tiles<'a>(pub &'a [Tile]);

impl Tiles<'_> {
    /// The tiles as the content of a file.
    ///
    /// # Errors
    /// When they cannot be drawn.
    pub fn to_bytes(&self, format: Format) -> Fallible<Vec<u8>> {
        to_bytes(self, format)
    }

    fn grid(&self) -> (usize, usize) {
        let across = self.0.len().clamp(1, ACROSS);
        (across, self.0.len().div_ceil(across).max(1))
    }
}

impl Sheet for Tiles<'_> {
    fn size(&self) -> (u32, u32) {
        let (across, down) = self.grid();
        (TILE.0 * across as u32, TILE.1 * down as u32)
    }

    fn draw<B>(&self, root: &DrawingArea<B, Shift>, units: u32) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let pen = Pen::new(TEXT, units);
        let (across, down) = self.grid();
        for (area, tile) in root.split_evenly((down, across)).iter().zip(self.0) {
            match &tile.body {
                Body::Curve { line, band, rug, spread } => {
                    pen.curve(area, &tile.title, line, (band, rug), spread.as_ref())?;
                }
                Body::Bars(bars) => pen.bars(area, &tile.title, bars)?,
                Body::Heat { x, y, values } => pen.heat(area, &tile.title, (x, y), values)?,
            }
        }
        Ok(())
    }
}

/// A name that fits.
fn cut(name: &str, most: usize) -> String {
    if name.chars().count() <= most { name.to_owned() } else { name.chars().take(most - 1).chain(['…']).collect() }
}

/// Blue below zero, white there, red above; for shares of the largest size.
fn colour(share: f64) -> RGBColor {
    if share.is_nan() {
        return LIGHT;
    }
    let towards = |full: u8| (255.0 + (f64::from(full) - 255.0) * share.abs().min(1.0)) as u8;
    let (red, green, blue) = if share < 0.0 { (30, 90, 180) } else { (190, 40, 30) };
    RGBColor(towards(red), towards(green), towards(blue))
}

impl Pen {
    /// The frame of a tile: title and margins.
    fn frame<'a, 'b, B: DrawingBackend>(
        &self,
        area: &'a DrawingArea<B, Shift>,
        title: &str,
    ) -> ChartBuilder<'a, 'b, B> {
        let mut frame = ChartBuilder::on(area);
        let size = self.text * self.units;
        // A long title gets smaller letters instead of losing its ends.
        let room = area.dim_in_pixel().0.saturating_sub(20 * self.units);
        let wanted = size + 2 * self.units;
        let width = area
            .estimate_text_size(title, &("sans-serif", wanted).into_text_style(area))
            .map_or(room, |(width, _)| width);
        let letters = if width > room { wanted * room / width.max(1) } else { wanted };
        frame.caption(title, ("sans-serif", letters)).margin(8 * self.units).x_label_area_size(2 * size);
        frame
    }

    fn curve<B>(
        &self,
        area: &DrawingArea<B, Shift>,
        title: &str,
        line: &[(f64, f64)],
        (band, rug): (&[Piece], &[Piece]),
        spread: Option<&Spread>,
    ) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let shown = || line.iter().map(|point| point.1).chain(band.iter().flat_map(|at| [at.1, at.2]));
        let shown = || shown().filter(|value| value.is_finite()).chain([0.0]);
        let (low, high) = (shown().fold(0.0, f64::min), shown().fold(0.0, f64::max));
        let below = if rug.is_empty() { low } else { low - RUG * (high - low).max(f64::MIN_POSITIVE) };
        let x = Axis::spread(spread, line.iter().map(|point| point.0));
        let y = Axis::of(Scale::Linear, shown().chain([below]));
        let bottom = y.range().start;
        let mut chart =
            self.frame(area, title).y_label_area_size(4 * self.text * self.units).build_cartesian_2d(x.clone(), y)?;
        let largest = rug.iter().map(|(_, _, share)| *share).fold(f64::MIN_POSITIVE, f64::max);
        // By the root, so that few rows are seen beside many; with a stroke, so that a narrow interval is.
        let height = |share: f64| bottom + (share / largest).max(0.0).sqrt() * RUG * (high - bottom);
        chart.draw_series(
            rug.iter().map(|&(from, to, share)| Rectangle::new([(from, bottom), (to, height(share))], GREY.filled())),
        )?;
        chart.draw_series(rug.iter().map(|&(from, to, share)| {
            let middle = from + (to - from) / 2.0;
            PathElement::new(vec![(middle, bottom), (middle, height(share))], self.style(GREY, 4))
        }))?;
        let outline = band.iter().map(|at| (at.0, at.1)).chain(band.iter().rev().map(|at| (at.0, at.2)));
        if !band.is_empty() {
            chart.draw_series([Polygon::new(outline.collect::<Vec<_>>(), BAND.filled())])?;
        }
        let text = ("sans-serif", self.text * self.units);
        chart
            .configure_mesh()
            .axis_style(self.style(BLACK, 4))
            .bold_line_style(self.style(LIGHT, 3))
            .light_line_style(TRANSPARENT)
            .set_all_tick_mark_size(4 * self.units)
            .label_style(text)
            .draw()?;
        let range = x.range();
        chart.draw_series([PathElement::new(vec![(range.start, 0.0), (range.end, 0.0)], self.style(GREY, 3))])?;
        chart.draw_series(LineSeries::new(line.iter().copied(), self.style(LINE, 6)))?;
        Ok(())
    }

    fn bars<B>(&self, area: &DrawingArea<B, Shift>, title: &str, bars: &[Bar]) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let ends = |bar: &Bar| [bar.effect, bar.effect - bar.deviation, bar.effect + bar.deviation, 0.0];
        let x = Axis::of(Scale::Linear, bars.iter().flat_map(ends));
        let names: Vec<String> = bars.iter().map(|bar| cut(&bar.name, NAME)).collect();
        let range = x.range();
        let (count, size) = (bars.len() as f64, self.letters(bars.len()));
        let room = self.widest(area, &names, size)?;
        let mut chart = self.frame(area, title).y_label_area_size(room).build_cartesian_2d(x, 0.0..count)?;
        let text = ("sans-serif", self.text * self.units);
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .axis_style(self.style(BLACK, 4))
            .bold_line_style(self.style(LIGHT, 3))
            .light_line_style(TRANSPARENT)
            .set_all_tick_mark_size(4 * self.units)
            .label_style(text)
            .draw()?;
        let middle = |at: usize| count - at as f64 - 0.5;
        chart.draw_series(bars.iter().enumerate().map(|(at, bar)| {
            Rectangle::new([(0.0, middle(at) - 0.36), (bar.effect, middle(at) + 0.36)], BAND.filled())
        }))?;
        chart.draw_series(bars.iter().enumerate().map(|(at, bar)| {
            let path = vec![(bar.effect, middle(at) - 0.36), (bar.effect, middle(at) + 0.36)];
            PathElement::new(path, self.style(LINE, 8))
        }))?;
        chart.draw_series(bars.iter().enumerate().filter(|(_, bar)| bar.deviation > 0.0).map(|(at, bar)| {
            let path = vec![(bar.effect - bar.deviation, middle(at)), (bar.effect + bar.deviation, middle(at))];
            PathElement::new(path, self.style(BLACK, 4))
        }))?;
        chart.draw_series([PathElement::new(vec![(0.0, 0.0), (0.0, count)], self.style(GREY, 3))])?;
        let at = |row: usize| chart.backend_coord(&(range.start, middle(row)));
        self.names_left(area, &names, size, at)
    }

    fn heat<B>(&self, area: &DrawingArea<B, Shift>, title: &str, (x, y): (&Side, &Side), values: &[Vec<f64>]) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let (across, up) = (x.ends(), y.ends());
        let (Some((&left, &right)), Some((&low, &high))) =
            (across.first().zip(across.last()), up.first().zip(up.last()))
        else {
            return Ok(());
        };
        let text = ("sans-serif", self.text * self.units);
        let names: Vec<String> = y.names().iter().map(|name| cut(name, NAME)).collect();
        let size = self.letters(names.len());
        let upright: Vec<String> = x.names().iter().map(|name| cut(name, UPRIGHT)).collect();
        let room = if names.is_empty() { 5 * self.text * self.units } else { self.widest(area, &names, size)? };
        let below = match upright.is_empty() {
            true => 3 * self.text * self.units,
            false => self.widest(area, &upright, size)? + 2 * self.text * self.units,
        };
        let mut chart = self
            .frame(area, title)
            .x_label_area_size(below)
            .y_label_area_size(room)
            .build_cartesian_2d(x.axis((left, right)), y.axis((low, high)))?;
        let mut mesh = chart.configure_mesh();
        let mesh = mesh.disable_mesh().axis_style(self.style(BLACK, 4)).label_style(text).axis_desc_style(text);
        let mesh = mesh.set_all_tick_mark_size(4 * self.units).x_desc(x.label());
        let mesh = if upright.is_empty() { mesh } else { mesh.x_label_formatter(&|_| String::new()) };
        if names.is_empty() { mesh.y_desc(y.label()) } else { mesh.disable_y_axis() }.draw()?;
        let largest = values
            .iter()
            .flatten()
            .map(|value| value.abs())
            .filter(|size| size.is_finite())
            .fold(f64::MIN_POSITIVE, f64::max);
        let cells = values.iter().zip(across.windows(2)).flat_map(|(row, x)| {
            row.iter()
                .zip(up.windows(2))
                .map(move |(value, y)| Rectangle::new([(x[0], y[0]), (x[1], y[1])], colour(value / largest).filled()))
        });
        chart.draw_series(cells)?;
        let at = |row: usize| chart.backend_coord(&(left, row as f64 + 0.5));
        self.names_left(area, &names, size, at)?;
        let style = ("sans-serif", size).into_text_style(area).transform(FontTransform::Rotate90);
        let style = style.pos(Pos::new(HPos::Left, VPos::Center));
        for (column, name) in upright.iter().enumerate() {
            let (x, y) = chart.backend_coord(&(column as f64 + 0.5, low));
            let (x, y) = self.inside(area, (x, y));
            area.draw_text(name, &style, (x, y + self.length(4)))?;
        }
        Ok(())
    }

    /// Size of letters of so many names below each other.
    fn letters(&self, names: usize) -> u32 {
        let room = (TILE.1 - 5 * TEXT) as usize / names.max(1);
        (room as u32).clamp(6, self.text) * self.units
    }

    fn widest<B>(
        &self,
        area: &DrawingArea<B, Shift>,
        names: &[String],
        size: u32,
    ) -> Result<u32, Box<dyn std::error::Error>>
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let style = ("sans-serif", size).into_text_style(area);
        let mut widest = 0;
        for name in names {
            widest = widest.max(area.estimate_text_size(name, &style)?.0);
        }
        Ok(widest + 10 * self.units)
    }

    /// Names that end where an axis begins.
    fn names_left<B>(
        &self,
        area: &DrawingArea<B, Shift>,
        names: &[String],
        size: u32,
        at: impl Fn(usize) -> (i32, i32),
    ) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let style = ("sans-serif", size).into_text_style(area).pos(Pos::new(HPos::Right, VPos::Center));
        for (row, name) in names.iter().enumerate() {
            let (x, y) = self.inside(area, at(row));
            area.draw_text(name, &style, (x - self.length(5), y))?;
        }
        Ok(())
    }

    /// A place of the whole sheet, counted from the corner of an area.
    fn inside<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, (x, y): (i32, i32)) -> (i32, i32) {
        let (left, top) = area.get_base_pixel();
        (x - left, y - top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_tile_is_drawn_whatever_is_on_it() {
        let curve = |line: Vec<(f64, f64)>| Body::Curve {
            band: line.iter().map(|&(x, y)| (x, y - 1.0, y + 1.0)).collect(),
            rug: vec![(0.0, 1.0, 0.5), (1.0, 1.0, 0.5)],
            spread: Spread::new(&[0.0, 0.1, 1.0], &[1.0, 1.0]),
            line,
        };
        let bar = |effect| Bar { name: "x<y & \"z\"".repeat(9), effect, deviation: 0.1 };
        let side = |count: usize| Side::Names("s".into(), vec!["name".into(); count]);
        let bodies = [
            curve(vec![(0.0, 1.0), (1.0, -1.0)]),
            curve(vec![(0.0, f64::NAN), (1.0, 0.0)]),
            curve(vec![]),
            Body::Bars(vec![bar(1.0), bar(-0.5)]),
            Body::Bars(vec![bar(0.0); 40]),
            Body::Bars(vec![]),
            Body::Heat {
                x: Side::Ends("<x>".into(), vec![0.0, 1.0, 5.0], Spread::new(&[0.0, 1.0, 5.0], &[1.0, 1.0])),
                y: side(2),
                values: vec![vec![0.0, 1.0]; 2],
            },
            Body::Heat { x: side(1), y: side(1), values: vec![vec![0.0]] },
            Body::Heat { x: Side::Ends("x".into(), vec![], None), y: side(0), values: vec![] },
        ];
        let tiles: Vec<Tile> = bodies.map(|body| Tile { title: "a<b & c".into(), body }).into();
        let svg = String::from_utf8(Tiles(&tiles).to_bytes(Format::Svg).unwrap()).unwrap();
        assert!(svg.contains("width=\"1140\" height=\"810\"") && svg.contains("a&lt;b &amp; c"));
        assert!(!svg.contains("<x>") && !svg.contains("x<y"));
        assert!(Tiles(&tiles).to_bytes(Format::Png).unwrap().len() > 1000);
        assert!(Tiles(&[]).to_bytes(Format::Svg).is_ok());
    }

    #[test]
    fn colours_are_white_at_zero_and_full_at_the_ends() {
        assert_eq!(
            [colour(0.0), colour(-2.0), colour(1.0), colour(f64::NAN)],
            [WHITE, RGBColor(30, 90, 180), RGBColor(190, 40, 30), LIGHT]
        );
        assert_eq!(cut("abcdef", 4), "abc…");
    }
}
