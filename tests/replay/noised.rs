//! Releases of rows that count for nothing: what every kind of permit opens is then the noise of its stream, to the last bit
//! and in every coordinate, and what a pass does with it is known.

use ndarray::Array1;
use rhograd::grid::{MomentWeights, Shape};
use rhograd::kernel::{RawRow, RowsBuilder};
use rhograd::ledger::Ledger;
use rhograd::loss::{BoundedLoss, Curved, Glm, Objective};
use rhograd::noise::{NoiseSource, integer_noise};
use rhograd::privacy::{
    Adjacency, Charge, Claim, DatasetId, Delta, GaussianCharge, L2, NoiseLaw, ObjectiveCharge, PoissonGaussianCharge,
    Scope,
};
use rhograd::private::{
    Curvature, DescribeQuery, Gradient, Minimization, PassPlan, PhasePlan, PrefixPasses, PrivateDataset, Sensitive,
    charge_run, prefix_coefficients, query,
};

use crate::invariants::coordinates::every_coordinate;

const SEED: u64 = 91;

const ROWS: u64 = 40;

const DIMENSION: usize = 6;

/// Two numbers, a category of three values and the intercept, in rows that are no records.
fn nothing(adjacency: Adjacency) -> PrivateDataset {
    let mut builder = RowsBuilder::new(Shape::new(2, &[3]));
    for i in 0..ROWS as i16 {
        builder.push(&RawRow { numeric: vec![300 * i, -i], codes: vec![i as u16 % 4], label: i, null: true });
    }
    PrivateDataset::new(builder.build(), Scope::of_rows(DatasetId::new("a").unwrap(), adjacency))
}

fn event(sensitivity: u64, noise: NoiseLaw) -> GaussianCharge {
    GaussianCharge { what: "trial".into(), sensitivity, log2_scale: 35, noise, count: 2 }
}

fn paid(data: &PrivateDataset, charge: Charge) -> rhograd::private::ChargedRun {
    let source = NoiseSource::insecure_from_seed(SEED);
    charge_run(&mut Ledger::in_memory().unwrap(), data.scope(), &[charge], source).unwrap()
}

fn noise(law: NoiseLaw, len: usize, release: u32) -> Vec<i128> {
    let source = NoiseSource::insecure_from_seed(SEED);
    integer_noise(law, 35, len, &source, release).unwrap().into_iter().map(i128::from).collect()
}

#[track_caller]
fn is_noise(found: &[i128], law: NoiseLaw, release: u32) {
    every_coordinate(found, &noise(law, found.len(), release), |index, found, noise| {
        assert_eq!(found, noise, "coordinate {index} of release {release}");
    });
}

fn gradient(loss: Objective, weights: &Array1<f64>) -> Gradient<'_> {
    Gradient { loss, weights, label_scale: 1.0, clip_norm: 1.0 }
}

/// A question whose answer is opened by a permit.
type Ask<'a> = dyn Fn(&PrivateDataset) -> Sensitive<L2> + 'a;

#[test]
fn sums_are_opened_with_the_noise_of_their_stream() {
    let weights = Array1::from(vec![0.2; DIMENSION]);
    let moments = MomentWeights { count: 5, features: 4, squares: 3, label: 2, label_square: 1, shares: 0, sizes: 0 };
    let asks: [&Ask<'_>; 4] = [
        &|data| data.moments(&moments).unwrap(),
        &|data| data.gram(1 << 20, 100).unwrap(),
        &|data| data.hessian(Curved::Logistic, &weights, 1 << 20, 100).unwrap(),
        &|data| data.clipped(1 << 25).unwrap().gradient_sum(&gradient(Glm::Logistic.into(), &weights)).unwrap(),
    ];
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        for law in [NoiseLaw::FlooredNormal, NoiseLaw::DiscreteGaussian] {
            for ask in asks {
                let data = nothing(adjacency);
                let mut paid = paid(&data, event(1 << 40, law).into());
                for release in 0..2 {
                    is_noise(
                        paid.permit::<GaussianCharge>().unwrap().release(ask(&data)).unwrap().values(),
                        law,
                        release,
                    );
                }
            }
        }
    }
}

#[test]
fn a_sampled_sum_is_opened_with_the_noise_of_its_stream() {
    let weights = Array1::from(vec![0.2; DIMENSION]);
    let data = nothing(Adjacency::AddRemove);
    let claim = Claim { epsilon: 20.0, delta: 1e-6, rho: 20.0 };
    let charge = PoissonGaussianCharge { sampled: event(1 << 30, NoiseLaw::FlooredNormal), exponent: 1 << 63, claim };
    let mut paid = paid(&data, Charge::PoissonGaussian(charge));
    let clipped = data.clipped(1 << 30).unwrap();
    for release in 0..2 {
        let released = paid
            .permit::<PoissonGaussianCharge>()
            .unwrap()
            .release(&clipped, &gradient(Glm::Logistic.into(), &weights));
        is_noise(released.unwrap().values(), NoiseLaw::FlooredNormal, release);
    }
}

#[test]
fn prefix_sums_are_opened_with_the_noise_of_their_stream() {
    const BATCHES: u32 = 5;
    let weights = Array1::from(vec![0.2; DIMENSION]);
    let query = query::PrefixSums { clip_steps: 1 << 20, batches: BATCHES };
    let asked = gradient(Glm::Logistic.into(), &weights);
    assert_eq!(prefix_coefficients(BATCHES).len(), BATCHES as usize);
    for law in [NoiseLaw::FlooredNormal, NoiseLaw::DiscreteGaussian] {
        let data = nothing(Adjacency::AddRemove);
        let mut paid = paid(&data, event(1 << 45, law).into());
        let permits = vec![paid.permit::<GaussianCharge>().unwrap(), paid.permit().unwrap()];
        let mut passes = PrefixPasses::open(permits, &data, query).unwrap();
        (0..2 * BATCHES).for_each(|_| assert_eq!(passes.next(&asked).unwrap().len(), DIMENSION));
        for (release, released) in (0..2).zip(passes.finish()) {
            assert_eq!(released.values().len(), DIMENSION * BATCHES as usize);
            is_noise(released.values(), law, release);
        }
    }
    // Coins come from other streams than noise.
    let data = nothing(Adjacency::AddRemove);
    let moves = query.sensitivity(Adjacency::AddRemove);
    let sampled = event(moves, NoiseLaw::FlooredNormal);
    let claim = Claim { epsilon: 1.0, delta: 0.5, rho: 1.0 };
    let mut paid = paid(&data, PoissonGaussianCharge { sampled, exponent: u64::MAX / 3, claim }.into());
    let permits = vec![paid.permit::<PoissonGaussianCharge>().unwrap(), paid.permit().unwrap()];
    let mut passes = PrefixPasses::open(permits, &data, query).unwrap();
    (0..2 * BATCHES).for_each(|_| assert_eq!(passes.next(&asked).unwrap().len(), DIMENSION));
    (0..2).zip(passes.finish()).for_each(|(release, it)| is_noise(it.values(), NoiseLaw::FlooredNormal, release));
}

#[test]
fn phases_are_opened_with_the_noise_of_their_stream() {
    let plan = PhasePlan { lipschitz: 1 << 44, shift: 6, rows: ROWS, dimension: DIMENSION, max_phases: 8 };
    let data = nothing(Adjacency::ReplaceOne);
    let mut paid = paid(&data, event(plan.sensitivity(), NoiseLaw::FlooredNormal).into());
    let start: Vec<i64> = (0..DIMENSION as i64).map(|j| (j - 2) << 40).collect();
    for release in 0..2 {
        let mut phases = paid.permit::<GaussianCharge>().unwrap().phases(&data, plan, Curved::Logistic, 1.0).unwrap();
        while phases.next(&start).is_ok() {}
        let released = phases.finish();
        // Nobody moves the iterate, so the mean is the start, on the finer grid of each phase.
        let means = (0..plan.phases()).flat_map(|phase| start.iter().map(move |w| i128::from(*w) << (2 * phase)));
        let left: Vec<i128> = released.values().iter().zip(means).map(|(value, mean)| value - mean).collect();
        assert_eq!(left.len(), DIMENSION * plan.phases() as usize);
        is_noise(&left, NoiseLaw::FlooredNormal, release);
    }
}

#[test]
fn the_last_iterate_of_a_pass_is_all_of_its_noise() {
    let plan = PassPlan::largest(1 << 44, 6, ROWS, DIMENSION, 4);
    let data = nothing(Adjacency::ReplaceOne);
    for law in [NoiseLaw::FlooredNormal, NoiseLaw::DiscreteGaussian] {
        let mut paid = paid(&data, event(plan.sensitivity(), law).into());
        for release in 0..2 {
            let released =
                paid.permit::<GaussianCharge>().unwrap().one_pass(&data, plan, Curved::Logistic, 1.0).unwrap();
            // Far from the walls of the box, the steps add up.
            let all = noise(law, 4 * DIMENSION, release);
            let sum: Vec<i128> = (0..DIMENSION).map(|j| all.iter().skip(j).step_by(DIMENSION).sum::<i128>()).collect();
            every_coordinate(released.values(), &sum, |index, found, expected| {
                assert_eq!(found, expected, "coordinate {index}");
            });
        }
    }
}

/// Without rows the minimiser is the noise, turned round and divided by the penalty.
#[test]
fn a_perturbed_objective_has_its_noise_in_every_coordinate() {
    let row_bound = 2 * 32_767 * 4095;
    let curvature = Curvature { row_bound, regularization: row_bound >> 4, tolerance: 1 << 20 };
    let problem = Minimization { loss: BoundedLoss::Logistic, label_scale: 1.0, log2_margin: 64, curvature };
    let data = nothing(Adjacency::AddRemove);
    let step = 1u64 << 50;
    let sensitivity = problem.perturbation(step).sensitivity(Adjacency::AddRemove);
    let perturbed = GaussianCharge { log2_scale: 44, count: 1, ..event(sensitivity, NoiseLaw::FlooredNormal) };
    let ratio = problem.perturbation(step).curvature_ratio();
    let blank = ObjectiveCharge { perturbed, curvature: ratio, claim: Claim { epsilon: 1.0, delta: 1e-6, rho: 1.0 } };
    let delta = Delta::new(1e-6).unwrap();
    let event = rhograd::accounting::claim::make_objective(blank, Adjacency::AddRemove, delta).unwrap();
    let spread = query::PerturbedMinimizer { curvature, dimension: DIMENSION };
    let after = GaussianCharge {
        what: "answer".into(),
        sensitivity: spread.sensitivity(Adjacency::AddRemove),
        log2_scale: 20,
        noise: NoiseLaw::FlooredNormal,
        count: 1,
    };
    let source = || NoiseSource::insecure_from_seed(SEED);
    let charges = [Charge::Objective(event), after.into()];
    let mut paid = charge_run(&mut Ledger::in_memory().unwrap(), data.scope(), &charges, source()).unwrap();
    let (answer, _) = paid.permit::<ObjectiveCharge>().unwrap().solve(&data, &problem, step).unwrap();
    let released = paid.permit::<GaussianCharge>().unwrap().release(answer).unwrap();
    let noise = integer_noise(NoiseLaw::FlooredNormal, 44, DIMENSION, &source(), 0).unwrap();
    let cover = integer_noise(NoiseLaw::FlooredNormal, 20, DIMENSION, &source(), 1).unwrap();
    let lambda = (row_bound >> 4) as f64 / 2f64.powi(30);
    let expected: Vec<i128> = noise
        .iter()
        .zip(cover)
        .map(|(b, cover)| (-(*b as f64) * 2f64.powi(50 - 62) / lambda) as i128 + i128::from(cover))
        .collect();
    every_coordinate(released.values(), &expected, |index, found, expected| {
        // What the solver leaves is far below the noise of 2^32 / lambda on each coordinate.
        assert!((found - expected).abs() <= 1 << 20, "coordinate {index}: {found} is not {expected}");
        assert!((expected.abs() as f64) > 2f64.powi(24), "coordinate {index} has noise that could be missed");
    });
}
