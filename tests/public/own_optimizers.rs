//! What an optimizer from elsewhere cannot do: release another query than it says, or state releases that it did not make.

use std::path::Path;

use ndarray::Array1;
use rhograd::error::ErrorKind;
use rhograd::grid::{MomentWeights, Shape};
use rhograd::kernel::{RawRow, Rows, RowsBuilder};
use rhograd::loss::{BoundedLoss, Curved, Glm};
use rhograd::optim::Planned;
use rhograd::prelude::*;
use rhograd::privacy::{
    Charge, Claim, DatasetId, ExponentialCharge, GaussianCharge, NoiseLaw, ObjectiveCharge, PoissonGaussianCharge,
    PrivateSelectionCharge, Scope,
};
use rhograd::private::{
    ChargedRun, Curvature, DescribeQuery, Minimization, Permit, PhasePlan, PrefixPasses, Query, Release, Released,
    charge_run, query,
};

/// What an optimizer asks under the name of a clipped sum.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    Gradient,
    Moments,
    Gram,
    SmallerClip,
    /// The gradient, by a run of its own; of a copy of the rows where that is said.
    ByAnotherRun {
        copied: bool,
    },
}

/// Plans clipped sums, makes some of them, and asks something.
#[derive(Debug)]
struct Own {
    gradient: ClippedPlan,
    loss: Objective,
    planned: Planned,
    made: u64,
    asked: Asked,
}

const STEPS: u64 = 5;

impl Optimizer for Own {
    fn planned(&self) -> Vec<Planned> {
        vec![self.planned.clone()]
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let weights = Array1::zeros(data.shape().dimension());
        let gradient = Gradient { loss: self.loss, weights: &weights, label_scale: start.label_scale, clip_norm: 1.0 };
        if let Asked::ByAnotherRun { copied } = self.asked {
            let charges = [self.planned.charge.clone()];
            let mut own = charge_run(&mut Ledger::in_memory()?, data.scope(), &charges, NoiseSource::from_os()?)?;
            let copy = data.duplicate()?;
            let rows = if copied { &copy } else { data };
            let value = rows.clipped(self.gradient.clip_steps)?.gradient_sum(&gradient)?;
            own.permit::<GaussianCharge>()?.release(value)?;
        }
        for _ in 0..self.made {
            run.release(&self.planned, 1.0, || match self.asked {
                Asked::Gradient | Asked::ByAnotherRun { .. } => {
                    data.clipped(self.gradient.clip_steps)?.gradient_sum(&gradient)
                }
                // All of these move by less than was paid for.
                Asked::Moments => data.moments(&MomentWeights { count: 1, ..MomentWeights::default() }),
                Asked::Gram => data.gram(1, 1),
                Asked::SmallerClip => data.clipped(self.gradient.clip_steps - 1)?.gradient_sum(&gradient),
            })?;
        }
        Ok(Fitted::of(weights.to_vec()))
    }
}

/// Trains with an optimizer whose plan is changed; the outcome, and the number of charges.
fn trained(made: u64, asked: Asked, change: &dyn Fn(&mut Planned)) -> (Fallible<()>, u64) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets");
    let file = CsvFile::open(&folder.join("fair.csv")).unwrap();
    let schema = Schema::read(&folder.join("fair.schema.json")).unwrap();
    let config = TrainConfig::new(Budget::Epsilon(Epsilon::new(1.0).unwrap(), Some(Delta::new(1e-6).unwrap())));
    let account = DatasetId::new(schema.name.clone()).unwrap();
    let mut ledger = Ledger::in_memory().unwrap();
    let plan = |problem: &Problem<'_>| {
        let unit = problem.one.unsigned_abs().into();
        let gradient = ClippedPlan::new(unit, problem.adjacency, &problem.budget, STEPS, problem.noise)?;
        let mut planned = gradient.release.planned();
        change(&mut planned);
        Ok(Box::new(Own { gradient, loss: problem.loss, planned, made, asked }) as Box<dyn Optimizer>)
    };
    let outcome = load_with(&config, schema, &file, &|_, _| Ok(()), &plan).and_then(|loaded| {
        let (trained, _) = train(loaded, &mut ledger, NoiseSource::from_os()?, &mut |_| Ok(()))?;
        assert_eq!(trained.model.statement.facts.releases.last().unwrap().charge.count(), STEPS);
        Ok(())
    });
    (outcome, ledger.summary(&account).map_or(0, |summary| summary.runs))
}

fn refusal<T>(outcome: Fallible<T>) -> String {
    let error = outcome.err().expect("it is refused");
    assert!(matches!(error.kind(), ErrorKind::Refused { .. }), "{error}");
    error.to_string()
}

#[test]
fn an_optimizer_that_stops_early_has_no_model_and_hears_what_is_missing() {
    let (whole, runs) = trained(STEPS, Asked::Gradient, &|_| ());
    assert_eq!((whole.is_ok(), runs), (true, 1), "{whole:?}");
    for made in 0..STEPS {
        let (outcome, runs) = trained(made, Asked::Gradient, &|_| ());
        let message = refusal(outcome);
        let missing = format!("release {} of {STEPS} of \"clipped gradient sum\"", made + 1);
        assert!(message.contains(&missing), "{message}");
        assert_eq!(runs, 1, "and it is charged");
    }
    let message = refusal(trained(STEPS + 1, Asked::Gradient, &|_| ()).0);
    assert!(message.contains("every paid release"), "{message}");
}

#[test]
fn an_optimizer_releases_the_query_that_it_planned_and_no_other() {
    for asked in [Asked::Moments, Asked::Gram, Asked::SmallerClip] {
        let message = refusal(trained(STEPS, asked, &|_| ()).0);
        assert!(message.contains("answers another query"), "{asked:?}: {message}");
    }
}

#[test]
fn rows_that_were_given_to_a_run_answer_to_no_other() {
    for copied in [false, true] {
        let message = refusal(trained(STEPS, Asked::ByAnotherRun { copied }, &|_| ()).0);
        assert!(message.contains("given to another run"), "{message}");
    }
}

#[test]
fn a_plan_that_is_not_paid_for_exactly_is_refused_before_its_charge() {
    let changes: [&dyn Fn(&mut Planned); 3] = [
        &|planned| planned.query = query::ClippedSum { clip_steps: 1 }.into(),
        &|planned| planned.query = query::Kinds { columns: 1, weight: 1, counted: false }.into(),
        &|planned| match &mut planned.charge {
            Charge::Gaussian(event) => event.sensitivity += 1,
            other => panic!("{other:?}"),
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let (outcome, runs) = trained(STEPS, Asked::Gradient, change);
        let message = refusal(outcome);
        assert!(message.contains("another sensitivity or mechanism"), "{number}: {message}");
        assert_eq!(runs, 0, "{number}");
    }
}

const SCOPE: fn(Adjacency) -> Scope = |adjacency| Scope::of_rows(DatasetId::new("a").unwrap(), adjacency);

fn rows(count: usize) -> Rows {
    let mut builder = RowsBuilder::new(Shape::new(2, &[3]));
    for i in 0..count {
        let q = (i * 7919 % 60_001) as i32 - 30_000;
        let numeric = vec![q as i16, (q / 2) as i16];
        builder.push(&RawRow { numeric, codes: vec![(i % 4) as u16], label: (i % 2) as i16, null: false });
    }
    builder.build()
}

fn event(sensitivity: u64) -> GaussianCharge {
    GaussianCharge { what: "test".into(), sensitivity, log2_scale: 44, noise: NoiseLaw::FlooredNormal, count: 1 }
}

/// Opens one release that is recorded as `planned`.
fn opened(
    data: &PrivateDataset,
    planned: &Planned,
    open: impl FnOnce(&mut LoggedRun<'_>) -> Fallible<()>,
) -> Fallible<()> {
    let noise = NoiseSource::insecure_from_seed(1);
    let mut run = charge_run(&mut Ledger::in_memory()?, data.scope(), std::slice::from_ref(&planned.charge), noise)?;
    let mut nobody = |_: &Release<'_>| Ok(());
    let mut run = run.logged(&mut nobody);
    open(&mut run)?;
    run.finish().map(drop)
}

/// Passes are made together, each by its own permit, and none is left out.
#[test]
fn all_releases_of_a_charge_are_returned_in_their_order() {
    let data = PrivateDataset::new(rows(60), SCOPE(Adjacency::AddRemove));
    let weights = Array1::zeros(6);
    let gradient = Gradient { loss: Glm::Logistic.into(), weights: &weights, label_scale: 1.0, clip_norm: 1.0 };
    let asked = query::PrefixSums { clip_steps: 1 << 25, batches: 2 };
    let query = Query::from(asked);
    let charge = GaussianCharge { count: 3, ..event(query.sensitivity(Adjacency::AddRemove)) };
    let planned = Planned { charge: charge.into(), query };
    let made = |choose: &dyn Fn(Vec<Released>) -> Vec<Released>| {
        let open = |permits: Vec<Permit<GaussianCharge>>| -> Fallible<((), Vec<Released>)> {
            let mut pass = PrefixPasses::open(permits, &data, asked)?;
            (0..6).try_for_each(|_| pass.next(&gradient).map(drop))?;
            Ok(((), choose(pass.finish())))
        };
        opened(&data, &planned, |run| run.release_all_by(&planned, 1.0, open))
    };
    made(&|all| all).unwrap();
    for wrong in [
        made(&|all| all.into_iter().rev().collect()),
        made(&|all| all.into_iter().take(2).collect()),
        made(&|_| Vec::new()),
    ] {
        let message = refusal(wrong);
        assert!(message.contains("did not make"), "{message}");
    }
    // A listener that fails at the second is not passed over.
    let open = |permits: Vec<Permit<GaussianCharge>>| -> Fallible<((), Vec<Released>)> {
        let mut pass = PrefixPasses::open(permits, &data, asked)?;
        (0..6).try_for_each(|_| pass.next(&gradient).map(drop))?;
        Ok(((), pass.finish()))
    };
    let noise = NoiseSource::insecure_from_seed(1);
    let plan = std::slice::from_ref(&planned.charge);
    let mut run = charge_run(&mut Ledger::in_memory().unwrap(), data.scope(), plan, noise).unwrap();
    let mut heard = 0;
    let mut listener = |_: &Release<'_>| {
        heard += 1;
        if heard == 2 { Err(Error::refused("the disk is full", "make room")) } else { Ok(()) }
    };
    let mut run = run.logged(&mut listener);
    assert!(run.release_all_by(&planned, 1.0, open).is_err());
    let message = refusal(run.finish().map(drop));
    assert!(message.contains("was not heard to its end"), "{message}");
    // Where one was made before, they are not all.
    let alone = |permit: Permit<GaussianCharge>| {
        let mut pass = PrefixPasses::open(vec![permit], &data, asked)?;
        (0..2).try_for_each(|_| pass.next(&gradient).map(drop))?;
        Ok(((), pass.finish().remove(0)))
    };
    let message = refusal(opened(&data, &planned, |run| {
        run.release_by(&planned, 1.0, alone)?;
        run.release_all_by(&planned, 1.0, |_: Vec<Permit<GaussianCharge>>| Ok(((), Vec::new())))
    }));
    assert!(message.contains("were made before"), "{message}");
}

/// Every mechanism opens the answer to what is recorded, and refuses one that moves by less.
#[test]
fn every_mechanism_opens_the_query_that_is_recorded() {
    let data = PrivateDataset::new(rows(60), SCOPE(Adjacency::AddRemove));
    let weights = Array1::zeros(6);
    let gradient = Gradient { loss: Glm::Logistic.into(), weights: &weights, label_scale: 1.0, clip_norm: 1.0 };
    let planned = |query: Query| Planned { charge: event(query.sensitivity(Adjacency::AddRemove)).into(), query };
    let mut seen = 0;
    let mut only = |right: Fallible<()>, wrong: Fallible<()>| {
        right.unwrap();
        let message = refusal(wrong);
        assert!(message.contains("answers another query"), "{message}");
        seen += 1;
    };

    let sum = planned(query::ClippedSum { clip_steps: 1 << 25 }.into());
    let sums = |bound: u64| {
        let value = || data.clipped(bound)?.gradient_sum(&gradient);
        opened(&data, &sum, |run| run.release(&sum, 1.0, value).map(drop))
    };
    only(sums(1 << 25), sums(1 << 24));

    let bound = 1 << 20;
    let unclaimed = PoissonGaussianCharge { sampled: event(bound), exponent: 1 << 58, claim: CLAIM };
    let delta = Delta::new(1e-6).unwrap();
    let sampled = rhograd::accounting::claim::make(unclaimed, Adjacency::AddRemove, delta, 1.0).unwrap();
    let sample = Planned { charge: sampled.into(), query: query::ClippedSum { clip_steps: bound }.into() };
    let samples = |bound: u64| {
        let rows = data.clipped(bound).unwrap();
        let open = |permit: Permit<PoissonGaussianCharge>| Ok(((), permit.release(&rows, &gradient)?));
        opened(&data, &sample, |run| run.release_by(&sample, 1.0, open).map(drop))
    };
    only(samples(bound), samples(bound / 2));

    let vertices = query::Vertices { clip_steps: 100 * 32_767, candidates: 12 };
    let sensitivity = vertices.sensitivity(Adjacency::AddRemove);
    let choice = ExponentialCharge { what: "test".into(), sensitivity, log2_scale: 24, candidates: 12, count: 1 };
    let choice = Planned { charge: Charge::Exponential(choice), query: vertices.into() };
    let choices =
        |most: i16| opened(&data, &choice, |run| run.choose(&choice, 1.0, || data.vertices(&gradient, most)).map(drop));
    only(choices(100), choices(50));

    let prefix = planned(query::PrefixSums { clip_steps: 1 << 25, batches: 8 }.into());
    let passes = |batches: u32| {
        let open = |permits: Vec<Permit<GaussianCharge>>| -> Fallible<((), Vec<Released>)> {
            let mut pass = PrefixPasses::open(permits, &data, query::PrefixSums { clip_steps: 1 << 25, batches })?;
            (0..batches).try_for_each(|_| pass.next(&gradient).map(drop))?;
            Ok(((), pass.finish()))
        };
        opened(&data, &prefix, |run| run.release_all_by(&prefix, 1.0, open))
    };
    only(passes(8), passes(4));

    let ordered = PrivateDataset::new(rows(60), SCOPE(Adjacency::ReplaceOne));
    let plan = PhasePlan { lipschitz: 1 << 44, shift: 6, rows: 60, dimension: 6, max_phases: 8 };
    let phased = query::Phases { plan };
    let phased = Planned { charge: event(phased.sensitivity(Adjacency::ReplaceOne)).into(), query: phased.into() };
    let phases = |plan: PhasePlan| {
        let open = |permit: Permit<GaussianCharge>| -> Fallible<((), Released)> {
            let mut pass = permit.phases(&ordered, plan, Curved::Logistic, 1.0)?;
            (0..plan.phases()).try_for_each(|_| pass.next(&[0; 6]).map(drop))?;
            Ok(((), pass.finish()))
        };
        opened(&ordered, &phased, |run| run.release_by(&phased, 1.0, open).map(drop))
    };
    only(phases(plan), phases(PhasePlan { lipschitz: plan.lipschitz / 2, ..plan }));

    let row_bound = 2 * 32_767 * 4095;
    let curvature = Curvature { row_bound, regularization: row_bound >> 4, tolerance: 1 << 20 };
    let problem = Minimization { loss: BoundedLoss::Logistic, label_scale: 1.0, log2_margin: 64, curvature };
    let noise = problem.perturbation(1 << 50);
    let perturbed = event(noise.sensitivity(Adjacency::AddRemove));
    let objective = ObjectiveCharge { perturbed, curvature: noise.curvature_ratio(), claim: CLAIM };
    let objective = rhograd::accounting::claim::make_objective(objective, Adjacency::AddRemove, delta).unwrap();
    let objective = Planned { charge: Charge::Objective(objective), query: noise.into() };
    let solutions = |step: u64| {
        let open = |permit: Permit<ObjectiveCharge>| permit.solve(&data, &problem, step);
        opened(&data, &objective, |run| run.release_by(&objective, 1.0, open).map(drop))
    };
    only(solutions(1 << 50), solutions(1 << 51));
    assert_eq!(seen, 6);
}

const CLAIM: Claim = Claim { epsilon: 9.0, delta: 1e-6, rho: 40.0 };

/// The statement names all releases of every candidate, so a run that makes fewer has failed.
#[test]
fn a_candidate_that_stops_early_is_never_the_best() {
    let data = PrivateDataset::new(rows(3), SCOPE(Adjacency::AddRemove));
    let weights = MomentWeights { count: 1 << 10, ..MomentWeights::default() };
    let moments = query::Moments { weights, columns: 2 };
    let charge = GaussianCharge { log2_scale: 20, count: 2, ..event(moments.sensitivity(Adjacency::AddRemove)) };
    let inner = Planned { charge: charge.into(), query: moments.into() };
    let event = PrivateSelectionCharge { what: "test".into(), rho: 2f64.powi(-20), stop: 1 << 28, claim: CLAIM };
    let candidates = query::BestRun { candidates: vec![vec![inner.clone()]; 2] };
    let best = Planned { charge: Charge::PrivateSelection(event), query: candidates.into() };
    let chosen = |seed: u64, makes: [usize; 2]| {
        let noise = NoiseSource::insecure_from_seed(seed);
        let mut run: ChargedRun =
            charge_run(&mut Ledger::in_memory().unwrap(), data.scope(), std::slice::from_ref(&best.charge), noise)
                .unwrap();
        let mut nobody = |_: &Release<'_>| Ok(());
        let mut run = run.logged(&mut nobody);
        let mut tried = [0; 2];
        let outcome = run.best_run(&best, &mut |candidate, run| {
            tried[candidate] += 1;
            for _ in 0..makes[candidate] {
                run.release(&inner, 1.0, || data.moments(&weights))?;
            }
            // The fewer it makes, the better it says it is.
            Ok((-(makes[candidate] as f64), ()))
        });
        (outcome.map(|(candidate, ())| candidate), tried)
    };
    let mut both = 0;
    for seed in 0..20 {
        let (outcome, tried) = chosen(seed, [2, 1]);
        both += u32::from(tried.iter().all(|&runs| runs > 0));
        match tried[0] {
            0 => assert!(refusal(outcome).contains("release 2 of 2 of \"test\"")),
            _ => assert_eq!(outcome.unwrap(), 0),
        }
    }
    assert!(both > 5, "{both}");
    assert!(refusal(chosen(1, [0, 0]).0).contains("release 1 of 2"));
}

#[test]
fn a_candidate_that_asks_another_query_has_failed() {
    let data = PrivateDataset::new(rows(3), SCOPE(Adjacency::AddRemove));
    let weights = MomentWeights { count: 1 << 10, ..MomentWeights::default() };
    let moments = query::Moments { weights, columns: 2 };
    let bound = moments.sensitivity(Adjacency::AddRemove);
    let charge: Charge = GaussianCharge { log2_scale: 20, ..event(bound) }.into();
    let inner = Planned { charge: charge.clone(), query: moments.into() };
    // As dear, and as far as it moves.
    let other = Planned { charge, query: query::ClippedSum { clip_steps: bound }.into() };
    let event = PrivateSelectionCharge { what: "test".into(), rho: 2f64.powi(-20), stop: 1 << 28, claim: CLAIM };
    let candidates = query::BestRun { candidates: vec![vec![inner.clone()]] };
    let best = Planned { charge: Charge::PrivateSelection(event), query: candidates.into() };
    let coefficients = Array1::zeros(6);
    let gradient = Gradient { loss: Glm::Logistic.into(), weights: &coefficients, label_scale: 1.0, clip_norm: 1.0 };
    let chosen = |honest: bool| {
        let charges = std::slice::from_ref(&best.charge);
        let noise = NoiseSource::insecure_from_seed(1);
        let mut run = charge_run(&mut Ledger::in_memory().unwrap(), data.scope(), charges, noise).unwrap();
        let mut nobody = |_: &Release<'_>| Ok(());
        let outcome = run.logged(&mut nobody).best_run(&best, &mut |_, run| {
            match honest {
                true => run.release(&inner, 1.0, || data.moments(&weights))?,
                false => run.release(&other, 1.0, || data.clipped(bound)?.gradient_sum(&gradient))?,
            };
            Ok((0.0, ()))
        });
        outcome.map(drop)
    };
    chosen(true).unwrap();
    let message = refusal(chosen(false));
    assert!(message.contains("asked other queries"), "{message}");
}
