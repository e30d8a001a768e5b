//! What each statistic releases, and what it pays for it.

use super::statistic::{Declared, Statistic};
use crate::accounting::{claim, stable};
use crate::error::{Error, Fallible};
use crate::grid::FULL_SCALE;
use crate::optim::{Fineness, GaussianRule, Planned};
use crate::privacy::{
    Adjacency, Charge, Delta, ExponentialCharge, LaplaceCharge, NoiseLaw, Rho, SparseVectorCharge, ThresholdCharge,
    total_pure_epsilon,
};
use crate::private::{DescribeQuery, Query, query};

/// Points between the bounds that a quantile is chosen among.
pub(super) const POINTS: u64 = 2185;

/// The size of a row on the grid of Gaussian releases, in steps.
const TARGET: f64 = (1u64 << 30) as f64;

/// Logarithm of the scale of Laplace noise and of choices: rates and weights are rounded to a part in a million or so.
const LOG2_SCALE: u32 = 40;

/// Share of a stable median for its test.
const TEST_SHARE: f64 = 0.25;

/// The law of the noise on sums and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum SummaryNoise {
    /// Gaussian noise, floored: less of it where several statistics are asked for.
    Normal,
    /// Laplace noise on integers (of counts: two-sided geometric): pure differential privacy, without a delta.
    Laplace,
}

/// What one statistic may cost.
#[derive(Clone, Debug)]
pub(super) enum Share {
    /// rho of zCDP, and the failure probability of a test.
    Concentrated(f64, f64),
    /// epsilon of pure differential privacy.
    Pure(f64),
}

/// Releases of one statistic.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) statistic: Statistic,
    pub(super) declared: Declared,
    pub(super) planned: Vec<Planned>,
}

impl Part {
    /// Plans the releases of a statistic within its share.
    ///
    /// # Errors
    /// When the share is too small or too large for the integer grid, or pays for no release of this kind.
    pub(super) fn new(statistic: Statistic, declared: Declared, adjacency: Adjacency, share: &Share) -> Fallible<Self> {
        let budget = Budgeted { adjacency, share, what: statistic.to_string() };
        let bins = declared.bins();
        let planned = match &statistic {
            Statistic::Count {} | Statistic::Histogram { .. } => {
                vec![budget.sums(|step| query::Histogram { step, bins }.into(), query::HistogramL1 { step: 1, bins })?]
            }
            Statistic::Mean { .. } => {
                vec![budget.sums(|step| query::Mean { step }.into(), query::MeanL1 { step: 1 })?]
            }
            Statistic::Quantile { thousandths, .. } => vec![budget.choice(*thousandths)?],
            Statistic::FirstAbove { .. } => vec![budget.first_above(bins)?],
            Statistic::StableMedian { within, .. } => {
                let bound =
                    declared.codes(*within).filter(|codes| *codes < 2 * FULL_SCALE as u64).ok_or_else(|| {
                        let problem = format!(
                            "{statistic} proposes a bound that no two numbers of the column differ by more than"
                        );
                        Error::parameter("statistic", problem, "propose a smaller one")
                    })?;
                budget.stable_median(bound)?
            }
        };
        Ok(Part { statistic, declared, planned })
    }

    /// The charges, in order.
    pub(super) fn charges(&self) -> impl Iterator<Item = Charge> + '_ {
        self.planned.iter().map(|planned| planned.charge.clone())
    }
}

/// A share of the budget, under a relation.
struct Budgeted<'a> {
    adjacency: Adjacency,
    share: &'a Share,
    what: String,
}

fn out_of_range() -> Error {
    Error::parameter("budget", "is too small or too large for the integer grid", "use another epsilon, such as 1")
}

impl Budgeted<'_> {
    /// The epsilon of one pure release within the share.
    fn pure(&self, of_rho: impl Fn(f64) -> f64) -> f64 {
        match *self.share {
            Share::Concentrated(rho, _) => of_rho(rho) * (1.0 - 1e-12),
            Share::Pure(epsilon) => epsilon * (1.0 - 1e-12),
        }
    }

    /// Gaussian noise on a query of any size.
    fn gaussian(&self, what: &str, rho: f64, query: &dyn Fn(u64) -> Query) -> Fallible<Planned> {
        let rule = GaussianRule { what, query, adjacency: self.adjacency, noise: NoiseLaw::FlooredNormal, count: 1 };
        let sensitivity = query(1 << 20).sensitivity(self.adjacency) as f64 / 2f64.powi(20);
        let target = TARGET.max(64.0 * sensitivity);
        let wanted = Fineness { sensitivity, target, largest: 1 << 45, slack: 1e-6 };
        let (release, size) = rule.finest(&Rho::from_f64(rho)?, &wanted);
        if size < 16 { Err(out_of_range()) } else { Ok(release.planned()) }
    }

    /// Sums with the noise that the share is of.
    fn sums<L>(&self, normal: impl Fn(u64) -> Query, laplace: L) -> Fallible<Planned>
    where
        L: DescribeQuery + Into<Query>,
    {
        let epsilon = match *self.share {
            Share::Concentrated(rho, _) => return self.gaussian(&self.what, rho, &normal),
            Share::Pure(epsilon) => epsilon,
        };
        let l1_sensitivity = laplace.sensitivity(self.adjacency);
        let rate = (epsilon * (1.0 - 1e-12) * 2f64.powi(LOG2_SCALE as i32) / l1_sensitivity as f64).floor();
        if !(16.0..2f64.powi(60)).contains(&rate) {
            return Err(out_of_range());
        }
        let (what, rate) = (self.what.clone(), rate as u64);
        let charge = LaplaceCharge { what, l1_sensitivity, rate, log2_scale: LOG2_SCALE, count: 1 };
        Ok(Planned { charge: charge.into(), query: laplace.into() })
    }

    /// Steps of a unit of which `sensitivity` are moved, so that `sensitivity / 2^LOG2_SCALE` is an epsilon.
    fn weight(&self, epsilon: f64, sensitivity: u64) -> Fallible<u64> {
        let weight = (epsilon * 2f64.powi(LOG2_SCALE as i32) / sensitivity as f64).floor();
        if (16.0..2f64.powi(46)).contains(&weight) { Ok(weight as u64) } else { Err(out_of_range()) }
    }

    /// A choice of a point by its rank.
    fn choice(&self, thousandths: u64) -> Fallible<Planned> {
        let (numerator, denominator) = Statistic::share(thousandths);
        let ranks = |weight| query::Ranks { weight, candidates: POINTS, numerator, denominator };
        // Cesar and Rogers 2021, Lemma 3.2: an eighth of the square.
        let epsilon = self.pure(|rho| (8.0 * rho).sqrt());
        let query = ranks(self.weight(epsilon, ranks(1).sensitivity(self.adjacency))?);
        let sensitivity = query.sensitivity(self.adjacency);
        let (what, log2_scale) = (self.what.clone(), LOG2_SCALE);
        let charge = ExponentialCharge { what, sensitivity, log2_scale, candidates: POINTS, count: 1 };
        Ok(Planned { charge: charge.into(), query: query.into() })
    }

    /// The first of several counts above a bar.
    fn first_above(&self, questions: u64) -> Fallible<Planned> {
        let epsilon = self.pure(|rho| (2.0 * rho).sqrt());
        let query = query::FirstAbove { weight: self.weight(epsilon, 2)?, questions };
        let sensitivity = query.sensitivity(self.adjacency);
        let charge =
            SparseVectorCharge { what: self.what.clone(), sensitivity, log2_scale: LOG2_SCALE, questions, count: 1 };
        Ok(Planned { charge: charge.into(), query: query.into() })
    }

    /// A test of how stable a median is, and the median with noise for the bound.
    fn stable_median(&self, bound: u64) -> Fallible<Vec<Planned>> {
        let Share::Concentrated(rho, fails) = *self.share else {
            return Err(Error::parameter(
                "--noise",
                "is laplace, and a stable median fails with probability delta, which pure privacy has not",
                "ask for median:COLUMN, or leave out --noise laplace",
            ));
        };
        let distance = |weight| query::MedianDistance { weight, bound }.into();
        let tested = self.gaussian(&format!("{}, test", self.what), rho * TEST_SHARE, &distance)?;
        let near = |step| query::NearMedian { step, bound }.into();
        let median = self.gaussian(&self.what, rho * (1.0 - TEST_SHARE) * (1.0 - 1e-12), &near)?;
        let Charge::Gaussian(noised) = tested.charge else { return Err(out_of_range()) };
        let (row, delta) = (noised.sensitivity, Delta::new(fails * (1.0 - 1e-12))?);
        let threshold = stable::least_threshold(row, noised.log2_scale, delta)?;
        let charge = ThresholdCharge { noised, row, threshold, delta: delta.value() };
        Ok(vec![Planned { charge: charge.into(), query: tested.query }, median])
    }
}

/// epsilon of pure differential privacy of charges together, or epsilon at a delta.
pub(super) enum Total {
    /// Without a delta.
    Pure(f64),
    /// At the delta.
    At(f64),
}

impl Total {
    /// The smallest epsilon that is known to hold.
    ///
    /// # Errors
    /// When no finite bound is found.
    ///
    /// # Privacy
    /// Upper bounds all: the exact sum of pure epsilons where all releases are pure, the exact Gaussian trade-off where all are Gaussian, else
    /// the smaller of the optimal zCDP conversion and privacy-loss distributions.
    pub(super) fn of(charges: &[Charge], pure: bool, adjacency: Adjacency, delta: Delta) -> Fallible<Self> {
        if let Some(epsilon) = total_pure_epsilon(charges).filter(|_| pure) {
            return Ok(Total::Pure(epsilon.to_f64_up()));
        }
        let rho = crate::privacy::total_rho(charges)?.upper();
        if charges.iter().all(Charge::is_gaussian) {
            return Ok(Total::At(crate::accounting::Conversion::Exact.epsilon(rho, delta)?.value()));
        }
        Ok(Total::At(claim::epsilon(charges, adjacency, delta, 1.0)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Column;

    #[test]
    fn plans_spend_their_shares_and_are_exact() {
        let number = Declared::Column(Column::number(-3.0, 100.0));
        let values = ["a", "b", "c"].map(String::from).to_vec();
        let values = Declared::Column(Column::categories(values));
        let asked: [(&str, &Declared); 6] = [
            ("count", &Declared::Rows),
            ("mean:x", &number),
            ("quantile:x:0.9", &number),
            ("histogram:c", &values),
            ("stable-median:x:1", &number),
            ("first-above:c:10", &values),
        ];
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            for rho in [1e-6, 1e-2, 10.0] {
                for (text, declared) in asked {
                    let of = |share: &Share| Part::new(text.parse().unwrap(), declared.clone(), adjacency, share);
                    let part = of(&Share::Concentrated(rho, 1e-7)).unwrap();
                    let charges: Vec<Charge> = part.charges().collect();
                    let cost = crate::privacy::total_rho(&charges).unwrap();
                    assert!(cost <= Rho::from_f64(rho).unwrap(), "{text} {adjacency} {rho}");
                    assert!(cost.upper() > 0.99 * rho, "{text} {adjacency} {rho}: {}", cost.upper());
                    let epsilon = (2.0 * rho).sqrt();
                    let pure = of(&Share::Pure(epsilon));
                    if text.starts_with("stable") {
                        assert!(pure.is_err());
                    } else {
                        let charges: Vec<Charge> = pure.as_ref().unwrap().charges().collect();
                        let total = total_pure_epsilon(&charges).unwrap().to_f64_up();
                        assert!(total <= epsilon && total > 0.99 * epsilon, "{text} {adjacency} {rho}: {total}");
                    }
                    for planned in part.planned.iter().chain(pure.iter().flat_map(|part| &part.planned)) {
                        planned.check(adjacency).unwrap();
                        planned.charge.check().unwrap();
                        claim::confirm(&planned.charge, adjacency).unwrap();
                        assert!(planned.serves_persons() && planned.charge.delta() <= 1e-7);
                    }
                }
            }
        }
        let tiny = Part::new("count".parse().unwrap(), Declared::Rows, Adjacency::AddRemove, &Share::Pure(1e-12));
        assert!(tiny.is_err());
    }
}
