//! An explanation as one HTML file that needs nothing beside it.

use crate::error::{Error, Fallible};
use crate::plot::{Format, Tile, Tiles};
use crate::report::{bands, escaped, number, title, together};
use crate::train::Explanation;

const STYLE: &str = "body{font:15px/1.45 sans-serif;max-width:1180px;margin:2em auto;padding:0 1em;color:#222}\
table{border-collapse:collapse}td,th{padding:.15em .9em;text-align:right}td:first-child,th:first-child{text-align:left}\
tr:nth-child(even){background:#f4f6f9}.shapes{display:flex;flex-wrap:wrap}.shapes svg{max-width:100%;height:auto}";

/// The page.
pub(super) fn page(explanation: &Explanation, tiles: &[Tile]) -> Fallible<String> {
    let effect_on = escaped(&explanation.effect_on);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Effects on {effect_on}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\n<body>\n<h1>Effects on {effect_on}</h1>\n"
    );
    page.push_str(
        "<p>Importance is the standard deviation of an effect under the released shares of rows. Effects of columns add up; compare \
         differences inside a column, not its level. Grey at the foot of a curve is where rows are. \
         Where nearly all rows lie in a small part of a column, its axis is longer there: numbers at ticks are those of the column.</p>\n",
    );
    page.push_str(&format!("<p>{}</p>\n", bands(explanation)));
    for what in &explanation.missing {
        page.push_str(&format!("<p>Not in the file: {}.</p>\n", escaped(what)));
    }
    page.push_str("<table><tr><th>column</th><th>importance</th><th>lowest</th><th>highest</th></tr>\n");
    for shape in &explanation.columns {
        let cells = [shape.importance, shape.lowest, shape.highest].map(|x| format!("<td>{}</td>", number(x)));
        page.push_str(&format!("<tr><td>{}</td>{}</tr>\n", escaped(&title(shape)), cells.concat()));
    }
    page.push_str("</table>\n");
    if let Some(beyond) = together(explanation) {
        page.push_str(&format!("<p>{beyond}</p>\n"));
    }
    if !explanation.pairs.is_empty() {
        page.push_str("<p>Heat maps show what two columns do together beyond what each does alone: blue lowers, red raises, grey is where hardly a row is.</p>\n");
    }
    page.push_str("<div class=\"shapes\">\n");
    for tile in tiles {
        let svg = Tiles(std::slice::from_ref(tile)).to_bytes(Format::Svg)?;
        let svg = String::from_utf8(svg).map_err(|e| Error::numerical("picture", e.to_string()))?;
        page.push_str(&svg);
        page.push('\n');
    }
    page.push_str("</div>\n</body>\n</html>\n");
    Ok(page)
}
