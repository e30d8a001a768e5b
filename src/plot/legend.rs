//! Legends: which series has which look, and the samples with their names.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::look::Look;
use super::{Drawn, Kind, Panel, Pen, Series};

/// Length of a sample in the legend, and where its name begins, in points.
const SAMPLE: (u32, u32) = (34, 42);

/// The kinds of a legend, in its order.
const KINDS: [Kind; 4] = [Kind::Curve, Kind::Theory, Kind::Lower, Kind::Measured];

/// One sample with its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry<'a> {
    kind: Kind,
    pub(super) name: &'a str,
    look: usize,
}

/// What series look like: a name looks the same in every panel.
pub(super) struct Legend<'a>(Vec<Entry<'a>>);

impl<'a> Legend<'a> {
    /// The looks that series ask for, as far as no other name has them, and the next free ones for the others.
    pub(super) fn of(panels: &'a [Panel]) -> Self {
        let mut entries: Vec<Entry<'a>> = Vec::new();
        for kind in KINDS {
            let mut named: Vec<(&str, Option<usize>)> = Vec::new();
            for series in panels.iter().flat_map(|panel| &panel.series).filter(|series| series.kind == kind) {
                if !named.iter().any(|(name, _)| *name == series.name) {
                    let taken = named.iter().any(|(_, look)| look.is_some() && *look == series.look);
                    named.push((&series.name, series.look.filter(|_| !taken)));
                }
            }
            let asked: Vec<usize> = named.iter().filter_map(|(_, look)| *look).collect();
            let mut free = (0..).filter(|look| !asked.contains(look));
            for (name, look) in named {
                let look = look.or_else(|| free.next()).unwrap_or(0);
                entries.push(Entry { kind, name, look });
            }
        }
        Legend(entries)
    }

    /// The look of a series; a line that was fitted has that of its measurements.
    pub(super) fn look(&self, series: &Series) -> Look {
        let (kind, name) =
            if series.kind == Kind::Fit { (Kind::Measured, &series.of) } else { (series.kind, &series.name) };
        let index = self.0.iter().find(|entry| entry.kind == kind && entry.name == name).map_or(0, |entry| entry.look);
        Look::of(series.kind, index)
    }

    /// What all panels share: everything but lines that were fitted.
    pub(super) fn shared(&self) -> Vec<(Look, &'a str)> {
        self.0.iter().map(|entry| (Look::of(entry.kind, entry.look), entry.name)).collect()
    }

    /// The lines of a panel that were fitted.
    pub(super) fn fits<'b>(&self, panel: &'b Panel) -> Vec<(Look, &'b str)> {
        let fits = panel.series.iter().filter(|series| series.kind == Kind::Fit);
        fits.map(|series| (self.look(series), series.name.as_str())).collect()
    }

    /// All that is in one panel; measurements that a line was fitted to are named with it.
    pub(super) fn within<'b>(&self, panel: &'b Panel) -> Vec<(Look, &'b str)> {
        let mut found: Vec<(Look, &'b str)> = Vec::new();
        for kind in KINDS {
            for series in panel.series.iter().filter(|series| series.kind == kind) {
                let fitted = |fit: &Series| fit.kind == Kind::Fit && kind == Kind::Measured && fit.of == series.name;
                if panel.series.iter().any(fitted) {
                    continue;
                }
                let entry = (self.look(series), series.name.as_str());
                if !found.contains(&entry) {
                    found.push(entry);
                }
            }
        }
        found.extend(self.fits(panel));
        found
    }
}

impl Pen {
    /// From one row of a legend to the next, in points.
    pub(super) fn row(&self) -> u32 {
        self.text + self.text * 4 / 7
    }

    /// The width of a legend in one column, in units.
    pub(super) fn wide(&self, entries: &[(Look, &str)]) -> Result<u32, Box<dyn std::error::Error>> {
        let mut widest = 0;
        for (_, name) in entries {
            widest = widest.max(self.width(name, self.text * self.units)?);
        }
        Ok(widest + (SAMPLE.1 + 24) * self.units)
    }

    /// Columns of a legend that has this room, in units.
    pub(super) fn columns(&self, entries: &[(Look, &str)], room: u32) -> Result<usize, Box<dyn std::error::Error>> {
        Ok(if entries.len() > 1 && 2 * self.wide(entries)? <= room { 2 } else { 1 })
    }

    /// Samples with their names in columns, from `top` points on.
    pub(super) fn legend<B>(
        &self,
        area: &DrawingArea<B, Shift>,
        (left, top): (u32, u32),
        entries: &[(Look, &str)],
        columns: usize,
    ) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let rows = entries.len().div_ceil(columns).max(1);
        let (width, _) = area.dim_in_pixel();
        let column = (width.saturating_sub(self.length(left) as u32) / columns as u32) as i32;
        for (at, (look, name)) in entries.iter().enumerate() {
            let x = self.length(left) + (at / rows) as i32 * column;
            let y = self.length(top + self.row() * (at % rows) as u32);
            self.line(area, vec![(x, y), (x + self.length(SAMPLE.0), y)], look)?;
            self.mark(area, (x + self.length(SAMPLE.0 / 2), y), look)?;
            let room = (column - self.length(SAMPLE.1)).max(0) as u32;
            let size = self.fitted(name, self.text * self.units, room)?;
            let text = ("sans-serif", size).into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw_text(name, &text, (x + self.length(SAMPLE.1), y))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_the_look_it_asks_for_and_no_other_gets_it() {
        let of = |name: &str| Series::measured(name, vec![]);
        let fit = Series::fit("b", "slope", &[]);
        let panels = [
            Panel::of("one", vec![of("a"), of("b").looking(0), of("c").looking(0), Series::theory("a", vec![])]),
            Panel::of("two", vec![of("b"), of("d").looking(4), fit]),
        ];
        let legend = Legend::of(&panels);
        let found: Vec<_> = legend.0.iter().map(|entry| (entry.name, entry.look)).collect();
        assert_eq!(found, [("a", 0), ("a", 1), ("b", 0), ("c", 2), ("d", 4)]);
        assert_eq!(legend.look(&panels[1].series[0]), legend.look(&panels[0].series[1]));
        assert_eq!(legend.look(&panels[1].series[2]), Look::of(Kind::Fit, 0));
        let names =
            |entries: Vec<(Look, &str)>| entries.into_iter().map(|(_, name)| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(names(legend.shared()), ["a", "a", "b", "c", "d"]);
        assert_eq!(names(legend.within(&panels[1])), ["d", "slope"]);
    }
}
