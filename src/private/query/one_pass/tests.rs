//! What a pass costs, against plain recomputation, neighbouring data with the same noise, and an adversary.

use super::*;
use crate::grid::Shape;
use crate::kernel::{RawRow, Rows, RowsBuilder};
use crate::ledger::Ledger;
use crate::noise::NoiseSource;
use crate::privacy::{Adjacency, DatasetId, GaussianCharge, NoiseLaw, Scope};
use crate::private::charge_run;
use crate::statistics::evidence::{Counts, mu_lower};

/// The last iterate of a pass whose noise has the given scale and follows from the seed.
fn last_iterate(rows: Rows, plan: PassPlan, loss: Curved, scale: f64, log2_scale: u32, seed: u64) -> Vec<i128> {
    let scope = Scope::of_rows(DatasetId::new("a").unwrap(), Adjacency::ReplaceOne);
    let (sensitivity, noise) = (plan.sensitivity(), NoiseLaw::FlooredNormal);
    let event = GaussianCharge { what: "t".into(), sensitivity, log2_scale, noise, count: 1 };
    let data = PrivateDataset::new(rows, scope.clone());
    let source = NoiseSource::insecure_from_seed(seed);
    let mut paid = charge_run(&mut Ledger::in_memory().unwrap(), &scope, &[event], source).unwrap();
    paid.permit::<GaussianCharge>().unwrap().one_pass(&data, plan, loss, scale).unwrap().values().to_vec()
}

/// The positions in the order in which a pass with this seed meets them.
fn order(rows: usize, seed: u64) -> Vec<usize> {
    order_of(rows, &NoiseSource::insecure_from_seed(seed))
}

#[test]
fn batches_grow_and_use_every_row() {
    for (rows, steps) in [(0u64, 1u32), (1, 1), (7, 7), (1000, 1), (1000, 10), (1000, 400), (123_456, 5000)] {
        let plan = PassPlan::largest(1, 4, rows, 3, steps);
        let batches = plan.batches().unwrap();
        assert_eq!((batches.len(), batches.iter().sum::<u64>()), (steps as usize, rows));
        assert!(batches.iter().skip(1).is_sorted(), "{plan:?}");
        // What the first batch gets on top is what no larger plan could use.
        assert!(batches[0] <= plan.last / 2 + 2 * u64::from(steps) + 2 || steps < 4, "{plan:?}");
        for (j, &batch) in (1..).zip(batches.iter().rev()) {
            assert!(batch * batch * j >= plan.last * plan.last, "{plan:?}");
        }
        assert!(PassPlan { last: plan.last + 1, ..plan }.batches().is_none());
    }
}

#[test]
fn plans_that_no_planner_makes_cost_everything() {
    let good = PassPlan::largest(1 << 40, 4, 1000, 3, 10);
    good.check().unwrap();
    for bad in [
        PassPlan { steps: 0, ..good },
        PassPlan { steps: u32::MAX, ..good },
        PassPlan { steps: 11, ..good },
        PassPlan { last: u64::MAX, ..good },
        PassPlan { rows: 900, ..good },
        PassPlan { shift: 61, ..good },
        PassPlan { dimension: usize::MAX, ..good },
    ] {
        assert!(bad.check().is_err() && bad.sensitivity() == u64::MAX, "{bad:?}");
    }
    assert_eq!(PassPlan::largest(u64::MAX, 0, 1, 3, 1).sensitivity(), u64::MAX);
}

/// Whether runs that start `reach` apart have met if each step goes `path` towards the other: every step first adds
/// `rounding`, then its noise hides what it goes, and what is left is rounded once more.
fn meet(reach: f64, path: &[f64], rounding: f64, floor: f64) -> bool {
    let mut apart = reach;
    for (index, step) in path.iter().enumerate() {
        apart += rounding - step;
        if apart <= 1e-9 * reach {
            return true;
        }
        apart += if index + 1 < path.len() { floor } else { 0.0 };
    }
    false
}

/// The least sum of squares of any path of `steps` lengths on a grid that meets.
fn cheapest(reach: f64, steps: usize, rounding: f64, floor: f64) -> f64 {
    const CELLS: usize = 120;
    let total = reach + steps as f64 * rounding + (steps - 1) as f64 * floor;
    let mut best = f64::INFINITY;
    let mut path = vec![0.0; steps];
    for code in 0..(CELLS + 1).pow(steps as u32) {
        let mut rest = code;
        for step in &mut path {
            *step = (rest % (CELLS + 1)) as f64 * total / CELLS as f64;
            rest /= CELLS + 1;
        }
        let cost = path.iter().map(|a| a * a).sum();
        if cost < best && meet(reach, &path, rounding, floor) {
            best = cost;
        }
    }
    best
}

#[test]
fn a_pass_is_charged_what_the_best_schedule_for_the_worst_row_costs() {
    // Steps so short that rounding is a large part, and others.
    for (lipschitz, shift, dimension) in [(1u64 << 30, 20, 9), (1 << 45, 20, 3), (1 << 34, 22, 100)] {
        for (rows, steps) in [(100u64, 1u32), (40, 2), (1000, 3), (9, 3)] {
            let plan = PassPlan::largest(lipschitz, shift, rows, dimension, steps);
            let rounding = rounding(dimension, shift) as f64;
            let floor = (dimension as f64).sqrt().floor() + 1.0;
            let of = |(batch, left): (u64, usize)| {
                let reach = 2.0 * lipschitz as f64 / 2f64.powi(shift as i32) / batch as f64;
                cheapest(reach, left, rounding, floor)
            };
            let expected = plan.batches().unwrap().into_iter().rev().zip(1..).map(of).fold(0.0, f64::max);
            let charged = (plan.sensitivity() as f64).powi(2);
            assert!(charged >= expected * (1.0 - 1e-9), "{plan:?}: {charged} {expected}");
            let integers = 2.0 * 2.0 * charged.sqrt() + 4.0;
            assert!(charged <= expected * (1.0 + 1e-9) + integers, "{plan:?}: {charged} {expected}");
        }
    }
}

fn extreme(index: usize) -> RawRow {
    let cell = |k: usize| [i16::MIN, -20_000, -1, 0, 1, 30_000, i16::MAX][(index / k) % 7];
    let (numeric, codes) = (vec![cell(1), cell(7), cell(3)], vec![(index % 5) as u16]);
    RawRow { numeric, codes, label: cell(2), null: index.is_multiple_of(11) }
}

#[test]
fn a_replaced_row_moves_the_last_iterate_by_at_most_its_reach_and_rounding() {
    let build = |indices: &[usize]| {
        let mut builder = RowsBuilder::new(Shape::new(3, &[3]));
        indices.iter().for_each(|&index| builder.push(&extreme(index)));
        builder.build()
    };
    let plan = PassPlan::largest(3 << 44, 6, 60, 7, 9);
    let batches = plan.batches().unwrap();
    let ends: Vec<u64> = (1..=batches.len()).map(|steps| batches[..steps].iter().sum()).collect();
    let mut used = vec![0f64; batches.len()];
    for (loss, seed) in [(Curved::Logistic, 3), (Curved::Squared, 4), (Curved::Squared, 5)] {
        for (place, position) in order(60, seed).into_iter().enumerate() {
            let first: Vec<usize> = (0..60).map(|i| (i * 131 + place) % 700).collect();
            let mut second = first.clone();
            second[position] = (place * 37 + 5) % 700;
            let run = |indices: &[usize]| last_iterate(build(indices), plan, loss, 1e-4, 38, seed);
            let (a, b) = (run(&first), run(&second));
            let moved = a.iter().zip(&b).map(|(x, y)| ((x - y) as f64).powi(2)).sum::<f64>().sqrt();
            let step = ends.iter().position(|end| *end > place as u64).unwrap();
            let allowed = plan.apart(batches[step], (batches.len() - step) as u32) as f64;
            assert!(moved <= allowed, "{loss:?} {place}: {moved} of {allowed}");
            used[step] = used[step].max(moved / allowed);
        }
    }
    assert!(used.iter().all(|used| *used > 0.0) && used[8] > 0.3, "{used:?}");
}

/// Rows with nothing but the intercept, all with target 0 but one at `position` with a target far out.
fn intercepts(count: usize, position: usize, target: i16) -> Rows {
    let mut builder = RowsBuilder::new(Shape::new(0, &[]));
    for index in 0..count {
        let label = if index == position { target } else { 0 };
        builder.push(&RawRow { numeric: Vec::new(), codes: Vec::new(), label, null: false });
    }
    builder.build().recode(1 << 14, |_, q| q, |y| y)
}

/// A lower bound on mu from passes over intercepts, by an adversary who knows the order of the rows.
///
/// `place` is that of the replaced row in the order. At confidence `1 - 1e-6`.
fn shown(plan: PassPlan, log2_scale: u32, place: usize) -> f64 {
    const RUNS: u64 = 3000;
    let guessed = |target: i16, seed: u64| {
        let rows = intercepts(plan.rows as usize, order(plan.rows as usize, seed)[place], target);
        // Larger targets move iterates up, and everything is symmetric about zero.
        last_iterate(rows, plan, Curved::Squared, 1.0, log2_scale, seed)[0] > 0
    };
    let said = |target, seeds: std::ops::Range<u64>| seeds.filter(|seed| guessed(target, *seed)).count() as u64;
    let false_positives = said(-i16::MAX, 0..RUNS);
    let false_negatives = RUNS - said(i16::MAX, RUNS..2 * RUNS);
    let counts = Counts { false_positives, negatives: RUNS, false_negatives, positives: RUNS };
    mu_lower(counts, 1.0 - 1e-6).unwrap()
}

/// The charge is tight at both ends of a pass: for a row of the last batch if steps forget where they start, as only its own
/// noise hides it; for a row of the first if they keep it, as all noise adds up.
#[test]
fn noise_that_is_too_small_is_found_in_the_first_batch_and_in_the_last() {
    let rows = 29;
    for (shift, place) in [(4, rows - 1), (20, 0)] {
        let plan = |lipschitz| PassPlan { lipschitz, shift, rows: rows as u64, dimension: 1, steps: 4, last: 10 };
        assert_eq!(plan(1).batches().unwrap(), [5, 6, 8, 10]);
        // A mu of 3.
        let log2_scale = 44 - shift;
        let honest = plan((15.0 * 2f64.powi(44)) as u64);
        let mu = honest.sensitivity() as f64 / 2f64.powi(log2_scale as i32);
        assert!((mu - 3.0).abs() < 0.01, "{mu}");
        let proved = shown(honest, log2_scale, place);
        assert!(proved <= mu && proved > 2.4, "{place}: {proved}");
        // The same noise over a sensitivity that is larger by 1 / 0.8.
        let faulty = plan((15.0 / 0.8 * 2f64.powi(44)) as u64);
        let proved = shown(faulty, log2_scale, place);
        assert!(proved > mu, "{place}: noise times 0.8 goes unnoticed: {proved}");
    }
}

#[test]
fn passes_are_refused_for_other_rows_relations_or_prices() {
    let plan = PassPlan::largest(1 << 40, 4, 10, 1, 3);
    let open = |adjacency, rows: usize, sensitivity: u64| {
        let scope = Scope::of_rows(DatasetId::new("a").unwrap(), adjacency);
        let event =
            GaussianCharge { what: "t".into(), sensitivity, log2_scale: 30, noise: NoiseLaw::FlooredNormal, count: 1 };
        let data = PrivateDataset::new(intercepts(rows, 0, 1), scope.clone());
        let source = NoiseSource::insecure_from_seed(1);
        let mut paid = charge_run(&mut Ledger::in_memory().unwrap(), &scope, &[event], source).unwrap();
        paid.permit::<GaussianCharge>().unwrap().one_pass(&data, plan, Curved::Squared, 1.0).is_ok()
    };
    let price = plan.sensitivity();
    assert!(open(Adjacency::ReplaceOne, 10, price) && !open(Adjacency::ReplaceOne, 10, price - 1));
    assert!(!open(Adjacency::ReplaceOne, 11, price) && !open(Adjacency::AddRemove, 10, u64::MAX));
    assert_eq!(OnePass { plan }.sensitivity(Adjacency::AddRemove), u64::MAX);
}
