//! How a configuration is attacked best: the settings its user left open, and the records around the one that differs.

use super::attack::View;
use super::draws::Draws;
use super::neighbours::Instance;
use crate::error::{Error, Fallible};
use crate::optim::{Averaging, Settings};
use crate::privacy::Adjacency;
use crate::train::{Algorithm, ModelKind, TrainConfig};

/// Steps so small that iterates stay at zero and a saturated record adds the same vector to every release.
const STILL: f64 = 1e-7;

/// A clip that every crafted record reaches.
const CLIP: f64 = 0.05;

/// A number of rows that is public under add-remove, so that nothing is spent on it.
const ROWS: u64 = 1000;

/// What is crafted around a configuration.
#[derive(Clone, Debug)]
pub(super) struct Craft {
    /// The configuration with what was left open filled in.
    pub(super) config: TrainConfig,
    /// Pairs of common records whose gradients cancel.
    pub(super) pairs: usize,
    /// Lines that are no record.
    pub(super) null: usize,
    pub(super) draws: Draws,
}

impl Craft {
    /// Fills in what the user left open so that the record counts most; what is set stays.
    ///
    /// Nothing is released but what the algorithm cannot do without: no moments, no row count under add-remove.
    pub(super) fn of(config: &TrainConfig) -> Self {
        use Algorithm::{
            AdaSsp, Amp, Auto, BoostedAdaSsp, Custom, DpFtrl, DpGd, DpGdTheory, DpSgd, ExponentialMechanism,
            FrankWolfe, Localization, Newton, NewtonDoubleNoise, ObjectivePerturbation, OnePass, OutputPerturbation,
            Tuned, Whitened,
        };
        let replaced = config.adjacency == Adjacency::ReplaceOne;
        let clip = Settings { clip: Some(CLIP), ..Settings::default() };
        let still = Settings { learning_rate: Some(STILL), steps: Some(4), ..clip };
        let solved = Settings { clip: Some(1.0), ..clip };
        // Lines that are no record make the public count large, so that the released moments are sharp.
        let many = if replaced { 300 } else { 0 };
        let (settings, pairs, null) = match config.algorithm {
            // The last iterate alone shows as much as all releases together.
            Auto | Whitened | DpGd => {
                (Settings { averaging: Some(Averaging::Last), momentum: Some(0.0), ..still }, 2, 0)
            }
            DpGdTheory => (still, 2, 0),
            // Sampled rows would add to the noise.
            DpSgd => {
                let steps = if replaced { 16 } else { 8 };
                (Settings { steps: Some(steps), sampling_rate: Some(0.5), ..still }, 0, 0)
            }
            AdaSsp => (clip, 2, 0),
            BoostedAdaSsp => (Settings { steps: Some(3), ..still }, 2, 0),
            Newton => (Settings { steps: Some(2), ..still }, 2, 0),
            // Without other rows the Hessian is the ridge, where one row more bends it most.
            NewtonDoubleNoise => (Settings { steps: Some(2), ..still }, 0, 0),
            DpFtrl => (still, 0, 0),
            // Batches need rows; only the first row of a block moves its mean by a whole step.
            Localization => (Settings { learning_rate: Some(1e-3), ..clip }, 0, 7),
            OnePass => (Settings { learning_rate: Some(1e-4), ..still }, 0, 28),
            OutputPerturbation => (Settings { l2: Some(1e-3), ..solved }, 2, many),
            Amp | ObjectivePerturbation => (solved, 2, many),
            ExponentialMechanism => (Settings { radius: Some(1e6), ..Settings::default() }, 0, 0),
            Custom | Tuned => (Settings::default(), 2, 0),
            FrankWolfe => (Settings { radius: Some(1e-6), steps: Some(1), ..clip }, 2, 0),
        };
        let draws = match config.algorithm {
            DpFtrl | Localization | OnePass => Draws::Known,
            _ => Draws::Secret,
        };
        // Solvers know their moments; the theory version never releases any.
        let raw = !matches!(config.algorithm, OutputPerturbation | Amp | ObjectivePerturbation | DpGdTheory);
        let config = TrainConfig {
            settings: filled(config.settings.clone(), settings),
            standardise: config.standardise.or(raw.then_some(false)),
            rows: config.rows.or((!replaced).then_some(ROWS)),
            // Nobody's rows are at stake.
            accept_large_delta: true,
            ..config.clone()
        };
        Craft { config, pairs, null, draws }
    }

    /// The pairs and views that suit the model and the algorithm.
    pub(super) fn attacks(&self) -> Fallible<Vec<(Instance, View)>> {
        use Algorithm::{
            Amp, DpSgd, ExponentialMechanism, Localization, NewtonDoubleNoise, ObjectivePerturbation,
            OutputPerturbation,
        };
        let numbers = (Instance::Numbers, Some(Instance::NumbersAlone));
        let (whole, alone) = match (self.config.model, self.config.algorithm) {
            (None, Localization | OutputPerturbation | Amp | ObjectivePerturbation) => numbers,
            (None | Some(ModelKind::Logistic | ModelKind::Svm { .. }), _) => {
                (Instance::Labels, Some(Instance::LabelsAlone))
            }
            (Some(ModelKind::Multinomial), _) => (Instance::Classes, None),
            (Some(ModelKind::Linear | ModelKind::Ridge | ModelKind::Huber { .. } | ModelKind::Quantile { .. }), _) => {
                numbers
            }
            (Some(ModelKind::Poisson { .. }), _) => {
                let problem = "has no crafted neighbours: its targets are counts";
                return Err(Error::parameter(
                    "--model poisson",
                    problem,
                    "audit another model with the same algorithm",
                ));
            }
        };
        // A grid of models has few coefficients; what a mixture or a direction shows is clearest with one.
        let single = matches!(self.config.algorithm, ExponentialMechanism | DpSgd | NewtonDoubleNoise);
        let views = [(whole, View::Releases), (whole, View::Model)];
        let whole = if single && alone.is_some() { &views[..0] } else { &views[..] };
        Ok(whole.iter().copied().chain(alone.map(|alone| (alone, View::Releases))).collect())
    }
}

/// Settings with what is left open taken from others.
fn filled(set: Settings, open: Settings) -> Settings {
    Settings {
        clip: set.clip.or(open.clip),
        steps: set.steps.or(open.steps),
        learning_rate: set.learning_rate.or(open.learning_rate),
        l2: set.l2.or(open.l2),
        radius: set.radius.or(open.radius),
        sampling_rate: set.sampling_rate.or(open.sampling_rate),
        momentum: set.momentum.or(open.momentum),
        averaging: set.averaging.or(open.averaging),
        ..set
    }
}
