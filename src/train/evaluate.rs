//! Metrics on a file; custodian-only, because they are exact functions of its rows.

use serde::Serialize;

use super::model::{ModelFile, Target};
use super::predict::predict;
use crate::data::CsvFile;
use crate::error::{Error, Fallible};
use crate::loss::{Pinball, Poisson};
use crate::model_kind::{Link, ModelKind};
use crate::preprocess::{Met, TargetRule};

/// Quality of predictions on one file. Not private: do not publish it for private rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Metrics {
    /// Classification.
    Label {
        /// Rows evaluated.
        rows: u64,
        /// Share of rows whose more probable label, or the label on whose side the score lies, is right.
        accuracy: f64,
        /// Area under the ROC curve; absent where all rows have one label, for which there is none.
        auc: Option<f64>,
        /// Mean negative log-likelihood; absent for scores, which are no probabilities.
        #[serde(skip_serializing_if = "Option::is_none")]
        log_loss: Option<f64>,
        /// Share of the more frequent label.
        majority: f64,
    },
    /// Classification into more than two labels.
    Classes {
        /// Rows evaluated.
        rows: u64,
        /// Share of rows whose most probable label is right.
        accuracy: f64,
        /// Mean negative log-likelihood.
        log_loss: f64,
        /// Share of the most frequent label.
        majority: f64,
    },
    /// Regression, targets moved into their bounds.
    Number {
        /// Rows evaluated.
        rows: u64,
        /// Root of the mean squared error.
        rmse: f64,
        /// Mean absolute error.
        mae: f64,
        /// One minus the ratio of squared errors to squared deviations from the mean; absent where all targets are equal, for there
        /// is nothing to explain then.
        r2: Option<f64>,
        /// What the model itself minimises or promises, where that is neither.
        #[serde(flatten)]
        own: Own,
    },
}

/// The measures that belong to one family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Own {
    /// Quantile regression: mean pinball loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinball: Option<f64>,
    /// Quantile regression: share of targets at or below the prediction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    /// Counts: mean deviance of Poisson.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviance: Option<f64>,
}

/// Compares predictions with the targets of a file.
///
/// # Errors
/// When a column is missing or a line or target cannot be read; names the line. Evaluation is
/// custodian-only, so it may.
pub fn evaluate(model: &ModelFile, file: &CsvFile) -> Fallible<Metrics> {
    let predictions = predict(model, file)?;
    let truth = targets(model, file)?;
    // Where rows have exposures they weigh as much; else all alike.
    let weights: Vec<f64> = truth.iter().map(|truth| truth.weight).collect();
    let rows: Vec<(&[f64], f64)> = predictions.rows().flatten().zip(truth.iter().map(|truth| truth.value)).collect();
    if rows.is_empty() {
        return Err(Error::input(file.path(), "has no rows", "give a file with rows to evaluate on"));
    }
    let link = model.model.link();
    let with_offset = |p: f64, offset: f64| match (offset, link) {
        (0.0, _) => p,
        _ if !(p > 0.0 && p < 1.0) && link != Link::Score => p,
        (offset, Link::Score) => p + offset,
        // To the log-odds.
        (offset, _) => 1.0 / (1.0 + (1.0 - p) / p * (-offset).exp()),
    };
    let pairs: Vec<(f64, f64)> =
        rows.iter().zip(&truth).map(|((p, y), truth)| (with_offset(p[0], truth.offset), *y)).collect();
    Ok(match &model.target {
        Target::Classes { .. } => class_metrics(&rows),
        Target::Label { .. } => label_metrics(&pairs, model.model),
        Target::Number { .. } => number_metrics(&pairs, &weights, model.model),
    })
}

/// Labels of a file by how a model takes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LabelsMet {
    /// Labels that the model does not know.
    pub unknown: Met,
    /// Labels that count as "not the positive one", where the model knows no other.
    pub others: Met,
}

/// The labels of a file that a model does not name; empty for a numeric target. Custodian-only.
///
/// # Errors
/// When the file lacks the target or cannot be read.
pub fn labels_met(model: &ModelFile, file: &CsvFile) -> Fallible<LabelsMet> {
    let (name, rule) = model.target_rule();
    let (mut met, column) = (LabelsMet::default(), file.column(name)?);
    if matches!(rule, TargetRule::Number { .. }) {
        return Ok(met);
    }
    file.each_line(|fields| {
        if fields.len() == file.header().len() {
            let cell = fields.get(column);
            match (rule.value(cell), &rule) {
                (None, _) => met.unknown.add(cell, 1),
                (Some(0.0), TargetRule::Label { negatives: None, .. }) => met.others.add(cell, 1),
                _ => {}
            }
        }
        Ok(())
    })?;
    Ok(met)
}

/// What a prediction is compared with.
struct Truth {
    /// The target, over the exposure where the model is of rates, and less the offset where it is a number.
    value: f64,
    /// The exposure, or 1.
    weight: f64,
    /// What the row's log-odds, or its score, has besides.
    offset: f64,
}

/// The targets of all rows.
fn targets(model: &ModelFile, file: &CsvFile) -> Fallible<Vec<Truth>> {
    let (name, rule) = model.target_rule();
    let column = file.column(name)?;
    let weight = model.statement.facts.weight.as_ref();
    let bounds = weight.and_then(|weight| weight.offset.as_ref());
    let offset = bounds.map(|offset| file.column(&offset.column)).transpose()?;
    let exposure = weight.and_then(|weight| weight.exposure.as_ref());
    let exposure = exposure.map(|exposure| file.column(&exposure.column)).transpose()?;
    let mut truth = Vec::new();
    file.each_line(|fields| {
        let at = |problem: &str| {
            let cure = "correct or remove the line";
            Error::input(file.path(), problem, cure).at_line(truth.len() as u64 + file.first_line()).in_column(name)
        };
        if fields.len() != file.header().len() {
            return Err(at("the line has another number of cells than the header"));
        }
        let over = exposure.map_or(Some(1.0), |exposure| fields.value(exposure));
        let over = over.filter(|over| *over > 0.0 && over.is_finite()).ok_or_else(|| at("the row has no exposure"))?;
        let added = match (offset, bounds) {
            (Some(column), Some(of)) => of.within(fields.value(column).ok_or_else(|| at("the row has no offset"))?),
            _ => 0.0,
        };
        let number = matches!(rule, TargetRule::Number { .. });
        let value = match &rule {
            TargetRule::Number { lower, upper } if exposure.is_some() || offset.is_some() => {
                fields.value(column).map(|number| (number / over - added).clamp(*lower, *upper))
            }
            rule => rule.value(fields.get(column)),
        };
        let value = value.ok_or_else(|| match rule {
            TargetRule::Label { .. } | TargetRule::Class { .. } => at("the label is not in the schema"),
            TargetRule::Number { .. } => at("the target is not a number"),
        })?;
        truth.push(Truth { value, weight: over, offset: if number { 0.0 } else { added } });
        Ok(())
    })?;
    Ok(truth)
}

fn label_metrics(pairs: &[(f64, f64)], kind: ModelKind) -> Metrics {
    let n = pairs.len() as f64;
    let scored = kind.link() == Link::Score;
    let threshold = if scored { 0.0 } else { 0.5 };
    let right = pairs.iter().filter(|(p, y)| (*p >= threshold) == (*y == 1.0)).count() as f64;
    let positives = pairs.iter().filter(|(_, y)| *y == 1.0).count() as f64;
    let loss: f64 = pairs.iter().map(|&(p, y)| -(if y == 1.0 { p } else { 1.0 - p }).max(1e-15).ln()).sum();
    Metrics::Label {
        rows: pairs.len() as u64,
        accuracy: right / n,
        auc: auc(pairs, positives),
        log_loss: (!scored).then_some(loss / n),
        majority: positives.max(n - positives) / n,
    }
}

fn class_metrics(rows: &[(&[f64], f64)]) -> Metrics {
    let n = rows.len() as f64;
    let best = |p: &[f64]| (0..p.len()).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap_or(0);
    let right = rows.iter().filter(|(p, y)| best(p) == *y as usize).count() as f64;
    let loss: f64 = rows.iter().map(|(p, y)| -p[*y as usize].max(1e-15).ln()).sum();
    let mut counts = vec![0u64; rows.first().map_or(0, |(p, _)| p.len())];
    rows.iter().for_each(|(_, y)| counts[*y as usize] += 1);
    let majority = counts.into_iter().max().unwrap_or(0) as f64 / n;
    Metrics::Classes { rows: rows.len() as u64, accuracy: right / n, log_loss: loss / n, majority }
}

/// Probability that a random positive scores above a random negative, ties counting half; `None` where there are not both.
fn auc(pairs: &[(f64, f64)], positives: f64) -> Option<f64> {
    let negatives = pairs.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return None;
    }
    let mut sorted = pairs.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut wins = 0.0;
    let mut below = 0.0;
    for tie in sorted.chunk_by(|a, b| a.0 == b.0) {
        let here = tie.iter().filter(|(_, y)| *y == 1.0).count() as f64;
        let others = tie.len() as f64 - here;
        wins += here * (below + others / 2.0);
        below += others;
    }
    Some(wins / (positives * negatives))
}

fn number_metrics(pairs: &[(f64, f64)], weights: &[f64], kind: ModelKind) -> Metrics {
    let n: f64 = weights.iter().sum();
    let sum = |f: &dyn Fn(f64, f64) -> f64| pairs.iter().zip(weights).map(|(&(p, y), w)| w * f(p, y)).sum::<f64>();
    let mean = sum(&|_, y| y) / n;
    let squares = sum(&|p, y| (p - y) * (p - y));
    let spread = sum(&|_, y| (y - mean) * (y - mean));
    let absolute = sum(&|p, y| (p - y).abs());
    let r2 = (spread > 0.0).then(|| 1.0 - squares / spread);
    Metrics::Number {
        rows: pairs.len() as u64,
        rmse: (squares / n).sqrt(),
        mae: absolute / n,
        r2,
        own: own(pairs, weights, kind),
    }
}

fn own(pairs: &[(f64, f64)], weights: &[f64], kind: ModelKind) -> Own {
    let all: f64 = weights.iter().sum();
    let mean =
        |f: &dyn Fn(f64, f64) -> f64| pairs.iter().zip(weights).map(|(&(p, y), w)| w * f(p, y)).sum::<f64>() / all;
    match kind {
        ModelKind::Quantile { level, .. } => Own {
            pinball: Some(mean(&|p, y| Pinball::unsmoothed(level, p, y))),
            coverage: Some(mean(&|p, y| f64::from(u8::from(y <= p)))),
            ..Own::default()
        },
        // Moved into the bounds a rate may be zero, under which no positive count is possible.
        _ if matches!(kind.link(), Link::LogRate { .. }) => {
            Own { deviance: Some(mean(&|p, y| Poisson::deviance(p.max(1e-9), y))), ..Own::default() }
        }
        _ => Own::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auc_counts_pairs() {
        let pairs = [(0.1, 0.0), (0.4, 0.0), (0.35, 1.0), (0.8, 1.0)];
        assert_eq!(auc(&pairs, 2.0), Some(0.75));
        assert_eq!(auc(&[(0.5, 0.0), (0.5, 1.0)], 1.0), Some(0.5));
        assert_eq!((auc(&[(0.5, 1.0)], 1.0), auc(&[(0.5, 0.0)], 0.0)), (None, None));
    }

    #[test]
    fn equal_targets_have_no_r2() {
        let metrics = number_metrics(&[(1.0, 2.0), (3.0, 2.0)], &[1.0; 2], ModelKind::Linear);
        assert!(matches!(metrics, Metrics::Number { r2: None, .. }));
        assert!(serde_json::to_value(metrics).unwrap()["r2"].is_null());
    }

    #[test]
    fn a_perfect_line_has_r2_one() {
        let pairs = [(1.0, 1.0), (2.0, 2.0), (4.0, 4.0)];
        assert!(
            matches!(number_metrics(&pairs, &[1.0; 2], ModelKind::Linear), Metrics::Number { r2, rmse, .. } if r2 == Some(1.0) && rmse == 0.0)
        );
    }
}
