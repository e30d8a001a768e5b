//! Whether recorded facts fit each other.

use super::facts::{Facts, ReleaseFacts, damaged};
use super::schema_release::states_its_cost;
use crate::accounting::claim;
use crate::data::Estimand;
use crate::error::Fallible;
use crate::optim::{Algorithm, COORDINATES, HELD_OUT};
use crate::privacy::{Charge, PrivacyUnit};
use crate::private::{MAX_HOLDOUT, Planned, Query, RowAccess, training_rows};

/// Most different costs of a statement that the accountant takes long to confirm or to add up, claims and choices: no run
/// makes as many, and a file could make up any number.
pub const MAX_COSTLY: usize = 128;

/// The different ones, and no more of them than are needed to see that there are too many.
fn costly(facts: &Facts) -> Vec<&Charge> {
    let mut costly: Vec<&Charge> = Vec::new();
    for ReleaseFacts { charge, .. } in &facts.releases {
        let is_costly = !matches!(charge, Charge::Gaussian(_));
        if is_costly && costly.len() <= MAX_COSTLY && !costly.contains(&charge) {
            costly.push(charge);
        }
    }
    costly
}

/// How many of them there are, up to one more than [`MAX_COSTLY`]: nothing is confirmed for that.
pub(crate) fn costly_releases(facts: &Facts) -> usize {
    costly(facts).len()
}

/// Refuses more such costs than a run makes, before any is looked at, and confirms each claim once.
fn check_costly(facts: &Facts) -> Fallible<()> {
    let costly = costly(facts);
    if costly.len() > MAX_COSTLY {
        return Err(damaged("records more claims and choices than a run can make"));
    }
    facts.releases.iter().try_for_each(|release| release.charge.check())?;
    if facts.releases.iter().any(|release| release.charge.count() >= 1 << 32) {
        return Err(damaged("records more releases than a run can make"));
    }
    costly.into_iter().try_for_each(|charge| claim::confirm(charge, facts.adjacency))
}

/// Every event costs what its query says, and nothing was used that no release records.
pub(super) fn check_releases(facts: &Facts) -> Fallible<()> {
    check_costly(facts)?;
    for ReleaseFacts { charge, query, unit } in &facts.releases {
        let planned = Planned { charge: charge.clone(), query: query.clone() };
        if !planned.is_recorded(facts.adjacency) {
            return Err(damaged("a sensitivity does not follow from its query and the adjacency"));
        }
        query.kind().check()?;
        if query.all().into_iter().any(|query| query.kind().reads().rows == RowAccess::Cells) {
            return Err(damaged("records a release that no training makes"));
        }
        if !(*unit > 0.0 && unit.is_finite()) {
            return Err(damaged("a grid step stands for no length"));
        }
    }
    if let Some(release) = &facts.released_schema
        && (!states_its_cost(release)? || release.adjacency != facts.adjacency || release.unit != facts.unit)
    {
        return Err(damaged("the release of the schema states no cost, or one under another relation or unit"));
    }
    if let PrivacyUnit::Person { column } = &facts.unit
        && column.trim().is_empty()
    {
        return Err(damaged("persons are told apart by no column"));
    }
    let asked = || facts.releases.iter().flat_map(|release| release.query.all());
    if facts.unit.is_person() && !asked().all(|query| query.kind().reads().persons) {
        return Err(damaged("a release has no proof for persons"));
    }
    if let PrivacyUnit::PrivateCells { public } = &facts.unit {
        let named = |private: usize| facts.numeric_columns.checked_sub(private).is_some_and(|it| it <= public.len());
        if !facts.private_numeric.is_some_and(named) {
            return Err(damaged(
                "another number of columns is private than is left of all, or it is not said how many",
            ));
        }
    } else if facts.private_numeric.is_some() || asked().any(|query| query.kind().needs_public_columns()) {
        return Err(damaged("a release has a proof where some columns are public, and none is"));
    }
    if facts.unit != PrivacyUnit::Label && asked().any(|query| query.kind().reads().labels) {
        return Err(damaged("a release has a proof for labels alone, and more is protected"));
    }
    if let Some(weight) = &facts.weight {
        let planned = |release: &ReleaseFacts| Planned { charge: release.charge.clone(), query: release.query.clone() };
        let proven = facts.releases.iter().map(planned).all(|planned| planned.serves_weights());
        if weight.problem().is_some() {
            return Err(damaged("rows have weights that bound nothing"));
        }
        if !proven || facts.unit != PrivacyUnit::Row || facts.holdout.is_some() {
            return Err(damaged("a release has no proof for rows with weights"));
        }
    }
    let of_labels: Vec<_> = facts.releases.iter().filter(|release| release.query.kind().reads().labels).collect();
    let codes = |query: &Query| match query {
        Query::LabelSums(query) => {
            let outputs = query.coding.outputs();
            facts.model.label_coding(outputs) == Some(query.coding) && facts.dimension.is_multiple_of(outputs.max(1))
        }
        _ => false,
    };
    let whole = of_labels.len() == 1 && of_labels.iter().all(|it| it.charge.count() == 1 && codes(&it.query));
    if (facts.algorithm == Algorithm::LabelSums) != whole && facts.algorithm != Algorithm::Custom {
        return Err(damaged("the sum of rows by their labels does not fit the algorithm and the model"));
    }
    let moved = asked().any(|query| matches!(query, Query::Moments(_)));
    if facts.unit == PrivacyUnit::Label && facts.algorithm != Algorithm::Custom && (moved || !whole) {
        return Err(damaged("labels alone are protected, and releases are of more"));
    }
    if facts.unit.check(facts.adjacency).is_err() {
        return Err(damaged("what neighbours differ in does not fit their relation, or names no public column"));
    }
    let trained = facts.rows.map(|rows| training_rows(rows, facts.holdout));
    let foreign = |rows: u64, dimension: usize| Some(rows) != trained || dimension != facts.dimension;
    if facts.releases.iter().flat_map(|release| release.query.all()).any(|query| match query.kind().reads().rows {
        RowAccess::Order { rows, dimension } => foreign(rows, dimension),
        RowAccess::StreamedSum | RowAccess::InMemory | RowAccess::Batches(_) | RowAccess::Cells => false,
    }) {
        return Err(damaged("a release is of another number of rows or coefficients"));
    }
    let counts: Vec<_> = facts.releases.iter().filter(|release| matches!(release.query, Query::Marginals(_))).collect();
    // Candidates of one form share the counts, and no others have any.
    let additive = facts.algorithm.cuts_columns() || (facts.algorithm == Algorithm::Tuned && !counts.is_empty());
    let fitting = |release: &&ReleaseFacts| match &release.query {
        Query::Marginals(query) => {
            query.numeric == facts.numeric_columns
                && query.target == facts.model.response().is_number()
                && release.charge.count() == 1
        }
        _ => false,
    };
    if additive && !(counts.len() == 1 && counts.iter().all(fitting)) {
        return Err(damaged("additive effects and their release of counts do not fit"));
    }
    let covariances = facts.releases.iter();
    let covariances = covariances.filter(|release| matches!(release.query, Query::Gram(_) | Query::CrossGram(_)));
    let covariances: Vec<u64> = covariances.map(|release| release.charge.count()).collect();
    let fits = match facts.algorithm {
        Algorithm::Additive => covariances.is_empty(),
        Algorithm::Rich | Algorithm::Adaptive => covariances == [1],
        _ => covariances.is_empty() || covariances == [1],
    };
    let sums = facts.releases.iter().filter(|release| matches!(release.query, Query::ClippedSum(_)));
    let sums: Vec<u64> = sums.map(|release| release.charge.count()).collect();
    let whole = match (facts.algorithm, &sums[..]) {
        (Algorithm::Additive | Algorithm::Rich, [_]) => true,
        // A third of the steps explores.
        (Algorithm::Adaptive, [first, second]) => *first == first.saturating_add(*second) / 3,
        (algorithm, _) => !algorithm.cuts_columns(),
    };
    if !whole {
        return Err(damaged("additive effects and their releases of steps do not fit"));
    }
    // Waves have no proof for persons.
    if additive && !(fits && (!facts.unit.is_person() || covariances.is_empty())) {
        return Err(damaged("additive effects and a release of a covariance do not fit"));
    }
    // The setting is of additive effects alone, so a statement that left out their counts is found by it.
    if counts.is_empty() && facts.settings.contains_key(COORDINATES) && facts.algorithm != Algorithm::Custom {
        return Err(damaged("steps were made in coordinates that follow from no release of counts"));
    }
    if !counts.is_empty() && !additive && facts.algorithm != Algorithm::Custom {
        return Err(damaged("records a release of counts that its algorithm does not make"));
    }
    let moments = facts.releases.iter().find_map(|release| match &release.query {
        Query::Moments(moments) => Some((moments.weights, moments.columns)),
        _ => None,
    });
    let counted = moments.is_some_and(|(weights, _)| weights.count > 0);
    let aimed = moments.is_some_and(|(weights, _)| weights.label > 0);
    let featured = moments.is_some_and(|(weights, _)| weights.features > 0);
    if facts.holdout.is_some_and(|share| !(share > 0.0 && share <= MAX_HOLDOUT)) {
        return Err(damaged("a share of rows was held out that no run can hold out"));
    }
    let scored = facts.releases.iter().any(|release| release.charge.what() == HELD_OUT);
    if scored != facts.holdout.is_some() {
        return Err(damaged("a hold-out and its release do not fit"));
    }
    if moments.is_some_and(|(weights, _)| (weights.shares > 0 || weights.sizes > 0) && !facts.unit.is_person()) {
        return Err(damaged("shares of persons were released, and rows are protected"));
    }
    if moments.is_some_and(|(weights, _)| weights.sizes > 0) != (facts.estimand == Estimand::Rows) {
        return Err(damaged("whose mean is estimated does not fit what was released of numbers of rows"));
    }
    let paid = facts.private_numeric.unwrap_or(facts.numeric_columns);
    if moments.is_some_and(|(_, columns)| columns != paid)
        // The sum of weights is released, whatever is public of rows.
        || counted == (facts.rows.is_some() && facts.weight.is_none())
        // Where labels alone are protected, moments of features are public.
        || (facts.standardized && facts.unit.is_private_cells() && facts.model.response().is_number() && !aimed)
        || (facts.standardized && !featured && facts.unit != PrivacyUnit::Label && facts.private_numeric != Some(0))
    {
        return Err(damaged("moments or a row count were used that no release records"));
    }
    Ok(())
}
