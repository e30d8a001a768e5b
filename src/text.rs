//! Text from files as a person may safely see it.

use std::borrow::Cow;

/// Shows every character that a terminal would obey or hide: controls, escape sequences, bidirectional overrides.
///
/// Names of columns, labels, categories and data sets come from files that others may have made. Printed as they are, they
/// could move the cursor, erase a line, turn the reading direction or hide behind characters of no width. What is not
/// plainly visible is written as in Rust: `\n`, `\u{1b}`, `\u{202e}`. Letters of all scripts stay as they are.
///
/// ```
/// use rhograd::text::visible;
/// assert_eq!(visible("age"), "age");
/// assert_eq!(visible("Größe 年齢"), "Größe 年齢");
/// assert_eq!(visible("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
/// assert_eq!(visible("\u{202e}txt"), "\\u{202e}txt");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        push_visible(c, &mut shown);
    }
    Cow::Owned(shown)
}

/// How many of a thing, as in "1 run" and "2 runs".
pub(crate) fn counted(count: u64, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// Shows every character of a page that a terminal would obey or hide, but for its line ends, which stay.
///
/// It is what stands between a page and the terminal. A line end inside a name is a line end here, so a name is made
/// visible when it is put on the page.
///
/// ```
/// assert_eq!(rhograd::text::visible_page("a\tb\nc\r\n"), "a\\tb\nc\\r\n");
/// ```
pub fn visible_page(page: &str) -> Cow<'_, str> {
    if page.bytes().all(|byte| (b' '..=b'~').contains(&byte) || byte == b'\n') {
        return Cow::Borrowed(page);
    }
    Cow::Owned(page.split('\n').map(visible).collect::<Vec<_>>().join("\n"))
}

/// Shows every character of a text in JSON that a terminal would obey or hide, and keeps its meaning: such stand in strings alone, and
/// there `\u202e` says the same.
///
/// ```
/// assert_eq!(rhograd::text::visible_json("{\"\u{202e}\":\"\u{e0041}\"}"), r#"{"\u202e":"\udb40\udc41"}"#);
/// ```
pub fn visible_json(json: &str) -> Cow<'_, str> {
    if json.bytes().all(|byte| (b' '..=b'~').contains(&byte) || byte == b'\n') {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\n' || is_visible(c) {
            shown.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    Cow::Owned(shown)
}

fn push_visible(c: char, shown: &mut String) {
    if is_visible(c) {
        shown.push(c);
    } else {
        shown.extend(c.escape_debug());
    }
}

/// Whether a character is printed where it stands, by the tables of the standard library: no control, no format character, no
/// private or unassigned one, no separator but the blank. A mark on a letter is visible.
fn is_visible(c: char) -> bool {
    if matches!(c, '\\' | '"' | '\'') {
        return true;
    }
    let mut pair = [0; 5];
    pair[0] = b'a';
    let length = c.encode_utf8(&mut pair[1..]).len();
    // After a letter, where a mark belongs: alone it would be written as its number.
    let text = std::str::from_utf8(&pair[..=length]).unwrap_or_default();
    text.escape_debug().nth(1) == Some(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_or_hides_is_left() {
        let hostile = [
            '\0',
            '\u{7}',
            '\u{8}',
            '\t',
            '\n',
            '\r',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{9b}',
            '\u{9d}',
            '\u{a0}',
            '\u{ad}',
            '\u{61c}',
            '\u{180e}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202b}',
            '\u{202c}',
            '\u{202d}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{2067}',
            '\u{2068}',
            '\u{2069}',
            '\u{feff}',
            '\u{fff9}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e000}',
            '\u{10ffff}',
        ];
        for c in hostile {
            let shown = visible(&format!("x{c}y")).into_owned();
            assert!(!shown.contains(c) && shown.starts_with("x\\") && shown.ends_with('y'), "{c:?}: {shown}");
            let page = visible_page(&format!("x{c}y")).into_owned();
            assert_eq!(page.contains(c), c == '\n', "{c:?}");
            let json = serde_json::to_string(&format!("x{c}y")).unwrap();
            let safe = visible_json(&json);
            assert!(!safe.contains(c), "{c:?}: {safe}");
            assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), format!("x{c}y"));
        }
    }

    #[test]
    fn letters_of_all_scripts_and_marks_on_them_stay() {
        for text in ["naïve \"café\" \\ 'x'", "e\u{301}", "שלום", "नमस्ते", "ไทย", "年齢 ≥ 65 €", "🙂", ""]
        {
            assert_eq!(visible(text), text);
            assert_eq!(visible_page(text), text);
        }
    }

    #[test]
    fn every_character_below_the_first_private_one_is_kept_or_written_in_ascii() {
        for c in (0..0xe000).filter_map(char::from_u32) {
            let shown = visible(c.encode_utf8(&mut [0; 4])).into_owned();
            assert!(shown == c.to_string() || (shown.is_ascii() && shown.starts_with('\\')), "{c:?}: {shown}");
            assert!(!c.is_control() || shown.starts_with('\\'), "{c:?}");
        }
    }
}
