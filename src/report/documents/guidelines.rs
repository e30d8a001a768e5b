//! Answers to what NIST SP 800-226 asks of whoever claims differential privacy.

use super::about::About;
use super::besides::{cost_of_the_schema, outside_the_guarantee};
use super::markdown::{list, plain, told};
use crate::privacy::PrivacyUnit;
use crate::statement::WhatIf;
use crate::train::ModelFile;

/// The page as Markdown, from the strength of the guarantee at the top of the pyramid to the collection of the rows at its foot.
pub(super) fn page(model: &ModelFile, about: &About) -> String {
    let statement = &model.statement;
    let (facts, guarantee) = (&statement.facts, &statement.guarantee);
    let mut page = format!(
        "# Evaluation of a guarantee, after NIST SP 800-226\n\nModel of the data set \"{}\". Answers come from its statement, which `rhograd verify` \
         recomputes, and from what the curator told; the latter is marked.\n\n",
        plain(&facts.dataset)
    );
    if !statement.dp {
        page.push_str(&format!(
            "**NOT PRIVATE**: {}. Nothing below is a guarantee.\n\n",
            plain(&statement.reasons_not_dp.join("; "))
        ));
    }
    let mut section = |title: &str, answers: Vec<(&str, String)>| {
        page.push_str(&format!("## {title}\n\n"));
        page.extend(answers.into_iter().map(|(question, answer)| format!("**{question}** {answer}\n\n")));
    };
    let by = |text: &str| format!("(curator) {}", told(text));
    let group = statement.what_if(WhatIf::Group(5)).map_or_else(|_| "no bound is known".into(), |answer| answer.words);
    section(
        "1. Epsilon and the other parameters",
        vec![
            (
                "What are the parameters?",
                format!(
                    "epsilon {}, delta {}, rho {}{}.",
                    guarantee.epsilon,
                    guarantee.delta,
                    guarantee.rho_upper,
                    plain(&cost_of_the_schema(statement))
                ),
            ),
            ("What do they mean?", plain(&statement.in_plain_words().unwrap_or_else(|| statement.statement.clone()))),
            ("How were they chosen?", by(&about.justification)),
            ("Is delta small?", format!("It is {}; it came from: {}.", guarantee.delta, plain(&facts.delta_origin))),
            (
                "Do they cover all that is released?",
                plain(&format!("They cover {}.", statement.setting.released.join(", "))),
            ),
        ],
    );
    section(
        "2. The unit of privacy",
        vec![
            (
                "What do neighbouring tables differ in?",
                plain(&format!(
                    "{}; unit: {}; relation: {}.",
                    statement.definition.protects.join(", "),
                    facts.unit,
                    facts.adjacency
                )),
            ),
            (
                "May one person have several rows?",
                plain(match facts.unit.is_person() {
                    false if facts.unit == PrivacyUnit::Label => {
                        "If so, each label is protected on its own and all of theirs together less: five labels as below. Features are public."
                    }
                    false if facts.unit.is_private_cells() => {
                        "If so, the private cells of each row are protected on their own and the person less: five rows as below. Some columns are public."
                    }
                    false => {
                        "If so, each row is protected on its own and the person less: a person with five rows as below."
                    }
                    true => "All rows of a person are protected together.",
                }),
            ),
            ("What holds for groups?", plain(&group)),
        ],
    );
    section(
        "3. The kind of guarantee",
        vec![
            (
                "Which variant, and how is it computed?",
                plain(&format!("{}: {}.", statement.definition.notion, guarantee.conversion)),
            ),
            (
                "Do bounds compose?",
                plain("Yes: rho adds up over releases and runs; a ledger adds up all runs on a data set."),
            ),
            (
                "Are released quantities unprotected?",
                format!("{} Besides: {}", plain(&outside_the_guarantee(statement)), by(&about.also_published)),
            ),
        ],
    );
    let accesses = statement.scope.data_accesses.iter();
    let accesses = accesses
        .map(|access| format!("{} x {}, noise multiplier {}", access.count, access.what, access.noise_multiplier));
    section(
        "4. The algorithm, its utility and bias",
        vec![
            ("Which mechanisms touch the rows?", plain(&format!("{}.", accesses.collect::<Vec<_>>().join("; ")))),
            (
                "Is the sensitivity proved?",
                plain(
                    "Rows are clipped and summed in integers, so the bound holds exactly; each query derives its own.",
                ),
            ),
            (
                "How useful is the result?",
                plain(&match &model.evaluation {
                    Some(evaluation) => {
                        let metrics = evaluation.metrics.iter().map(|(name, estimate)| {
                            format!("{name} {:.4} (noise {:.4})", estimate.value, estimate.noise)
                        });
                        format!("On about {:.0} held out: {}.", evaluation.rows, metrics.collect::<Vec<_>>().join(", "))
                    }
                    None => "It was not measured within the budget.".into(),
                }),
            ),
            (
                "Could it be biased?",
                plain(
                    "Clipping and noise weigh on small groups most. Clipped rows and numbers outside their bounds bias a sum.",
                ),
            ),
        ],
    );
    section(
        "5. The implementation",
        vec![
            (
                "Is noise drawn exactly?",
                plain(&format!("{}; random numbers: {}.", statement.mechanism.name, statement.mechanism.rng)),
            ),
            (
                "Are floating-point numbers safe?",
                plain(&format!(
                    "{}: no floating-point number decides what a row may change.",
                    statement.mechanism.arithmetic
                )),
            ),
            (
                "What of side channels?",
                plain(
                    "Timing and memory of the training host are out of scope. The exit code is among what is released, as named above.",
                ),
            ),
            (
                "Can others check it?",
                plain(&format!(
                    "Yes: `rhograd verify` recomputes each number of the statement. Log SHA-256 {}.",
                    model.log_sha256
                )),
            ),
        ],
    );
    section(
        "6. Trust, access and the collection of rows",
        vec![
            (
                "Which trust model?",
                plain(&format!(
                    "Central. {}",
                    statement.limits.iter().find(|limit| limit.starts_with("trusted are")).map_or("", String::as_str)
                )),
            ),
            ("What may an attacker know?", plain(&statement.setting.adversary)),
            ("Who may reach the rows?", by(&about.access_control)),
            ("How were the rows collected?", by(&about.data_domain)),
            (
                "Will more be released?",
                format!(
                    "{} {}",
                    by(&about.further_releases),
                    match &facts.ledger {
                        Some(_) => "The run is charged to a ledger.",
                        None => "No durable ledger recorded the run.",
                    }
                ),
            ),
        ],
    );
    page.push_str(&format!(
        "## What the guarantee does not cover\n\n{}",
        list(statement.limits.iter().map(String::as_str))
    ));
    page
}
