//! Figures of panels: lines for theory, points with error bars for measurements, curves that may coincide; one legend beside
//! them, and all told apart without colour. Tiles of shapes: curves with bands, bars, heat maps.

mod axis;
mod picture;
mod shapes;

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::ShapeStyle;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use axis::Axis;
pub use axis::{Scale, Spread};
pub use picture::{Figure, Format};
pub use shapes::{Bar, Body, Side, Tile, Tiles};

/// What is drawn of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A line of its own colour, also where another coincides with it.
    Curve,
    /// A black line.
    Theory,
    /// Points with error bars, joined by a thin line.
    Measured,
}

/// Points or a line.
#[derive(Clone, Debug)]
pub struct Series {
    name: String,
    kind: Kind,
    /// x, y and half the height of the error bar.
    points: Vec<(f64, f64, f64)>,
}

impl Series {
    /// A line of its own colour, which others may cover.
    pub fn curve(name: impl Into<String>, points: &[(f64, f64)]) -> Self {
        Series::line(name, Kind::Curve, points)
    }

    /// A black line, to compare measurements with.
    pub fn theory(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series::line(name, Kind::Theory, &points)
    }

    /// Points with error bars, joined by a thin line.
    pub fn measured(name: impl Into<String>, points: Vec<(f64, f64, f64)>) -> Self {
        Series { name: name.into(), kind: Kind::Measured, points }
    }

    fn line(name: impl Into<String>, kind: Kind, points: &[(f64, f64)]) -> Self {
        Series { name: name.into(), kind, points: points.iter().map(|&(x, y)| (x, y, 0.0)).collect() }
    }
}

/// One chart of a figure.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// Label with unit, and scale, of the horizontal axis.
    pub x: (String, Scale),
    /// Label with unit, and scale, of the vertical axis.
    pub y: (String, Scale),
    /// What is drawn.
    pub series: Vec<Series>,
}

impl Panel {
    /// A chart of these lines, whose axes are still without labels.
    pub fn of(title: impl Into<String>, series: Vec<Series>) -> Self {
        let axis = || (String::new(), Scale::Linear);
        Panel { title: title.into(), x: axis(), y: axis(), series }
    }

    /// The chart with this horizontal axis: its label with unit, and its scale.
    pub fn x(self, label: impl Into<String>, scale: Scale) -> Self {
        Panel { x: (label.into(), scale), ..self }
    }

    /// The chart with this vertical axis: its label with unit, and its scale.
    pub fn y(self, label: impl Into<String>, scale: Scale) -> Self {
        Panel { y: (label.into(), scale), ..self }
    }
}

/// Length of a sample in the legend, and where its name begins, in points.
const SAMPLE: (u32, u32) = (34, 42);

/// How a line looks: its colour, its width in quarters of a point, and dash and gap in points, where it is not solid.
#[derive(Clone, Copy)]
struct Look(RGBColor, u32, Option<(u32, u32)>);

/// Curves often coincide, so a dashed one follows each solid one, which is wider and shows through its gaps.
const CURVES: [Look; 6] = [
    Look(BLACK, 8, None),
    Look(RGBColor(90, 170, 230), 16, None),
    Look(RGBColor(170, 40, 0), 8, Some((8, 5))),
    Look(RGBColor(60, 180, 110), 16, None),
    Look(RGBColor(110, 20, 120), 8, Some((3, 4))),
    Look(RGBColor(120, 120, 120), 8, Some((14, 5))),
];

/// Dash and gap of theories.
const DASHES: [Option<(u32, u32)>; 5] = [None, Some((9, 5)), Some((3, 4)), Some((16, 5)), Some((6, 2))];

/// Colours of measurements, dark to light, so that they differ in grey; with the marks they differ anyway.
const COLOURS: [(u8, u8, u8); MARKS] = [
    (0, 0, 0),
    (0, 90, 170),
    (190, 70, 0),
    (0, 130, 90),
    (150, 60, 140),
    (110, 110, 110),
    (60, 150, 210),
    (160, 130, 0),
];

/// Marks of measurements, each with its colour.
const MARKS: usize = 8;

impl Look {
    fn of(kind: Kind, index: usize) -> Look {
        let (red, green, blue) = COLOURS[index % COLOURS.len()];
        match kind {
            Kind::Curve => CURVES[index % CURVES.len()],
            Kind::Theory => Look(BLACK, 6, DASHES[index % DASHES.len()]),
            Kind::Measured => Look(RGBColor(red, green, blue), 2, None),
        }
    }
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

/// What a legend shows, in order: each kind with its names. A name looks the same in every panel.
fn legend(panels: &[Panel]) -> Vec<(Kind, Vec<&str>)> {
    let names = |kind: Kind| {
        let mut names: Vec<&str> = Vec::new();
        for series in panels.iter().flat_map(|panel| &panel.series).filter(|series| series.kind == kind) {
            if !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        (kind, names)
    };
    [Kind::Curve, Kind::Theory, Kind::Measured].map(names).into()
}

/// Draws with letters of `text` points and so many units of a surface for a point.
struct Pen {
    text: u32,
    units: u32,
}

impl Pen {
    fn length(&self, points: u32) -> i32 {
        (points * self.units) as i32
    }

    /// A line, `width` in quarters of a point.
    fn style(&self, colour: RGBColor, width: u32) -> ShapeStyle {
        ShapeStyle::from(&colour).stroke_width(width * self.units / 4)
    }

    fn panel<B>(&self, area: &DrawingArea<B, Shift>, panel: &Panel, legend: &[(Kind, Vec<&str>)]) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let all = || panel.series.iter().flat_map(|series| &series.points).filter(|p| p.1.is_finite());
        let x = Axis::of(panel.x.1, all().map(|p| p.0));
        let y = Axis::of(panel.y.1, all().flat_map(|p| [p.1, p.1 - p.2, p.1 + p.2]));
        let text = ("sans-serif", self.text * self.units);
        // A long title gets smaller letters instead of losing its ends.
        let wanted = (self.text + 2) * self.units;
        let room = area.dim_in_pixel().0.saturating_sub(20 * self.units);
        let width = area.estimate_text_size(&panel.title, &("sans-serif", wanted).into_text_style(area))?.0;
        let mut chart = ChartBuilder::on(area)
            .caption(&panel.title, ("sans-serif", if width > room { wanted * room / width } else { wanted }))
            .margin(10 * self.units)
            .x_label_area_size(3 * self.text * self.units)
            .y_label_area_size(5 * self.text * self.units)
            .build_cartesian_2d(x.clone(), y.clone())?;
        chart
            .configure_mesh()
            .x_desc(&panel.x.0)
            .y_desc(&panel.y.0)
            .axis_style(self.style(BLACK, 4))
            .bold_line_style(self.style(RGBColor(222, 222, 222), 3))
            .light_line_style(TRANSPARENT)
            .set_all_tick_mark_size(4 * self.units)
            .label_style(text)
            .axis_desc_style(text)
            .draw()?;
        for series in &panel.series {
            let names = legend.iter().find(|(kind, _)| *kind == series.kind).map(|(_, names)| names.as_slice());
            let index = names.unwrap_or_default().iter().position(|name| *name == series.name).unwrap_or(0);
            let Look(colour, width, dash) = Look::of(series.kind, index);
            let shown: Vec<_> = series.points.iter().copied().filter(|p| x.shows(p.0) && y.shows(p.1)).collect();
            let (path, style) = (shown.iter().map(|p| (p.0, p.1)), self.style(colour, width));
            match dash.map(|(dash, gap)| (self.length(dash), self.length(gap))) {
                None => chart.draw_series(LineSeries::new(path, style))?,
                Some((dash, gap)) => chart.draw_series(DashedLineSeries::new(path, dash, gap, style))?,
            };
            if series.kind != Kind::Measured {
                continue;
            }
            let low = y.range().start;
            let bar = |p: &(f64, f64, f64)| {
                let bottom = if y.shows(p.1 - p.2) { p.1 - p.2 } else { low };
                PathElement::new(vec![(p.0, bottom), (p.0, p.1 + p.2)], self.style(colour, 4))
            };
            chart.draw_series(shown.iter().filter(|p| p.2 > 0.0 && p.2.is_finite()).map(bar))?;
            chart.draw_series(shown.iter().flat_map(|p| {
                let at = |path| EmptyElement::at((p.0, p.1)) + PathElement::new(path, self.style(colour, 6));
                self.mark(index).into_iter().map(at)
            }))?;
        }
        Ok(())
    }

    /// The strokes of a mark around the origin: circle, square, triangle, cross, diamond, plus, star, triangle on its head.
    fn mark(&self, index: usize) -> Vec<Vec<(i32, i32)>> {
        let r = self.length(4);
        let round = |corners: usize, turn: f64| -> Vec<(i32, i32)> {
            let angle = |i: usize| (i as f64 / corners as f64 + turn) * std::f64::consts::TAU;
            let at = |i: usize| ((f64::from(r) * angle(i).cos()) as i32, (f64::from(r) * angle(i).sin()) as i32);
            (0..=corners).map(at).collect()
        };
        match index % MARKS {
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

    fn legend<B>(&self, area: &DrawingArea<B, Shift>, legend: &[(Kind, Vec<&str>)]) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let text = ("sans-serif", self.text * self.units).into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
        let rows = legend.iter().flat_map(|(kind, names)| names.iter().enumerate().map(move |name| (*kind, name)));
        for (row, (kind, (index, name))) in (0..).zip(rows) {
            let at = self.length(50 + 22 * row);
            let Look(colour, width, dash) = Look::of(kind, index);
            let (sample, style) = (vec![(0, at), (self.length(SAMPLE.0), at)], self.style(colour, width));
            match dash.map(|(dash, gap)| (self.length(dash), self.length(gap))) {
                None => area.draw(&PathElement::new(sample, style))?,
                Some((dash, gap)) => area.draw(&DashedPathElement::new(sample, dash, gap, style))?,
            }
            let marks = if kind == Kind::Measured { self.mark(index) } else { Vec::new() };
            for path in marks {
                let path = path.into_iter().map(|(x, y)| (x + self.length(SAMPLE.0 / 2), y + at)).collect::<Vec<_>>();
                area.draw(&PathElement::new(path, self.style(colour, 6)))?;
            }
            area.draw_text(name, &text, (self.length(SAMPLE.1), at))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(points: Vec<(f64, f64, f64)>) -> Panel {
        Panel {
            title: "error".into(),
            x: ("rows".into(), Scale::Log),
            y: ("excess risk".into(), Scale::Log),
            series: vec![Series::theory("bound", vec![(1.0, 1.0), (10.0, 0.1)]), Series::measured("found", points)],
        }
    }

    fn curves(series: Vec<Series>) -> Panel {
        let (x, y) = (("delta".into(), Scale::Fitting), ("epsilon".into(), Scale::Fitting));
        Panel { title: "title".into(), x, y, series }
    }

    fn svg(figure: &Figure<'_>) -> String {
        String::from_utf8(figure.to_bytes(Format::Svg).unwrap()).unwrap()
    }

    #[test]
    fn a_figure_names_its_axes_and_series() {
        let panels = [panel(vec![(1.0, 0.5, 0.1), (10.0, 0.05, 0.1)]), panel(vec![]), panel(vec![])];
        let figure = svg(&Figure::of(&panels));
        for text in ["<svg", "error", "rows", "excess risk", "bound", "found", "width=\"1170\"", "height=\"720\""] {
            assert!(figure.contains(text), "{text}");
        }
        assert!(svg(&Figure::chart(&curves(vec![]))).contains("width=\"840\" height=\"560\""));
    }

    #[test]
    fn figures_of_nothing_are_drawn() {
        assert!(svg(&Figure::of(&[])).contains("<svg"));
        assert!(svg(&Figure::of(&[panel(vec![(0.0, f64::NAN, f64::INFINITY)])])).contains("<svg"));
        for points in [vec![], vec![(1.0, f64::INFINITY)], vec![(1.0, 0.0), (1e9, 0.0)], vec![(0.0, 1.0)]] {
            let panel = curves(vec![Series::curve("x".repeat(200), &points)]);
            for format in [Format::Svg, Format::Png] {
                assert!(Figure::chart(&panel).to_bytes(format).unwrap().len() > 100);
            }
        }
    }
}
