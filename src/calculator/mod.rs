//! Questions to the accountant as JSON: a kind and parameters in, named numbers out.
//!
//! [`calibrate`] turns a budget into noise or steps, [`curves`] draws epsilon against delta and steps.
//!
//! Every kind is strict: an unknown or missing parameter is an error that names it. Infinities are the
//! string `"inf"`, a delta too small for a normal double is null, and `log_delta` stands beside every
//! delta. Upper bounds are rounded up, lower bounds down.
//!
//! ```
//! use rhograd::calculator::curves::{Notion, Series, epsilon_against_delta};
//! use rhograd::calculator::{Malformed, Query, Signature, answer_line, read_queries, signatures};
//! use rhograd::privacy::{Adjacency, DpEvent, Mechanism};
//!
//! let text = r#"{"query": "zcdp_to_eps_classical", "params": {"xi": 0, "rho": 0.5, "delta": 1e-5}}"#;
//! let asked: Vec<Result<Query, Malformed>> = read_queries(text)?;
//! assert!(answer_line(&asked[0]).contains("epsilon"));
//! let known: Vec<Signature> = signatures().collect();
//! assert!(known.iter().any(|kind| kind.query == "zcdp_to_eps_classical"));
//!
//! let event = DpEvent::repeated(Mechanism::Gaussian { noise_multiplier: 20.0 }, 100);
//! let drawn: Vec<Series> = epsilon_against_delta(&event, Adjacency::AddRemove, &[Notion::Exact], &[1e-8, 1e-6])?;
//! assert!(drawn[0].points[0].1 > drawn[0].points[1].1);
//! # Ok::<(), rhograd::error::Error>(())
//! ```

mod answer;
mod bounded;
pub mod calibrate;
mod composition;
mod conversion;
pub mod curves;
mod distribution;
mod events;
mod input;
mod kind;
mod lemmas;
mod notions;
mod params;
mod renyi;
mod tools;

use serde_json::{Map, Value};

use crate::error::{Error, Fallible};
pub use input::{Malformed, Query, answer_line, read_queries};
use kind::Kind;
use params::Params;

/// Every kind, by topic.
const KINDS: [&[Kind]; 9] = [
    conversion::KINDS,
    renyi::KINDS,
    distribution::KINDS,
    composition::KINDS,
    tools::KINDS,
    lemmas::KINDS,
    notions::KINDS,
    bounded::KINDS,
    events::KINDS,
];

/// Number of kinds.
const COUNT: usize = {
    let (mut total, mut i) = (0, 0);
    while i < KINDS.len() {
        total += KINDS[i].len();
        i += 1;
    }
    total
};

/// The names of all kinds of question.
///
/// ```
/// assert!(rhograd::calculator::QUERIES.contains(&"gaussian_delta_exact"));
/// ```
pub const QUERIES: &[&str] = &{
    let mut names = [""; COUNT];
    let (mut at, mut i) = (0, 0);
    while i < KINDS.len() {
        let mut j = 0;
        while j < KINDS[i].len() {
            names[at] = KINDS[i][j].name;
            at += 1;
            j += 1;
        }
        i += 1;
    }
    names
};

/// A kind of question and the names of its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// One of [`QUERIES`].
    pub query: &'static str,
    /// Parameters that must be given.
    pub required: &'static [&'static str],
    /// Parameters that may be given.
    pub optional: &'static [&'static str],
}

/// What every kind of question wants to know, in the order of [`QUERIES`].
pub fn signatures() -> impl Iterator<Item = Signature> {
    let kinds = KINDS.iter().flat_map(|topic| topic.iter());
    kinds.map(|kind| Signature { query: kind.name, required: kind.required, optional: kind.optional })
}

/// The answer to one question.
///
/// `query` is one of [`QUERIES`], `params` an object with exactly the parameters of that kind.
///
/// # Errors
/// When the kind is unknown, a parameter is unknown, missing, of the wrong type or outside its range, or
/// the computation has no trustworthy answer.
///
/// # Privacy
/// Upper bounds are rounded up and lower bounds down; nothing depends on data.
///
/// ```
/// use rhograd::calculator;
/// # fn main() -> rhograd::error::Fallible<()> {
/// let params = serde_json::json!({"xi": 0.0, "rho": 0.5, "delta": 1e-5});
/// let answer = calculator::answer("zcdp_to_eps_classical", &params)?;
/// assert!((answer["epsilon"].as_f64().unwrap() - 5.298525912188).abs() < 1e-11);
/// # Ok(())
/// # }
/// ```
pub fn answer(query: &str, params: &Value) -> Fallible<Map<String, Value>> {
    let kind = KINDS.iter().flat_map(|topic| topic.iter()).find(|kind| kind.name == query).ok_or_else(|| {
        Error::parameter("query", format!("there is no {query:?}"), format!("use one of {}", QUERIES.join(", ")))
    })?;
    let params = Params::open(params, kind.required, kind.optional)?;
    (kind.solve)(&params)?.finish()
}
