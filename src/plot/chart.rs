//! One chart: axes, and series as they look.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::axis::Axis;
use super::legend::Legend;
use super::{Drawn, Kind, Panel, Path, Pen};

impl Pen {
    /// Draws a chart.
    pub(super) fn panel<B>(&self, area: &DrawingArea<B, Shift>, panel: &Panel, legend: &Legend<'_>) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let all = || {
            panel.series.iter().flat_map(|series| &series.points).filter(|p| panel.x.1.has(p.0) && panel.y.1.has(p.1))
        };
        let x = Axis::of(panel.x.1, all().map(|p| p.0));
        let y = Axis::of(panel.y.1, all().flat_map(|p| [p.1, p.1 - p.2, p.1 + p.2]));
        let size = self.text * self.units;
        let (width, height) = area.dim_in_pixel();
        // A long title gets smaller letters instead of losing its ends, and so do labels.
        let title = self.fitted(&panel.title, size + 2 * self.units, width.saturating_sub(20 * self.units))?;
        let below = 3 * size;
        let label = self.fitted(&panel.y.0, size, height.saturating_sub(below + 2 * size))?;
        let label = self.fitted(&panel.x.0, label, width.saturating_sub(5 * size))?;
        let mut chart = ChartBuilder::on(area)
            .caption(&panel.title, ("sans-serif", title))
            .margin(10 * self.units)
            .x_label_area_size(below)
            .y_label_area_size(5 * size)
            .build_cartesian_2d(x.clone(), y.clone())?;
        chart
            .configure_mesh()
            .x_desc(&panel.x.0)
            .y_desc(&panel.y.0)
            .axis_style(self.style(BLACK, 4))
            .bold_line_style(self.style(RGBColor(222, 222, 222), 3))
            .light_line_style(TRANSPARENT)
            .set_all_tick_mark_size(4 * self.units)
            .label_style(("sans-serif", size))
            .axis_desc_style(("sans-serif", label))
            .draw()?;
        let corner = area.get_base_pixel();
        let at = |(x, y): (f64, f64)| {
            let place = chart.backend_coord(&(x, y));
            (place.0 - corner.0, place.1 - corner.1)
        };
        // What was fitted lies below what it was fitted to.
        let (fits, others): (Vec<_>, Vec<_>) = panel.series.iter().partition(|series| series.kind == Kind::Fit);
        for series in fits.into_iter().chain(others) {
            let look = legend.look(series);
            let shown: Vec<_> = series.points.iter().copied().filter(|p| x.shows(p.0) && y.shows(p.1)).collect();
            let band: Vec<_> = series.band.iter().filter(|p| x.shows(p.0) && y.shows(p.1) && y.shows(p.2)).collect();
            let outline = band.iter().map(|p| (p.0, p.1)).chain(band.iter().rev().map(|p| (p.0, p.2)));
            if !band.is_empty() {
                area.draw(&Polygon::new(outline.map(at).collect::<Path>(), look.band().filled()))?;
            }
            self.line(area, shown.iter().map(|p| at((p.0, p.1))).collect(), &look)?;
            if series.kind != Kind::Measured {
                continue;
            }
            let low = y.range().start;
            for p in &shown {
                if p.2 > 0.0 && p.2.is_finite() {
                    let bottom = if y.shows(p.1 - p.2) { p.1 - p.2 } else { low };
                    let bar = vec![at((p.0, bottom)), at((p.0, p.1 + p.2))];
                    area.draw(&PathElement::new(bar, self.style(look.colour, 4)))?;
                }
                self.mark(area, at((p.0, p.1)), &look)?;
            }
        }
        Ok(())
    }
}
