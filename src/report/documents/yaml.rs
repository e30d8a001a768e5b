//! The few forms of YAML that an entry needs: mappings, lists of texts, texts in double quotes as in JSON, numbers.

use serde_json::Value;

/// A value as YAML, each text on one line.
pub(super) fn yaml(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, &mut text);
    text
}

fn write(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::Object(_) | Value::Array(_) => {
                        text.push_str(&format!("{indent}{name}:\n"));
                        write(field, depth + 1, text);
                    }
                    _ => text.push_str(&format!("{indent}{name}: {}\n", scalar(field))),
                }
            }
        }
        Value::Array(items) => text.extend(items.iter().map(|item| format!("{indent}- {}\n", scalar(item)))),
        _ => text.push_str(&format!("{indent}{}\n", scalar(value))),
    }
}

/// A text or a number. YAML 1.1 takes `1e-6` for a text: it wants a point and a sign.
fn scalar(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if !value.is_u64() && !value.is_i64() => {
            let short = format!("{number:?}");
            if short.len() <= 12 && short.contains('.') && !short.contains('e') {
                return short;
            }
            let scientific = format!("{number:e}");
            let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
            let digits = if digits.contains('.') { digits.to_owned() } else { format!("{digits}.0") };
            let sign = if exponent.starts_with('-') { "" } else { "+" };
            format!("{digits}e{sign}{exponent}")
        }
        // What JSON writes of a text or a whole number YAML reads alike; it knows no other line ends than these.
        _ => value.to_string().chars().map(escaped).collect(),
    }
}

/// A character, escaped where YAML takes it for a line end or for none that may stand in a text.
fn escaped(c: char) -> String {
    match c {
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
            format!("\\u{:04x}", u32::from(c))
        }
        _ => c.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::yaml;

    #[test]
    fn texts_are_quoted_and_numbers_have_points() {
        let value = json!({"a": "x: #\n\"y\"\u{2028}\u{7f}", "b": {"list": ["-", "1"], "tiny": 1e-6, "half": 0.5, "one": 1.0, "two": 2, "large": 1e300}});
        let expected = "a: \"x: #\\n\\\"y\\\"\\u2028\\u007f\"\nb:\n  list:\n    - \"-\"\n    - \"1\"\n  tiny: 1.0e-6\n  half: 0.5\n  one: 1.0\n  two: 2\n  large: 1.0e+300\n";
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(String::from).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&yaml(&value)), sorted(expected));
    }
}
