//! A model card.

use super::about::About;
use super::markdown::{list, plain, table, told};
use crate::report::words::{edited, facts_in_words, number};
use crate::train::{ModelFile, effect_on, effects};

/// Effects that the card shows; the model file has all.
const MOST_EFFECTS: usize = 60;

/// The card as Markdown, after the sections of Mitchell et al. 2019.
pub(super) fn page(model: &ModelFile, about: &About) -> String {
    let statement = &model.statement;
    let facts = &statement.facts;
    let name = if about.name.is_empty() { format!("A model of \"{}\"", facts.dataset) } else { about.name.clone() };
    let mut page = format!("# {}\n\n", plain(&name));
    if !statement.dp {
        page.push_str(&format!("**NOT PRIVATE**: {}.\n\n", plain(&statement.reasons_not_dp.join("; "))));
    }
    page.push_str(&format!("## Model details\n\n{}\n", told(&about.description)));
    let rows = facts_in_words(statement).into_iter().map(|(name, value)| vec![name.to_owned(), value]);
    page.push_str(&format!("\n{}\n", table(&["", ""], rows)));
    if let Some(words) = edited(model) {
        page.push_str(&format!("{}\n\n", plain(&words)));
    }
    page.push_str(&format!(
        "Published by {}, {}. Program: rhograd {}.\n\n",
        told(&about.curators.join(", ")),
        told(&about.published),
        plain(&facts.version)
    ));
    page.push_str(&format!("## Intended use\n\n{}\n\n", told(&about.intended_use)));
    page.push_str(&format!(
        "## Factors\n\nRows are about: {}. Region: {}. What groups of persons get of the model was not measured, unless it is told here: every look at \
         private rows has a cost.\n\n",
        told(&about.data_domain),
        told(&about.region)
    ));
    page.push_str("## Metrics and evaluation data\n\n");
    match &model.evaluation {
        Some(evaluation) => {
            let units = if facts.unit.is_person() { "persons" } else { "rows" };
            page.push_str(&format!(
                "About {:.0} {units} were held out of training. The numbers are noised and part of what was paid for.\n\n",
                evaluation.rows
            ));
            let rows = evaluation
                .metrics
                .iter()
                .map(|(name, estimate)| vec![name.clone(), number(estimate.value), number(estimate.noise)]);
            page.push_str(&table(&["metric", "value", "deviation of its noise"], rows));
        }
        None => page.push_str("Nothing was held out, so no number of its quality was released.\n"),
    }
    page.push_str(&format!(
        "\n## Training data\n\nThe table called \"{}\", described by a public schema (SHA-256 {}). Preprocessing {}.\n\n",
        plain(&facts.dataset),
        plain(&facts.schema_sha256),
        plain(&statement.scope.preprocessing)
    ));
    page.push_str(&format!(
        "## Quantitative analysis\n\nEffects on {}, in the units of the data.\n\n",
        plain(&effect_on(model))
    ));
    let all = effects(model);
    let shown = all.iter().take(MOST_EFFECTS).map(|effect| {
        let ends =
            effect.interval().map_or(String::new(), |(low, high)| format!("{} to {}", number(low), number(high)));
        vec![effect.name.clone(), number(effect.value), ends]
    });
    page.push_str(&table(&["effect", "size", "95% interval"], shown));
    if all.len() > MOST_EFFECTS {
        page.push_str(&format!("\n{} more are in the model file.\n", all.len() - MOST_EFFECTS));
    }
    page.push_str(&format!("\n## Ethical considerations: privacy\n\n{}\n\n", plain(&statement.statement)));
    if let Some(words) = statement.in_plain_words() {
        page.push_str(&format!("In plain words: {}\n\n", plain(&words)));
    }
    page.push_str(&format!("Why these numbers: {}\n\n", told(&about.justification)));
    page.push_str(&format!("## Caveats\n\n{}", list(statement.limits.iter().map(String::as_str))));
    page
}
