//! From panels to the bytes of a file: SVG as text, PNG from pixels.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use super::{Drawn, Panel, Pen, SAMPLE, legend};
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
            other => {
                let found = other.map_or_else(|| "has no extension".into(), |it| format!("ends in .{it}"));
                let problem = format!("{} {found}, which is no kind of picture here", path.display());
                Err(Error::parameter("--out", problem, "name a file that ends in .svg or .png; --csv writes a table"))
            }
        }
    }
}

/// What is drawn on a surface of a size in points.
pub(super) trait Sheet {
    /// Width and height.
    fn size(&self) -> (u32, u32);

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
    };
    drawn.map_err(|e| Error::numerical("picture", e.to_string()))
}

fn to_svg(sheet: &impl Sheet) -> Result<String, Box<dyn std::error::Error>> {
    let (mut text, (width, height)) = (String::new(), sheet.size());
    let fine = (width * UNITS, height * UNITS);
    draw(sheet, &SVGBackend::with_string(&mut text, fine).into_drawing_area(), UNITS)?;
    // Shown at its size in points.
    let fine = format!("width=\"{}\" height=\"{}\"", fine.0, fine.1);
    Ok(text.replacen(&fine, &format!("width=\"{width}\" height=\"{height}\""), 1))
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

/// Panels and their legend on one sheet; sizes are in points.
pub struct Figure<'a> {
    panels: &'a [Panel],
    panel: (u32, u32),
    text: u32,
    /// Width of the legend; as wide as its names where it is `None`, which the panels then make room for.
    legend: Option<u32>,
}

impl<'a> Figure<'a> {
    /// Several panels, two beside each other.
    pub fn of(panels: &'a [Panel]) -> Self {
        Figure { panels, panel: (460, 360), text: 14, legend: Some(250) }
    }

    /// One large panel.
    pub fn chart(panel: &'a Panel) -> Self {
        Figure { panels: std::slice::from_ref(panel), panel: (840, 560), text: 16, legend: None }
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
}

impl Sheet for Figure<'_> {
    fn size(&self) -> (u32, u32) {
        let (across, down) = self.grid();
        (self.panel.0 * across as u32 + self.legend.unwrap_or(0), self.panel.1 * down as u32)
    }

    fn draw<B>(&self, root: &DrawingArea<B, Shift>, units: u32) -> Drawn
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let (pen, legend) = (Pen { text: self.text, units }, legend(self.panels));
        let text = ("sans-serif", self.text * units).into_text_style(root);
        let mut names = 0;
        for name in legend.iter().flat_map(|(_, names)| names) {
            names = names.max(root.estimate_text_size(name, &text)?.0);
        }
        // The legend stands beside the curves, so that it cannot cover one.
        let width = self.legend.map_or(names + (SAMPLE.1 + 24) * units, |points| points * units);
        let (left, right) = root.split_horizontally(root.dim_in_pixel().0.saturating_sub(width));
        let (across, down) = self.grid();
        for (area, panel) in left.split_evenly((down, across)).iter().zip(self.panels) {
            pen.panel(area, panel, &legend)?;
        }
        pen.legend(&right, &legend)
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
