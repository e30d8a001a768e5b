//! Line charts: labelled axes, a legend beside the curves, and styles that differ in grey too.

mod axis;
mod picture;

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::ShapeStyle;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::calculator::curves::Series;
use crate::error::{Error, Fallible};
use axis::Axis;
pub(super) use picture::Format;

/// A chart to draw.
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    pub(super) x_label: &'a str,
    pub(super) y_label: &'a str,
    pub(super) series: &'a [Series],
}

/// How a curve looks. Curves often coincide, so a dashed one follows each solid one, which is wider and shows
/// through its gaps.
struct Look {
    colour: RGBColor,
    width: u32,
    /// Dash and gap in points; `None` for a solid line.
    dash: Option<(i32, i32)>,
}

const LOOKS: [Look; 6] = [
    Look { colour: RGBColor(0, 0, 0), width: 2, dash: None },
    Look { colour: RGBColor(90, 170, 230), width: 4, dash: None },
    Look { colour: RGBColor(170, 40, 0), width: 2, dash: Some((8, 5)) },
    Look { colour: RGBColor(60, 180, 110), width: 4, dash: None },
    Look { colour: RGBColor(110, 20, 120), width: 2, dash: Some((3, 4)) },
    Look { colour: RGBColor(120, 120, 120), width: 2, dash: Some((14, 5)) },
];

/// Sizes in points.
const TITLE: u32 = 21;
const TEXT: u32 = 16;
const MARGIN: u32 = 16;
const SAMPLE: u32 = 34;
const LINE: u32 = 26;

type Drawn = Result<(), Box<dyn std::error::Error>>;

impl Look {
    fn of(index: usize) -> &'static Self {
        &LOOKS[index % LOOKS.len()]
    }

    fn style(&self, scale: u32) -> ShapeStyle {
        ShapeStyle::from(&self.colour).stroke_width(self.width * scale)
    }

    /// Dash and gap in pixels.
    fn dashes(&self, scale: u32) -> Option<(i32, i32)> {
        self.dash.map(|(dash, gap)| (dash * scale as i32, gap * scale as i32))
    }
}

impl Chart<'_> {
    /// Draws on any surface with `scale` pixels a point.
    fn draw<B>(&self, root: &DrawingArea<B, Shift>, scale: u32) -> Fallible<()>
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let drawn = self.draw_parts(root, scale);
        drawn.map_err(|e| Error::numerical("chart", e.to_string()))
    }

    fn draw_parts<B>(&self, root: &DrawingArea<B, Shift>, scale: u32) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        root.fill(&WHITE)?;
        let text = ("sans-serif", TEXT * scale);
        // The legend stands beside the curves, so that it cannot cover one.
        let mut names = 0;
        for series in self.series {
            names = names.max(root.estimate_text_size(&series.name, &text.into_text_style(root))?.0);
        }
        let legend_width = names + (SAMPLE + 2 * MARGIN) * scale;
        let (left, right) = root.split_horizontally(root.dim_in_pixel().0.saturating_sub(legend_width));
        self.draw_curves(&left, scale)?;
        self.draw_legend(&right, scale)?;
        root.present()?;
        Ok(())
    }

    fn draw_curves<B>(&self, area: &DrawingArea<B, Shift>, scale: u32) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let text = ("sans-serif", TEXT * scale);
        let points = || self.series.iter().flat_map(|s| s.points.iter()).filter(|(_, y)| y.is_finite());
        let (x, y) = (Axis::of(points().map(|p| p.0)), Axis::of(points().map(|p| p.1)));
        // A long title gets smaller letters instead of losing its ends.
        let (room, wanted) = (area.dim_in_pixel().0.saturating_sub(2 * MARGIN * scale), TITLE * scale);
        let width = area.estimate_text_size(self.title, &("sans-serif", wanted).into_text_style(area))?.0;
        let letters = if width > room { wanted * room / width } else { wanted };
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", letters))
            .margin(MARGIN * scale)
            .x_label_area_size(3 * TEXT * scale)
            .y_label_area_size(5 * TEXT * scale)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(self.x_label)
            .y_desc(self.y_label)
            .axis_style(BLACK.stroke_width(scale))
            .bold_line_style(RGBColor(215, 215, 215).stroke_width(scale))
            .light_line_style(TRANSPARENT)
            .set_all_tick_mark_size(5 * scale)
            .label_style(text)
            .axis_desc_style(text)
            .draw()?;
        for (index, series) in self.series.iter().enumerate() {
            let look = Look::of(index);
            let shown: Vec<_> = series.points.iter().copied().filter(|(_, y)| y.is_finite()).collect();
            match look.dashes(scale) {
                None => chart.draw_series(LineSeries::new(shown, look.style(scale)))?,
                Some((dash, gap)) => chart.draw_series(DashedLineSeries::new(shown, dash, gap, look.style(scale)))?,
            };
        }
        Ok(())
    }

    fn draw_legend<B>(&self, area: &DrawingArea<B, Shift>, scale: u32) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let pixels = |points: u32| (points * scale) as i32;
        let style = ("sans-serif", TEXT * scale).into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
        for (index, series) in self.series.iter().enumerate() {
            let look = Look::of(index);
            let height = pixels(3 * MARGIN) + index as i32 * pixels(LINE);
            let sample = vec![(0, height), (pixels(SAMPLE), height)];
            match look.dashes(scale) {
                None => area.draw(&PathElement::new(sample, look.style(scale)))?,
                Some((dash, gap)) => area.draw(&DashedPathElement::new(sample, dash, gap, look.style(scale)))?,
            }
            area.draw_text(&series.name, &style, (pixels(SAMPLE + MARGIN / 2), height))?;
        }
        Ok(())
    }

    /// The points as CSV: one line per point and series.
    pub(super) fn to_csv(&self) -> String {
        let mut text = format!("series,{},{}\n", self.x_label, self.y_label);
        for series in self.series {
            for (x, y) in &series.points {
                text.push_str(&format!("\"{}\",{x:e},{y}\n", series.name));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_names_its_axes_and_series() {
        let series = [("one", 0.5), ("two", 2.0)]
            .map(|(name, y)| Series { name: name.into(), points: vec![(1e-6, y), (1e-3, y / 2.0)] });
        let chart = Chart { title: "title", x_label: "delta", y_label: "epsilon", series: &series };
        let svg = String::from_utf8(chart.to_bytes(Format::Svg).unwrap()).unwrap();
        for text in ["<svg", "title", "delta", "epsilon", "one", "two"] {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!(chart.to_csv().lines().count(), 5);
    }

    #[test]
    fn charts_of_nothing_are_drawn() {
        for points in [vec![], vec![(1.0, f64::INFINITY)], vec![(1.0, 0.0), (1e9, 0.0)], vec![(0.0, 1.0)]] {
            let series = [Series { name: "x".repeat(200), points }];
            let chart = Chart { title: "", x_label: "x", y_label: "y", series: &series };
            for format in [Format::Svg, Format::Png] {
                assert!(chart.to_bytes(format).unwrap().len() > 100);
            }
        }
    }
}
