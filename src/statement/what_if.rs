//! What the same release means for somebody else than one unit: for a group, for one attribute, for an attacker who believes something, for rows that
//! were not trained on.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::Statement;
use super::facts::{DIGITS, Facts};
use super::guarantee::Guarantee;
use super::unit;
use super::words::times;
use crate::accounting::notion::ApproximateDp;
use crate::accounting::{Conversion, belief, gaussian, generalization};
use crate::error::{Error, Fallible};
use crate::num::round::{decimal_up, up};
use crate::privacy::{Adjacency, PrivacyUnit, total_rho};

/// Largest group that is asked about.
const MAX_GROUP: u64 = 1_000_000;

/// How often a smaller delta is tried for a guarantee that is known at one delta at a time.
const MAX_TRIALS: usize = 6;

/// Shares of delta at which epsilon is looked at for a belief; more of them make the bound a little smaller.
const SHARES: [f64; 4] = [0.5, 0.2, 0.05, 0.01];

/// The one share for releases whose epsilon takes the accountant seconds.
const COSTLY_SHARE: [f64; 1] = [0.1];

/// Logarithm of a delta that no group makes large.
const LN_TINY: f64 = -1e6;

/// A question to a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WhatIf {
    /// What it guarantees for so many units together.
    Group(u64),
    /// What it guarantees for one attribute of a unit.
    Attribute,
    /// What somebody comes to believe who believed something with this probability beforehand.
    Prior(f64),
    /// How far the mean of a number over the rows of the data is from its mean over new rows, both averaged over draws and noise.
    NewRows,
}

impl FromStr for WhatIf {
    type Err = Error;

    fn from_str(text: &str) -> Fallible<Self> {
        let unknown = |problem: &str| {
            let cure =
                "ask group:K for K together, attribute, prior:P for a belief of probability P beforehand, or new-rows";
            Error::parameter("--what-if", format!("{text:?} {problem}"), cure)
        };
        match text.split_once(':') {
            None if text == "attribute" => Ok(WhatIf::Attribute),
            None if text == "new-rows" => Ok(WhatIf::NewRows),
            Some(("group", size)) => match size.parse() {
                Ok(size) if (1..=MAX_GROUP).contains(&size) => Ok(WhatIf::Group(size)),
                _ => Err(unknown("is no group of 1 to 1,000,000")),
            },
            Some(("prior", prior)) => match prior.parse::<f64>() {
                Ok(prior) if prior > 0.0 && prior < 1.0 => Ok(WhatIf::Prior(prior)),
                _ => Err(unknown("is no probability between 0 and 1")),
            },
            _ => Err(unknown("is no question")),
        }
    }
}

impl fmt::Display for WhatIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhatIf::Group(size) => write!(f, "group:{size}"),
            WhatIf::Attribute => f.write_str("attribute"),
            WhatIf::Prior(prior) => write!(f, "prior:{prior}"),
            WhatIf::NewRows => f.write_str("new-rows"),
        }
    }
}

/// The answer to a [`WhatIf`]: numbers rounded upward, and what they mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Answer {
    /// The question, as it is asked.
    pub question: String,
    /// What was counted: so many steps from neighbour to neighbour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// mu of Gaussian DP for them together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaussian_mu: Option<String>,
    /// rho of zCDP for them together; absent where a cost is no rho.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rho_upper: Option<String>,
    /// Epsilon for them together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<String>,
    /// Delta of that epsilon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<String>,
    /// What an attacker's belief comes to at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub posterior_at_most: Option<String>,
    /// The probability of what is released with which the belief may come to more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub but_for_a_probability_of: Option<String>,
    /// The probability with which an attacker's best guess is right, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right_at_most: Option<String>,
    /// How far a mean over the rows of the data is from one over new rows, both averaged over draws and noise, as a share of its range, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_at_most: Option<String>,
    /// The answer in words.
    pub words: String,
}

/// A guarantee for several steps from neighbour to neighbour.
struct Stretched {
    epsilon: f64,
    delta: f64,
    rho: Option<f64>,
    mu: Option<f64>,
}

impl Statement {
    /// What the same release means for a group, for one attribute, for an attacker with a belief, or for rows that were not trained on.
    ///
    /// # Errors
    /// When the statement gives no guarantee, or a bound cannot be computed.
    ///
    /// # Privacy
    /// Upper bounds, rounded up, for the model, its log and its statement together; what a released schema cost is on top.
    ///
    /// # Reference
    /// Bun and Steinke 2016, Proposition 1.9, and Dong, Roth and Su 2022, Theorem 2.14 (groups); Vadhan 2017, Lemma 2.2 (groups by
    /// epsilon and delta); Kasiviswanathan and Smith 2014 (beliefs); Dwork, Feldman, Hardt, Pitassi, Reingold and Roth 2015 (new rows).
    pub fn what_if(&self, question: WhatIf) -> Fallible<Answer> {
        if !self.dp {
            return Err(Error::refused(
                format!("nothing is guaranteed, so nothing follows: {}", self.reasons_not_dp.join("; ")),
                "train without a seed, with a schema that was not read off the rows",
            ));
        }
        let mut answer = match question {
            WhatIf::Group(size) => self.of_group(question, size)?,
            WhatIf::Attribute => {
                // Another value is another row, or other rows, in the place of the old.
                let steps = if self.facts.adjacency == Adjacency::AddRemove { 2 } else { 1 };
                self.of_group(question, steps)?
            }
            WhatIf::Prior(prior) => self.of_prior(question, prior)?,
            WhatIf::NewRows if self.facts.unit == PrivacyUnit::Label => {
                return Err(Error::refused(
                    "new rows have new features, and features are public here: nothing bounds what a model knows of them",
                    "measure the model on rows held out (--evaluate-budget)",
                ));
            }
            WhatIf::NewRows if self.facts.unit.is_private_cells() => {
                return Err(Error::refused(
                    "new rows have new cells in public columns: nothing bounds what a model knows of these",
                    "measure the model on rows held out (--evaluate-budget)",
                ));
            }
            WhatIf::NewRows => self.of_new_rows(question)?,
        };
        if self.facts.released_schema.is_some() {
            answer.words.push_str(" The release of the schema comes on top: the limits say what it costs.");
        }
        Ok(answer)
    }

    fn of_group(&self, question: WhatIf, steps: u64) -> Fallible<Answer> {
        let stretched = self.stretched(steps)?;
        let Stretched { epsilon, delta, rho, mu } = stretched;
        let (of, change) = self.in_words(question, steps);
        let shown = |value: f64| decimal_up(value, DIGITS);
        let words = match delta < 1.0 && epsilon.is_finite() {
            true => format!(
                "{of} ({}, {})-differential privacy holds, with respect to {change}: whatever someone looks for in what was \
                 released, they find it {}, plus a probability of {}.",
                shown(epsilon),
                shown(delta),
                times(epsilon),
                shown(delta)
            ),
            false => format!("{of} nothing is guaranteed, with respect to {change}."),
        };
        Ok(Answer {
            question: question.to_string(),
            steps: Some(steps),
            gaussian_mu: mu.map(shown),
            rho_upper: rho.map(shown),
            epsilon: Some(shown(epsilon)),
            delta: Some(shown(delta)),
            words,
            ..Answer::default()
        })
    }

    /// What is asked about, and how neighbours of it differ.
    fn in_words(&self, question: WhatIf, steps: u64) -> (String, String) {
        let facts = &self.facts;
        let (one, many) = unit::nouns(&facts.unit);
        let all = if facts.unit.is_person() { ", each with all rows" } else { "" };
        match (question, facts.adjacency) {
            (WhatIf::Attribute, _) if facts.unit == PrivacyUnit::Label => (
                "For the label of a row, and for no feature, which are all public,".into(),
                "changing it, which is to replace the label".into(),
            ),
            (WhatIf::Attribute, _) if facts.unit.is_private_cells() => (
                "For one private cell of a row, and for none of a public column,".into(),
                "changing it, which is to replace private cells of a row".into(),
            ),
            (WhatIf::Attribute, Adjacency::AddRemove) => (
                format!("For one attribute of a {one}"),
                format!("changing it, which is to remove the {one} and to add another: a group of 2"),
            ),
            (WhatIf::Attribute, Adjacency::ReplaceOne) => {
                (format!("For one attribute of a {one}"), format!("changing it, which is to replace the {one}"))
            }
            _ if facts.unit.is_private_cells() => (
                format!("For private cells of {steps} {many} together"),
                format!("replacing the private cells of up to {steps} {many}, all public columns staying as they are"),
            ),
            (_, Adjacency::AddRemove) => {
                (format!("For {steps} {many} together"), format!("adding or removing up to {steps} {many}{all}"))
            }
            (_, Adjacency::ReplaceOne) => {
                (format!("For {steps} {many} together"), format!("replacing up to {steps} {many}{all}"))
            }
        }
    }

    fn stretched(&self, steps: u64) -> Fallible<Stretched> {
        let (facts, delta) = (&self.facts, self.facts.delta()?);
        let stated = number(&self.guarantee.epsilon);
        let claimed = facts.is_claimed();
        let rho = match claimed {
            true => None,
            false => Some(total_rho(&facts.charges())?.upper()),
        };
        // A step is a factor of at most 1e6, so its square is exact.
        let rho = rho.map(|rho| if steps == 1 { rho } else { up(rho * (steps * steps) as f64, 1) });
        let by = facts.conversion();
        let mu = match rho {
            Some(rho) if by == Conversion::Exact => Some(gaussian::mu_upper_from_rho(rho)?),
            _ => None,
        };
        if steps == 1 {
            return Ok(Stretched { epsilon: stated, delta: delta.value(), rho, mu });
        }
        let by_rho = match rho {
            Some(rho) if rho.is_finite() => by.epsilon(rho, delta)?.value(),
            _ => f64::INFINITY,
        };
        let (mut epsilon, mut at) = (by_rho, delta.value());
        if claimed || facts.chooses() {
            match by_smaller_delta(facts, stated, steps)? {
                Some(found) => epsilon = epsilon.min(found),
                None if epsilon.is_finite() => {}
                None => {
                    let all = ApproximateDp::new(stated, delta.value())?.group(steps)?;
                    (epsilon, at) = (all.epsilon(), all.delta());
                }
            }
        }
        Ok(Stretched { epsilon, delta: at, rho, mu })
    }

    /// A fresh unit in the place of another is a step under replace-one, and two under add-remove.
    fn of_new_rows(&self, question: WhatIf) -> Fallible<Answer> {
        let steps = if self.facts.adjacency == Adjacency::AddRemove { 2 } else { 1 };
        let Stretched { epsilon, delta, rho, mu } = self.stretched(steps)?;
        let mut gap: f64 = 1.0;
        if delta <= 1.0 {
            gap = gap.min(generalization::approximate_gap(ApproximateDp::new(epsilon, delta)?, 1.0)?);
        }
        if let Some(rho) = rho {
            gap = gap.min(generalization::zcdp_gap(rho, 1.0)?);
        }
        if let Some(mu) = mu {
            gap = gap.min(generalization::gaussian_gap(mu, 1.0)?);
        }
        let (one, many) = unit::nouns(&self.facts.unit);
        let gap = decimal_up(gap, DIGITS);
        let words = format!(
            "Where the {many} are independent draws from a population, take a number between 0 and 1 that is computed from a {one} and what was \
             released, such as whether it is predicted wrongly. Averaged over draws and noise, its mean over the {many} of the data and its mean over new \
             {many} differ by at most {gap}. One run is off by chance as well: a hold-out measures that."
        );
        Ok(Answer {
            question: question.to_string(),
            steps: Some(steps),
            gap_at_most: Some(gap),
            words,
            ..Answer::default()
        })
    }

    fn of_prior(&self, question: WhatIf, prior: f64) -> Fallible<Answer> {
        let (facts, delta) = (&self.facts, self.facts.delta()?.value());
        let stated = ApproximateDp::new(number(&self.guarantee.epsilon), delta)?;
        let mut right = belief::right_at_most(stated, prior)?;
        if let Some(mu) = &self.guarantee.gaussian_mu {
            right = right.min(belief::gaussian_right_at_most(number(mu), prior)?);
        }
        let shares: &[f64] = if facts.is_claimed() || facts.chooses() { &COSTLY_SHARE } else { &SHARES };
        let mut factor = f64::INFINITY;
        for share in shares {
            if let Some(smaller) = at_delta(facts, delta * share) {
                factor = factor.min(belief::ln_odds_factor(smaller, delta)?);
            }
        }
        // Twice delta is always possible.
        let (factor, miss) = match factor.is_finite() {
            true => (factor, delta),
            false => (belief::ln_odds_factor(stated, (2.0 * delta).min(1.0))?, (2.0 * delta).min(1.0)),
        };
        let posterior = belief::posterior_at_most(factor, prior)?;
        let (one, _) = unit::nouns(&facts.unit);
        let belief = match facts.adjacency {
            _ if facts.unit == PrivacyUnit::Label => {
                "that the label of some row is one of two, and not the other".to_owned()
            }
            _ if facts.unit.is_private_cells() => {
                "that some row has one of two sets of private cells, and not the other".to_owned()
            }
            Adjacency::AddRemove => format!("that some {one} is among the data"),
            Adjacency::ReplaceOne => format!("that it is one of two {one}s that is among the data, and not the other"),
        };
        let percent = |value: f64| decimal_up(up(100.0 * value, 1).min(100.0), DIGITS);
        let miss = decimal_up(miss, DIGITS);
        let words = format!(
            "Who believes with a probability of {prior}, before anything is released, {belief}, believes it with at most {posterior} \
             afterwards, but for a probability of {miss}. Their best guess whether it is so is right in at most {right}% of cases; \
             without the release it is in {before}%.",
            posterior = decimal_up(posterior, DIGITS),
            right = percent(right),
            before = decimal_up(100.0 * prior.max(1.0 - prior), DIGITS),
        );
        Ok(Answer {
            question: question.to_string(),
            posterior_at_most: Some(decimal_up(posterior, DIGITS)),
            but_for_a_probability_of: Some(miss),
            right_at_most: Some(decimal_up(right, DIGITS)),
            words,
            ..Answer::default()
        })
    }
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or(f64::INFINITY)
}

/// The guarantee of the same releases at another delta, where one is found.
fn at_delta(facts: &Facts, delta: f64) -> Option<ApproximateDp> {
    let other = Facts { delta: format!("{delta:e}"), ..facts.clone() };
    let epsilon = number(&Guarantee::of(&other).ok()?.epsilon);
    ApproximateDp::new(epsilon, delta).ok().filter(|_| epsilon.is_finite())
}

/// Epsilon for a group at the delta of the report, from the guarantee at a delta that is so small that the group's is no larger.
fn by_smaller_delta(facts: &Facts, stated: f64, steps: u64) -> Fallible<Option<f64>> {
    let delta = facts.delta()?.value();
    let mut guess = stated;
    for _ in 0..MAX_TRIALS {
        let grown =
            ApproximateDp::from_epsilon_and_ln_delta(1.01 * guess + 1e-6, LN_TINY)?.group(steps)?.ln_delta() - LN_TINY;
        let smaller = (delta.ln() - grown).exp();
        if !(smaller.is_normal() && grown < -LN_TINY / 2.0) {
            return Ok(None);
        }
        let Some(single) = at_delta(facts, smaller) else { return Ok(None) };
        let all = single.group(steps)?;
        if all.delta() <= delta {
            return Ok(Some(all.epsilon()));
        }
        guess = single.epsilon();
    }
    Ok(None)
}
