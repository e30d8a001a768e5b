//! How much privacy the recorded releases keep, by every notion that holds for them.

use serde::{Deserialize, Serialize};

use super::facts::{DIGITS, Facts};
use crate::accounting::{Conversion, claim, gaussian};
use crate::error::Fallible;
use crate::ledger::ExactRho;
use crate::num::round::decimal_up;
use crate::privacy::{Charge, total_delta, total_rho};

part! {
    /// The numbers, rounded upward.
    Guarantee {
        /// rho: exact, or, with an approximate delta, as the ledger counts it.
        rho: ExactRho,
        /// rho as a decimal, rounded upward.
        rho_upper: String,
        /// Delta of approximate zCDP, where costs are claimed; rho holds but for this probability.
        approximate_delta: Option<String>,
        /// mu of Gaussian DP, rounded upward; absent where not every release is Gaussian noise on all rows.
        gaussian_mu: Option<String>,
        /// Delta of the epsilons.
        delta: String,
        /// The official epsilon.
        epsilon: String,
        /// Which of the following is official, and why it is valid.
        conversion: String,
        /// By the exact Gaussian trade-off; absent with mu.
        epsilon_exact: Option<String>,
        /// By the optimal zCDP conversion; absent where a cost is no rho.
        epsilon_zcdp: Option<String>,
        /// By the classical zCDP conversion; absent where a cost is no rho.
        epsilon_zcdp_classical: Option<String>,
        /// By privacy-loss distributions where rows are sampled or an objective is perturbed, or by these or zCDP where
        /// candidates are chosen.
        epsilon_pld: Option<String>,
        /// By Renyi divergences; where an objective is perturbed or the best of several runs is opened.
        epsilon_rdp: Option<String>,
    }
}

const BY_TRADE_OFF: &str = "exact Gaussian trade-off (Balle and Wang 2018, Theorem 8); valid because every release is a \
     post-processing of the continuous Gaussian mechanism";

const BY_ITERATION: &str = "exact Gaussian trade-off (Balle and Wang 2018, Theorem 8); valid because the last iterate is told \
     from its neighbour's by a post-processing of composed continuous Gaussian mechanisms (Bok, Su and Altschuler 2024), \
     and every other release is one of one";

const BY_SAMPLED_LOSS: &str = "certified upper bound by privacy-loss distributions of the Poisson-sampled Gaussian \
     (Zhu, Dong and Wang 2022, Theorem 11), the worse of both directions";

const BY_RENYI: &str = "Renyi divergences of objective perturbation (Redberg, Koskela and Wang 2023, Theorem 3.2, with \
     ln(1 + beta/Lambda)) and of the Gaussian releases, the best order";

const BY_PROFILE: &str = "hockey-stick profile of objective perturbation (Redberg, Koskela and Wang 2023, with \
     ln(1 + beta/Lambda)) composed with the Gaussian releases (Zhu, Dong and Wang 2022, Theorem 10)";

const BY_BEST_RUN: &str = "Renyi divergences of the best of a geometric number of runs (Papernot and Steinke 2022, \
     Theorem 2 with eta = 1) and of the other releases, the best order";

const BY_LOSS_OR_ZCDP: &str = "the smaller of the optimal-order zCDP conversion with epsilon^2/8 for each choice \
     (Cesar and Rogers 2021) and a certified bound by privacy-loss distributions with each choice as a mechanism of \
     bounded range (Dong, Durfee and Rogers 2020)";

/// As it was stated when a choice counted as any mechanism of its epsilon.
const BY_PURE_LOSS_OR_ZCDP: &str = "the smaller of the optimal-order zCDP conversion with epsilon^2/8 for each choice \
     (Cesar and Rogers 2021) and a certified bound by privacy-loss distributions with each choice as a pure mechanism";

/// The width of bounds that confirm another version's, over the one that is used.
const CLOSE: f64 = 1.0 / 16.0;

/// Two certified bounds on an epsilon are closer than this factor to each other.
const HARDLY: f64 = 1.001;

impl Guarantee {
    /// By the smallest bound that holds.
    pub(super) fn of(facts: &Facts) -> Fallible<Self> {
        Self::with(facts, true, 1.0)
    }

    /// By the smallest bound that holds, as close to the truth as it may take some time to know: a bound by privacy-loss distributions that
    /// another version found lies within a width of the truth, and one that is found now may lie above it.
    pub(super) fn close(facts: &Facts) -> Fallible<Self> {
        Self::with(facts, true, CLOSE)
    }

    /// As it was stated before the profile of a perturbed objective was used: no less, so still true.
    pub(super) fn without_profile(facts: &Facts) -> Fallible<Self> {
        Self::with(facts, false, 1.0)
    }

    /// Whether its epsilon is a bound by privacy-loss distributions, or zCDP.
    fn is_by_loss(&self) -> bool {
        [BY_SAMPLED_LOSS, BY_LOSS_OR_ZCDP].contains(&self.conversion.as_str())
    }

    /// Whether such an epsilon is above the recorded one by less than bounds are wide, and nothing else differs.
    pub(super) fn is_hardly_above(&self, recorded: &Self) -> bool {
        let ratio = |one: &str, other: &str| Some(one.parse::<f64>().ok()? / other.parse::<f64>().ok()?);
        let hardly = ratio(&self.epsilon, &recorded.epsilon).is_some_and(|it| it > 1.0 && it < HARDLY);
        let (epsilon, epsilon_pld) = (recorded.epsilon.clone(), recorded.epsilon_pld.clone());
        let conversion = recorded.conversion.clone();
        self.is_by_loss() && hardly && Guarantee { epsilon, epsilon_pld, conversion, ..self.clone() } == *recorded
    }

    /// As it is recorded, where its epsilon is a bound by privacy-loss distributions that is no smaller than the certified one: earlier
    /// versions certified wider ones, which hold as well.
    pub(super) fn with_recorded(self, recorded: &Self) -> Self {
        // A number as it is written here, and no other spelling of it.
        let number =
            |text: &str| text.parse().ok().filter(|it: &f64| it.is_finite() && decimal_up(*it, DIGITS) == text);
        let holds = number(&recorded.epsilon).zip(number(&self.epsilon)).is_some_and(|(one, least)| one >= least);
        if !self.is_by_loss() || !holds || recorded.epsilon_pld.as_ref() != Some(&recorded.epsilon) {
            return self;
        }
        let before = recorded.conversion == BY_PURE_LOSS_OR_ZCDP && self.conversion == BY_LOSS_OR_ZCDP;
        let conversion = if before { recorded.conversion.clone() } else { self.conversion };
        Guarantee { epsilon: recorded.epsilon.clone(), epsilon_pld: recorded.epsilon_pld.clone(), conversion, ..self }
    }

    /// `width` is that of bounds by privacy-loss distributions, over the one that is used.
    fn with(facts: &Facts, profile: bool, width: f64) -> Fallible<Self> {
        let delta = facts.delta()?;
        let charges = facts.charges();
        let rho = total_rho(&charges)?;
        let approximate_delta = total_delta(&charges);
        let common = Guarantee {
            rho: ExactRho::new(&rho)?,
            rho_upper: rho.as_dyadic().to_decimal_up(DIGITS),
            approximate_delta: (approximate_delta > 0.0).then(|| decimal_up(approximate_delta, DIGITS)),
            gaussian_mu: None,
            delta: facts.delta.clone(),
            epsilon: String::new(),
            conversion: String::new(),
            epsilon_exact: None,
            epsilon_zcdp: None,
            epsilon_zcdp_classical: None,
            epsilon_pld: None,
            epsilon_rdp: None,
        };
        let bound = |about: f64| -> Fallible<String> {
            Ok(decimal_up(claim::epsilon(&charges, facts.adjacency, delta, width * about)?, DIGITS))
        };
        if facts.is_claimed() {
            if !charges.iter().all(Charge::has_loss_distribution) {
                return Self::by_renyi(&charges, facts, profile, common);
            }
            let about = charges.iter().filter_map(Charge::claim).map(|claim| claim.epsilon).fold(0.0, f64::max);
            let bound = bound(about)?;
            let conversion = BY_SAMPLED_LOSS.into();
            return Ok(Guarantee { epsilon: bound.clone(), epsilon_pld: Some(bound), conversion, ..common });
        }
        let epsilon = |by: Conversion| by.epsilon(rho.upper(), delta).map(|e| decimal_up(e.value(), DIGITS));
        let official = facts.conversion();
        if facts.chooses() {
            let zcdp = Conversion::Optimal.epsilon(rho.upper(), delta)?.value();
            let bound = bound(zcdp)?;
            return Ok(Guarantee {
                epsilon: bound.clone(),
                conversion: BY_LOSS_OR_ZCDP.into(),
                epsilon_zcdp: Some(epsilon(Conversion::Optimal)?),
                epsilon_zcdp_classical: Some(epsilon(Conversion::Classical)?),
                epsilon_pld: Some(bound),
                ..common
            });
        }
        let floored = official == Conversion::Exact;
        let mu = gaussian::mu_upper_from_rho(rho.upper())?;
        Ok(Guarantee {
            gaussian_mu: floored.then(|| decimal_up(mu, DIGITS)),
            epsilon: epsilon(official)?,
            conversion: match official {
                Conversion::Exact if facts.iterates() => BY_ITERATION.into(),
                Conversion::Exact => BY_TRADE_OFF.into(),
                Conversion::Optimal | Conversion::Classical => {
                    "optimal-order zCDP conversion (Canonne, Kamath, Steinke 2020, Proposition 12)".into()
                }
            },
            epsilon_exact: if floored { Some(epsilon(Conversion::Exact)?) } else { None },
            epsilon_zcdp: Some(epsilon(Conversion::Optimal)?),
            epsilon_zcdp_classical: Some(epsilon(Conversion::Classical)?),
            ..common
        })
    }

    /// By Renyi divergences or, where that is asked for and smaller, by the profile of a perturbed objective.
    fn by_renyi(charges: &[Charge], facts: &Facts, profile: bool, common: Guarantee) -> Fallible<Self> {
        let delta = facts.delta()?;
        let renyi = claim::renyi(charges, facts.adjacency, delta)?;
        let known = if profile { claim::profile(charges, facts.adjacency, delta)? } else { None };
        let smaller = known.filter(|epsilon| *epsilon < renyi);
        let best = charges.iter().any(|charge| matches!(charge, Charge::PrivateSelection(_)));
        let conversion = match (smaller, best) {
            (Some(_), _) => BY_PROFILE,
            (None, true) => BY_BEST_RUN,
            (None, false) => BY_RENYI,
        };
        Ok(Guarantee {
            epsilon: decimal_up(smaller.unwrap_or(renyi), DIGITS),
            epsilon_pld: smaller.map(|epsilon| decimal_up(epsilon, DIGITS)),
            epsilon_rdp: Some(decimal_up(renyi, DIGITS)),
            conversion: conversion.into(),
            ..common
        })
    }
}
