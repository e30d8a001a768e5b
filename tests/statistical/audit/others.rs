//! Everything but full-batch descent under attack.

use rhograd::audit::{Instance, View};
use rhograd::optim::{Sampling, Settings};
use rhograd::privacy::Adjacency;
use rhograd::train::Algorithm;

use super::case::{BOTH, Case, STILL};
use super::descent::{fault_of, still};

pub fn second_order() -> Vec<Case> {
    let mut cases = Vec::new();
    let steps = |steps| Settings { steps, learning_rate: Some(STILL), clip: Some(0.05), ..Settings::default() };
    for adjacency in BOTH {
        let case = |algorithm, instance, set| Case::new(algorithm, adjacency, instance).raw().set(set);
        let clip = Settings { clip: Some(0.05), ..Settings::default() };
        let replaced = adjacency == Adjacency::ReplaceOne;
        // A replaced label turns the gradient around and leaves the matrix as it is; much of these budgets is for the matrix.
        let both = if replaced { Instance::Turned } else { Instance::Labels };
        let fault = fault_of(adjacency, 0.8, 0.65);
        cases.push(case(Algorithm::AdaSsp, both, clip).fault(fault));
        cases.push(case(Algorithm::BoostedAdaSsp, Instance::Labels, steps(Some(3))));
        cases.push(case(Algorithm::Newton, both, steps(Some(2))).fault(fault));
        // Without other rows the Hessian is the ridge, where one row more bends it most.
        let double = case(Algorithm::NewtonDoubleNoise, Instance::LabelsAlone, steps(Some(2)));
        cases.push(Case { pairs: 0, ..double.fault(fault_of(adjacency, 0.8, 0.5)) });
        cases.push(case(Algorithm::DpFtrl, Instance::Labels, steps(Some(1))));
        cases.push(case(Algorithm::DpFtrl, Instance::Labels, steps(Some(4))).known().called("4 batches"));
        // With the noise for one pass this is half of what the claim needs.
        let passes = Settings { passes: Some(4), ..steps(Some(8)) };
        let case = case(Algorithm::DpFtrl, Instance::Labels, passes).known().called("4 passes of 2 batches");
        cases.push(Case { miss: 5e-8, ..case });
    }
    // Only the first row of a block moves its mean by a whole step.
    let set = Settings { learning_rate: Some(1e-3), clip: Some(0.05), ..Settings::default() };
    let case = Case::new(Algorithm::Localization, Adjacency::ReplaceOne, Instance::Numbers).raw().set(set);
    cases.push(Case { null: 7, ..case.known() });
    // With one batch the noise of a pass is that of its one step; a row of the first of several is hidden by all noise together.
    let set = |steps| Settings { steps: Some(steps), learning_rate: Some(1e-4), ..still() };
    let one_pass = |steps| Case::new(Algorithm::OnePass, Adjacency::ReplaceOne, Instance::Labels).raw().set(set(steps));
    // A label that is replaced, and nothing else: two labels, and a number from bound to bound.
    cases.extend(
        [Instance::Labels, Instance::Numbers]
            .map(|instance| Case { miss: 3e-7, ..Case::new(Algorithm::LabelSums, Adjacency::ReplaceOne, instance) }),
    );
    cases.extend([one_pass(1), Case { null: 28, ..one_pass(4).called("4 batches").known() }]);
    cases
}

pub fn solvers() -> Vec<Case> {
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
            let case = Case::new(algorithm, adjacency, Instance::Numbers).set(set).fault(fault);
            // A large delta, where the claim is a small epsilon and the determinant's part of it is smaller still.
            let case = case.epsilon(2.8, fault_of(adjacency, 6.83, 10.62), 0.3);
            cases.push(Case { null, trials: 8000, ..case });
        }
    }
    // The bound is twice what a saturated record shows, so a small fault takes many runs.
    for algorithm in [Algorithm::Amp, Algorithm::ObjectivePerturbation] {
        let set = Settings { clip: Some(1.0), ..Settings::default() };
        let case = Case::new(algorithm, Adjacency::AddRemove, Instance::Numbers).set(set).called("many runs");
        cases.push(Case { trials: 600_000, long: true, ..case.epsilon(1.0, 1.75, 0.68) });
    }
    cases
}

pub fn choices() -> Vec<Case> {
    let mut cases = Vec::new();
    for adjacency in BOTH {
        let set = Settings { radius: Some(1e6), ..Settings::default() };
        let case = Case::new(Algorithm::ExponentialMechanism, adjacency, Instance::LabelsAlone).raw().set(set);
        cases.push(Case { pairs: 0, trials: 4000, ..case }.epsilon(3.0, 3.75, 1e-6));
        for (steps, fault, louder) in [(1, 0.8, 3.75), (4, 0.5, 5.99)] {
            let set = Settings { radius: Some(1e-6), clip: Some(0.05), steps: Some(steps), ..Settings::default() };
            let case = Case::new(Algorithm::FrankWolfe, adjacency, Instance::LabelsAlone).raw().set(set);
            let case = case.called(&format!("{steps} steps")).fault(fault);
            cases.push(Case { trials: 4000, ..case }.epsilon(3.0, louder, 1e-6));
        }
    }
    cases
}

/// Without other rows, which would add to the noise wherever a sample or a score counts some of them.
pub fn samples() -> Vec<Case> {
    let mut cases = Vec::new();
    for adjacency in BOTH {
        let (steps, louder) = if adjacency == Adjacency::AddRemove { (8, 21.2) } else { (16, 19.3) };
        let rate = Settings { sampling_rate: Some(0.5), steps: Some(steps), ..still() };
        let case = Case::new(Algorithm::DpSgd, adjacency, Instance::LabelsAlone).raw().set(rate);
        cases.push(Case { pairs: 0, ..case.epsilon(15.0, louder, 1e-6) });
    }
    // Two passes of two steps, of each of which the record draws one.
    let passes = Settings { sampling: Some(Sampling::Shuffle), sampling_rate: Some(0.5), steps: Some(4), ..still() };
    let case = Case::new(Algorithm::DpSgd, Adjacency::AddRemove, Instance::LabelsAlone).raw().set(passes);
    cases.push(Case { pairs: 0, miss: 5e-8, ..case.called("passes").epsilon(15.0, 20.3, 1e-6) });
    // Four passes of two batches, of which the record has the first and joins half of the passes.
    let set = Settings { passes: Some(4), sampling_rate: Some(0.5), steps: Some(8), ..still() };
    let case = Case::new(Algorithm::DpFtrl, Adjacency::AddRemove, Instance::LabelsAlone).raw().set(set).known();
    cases.push(Case { miss: 4e-8, ..case.called("passes of samples").epsilon(15.0, 21.2, 1e-6) });
    cases
}

/// The best of two candidates, each run once or at random.
pub fn tuned() -> Vec<Case> {
    let mut cases = Vec::new();
    for adjacency in BOTH {
        let case = |set| Case::new(Algorithm::DpGd, adjacency, Instance::LabelsAlone).raw().set(set);
        let long = adjacency == Adjacency::ReplaceOne;
        cases.push(Case { pairs: 0, long, ..case(still()).tuned("steps=1,2").called("each once") });
        // A model goes far enough for its loss to depend on the noise. What the theorem adds to the cost of the best run is for
        // runs that are rarely good, which these are not.
        let rate = if adjacency == Adjacency::AddRemove { 1000.0 } else { 1.0 };
        let set = Settings { steps: Some(1), clip: Some(0.05), learning_rate: Some(rate), ..Settings::default() };
        let random = case(set).tuned("radius=1e6,2e6").seen(View::Model).called("random runs");
        cases.push(Case { pairs: 0, trials: 4000, long, ..random.fault(0.28).epsilon(8.0, 30.0, 1e-6) });
    }
    cases
}
