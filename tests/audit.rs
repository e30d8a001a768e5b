//! Every algorithm under attack: what neighbours made for the purpose show never exceeds the claim, and the same attack
//! refutes the claim where the noise is too small for it.

use rhograd::audit::{Attack, Guarantee, Instance, Verdict, View, Worlds, attack};
use rhograd::optim::{Averaging, Settings};
use rhograd::privacy::{Adjacency, Delta, Epsilon, Rho};
use rhograd::train::{Algorithm, Budget, TrainConfig};

/// Probability that a bound of one attack on an honest trainer is wrong; times twice the number of cases below 1e-4.
const MISS: f64 = 1e-6;

/// mu of a Gaussian run: large enough for few trials to tell 0.8 of the noise, small enough for rates away from zero.
const MU: f64 = 3.0;

/// Runs in each world by which most attacks are judged, and those for which a larger fault needs fewer.
const MANY: usize = 3000;
const FEW: usize = 1000;

/// Runs for claims that count the two signs of a slope where the record shows one.
const MORE: usize = 8000;

/// Steps so small that iterates stay at zero and a saturated record adds the same vector to every release.
const STILL: f64 = 1e-7;

const BOTH: [Adjacency; 2] = [Adjacency::AddRemove, Adjacency::ReplaceOne];

/// One configuration under attack.
struct Case {
    name: String,
    config: TrainConfig,
    instance: Instance,
    pairs: usize,
    null: usize,
    view: View,
    /// Noise of the faulty trainer over what the claim needs.
    fault: f64,
    /// The budget of the faulty trainer, where it is not rho over the square of the fault.
    louder: Option<f64>,
    trials: usize,
}

impl Case {
    fn new(algorithm: Algorithm, adjacency: Adjacency, instance: Instance) -> Self {
        let budget = Budget::Rho(Rho::from_f64(MU * MU / 2.0).unwrap(), Some(Delta::new(1e-6).unwrap()));
        let rows = (adjacency == Adjacency::AddRemove).then_some(1000);
        let config = TrainConfig { algorithm, adjacency, rows, ..TrainConfig::new(budget) };
        let name = format!("{} {adjacency} {instance:?}", algorithm.name());
        Case { name, config, instance, pairs: 2, null: 0, view: View::Releases, fault: 0.8, louder: None, trials: MANY }
    }

    fn set(mut self, settings: Settings) -> Self {
        self.config.settings = settings;
        self
    }

    fn raw(mut self) -> Self {
        self.config.standardise = Some(false);
        self
    }

    fn fault(mut self, fault: f64, trials: usize) -> Self {
        (self.fault, self.trials) = (fault, trials);
        self
    }

    fn called(mut self, what: &str) -> Self {
        self.name += &format!(", {what}");
        self
    }

    fn seen(mut self, view: View) -> Self {
        self.name += &format!(" {view:?}");
        self.view = view;
        self
    }

    fn epsilon(mut self, epsilon: f64, louder: f64, delta: f64) -> Self {
        self.config.budget = Budget::Epsilon(Epsilon::new(epsilon).unwrap(), Some(Delta::new(delta).unwrap()));
        self.louder = Some(louder);
        self
    }

    fn faulty(&self) -> TrainConfig {
        let budget = match (&self.config.budget, self.louder) {
            (Budget::Rho(rho, delta), _) => {
                Budget::Rho(Rho::from_f64(rho.lower() / self.fault.powi(2)).unwrap(), *delta)
            }
            (Budget::Epsilon(_, delta), louder) => Budget::Epsilon(Epsilon::new(louder.unwrap()).unwrap(), *delta),
        };
        TrainConfig { budget, ..self.config.clone() }
    }

    fn worlds(&self, config: &TrainConfig) -> Worlds {
        let replaced = config.adjacency == Adjacency::ReplaceOne;
        Worlds::load(config, &self.instance.neighbours(self.pairs, self.null, replaced)).unwrap()
    }

    /// The verdicts on the honest and on the faulty trainer, both against the claim of the honest one.
    fn verdicts(&self) -> [Verdict; 2] {
        let honest = self.worlds(&self.config);
        let claim = Guarantee::of(honest.absent().plan()).unwrap();
        let faulty = self.worlds(&self.faulty());
        let ratio = noise(&faulty) / noise(&honest);
        assert!((ratio / self.fault - 1.0).abs() < 0.03, "{}: the planted fault is {ratio}", self.name);
        let size =
            Attack { view: self.view, learn: self.trials / 2, judge: self.trials, confidence: 1.0 - MISS, seed: 1 };
        [honest, faulty].map(|worlds| attack(&worlds, &claim, &size).unwrap())
    }
}

/// The noise over the sensitivity of the last kind of release.
fn noise(worlds: &Worlds) -> f64 {
    worlds.present().plan().charges().last().unwrap().noise_multiplier()
}

fn still() -> Settings {
    Settings { learning_rate: Some(STILL), clip: Some(0.05), steps: Some(4), ..Settings::default() }
}

fn gradient_descent() -> Vec<Case> {
    let mut cases = Vec::new();
    for adjacency in BOTH {
        let dp_gd = |instance| Case::new(Algorithm::DpGd, adjacency, instance).raw().set(still());
        cases.push(dp_gd(Instance::Labels));
        let last = Settings { averaging: Some(Averaging::Last), momentum: Some(0.0), ..still() };
        cases.push(dp_gd(Instance::Labels).set(last).seen(View::Model));
        cases.push(Case::new(Algorithm::DpGdTheory, adjacency, Instance::Labels).set(still()));
    }
    cases
}

/// Noise of the faulty trainer where the theorem is not met with equality under replace-one.
fn fault_of(adjacency: Adjacency, added: f64, replaced: f64) -> f64 {
    if adjacency == Adjacency::AddRemove { added } else { replaced }
}

fn whitened() -> Vec<Case> {
    let mut cases = Vec::new();
    for adjacency in BOTH {
        let whitened = |instance| Case::new(Algorithm::Whitened, adjacency, instance).raw().set(still());
        // A replaced label leaves the Gram matrix as it is.
        cases.push(whitened(Instance::LabelsAlone).fault(fault_of(adjacency, 0.8, 0.7), MANY));
        // The direction of the record in whitened coordinates varies with the released matrix.
        cases.push(whitened(Instance::Labels).fault(0.6, FEW));
        cases.push(whitened(Instance::Classes).fault(0.5, FEW));
        // Gradients of two classes are at an angle of 120 degrees, not 180.
        let classes = Case::new(Algorithm::DpGd, adjacency, Instance::Classes).raw().set(still());
        cases.push(classes.fault(fault_of(adjacency, 0.8, 0.7), MANY));
    }
    cases
}

/// Runs as people make them: every constant by its rule, moments released, iterates that move.
fn by_rule() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.push(Case::new(Algorithm::Auto, Adjacency::AddRemove, Instance::NumbersAlone).called("by rule"));
    let replaced = Case::new(Algorithm::Auto, Adjacency::ReplaceOne, Instance::NumbersAlone).called("by rule");
    cases.push(Case { null: 300, ..replaced }.fault(0.65, MANY));
    let steps = |steps| Settings { steps: Some(steps), ..Settings::default() };
    for (instance, count) in [(Instance::Labels, 4), (Instance::Numbers, 10)] {
        let case = Case::new(Algorithm::DpGd, Adjacency::AddRemove, instance).set(steps(count));
        cases.push(case.called("moving"));
    }
    let mut private = Case::new(Algorithm::DpGd, Adjacency::AddRemove, Instance::Labels).raw().set(still());
    private.config.rows = None;
    cases.push(private.called("private count"));
    for averaging in [Averaging::Tail, Averaging::Mean] {
        let set = Settings { averaging: Some(averaging), ..still() };
        let case = Case::new(Algorithm::DpGd, Adjacency::AddRemove, Instance::Labels).raw().set(set);
        cases.push(case.seen(View::Model).called(&format!("{averaging:?}")).fault(0.6, FEW));
    }
    // A row trains or is held out, and both are charged.
    for adjacency in BOTH {
        let mut case = Case::new(Algorithm::DpGd, adjacency, Instance::Labels).raw().set(still());
        case.config.evaluate_budget = Some(0.5);
        case.config.holdout = 0.5;
        let case = case.called("paid evaluation").fault(0.1, MANY);
        cases.push(Case { pairs: 0, ..case });
    }
    cases
}

fn second_order() -> Vec<Case> {
    let mut cases = Vec::new();
    let steps = |steps| Settings { steps, learning_rate: Some(STILL), clip: Some(0.05), ..Settings::default() };
    for adjacency in BOTH {
        let case = |algorithm, instance, set| Case::new(algorithm, adjacency, instance).raw().set(set);
        let clip = Settings { clip: Some(0.05), ..Settings::default() };
        // A replaced label turns the gradient around and leaves the matrix as it is.
        let two = [
            case(Algorithm::AdaSsp, Instance::Labels, clip),
            case(Algorithm::BoostedAdaSsp, Instance::Labels, steps(Some(3))),
            case(Algorithm::Newton, Instance::Labels, steps(Some(2))),
            // Without other rows the Hessian is the ridge, where one row more bends it most.
            Case { pairs: 0, ..case(Algorithm::NewtonDoubleNoise, Instance::LabelsAlone, steps(Some(2))) },
        ];
        let trials = if adjacency == Adjacency::AddRemove { MANY } else { FEW };
        cases.extend(two.map(|case| case.fault(fault_of(adjacency, 0.8, 0.5), trials)));
        // With one batch the record's place is known; with four it is not.
        cases.push(case(Algorithm::DpFtrl, Instance::Labels, steps(Some(1))));
        cases.push(case(Algorithm::DpFtrl, Instance::Labels, steps(Some(4))).called("4 batches").fault(0.4, FEW));
    }
    // The place of the record in the pass is secret, and only the first row of a block moves its mean by a whole step.
    let set = Settings { learning_rate: Some(1e-3), clip: Some(0.05), ..Settings::default() };
    let case = Case::new(Algorithm::Localization, Adjacency::ReplaceOne, Instance::Numbers).raw().set(set);
    cases.push(Case { pairs: 0, null: 7, ..case }.fault(0.1, MANY));
    cases
}

fn solvers() -> Vec<Case> {
    let mut cases = Vec::new();
    for adjacency in BOTH {
        // Under replace-one, lines that are no record make the count large and the released moments sharp.
        let null = if adjacency == Adjacency::AddRemove { 0 } else { 300 };
        let set = Settings { clip: Some(1.0), l2: Some(1e-3), ..Settings::default() };
        let case = Case::new(Algorithm::OutputPerturbation, adjacency, Instance::Numbers).set(set);
        cases.push(Case { null, ..case });
        for algorithm in [Algorithm::Amp, Algorithm::ObjectivePerturbation] {
            let set = Settings { clip: Some(1.0), ..Settings::default() };
            let fault = fault_of(adjacency, 0.6, 0.4);
            let case = Case::new(algorithm, adjacency, Instance::Numbers).set(set).fault(fault, MORE);
            // A large delta, where the claim is a small epsilon and the determinant's part of it is smaller still.
            cases.push(Case { null, ..case }.epsilon(2.8, fault_of(adjacency, 6.83, 10.62), 0.3));
        }
        let rate = Settings { sampling_rate: Some(0.5), ..still() };
        let case = Case::new(Algorithm::DpSgd, adjacency, Instance::Labels).raw().set(rate);
        // Claims of sampled steps are small where errors are frequent, so that few runs prove little.
        cases.push(case.fault(0.5, FEW).epsilon(8.0, fault_of(adjacency, 22.3, 18.07), 1e-6));
    }
    cases
}

fn choices() -> Vec<Case> {
    let mut cases = Vec::new();
    for adjacency in BOTH {
        let set = Settings { radius: Some(1e6), ..Settings::default() };
        let case = Case::new(Algorithm::ExponentialMechanism, adjacency, Instance::LabelsAlone).raw().set(set);
        cases.push(Case { pairs: 0, ..case }.fault(0.8, 4000).epsilon(3.0, 3.75, 1e-6));
        for (steps, fault, louder) in [(1, 0.8, 3.75), (4, 0.5, 5.99)] {
            let set = Settings { radius: Some(1e-6), clip: Some(0.05), steps: Some(steps), ..Settings::default() };
            let case = Case::new(Algorithm::FrankWolfe, adjacency, Instance::LabelsAlone).raw().set(set);
            let case = case.called(&format!("{steps} steps")).fault(fault, 4000);
            cases.push(case.epsilon(3.0, louder, 1e-6));
        }
    }
    cases
}

fn all() -> Vec<Case> {
    [gradient_descent(), whitened(), by_rule(), second_order(), solvers(), choices()].into_iter().flatten().collect()
}

/// The honest trainer keeps its claim, and too little noise is found.
fn check(cases: Vec<Case>) {
    for case in cases {
        let [honest, faulty] = case.verdicts();
        assert!(!honest.shown.refutes(), "{}: the claim is refuted: {honest:?}", case.name);
        assert!(faulty.shown.refutes(), "{}: noise times {} goes unnoticed: {faulty:?}", case.name, case.fault);
    }
}

#[test]
fn descent_keeps_its_claim() {
    check(gradient_descent());
}

#[test]
fn whitened_descent_keeps_its_claim() {
    check(whitened());
}

#[test]
fn runs_by_rule_keep_their_claim() {
    check(by_rule());
}

#[test]
fn second_order_methods_and_passes_keep_their_claim() {
    check(second_order());
}

#[test]
fn solvers_and_samples_keep_their_claim() {
    check(solvers());
}

#[test]
fn choices_keep_their_claim() {
    check(choices());
}

#[test]
fn every_algorithm_is_attacked_under_every_relation_it_has() {
    let cases = all();
    assert!(cases.len() as f64 * MISS <= 1e-4, "{} cases", cases.len());
    for algorithm in Algorithm::ALL {
        for adjacency in BOTH {
            let attacked =
                cases.iter().any(|case| case.config.algorithm == algorithm && case.config.adjacency == adjacency);
            let defined = algorithm != Algorithm::Localization || adjacency == Adjacency::ReplaceOne;
            assert_eq!(attacked, defined, "{} {adjacency}", algorithm.name());
        }
    }
}

#[test]
fn neighbours_of_the_wrong_relation_are_refused() {
    let case = Case::new(Algorithm::DpGd, Adjacency::AddRemove, Instance::Labels);
    let text = match Worlds::load(&case.config, &Instance::Labels.neighbours(1, 0, true)) {
        Ok(_) => panic!("a replaced record is no added one"),
        Err(error) => error.to_string(),
    };
    assert!(text.contains("--adjacency"), "{text}");
}

#[test]
#[ignore = "prints the table of docs/audit.md"]
fn table() {
    println!("| attack | claim | shown, honest | noise times | claim | shown, faulty |\n|---|---|---|---|---|---|");
    for case in all() {
        let [honest, faulty] = case.verdicts();
        let claim = |verdict: &Verdict| match verdict.shown.delta {
            Some(delta) => format!("epsilon {:.2} at delta {delta}", verdict.shown.claimed),
            None if case.config.algorithm == Algorithm::ExponentialMechanism => {
                format!("range {:.2}", verdict.shown.claimed)
            }
            None if case.config.algorithm == Algorithm::FrankWolfe => format!("range {:.2}", verdict.shown.claimed),
            None => format!("mu {:.2}", verdict.shown.claimed),
        };
        let effect = |verdict: &Verdict| match verdict.shown.delta {
            None if claim(verdict).starts_with("mu") => format!(" ({:.2})", verdict.effect),
            _ => String::new(),
        };
        println!(
            "| {} | {} | {:.2}{} | {} | {} | {:.2}{} |",
            case.name,
            claim(&honest),
            honest.shown.proved,
            effect(&honest),
            case.fault,
            claim(&faulty),
            faulty.shown.proved,
            effect(&faulty)
        );
    }
}
