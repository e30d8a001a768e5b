//! From panels to the bytes of a file: SVG as text, PNG from pixels, PDF as outlines.

use std::path::Path;

use ab_glyph::FontRef;
use pdf_writer::Content;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use super::legend::Legend;
use super::look::Look;
use super::{Drawn, Panel, Pen, pdf};
use crate::error::{Error, Fallible};

/// Pixels of a PNG per point, in each direction.
const SCALE: u32 = 2;

/// Pixels drawn per pixel of a PNG, in each direction; their mean smooths the lines.
const FINER: u32 = 2;

/// Units of an SVG per point: coordinates are whole numbers, and curves of whole points have kinks.
const UNITS: u32 = 8;

/// Panels beside each other.
const ACROSS: usize = 2;

/// A kind of picture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text, of any size.
    Svg,
    /// Pixels.
    Png,
    /// Lines and areas for print, of any size; letters are outlines, so no font is needed.
    Pdf,
}

impl Format {
    /// The kind that the extension of a file asks for.
    ///
    /// # Errors
    /// When it asks for no kind of picture.
    pub fn of(path: &Path) -> Fallible<Self> {
        let extension = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("svg") => Ok(Format::Svg),
            Some("png") => Ok(Format::Png),
            Some("pdf") => Ok(Format::Pdf),
            other => {
                let found = other.map_or_else(|| "has no extension".into(), |it| format!("ends in .{it}"));
                let problem = format!("{} {found}, which is no kind of picture here", path.display());
                Err(Error::parameter(
                    "--out",
                    problem,
                    "name a file that ends in .svg, .pdf or .png; --csv writes a table",
                ))
            }
        }
    }
}

/// What is drawn on a surface of a size in points.
pub(super) trait Sheet {
    /// Width and height.
    fn size(&self) -> (u32, u32);

    /// Its size in print over that in which it is drawn, where it is for print.
    fn shown(&self) -> Option<f64> {
        None
    }

    /// Draws on any surface with so many `units` a point.
    fn draw<B>(&self, root: &DrawingArea<B, Shift>, units: u32) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static;
}

/// A sheet as the content of a file.
pub(super) fn to_bytes(sheet: &impl Sheet, format: Format) -> Fallible<Vec<u8>> {
    // Text is measured, and in a PNG drawn, with the font that comes along; none is looked for.
    register_font("sans-serif", FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT)
        .map_err(|_| Error::numerical("picture", "the font that comes with the program cannot be read"))?;
    let drawn = match format {
        Format::Svg => to_svg(sheet).map(String::into_bytes),
        Format::Png => to_png(sheet),
        Format::Pdf => to_pdf(sheet),
    };
    drawn.map_err(|e| Error::numerical("picture", e.to_string()))
}

fn to_svg(sheet: &impl Sheet) -> Result<String, Box<dyn std::error::Error>> {
    let (mut text, (width, height)) = (String::new(), sheet.size());
    let fine = (width * UNITS, height * UNITS);
    draw(sheet, &SVGBackend::with_string(&mut text, fine).into_drawing_area(), UNITS)?;
    // Shown at its size in points.
    let fine = format!("width=\"{}\" height=\"{}\"", fine.0, fine.1);
    let shown = match sheet.shown() {
        None => format!("width=\"{width}\" height=\"{height}\""),
        Some(shown) => format!("width=\"{}pt\" height=\"{}pt\"", f64::from(width) * shown, f64::from(height) * shown),
    };
    Ok(text.replacen(&fine, &shown, 1))
}

fn to_pdf(sheet: &impl Sheet) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let (mut content, (width, height)) = (Content::new(), sheet.size());
    let shown = sheet.shown().unwrap_or(1.0);
    let font = FontRef::try_from_slice(epaint_default_fonts::UBUNTU_LIGHT)?;
    let page = pdf::Page::new(&mut content, font, (width * UNITS, height * UNITS), f64::from(UNITS) / shown);
    draw(sheet, &page.into_drawing_area(), UNITS)?;
    Ok(pdf::file(content, (f64::from(width) * shown, f64::from(height) * shown))?)
}

fn to_png(sheet: &impl Sheet) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let (width, height) = (sheet.size().0 * SCALE, sheet.size().1 * SCALE);
    let drawn = (width * FINER, height * FINER);
    let mut pixels = vec![0; 3 * drawn.0 as usize * drawn.1 as usize];
    draw(sheet, &BitMapBackend::with_buffer(&mut pixels, drawn).into_drawing_area(), SCALE * FINER)?;
    Ok(encode(&shrink(&pixels, width as usize), width, height)?)
}

/// Draws on white paper.
fn draw<B>(sheet: &impl Sheet, root: &DrawingArea<B, Shift>, units: u32) -> Drawn
where
    B: DrawingBackend,
    B::ErrorType: 'static,
{
    root.fill(&WHITE)?;
    sheet.draw(root, units)?;
    Ok(root.present()?)
}

/// Where the legend of a figure stands.
#[derive(Clone, Copy)]
enum Place {
    /// Beside the panels, of a width; as wide as its names without one, which the panels then make room for. Lines that were fitted are below their panel.
    Beside(Option<u32>),
    /// Below the panel.
    Below,
}

/// Panels and their legend on one sheet; sizes are in points.
pub struct Figure<'a> {
    /// All panels, which share what names look like.
    all: &'a [Panel],
    /// Those that are drawn.
    panels: &'a [Panel],
    panel: (u32, u32),
    text: u32,
    place: Place,
}

/// Width of a column in print, 8 cm, in points, and how much larger it is drawn.
const COLUMN: u32 = 227;
const LARGER: u32 = 2;

impl<'a> Figure<'a> {
    /// Several panels, two beside each other.
    pub fn of(panels: &'a [Panel]) -> Self {
        Figure { all: panels, panels, panel: (460, 360), text: 14, place: Place::Beside(Some(250)) }
    }

    /// One large panel.
    pub fn chart(panel: &'a Panel) -> Self {
        let panels = std::slice::from_ref(panel);
        Figure { all: panels, panels, panel: (840, 560), text: 16, place: Place::Beside(None) }
    }

    /// One of several panels for a column of a paper, 8 cm wide, with letters of 7 points and more; what it shows looks as in the
    /// figure of all of them. Nothing is drawn where there is no such panel.
    pub fn column(panels: &'a [Panel], at: usize) -> Self {
        let one = panels.get(at..=at).unwrap_or_default();
        Figure { all: panels, panels: one, panel: (LARGER * COLUMN, 350), text: 18, place: Place::Below }
    }

    /// The figure as the content of a file.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn to_bytes(&self, format: Format) -> Fallible<Vec<u8>> {
        to_bytes(self, format)
    }

    /// Panels beside and below each other.
    fn grid(&self) -> (usize, usize) {
        let across = self.panels.len().clamp(1, ACROSS);
        (across, self.panels.len().div_ceil(across).max(1))
    }

    fn pen(&self, units: u32) -> Pen {
        match self.place {
            Place::Beside(_) => Pen::new(self.text, units),
            // A line of a point is half as wide in print.
            Place::Below => Pen { thinnest: 2 * LARGER, mark: 5, ..Pen::new(self.text, units) },
        }
    }

    /// What stands below a panel, and in how many columns.
    fn below(&self, panel: &'a Panel, pen: &Pen, legend: &Legend<'a>) -> (Vec<(Look, &'a str)>, usize) {
        let entries = match self.place {
            Place::Beside(_) => legend.fits(panel),
            Place::Below => legend.within(panel),
        };
        let columns = pen.columns(&entries, (self.panel.0 - self.left()) * pen.units).unwrap_or(1);
        (entries, columns)
    }

    /// Points left free before what stands below a panel.
    fn left(&self) -> u32 {
        if matches!(self.place, Place::Below) { 10 } else { 5 * self.text }
    }

    /// Height of what stands below panels.
    fn height_below(&self, pen: &Pen, legend: &Legend<'a>) -> u32 {
        let rows = self.panels.iter().map(|panel| {
            let (entries, columns) = self.below(panel, pen, legend);
            entries.len().div_ceil(columns) as u32
        });
        rows.max().filter(|rows| *rows > 0).map_or(0, |rows| rows * pen.row() + self.text / 2)
    }
}

impl Sheet for Figure<'_> {
    fn size(&self) -> (u32, u32) {
        let (across, down) = self.grid();
        let below = self.height_below(&self.pen(1), &Legend::of(self.all));
        let beside = if let Place::Beside(width) = self.place { width.unwrap_or(0) } else { 0 };
        (self.panel.0 * across as u32 + beside, (self.panel.1 + below) * down as u32)
    }

    fn shown(&self) -> Option<f64> {
        matches!(self.place, Place::Below).then_some(1.0 / f64::from(LARGER))
    }

    fn draw<B>(&self, root: &DrawingArea<B, Shift>, units: u32) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let (pen, legend) = (self.pen(units), Legend::of(self.all));
        let shared = legend.shared();
        // The legend stands beside the curves, so that it cannot cover one.
        let beside = match self.place {
            Place::Beside(None) => pen.wide(&shared)?,
            Place::Beside(Some(points)) => points * units,
            Place::Below => 0,
        };
        let (left, right) = root.split_horizontally(root.dim_in_pixel().0.saturating_sub(beside));
        let below = self.height_below(&self.pen(1), &legend) * units;
        let (across, down) = self.grid();
        for (area, panel) in left.split_evenly((down, across)).iter().zip(self.panels) {
            let (chart, under) = area.split_vertically(area.dim_in_pixel().1.saturating_sub(below));
            pen.panel(&chart, panel, &legend)?;
            let (entries, columns) = self.below(panel, &pen, &legend);
            pen.legend(&under, (self.left(), self.text / 2), &entries, columns)?;
        }
        match self.place {
            Place::Beside(_) => pen.legend(&right, (0, 50), &shared, 1),
            Place::Below => Ok(()),
        }
    }
}

/// The mean of every square of [`FINER`] times [`FINER`] pixels; `width` is that of the result.
fn shrink(pixels: &[u8], width: usize) -> Vec<u8> {
    let finer = FINER as usize;
    let row = 3 * width * finer;
    let mean = |rows: &[u8], at: usize| {
        let (pixel, channel) = (at / 3, at % 3);
        let square = rows.chunks_exact(row).flat_map(|row| row[3 * pixel * finer..].chunks_exact(3).take(finer));
        let sum: usize = square.map(|it| usize::from(it[channel])).sum();
        (sum / (finer * finer)) as u8
    };
    pixels.chunks_exact(row * finer).flat_map(|rows| (0..3 * width).map(move |at| mean(rows, at))).collect()
}

fn encode(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_names_the_format() {
        assert_eq!(Format::of(Path::new("a/b.SVG")).unwrap(), Format::Svg);
        assert_eq!(Format::of(Path::new("b.png")).unwrap(), Format::Png);
        assert_eq!(Format::of(Path::new("b.pdf")).unwrap(), Format::Pdf);
        for bad in ["b.gif", "b", "png", "b.svg.gz"] {
            let error = Format::of(Path::new(bad)).unwrap_err().to_string();
            assert!(error.contains("--out") && error.contains(".png"), "{error}");
        }
    }

    #[test]
    fn shrinking_takes_means() {
        let fine = [0, 0, 0, 8, 0, 0, 255, 1, 2, 255, 1, 2, 4, 0, 0, 12, 0, 0, 255, 1, 2, 255, 1, 2];
        assert_eq!(shrink(&fine, 2), [6, 0, 0, 255, 1, 2]);
    }
}
