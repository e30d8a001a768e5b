//! PDF: the same drawing as lines and areas on one page, with letters as outlines, so that no reader needs a font.

use std::convert::Infallible;
use std::io::Write as _;

use ab_glyph::{Font, FontRef, OutlineCurve};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::{Content, Filter, Finish, Pdf, Rect, Ref};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontTransform,
};

/// The em of letters of size 1, as in an SVG.
const EM: f64 = 1.0 / 1.24;

/// Where letters stand, in ems below the place they are drawn at: as in an SVG, for letters of the height of an x.
const HANG: f64 = 0.76;
const HALF_AN_X: f64 = 0.26;

/// A fourth of a circle as a curve: how far the inner points are out, in units of its radius.
const ROUND: f64 = 0.552_284_75;

type Done = Result<(), DrawingErrorKind<Infallible>>;

/// A page that is being drawn.
pub(super) struct Page<'a> {
    content: &'a mut Content,
    font: FontRef<'static>,
    size: (u32, u32),
}

impl<'a> Page<'a> {
    /// An empty page of a size in units, of which `scale` make a point.
    pub(super) fn new(content: &'a mut Content, font: FontRef<'static>, size: (u32, u32), scale: f64) -> Self {
        // Units count from above.
        let unit = (1.0 / scale) as f32;
        content.transform([unit, 0.0, 0.0, -unit, 0.0, size.1 as f32 * unit]);
        Page { content, font, size }
    }

    fn ink(&mut self, colour: BackendColor, width: Option<u32>) {
        let [red, green, blue] = [colour.rgb.0, colour.rgb.1, colour.rgb.2].map(|it| f32::from(it) / 255.0);
        match width {
            Some(width) => {
                self.content.set_line_width(width as f32);
                self.content.set_stroke_rgb(red, green, blue)
            }
            None => self.content.set_fill_rgb(red, green, blue),
        };
    }

    fn path(&mut self, points: impl IntoIterator<Item = BackendCoord>) {
        for (at, (x, y)) in points.into_iter().enumerate() {
            let (x, y) = (x as f32, y as f32);
            if at == 0 {
                self.content.move_to(x, y)
            } else {
                self.content.line_to(x, y)
            };
        }
    }

    /// Width of a line of letters in units of the font, with the place of each letter.
    fn line(&self, text: &str) -> (f32, Vec<(ab_glyph::GlyphId, f32)>) {
        let (mut width, mut letters, mut before) = (0.0, Vec::new(), None);
        for letter in text.chars().map(|letter| self.font.glyph_id(letter)) {
            width += before.map_or(0.0, |before| self.font.kern_unscaled(before, letter));
            letters.push((letter, width));
            width += self.font.h_advance_unscaled(letter);
            before = Some(letter);
        }
        (width, letters)
    }

    /// Outlines of one letter; `place` puts a point of the font on the page.
    fn letter(&mut self, letter: ab_glyph::GlyphId, place: impl Fn(ab_glyph::Point) -> (f32, f32)) {
        let mut last = None;
        for curve in self.font.outline(letter).map(|outline| outline.curves).unwrap_or_default() {
            let (from, to, inner) = match curve {
                OutlineCurve::Line(from, to) => (from, to, None),
                // The same curve as a cubic one.
                OutlineCurve::Quad(from, middle, to) => {
                    let towards = |end: ab_glyph::Point| {
                        let along = |end: f32, middle: f32| end + (middle - end) * 2.0 / 3.0;
                        ab_glyph::point(along(end.x, middle.x), along(end.y, middle.y))
                    };
                    (from, to, Some((towards(from), towards(to))))
                }
                OutlineCurve::Cubic(from, one, two, to) => (from, to, Some((one, two))),
            };
            if last != Some(from) {
                let (x, y) = place(from);
                self.content.move_to(x, y);
            }
            let (x, y) = place(to);
            match inner.map(|(one, two)| (place(one), place(two))) {
                Some((one, two)) => self.content.cubic_to(one.0, one.1, two.0, two.1, x, y),
                None => self.content.line_to(x, y),
            };
            last = Some(to);
        }
        self.content.fill_nonzero();
    }
}

impl DrawingBackend for Page<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Done {
        Ok(())
    }

    fn present(&mut self) -> Done {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, colour: BackendColor) -> Done {
        self.ink(colour, None);
        self.content.rect(x as f32, y as f32, 1.0, 1.0).fill_nonzero();
        Ok(())
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Done {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S, fill: bool) -> Done {
        let corners = [from, (to.0, from.1), to, (from.0, to.1)];
        if fill { self.fill_polygon(corners, style) } else { self.draw_path(corners.into_iter().chain([from]), style) }
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Done {
        if style.color().alpha > 0.0 {
            self.ink(style.color(), Some(style.stroke_width()));
            self.path(path);
            self.content.stroke();
        }
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(&mut self, (x, y): BackendCoord, radius: u32, style: &S, fill: bool) -> Done {
        if style.color().alpha == 0.0 {
            return Ok(());
        }
        let (x, y, r, inner) = (x as f32, y as f32, radius as f32, (f64::from(radius) * ROUND) as f32);
        self.ink(style.color(), if fill { None } else { Some(style.stroke_width()) });
        self.content.move_to(x + r, y);
        for (a, b) in [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)] {
            // From one end of an axis to the next one.
            let (from, to) = ((a * r, b * r), (-b * r, a * r));
            let (one, two) = ((from.0 - b * inner, from.1 + a * inner), (to.0 + a * inner, to.1 + b * inner));
            self.content.cubic_to(x + one.0, y + one.1, x + two.0, y + two.1, x + to.0, y + to.1);
        }
        if fill {
            self.content.fill_nonzero()
        } else {
            self.content.stroke()
        };
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Done {
        if style.color().alpha > 0.0 {
            self.ink(style.color(), None);
            self.path(path);
            self.content.fill_nonzero();
        }
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, (x, y): BackendCoord) -> Done {
        let em = style.size() * EM;
        let unit = em as f32 / self.font.units_per_em().unwrap_or(1000.0);
        let (width, letters) = self.line(text);
        let left = match style.anchor().h_pos {
            HPos::Left => 0.0,
            HPos::Center => -width / 2.0,
            HPos::Right => -width,
        };
        let below = match style.anchor().v_pos {
            VPos::Top => HANG * em,
            VPos::Center => HALF_AN_X * em,
            VPos::Bottom => -HALF_AN_X * em,
        } as f32;
        // Along a line of letters, and down.
        let (cos, sin) = match style.transform() {
            FontTransform::None => (1.0, 0.0),
            FontTransform::Rotate90 => (0.0, 1.0),
            FontTransform::Rotate180 => (-1.0, 0.0),
            FontTransform::Rotate270 => (0.0, -1.0),
        };
        self.ink(style.color(), None);
        for (letter, before) in letters {
            self.letter(letter, |point| {
                let (along, down) = ((left + before + point.x) * unit, below - point.y * unit);
                (x as f32 + along * cos - down * sin, y as f32 + along * sin + down * cos)
            });
        }
        Ok(())
    }
}

/// A file of one page with this content, of a size in points.
pub(super) fn file(content: Content, (width, height): (f64, f64)) -> std::io::Result<Vec<u8>> {
    let [catalog, pages, page, drawn] = [1, 2, 3, 4].map(Ref::new);
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::best());
    deflated.write_all(&content.finish())?;
    let deflated = deflated.finish()?;
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let mut sheet = pdf.page(page);
    sheet.parent(pages).media_box(Rect::new(0.0, 0.0, width as f32, height as f32)).contents(drawn);
    sheet.resources().finish();
    sheet.finish();
    pdf.stream(drawn, &deflated).filter(Filter::FlateDecode);
    Ok(pdf.finish())
}
