//! The page, section by section.

use std::io::BufRead;

use super::books::{cap_words, entry_in_words, left_under_cap, spent_in_words, utc};
use super::html::{Cell, details, escaped, list, paragraph, table};
use super::pictures;
use super::shapes::{bands, together};
use super::words::{DIGITS, authentication, edited, facts_in_words, number};
use crate::accounting::Conversion;
use crate::error::{Error, Fallible};
use crate::ledger::{Cap, Ledger, Record};
use crate::num::round::decimal_up;
use crate::privacy::{Adjacency, DatasetId, Delta, PrivacyUnit};
use crate::statement::{Statement, WhatIf};
use crate::text::counted;
use crate::train::{
    Effect, Evidence, Explanation, Feature, ModelFile, Verified, effect_on, effects, reliability, sha256_hex, verify,
};

const STYLE: &str = include_str!("style.css");

/// Effects that are drawn; a table has all.
const MOST_EFFECTS: usize = 30;

/// Pairs of columns that are drawn.
const PAIRS: usize = 4;

/// Entries of a ledger, and lines of a log, that are shown: the last ones.
const MOST_LINES: usize = 200;

/// A page about a model, and what it is checked against.
///
/// # Privacy
/// The page is a function of the released model, its log, and the ledger. A ledger tells of all runs on a data set, each by its
/// cost and its time; whoever gets the page with it learns these, and no row.
pub struct Report<'a> {
    model: &'a ModelFile,
    text: &'a str,
    ledger: Option<&'a mut Ledger>,
    log: Option<&'a str>,
    names: [String; 3],
}

impl<'a> Report<'a> {
    /// A report of a model and the text that it was read from.
    pub fn of(model: &'a ModelFile, text: &'a str) -> Self {
        let names = ["MODEL", "LEDGER", "LOG"].map(String::from);
        Report { model, text, ledger: None, log: None, names }
    }

    /// The report that is also checked against this ledger, and tells what is spent and left in it.
    pub fn ledger(self, ledger: &'a mut Ledger) -> Self {
        Report { ledger: Some(ledger), ..self }
    }

    /// The report that also checks the text of a log, and shows it.
    pub fn log(self, log: &'a str) -> Self {
        Report { log: Some(log), ..self }
    }

    /// The report whose commands name these files: model, ledger and log.
    pub fn named(self, names: [String; 3]) -> Self {
        Report { names, ..self }
    }

    /// One HTML page that needs nothing beside it, and no script.
    ///
    /// # Errors
    /// When a check of the model, the ledger or the log fails: an approval must not rest on it. When a bound or a picture cannot be
    /// computed.
    pub fn page(mut self) -> Fallible<String> {
        let mut log = self.log.map(str::as_bytes);
        let evidence = Evidence {
            log: log.as_mut().map(|log| log as &mut dyn BufRead),
            ledger: self.ledger.as_deref_mut(),
            ..Evidence::default()
        };
        let verified = verify(self.model, self.text, evidence)?;
        if let Some(failed) = verified.checks.iter().find(|check| !check.held) {
            return Err(Error::refused(
                format!("no report is made of a model that does not verify: {}", failed.what),
                "`rhograd verify` with the same files shows all checks",
            ));
        }
        let statement = &self.model.statement;
        let mut body = heading(self.model);
        body.push_str(&verdict(statement));
        body.push_str(&self.changed());
        body.push_str(&protection(statement)?);
        body.push_str(&self.budget()?);
        body.push_str(&released(statement));
        body.push_str(&says(self.model)?);
        body.push_str(&quality(self.model)?);
        body.push_str(&choices(statement));
        body.push_str(&self.checks(&verified));
        body.push_str(&self.logged());
        body.push_str(&glossary(statement));
        let title = format!("Privacy report: {}", statement.facts.dataset);
        Ok(format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
            escaped(&title)
        ))
    }

    fn changed(&self) -> String {
        edited(self.model).map_or(String::new(), |words| paragraph(&words))
    }

    /// What was spent, by this run and by all of them.
    fn budget(&mut self) -> Fallible<String> {
        let statement = &self.model.statement;
        let facts = &statement.facts;
        let mut page = String::from("<h2>How much was spent, and what is left</h2>\n");
        let guarantee = &statement.guarantee;
        let delta = guarantee.approximate_delta.as_ref().map_or(String::new(), |delta| format!(" and delta {delta}"));
        page.push_str(&paragraph(&format!("This run cost rho {}{delta}.", guarantee.rho_upper)));
        let Some(charge) = &facts.ledger else {
            page.push_str(&paragraph(
                "No durable ledger recorded this run: nothing counts it together with others on the same data, and nothing binds them.",
            ));
            return Ok(page);
        };
        let spent_then = charge.spent_after.rho().upper();
        let Some(ledger) = &mut self.ledger else {
            page.push_str(&paragraph(&format!(
                "It is entry {} of a ledger. With it, all runs on \"{}\" had cost rho {}. This page was made without the ledger, so it \
                 does not tell what was spent since and what is left.",
                charge.position.sequence,
                facts.dataset,
                decimal_up(spent_then, DIGITS)
            )));
            return Ok(page);
        };
        let dataset = DatasetId::new(facts.dataset.clone())?;
        let run_at_order = match ledger.entry(charge.position.sequence)?.map(|entry| entry.record) {
            Some(Record::Reserve { rho_at_order, .. }) => rho_at_order.map(|rho| rho.rho().upper()),
            _ => None,
        };
        let summary = ledger.summary(&dataset)?;
        let spent = summary.spent.upper();
        let at: f64 = facts.delta.parse().unwrap_or(f64::NAN);
        let epsilon = Conversion::Optimal.epsilon(spent, Delta::new(at)?)?.value();
        let with = if summary.spent_delta > 0.0 {
            format!(" + {}", decimal_up(summary.spent_delta, DIGITS))
        } else {
            String::new()
        };
        let worth = match &summary.spent_at_order {
            // As its cap counts; the sum of claims says less of the same runs.
            Some(_) => match run_at_order {
                Some(run) => format!("{}, of which this one {}", spent_in_words(&summary), decimal_up(run, DIGITS)),
                None => spent_in_words(&summary),
            },
            None => format!(
                "{}, which is epsilon {} at delta {}{with}",
                spent_in_words(&summary),
                decimal_up(epsilon, DIGITS),
                facts.delta
            ),
        };
        page.push_str(&paragraph(&format!(
            "All {} on \"{}\" together cost {worth}. {} of them released a result.",
            counted(summary.runs, "run"),
            facts.dataset,
            summary.completed
        )));
        match &summary.cap {
            None => page.push_str(&paragraph("The data set has no cap: spending is counted, and nothing is refused.")),
            Some(cap) => {
                let most = cap.most_rho().lower();
                let words = cap_words(Some(cap));
                let left = left_under_cap(&summary).map_or(String::new(), |left| format!(" Rho {left}."));
                page.push_str(&paragraph(&format!("Cap of the data set: {}.{left}", words.trim_start_matches("cap "))));
                // What was counted at an order is compared with a cap at that order, and not with one that was set since.
                let counted_alike = cap.order() == charge.cap.as_ref().and_then(Cap::order);
                if most > 0.0 && counted_alike {
                    let (run, then, now) = match (&charge.spent_at_order_after, &summary.spent_at_order) {
                        (Some(then), Some(now)) => (run_at_order, then.rho().upper(), now.upper()),
                        _ => (guarantee.rho_upper.parse().ok(), spent_then, spent),
                    };
                    let run = run.unwrap_or(f64::INFINITY);
                    let (before, later) = ((then - run).max(0.0), (now - then).max(0.0));
                    page.push_str(&pictures::meter(before / most, run / most, later / most));
                }
                let raised = (summary.cap_raised > 0).then(|| {
                    format!(
                        "The cap was raised {}; it holds for what it is now alone.",
                        counted(summary.cap_raised, "time")
                    )
                });
                let late = (summary.runs_before_cap > 0).then(|| {
                    format!(
                        "The cap was set after {}: it holds if they did not decide it.",
                        counted(summary.runs_before_cap, "run")
                    )
                });
                page.extend(raised.iter().chain(&late).map(|words| paragraph(words)));
            }
        }
        if summary.seeded > 0 {
            page.push_str(&paragraph(&format!(
                "{} had a fixed seed and protect nobody.",
                counted(summary.seeded, "run")
            )));
        }
        let history = ledger.history()?;
        let own: Vec<_> = history.iter().filter(|(_, after)| after.dataset == dataset).collect();
        let rows = own.iter().skip(own.len().saturating_sub(MOST_LINES)).map(|(entry, after)| {
            let (at, what) = entry_in_words(&entry.record, after);
            let when = at.map_or(String::new(), |at| format!("{} UTC", utc(at)));
            vec![Cell::number(entry.sequence.to_string()), Cell::text(when), Cell::text(what)]
        });
        let entries = table(&["entry", "when", "what"], rows);
        page.push_str(&details(&format!("Entries of the ledger on this data set ({})", own.len()), &entries));
        Ok(page)
    }

    fn checks(&self, verified: &Verified) -> String {
        let mut page = String::from("<h2>How to check this page</h2>\n");
        let (who, why) = authentication(verified, self.model, false);
        page.push_str(&paragraph(&format!("Coefficients are {who}: {why}.")));
        let rows = verified.checks.iter().map(|check| vec![Cell::Markup("ok".into()), Cell::text(check.what.clone())]);
        page.push_str(&details(
            &format!("{} when this page was made, and held", counted(verified.checks.len() as u64, "check")),
            &table(&[], rows),
        ));
        page.push_str(&paragraph(
            "Whoever has the files makes the same checks by this command, with a copy of the program of their own. It recomputes every number \
             of the statement from the recorded releases.",
        ));
        let [model, ledger, log] = &self.names;
        let facts = &self.model.statement.facts;
        let mut command = format!("rhograd verify {model}");
        if facts.ledger.is_some() {
            command.push_str(&format!(" --ledger {ledger}"));
        }
        command.push_str(&format!(" --log {log}"));
        page.push_str(&format!("<pre>{}</pre>\n", escaped(&command)));
        let mut rows = vec![
            vec![
                Cell::name("SHA-256 of the model file"),
                Cell::Markup(format!("<code>{}</code>", sha256_hex(self.text.as_bytes()))),
            ],
            vec![Cell::name("SHA-256 of its log"), Cell::text(self.model.log_sha256.clone())],
            vec![Cell::name("SHA-256 of the schema"), Cell::text(facts.schema_sha256.clone())],
        ];
        if let Some(charge) = &facts.ledger {
            let entry = format!("{}, with hash {}", charge.position.sequence, charge.position.hash);
            rows.push(vec![Cell::name("entry of the ledger"), Cell::text(entry)]);
        }
        rows.push(vec![Cell::name("program"), Cell::text(format!("rhograd {}", facts.version))]);
        page.push_str(&table(&[], rows));
        page
    }

    /// The log, whose numbers are those of the file.
    fn logged(&self) -> String {
        let Some(log) = self.log else { return String::new() };
        let lines: Vec<serde_json::Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let cell = |line: &serde_json::Value, name: &str| match line.get(name) {
            Some(serde_json::Value::String(text)) => Cell::text(text.clone()),
            // As everywhere upward, and no longer than a column is wide.
            Some(serde_json::Value::Number(value)) => Cell::number(match (value.as_u64(), value.as_f64()) {
                (None, Some(number)) => decimal_up(number, DIGITS),
                _ => value.to_string(),
            }),
            _ => Cell::number(""),
        };
        let columns = ["release", "step", "what", "sigma", "rho", "epsilon_zcdp", "epsilon_exact"];
        let skipped = lines.len().saturating_sub(MOST_LINES);
        let rows = lines.iter().skip(skipped).map(|line| columns.iter().map(|name| cell(line, name)).collect());
        let names =
            ["release", "step", "what", "sigma", "rho so far", "epsilon so far (zCDP)", "epsilon so far (exact)"];
        let shown = match skipped {
            0 => "The log of the run".to_owned(),
            _ => format!("The log of the run: the last {MOST_LINES} of {} lines", lines.len()),
        };
        format!("<h2>Log</h2>\n{}", details(&shown, &table(&names, rows)))
    }
}

/// What a notebook shows of a model: what it promises, and its largest effects.
///
/// # Errors
/// When the effects cannot be computed, as of a file that was made up.
pub fn card(model: &ModelFile) -> Fallible<String> {
    let statement = &model.statement;
    let rows = facts_in_words(statement).into_iter().map(|(name, value)| vec![Cell::name(name), Cell::text(value)]);
    let shown = strongest(model).into_iter().take(10).map(|(effect, _)| {
        let ends =
            effect.interval().map_or(String::new(), |(low, high)| format!("{} to {}", number(low), number(high)));
        vec![Cell::name(effect.name), Cell::number(number(effect.value)), Cell::text(ends)]
    });
    Ok(format!(
        "<div class=\"rhograd\">\n{}{}{}</div>\n",
        paragraph(&plainly(statement)),
        table(&[], rows),
        details(
            &format!("Strongest effects on {}", effect_on(model)),
            &table(&["effect", "size", "95% interval"], shown)
        )
    ))
}

fn plainly(statement: &Statement) -> String {
    match statement.in_plain_words() {
        Some(words) => format!("In plain words: {words}"),
        None => statement.statement.clone(),
    }
}

fn heading(model: &ModelFile) -> String {
    let facts = &model.statement.facts;
    format!(
        "<header>\n<p class=\"soft\">Privacy report</p>\n<h1>{}</h1>\n<p class=\"soft\">{}, {} coefficients, algorithm {}, rhograd {}</p>\n</header>\n",
        escaped(&format!("A model of the data set \"{}\"", facts.dataset)),
        escaped(&facts.model.words()),
        facts.dimension,
        escaped(facts.algorithm.name()),
        escaped(&facts.version)
    )
}

/// The statement, in plain words first.
fn verdict(statement: &Statement) -> String {
    if !statement.dp {
        let reasons = list(statement.reasons_not_dp.iter().map(String::as_str));
        return format!(
            "<section class=\"verdict not\" aria-label=\"Verdict\"><b>NOT PRIVATE</b>\n<p>This model must not be published as private:</p>\n{reasons}\
             </section>\n"
        );
    }
    let (facts, guarantee) = (&statement.facts, &statement.guarantee);
    let one = match facts.unit {
        PrivacyUnit::Row => "row",
        PrivacyUnit::Person { .. } => "person",
        PrivacyUnit::Label => "label",
        PrivacyUnit::PrivateCells { .. } => "row's private cells",
    };
    let change = match facts.adjacency {
        Adjacency::AddRemove => "more or less",
        Adjacency::ReplaceOne => "in the place of another",
    };
    let numbers = [
        (format!("epsilon {}", guarantee.epsilon), "at most; smaller protects better".to_owned()),
        (format!("delta {}", guarantee.delta), "the probability that epsilon leaves out".to_owned()),
        (format!("one {one}"), format!("{change} gives nearly the same results: so much is protected")),
        (format!("rho {}", guarantee.rho_upper), "the cost of this run; costs of runs add up".to_owned()),
    ];
    let numbers = numbers
        .map(|(number, what)| format!("<li><b>{}</b> <span class=\"soft\">{what}</span></li>\n", escaped(&number)));
    format!(
        "<section class=\"verdict\" aria-label=\"Verdict\">\n<p class=\"lead\">{}</p>\n<p>{}</p>\n</section>\n<ul class=\"numbers\">\n{}</ul>\n",
        escaped(&plainly(statement)),
        escaped(&statement.statement),
        numbers.concat()
    )
}

/// Who is protected from whom, and who is not.
fn protection(statement: &Statement) -> Fallible<String> {
    let definition = &statement.definition;
    let rows = vec![
        vec![Cell::name("Protected"), Cell::text(format!("{}: {}", definition.unit, definition.protects.join(", ")))],
        vec![Cell::name("Against"), Cell::text(format!("whoever {}", statement.setting.adversary))],
        vec![Cell::name("Notion"), Cell::text(format!("{}, {}", definition.notion, definition.adjacency))],
        vec![Cell::name("Computed by"), Cell::text(statement.guarantee.conversion.clone())],
    ];
    let mut page = format!("<h2>Who is protected from what</h2>\n{}", table(&[], rows));
    if statement.dp {
        page.push_str(&pictures::trade_off(&statement.guarantee)?);
        let tested = match statement.facts.unit {
            PrivacyUnit::Row => "whether a row is among the data",
            PrivacyUnit::Person { .. } => "whether a person is among the data",
            PrivacyUnit::Label => "which of two labels a row has",
            PrivacyUnit::PrivateCells { .. } => "which private cells a row has",
        };
        page.push_str(&paragraph(&format!(
            "Whoever tests {tested} errs in two ways. No test, whatever it uses, has error rates below the curve; the closer the curve is to the \
             line of the coin, the less can be learned."
        )));
        let questions = [WhatIf::Group(5), WhatIf::Attribute, WhatIf::Prior(0.01), WhatIf::NewRows];
        let answers = questions.iter().filter_map(|question| statement.what_if(*question).ok());
        let words: Vec<String> = answers.map(|answer| answer.words).collect();
        page.push_str("<h3>What it means for others</h3>\n");
        page.push_str(&list(words.iter().map(String::as_str)));
    }
    page.push_str("<h3>What is not protected, and what the guarantee rests on</h3>\n");
    page.push_str(&list(statement.limits.iter().map(String::as_str)));
    Ok(page)
}

fn released(statement: &Statement) -> String {
    let what = format!("Whoever gets the model may see: {}.", statement.setting.released.join(", "));
    let rows = statement.scope.data_accesses.iter().map(|access| {
        vec![
            Cell::name(access.what.clone()),
            Cell::number(access.count.to_string()),
            Cell::number(access.noise_multiplier.clone()),
            Cell::number(access.sampling_rate.clone().unwrap_or_default()),
            Cell::number(access.rho_upper.clone().unwrap_or_default()),
        ]
    });
    let columns = ["query of the rows", "times", "noise multiplier", "sampling rate", "rho"];
    format!("<h2>What was released</h2>\n{}{}", paragraph(&what), table(&columns, rows))
}

/// Effects in units that can be compared, the strongest first: a number by its released deviation or the half of its bounds.
fn strongest(model: &ModelFile) -> Vec<(Effect, String)> {
    let scales = model.features.iter().filter_map(|feature| match feature {
        Feature::Numeric { name, map, .. } => Some((name.as_str(), map.scale)),
        _ => None,
    });
    let scales: Vec<(&str, f64)> = scales.collect();
    let mut all = effects(model);
    // Intercepts are last.
    all.truncate(all.len().saturating_sub(model.intercept.values().len()));
    let scaled = all.into_iter().map(|effect| {
        let of = |name: &&(&str, f64)| effect.name == name.0 || effect.name.starts_with(&format!("{} -> ", name.0));
        match scales.iter().find(of) {
            Some((_, scale)) => {
                let error = effect.error.map(|error| error * scale);
                (Effect { value: effect.value * scale, error, ..effect }, format!("per {}", number(*scale)))
            }
            None => (effect, String::new()),
        }
    });
    let mut scaled: Vec<_> = scaled.collect();
    scaled.sort_by(|(a, _), (b, _)| b.value.abs().total_cmp(&a.value.abs()));
    scaled
}

/// Effects with intervals, or shapes.
fn says(model: &ModelFile) -> Fallible<String> {
    let mut page = format!("<h2>What the model says</h2>\n<p>Effects on {}.</p>\n", escaped(&effect_on(model)));
    let explanation = Explanation::of(model, PAIRS)?;
    if model.features.iter().any(|feature| matches!(feature, Feature::Steps { .. })) || model.together.is_some() {
        page.push_str(&paragraph(
            "The number in brackets is the importance of a column: the standard deviation of its effect.",
        ));
        page.push_str(&paragraph(bands(&explanation)));
        let (drawn, left) = pictures::shapes(&explanation)?;
        page.push_str(&drawn);
        if left > 0 {
            page.push_str(&paragraph(&format!("{left} more are drawn by `rhograd explain`.")));
        }
        page.extend(together(&explanation).iter().map(|words| paragraph(words)));
    } else {
        let all = strongest(model);
        let drawn = &all[..all.len().min(MOST_EFFECTS)];
        let reach = drawn.iter().map(|(effect, _)| effect.interval().unwrap_or((effect.value, effect.value)));
        let axis = reach.fold((0.0f64, 0.0f64), |axis, ends| (axis.0.min(ends.0), axis.1.max(ends.1)));
        let axis = if axis.0 < axis.1 { axis } else { (-1.0, 1.0) };
        let rows = drawn.iter().map(|(effect, per)| {
            let ends = effect.interval();
            vec![
                Cell::name(format!("{} {per}", effect.name).trim_end().to_owned()),
                Cell::Markup(pictures::interval(effect.value, ends, axis)),
                Cell::number(number(effect.value)),
                Cell::number(ends.map_or(String::new(), |(low, high)| format!("{} to {}", number(low), number(high)))),
            ]
        });
        page.push_str(&paragraph(
            "The strongest first. A number is taken by its scale, which its name has: a released deviation, or half of its bounds. The thin \
             line is no effect.",
        ));
        page.push_str(&table(&["effect", "", "size", "95% interval"], rows));
        if all.len() > drawn.len() {
            page.push_str(&paragraph(&format!("{} weaker ones are not drawn.", all.len() - drawn.len())));
        }
        page.push_str(&paragraph(match model.standard_errors {
            Some(_) if model.statement.facts.unit == PrivacyUnit::Label => {
                "Intervals hold the chance of labels, the noise of privacy, and what shrinking is expected to leave out."
            }
            Some(_) => "Intervals hold the sampling of the rows and the noise of privacy; they do not hold the shrinkage of a fit that stops early.",
            None => "No theory gives intervals for this algorithm: the sizes hold noise of unknown extent.",
        }));
    }
    let rows = effects(model).into_iter().map(|effect| {
        let error = effect.error.map_or(String::new(), number);
        vec![Cell::name(effect.name), Cell::number(number(effect.value)), Cell::number(error)]
    });
    page.push_str(&details(
        "All coefficients, in the units of the data",
        &table(&["effect", "size", "standard error"], rows),
    ));
    Ok(page)
}

fn quality(model: &ModelFile) -> Fallible<String> {
    let Some(evaluation) = &model.evaluation else {
        return Ok("<h2>How good it is</h2>\n<p>Nothing was held out to measure it, so nothing is known of its quality here: `--evaluate-budget` of a \
                   run pays for that.</p>\n"
            .into());
    };
    let units = if model.statement.facts.unit.is_person() { "persons" } else { "rows" };
    let rows = evaluation.metrics.iter().map(|(name, estimate)| {
        let limit = estimate.limit.map_or(String::new(), |limit| format!("rows cut at {}", number(limit)));
        vec![
            Cell::name(name.clone()),
            Cell::number(number(estimate.value)),
            Cell::number(number(estimate.noise)),
            Cell::text(limit),
        ]
    });
    let words = format!(
        "On about {:.0} {units} that were held out of training. The numbers are noised, part of the release and paid for.",
        evaluation.rows
    );
    let columns = ["metric", "value", "deviation of its noise", ""];
    let metrics = format!("<h2>How good it is</h2>\n{}{}", paragraph(&words), table(&columns, rows));
    let curve = evaluation.margins.as_ref().map(reliability).unwrap_or_default();
    if curve.is_empty() {
        return Ok(metrics);
    }
    let points = curve.iter().map(|point| {
        [point.predicted, point.observed, point.deviation, point.rows].map(|value| Cell::number(number(value))).into()
    });
    let columns = ["predicted", "observed", "standard deviation", units];
    Ok(format!(
        "{metrics}{}{}",
        pictures::calibration(&curve)?,
        details("Probabilities in numbers", &table(&columns, points))
    ))
}

/// Who chose what.
fn choices(statement: &Statement) -> String {
    let facts = &statement.facts;
    let mut rows: Vec<[String; 3]> = Vec::new();
    let mut add = |what: &str, choice: String, by: &str| rows.push([what.into(), choice, by.into()]);
    let trainer = "whoever trained";
    add("budget of this run", format!("rho {}", decimal_up(facts.budget_rho.rho().upper(), DIGITS)), trainer);
    add("delta", facts.delta.clone(), &facts.delta_origin);
    add("relation and unit", format!("{}, {}", facts.adjacency, facts.unit), trainer);
    let schema = match (&facts.released_schema, facts.drafted_schema) {
        (Some(_), _) => "drafted from the rows by a release that was paid for",
        (None, true) => "read off the rows, which is NOT PRIVATE",
        (None, false) => "the custodian, who must not have looked at the rows for it",
    };
    add("bounds and values of columns", "the schema".into(), schema);
    if let Some(count) = facts.rows {
        add("number of rows, as public", count.to_string(), &facts.rows_origin);
    }
    add("model and algorithm", format!("{}, {}", facts.model.words(), facts.algorithm.name()), trainer);
    if let Some(share) = facts.holdout {
        add("share held out", share.to_string(), trainer);
    }
    match facts.tuned() {
        Some(tuned) => {
            add("settings", tuned.to_string(), "a choice among candidates within the run, which was paid for")
        }
        None => {
            let settings = facts.settings.iter().filter(|(_, value)| !value.is_null());
            let settings: Vec<String> = settings.map(|(name, value)| format!("{name} {value}")).collect();
            add(
                "settings",
                settings.join(", "),
                "rules of the program, where whoever trained said nothing else; they cost nothing",
            );
        }
    }
    if let Some(cap) = facts.ledger.as_ref().and_then(|ledger| ledger.cap.as_ref()) {
        add("cap of the data set when the run was charged", cap_words(Some(cap)), "whoever keeps the ledger");
    }
    let rows = rows.into_iter().map(|[what, choice, by]| vec![Cell::name(what), Cell::text(choice), Cell::text(by)]);
    format!(
        "<h2>Who chose what</h2>\n{}{}",
        table(&["what", "choice", "by"], rows),
        paragraph(&format!(
            "Preprocessing: {}. Choices by other runs: {}. Private evaluation: {}.",
            statement.scope.preprocessing,
            statement.scope.hyperparameter_search,
            statement.scope.evaluation_on_private_data
        ))
    )
}

fn glossary(statement: &Statement) -> String {
    let one = if statement.facts.unit.is_person() { "person" } else { "row" };
    let terms = [
        (
            "epsilon",
            match statement.facts.unit {
                PrivacyUnit::Label => {
                    "Bounds how much more often anything can be seen with one label of a row than with another: at most e^epsilon times.".to_owned()
                }
                PrivacyUnit::PrivateCells { .. } => {
                    "Bounds how much more often anything can be seen with some private cells of a row than with others: at most e^epsilon times."
                        .to_owned()
                }
                _ => format!("Bounds how much more often anything can be seen with a {one} among the data than without: at most e^epsilon times."),
            },
        ),
        ("delta", "A probability with which the bound by epsilon may fail; it should be far below one over the number of rows.".into()),
        ("rho", "The cost in zCDP. Costs of several runs add up, and their sum is turned into epsilon at a delta.".into()),
        ("noise multiplier", "The standard deviation of the noise over the most that one row, person or label can change a sum.".into()),
        ("cap", "The most that all runs on a data set may cost together; the ledger refuses what would exceed it.".into()),
    ];
    let rows = terms.map(|(term, meaning)| vec![Cell::name(term), Cell::text(meaning)]);
    format!("<h2>Words</h2>\n{}", table(&[], rows))
}

#[cfg(test)]
mod tests {
    use super::STYLE;

    /// Relative luminance of a colour such as `#1c2430` or `#fff` (WCAG 2.2).
    fn luminance(colour: &str) -> f64 {
        let digits = colour.trim_start_matches('#');
        let wide: String =
            if digits.len() == 3 { digits.chars().flat_map(|c| [c, c]).collect() } else { digits.to_owned() };
        let part = |at: usize| {
            let share = f64::from(u8::from_str_radix(&wide[at..at + 2], 16).unwrap()) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn letters_stand_out_from_every_ground_in_light_dark_and_print() {
        assert!((contrast("#000", "#ffffff") - 21.0).abs() < 1e-9 && contrast("#777", "#fff") < 4.5);
        let themes: Vec<&str> = STYLE.split(":root{").skip(1).map(|theme| theme.split('}').next().unwrap()).collect();
        assert_eq!(themes.len(), 3);
        for theme in themes {
            let colour = |name: &str| {
                let found = theme.split(';').find_map(|part| part.strip_prefix(&format!("--{name}:")));
                found.unwrap_or_else(|| panic!("{theme} has no {name}"))
            };
            for letters in ["ink", "soft", "accent", "bad", "good"] {
                for ground in ["paper", "card"] {
                    let ratio = contrast(colour(letters), colour(ground));
                    // WCAG 2.2, success criterion 1.4.3, for text of any size.
                    assert!(ratio >= 4.5, "{letters} on {ground}: {ratio:.2} in {theme}");
                }
            }
        }
    }
}
