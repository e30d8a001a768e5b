//! Full-batch descent under attack.

use rhograd::audit::{Instance, View};
use rhograd::optim::{Averaging, Settings};
use rhograd::privacy::Adjacency;
use rhograd::train::Algorithm;

use super::case::{BOTH, Case, MISS, STILL};

pub fn still() -> Settings {
    Settings { learning_rate: Some(STILL), clip: Some(0.05), steps: Some(4), ..Settings::default() }
}

pub fn gradient_descent() -> Vec<Case> {
    let mut cases = Vec::new();
    for adjacency in BOTH {
        let dp_gd = |instance| Case::new(Algorithm::DpGd, adjacency, instance).raw().set(still());
        cases.push(dp_gd(Instance::Labels));
        let last = || Settings { averaging: Some(Averaging::Last), momentum: Some(0.0), ..still() };
        cases.push(dp_gd(Instance::Labels).set(last()).seen(View::Model));
        cases.push(Case::new(Algorithm::DpGdTheory, adjacency, Instance::Labels).set(still()));
        cases.push(dp_gd(Instance::Labels).clipping(1.25));
        let model = dp_gd(Instance::Labels).set(last()).seen(View::Model);
        cases.push(Case { long: true, ..model.clipping(1.25) });
        // A small fault takes many runs.
        cases.push(Case { trials: 100_000, long: true, ..dp_gd(Instance::Labels).called("many runs").fault(0.95) });
    }
    cases
}

/// Noise of the faulty trainer where the theorem is not met with equality under replace-one.
pub fn fault_of(adjacency: Adjacency, added: f64, replaced: f64) -> f64 {
    if adjacency == Adjacency::AddRemove { added } else { replaced }
}

pub fn whitened() -> Vec<Case> {
    let mut cases = Vec::new();
    for adjacency in BOTH {
        let whitened = |instance| Case::new(Algorithm::Whitened, adjacency, instance).raw().set(still());
        // A replaced label leaves the Gram matrix as it is.
        cases.push(whitened(Instance::LabelsAlone).fault(fault_of(adjacency, 0.8, 0.7)));
        cases.push(whitened(Instance::Labels).fault(fault_of(adjacency, 0.8, 0.75)));
        // Gradients of two classes are at an angle of 120 degrees, not 180, and directions vary with the released matrix.
        let classes = whitened(Instance::Classes).fault(fault_of(adjacency, 0.65, 0.6));
        cases.push(Case { trials: 2000, long: adjacency == Adjacency::ReplaceOne, ..classes });
        let classes = Case::new(Algorithm::DpGd, adjacency, Instance::Classes).raw().set(still());
        cases.push(classes.fault(fault_of(adjacency, 0.8, 0.75)));
    }
    cases
}

/// Columns cut into intervals by released counts; what steps release is looked at along the record that differs.
pub fn additive() -> Vec<Case> {
    let mut cases = Vec::new();
    for adjacency in BOTH {
        let additive = |instance| {
            let mut case = Case::new(Algorithm::Additive, adjacency, instance).set(still());
            // Of many rows there would be many intervals, and nothing in them.
            case.config.rows = case.config.rows.map(|_| 20);
            Case { miss: MISS / 10.0, ..case }
        };
        // A run takes some milliseconds: a column has more than a thousand counts.
        let short = |case: Case| Case { trials: 1000, ..case.fault(0.65) };
        cases.push(short(additive(Instance::Labels)));
        let last = Settings { averaging: Some(Averaging::Last), momentum: Some(0.0), ..still() };
        cases.push(short(additive(Instance::Labels).set(last).seen(View::Model)));
        cases.push(Case { trials: 1000, ..additive(Instance::Labels).clipping(1.5) });
        cases.push(Case { long: true, ..additive(Instance::Numbers) });
        cases.push(Case { long: true, ..additive(Instance::Classes).fault(fault_of(adjacency, 0.65, 0.6)) });
    }
    cases
}

/// Runs as people make them: every constant by its rule, moments released, iterates that move.
pub fn by_rule() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.push(Case::new(Algorithm::Auto, Adjacency::AddRemove, Instance::NumbersAlone).called("by rule"));
    let replaced = Case::new(Algorithm::Auto, Adjacency::ReplaceOne, Instance::NumbersAlone).called("by rule");
    cases.push(Case { null: 300, ..replaced }.fault(0.7));
    let steps = |steps| Settings { steps: Some(steps), ..Settings::default() };
    for (instance, count) in [(Instance::Labels, 4), (Instance::Numbers, 10)] {
        let case = Case::new(Algorithm::DpGd, Adjacency::AddRemove, instance).set(steps(count));
        cases.push(Case { long: instance == Instance::Numbers, ..case.called("moving") });
    }
    let mut private = Case::new(Algorithm::DpGd, Adjacency::AddRemove, Instance::Labels).raw().set(still());
    private.config.rows = None;
    cases.push(private.called("private count"));
    for averaging in [Averaging::Tail, Averaging::Mean] {
        let set = Settings { averaging: Some(averaging), ..still() };
        let case = Case::new(Algorithm::DpGd, Adjacency::AddRemove, Instance::Labels).raw().set(set);
        let case = case.seen(View::Model).called(&format!("{averaging:?}")).fault(0.7);
        cases.push(Case { long: averaging == Averaging::Mean, ..case });
    }
    // A row trains or is held out; both are charged, and more is spent on what the adversary knows to have happened.
    for adjacency in BOTH {
        let case = |share: f64| {
            let mut case = Case::new(Algorithm::DpGd, adjacency, Instance::Labels).raw().set(still());
            (case.config.evaluate_budget, case.config.holdout) = (Some(share), 0.5);
            Case { null: 1, ..case }.known().called("paid evaluation")
        };
        cases.push(case(0.05).called("trained on"));
        // No record has the largest loss and is rightly classified; a replaced one does not change all that it could.
        let held_out = case(0.95).called("held out").fault(fault_of(adjacency, 0.4, 0.12));
        cases.push(Case { trials: 1000, ..held_out });
    }
    cases
}
