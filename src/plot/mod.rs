//! Figures of panels: lines for theory and for lower bounds, points with error bars for measurements, lines fitted to them,
//! curves that may coincide; one legend, and all told apart without colour. Tiles of shapes: curves with bands, bars, heat maps.

mod axis;
mod chart;
mod legend;
mod look;
mod pdf;
mod picture;
mod shapes;

use plotters::prelude::*;
use plotters::style::ShapeStyle;

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
    /// A black line with strokes on the side where nothing can be.
    Lower,
    /// Points with error bars, joined by a thin line.
    Measured,
    /// A wide light line in the colour of what it was fitted to, with a band about it.
    Fit,
}

/// Points or a line.
#[derive(Clone, Debug)]
pub struct Series {
    name: String,
    kind: Kind,
    /// x, y and half the height of the error bar.
    points: Vec<(f64, f64, f64)>,
    /// x and the ends of the band.
    band: Vec<(f64, f64, f64)>,
    /// The name of the measurements that a line was fitted to.
    of: String,
    look: Option<usize>,
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

    /// A black line below which nothing can be, with strokes on that side.
    pub fn lower(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series::line(name, Kind::Lower, &points)
    }

    /// Points with error bars, joined by a thin line.
    pub fn measured(name: impl Into<String>, points: Vec<(f64, f64, f64)>) -> Self {
        Series { points, ..Series::line(name, Kind::Measured, &[]) }
    }

    /// A line that was fitted to the measurements of this name, whose colour it has: x, y and the ends of the band there.
    pub fn fit(of: impl Into<String>, name: impl Into<String>, points: &[(f64, f64, (f64, f64))]) -> Self {
        let line: Vec<(f64, f64)> = points.iter().map(|&(x, y, _)| (x, y)).collect();
        let band = points.iter().map(|&(x, _, (low, high))| (x, low, high)).collect();
        Series { of: of.into(), band, ..Series::line(name, Kind::Fit, &line) }
    }

    /// The name in the legend.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The series under another name, and fitted to another name.
    pub fn renamed(self, name: impl Fn(&str) -> String) -> Self {
        Series { name: name(&self.name), of: name(&self.of), ..self }
    }

    /// Whether these are measurements: points with marks.
    pub fn is_measured(&self) -> bool {
        self.kind == Kind::Measured
    }

    /// The series with this look of its kind, counted from 0, instead of the next one that is free.
    pub fn looking(self, look: usize) -> Self {
        Series { look: Some(look), ..self }
    }

    fn line(name: impl Into<String>, kind: Kind, points: &[(f64, f64)]) -> Self {
        let points = points.iter().map(|&(x, y)| (x, y, 0.0)).collect();
        Series { name: name.into(), kind, points, band: Vec::new(), of: String::new(), look: None }
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

type Drawn = Result<(), Box<dyn std::error::Error>>;

/// A path in units of an area.
type Path = Vec<(i32, i32)>;

/// Draws with letters of `text` points and so many units of a surface for a point.
struct Pen {
    text: u32,
    units: u32,
    /// The thinnest line, in quarters of a point.
    thinnest: u32,
    /// Radius of a mark, in points.
    mark: u32,
}

impl Pen {
    /// Lines and marks for a sheet that is shown as large as it is.
    fn new(text: u32, units: u32) -> Self {
        Pen { text, units, thinnest: 2, mark: 4 }
    }

    fn length(&self, points: u32) -> i32 {
        (points * self.units) as i32
    }

    /// A line, `width` in quarters of a point.
    fn style(&self, colour: RGBColor, width: u32) -> ShapeStyle {
        ShapeStyle::from(&colour).stroke_width(width.max(self.thinnest) * self.units / 4)
    }

    /// The size of letters with which a text fits into a room, at most that which is wanted.
    fn fitted(&self, text: &str, wanted: u32, room: u32) -> Result<u32, Box<dyn std::error::Error>> {
        let width = self.width(text, wanted)?;
        Ok(if width > room { wanted * room / width } else { wanted })
    }

    fn width(&self, text: &str, size: u32) -> Result<u32, Box<dyn std::error::Error>> {
        Ok(("sans-serif", size).into_font().box_size(text)?.0)
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
            for format in [Format::Svg, Format::Png, Format::Pdf] {
                assert!(Figure::chart(&panel).to_bytes(format).unwrap().len() > 100);
            }
        }
    }

    /// A panel with every kind of series.
    fn full() -> Panel {
        let x = [1.0, 10.0, 100.0];
        let fitted = x.map(|x| (x, 1.0 / x, (0.9 / x, 1.1 / x)));
        let series = vec![
            Series::theory("theory", x.map(|x| (x, 2.0 / x)).to_vec()),
            Series::lower("lower bound", x.map(|x| (x, 0.1 / x)).to_vec()),
            Series::measured("found", x.map(|x| (x, 1.0 / x, 0.1 / x)).to_vec()),
            Series::fit("found", "found: slope −1.00 [−1.02, −0.98]", &fitted),
        ];
        Panel::of("error by √n, ε = 1", series).x("n", Scale::Log).y("risk", Scale::Log)
    }

    #[test]
    fn a_panel_for_a_column_is_legible_at_its_size() {
        let panels = [panel(vec![(1.0, 0.5, 0.1)]), full()];
        let drawn = svg(&Figure::column(&panels, 1));
        assert!(drawn.starts_with("<svg width=\"227pt\" height=\""), "{}", &drawn[..60]);
        let view = drawn.split("viewBox=\"0 0 ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
        let points = 227.0 / view.unwrap();
        let numbers = |name: &str| -> Vec<f64> {
            let name = format!(" {name}=\"");
            let cells = drawn.split(&name).skip(1);
            cells.map(|cell| cell.split('"').next().unwrap().parse::<f64>().unwrap() * points).collect()
        };
        let (letters, lines) = (numbers("font-size"), numbers("stroke-width"));
        assert!(letters.len() > 10 && letters.iter().all(|size| *size >= 7.0), "{letters:?}");
        assert!(lines.len() > 10 && lines.iter().all(|width| *width >= 0.5), "{lines:?}");
        // Of the other panel nothing but what names look like.
        assert!(drawn.contains("slope −1.00") && drawn.contains("lower bound") && !drawn.contains("excess risk"));
        assert!(svg(&Figure::column(&panels, 2)).contains("<svg"));
    }

    #[test]
    fn what_has_no_place_on_one_axis_takes_none_of_the_other() {
        let rates = [(0.2, 0.3), (0.4, 0.6), (0.9999, 1.0), (0.0, 0.0001)];
        let panel = Panel::of("rates", vec![Series::curve("found", &rates)]);
        let drawn = svg(&Figure::chart(&panel.x("false", Scale::Quantile).y("true", Scale::Quantile)));
        assert!(drawn.contains("0.3\n") && !drawn.contains("0.99") && !drawn.contains("0.001"), "{drawn}");
    }

    #[test]
    fn a_fit_is_named_below_its_panel_and_a_figure_grows_for_it() {
        let (with, without) = (svg(&Figure::of(&[full()])), svg(&Figure::of(&[panel(vec![])])));
        assert!(without.contains("height=\"360\"") && !with.contains("height=\"360\"") && with.contains("slope −1.00"));
        // The band, and the strokes of the lower bound.
        assert!(
            with.matches("<polygon").count() == 1
                && with.matches("<polyline").count() > without.matches("<polyline").count() + 10
        );
    }

    #[test]
    fn a_pdf_has_its_size_and_as_many_letters_as_are_written() {
        let panels = [full()];
        let bytes = Figure::column(&panels, 0).to_bytes(Format::Pdf).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            text.starts_with("%PDF-") && text.trim_end().ends_with("%%EOF") && text.contains("/MediaBox [0 0 227 ")
        );
        assert!(!text.contains("/Font"), "letters are outlines");
        let content = content(&bytes);
        let areas = |title: &str| {
            let panels = [Panel { title: title.into(), ..full() }];
            self::content(&Figure::column(&panels, 0).to_bytes(Format::Pdf).unwrap())
                .lines()
                .filter(|line| *line == "f")
                .count()
        };
        assert_eq!(areas("ε√²") - areas(""), 3);
        // Everything lies on the page: units are eighths of a point, twice as large.
        let [width, height] = [454 * 8, 2 * 8 * 400];
        for line in content.lines().filter(|line| line.ends_with(" m") || line.ends_with(" l")) {
            let at: Vec<f64> = line.split(' ').filter_map(|cell| cell.parse().ok()).collect();
            assert!(at[0] >= 0.0 && at[0] <= f64::from(width) && at[1] >= 0.0 && at[1] <= f64::from(height), "{line}");
        }
    }

    /// What a PDF draws.
    fn content(pdf: &[u8]) -> String {
        use std::io::Read as _;
        let find = |what: &[u8]| pdf.windows(what.len()).position(|window| window == what).unwrap();
        let stream = &pdf[find(b"stream\n") + 7..find(b"\nendstream")];
        let mut text = String::new();
        flate2::read::ZlibDecoder::new(stream).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn every_sign_of_a_label_is_in_the_font() {
        use ab_glyph::Font as _;
        let font = ab_glyph::FontRef::try_from_slice(epaint_default_fonts::UBUNTU_LIGHT).unwrap();
        for sign in "εδρσμ√−×·²³½≥≤∞ΦR²".chars() {
            assert_ne!(font.glyph_id(sign).0, 0, "{sign}");
        }
        assert_eq!(font.glyph_id('⁻').0, 0, "a negative power can be written now");
    }
}
