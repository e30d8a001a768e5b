//! What reports and screens call things.

use crate::num::round::decimal_down;
use crate::optim::Algorithm;
use crate::statement::{Guarantee, Statement};
use crate::text::visible;
use crate::train::{ModelFile, Verified};

/// Significant digits of numbers for people; files have all.
pub(crate) const DIGITS: u32 = 6;

/// Five significant digits, in plain or scientific notation, whichever is readable.
pub(crate) fn number(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        size if (1e-4..1e7).contains(&size) => {
            let digits = (4 - size.log10().floor() as i32).clamp(0, 8) as usize;
            format!("{x:.digits$}")
        }
        _ => format!("{x:.4e}"),
    }
}

/// What a statement is about and what it costs: names and what they are.
pub(crate) fn facts_in_words(statement: &Statement) -> Vec<(&'static str, String)> {
    let (facts, guarantee) = (&statement.facts, &statement.guarantee);
    let (rho, epsilon) = match statement.dp {
        true => (guarantee.rho_upper.clone(), epsilons(guarantee)),
        false => {
            let otherwise = format!("without that it would be {} at delta {}", guarantee.epsilon, guarantee.delta);
            ("none".into(), format!("none: NOT PRIVATE, see above; {otherwise}"))
        }
    };
    let mut rows = vec![
        ("model", format!("{}, {} coefficients", facts.model.words(), facts.dimension)),
        (
            "algorithm",
            format!(
                "{}, {}, {}",
                facts.algorithm.name(),
                match facts.algorithm {
                    Algorithm::LabelSums => "one release of rows by their labels".to_owned(),
                    _ => format!("{} releases by gradient steps", statement.mechanism.steps),
                },
                statement.mechanism.sampling
            ),
        ),
    ];
    rows.extend(facts.tuned().map(|tuned| ("chosen", tuned.to_string())));
    rows.extend([("rho", rho), ("epsilon", epsilon), ("adjacency", facts.adjacency.to_string())]);
    if !facts.unit.is_row() {
        rows.push(("unit", facts.unit.to_string()));
    }
    rows.extend([
        (
            "noise",
            format!(
                "{}; multiplier {} per step, sigma {} on sums clipped at {:.4}",
                statement.mechanism.name,
                decimal_down(statement.mechanism.noise_multiplier, 6),
                decimal_down(statement.mechanism.sigma, 6),
                statement.mechanism.clip_norm
            ),
        ),
        (
            "ledger",
            facts
                .ledger
                .as_ref()
                .map_or("none".into(), |ledger| format!("entry {}, run {}", ledger.position.sequence, ledger.run)),
        ),
    ]);
    rows
}

/// Every epsilon that the statement holds, and the delta of them.
fn epsilons(guarantee: &Guarantee) -> String {
    let known = [
        ("exact", &guarantee.epsilon_exact),
        ("by privacy-loss distributions", &guarantee.epsilon_pld),
        ("by Renyi divergences", &guarantee.epsilon_rdp),
        ("by zCDP", &guarantee.epsilon_zcdp),
        ("by classical zCDP", &guarantee.epsilon_zcdp_classical),
    ];
    let shown = known.iter().filter_map(|(by, value)| value.as_ref().map(|value| format!("{value} {by}")));
    format!("{}, at delta {}", shown.collect::<Vec<_>>().join(", "), guarantee.delta)
}

/// What was done to a model after its release, for people; `None` of one as it was released.
pub(crate) fn edited(model: &ModelFile) -> Option<String> {
    let reshaped = model.reshaped.as_ref()?;
    // A shape belongs to a column; a correction of probabilities moves all there is.
    let of_columns = reshaped.edits.iter().any(|edit| edit.column().is_some());
    let together = match model.together {
        Some(_) if of_columns => " What columns do together was left as it was.",
        _ => "",
    };
    Some(format!(
        "Edited after release: {}.{together} The file says that it was made from the released model with SHA-256 {}; `rhograd verify --source` \
         shows it. Edits that were chosen without a look at private rows are post-processing: the statement below is that of the release, covers \
         this file as well, and nothing more was charged.",
        visible(&reshaped.words()),
        visible(&reshaped.source_sha256)
    ))
}

/// Who vouches for the coefficients, and what that means; of an edited model, with its source or without.
pub(crate) fn authentication(verified: &Verified, model: &ModelFile, sourced: bool) -> (&'static str, &'static str) {
    match verified {
        _ if !verified.held() => ("not authenticated", "a check failed, so nothing in this file can be relied on"),
        _ if model.reshaped.is_some() && !sourced => (
            "not authenticated",
            "the file was edited after its release, and what is checked below is what it says of itself. What edits make of a released model is as \
             private as that; --source FILE, the released model, shows whether this one is made so",
        ),
        Verified { by_ledger: true, by_signature: true, .. } if sourced => (
            "authenticated by the ledger and a signature",
            "both are of the source, and the edits made again give this file; effects that were set by hand are their author's",
        ),
        Verified { by_signature: true, .. } if sourced => (
            "authenticated by a signature",
            "it is of the source, and the edits made again give this file; effects that were set by hand are their author's",
        ),
        Verified { by_ledger: true, .. } if sourced => (
            "authenticated by the ledger",
            "it notes the digest of the source, and the edits made again give this file; effects that were set by hand are their author's",
        ),
        Verified { by_ledger: true, by_signature: true, .. } => (
            "authenticated by the ledger and a signature",
            "it notes the digest of this very file as the result of the run, and the owner of the key signed it",
        ),
        Verified { by_signature: true, .. } => {
            ("authenticated by a signature", "the owner of the key signed this very file, its statement and its ledger")
        }
        Verified { by_ledger: true, .. } => {
            ("authenticated by the ledger", "it notes the digest of this very file as the result of the run")
        }
        _ => (
            "not authenticated",
            "what is checked below is what the file says of itself. Anyone can put other coefficients under this statement; \
             --ledger FILE shows whether they are those of the run, --key FILE whether the custodian signed them",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_readable() {
        let cases =
            [(0.0, "0"), (1.0, "1.0000"), (-12_345.678, "-12346"), (0.000_5, "0.00050000"), (3e-9, "3.0000e-9")];
        for (x, expected) in cases {
            assert_eq!(number(x), expected);
        }
    }
}
