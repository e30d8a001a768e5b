//! Public descriptions of the queries, from which their sensitivities follow.

use serde::{Deserialize, Serialize};

use super::stable::vocabulary_sensitivity;
use super::{Curvature, MOST_BATCHES, PassPlan, Perturbation, PhasePlan, prefix_coefficients};
use crate::error::Fallible;
use crate::grid::{DIAGONAL, MomentWeights, Scoring};
use crate::privacy::{Adjacency, BestRunEvent, Charge, total_rho};

/// What a release asked of the rows; its l2 sensitivity is a function of these public integers alone.
///
/// A statement records it beside the event that was paid for, so that whoever verifies can see that the
/// sensitivity is the query's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Query {
    /// [`super::PrivateDataset::moments`].
    Moments {
        /// Integer weights of the parts.
        weights: MomentWeights,
        /// Number of numeric columns.
        columns: usize,
    },
    /// [`super::PrivateDataset::gram`].
    Gram {
        /// Largest Frobenius norm of a row's matrix.
        bound: u64,
    },
    /// [`super::PrivateDataset::scores`].
    Scores {
        /// What is measured.
        scoring: Scoring,
        /// Largest entry of a row's vector.
        weight: u32,
    },
    /// [`super::PrivateDataset::hessian`].
    Hessian {
        /// Largest Frobenius norm of a row's matrix.
        bound: u64,
    },
    /// [`super::ClippedRows::gradient_sum`].
    ClippedSum {
        /// Largest norm of a row's contribution.
        bound: u64,
    },
    /// [`super::PrivateDataset::direction`].
    Direction {
        /// How far the direction moves if a row is added or removed.
        reach: u64,
    },
    /// [`super::PrefixSums`].
    PrefixSums {
        /// Largest norm of a row's gradient.
        bound: u64,
        /// Batches of the pass.
        batches: u32,
    },
    /// [`super::Phases`].
    Phases {
        /// The public parameters.
        plan: PhasePlan,
    },
    /// [`super::Permit::one_pass`].
    OnePass {
        /// The public parameters.
        plan: PassPlan,
    },
    /// [`super::PrivateDataset::minimiser`].
    Minimiser {
        /// What fixes how far it moves.
        curvature: Curvature,
        /// Number of coefficients.
        dimension: usize,
    },
    /// The noise on the gradient in [`super::Permit::solve`].
    Perturbation(Perturbation),
    /// The answer of [`super::Permit::solve`], given the exact minimiser.
    PerturbedMinimiser {
        /// What fixes how far the answer is from the exact minimiser.
        curvature: Curvature,
        /// Number of coefficients.
        dimension: usize,
    },
    /// [`super::PrivateDataset::losses`].
    Losses {
        /// Largest loss of a row, in grid steps.
        most: u64,
        /// Number of candidates.
        candidates: u64,
    },
    /// [`super::PrivateDataset::vertices`].
    Vertices {
        /// Largest entry of a row's gradient.
        bound: u64,
        /// Number of vertices.
        candidates: u64,
    },
    /// [`super::ChargedRun::best_run`].
    BestRun {
        /// What a run of each candidate releases.
        candidates: Vec<Vec<Planned>>,
    },
    /// [`super::PrivateCells::kinds`].
    Kinds {
        /// Grid steps of one cell.
        weight: u64,
        /// Number of columns.
        columns: u64,
        /// Whether rows are counted.
        counted: bool,
    },
    /// [`super::PrivateCells::intervals`].
    Intervals {
        /// Grid steps of one row outside.
        weight: u64,
        /// Number of intervals.
        candidates: u64,
    },
    /// [`super::PrivateCells::vocabularies`].
    Vocabulary {
        /// Grid steps of one row.
        weight: u64,
    },
    /// [`super::PrivateCells::mode`].
    Distance {
        /// Grid steps of one row.
        weight: u64,
    },
}

/// One kind of release that a run will make, as often as its charge says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// What is paid for.
    pub charge: Charge,
    /// What is asked of the rows.
    pub query: Query,
}

impl Planned {
    /// Whether the charge is of the kind that pays for the query, and for exactly its sensitivity; for the best run, so of
    /// every release of every candidate.
    pub fn is_exact(&self, adjacency: Adjacency) -> bool {
        let inner = match &self.query {
            Query::BestRun { candidates } => candidates.iter().flatten().all(|planned| planned.is_exact(adjacency)),
            _ => true,
        };
        inner && self.charge.sensitivity() == self.query.sensitivity(adjacency) && self.query.fits(&self.charge)
    }

    /// As [`Planned::is_exact`], or for the larger sensitivity that an earlier version paid for: recorded then, true still.
    pub fn is_recorded(&self, adjacency: Adjacency) -> bool {
        let inner = match &self.query {
            Query::BestRun { candidates } => candidates.iter().flatten().all(|planned| planned.is_recorded(adjacency)),
            _ => true,
        };
        let (paid, earlier) = (self.charge.sensitivity(), self.query.earlier_sensitivity(adjacency));
        inner && (paid == self.query.sensitivity(adjacency) || Some(paid) == earlier) && self.query.fits(&self.charge)
    }
}

impl Planned {
    /// Whether the release is made of sums over rows that are read in their order: all that rows in a file can give.
    ///
    /// The best of several runs is none: a run that fails loses there, and a file that cannot be read must end the run.
    pub fn is_sum(&self) -> bool {
        let of_all = !matches!(self.charge, Charge::Sampled(_));
        of_all
            && match &self.query {
                Query::Moments { .. } | Query::Gram { .. } | Query::Hessian { .. } | Query::Direction { .. } => true,
                Query::Scores { .. } | Query::ClippedSum { .. } | Query::Losses { .. } | Query::Vertices { .. } => true,
                Query::PrefixSums { .. } | Query::Phases { .. } | Query::OnePass { .. } | Query::BestRun { .. } => {
                    false
                }
                Query::Minimiser { .. } | Query::Perturbation(_) | Query::PerturbedMinimiser { .. } => false,
                Query::Kinds { .. } | Query::Intervals { .. } | Query::Vocabulary { .. } | Query::Distance { .. } => {
                    false
                }
            }
    }
}

impl Query {
    /// The sensitivity in grid steps, saturating: l2, or for scores the range of their changes.
    pub fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        match self {
            Query::Moments { weights, columns } => {
                adjacency.sum_sensitivity(small(root_up(weights.worst_square(*columns))))
            }
            Query::Gram { bound } | Query::Hessian { bound } => {
                let norm = bound.saturating_mul(DIAGONAL);
                let square = u128::from(norm) * u128::from(norm);
                match adjacency {
                    Adjacency::AddRemove => norm,
                    Adjacency::ReplaceOne => square.checked_mul(2).map_or(u64::MAX, |twice| small(root_up(twice))),
                }
            }
            Query::Scores { scoring, weight } => {
                let moved = match adjacency {
                    Adjacency::AddRemove => scoring.parts(),
                    Adjacency::ReplaceOne => scoring.apart(),
                };
                small(root_up(u128::from(*weight) * u128::from(*weight) * u128::from(moved)))
            }
            Query::ClippedSum { bound: reach } | Query::Direction { reach } => adjacency.sum_sensitivity(*reach),
            // Blocks and batches have public sizes, so their plans say nothing about added or removed rows.
            Query::Phases { .. } | Query::OnePass { .. } if adjacency == Adjacency::AddRemove => u64::MAX,
            Query::Phases { plan } => plan.sensitivity(),
            Query::OnePass { plan } => plan.sensitivity(),
            Query::PrefixSums { batches, .. } if *batches > MOST_BATCHES => u64::MAX,
            Query::PrefixSums { bound, batches } => {
                let bound = u128::from(adjacency.sum_sensitivity(*bound));
                let column: u128 = prefix_coefficients(*batches).iter().map(|&c| u128::from(c) * u128::from(c)).sum();
                bound.checked_mul(bound).and_then(|s| s.checked_mul(column)).map_or(u64::MAX, |s| small(root_up(s)))
            }
            Query::Minimiser { curvature, dimension } => {
                adjacency.sum_sensitivity(curvature.movement()).saturating_add(curvature.spread(*dimension))
            }
            Query::Perturbation(perturbation) => adjacency.sum_sensitivity(perturbation.movement()),
            // Given the exact minimiser, neighbours differ by what the solver leaves and no more.
            Query::PerturbedMinimiser { curvature, dimension } => curvature.spread(*dimension),
            // A row's losses lie in an interval of this length, and so do their changes.
            Query::Losses { most, .. } => adjacency.sum_sensitivity(*most),
            Query::Vertices { bound, .. } => adjacency.sum_sensitivity(bound.saturating_mul(2)),
            Query::BestRun { .. } => 1,
            Query::Kinds { weight, columns, counted } => {
                // Under replace-one rows are as many as before, and a cell can leave one kind for the other.
                let moved = match adjacency {
                    Adjacency::AddRemove => u128::from(*columns) + u128::from(*counted),
                    Adjacency::ReplaceOne => 2 * u128::from(*columns),
                };
                let square = u128::from(*weight) * u128::from(*weight);
                square.checked_mul(moved.max(1)).map_or(u64::MAX, root_of)
            }
            Query::Intervals { weight, .. } => adjacency.sum_sensitivity(*weight),
            Query::Vocabulary { weight } => vocabulary_sensitivity(*weight, adjacency),
            Query::Distance { weight } => *weight,
        }
    }

    /// The larger sensitivity by which earlier versions charged the same query; `None` where there was none.
    ///
    /// Scores under replace-one were charged like any sum, for one vector that leaves and one that enters.
    fn earlier_sensitivity(&self, adjacency: Adjacency) -> Option<u64> {
        match self {
            Query::Scores { .. } if adjacency == Adjacency::ReplaceOne => {
                Some(adjacency.sum_sensitivity(self.sensitivity(Adjacency::AddRemove)))
            }
            _ => None,
        }
    }

    /// The query, and those of every candidate where only the best run is released.
    pub fn all(&self) -> Vec<&Query> {
        let mut all = vec![self];
        if let Query::BestRun { candidates } = self {
            all.extend(candidates.iter().flatten().flat_map(|planned| planned.query.all()));
        }
        all
    }

    /// Whether the release is one of the steps of an optimizer.
    pub fn is_step(&self) -> bool {
        match self {
            Query::ClippedSum { .. } | Query::PrefixSums { .. } | Query::Phases { .. } | Query::OnePass { .. } => true,
            Query::Minimiser { .. } | Query::Perturbation(_) | Query::Losses { .. } | Query::Vertices { .. } => true,
            Query::BestRun { .. } => true,
            Query::Moments { .. }
            | Query::Gram { .. }
            | Query::Scores { .. }
            | Query::Hessian { .. }
            | Query::Direction { .. }
            | Query::PerturbedMinimiser { .. } => false,
            Query::Kinds { .. } | Query::Intervals { .. } | Query::Vocabulary { .. } | Query::Distance { .. } => false,
        }
    }

    /// Whether cells are asked that no schema describes yet: no query of a training run.
    pub fn is_of_cells(&self) -> bool {
        matches!(
            self,
            Query::Kinds { .. } | Query::Intervals { .. } | Query::Vocabulary { .. } | Query::Distance { .. }
        )
    }

    /// Number of gradients that one release is made of.
    pub fn parts(&self) -> u64 {
        match self {
            Query::PrefixSums { batches, .. } => u64::from(*batches),
            Query::Phases { plan } => u64::from(plan.phases()),
            Query::OnePass { plan } => u64::from(plan.steps),
            Query::Moments { .. }
            | Query::Gram { .. }
            | Query::Scores { .. }
            | Query::Hessian { .. }
            | Query::Direction { .. }
            | Query::ClippedSum { .. }
            | Query::Minimiser { .. }
            | Query::Perturbation(_)
            | Query::PerturbedMinimiser { .. }
            | Query::Losses { .. }
            | Query::Vertices { .. }
            | Query::BestRun { .. }
            | Query::Kinds { .. }
            | Query::Intervals { .. }
            | Query::Vocabulary { .. }
            | Query::Distance { .. } => 1,
        }
    }

    /// Whether a charge is of the kind that pays for this query, apart from the sensitivity.
    pub fn fits(&self, charge: &Charge) -> bool {
        match (self, charge) {
            (Query::Perturbation(it), Charge::Objective(event)) => it.curvature_ratio() <= event.curvature,
            (
                Query::Losses { candidates, .. }
                | Query::Vertices { candidates, .. }
                | Query::Intervals { candidates, .. },
                Charge::Selection(event),
            ) => *candidates == event.candidates,
            (Query::Vocabulary { weight } | Query::Distance { weight }, Charge::Stable(event)) => *weight == event.row,
            (Query::BestRun { candidates }, Charge::BestRun(event)) => covers_runs(event, candidates),
            (Query::Perturbation(_) | Query::Losses { .. } | Query::Vertices { .. } | Query::BestRun { .. }, _) => {
                false
            }
            (Query::Intervals { .. } | Query::Vocabulary { .. } | Query::Distance { .. }, _) => false,
            (Query::ClippedSum { .. }, Charge::Sampled(_)) => true,
            (_, charge) => matches!(charge, Charge::Gaussian(_)),
        }
    }

    /// Refuses public numbers that no planner produces.
    ///
    /// # Errors
    /// When a number is out of range.
    pub fn check(&self) -> Fallible<()> {
        match self {
            Query::Minimiser { curvature, .. } | Query::PerturbedMinimiser { curvature, .. } => curvature.check(),
            Query::Perturbation(perturbation) => perturbation.check(),
            Query::OnePass { plan } => plan.check(),
            Query::BestRun { candidates } => candidates.iter().flatten().try_for_each(|planned| {
                planned.charge.check()?;
                planned.query.check()
            }),
            _ => Ok(()),
        }
    }
}

/// Whether every run costs at most what is paid for a run, exactly.
pub(super) fn covers_runs(event: &BestRunEvent, candidates: &[Vec<Planned>]) -> bool {
    let Ok(most) = event.run_rho() else { return false };
    let within = |run: &Vec<Planned>| {
        let charges: Vec<Charge> = run.iter().map(|planned| planned.charge.clone()).collect();
        charges.iter().all(|charge| charge.claim().is_none() && charge.delta() == 0.0)
            && total_rho(&charges).is_ok_and(|rho| rho <= most)
    };
    !candidates.is_empty() && candidates.iter().all(within)
}

pub(super) fn root_up(square: u128) -> u128 {
    let root = square.isqrt();
    if root * root == square { root } else { root + 1 }
}

/// The root of a square, rounded up, saturating.
pub(super) fn root_of(square: u128) -> u64 {
    small(root_up(square))
}

fn small(x: u128) -> u64 {
    u64::try_from(x).unwrap_or(u64::MAX)
}
