//! Markdown that shows text and never obeys it.

use crate::text::visible;

/// Text as Markdown shows it: no link, no emphasis, no markup, no column of a table.
pub(super) fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => safe.extend(['\\', c]),
            _ => safe.push(c),
        }
    }
    safe
}

/// What was told, or that nothing was.
pub(super) fn told(text: &str) -> String {
    if text.trim().is_empty() { "*Not told; `--about` adds it.*".into() } else { plain(text.trim()) }
}

/// Lines of a list.
pub(super) fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    items.into_iter().map(|item| format!("- {}\n", plain(item))).collect()
}

/// A table.
pub(super) fn table(columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(&columns.iter().map(|name| plain(name)).collect::<Vec<_>>());
    text.push_str(&format!("|{}\n", "---|".repeat(columns.len())));
    text.extend(rows.into_iter().map(|row| line(&row.iter().map(|cell| plain(cell)).collect::<Vec<_>>())));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_a_file_is_markup() {
        let shown = plain("[a](x) <b> *c* _d_ `e` | # \u{202e}\n- f");
        assert_eq!(shown, "\\[a\\](x) &lt;b> \\*c\\* \\_d\\_ \\`e\\` \\| \\# \\\\u{202e}\\\\n- f");
        assert_eq!(table(&["a", "b"], [vec!["1|2".into(), "3".into()]]), "| a | b |\n|---|---|\n| 1\\|2 | 3 |\n");
    }
}
