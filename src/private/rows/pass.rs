//! Passes over rows: public numbers in, exact integers out.
//!
//! Whatever the gate asks of rows as a sum over them is one of these. What a pass makes of some of the rows is an integer
//! vector, and the vectors of all parts add up to that of the whole, wherever the parts are.

use std::num::NonZeroU32;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::refused::no_rows_alone;
use crate::error::Fallible;
use crate::grid::{
    IntegerMap, LabelCoding, MomentWeights, NO_LABEL, PERSON_WEIGHT, PublicColumns, SIZE_CELLS, ScoreStep, Scoring,
    WEIGHT_ONE, size_cell,
};
use crate::kernel::{
    Caps, ClassStep, LANES, MeanStep, Part, PersonClips, Persons, Rows, Step, WeightedRows, clipped_class_sum,
    clipped_person_class_sum, clipped_person_sum, clipped_sum, cross_gram_sum, gram_sum, hessian_sum, label_sum,
    loss_sums, marginal_counts, mean_sum, moment_sum, score_sum,
};
use crate::loss::{Curved, Glm, Logistic, Loss, LossVisitor, Objective, Softmax};
use crate::preprocess::Scores;

/// Public candidate models, one in each row, in coefficients of features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidates {
    /// The models.
    pub points: Array2<f64>,
}

/// How a model is scored on a row: the loss, cut at `cap` and rounded to one of `most` steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutLoss {
    /// The loss.
    pub loss: Glm,
    /// What an encoded label of 1 stands for.
    pub label_scale: f64,
    /// Losses beyond count as this one.
    pub cap: f64,
    /// `cap` in grid steps.
    pub most: u32,
}

/// A pass for which no clips need be decided first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::private) enum Pass {
    /// [`moment_sum`].
    Moments(#[serde(with = "weights_on_a_wire")] MomentWeights),
    /// [`marginal_counts`], each times `step`.
    Marginals { target: bool, step: u64 },
    /// [`gram_sum`], of scores where there are some.
    Gram { clip_steps: u64, most: u64, scores: Option<Scores> },
    /// [`hessian_sum`].
    Hessian { loss: Curved, weights: Vec<f64>, clip_steps: u64, most: u64 },
    /// The clipped gradient sum with multipliers up to `most`, whatever the norms of the rows.
    Entrywise { loss: Glm, weights: Vec<f64>, label_scale: f64, multiplier_scale: f64, most: i16 },
    /// [`loss_sums`].
    Losses { scoring: CutLoss, candidates: Candidates },
    /// [`score_sum`].
    Scores { loss: Objective, weights: Vec<f64>, label_scale: f64, scoring: Scoring, weight: u32 },
    /// [`cross_gram_sum`]; last, for messages to workers tell passes by their place.
    CrossGram { public: PublicColumns, clip_steps: u64, most: u64 },
}

/// Weights as numbers in their order: files leave some out, and a wire has no names that tell.
mod weights_on_a_wire {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::grid::MomentWeights;

    pub(super) fn serialize<S: Serializer>(weights: &MomentWeights, serializer: S) -> Result<S::Ok, S::Error> {
        let MomentWeights { count, features, squares, label, label_square, shares, sizes } = *weights;
        [count, features, squares, label, label_square, shares, sizes].serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MomentWeights, D::Error> {
        let [count, features, squares, label, label_square, shares, sizes] = <[u32; 7]>::deserialize(deserializer)?;
        Ok(MomentWeights { count, features, squares, label, label_square, shares, sizes })
    }
}

impl Pass {
    /// The pass over some of the rows.
    pub(in crate::private) fn over(&self, rows: &Rows) -> Vec<i128> {
        match self {
            Pass::Moments(weights) => moment_sum(rows, weights),
            &Pass::Marginals { target, step } => {
                marginal_counts(rows, target).into_iter().map(|count| i128::from(count) * i128::from(step)).collect()
            }
            &Pass::Gram { clip_steps, most, ref scores } => match scores {
                Some(scores) => gram_sum(&scores.recode(rows), clip_steps, most),
                None => gram_sum(rows, clip_steps, most),
            },
            &Pass::CrossGram { ref public, clip_steps, most } => cross_gram_sum(rows, public, clip_steps, most),
            &Pass::Hessian { loss, ref weights, clip_steps, most } => {
                let largest = Logistic.smoothness() as f32;
                match loss {
                    Curved::Logistic => {
                        hessian_sum(rows, clip_steps, most, weights, |margin| Logistic.curvature(margin) / largest)
                    }
                    // Weights that are no numbers must give the same matrix, so this is no Gram sum.
                    Curved::Squared => hessian_sum(rows, clip_steps, most, weights, |_| 1.0),
                }
            }
            &Pass::Entrywise { loss, ref weights, label_scale, multiplier_scale, most } => {
                let step = Step { weights, label_scale, multiplier_scale };
                let sums = loss.with(ClippedSum { rows, caps: &Caps::entrywise(rows, most), step: &step });
                sums.into_iter().map(i128::from).collect()
            }
            Pass::Losses { scoring, candidates } => scoring.loss.with(LossSums { rows, scoring, candidates }),
            &Pass::Scores { loss, ref weights, label_scale, scoring, weight } => {
                let step = ScoreStep { weights, label_scale, scoring, weight };
                let measured = |margins: &[f64], label: f64| loss.reported(margins, label);
                score_sum(rows, &step, |margins| loss.prediction(margins), measured)
            }
        }
    }
}

impl Pass {
    /// The pass over persons: each of a person's `k` rows gets a `k`-th of what a row would.
    ///
    /// # Privacy
    /// What a row adds is a vector of bounded norm times an integer weight, and the weights of a person's rows add up to that of a row
    /// at most. So a person adds `s` times a mean of what rows add, `0 <= s <= 1`: within the clip norm of a row, as a ball is convex, and
    /// matrices stay sums of `m q q^T` with `m` not negative. The distance of two such vectors is convex, too, and so largest at two rows,
    /// or at one row and none; both are in what queries state (`Scoring::apart`).
    ///
    /// # Errors
    /// When there is no such proof for this pass.
    pub(in crate::private) fn over_persons(&self, persons: &Persons) -> Fallible<Vec<i128>> {
        let mut total: Option<Vec<i128>> = None;
        for (each, rows) in persons.groups() {
            let (pass, weight) = self.shared_by(each)?;
            let sums = pass.over(rows).into_iter().map(|sum| sum * i128::from(weight));
            match &mut total {
                None => total = Some(sums.collect()),
                Some(total) => total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum),
            }
        }
        let mut total = total.unwrap_or_default();
        if let Pass::Moments(MomentWeights { shares: 1.., .. }) = self {
            total.push(self.shares(persons));
        }
        if let &Pass::Moments(MomentWeights { sizes: weight @ 1.., .. }) = self {
            total.extend(sizes(persons).map(|count| i128::from(count) * i128::from(weight)));
        }
        Ok(total)
    }

    /// The sum of `floor(shares / k)` over persons with `k` rows, those without a row left out.
    fn shares(&self, persons: &Persons) -> i128 {
        let Pass::Moments(weights) = self else { return 0 };
        let of_group = |(each, persons): (usize, usize)| match u64::try_from(each) {
            Ok(each @ 1..) => i128::from(u64::from(weights.shares) / each) * persons as i128,
            _ => 0,
        };
        persons.sizes().map(of_group).sum()
    }

    /// The pass over rows by weight.
    ///
    /// # Privacy
    /// A row adds what it would add alone, times `weight / WEIGHT_ONE`, a number of at most 1 that follows from that row: a vector of no larger
    /// norm than is stated for a row, and without a negative entry where it has none. Parts of whole numbers are rounded, to no more than the whole.
    /// An offset is a number of the row, too: it changes the margin, and no bound.
    ///
    /// # Errors
    /// When no bound is proven for rows that weigh differently.
    pub(in crate::private) fn over_weighted(&self, rows: &WeightedRows) -> Fallible<Vec<i128>> {
        let mut sums: Option<Vec<i128>> = None;
        let dimension = rows.shape().dimension();
        for Part { weight, offset, rows } in rows.parts() {
            let (mut pass, times) = self.weighed(*weight)?;
            if let Pass::Hessian { weights, .. } | Pass::Scores { weights, .. } = &mut pass {
                shift(weights, dimension, *offset);
            }
            add_times(&mut sums, pass.over(rows), times);
        }
        Ok(sums.unwrap_or_default())
    }

    /// The pass over rows of persons who have `each` of them, and what its sums are multiplied by.
    fn shared_by(&self, each: usize) -> Fallible<(Pass, u64)> {
        let rows = each.max(1) as u64;
        // Rounded down, for `k` such parts add up to no more than the whole.
        self.in_parts(|weights| weights.shared_by(each), |number| number / rows, (PERSON_WEIGHT / rows, PERSON_WEIGHT))
    }

    /// The pass over rows that weigh `weight / WEIGHT_ONE` of one, and what its sums are multiplied by.
    fn weighed(&self, weight: u64) -> Fallible<(Pass, u64)> {
        let whole = u128::from(WEIGHT_ONE);
        // The nearest, which is no more than the whole number itself.
        let part = |number: u64| ((u128::from(number) * u128::from(weight) + whole / 2) / whole) as u64;
        self.in_parts(|weights| weights.times(weight, WEIGHT_ONE), part, (weight, WEIGHT_ONE))
    }

    /// The pass over rows that add a part of what one would, and what its sums are multiplied by: matrices count `weight` times out of
    /// `whole`, and of everything else there is a part of the numbers that a row adds.
    fn in_parts(
        &self,
        moments: impl Fn(&MomentWeights) -> MomentWeights,
        part: impl Fn(u64) -> u64,
        (weight, whole): (u64, u64),
    ) -> Fallible<(Pass, u64)> {
        Ok(match self {
            Pass::Moments(weights) => (Pass::Moments(moments(weights)), 1),
            &Pass::Marginals { target, step } => (Pass::Marginals { target, step: part(step) }, 1),
            &Pass::Gram { clip_steps, most, ref scores } => {
                (Pass::Gram { clip_steps: clip_steps / whole, most, scores: scores.clone() }, weight)
            }
            &Pass::Hessian { loss, ref weights, clip_steps, most } => {
                (Pass::Hessian { loss, weights: weights.clone(), clip_steps: clip_steps / whole, most }, weight)
            }
            &Pass::Scores { loss, ref weights, label_scale, scoring, weight } => {
                let weight = u32::try_from(part(weight.into())).unwrap_or(0);
                (Pass::Scores { loss, weights: weights.clone(), label_scale, scoring, weight }, 1)
            }
            Pass::Entrywise { .. } | Pass::Losses { .. } | Pass::CrossGram { .. } => {
                return Err(no_rows_alone());
            }
        })
    }
}

/// Adds an offset to the margins of coefficients of features: to the intercept, the last of each output.
fn shift(weights: &mut [f64], dimension: usize, offset: f64) {
    let intercepts = weights.iter_mut().skip(dimension.saturating_sub(1)).step_by(dimension.max(1));
    intercepts.for_each(|intercept| *intercept += offset);
}

/// Adds the sums over a part of the rows, so many times.
fn add_times(sums: &mut Option<Vec<i128>>, part: Vec<i128>, times: u64) {
    let times = i128::from(times);
    match sums {
        None => *sums = Some(part.into_iter().map(|sum| sum * times).collect()),
        Some(sums) => sums.iter_mut().zip(part).for_each(|(total, sum)| *total += sum * times),
    }
}

/// How many persons have as many rows, by [`size_cell`]; one cell moves by one for a person who comes or goes, and those without a row
/// are in none.
fn sizes(persons: &Persons) -> [u64; SIZE_CELLS] {
    let mut cells = [0; SIZE_CELLS];
    persons.sizes().filter(|&(each, _)| each > 0).for_each(|(each, persons)| cells[size_cell(each)] += persons as u64);
    cells
}

/// A clipped gradient sum, its iterate in coefficients of features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::private) struct FeatureGradient {
    pub loss: Objective,
    pub weights: Vec<f64>,
    pub label_scale: f64,
    pub multiplier_scale: f64,
    pub weighing: Weighing,
}

/// What rows are multiplied by in a sum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::private) enum Weighing {
    /// The slope of the loss, clipped.
    Slopes,
    /// The label, as it weighs a row's cap.
    Labels(LabelCoding),
    /// The mean that the model says of the features, times the row's cap.
    Means {
        /// The largest multiplier.
        most: i32,
    },
}

impl FeatureGradient {
    /// Rows weighed by their labels.
    pub(in crate::private) fn of_labels(coding: LabelCoding) -> Self {
        let (loss, weighing) = (Glm::Logistic.into(), Weighing::Labels(coding));
        FeatureGradient { loss, weights: Vec::new(), label_scale: 1.0, multiplier_scale: 1.0, weighing }
    }

    /// Rows weighed by what a model says of them.
    pub(in crate::private) fn of_means(loss: Objective, weights: Vec<f64>, scale: f64, most: i32) -> Self {
        FeatureGradient { loss, weights, label_scale: 1.0, multiplier_scale: scale, weighing: Weighing::Means { most } }
    }

    /// The clipped sum over some of the rows.
    pub(in crate::private) fn over(&self, rows: &Rows, caps: &Caps) -> Vec<i64> {
        let FeatureGradient { loss, ref weights, label_scale, multiplier_scale, weighing } = *self;
        match weighing {
            Weighing::Slopes => {}
            Weighing::Labels(coding) => return label_sum(rows, caps, coding),
            Weighing::Means { most } => {
                let step = MeanStep { weights, outputs: loss.outputs(), scale: multiplier_scale, most };
                return match loss {
                    Objective::Margin(loss) => loss.with(MeanSum { rows, caps, step: &step }),
                    // No label is the one of no class: what is left of a slope is the probability.
                    Objective::Softmax { .. } => {
                        mean_sum(rows, caps, &step, &|margins| Softmax::slopes(margins, &[NO_LABEL; LANES]))
                    }
                };
            }
        }
        match loss {
            Objective::Margin(loss) => {
                let step = Step { weights, label_scale, multiplier_scale };
                loss.with(ClippedSum { rows, caps, step: &step })
            }
            Objective::Softmax { classes } => {
                clipped_class_sum(rows, caps, &ClassStep { weights, classes, multiplier_scale }, Softmax::slopes)
            }
        }
    }
}

impl FeatureGradient {
    /// The clipped sum over rows by weight, in features: a row adds its clipped vector so many times as it weighs.
    ///
    /// # Privacy
    /// The clip is a part of [`WEIGHT_ONE`] of `clip_steps`, so a row of the largest weight adds a vector of norm `clip_steps` at most, and any other one
    /// a shorter one.
    pub(in crate::private) fn over_weighted(&self, rows: &WeightedRows, caps: &[Caps]) -> Vec<i128> {
        let finer = FeatureGradient { multiplier_scale: self.multiplier_scale / WEIGHT_ONE as f64, ..self.clone() };
        let mut sums = None;
        let dimension = rows.shape().dimension();
        for (Part { weight, offset, rows }, caps) in rows.parts().zip(caps) {
            let mut part = finer.clone();
            shift(&mut part.weights, dimension, *offset);
            add_times(&mut sums, part.over(rows, caps).into_iter().map(i128::from).collect(), *weight);
        }
        sums.unwrap_or_default()
    }

    /// The sum over persons of averaged gradients, clipped person by person, in the coordinates of the clips' map.
    pub(in crate::private) fn over_persons(&self, persons: &Persons, clips: &PersonClips) -> Vec<i128> {
        let FeatureGradient { loss, ref weights, label_scale, multiplier_scale, weighing } = *self;
        if weighing != Weighing::Slopes {
            // The gate refuses it: persons are never protected by their labels alone.
            return Vec::new();
        }
        match loss {
            Objective::Margin(loss) => {
                let step = Step { weights, label_scale, multiplier_scale };
                loss.with(ClippedPersonSum { persons, clips, step: &step })
            }
            Objective::Softmax { classes } => {
                let step = ClassStep { weights, classes, multiplier_scale };
                clipped_person_class_sum(persons, clips, &step, Softmax::slopes)
            }
        }
    }
}

/// What decides how a row is clipped: the largest norm, and the map through which it is taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::private) struct Clip {
    pub clip_steps: u64,
    pub map: Option<IntegerMap>,
    /// The rows of a person whose gradients add up to what a person adds, where they are not averaged.
    pub typical_rows: Option<NonZeroU32>,
}

impl Clip {
    /// The clips of some rows.
    pub(in crate::private) fn of(&self, rows: &Rows) -> Caps {
        match &self.map {
            None => Caps::new(rows, self.clip_steps),
            Some(map) => Caps::through(map, rows, self.clip_steps),
        }
    }

    /// The clips of rows by weight, those of each weight.
    pub(in crate::private) fn of_weighted(&self, rows: &WeightedRows) -> Vec<Caps> {
        let finer = Clip { clip_steps: self.clip_steps / WEIGHT_ONE, ..self.clone() };
        rows.parts().map(|part| finer.of(&part.rows)).collect()
    }

    /// The clips of some persons.
    pub(in crate::private) fn of_persons(&self, persons: &Persons) -> PersonClips {
        PersonClips::weighing(persons, self.map.as_ref(), self.clip_steps, self.typical_rows)
    }
}

/// One pass of the kernel, compiled for each loss.
struct ClippedSum<'a> {
    rows: &'a Rows,
    caps: &'a Caps,
    step: &'a Step<'a>,
}

impl LossVisitor for ClippedSum<'_> {
    type Output = Vec<i64>;

    fn visit<L: Loss>(self, loss: L) -> Vec<i64> {
        clipped_sum(
            self.rows,
            self.caps,
            self.step,
            #[inline(always)]
            |margin, label| loss.slope(margin, label),
        )
    }
}

/// A sum of means, compiled for each loss.
struct MeanSum<'a> {
    rows: &'a Rows,
    caps: &'a Caps,
    step: &'a MeanStep<'a>,
}

impl LossVisitor for MeanSum<'_> {
    type Output = Vec<i64>;

    fn visit<L: Loss>(self, loss: L) -> Vec<i64> {
        // With a canonical link the slope at a label of nothing is the mean.
        mean_sum(self.rows, self.caps, self.step, &|margins| {
            margins.as_flattened_mut().iter_mut().for_each(|margin| *margin = loss.slope(*margin, 0.0));
        })
    }
}

struct ClippedPersonSum<'a> {
    persons: &'a Persons,
    clips: &'a PersonClips,
    step: &'a Step<'a>,
}

impl LossVisitor for ClippedPersonSum<'_> {
    type Output = Vec<i128>;

    fn visit<L: Loss>(self, loss: L) -> Vec<i128> {
        clipped_person_sum(
            self.persons,
            self.clips,
            self.step,
            #[inline(always)]
            |margin, label| loss.slope(margin, label),
        )
    }
}

struct LossSums<'a> {
    rows: &'a Rows,
    scoring: &'a CutLoss,
    candidates: &'a Candidates,
}

impl LossVisitor for LossSums<'_> {
    type Output = Vec<i128>;

    fn visit<L: Loss>(self, loss: L) -> Vec<i128> {
        let CutLoss { label_scale, cap, most, .. } = *self.scoring;
        let steps = f64::from(most) / cap;
        loss_sums(self.rows, &self.candidates.points, most, |margin, label| {
            steps * loss.value(margin, label * label_scale)
        })
    }
}
