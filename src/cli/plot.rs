//! Line charts as SVG: labelled axes, one dash pattern per series so that they differ in grey too.

use plotters::prelude::*;
use plotters::style::ShapeStyle;

use crate::accounting::curves::Series;
use crate::error::{Error, Fallible};

/// A chart to draw.
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    pub(super) x_label: &'a str,
    pub(super) y_label: &'a str,
    pub(super) logarithmic_x: bool,
    pub(super) series: &'a [Series],
}

const SIZE: (u32, u32) = (840, 560);

/// Dark enough to print, and told apart by their dashes.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 90, 160),
    RGBColor(190, 70, 0),
    RGBColor(0, 120, 60),
    RGBColor(130, 30, 130),
    RGBColor(110, 110, 110),
];

/// Dash and gap in pixels of each series; the first is drawn solid.
const DASHES: [(i32, i32); 6] = [(1, 0), (12, 4), (6, 4), (2, 4), (16, 8), (4, 8)];

impl Chart<'_> {
    /// The chart as SVG text.
    pub(super) fn to_svg(&self) -> Fallible<String> {
        let mut text = String::new();
        self.draw(&mut text).map_err(|e| Error::numerical("chart", e.to_string()))?;
        Ok(text)
    }

    fn draw(&self, text: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let points = || self.series.iter().flat_map(|s| s.points.iter()).filter(|(_, y)| y.is_finite());
        let (left, right) = span(points().map(|p| p.0));
        let (_, top) = span(points().map(|p| p.1));
        let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut builder = ChartBuilder::on(&root);
        builder.caption(self.title, ("sans-serif", 20)).margin(14).x_label_area_size(48).y_label_area_size(64);
        // The legend goes to the corner that the curves leave free.
        let rising = self.series.iter().any(|s| s.points.first().map(|p| p.1) < s.points.last().map(|p| p.1));
        let heights = 0.0..top * 1.05;
        // The two kinds of axis have different types, so the rest is written once as a macro.
        macro_rules! finish {
            ($chart:expr) => {{
                let mut chart = $chart;
                let logarithmic = self.logarithmic_x;
                let format_x = move |x: &f64| if logarithmic { format!("{x:.0e}") } else { format!("{x:.1}") };
                chart
                    .configure_mesh()
                    .x_desc(self.x_label)
                    .y_desc(self.y_label)
                    .x_labels(8)
                    .x_label_formatter(&format_x)
                    .light_line_style(TRANSPARENT)
                    .label_style(("sans-serif", 14))
                    .draw()?;
                for (index, series) in self.series.iter().enumerate() {
                    let style = ShapeStyle::from(&COLOURS[index % COLOURS.len()]).stroke_width(2);
                    let (dash, gap) = DASHES[index % DASHES.len()];
                    let points = series.points.iter().copied().filter(|(_, y)| y.is_finite());
                    let drawn = match gap {
                        0 => chart.draw_series(LineSeries::new(points, style))?,
                        _ => chart.draw_series(DashedLineSeries::new(points, dash, gap, style))?,
                    };
                    drawn
                        .label(series.name.clone())
                        .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 24, y)], style));
                }
                chart
                    .configure_series_labels()
                    .position(if rising { SeriesLabelPosition::UpperLeft } else { SeriesLabelPosition::UpperRight })
                    .margin(12)
                    .background_style(WHITE.mix(0.85))
                    .border_style(BLACK)
                    .label_font(("sans-serif", 14))
                    .draw()?;
            }};
        }
        if self.logarithmic_x {
            finish!(builder.build_cartesian_2d((left..right).log_scale(), heights)?);
        } else {
            finish!(builder.build_cartesian_2d(left..right, heights)?);
        }
        root.present()?;
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

/// Smallest and largest value; a span of some width even where there is none.
fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low < high { (low, high) } else { (0.0, if high > 0.0 && high.is_finite() { 2.0 * high } else { 1.0 }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_names_its_axes_and_series() {
        let series = [("one", 0.5), ("two", 2.0)]
            .map(|(name, y)| Series { name: name.into(), points: vec![(1e-6, y), (1e-3, y / 2.0)] });
        let chart =
            Chart { title: "title", x_label: "delta", y_label: "epsilon", logarithmic_x: true, series: &series };
        let svg = chart.to_svg().unwrap();
        for text in ["<svg", "title", "delta", "epsilon", "one", "two"] {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!(chart.to_csv().lines().count(), 5);
    }
}
