//! HTML that shows text and never obeys it.

use crate::error::{Error, Fallible};
use crate::text::visible;

/// Text as HTML shows it and never obeys it.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(c),
        }
    }
    safe
}

/// A cell of a table.
pub(super) enum Cell {
    /// The name of a row.
    Name(String),
    /// Text.
    Text(String),
    /// A number, at the right.
    Number(String),
    /// Markup that is shown as it is.
    Markup(String),
}

impl Cell {
    /// The name of a row.
    pub(super) fn name(text: impl Into<String>) -> Self {
        Cell::Name(text.into())
    }

    /// Text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }

    /// A number.
    pub(super) fn number(text: impl Into<String>) -> Self {
        Cell::Number(text.into())
    }

    /// The cell, with the name of its column for narrow screens, which show one cell below the other.
    fn markup(&self, column: &str) -> String {
        let label = if column.is_empty() { String::new() } else { format!(" data-label=\"{}\"", escaped(column)) };
        match self {
            Cell::Name(text) => format!("<th scope=\"row\">{}</th>", escaped(text)),
            Cell::Text(text) => format!("<td{label}>{}</td>", escaped(text)),
            Cell::Number(text) if text.is_empty() => "<td class=\"n\"></td>".into(),
            Cell::Number(text) => format!("<td class=\"n\"{label}>{}</td>", escaped(text)),
            Cell::Markup(markup) => format!("<td>{markup}</td>"),
        }
    }
}

/// A table with the names of its columns, none where these say nothing.
pub(super) fn table(columns: &[&str], rows: impl IntoIterator<Item = Vec<Cell>>) -> String {
    let mut body = String::new();
    let mut numbers: Vec<bool> = Vec::new();
    for row in rows {
        if numbers.is_empty() {
            numbers = row.iter().map(|cell| matches!(cell, Cell::Number(_))).collect();
        }
        let cells = row.iter().enumerate().map(|(at, cell)| cell.markup(columns.get(at).unwrap_or(&"")));
        body.push_str(&format!("<tr>{}</tr>\n", cells.collect::<String>()));
    }
    let class = |at: usize| if numbers.get(at) == Some(&true) { " class=\"n\"" } else { "" };
    let names = columns.iter().enumerate();
    let names = names.map(|(at, name)| format!("<th scope=\"col\"{}>{}</th>", class(at), escaped(name)));
    let head = if columns.is_empty() {
        String::new()
    } else {
        format!("<thead><tr>{}</tr></thead>\n", names.collect::<String>())
    };
    format!("<div class=\"wide\"><table class=\"stack\">\n{head}<tbody>\n{body}</tbody></table></div>\n")
}

/// A paragraph.
pub(super) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escaped(text))
}

/// A list of sentences.
pub(super) fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let items = items.into_iter().map(|item| format!("<li>{}</li>\n", escaped(item)));
    format!("<ul>\n{}</ul>\n", items.collect::<String>())
}

/// A picture with the words for whoever does not see it.
pub(super) fn figure(svg: Vec<u8>, alternative: &str) -> Fallible<String> {
    let svg = String::from_utf8(svg).map_err(|e| Error::numerical("picture", e.to_string()))?;
    let named = format!("<svg role=\"img\" aria-label=\"{}\" ", escaped(alternative));
    Ok(format!("<figure class=\"figure\">{}</figure>\n", svg.replacen("<svg ", &named, 1)))
}

/// Something that is read on request, and always printed.
pub(super) fn details(title: &str, content: &str) -> String {
    format!("<details><summary>{}</summary>\n{content}</details>\n", escaped(title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_a_file_is_markup() {
        let hostile = "<script>alert('a\"b')</script>&\u{202e}";
        let shown = table(&[hostile], [vec![Cell::name(hostile), Cell::text(hostile), Cell::number(hostile)]]);
        let shown = format!("{shown}{}{}{}", paragraph(hostile), list([hostile]), details(hostile, ""));
        assert!(!shown.contains("<script") && !shown.contains('\u{202e}') && !shown.contains("'a"), "{shown}");
        assert_eq!(shown.matches("&lt;script&gt;alert(&#39;a&quot;b&#39;)&lt;/script&gt;&amp;\\u{202e}").count(), 7);
        let drawn = figure(b"<svg width=\"1\"></svg>".to_vec(), "a \"b\"").unwrap();
        assert!(drawn.contains("<svg role=\"img\" aria-label=\"a &quot;b&quot;\" width"), "{drawn}");
    }

    #[test]
    fn numbers_stand_below_the_name_of_their_column() {
        let shown = table(&["what", "rho"], [vec![Cell::name("count"), Cell::number("0.1")]]);
        assert!(
            shown.contains("<th scope=\"col\" class=\"n\">rho</th>")
                && shown.contains("<td class=\"n\" data-label=\"rho\">0.1</td>")
        );
        assert!(!table(&[], [vec![Cell::name("count")]]).contains("<thead>"));
    }
}
