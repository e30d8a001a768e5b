//! Figures of panels: lines for theory, points with error bars for measurements, one legend; told apart without colour.

mod axis;

use std::path::Path;

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{ShapeStyle, register_font};
use rhograd::error::{Error, Fallible};

use axis::Axis;
pub use axis::Scale;

/// Points or a line.
#[derive(Clone, Debug)]
pub struct Series {
    name: String,
    measured: bool,
    /// x, y and half the height of the error bar.
    points: Vec<(f64, f64, f64)>,
}

impl Series {
    /// A line.
    pub fn theory(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| (x, y, 0.0)).collect();
        Series { name: name.into(), measured: false, points }
    }

    /// Points with error bars, joined by a thin line.
    pub fn measured(name: impl Into<String>, points: Vec<(f64, f64, f64)>) -> Self {
        Series { name: name.into(), measured: true, points }
    }
}

/// One chart of a figure.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// Label with unit, and scale, of the horizontal axis.
    pub x: (String, Scale),
    /// The same of the vertical axis.
    pub y: (String, Scale),
    /// What is drawn.
    pub series: Vec<Series>,
}

/// Width and height of a panel and width of the legend, in points.
const PANEL: (u32, u32) = (460, 360);
const LEGEND: u32 = 250;

/// Panels beside each other.
const ACROSS: usize = 2;

/// Units of the picture per point: coordinates are whole numbers.
const UNITS: u32 = 8;

const TEXT: u32 = 14;

/// Dash and gap of lines in points; the first is solid.
const DASHES: [(i32, i32); 5] = [(0, 0), (9, 5), (3, 4), (16, 5), (6, 2)];

/// Dark to light, so that they differ in grey; with the marks they differ anyway.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 90, 170),
    RGBColor(190, 70, 0),
    RGBColor(0, 130, 90),
    RGBColor(150, 60, 140),
    RGBColor(110, 110, 110),
];

type Drawn = Result<(), Box<dyn std::error::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Writes a figure as SVG.
///
/// # Errors
/// When it cannot be drawn or written.
pub fn write(path: &Path, panels: &[Panel]) -> Fallible<()> {
    std::fs::write(path, svg(panels)?).map_err(|e| Error::io(path, "write it", e))
}

/// A figure as SVG.
///
/// # Errors
/// When it cannot be drawn.
pub fn svg(panels: &[Panel]) -> Fallible<String> {
    register_font("sans-serif", FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT)
        .map_err(|_| Error::numerical("plot", "the font that comes with the program cannot be read"))?;
    let across = panels.len().clamp(1, ACROSS);
    let down = panels.len().div_ceil(across).max(1);
    let size = ((PANEL.0 * across as u32 + LEGEND) * UNITS, PANEL.1 * down as u32 * UNITS);
    let mut text = String::new();
    figure(&mut text, size, panels, (down, across)).map_err(|e| Error::numerical("plot", e.to_string()))?;
    // Shown at its size in points.
    let drawn = format!("width=\"{}\" height=\"{}\"", size.0, size.1);
    Ok(text.replacen(&drawn, &format!("width=\"{}\" height=\"{}\"", size.0 / UNITS, size.1 / UNITS), 1))
}

fn figure(text: &mut String, size: (u32, u32), panels: &[Panel], grid: (usize, usize)) -> Drawn {
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    root.fill(&WHITE)?;
    let looks = Looks::of(panels);
    let (left, right) = root.split_horizontally(size.0 - LEGEND * UNITS);
    for (area, panel) in left.split_evenly(grid).iter().zip(panels) {
        draw_panel(area, panel, &looks)?;
    }
    draw_legend(&right, &looks)?;
    root.present()?;
    Ok(())
}

/// Which lines and which points there are, in order of appearance: a name looks the same in every panel.
struct Looks {
    lines: Vec<String>,
    points: Vec<String>,
}

impl Looks {
    fn of(panels: &[Panel]) -> Self {
        let names = |measured: bool| {
            let mut names: Vec<String> = Vec::new();
            for series in panels.iter().flat_map(|panel| &panel.series).filter(|series| series.measured == measured) {
                if !names.contains(&series.name) {
                    names.push(series.name.clone());
                }
            }
            names
        };
        Looks { lines: names(false), points: names(true) }
    }

    fn index(&self, series: &Series) -> usize {
        let names = if series.measured { &self.points } else { &self.lines };
        names.iter().position(|name| *name == series.name).unwrap_or(0)
    }
}

fn style(colour: RGBColor, width: u32) -> ShapeStyle {
    ShapeStyle::from(&colour).stroke_width(width * UNITS / 4)
}

fn draw_panel(area: &Area<'_>, panel: &Panel, looks: &Looks) -> Drawn {
    let all = || panel.series.iter().flat_map(|series| &series.points);
    let x = Axis::of(panel.x.1, all().map(|p| p.0));
    let y = Axis::of(panel.y.1, all().flat_map(|p| [p.1, p.1 - p.2, p.1 + p.2]));
    let text = ("sans-serif", TEXT * UNITS);
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", (TEXT + 2) * UNITS))
        .margin(10 * UNITS)
        .x_label_area_size(3 * TEXT * UNITS)
        .y_label_area_size(5 * TEXT * UNITS)
        .build_cartesian_2d(x.clone(), y.clone())?;
    chart
        .configure_mesh()
        .x_desc(&panel.x.0)
        .y_desc(&panel.y.0)
        .axis_style(style(BLACK, 4))
        .bold_line_style(style(RGBColor(222, 222, 222), 3))
        .light_line_style(TRANSPARENT)
        .set_all_tick_mark_size(4 * UNITS)
        .label_style(text)
        .axis_desc_style(text)
        .draw()?;
    for series in &panel.series {
        let index = looks.index(series);
        let shown: Vec<_> = series.points.iter().copied().filter(|p| x.shows(p.0) && y.shows(p.1)).collect();
        let path = shown.iter().map(|p| (p.0, p.1));
        if !series.measured {
            let (dash, gap) = DASHES[index % DASHES.len()];
            let units = UNITS as i32;
            match dash {
                0 => chart.draw_series(LineSeries::new(path, style(BLACK, 6)))?,
                _ => chart.draw_series(DashedLineSeries::new(path, dash * units, gap * units, style(BLACK, 6)))?,
            };
            continue;
        }
        let colour = COLOURS[index % COLOURS.len()];
        chart.draw_series(LineSeries::new(path, style(colour, 2)))?;
        let low = y.range_low();
        let bar = |p: &(f64, f64, f64)| {
            let bottom = if y.shows(p.1 - p.2) { p.1 - p.2 } else { low };
            PathElement::new(vec![(p.0, bottom), (p.0, p.1 + p.2)], style(colour, 4))
        };
        chart.draw_series(shown.iter().filter(|p| p.2 > 0.0 && p.2.is_finite()).map(bar))?;
        chart.draw_series(shown.iter().flat_map(|p| {
            mark(index)
                .into_iter()
                .map(move |path| EmptyElement::at((p.0, p.1)) + PathElement::new(path, style(colour, 6)))
        }))?;
    }
    Ok(())
}

/// The strokes of a mark around the origin: circle, square, triangle, cross, diamond, plus.
fn mark(index: usize) -> Vec<Vec<(i32, i32)>> {
    let r = 4 * UNITS as i32;
    let round = |corners: usize, turn: f64| -> Vec<(i32, i32)> {
        let angle = |i: usize| (i as f64 / corners as f64 + turn) * std::f64::consts::TAU;
        let at = |i: usize| ((f64::from(r) * angle(i).cos()) as i32, (f64::from(r) * angle(i).sin()) as i32);
        (0..=corners).map(at).collect()
    };
    match index % 6 {
        0 => vec![round(24, 0.0)],
        1 => vec![round(4, 0.125)],
        2 => vec![round(3, 0.75)],
        3 => vec![vec![(-r, -r), (r, r)], vec![(-r, r), (r, -r)]],
        4 => vec![round(4, 0.0)],
        _ => vec![vec![(-r, 0), (r, 0)], vec![(0, -r), (0, r)]],
    }
}

fn draw_legend(area: &Area<'_>, looks: &Looks) -> Drawn {
    let units = UNITS as i32;
    let text = ("sans-serif", TEXT * UNITS).into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
    let height = |row: usize| (50 + 22 * row as i32) * units;
    for (index, name) in looks.lines.iter().enumerate() {
        let sample = vec![(0, height(index)), (34 * units, height(index))];
        match DASHES[index % DASHES.len()] {
            (0, _) => area.draw(&PathElement::new(sample, style(BLACK, 6)))?,
            (dash, gap) => area.draw(&DashedPathElement::new(sample, dash * units, gap * units, style(BLACK, 6)))?,
        }
        area.draw_text(name, &text, (42 * units, height(index)))?;
    }
    for (index, name) in looks.points.iter().enumerate() {
        let (colour, at) = (COLOURS[index % COLOURS.len()], height(looks.lines.len() + index));
        area.draw(&PathElement::new(vec![(0, at), (34 * units, at)], style(colour, 2)))?;
        for path in mark(index) {
            let path = path.into_iter().map(|(x, y)| (x + 17 * units, y + at)).collect::<Vec<_>>();
            area.draw(&PathElement::new(path, style(colour, 6)))?;
        }
        area.draw_text(name, &text, (42 * units, at))?;
    }
    Ok(())
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

    #[test]
    fn a_figure_names_its_axes_and_series() {
        let figure = svg(&[panel(vec![(1.0, 0.5, 0.1), (10.0, 0.05, 0.1)]), panel(vec![]), panel(vec![])]).unwrap();
        for text in ["<svg", "error", "rows", "excess risk", "bound", "found"] {
            assert!(figure.contains(text), "{text}");
        }
        assert!(figure.contains(&format!("width=\"{}\"", 2 * PANEL.0 + LEGEND)));
    }

    #[test]
    fn figures_of_nothing_are_drawn() {
        assert!(svg(&[]).is_ok());
        assert!(svg(&[panel(vec![(0.0, f64::NAN, f64::INFINITY)])]).is_ok());
    }
}
