//! What `rhograd train` tells: results on standard output, the custodian's part on standard error.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use serde_json::json;

use crate::cli::model::most_telling;
use crate::cli::output::{counted, seconds, tell, warn};
use crate::cli::statement::{evaluated, plain_statement};
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::preprocess::{CacheUse, RowCache};
use crate::privacy::Charge;
use crate::report::{left_under_cap, spent_in_words};
use crate::text::visible;
use crate::train::{Finding, Loaded, MOSTLY, Trained, summary as summary_of};

pub(super) struct Finished {
    pub(super) trained: Trained,
    pub(super) load_seconds: f64,
}

/// What the custodian may know about the load; standard error only.
pub(super) fn report_load(loaded: &Loaded) -> Vec<Finding> {
    let report = &loaded.report;
    tell(&format!("custodian-only: {} lines read in {}", report.lines, seconds(loaded.load_seconds)));
    let found = loaded.findings("line");
    let say = if found.iter().any(Finding::is_grave) { warn } else { tell };
    for text in summary_of(&found) {
        say(&format!("custodian-only: {text}"));
    }
    found
}

/// On a terminal, whether to go on where most rows or most cells of a column are lost.
///
/// Whoever answers is the custodian, who sees the rows anyway. Without a terminal, and where rows come by standard input, nobody is asked, and nothing depends on rows.
///
/// # Errors
/// When the answer is no; nothing has been charged or written then.
pub(super) fn ask(found: &[Finding]) -> Fallible<()> {
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !terminal || !found.iter().any(Finding::is_grave) {
        return Ok(());
    }
    let most = 100.0 * MOSTLY;
    let question =
        format!("more than {most}% of the rows, or of the cells of a column, are lost. Train all the same? [y/N] ");
    let _ = write!(std::io::stderr(), "rhograd: custodian-only: {question}");
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Error::refused(
            "not started, as you wished; nothing was charged",
            "correct the data or the schema, or look at them with `rhograd check`; --yes does not ask",
        )),
    }
}

/// Where the rows are; standard error only.
pub(super) fn report_streaming(loaded: &Loaded, cache: Option<&RowCache>) {
    if loaded.streamed {
        let place = cache.map_or_else(|| "a temporary file".into(), |cache| cache.path().display().to_string());
        tell(&format!(
            "custodian-only: the rows are larger than the memory limit; every step streams them from {place}"
        ));
    }
}

/// Says where the cost of a released schema is not counted together with the run's.
pub(super) fn report_schema(loaded: &Loaded, ledger: &mut Ledger) -> Fallible<()> {
    if !loaded.counts_schema(ledger)? {
        warn("warning: the release of the schema is not in this ledger, so its cost is not counted with this run's");
    }
    Ok(())
}

/// What became of the cache; standard error only.
pub(super) fn report_cache(loaded: &Loaded, cache: Option<&RowCache>) {
    let (Some(cache), Some(used)) = (cache, &loaded.cache) else { return };
    let path = cache.path().display();
    let say = if matches!(used, CacheUse::Made) { warn } else { tell };
    say(&match used {
        CacheUse::Used => format!("custodian-only: rows read from the cache {path}"),
        CacheUse::Made => format!("custodian-only: rows kept in the cache {path}, which is as private as the data"),
        CacheUse::Renewed(why) => format!("custodian-only: cache {path} made anew: {why}"),
        CacheUse::Failed(why) => format!("custodian-only: no cache was kept: {why}"),
    });
}

/// What all runs on the data set have cost so far; a function of public parameters.
pub(super) fn report_spending(ledger: &mut Ledger, trained: &Trained) -> Fallible<()> {
    let Some(path) = ledger.path().map(Path::to_owned) else { return Ok(()) };
    let dataset = crate::privacy::DatasetId::new(trained.model.statement.dataset.id.clone())?;
    let summary = ledger.summary(&dataset)?;
    let cap = left_under_cap(&summary).unwrap_or("no cap set; `rhograd ledger cap` sets one".into());
    warn(&format!(
        "ledger {}: \"{dataset}\" has spent {} in {}, {cap}",
        path.display(),
        spent_in_words(&summary),
        counted(summary.runs, "run")
    ));
    Ok(())
}

/// Says at the very end that a model protects nobody, also where only JSON is printed.
pub(super) fn report_no_privacy(trained: &Trained) {
    let statement = &trained.model.statement;
    if !statement.dp {
        warn(&format!("{} Do not release this model.", visible(&statement.statement)));
    }
}

pub(super) fn page(trained: &Trained, out: &Path, log: &Path) -> String {
    format!(
        "{}\n{}{}\nmodel  {}\nlog    {}\n",
        plain_statement(&trained.model.statement),
        most_telling(&trained.model, 10),
        evaluated(&trained.model),
        out.display(),
        log.display()
    )
}

pub(super) fn summary(finished: &Finished, out: &Path, log: &Path) -> serde_json::Value {
    let Finished { trained, load_seconds } = finished;
    let statement = &trained.model.statement;
    let facts = &statement.facts;
    let guarantee = &statement.guarantee;
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::INFINITY);
    json!({
        "dp": statement.dp,
        "dataset": facts.dataset,
        "model": facts.model,
        "algorithm": facts.algorithm,
        "adjacency": facts.adjacency,
        "unit": facts.unit,
        "rho": number(&guarantee.rho_upper),
        "epsilon": number(&guarantee.epsilon),
        "delta": number(&guarantee.delta),
        "epsilon_exact": guarantee.epsilon_exact.as_deref().map(number),
        "epsilon_zcdp": guarantee.epsilon_zcdp.as_deref().map(number),
        "epsilon_zcdp_classical": guarantee.epsilon_zcdp_classical.as_deref().map(number),
        "epsilon_pld": guarantee.epsilon_pld.as_deref().map(number),
        "epsilon_rdp": guarantee.epsilon_rdp.as_deref().map(number),
        "approximate_delta": guarantee.approximate_delta.as_deref().map(number),
        "steps": statement.mechanism.steps,
        "noise_multiplier": statement.mechanism.noise_multiplier,
        "sigma": statement.mechanism.sigma,
        "clip": statement.mechanism.clip_norm,
        "settings": facts.settings,
        "chosen": facts.tuned().map(|tuned| tuned.chosen),
        "dimension": facts.dimension,
        "evaluation": trained.model.evaluation,
        "releases": facts.charges().iter().map(Charge::count).fold(0, u64::saturating_add),
        "out": out,
        "log": log,
        "custodian_only": ["load_seconds", "train_seconds", "seconds_per_step", "rows_per_second"],
        "load_seconds": load_seconds,
        "train_seconds": trained.train_seconds,
        "seconds_per_step": trained.seconds_per_step,
        "rows_per_second": trained.rows_per_second,
    })
}
