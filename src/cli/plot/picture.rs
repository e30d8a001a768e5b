//! From a chart to the bytes of a file: SVG as text, PNG from pixels.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::register_font;

use super::Chart;
use crate::error::{Error, Fallible};

/// Width and height in points.
const SIZE: (u32, u32) = (840, 560);

/// Pixels of a PNG per point, in each direction.
const SCALE: u32 = 2;

/// Pixels drawn per pixel of a PNG, in each direction; their mean smooths the lines.
const FINER: u32 = 2;

/// Units of an SVG per point: coordinates are whole numbers, and curves of whole points have kinks.
const UNITS: u32 = 8;

/// A kind of picture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Format {
    Svg,
    Png,
}

impl Format {
    /// The kind that the extension of a file asks for.
    pub(in crate::cli) fn of(path: &Path) -> Fallible<Self> {
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

impl Chart<'_> {
    /// The chart as the content of a file.
    pub(in crate::cli) fn to_bytes(&self, format: Format) -> Fallible<Vec<u8>> {
        // Text is measured, and in a PNG drawn, with the font that comes along; none is looked for.
        register_font("sans-serif", FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT)
            .map_err(|_| Error::numerical("chart", "the font that comes with the program cannot be read"))?;
        match format {
            Format::Svg => self.to_svg().map(String::into_bytes),
            Format::Png => self.to_png(),
        }
    }

    fn to_svg(&self) -> Fallible<String> {
        let mut text = String::new();
        let (width, height) = (SIZE.0 * UNITS, SIZE.1 * UNITS);
        self.draw(&SVGBackend::with_string(&mut text, (width, height)).into_drawing_area(), UNITS)?;
        let fine = format!("width=\"{width}\" height=\"{height}\"");
        Ok(text.replacen(&fine, &format!("width=\"{}\" height=\"{}\"", SIZE.0, SIZE.1), 1))
    }

    fn to_png(&self) -> Fallible<Vec<u8>> {
        let (width, height) = (SIZE.0 * SCALE, SIZE.1 * SCALE);
        let drawn = (width * FINER, height * FINER);
        let mut pixels = vec![0; 3 * drawn.0 as usize * drawn.1 as usize];
        self.draw(&BitMapBackend::with_buffer(&mut pixels, drawn).into_drawing_area(), SCALE * FINER)?;
        encode(&shrink(&pixels, width as usize), width, height).map_err(|e| Error::numerical("chart", e.to_string()))
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
