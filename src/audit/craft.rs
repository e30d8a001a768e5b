//! How a configuration is attacked best: the settings its user left open, and the records around the one that differs.

use super::attack::View;
use super::draws::Draws;
use super::neighbours::{Instance, comparable};
use crate::data::Unit;
use crate::error::{Error, Fallible};
use crate::model_kind::Response;
use crate::optim::{AuditRecipe, SETTINGS};
use crate::train::{ModelKind, TrainConfig};

/// What is crafted around a configuration.
#[derive(Clone, Debug)]
pub(super) struct Craft {
    /// The configuration with what was left open filled in.
    pub(super) config: TrainConfig,
    /// The unit of persons, likewise.
    pub(super) unit: Option<Unit>,
    /// Whether some columns are public.
    pub(super) public: bool,
    /// Pairs of common records whose gradients cancel.
    pub(super) pairs: usize,
    /// Lines that are no record.
    pub(super) null: usize,
    pub(super) draws: Draws,
    /// Whether a numeric target shows more than two labels.
    pub(super) numbers: bool,
    /// Whether the intercept alone shows more than several coefficients.
    pub(super) alone: bool,
}

impl Craft {
    /// Fills in what the user left open so that the record counts most; what is set stays.
    ///
    /// Nothing is released but what the algorithm cannot do without: no moments, no row count under add-remove.
    pub(super) fn of(config: &TrainConfig, unit: Option<&Unit>) -> Self {
        let recipe = (config.algorithm.description().audit)(config.adjacency);
        let mut settings = config.settings.clone();
        SETTINGS.iter().for_each(|setting| setting.fill(&mut settings, &recipe.settings));
        let public = (!config.adjacency.row_count_is_public()).then_some(recipe.rows);
        let unit = unit.map(|unit| Unit { persons: unit.persons.or(public), ..unit.clone() });
        let config = TrainConfig {
            settings,
            standardize: config.standardize.or(recipe.raw.then_some(false)),
            rows: config.rows.or(public.filter(|_| unit.is_none())),
            // Nobody's rows are at stake.
            accept_large_delta: true,
            ..config.clone()
        };
        let draws = if recipe.known_draws { Draws::Known } else { Draws::Secret };
        let AuditRecipe { pairs, null, numbers, alone, .. } = recipe;
        Craft { config, unit, public: false, pairs, null, draws, numbers, alone }
    }

    /// What a trainer that protects rows is asked for, where persons are the unit: all else is the same.
    pub(super) fn by_rows(&self) -> TrainConfig {
        let persons = self.unit.as_ref().and_then(|unit| unit.persons);
        TrainConfig { rows: self.config.rows.or(persons), ..self.config.clone() }
    }

    /// The pairs and views that suit the model and the algorithm.
    pub(super) fn attacks(&self) -> Fallible<Vec<(Instance, View)>> {
        comparable(&self.config)?;
        let numbers = (Instance::Numbers, Some(Instance::NumbersAlone));
        let (whole, alone) = match (self.config.model.map(ModelKind::response), self.numbers) {
            (None, true) | (Some(Response::Centred), _) => numbers,
            (None | Some(Response::Label), _) => (Instance::Labels, Some(Instance::LabelsAlone)),
            (Some(Response::Class), _) => (Instance::Classes, None),
            (Some(Response::Count), _) => {
                let model = format!("--model {}", self.config.model.map_or("", ModelKind::name));
                let problem = "has no crafted neighbours: its targets are counts";
                return Err(Error::parameter(model, problem, "audit another model with the same algorithm"));
            }
        };
        if self.public {
            // Private cells of opposite signs move what is beside public ones furthest.
            let turned = (whole == Instance::Labels).then_some(Instance::Turned);
            let pairs = std::iter::once(whole).chain(turned).map(|pair| (pair, View::Releases));
            return Ok(pairs.chain([(whole, View::Model)]).collect());
        }
        let views = [(whole, View::Releases), (whole, View::Model)];
        let whole = if self.alone && alone.is_some() { &views[..0] } else { &views[..] };
        // Without columns there is nothing to cut.
        let alone = alone.filter(|_| !self.config.algorithm.cuts_columns());
        Ok(whole.iter().copied().chain(alone.map(|alone| (alone, View::Releases))).collect())
    }
}
