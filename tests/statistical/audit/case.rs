//! One configuration under attack, honest and with too little noise.

use rhograd::audit::{Attack, Draws, Guarantee, Instance, Neighbours, Verdict, View, Worlds, attack};
use rhograd::data::Unit;
use rhograd::optim::Settings;
use rhograd::privacy::{Adjacency, Delta, Epsilon, Rho};
use rhograd::train::{Algorithm, Budget, Candidate, TrainConfig};

/// Probability that a bound of one attack on an honest trainer is wrong, unless the case says less; all of them together stay below 1e-4.
pub const MISS: f64 = 1e-6;

/// mu of a Gaussian run: large enough for few trials to tell 0.8 of the noise, small enough for rates away from zero.
pub const MU: f64 = 3.0;

/// Runs in each world by which most attacks are judged.
const TRIALS: usize = 3000;

/// Steps so small that iterates stay at zero and a saturated record adds the same vector to every release.
pub const STILL: f64 = 1e-7;

pub const BOTH: [Adjacency; 2] = [Adjacency::AddRemove, Adjacency::ReplaceOne];

/// One configuration under attack.
pub struct Case {
    pub name: String,
    pub config: TrainConfig,
    /// The person as the unit.
    pub unit: Option<Unit>,
    pub instance: Instance,
    pub pairs: usize,
    pub null: usize,
    pub view: View,
    pub draws: Draws,
    /// Noise of the faulty trainer over what the claim needs; over what its own clip needs, where that is too wide.
    pub fault: f64,
    /// Clip of the faulty trainer over that of the honest one.
    pub clip: f64,
    /// The budget of the faulty trainer, where it is not rho over the square of the fault.
    pub louder: Option<f64>,
    pub trials: usize,
    /// Probability that the bound on an honest trainer is wrong.
    pub miss: f64,
    /// Attacked for the table only.
    pub long: bool,
}

impl Case {
    pub fn new(algorithm: Algorithm, adjacency: Adjacency, instance: Instance) -> Self {
        let budget = Budget::Rho(Rho::from_f64(MU * MU / 2.0).unwrap(), Some(Delta::new(1e-6).unwrap()));
        let rows = (adjacency == Adjacency::AddRemove).then_some(1000);
        let accept_large_delta = true;
        let config = TrainConfig { algorithm, adjacency, rows, accept_large_delta, ..TrainConfig::new(budget) };
        let name = format!("{} {adjacency} {instance:?}", algorithm.name());
        let (view, draws) = (View::Releases, Draws::Secret);
        let (fault, clip, louder, trials, miss, long) = (0.8, 1.0, None, TRIALS, MISS, false);
        let (pairs, null) = (2, 0);
        Case { name, config, unit: None, instance, pairs, null, view, draws, fault, clip, louder, trials, miss, long }
    }

    pub fn is_of(&self, algorithm: Algorithm, adjacency: Adjacency) -> bool {
        (self.config.algorithm, self.config.adjacency) == (algorithm, adjacency)
    }

    pub fn set(mut self, settings: Settings) -> Self {
        self.config.settings = settings;
        self
    }

    pub fn raw(mut self) -> Self {
        self.config.standardize = Some(false);
        self
    }

    /// Without other records, and to an adversary who knows where the record is.
    pub fn known(mut self) -> Self {
        (self.pairs, self.draws) = (0, Draws::Known);
        self
    }

    pub fn fault(mut self, fault: f64) -> Self {
        self.fault = fault;
        self
    }

    /// A fault that is too wide a clip, with the noise that the claim needs.
    pub fn clipping(mut self, clip: f64) -> Self {
        (self.fault, self.clip) = (1.0 / clip, clip);
        self.called(&format!("clip times {clip}"))
    }

    /// The same attack on persons: the one who differs has so many rows.
    pub fn of_persons(mut self, rows: u32) -> Self {
        self.unit = Some(Unit { persons: self.config.rows.take(), max_rows: Some(rows), ..Unit::new("who") });
        self.called(&format!("persons of {rows} rows"))
    }

    pub fn called(mut self, what: &str) -> Self {
        self.name += &format!(", {what}");
        self
    }

    pub fn seen(mut self, view: View) -> Self {
        self.name += &format!(" {view:?}");
        self.view = view;
        self
    }

    /// The best of a grid of candidates instead of one run.
    pub fn tuned(mut self, grid: &str) -> Self {
        self.config.tune = Candidate::grid(grid, &self.config).unwrap();
        self.name = format!("tuned {}", self.name);
        self
    }

    pub fn epsilon(mut self, epsilon: f64, louder: f64, delta: f64) -> Self {
        self.config.budget = Budget::Epsilon(Epsilon::new(epsilon).unwrap(), Some(Delta::new(delta).unwrap()));
        self.louder = Some(louder);
        self
    }

    pub fn faulty(&self) -> TrainConfig {
        let budget = match (&self.config.budget, self.louder) {
            (Budget::Rho(rho, delta), _) => {
                Budget::Rho(Rho::from_f64(rho.lower() / self.fault.powi(2)).unwrap(), *delta)
            }
            (Budget::Epsilon(_, delta), louder) => Budget::Epsilon(Epsilon::new(louder.unwrap()).unwrap(), *delta),
        };
        let settings =
            Settings { clip: self.config.settings.clip.map(|clip| clip * self.clip), ..self.config.settings.clone() };
        TrainConfig { budget, settings, ..self.config.clone() }
    }

    fn neighbours(&self) -> Neighbours {
        let replaced = self.config.adjacency == Adjacency::ReplaceOne;
        let rows = self.instance.neighbours(self.pairs, self.null, replaced);
        self.unit.as_ref().map_or(rows.clone(), |unit| rows.of_persons(unit).unwrap())
    }

    pub fn worlds(&self, config: &TrainConfig) -> Worlds {
        Worlds::load(config, &self.neighbours()).unwrap()
    }

    /// The verdict on a trainer that clips rows and not persons, against the claim about persons.
    pub fn verdict_by_rows(&self) -> Verdict {
        let mut neighbours = self.neighbours();
        let persons = neighbours.schema.unit.take().unwrap().persons;
        let worlds = Worlds::load(&TrainConfig { rows: persons, ..self.config.clone() }, &neighbours).unwrap();
        let claim = Guarantee::of(self.worlds(&self.config).absent().plan()).unwrap();
        // Seven rows for one are seen in few runs.
        let size = self.size();
        attack(&worlds, &claim, &Attack { learn: size.learn / 3, judge: size.judge / 3, ..size }).unwrap()
    }

    /// The verdicts on the honest and on the faulty trainer, both against the claim of the honest one.
    pub fn verdicts(&self) -> [Verdict; 2] {
        let honest = self.worlds(&self.config);
        let claim = Guarantee::of(honest.absent().plan()).unwrap();
        let faulty = self.worlds(&self.faulty());
        let ratio = noise(&faulty) / noise(&honest);
        assert!((ratio / self.fault - 1.0).abs() < 0.03, "{}: the planted fault is {ratio}", self.name);
        [honest, faulty].map(|worlds| attack(&worlds, &claim, &self.size()).unwrap())
    }

    fn size(&self) -> Attack {
        Attack {
            view: self.view,
            draws: self.draws,
            learn: self.trials / 2,
            judge: self.trials,
            confidence: 1.0 - self.miss,
            seed: 1,
        }
    }
}

/// The noise over the sensitivity of the last kind of release.
pub fn noise(worlds: &Worlds) -> f64 {
    worlds.present().plan().charges().last().unwrap().noise_multiplier()
}
