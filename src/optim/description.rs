//! All that is said about an algorithm anywhere, said once by the algorithm itself.

use super::problem::{Optimizer, Problem, Target};
use super::settings::{Setting, Settings};
use crate::error::{Error, Fallible};
use crate::grid::Scoring;
use crate::loss::{BoundedLoss, Curved, Glm, Objective};
use crate::privacy::{Adjacency, NoiseLaw};

/// What an algorithm is, takes and needs; every list of algorithms is made from these.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// The name used in files and on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// What it releases.
    pub releases: &'static str,
    /// Where it is from.
    pub reference: &'static str,
    /// The neighbouring relations under which it is defined.
    pub relations: Relations,
    /// The losses that it trains.
    pub losses: Losses,
    /// The settings that mean something to it; others are refused.
    pub settings: &'static [&'static Setting],
    /// What must be given besides.
    pub needs: Needs,
    /// Plans it from public facts.
    pub plan: fn(&Problem<'_>) -> Fallible<Box<dyn Optimizer>>,
    /// How it is attacked best under a relation.
    pub audit: fn(Adjacency) -> AuditRecipe,
}

/// The neighbouring relations under which an algorithm is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relations {
    /// Add-remove and replace-one.
    Both,
    /// Replace-one alone.
    ReplaceOne {
        /// What goes wrong where rows come and go.
        why: &'static str,
    },
}

impl Relations {
    /// Each of them.
    pub fn all(self) -> &'static [Adjacency] {
        match self {
            Relations::Both => &[Adjacency::AddRemove, Adjacency::ReplaceOne],
            Relations::ReplaceOne { .. } => &[Adjacency::ReplaceOne],
        }
    }

    /// For tables.
    pub fn in_words(self) -> &'static str {
        match self {
            Relations::Both => "both",
            Relations::ReplaceOne { .. } => "replace-one",
        }
    }
}

/// The losses that an algorithm trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Losses {
    /// All of them.
    Any,
    /// Those of one margin.
    OneMargin,
    /// Those of one margin that are never negative as they are computed.
    NeverNegative,
    /// Those with a canonical link, in which labels enter linearly.
    Canonical,
    /// Those with a known second derivative.
    Curved,
    /// Those that are minimised with slopes in `[-1, 1]`.
    Bounded,
}

impl Losses {
    /// Whether a loss is among them.
    pub fn has(self, loss: Objective) -> bool {
        match (self, loss) {
            (Losses::Any, _) => true,
            (Losses::OneMargin, loss) => matches!(loss, Objective::Margin(_)),
            (Losses::NeverNegative, Objective::Margin(loss)) => loss.as_loss().tuning().loss_cap.is_some(),
            (Losses::NeverNegative, Objective::Softmax { .. }) => false,
            (Losses::Canonical, loss) => loss.label_coding().is_some(),
            (Losses::Curved, loss) => loss.curved().is_some(),
            (Losses::Bounded, loss) => loss.bounded().is_some(),
        }
    }

    /// The models that they belong to, for tables.
    pub fn in_words(self) -> &'static str {
        match self {
            Losses::Any => "all",
            Losses::OneMargin => "all but `multinomial`",
            Losses::NeverNegative => "all but `multinomial`, `poisson`",
            Losses::Canonical => "`logistic`, `linear`, `ridge`, `poisson`, `multinomial`",
            Losses::Curved | Losses::Bounded => "`logistic`, `linear`, `ridge`",
        }
    }
}

/// What an algorithm needs besides its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// All rows at hand: it does not train from a file that is larger than memory or from rows on other machines.
    pub rows_at_hand: bool,
    /// A public number of rows.
    pub row_count: bool,
    /// Features that are public: it works where labels alone are protected, and no other algorithm does.
    pub labels_alone: bool,
    /// A budget as epsilon and floored normal noise, for the cost of what is named here is no rho.
    pub epsilon: Option<&'static str>,
    /// At most so many coefficients.
    pub coefficients: Option<usize>,
    /// No number of steps. Where a person gives one it is refused ([`Description::check_steps`]); a plan passes over it, for requests
    /// that were kept from earlier versions have one.
    pub no_steps: bool,
}

impl Needs {
    /// Sums over rows, wherever they are.
    pub const NOTHING: Needs = Needs {
        rows_at_hand: false,
        row_count: false,
        labels_alone: false,
        epsilon: None,
        coefficients: None,
        no_steps: false,
    };

    /// All rows at hand.
    pub const ROWS: Needs = Needs { rows_at_hand: true, ..Needs::NOTHING };
}

/// How an algorithm is attacked best: what fills in the settings that a user left open, and the records around the one that
/// differs.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditRecipe {
    /// What is filled in so that the record counts most.
    pub settings: Settings,
    /// Pairs of common records whose gradients cancel.
    pub pairs: usize,
    /// Lines that are no record.
    pub null: usize,
    /// A number of rows, or of persons, that is public under add-remove, so that nothing is spent on it.
    pub rows: u64,
    /// Whether the adversary may know which rows a step draws.
    pub known_draws: bool,
    /// Whether features stay as they are, so that nothing is spent on moments.
    pub raw: bool,
    /// Whether a numeric target shows more than two labels.
    pub numbers: bool,
    /// Whether the intercept alone shows more than several coefficients.
    pub alone: bool,
    /// Why canaries do not stay apart in one run; `None` where they do.
    pub one_run: Option<&'static str>,
}

/// A clip that every crafted record reaches.
pub(super) const AUDIT_CLIP: Settings = Settings { clip: Some(0.05), ..Settings::NONE };

/// That clip with steps so small that iterates stay at zero and a saturated record adds the same vector to every release.
pub(super) const AUDIT_STILL: Settings = Settings { learning_rate: Some(1e-7), steps: Some(4), ..AUDIT_CLIP };

impl AuditRecipe {
    /// Two pairs of common records around the one that differs.
    pub(super) const fn with(settings: Settings) -> Self {
        AuditRecipe {
            settings,
            pairs: 2,
            null: 0,
            rows: 1000,
            known_draws: false,
            raw: true,
            numbers: false,
            alone: false,
            one_run: None,
        }
    }
}

impl Description {
    /// Whether a setting means something to it.
    pub fn takes(&self, setting: &Setting) -> bool {
        self.settings.iter().any(|other| other.name == setting.name)
    }

    /// Refuses a number of steps where there are none.
    ///
    /// # Errors
    /// When one was given.
    pub fn check_steps(&self, settings: &Settings) -> Fallible<()> {
        let steps = Settings { steps: settings.steps.filter(|_| self.needs.no_steps), ..Settings::NONE };
        steps.only(self.settings, self.name)
    }

    /// Refuses what the algorithm is not made for; each plan asks first.
    ///
    /// # Errors
    /// When a setting means nothing here, the relation, the kind of budget or of noise does not fit, or there are too many
    /// coefficients.
    pub(super) fn fits(&self, problem: &Problem<'_>) -> Fallible<()> {
        let passed_over = Settings { steps: None, ..problem.settings.clone() };
        let asked = if self.needs.no_steps { &passed_over } else { problem.settings };
        asked.only(self.settings, self.name)?;
        if let Relations::ReplaceOne { why } = self.relations
            && problem.adjacency != Adjacency::ReplaceOne
        {
            let problem = format!("is private for replaced rows only: {why}");
            return Err(self.refused(&problem, "use --adjacency replace-one"));
        }
        match (self.needs.labels_alone, problem.labels_alone) {
            (true, false) => {
                let problem = "releases what labels alone say of public features, and all of a row is protected";
                return Err(
                    self.refused(problem, "add --protect label where all features are public, or use --algorithm auto")
                );
            }
            (false, true) => {
                let problem = "pays for what features say, too, and labels alone are protected";
                return Err(self.refused(problem, "use --algorithm auto, or leave \"protect\" out"));
            }
            (true, true) | (false, false) => {}
        }
        if let Some(what) = self.needs.epsilon {
            self.target(problem)?;
            if problem.noise != NoiseLaw::FlooredNormal {
                return Err(Error::parameter("--noise", format!("must be normal for {what}"), "leave it out"));
            }
        }
        match self.needs.coefficients.filter(|most| problem.dimension() > *most) {
            Some(most) => {
                let problem = format!("takes at most {most} coefficients, the schema has {}", problem.dimension());
                let cure = match self.needs.labels_alone {
                    true => "declare fewer columns, or protect rows by another algorithm",
                    false => "use --algorithm dp-gd, or declare fewer columns",
                };
                Err(self.refused(&problem, cure))
            }
            None => Ok(()),
        }
    }

    /// The budget as an epsilon, which must be given so.
    ///
    /// # Errors
    /// When it is not.
    pub(super) fn target<'a>(&self, problem: &'a Problem<'_>) -> Fallible<&'a Target<'a>> {
        problem.target.as_ref().ok_or_else(|| {
            let what = self.needs.epsilon.unwrap_or(self.name);
            Error::parameter("--rho", format!("cannot pay for {what}, whose cost is no rho"), "give --epsilon")
        })
    }

    /// The number of rows, which must be public.
    ///
    /// # Errors
    /// When it is not.
    pub(super) fn public_rows(&self, problem: &Problem<'_>) -> Fallible<u64> {
        problem.rows.ok_or_else(|| {
            let cure = "add \"rows\" to the schema, or use --rows N or --adjacency replace-one";
            self.refused("needs a public number of rows", cure)
        })
    }

    /// The loss of one margin.
    ///
    /// # Errors
    /// When the loss has one margin per label.
    pub(super) fn margin_loss(&self, problem: &Problem<'_>) -> Fallible<Glm> {
        match problem.loss {
            Objective::Margin(loss) => Ok(loss),
            Objective::Softmax { .. } => {
                Err(self.unfit("handles one margin per row, not one per label", "or a target with two labels"))
            }
        }
    }

    /// The loss with slopes in `[-1, 1]` that is minimised in the place of the problem's.
    ///
    /// # Errors
    /// When no such loss has slopes with a proved error.
    pub(super) fn bounded_loss(&self, problem: &Problem<'_>) -> Fallible<BoundedLoss> {
        let cure = match self.margin_loss(problem)?.as_loss().tuning().scoring {
            Scoring::Label | Scoring::Score | Scoring::Class { .. } => "or --model logistic",
            Scoring::Number | Scoring::Quantile | Scoring::Count => "or --model linear",
        };
        let why = "certifies minimisers of logistic and linear regression only";
        problem.loss.bounded().ok_or_else(|| self.unfit(why, cure))
    }

    /// The loss, where it is one that second-order methods and their constants were made for.
    ///
    /// # Errors
    /// When it is another one.
    pub(super) fn curved_loss(&self, problem: &Problem<'_>) -> Fallible<Curved> {
        problem.loss.curved().ok_or_else(|| {
            Error::parameter(
                "--model",
                format!("must be logistic, linear or ridge with --algorithm {}", self.name),
                "use another --model, or --algorithm dp-gd, which trains all of them",
            )
        })
    }

    /// The refusal of a loss.
    pub(super) fn unfit(&self, why: &str, cure: &str) -> Error {
        self.refused(why, &format!("use --algorithm dp-gd, {cure}"))
    }

    pub(super) fn refused(&self, problem: &str, cure: &str) -> Error {
        Error::parameter(format!("--algorithm {}", self.name), problem, cure)
    }
}
