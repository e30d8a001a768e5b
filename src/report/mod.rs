//! A model for whoever must approve it: one page with its statement, budget, effects, quality and checks.
//!
//! ```
//! use rhograd::prelude::*;
//! use rhograd::report::{About, Document, Report, card};
//!
//! let schema = Schema::read("datasets/fair.schema.json".as_ref())?;
//! let file = CsvFile::open("datasets/fair.csv".as_ref())?;
//! let config = TrainConfig::new(Budget::Epsilon(Epsilon::new(1.0)?, None));
//! let loaded = load(&config, schema, &file, &|_, _| Ok(()))?;
//! let (trained, _) = train(loaded, &mut Ledger::in_memory()?, NoiseSource::from_os()?, &mut |_| Ok(()))?;
//!
//! let text = trained.model.to_json();
//! let page = Report::of(&trained.model, &text).page()?;
//! assert!(page.starts_with("<!DOCTYPE html>") && page.contains("epsilon 1"));
//! // What a notebook shows of a model.
//! assert!(card(&trained.model)?.contains("In plain words"));
//!
//! // For others: answers to NIST SP 800-226, and an entry of the registry, which needs what no model tells.
//! assert!(Document::Guidelines.of(&trained.model, None)?.contains("epsilon 1, delta 1e-5"));
//! let about = About {
//!     name: "Affairs".into(),
//!     curators: vec!["A. Custodian".into()],
//!     published: "2026-11-25".into(),
//!     ..About::default()
//! };
//! assert!(Document::Registry.of(&trained.model, Some(&about))?.contains("tier: 3"));
//! # Ok::<(), Error>(())
//! ```

mod books;
mod documents;
mod html;
mod page;
mod pictures;
mod shapes;
mod sql;
pub(crate) mod tiles;
mod words;

pub(crate) use books::{by_unit, entry_in_words, left_under_cap, spent_in_words, utc};
pub use documents::{About, Document};
pub(crate) use html::escaped;
pub use page::{Report, card};
pub(crate) use shapes::{bands, pair_title, title, together};
pub use sql::sql;
pub(crate) use words::{DIGITS, authentication, edited, facts_in_words, number};
