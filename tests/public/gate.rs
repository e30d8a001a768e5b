//! What the gate must not allow: refusals at run time.

use ndarray::Array1;
use rhograd::error::{Error, ErrorKind, Fallible};
use rhograd::grid::{MomentWeights, Shape};
use rhograd::kernel::{RawRow, Rows, RowsBuilder};
use rhograd::ledger::Ledger;
use rhograd::loss::{BoundedLoss, Glm, Objective};
use rhograd::noise::{NoiseSource, RunCoins};
use rhograd::privacy::{
    Adjacency, Charge, Claim, DatasetId, Delta, ExponentialCharge, GaussianCharge, L2, NoiseLaw, ObjectiveCharge,
    PoissonGaussianCharge, PrivateSelectionCharge, Rho, Scope, ThresholdCharge, total_rho,
};
use rhograd::private::{
    ChargedRun, Curvature, DescribeQuery, Gradient, LoggedRun, Minimization, Permit, Planned, PrivateDataset, Query,
    Release, ReleaseRecord, Released, Sensitive, Stopped, charge_run, query, resume,
};

/// The twin of what must not compile, see [`super::misuse`]: everything they misuse is used rightly here, and compiles.
#[test]
fn right_use_compiles_and_runs() {
    fn once(permit: Permit<GaussianCharge>, sum: Sensitive<L2>) -> Fallible<Vec<i128>> {
        let released: Released = permit.release(sum)?;
        assert!(format!("{released:?}").contains("values"));
        Ok(released.clone().values().to_vec())
    }
    let scope = scope("a", Adjacency::AddRemove);
    let data = PrivateDataset::new(rows(3), scope.clone());
    let mut paid = paid(&scope, &[event(1 << 20, 2)]);
    let weights = MomentWeights { count: 1, ..MomentWeights::default() };
    let first = once(paid.permit::<GaussianCharge>().unwrap(), data.moments(&weights).unwrap()).unwrap();
    let second = once(paid.permit::<GaussianCharge>().unwrap(), data.moments(&weights).unwrap()).unwrap();
    assert_ne!(first, second);
}

fn scope(name: &str, adjacency: Adjacency) -> Scope {
    Scope::of_rows(DatasetId::new(name).unwrap(), adjacency)
}

fn rows(n: usize) -> Rows {
    let shape = Shape::new(2, &[3]);
    let mut builder = RowsBuilder::new(shape);
    for i in 0..n {
        let q = (i * 7919 % 60_001) as i32 - 30_000;
        builder.push(&RawRow {
            numeric: vec![q as i16, (q / 2) as i16],
            codes: vec![(i % 4) as u16],
            label: (i % 2) as i16,
            null: false,
        });
    }
    builder.build()
}

/// Runs of up to `rho`, each the last with probability 1/4.
fn best_run(rho: f64) -> PrivateSelectionCharge {
    let claim = Claim { epsilon: 9.0, delta: 1e-6, rho: 40.0 };
    PrivateSelectionCharge { what: "test".into(), rho, stop: 1 << 30, claim }
}

#[test]
fn only_the_best_run_is_opened_and_no_run_gets_more_than_was_paid_for() {
    let scope = scope("a", Adjacency::AddRemove);
    let data = PrivateDataset::new(rows(3), scope.clone());
    let weights = MomentWeights { count: 1, ..MomentWeights::default() };
    let query: Query = query::Moments { weights, columns: 2 }.into();
    let planned = |count: u64| vec![Planned { charge: event(1 << 10, count).into(), query: query.clone() }];
    // Two releases of rho 2^-21 each.
    let candidates = [planned(1), planned(2)];
    let mut seen = Vec::new();
    let (mut runs, mut trials) = (0u64, 0u64);
    for seed in 0..400 {
        let mut ledger = Ledger::in_memory().unwrap();
        let charges = [Charge::PrivateSelection(best_run(2f64.powi(-20))), event(1 << 10, 1).into()];
        let mut paid = charge_run(&mut ledger, &scope, &charges, NoiseSource::insecure_from_seed(seed)).unwrap();
        let mut scores = Vec::new();
        let mut run = |candidate: usize, paid: &mut ChargedRun| {
            let first = paid.permit::<GaussianCharge>()?.release(data.moments(&weights).unwrap())?.values()[0];
            // The second candidate has two permits and the first but one.
            assert_eq!(paid.permit::<GaussianCharge>().is_ok(), candidate == 1);
            assert!(paid.permit::<GaussianCharge>().is_err());
            seen.push(first);
            scores.push(first);
            if first % 7 == 0 { Err(data_error()) } else { Ok((first as f64, first)) }
        };
        let best = paid.best_run(&candidates, &mut run);
        let good = scores.iter().filter(|&&score| score % 7 != 0).max();
        match (&best, good) {
            (Ok((candidate, value, released)), Some(good)) => {
                assert_eq!((value, released.values()), (good, &[*candidate as i128][..]));
            }
            (Err(_), None) => (),
            _ => panic!("{scores:?}"),
        }
        assert!(
            paid.permit::<GaussianCharge>().is_ok() && paid.permit::<GaussianCharge>().is_err(),
            "what was paid for beside it is still there"
        );
        runs += scores.len() as u64;
        trials += 1;
    }
    // Geometric with mean 4 and variance 12; five standard errors are 0.87.
    assert!((runs as f64 / trials as f64 - 4.0).abs() < 0.87, "{runs} runs in {trials}");
    let all = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() + 20 > all, "noise is never used twice");

    let paid_for = |rho: f64, candidates: &[Vec<Planned>]| {
        let mut ledger = Ledger::in_memory().unwrap();
        let charges = [Charge::PrivateSelection(best_run(rho))];
        let mut paid = charge_run(&mut ledger, &scope, &charges, NoiseSource::insecure_from_seed(1)).unwrap();
        paid.best_run(candidates, &mut |_, _| Ok((1.0, ()))).is_ok()
    };
    assert!(paid_for(2f64.powi(-20), &candidates));
    assert!(!paid_for(2f64.powi(-20) * 0.999, &candidates), "a candidate costs more");
    assert!(!paid_for(2f64.powi(-20), &[]), "there is nothing to run");
    let mut paid = paid(&scope, &[event(1 << 10, 1)]);
    assert!(paid.best_run(&candidates, &mut |_, _| Ok((1.0, ()))).is_err(), "it was not paid for");
}

/// What a listener heard: the number of values, the query, and the grid step.
type Heard = Vec<(usize, Query, f64)>;

/// Makes releases of a run that was charged for `plan`, with what the listener heard and what was recorded.
fn logged<T>(
    scope: &Scope,
    plan: &[Planned],
    make: impl FnOnce(&mut LoggedRun<'_>) -> T,
) -> (T, Heard, Fallible<Vec<ReleaseRecord>>) {
    let charges: Vec<Charge> = plan.iter().map(|planned| planned.charge.clone()).collect();
    let (mut run, mut heard) = (paid_for(scope, &charges), Vec::new());
    let mut listener = |release: &Release<'_>| {
        heard.push((release.released.values().len(), release.query.clone(), release.grid_step));
        Ok(())
    };
    let mut run = run.logged(&mut listener);
    let made = make(&mut run);
    let records = run.finish();
    (made, heard, records)
}

/// One release of the count with `weight` grid steps a row.
fn count_of(weight: u32, count: u64) -> (MomentWeights, Planned) {
    let weights = MomentWeights { count: weight, ..MomentWeights::default() };
    let charge = event(u64::from(weight), count).into();
    (weights, Planned { charge, query: query::Moments { weights, columns: 2 }.into() })
}

#[test]
fn a_release_is_heard_and_recorded_by_the_call_that_makes_it() {
    let scope = scope("a", Adjacency::AddRemove);
    let data = PrivateDataset::new(rows(3), scope.clone());
    let ((few, first), (many, second)) = (count_of(10, 1), count_of(20, 2));
    let (_, heard, records) = logged(&scope, &[first.clone(), second.clone()], |run| {
        let one = run.release(&first, 0.5, || data.moments(&few)).unwrap();
        let two = run.release(&second, 0.25, || data.moments(&many)).unwrap();
        let three = run.release(&second, 0.25, || data.moments(&many)).unwrap();
        assert!(one.values() != two.values() && two.values() != three.values());
        assert!(refused(run.release(&second, 0.25, || data.moments(&many))), "all were made");
    });
    assert!(refused(records), "a run ends where a release fails");
    let lengths: Vec<usize> = heard.iter().map(|(len, _, _)| *len).collect();
    assert_eq!(lengths, [7; 3], "count, and of two columns and the label means and squares");
    let asked: Vec<_> = heard.into_iter().map(|(_, query, step)| (query, step)).collect();
    let [first_query, second_query] = [&first, &second].map(|planned| planned.query.clone());
    assert_eq!(asked, [(first_query, 0.5), (second_query.clone(), 0.25), (second_query, 0.25)]);
    let (_, _, records) = logged(&scope, &[first.clone(), second.clone()], |run| {
        run.release(&first, 0.5, || data.moments(&few)).unwrap();
        run.release(&second, 0.25, || data.moments(&many)).unwrap();
        run.release(&second, 0.25, || data.moments(&many)).unwrap();
    });
    let record = |planned, grid_step| ReleaseRecord { planned, grid_step };
    assert_eq!(records.unwrap(), [record(first, 0.5), record(second, 0.25)], "one of each kind");
}

#[test]
fn a_logged_run_makes_the_releases_of_the_plan_and_no_others() {
    let scope = scope("a", Adjacency::AddRemove);
    let data = PrivateDataset::new(rows(3), scope.clone());
    let (weights, planned) = count_of(10, 2);
    let plan = [planned.clone()];
    let moments = || data.moments(&weights);
    let is_refused = |make: &dyn Fn(&mut LoggedRun<'_>) -> Fallible<Released>, heard_before: usize| {
        let (made, heard, records) = logged(&scope, &plan, |run| refused(make(run)));
        assert!(made && heard.len() == heard_before && (records.is_err() || heard.is_empty()));
    };
    // With other numbers than were paid for, or under another name.
    is_refused(&|run| run.release(&count_of(9, 2).1, 1.0, moments), 0);
    is_refused(&|run| run.release(&count_of(10, 1).1, 1.0, moments), 0);
    let renamed = GaussianCharge { what: "something else".into(), ..event(10, 2) };
    is_refused(&|run| run.release(&Planned { charge: renamed.clone().into(), ..planned.clone() }, 1.0, moments), 0);
    // By another mechanism.
    is_refused(
        &|run| {
            let open = |permit: Permit<ThresholdCharge>| Err(Error::refused(format!("{:?}", permit.charge()), ""));
            run.release_by::<_, ()>(&planned, 1.0, open).map(|(_, released)| released)
        },
        0,
    );
    // A second grid step, or a second question, under one charge.
    let again = |run: &mut LoggedRun<'_>, planned: &Planned, step| {
        run.release(&plan[0], 1.0, moments)?;
        run.release(planned, step, moments)
    };
    let (_, heard, _) = logged(&scope, &plan, |run| assert!(refused(again(run, &plan[0], 2.0))));
    assert_eq!(heard.len(), 1);
    let other = Planned { query: query::Gram { clip_steps: 1 }.into(), ..planned.clone() };
    let (_, heard, _) = logged(&scope, &plan, |run| assert!(refused(again(run, &other, 1.0))));
    assert_eq!(heard.len(), 1);
}

/// Where a release was opened and nobody heard of it, nothing more is released and nothing is recorded.
#[test]
fn what_nobody_heard_ends_the_run() {
    let scope = scope("a", Adjacency::AddRemove);
    let data = PrivateDataset::new(rows(3), scope.clone());
    let (weights, planned) = count_of(10, 3);
    let moments = || data.moments(&weights);
    let charges = [planned.charge.clone()];
    // The listener fails.
    let mut charged = paid_for(&scope, &charges);
    let mut deaf = |_: &Release<'_>| Err(data_error());
    let mut run = charged.logged(&mut deaf);
    assert!(run.release(&planned, 1.0, moments).is_err());
    assert!(refused(run.release(&planned, 1.0, moments)));
    assert!(refused(run.finish()));
    // What was opened is hidden behind an error, or behind another release.
    let (_, heard, records) = logged(&scope, std::slice::from_ref(&planned), |run| {
        let mut kept = None;
        let hidden = run.release_by(&planned, 1.0, |permit: Permit<GaussianCharge>| -> Fallible<((), Released)> {
            kept = Some(permit.release(moments()?)?);
            Err(data_error())
        });
        assert!(hidden.is_err() && kept.is_some());
        assert!(refused(run.release(&planned, 1.0, moments)));
    });
    assert!(heard.is_empty() && refused(records));
    let (_, heard, records) = logged(&scope, std::slice::from_ref(&planned), |run| {
        let first = run.release(&planned, 1.0, moments).unwrap();
        let second = run.release_by(&planned, 1.0, |permit: Permit<GaussianCharge>| {
            let _unheard = permit.release(moments()?)?;
            Ok(((), first))
        });
        assert!(refused(second));
    });
    assert!(heard.len() == 1 && refused(records));
}

/// Nobody hears of the runs among which the best is chosen; its number alone is heard and recorded.
#[test]
fn of_several_runs_the_best_is_heard_and_no_other() {
    let scope = scope("a", Adjacency::AddRemove);
    let data = PrivateDataset::new(rows(3), scope.clone());
    let (weights, inner) = count_of(1 << 10, 1);
    let query: Query = query::BestRun { candidates: vec![vec![inner.clone()]; 2] }.into();
    let best = Planned { charge: Charge::PrivateSelection(best_run(2f64.powi(-20))), query };
    let mut runs = 0;
    let (chosen, heard, records) = logged(&scope, &[best.clone(), inner.clone()], |run| {
        let (candidate, value) = run
            .best_run(&best, &mut |_, run| {
                runs += 1;
                let released = run.release(&inner, 1.0, || data.moments(&weights))?;
                let score: i128 = released.values().iter().sum();
                Ok((score as f64, score))
            })
            .unwrap();
        assert!(value != 0);
        run.release(&inner, 2.0, || data.moments(&weights)).unwrap();
        candidate
    });
    assert!(runs > 0 && chosen < 2);
    assert_eq!(heard, [(1, best.query.clone(), 1.0), (7, inner.query.clone(), 2.0)]);
    let record = |planned, grid_step| ReleaseRecord { planned, grid_step };
    assert_eq!(records.unwrap(), [record(best.clone(), 1.0), record(inner.clone(), 2.0)]);
    // A run that hides a release of its own loses.
    let (outcome, _, _) = logged(&scope, std::slice::from_ref(&best), |run| {
        run.best_run(&best, &mut |_, run| {
            let open = |permit: Permit<GaussianCharge>| -> Fallible<((), Released)> {
                permit.release(data.moments(&weights)?)?;
                Err(data_error())
            };
            let _hidden = run.release_by(&inner, 1.0, open);
            Ok((1.0, ()))
        })
    });
    assert!(refused(outcome));
}

/// How many runs there are, and of which candidates, follows from the coins, whatever comes of the runs.
#[test]
fn the_number_of_runs_depends_on_no_outcome() {
    type Outcome = fn(usize) -> Fallible<(f64, ())>;
    let outcomes: [Outcome; 5] = [
        |run| Ok((run as f64, ())),
        |_| Err(data_error()),
        |_| Ok((f64::NAN, ())),
        |run| if run < 3 { Err(data_error()) } else { Ok((-1.0, ())) },
        |run| if run < 3 { Ok((f64::INFINITY, ())) } else { Err(data_error()) },
    ];
    let scope = scope("a", Adjacency::AddRemove);
    let query = query::Moments { weights: MomentWeights { count: 1, ..MomentWeights::default() }, columns: 2 }.into();
    let planned = vec![Planned { charge: event(1 << 10, 1).into(), query }];
    let candidates = [planned.clone(), planned.clone(), planned];
    let mut longest = 0;
    for seed in 0..40 {
        let mut coins = RunCoins::new(&NoiseSource::insecure_from_seed(seed), 0);
        let mut expected = vec![coins.candidate(3)];
        while !coins.stop(1 << 30) {
            expected.push(coins.candidate(3));
        }
        longest = longest.max(expected.len());
        for outcome in outcomes {
            let charges = [Charge::PrivateSelection(best_run(2f64.powi(-20)))];
            let mut ledger = Ledger::in_memory().unwrap();
            let mut paid = charge_run(&mut ledger, &scope, &charges, NoiseSource::insecure_from_seed(seed)).unwrap();
            let mut made = Vec::new();
            // How it ends is another matter: without a success there is nothing to open.
            let _ = paid.best_run(&candidates, &mut |candidate, _| {
                made.push(candidate);
                assert!(made.len() <= expected.len(), "seed {seed}: a run after the coin said stop");
                outcome(made.len() - 1)
            });
            assert_eq!(made, expected, "seed {seed}");
        }
    }
    assert!(longest > 5, "{longest}");
}

/// The theorem is about runs of plain zCDP: one that may fail, or whose cost is a claim with a delta, is no candidate.
#[test]
fn runs_that_may_fail_are_no_candidates() {
    let scope = scope("a", Adjacency::AddRemove);
    let query = query::Moments { weights: MomentWeights { count: 1, ..MomentWeights::default() }, columns: 2 }.into();
    let plain = Planned { charge: event(1 << 10, 1).into(), query };
    let claim = Claim { epsilon: 1e-6, delta: 1e-9, rho: 1e-12 };
    let sampled = PoissonGaussianCharge { sampled: event(1, 1), exponent: 1 << 58, claim };
    let stable = ThresholdCharge { noised: event(1 << 5, 1), row: 1 << 5, threshold: 1 << 25, delta: 1e-9 };
    let failing = [
        Planned { charge: Charge::PoissonGaussian(sampled), query: query::ClippedSum { clip_steps: 1 }.into() },
        Planned { charge: Charge::Threshold(stable), query: query::Distance { weight: 1 << 5 }.into() },
    ];
    let runs = |candidates: &[Vec<Planned>]| {
        let mut paid = paid_for(&scope, &[Charge::PrivateSelection(best_run(2f64.powi(-20)))]);
        paid.best_run(candidates, &mut |_, _| Ok((1.0, ()))).is_ok()
    };
    assert!(runs(&[vec![plain.clone()]]));
    for other in failing {
        let rho = total_rho(&[plain.charge.clone(), other.charge.clone()]).unwrap();
        assert!(rho <= Rho::from_f64(2f64.powi(-20)).unwrap(), "what it costs would be within");
        assert!(!runs(&[vec![plain.clone()], vec![plain.clone(), other.clone()]]), "{other:?}");
        assert!(!runs(&[vec![other]]));
    }
}

#[test]
fn a_run_that_released_more_than_was_paid_for_does_not_go_on() {
    let scope = scope("a", Adjacency::AddRemove);
    let plan = [Charge::from(event(1 << 20, 2))];
    let goes_on = |releases: usize| {
        let stopped = Stopped { run: "0".repeat(32), position: None, released: vec![vec![7]; releases] };
        let noise = NoiseSource::insecure_from_seed(1);
        resume(&mut Ledger::in_memory().unwrap(), &scope, &plan, noise, stopped).is_ok()
    };
    assert!(goes_on(0) && goes_on(2) && !goes_on(3));
}

fn data_error() -> rhograd::error::Error {
    rhograd::error::Error::numerical("test", "the iterates diverged")
}

fn event(sensitivity: u64, count: u64) -> GaussianCharge {
    GaussianCharge { what: "test".into(), sensitivity, log2_scale: 20, noise: NoiseLaw::FlooredNormal, count }
}

fn paid_for(scope: &Scope, plan: &[Charge]) -> ChargedRun {
    charge_run(&mut Ledger::in_memory().unwrap(), scope, plan, NoiseSource::insecure_from_seed(1)).unwrap()
}

fn paid(scope: &Scope, plan: &[GaussianCharge]) -> ChargedRun {
    charge_run(&mut Ledger::in_memory().unwrap(), scope, plan, NoiseSource::insecure_from_seed(5)).unwrap()
}

fn refused<T>(result: Result<T, rhograd::error::Error>) -> bool {
    result.is_err_and(|e| matches!(e.kind(), ErrorKind::Refused { .. }))
}

#[test]
fn no_more_releases_than_were_paid_for() {
    let scope = scope("a", Adjacency::AddRemove);
    let mut paid = paid(&scope, &[event(100, 1), event(50, 2)]);
    for expected in [100, 50, 50] {
        assert_eq!(paid.permit::<GaussianCharge>().unwrap().charge().sensitivity(), expected);
    }
    assert!(refused(paid.permit::<GaussianCharge>()));
}

#[test]
fn a_query_that_moves_further_than_paid_for_is_refused() {
    let bound = 1u64 << 25;
    for (adjacency, moves) in [(Adjacency::AddRemove, bound), (Adjacency::ReplaceOne, 2 * bound)] {
        let scope = scope("a", adjacency);
        let data = PrivateDataset::new(rows(40), scope.clone());
        let weights = Array1::from(vec![0.1, -0.2, 0.0, 0.1, 0.2, 0.3]);
        let gradient = Gradient { loss: Glm::Logistic.into(), weights: &weights, label_scale: 1.0, clip_norm: 1.0 };
        let clipped = data.clipped(bound).unwrap();
        for (paid_for, fits) in [(moves, true), (moves + 1, true), (moves - 1, false)] {
            let permit = paid(&scope, &[event(paid_for, 1)]).permit::<GaussianCharge>().unwrap();
            let released = permit.release(clipped.gradient_sum(&gradient).unwrap());
            assert_eq!(released.is_ok(), fits, "{adjacency} {paid_for}");
        }
    }
}

#[test]
fn a_permit_of_another_data_set_or_relation_is_refused() {
    let data = PrivateDataset::new(rows(3), scope("a", Adjacency::AddRemove));
    let weights = MomentWeights { count: 1, ..MomentWeights::default() };
    for other in [scope("b", Adjacency::AddRemove), scope("a", Adjacency::ReplaceOne)] {
        let permit = paid(&other, &[event(1 << 40, 1)]).permit::<GaussianCharge>().unwrap();
        assert!(refused(permit.release(data.moments(&weights).unwrap())));
    }
}

#[test]
fn noise_differs_between_releases_and_between_runs() {
    let scope = scope("a", Adjacency::AddRemove);
    let data = PrivateDataset::new(rows(3), scope.clone());
    let weights = MomentWeights { count: 1, ..MomentWeights::default() };
    let mut seen = std::collections::HashSet::new();
    for _ in 0..2 {
        let plan = [event(1 << 20, 50)];
        let mut paid =
            charge_run(&mut Ledger::in_memory().unwrap(), &scope, &plan, NoiseSource::from_os().unwrap()).unwrap();
        for _ in 0..50 {
            let released = paid.permit::<GaussianCharge>().unwrap().release(data.moments(&weights).unwrap()).unwrap();
            assert!(seen.insert(released.values().to_vec()), "the same noise twice");
        }
    }
}

#[test]
fn the_charge_stands_before_the_first_permit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("l.sqlite");
    let scope = scope("a", Adjacency::AddRemove);
    let plan = [event(1 << 20, 4)];
    let mut ledger = Ledger::open_or_create(&path).unwrap();
    let paid = charge_run(&mut ledger, &scope, &plan, NoiseSource::from_os().unwrap()).unwrap();
    let spent = Ledger::open_existing(&path).unwrap().summary(&scope.dataset).unwrap().spent;
    assert_eq!(spent, Rho::from_f64(2.0).unwrap());
    drop(paid);
    let spent = Ledger::open_existing(&path).unwrap().summary(&scope.dataset).unwrap().spent;
    assert_eq!(spent, Rho::from_f64(2.0).unwrap(), "dropping a paid run refunds nothing");
}

/// The release of D and of its neighbour, under the same recorded noise, differ by the row alone.
#[test]
fn moments_of_neighbours_differ_by_at_most_the_stated_sensitivity() {
    let shape = Shape::new(2, &[3]);
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        let scope = scope("a", adjacency);
        let weights =
            MomentWeights { count: 77, features: 5, squares: 9, label: 3, label_square: 11, shares: 0, sizes: 0 };
        let sensitivity = query::Moments { weights, columns: 2 }.sensitivity(adjacency);
        let release = |rows: Rows| {
            let data = PrivateDataset::new(rows, scope.clone());
            paid(&scope, &[event(sensitivity, 1)])
                .permit::<GaussianCharge>()
                .unwrap()
                .release(data.moments(&weights).unwrap())
                .unwrap()
        };
        let build = |extra: &[[i16; 3]]| {
            let mut builder = RowsBuilder::new(shape.clone());
            for &[a, b, label] in [[5, -9, 1], [i16::MAX, 0, 0]].iter().chain(extra) {
                builder.push(&RawRow { numeric: vec![a, b], codes: vec![0], label, null: false });
            }
            builder.build()
        };
        let mut largest = 0;
        for a in [i16::MIN, -20_000, 0, 1, i16::MAX] {
            for b in [i16::MIN, 3, i16::MAX] {
                for label in [i16::MIN, 0, 1, i16::MAX] {
                    let (before, after) = match adjacency {
                        Adjacency::AddRemove => (build(&[]), build(&[[a, b, label]])),
                        Adjacency::ReplaceOne => (build(&[[0, 0, 0]]), build(&[[a, b, label]])),
                    };
                    let (x, y) = (release(before), release(after));
                    let square: i128 = x.values().iter().zip(y.values()).map(|(p, q)| (p - q) * (p - q)).sum();
                    assert!(square <= i128::from(sensitivity) * i128::from(sensitivity));
                    largest = largest.max(square);
                }
            }
        }
        let bound = sensitivity as f64 / if adjacency == Adjacency::AddRemove { 1.0 } else { 2.0 };
        assert!((largest as f64).sqrt() > 0.99 * bound, "the extreme row uses the whole bound");
    }
}

/// A thousand steps on samples of one row in sixty-four, with a claim that the accountant confirms.
fn sampled(bound: u64) -> PoissonGaussianCharge {
    let sampled = event(bound, 3);
    let blank =
        PoissonGaussianCharge { sampled, exponent: 1 << 58, claim: Claim { epsilon: 1.0, delta: 1e-6, rho: 1.0 } };
    rhograd::accounting::claim::make(blank, Adjacency::AddRemove, Delta::new(1e-6).unwrap(), 1.0).unwrap()
}

#[test]
fn a_sampled_charge_opens_nothing_but_a_sampled_sum() {
    let scope = scope("a", Adjacency::AddRemove);
    let charge = Charge::PoissonGaussian(sampled(1 << 20));
    let mut both = paid_for(&scope, &[charge.clone(), event(1 << 20, 1).into()]);
    assert!(refused(both.permit::<GaussianCharge>()), "a sample was paid for");
    let mut both = paid_for(&scope, &[event(1 << 20, 1).into(), charge]);
    assert!(refused(both.permit::<PoissonGaussianCharge>()), "all rows were paid for");
}

#[test]
fn a_claim_that_is_too_low_is_refused_before_anything_is_charged() {
    let honest = sampled(1 << 20);
    let mut ledger = Ledger::in_memory().unwrap();
    let scope = scope("a", Adjacency::AddRemove);
    for lie in [
        PoissonGaussianCharge { exponent: honest.exponent * 2, ..honest.clone() },
        PoissonGaussianCharge { claim: Claim { rho: honest.claim.rho / 2.0, ..honest.claim }, ..honest.clone() },
        PoissonGaussianCharge { claim: Claim { delta: f64::NAN, ..honest.claim }, ..honest.clone() },
    ] {
        let noise = NoiseSource::insecure_from_seed(1);
        assert!(charge_run(&mut ledger, &scope, &[Charge::PoissonGaussian(lie)], noise).is_err());
        assert!(ledger.summary(&scope.dataset).is_err(), "nothing was charged");
    }
    charge_run(&mut ledger, &scope, &[Charge::PoissonGaussian(honest.clone())], NoiseSource::insecure_from_seed(1))
        .unwrap();
    let summary = ledger.summary(&scope.dataset).unwrap();
    assert_eq!(summary.spent, Rho::from_f64(honest.claim.rho).unwrap());
    assert_eq!(summary.spent_delta, 1e-6);
}

#[test]
fn permits_of_different_kinds_do_not_open_each_others_values() {
    let scope = scope("a", Adjacency::AddRemove);
    let data = PrivateDataset::new(rows(30), scope.clone());
    let weights = Array1::zeros(6);
    let gradient = Gradient { loss: Glm::Logistic.into(), weights: &weights, label_scale: 1.0, clip_norm: 1.0 };
    let bound = 100 * 32_767;
    let choice = |sensitivity: u64, candidates: u64| {
        let what = "vertex".into();
        Charge::Exponential(ExponentialCharge { what, sensitivity, log2_scale: 24, candidates, count: 1 })
    };
    for (charge, fits) in
        [(choice(2 * bound, 12), true), (choice(2 * bound - 1, 12), false), (choice(2 * bound, 11), false)]
    {
        let permit = paid_for(&scope, &[charge]).permit::<ExponentialCharge>().unwrap();
        let released = permit.choose(data.vertices(&gradient, 100).unwrap());
        assert_eq!(released.is_ok(), fits);
        if let Ok(released) = released {
            assert!(matches!(released.values(), [index] if (0..12).contains(index)), "an index and nothing else");
        }
    }
    assert!(refused(paid_for(&scope, &[choice(1, 1)]).permit::<GaussianCharge>()));
    assert!(refused(paid_for(&scope, &[choice(1, 1)]).permit::<PoissonGaussianCharge>()));
    assert!(refused(paid_for(&scope, &[choice(1, 1)]).permit::<ObjectiveCharge>()));
    assert!(refused(paid(&scope, &[event(1, 1)]).permit::<ExponentialCharge>()));
    assert!(refused(paid(&scope, &[event(1, 1)]).permit::<ObjectiveCharge>()));
}

#[test]
fn an_objective_that_is_more_curved_than_paid_for_is_refused() {
    let scope = scope("a", Adjacency::AddRemove);
    let data = PrivateDataset::new(rows(30), scope.clone());
    let row_bound = 2 * 32_767 * 4095;
    let curvature = Curvature { row_bound, regularization: row_bound >> 4, tolerance: 1 << 20 };
    let problem = Minimization { loss: BoundedLoss::Logistic, label_scale: 1.0, log2_margin: 64, curvature };
    let step = 1 << 50;
    let noise = problem.perturbation(step);
    let sensitivity = noise.sensitivity(Adjacency::AddRemove);
    let charge = |sensitivity: u64, curvature: f64| {
        let perturbed = GaussianCharge { log2_scale: 44, ..event(sensitivity, 1) };
        let blank = ObjectiveCharge { perturbed, curvature, claim: Claim { epsilon: 1.0, delta: 1e-6, rho: 1.0 } };
        let delta = Delta::new(1e-6).unwrap();
        Charge::Objective(rhograd::accounting::claim::make_objective(blank, Adjacency::AddRemove, delta).unwrap())
    };
    let ratio = noise.curvature_ratio();
    for (charge, problem, fits) in [
        (charge(sensitivity, ratio), problem, true),
        (charge(sensitivity - 1, ratio), problem, false),
        (charge(sensitivity, ratio * 0.999), problem, false),
        (charge(sensitivity, ratio), Minimization { loss: BoundedLoss::Huber, ..problem }, false),
        (charge(sensitivity, ratio), Minimization { log2_margin: 63, ..problem }, false),
    ] {
        let permit = paid_for(&scope, &[charge]).permit::<ObjectiveCharge>().unwrap();
        assert_eq!(permit.solve(&data, &problem, step).is_ok(), fits);
    }
    let other = PrivateDataset::new(rows(30), Scope { dataset: DatasetId::new("b").unwrap(), ..scope.clone() });
    let permit = paid_for(&scope, &[charge(sensitivity, ratio)]).permit::<ObjectiveCharge>().unwrap();
    assert!(permit.solve(&other, &problem, step).is_err());
}

/// Every row adds the same integer, so the sum over a sample counts its rows.
#[test]
fn samples_have_the_paid_rate_and_are_fresh_each_time() {
    let (count, bound) = (64_000, 1u64 << 27);
    let mut builder = RowsBuilder::new(Shape::new(0, &[]));
    let row = RawRow { numeric: vec![], codes: vec![], label: 0, null: false };
    (0..count).for_each(|_| builder.push(&row));
    let scope = scope("a", Adjacency::AddRemove);
    let data = PrivateDataset::new(builder.build(), scope.clone());
    for loss in [Glm::Logistic.into(), Objective::Softmax { classes: 2 }] {
        samples_are_fresh(&data, &scope, bound, loss, count);
    }
}

fn samples_are_fresh(data: &PrivateDataset, scope: &Scope, bound: u64, loss: Objective, count: u32) {
    let weights = Array1::zeros(loss.outputs());
    let gradient = Gradient { loss, weights: &weights, label_scale: 1.0, clip_norm: 1.0 };
    let clipped = data.clipped(bound).unwrap();
    let mut paid = paid_for(scope, &[Charge::PoissonGaussian(sampled(bound))]);
    let mut counts: Vec<f64> = (0..3)
        .map(|_| {
            paid.permit::<PoissonGaussianCharge>().unwrap().release(&clipped, &gradient).unwrap().values()[0] as f64
        })
        .map(|sum| sum.abs() / (bound as f64 / 2.0))
        .collect();
    let rate = 1.0 - (-1.0f64 / 64.0).exp();
    let expected = f64::from(count) * rate;
    for seen in &counts {
        // Each loss has a slope of one half in size at zero; five standard deviations of the count, 31.5 each.
        assert!((seen - expected).abs() < 160.0, "{seen} rows, {expected} expected");
    }
    counts.dedup_by(|a, b| (*a - *b).abs() < 0.5);
    assert!(counts.len() > 1, "the same sample every time");
}
