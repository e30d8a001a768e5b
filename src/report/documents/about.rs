//! What no model file tells.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Fallible};

/// What a custodian tells of a model besides its file; all of it is public.
///
/// ```
/// use rhograd::report::About;
/// let text = r#"{"name": "Affairs", "curators": ["A. Custodian"], "intended_use": "teaching", "region": "United States",
///     "published": "2026-11-25", "authors": ["A. Custodian"]}"#;
/// assert_eq!(About::parse(text, "about.json".as_ref())?.name, "Affairs");
/// assert!(About::parse(&text.replace("2026-11-25", "25.11.2026"), "about.json".as_ref()).is_err());
/// # Ok::<(), rhograd::error::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Name of what is published.
    pub name: String,
    /// Who publishes it.
    pub curators: Vec<String>,
    /// What it is for.
    pub intended_use: String,
    /// Which region the rows are about, or whose laws hold.
    pub region: String,
    /// When it was published, as in 2026-11-25.
    pub published: String,
    /// Who wrote the document.
    pub authors: Vec<String>,
    /// What it is, in a sentence or two.
    #[serde(default)]
    pub description: String,
    /// Field that it is about: Technology, Healthcare, Education, Government, Energy or Finance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sector: Option<String>,
    /// Which tables the guarantee is about: whose rows, collected how and when.
    #[serde(default)]
    pub data_domain: String,
    /// What is told of the rows outside the guarantee, as the number of rows or an earlier publication.
    #[serde(default)]
    pub also_published: String,
    /// Whether more will be released from the same rows, and what bounds it.
    #[serde(default)]
    pub further_releases: String,
    /// Who may reach the rows, and what keeps others from them.
    #[serde(default)]
    pub access_control: String,
    /// Why epsilon, delta and the unit are as they are.
    #[serde(default)]
    pub justification: String,
    /// Links to the model, a paper or a page.
    #[serde(default)]
    pub sources: Vec<String>,
}

/// Fields that the registry knows.
const SECTORS: [&str; 6] = ["Technology", "Healthcare", "Education", "Government", "Energy", "Finance"];

impl About {
    /// Reads what was told, as JSON.
    ///
    /// # Errors
    /// When it is no such JSON, or a text that is needed is empty, or a date is none.
    pub fn parse(text: &str, path: &Path) -> Fallible<Self> {
        let about: About = serde_json::from_str(text).map_err(|e| {
            let cure = format!("correct it, after\n{}", Self::template());
            Error::input(path, format!("does not tell about a model ({e})"), cure).at_line(e.line() as u64)
        })?;
        let wrong = |field: &str, problem: &str, cure: &str| {
            Error::input(path, format!("\"{field}\" {problem}"), cure.to_owned())
        };
        let needed = [
            ("name", about.name.trim().is_empty()),
            ("intended_use", about.intended_use.trim().is_empty()),
            ("region", about.region.trim().is_empty()),
            ("curators", about.curators.iter().all(|name| name.trim().is_empty())),
            ("authors", about.authors.iter().all(|name| name.trim().is_empty())),
        ];
        if let Some((field, _)) = needed.iter().find(|(_, empty)| *empty) {
            return Err(wrong(field, "is empty", "write it"));
        }
        if !is_date(&about.published) {
            return Err(wrong("published", "is no date", "write it as 2026-11-25"));
        }
        match &about.sector {
            Some(sector) if !SECTORS.contains(&sector.as_str()) => {
                let cure = format!("use one of {}, or leave it out", SECTORS.join(", "));
                Err(wrong("sector", "is none that the registry knows", &cure))
            }
            _ => Ok(about),
        }
    }

    /// A file to begin with.
    pub fn template() -> String {
        "{\"name\": \"...\", \"curators\": [\"...\"], \"intended_use\": \"...\", \"region\": \"...\", \"published\": \"2026-11-25\", \"authors\": [\"...\"],\n \
         \"description\": \"...\", \"sector\": \"Healthcare\", \"data_domain\": \"...\", \"also_published\": \"nothing\", \"further_releases\": \"...\",\n \
         \"access_control\": \"...\", \"justification\": \"...\", \"sources\": [\"...\"]}"
            .into()
    }
}

/// Whether a text is a day of the calendar, year first.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let number = |part: &str, digits: usize| {
        (part.len() == digits && part.bytes().all(|b| b.is_ascii_digit())).then(|| part.parse::<u32>().unwrap_or(0))
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    let leap = (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    year > 0 && (1..=days).contains(&day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_of_the_calendar() {
        for day in ["2026-11-25", "2024-02-29", "2000-02-29", "1999-12-31"] {
            assert!(is_date(day), "{day}");
        }
        for day in [
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-04-31",
            "2026-1-1",
            "25.11.2026",
            "0000-01-01",
            "",
            "2026-11-2x",
        ] {
            assert!(!is_date(day), "{day}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let template = About::template();
        assert!(About::parse(&template, Path::new("about.json")).is_ok());
        for (from, to, words) in [
            ("\"name\": \"...\", ", "", "missing field `name`"),
            ("\"curators\": [\"...\"]", "\"curators\": []", "\"curators\" is empty"),
            ("\"region\": \"...\"", "\"region\": \" \"", "\"region\" is empty"),
            ("2026-11-25", "soon", "\"published\" is no date"),
            ("Healthcare", "Astrology", "\"sector\" is none"),
            ("\"sources\"", "\"sauces\"", "unknown field `sauces`"),
        ] {
            let edited = template.replacen(from, to, 1);
            assert_ne!(edited, template);
            let error = About::parse(&edited, Path::new("about.json")).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
