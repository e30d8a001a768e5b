//! Runs of every kind of charge, chosen at random, under caps of every kind that are raised and lowered in between.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::accounting::{claim, rdp, stable};
use crate::ledger::{Cap, DatasetSummary, Ledger};
use crate::privacy::{
    Adjacency, AllocatedGaussianCharge, Charge, Claim, DatasetId, Delta, Epsilon, ExponentialCharge, GaussianCharge,
    NoiseLaw, ObjectiveCharge, PoissonGaussianCharge, PrivateSelectionCharge, Rho, Scope, ThresholdCharge,
};

const SEQUENCES: u64 = 200;

fn delta(value: f64) -> Delta {
    Delta::new(value).unwrap()
}

fn gaussian(log2_sensitivity: u32, count: u64, noise: NoiseLaw) -> GaussianCharge {
    GaussianCharge { what: "sum".into(), sensitivity: (1 << log2_sensitivity) + 1, log2_scale: 30, noise, count }
}

/// Runs of every kind, as planners make them.
fn runs(adjacency: Adjacency) -> Vec<Vec<Charge>> {
    use NoiseLaw::{DiscreteGaussian, FlooredNormal};
    let blank = Claim { epsilon: 1.0, delta: 1e-6, rho: 1.0 };
    let normal = |k, count| gaussian(k, count, FlooredNormal);
    let mut runs: Vec<Vec<Charge>> = vec![
        vec![normal(25, 3).into()],
        vec![normal(27, 4).into(), normal(26, 1).into()],
        vec![normal(28, 1).into()],
        vec![gaussian(27, 2, DiscreteGaussian).into()],
    ];
    let selection = |sensitivity, count| {
        Charge::Exponential(ExponentialCharge {
            what: "choice".into(),
            sensitivity,
            log2_scale: 6,
            candidates: 9,
            count,
        })
    };
    runs.push(vec![selection(5, 8)]);
    runs.push(vec![selection(12, 1), normal(26, 2).into()]);
    for (at, exponent) in [(1e-8, 1u64 << 58), (4e-7, 1 << 57)] {
        let event = PoissonGaussianCharge { sampled: normal(29, 20), exponent, claim: blank };
        runs.push(vec![Charge::PoissonGaussian(claim::make(event, adjacency, delta(at), 0.3).unwrap())]);
        if adjacency == Adjacency::AddRemove {
            let event = AllocatedGaussianCharge { allocated: normal(28, 32), steps_of_pass: 16, claim: blank };
            runs.push(vec![claim::make_allocated(event, adjacency, delta(at), 0.3).unwrap().into()]);
        }
        let event = ObjectiveCharge { perturbed: normal(26, 1), curvature: 0.01, claim: blank };
        let objective = Charge::Objective(claim::make_objective(event, adjacency, delta(at)).unwrap());
        runs.push(vec![objective.clone()]);
        // As amp: with noise on the answer.
        runs.push(vec![objective, normal(25, 1).into()]);
        let event = PrivateSelectionCharge { what: "best".into(), rho: 0.001, stop: 1 << 30, claim: blank };
        runs.push(vec![Charge::PrivateSelection(claim::make_best_run(event, adjacency, delta(at)).unwrap())]);
        let threshold = stable::least_threshold(1 << 26, 30, delta(at / 4.0)).unwrap();
        let lifted = stable::lifted(1 << 26, threshold, 30);
        let event = ThresholdCharge { noised: normal(26, 3), row: 1 << 26, threshold, delta: lifted };
        runs.push(vec![event.into()]);
    }
    for run in &runs {
        run.iter().for_each(|charge| charge.check().unwrap());
    }
    runs
}

/// Delta at epsilon of rho-zCDP, by a scan of orders: the textbook formula, none of the accountant's code.
fn delta_of_zcdp(rho: f64, epsilon: f64) -> f64 {
    let at = |alpha: f64| {
        let ln = (alpha - 1.0) * (alpha * rho - epsilon) - (alpha - 1.0).ln() + alpha * (-1.0 / alpha).ln_1p();
        ln.exp()
    };
    (0..6000).map(|k| at(1.0 + 1e-3 * 1.003f64.powi(k))).fold(1.0, f64::min)
}

/// Delta at epsilon of a divergence at one order: the textbook formula.
fn delta_of_renyi(alpha: f64, divergence: f64, epsilon: f64) -> f64 {
    ((alpha - 1.0) * (divergence - epsilon) - (alpha - 1.0).ln() + alpha * (-1.0 / alpha).ln_1p()).exp()
}

/// Delta at epsilon of mu-Gaussian DP.
fn delta_of_gaussian(rho: f64, epsilon: f64) -> f64 {
    use statrs::distribution::{ContinuousCDF, Normal};
    let (mu, normal) = ((2.0 * rho).sqrt(), Normal::standard());
    if rho == 0.0 {
        return 0.0;
    }
    normal.cdf(mu / 2.0 - epsilon / mu) - epsilon.exp() * normal.cdf(-mu / 2.0 - epsilon / mu)
}

/// What the test itself knows of an account.
struct Known {
    scope: Scope,
    cap: Cap,
    charges: Vec<Charge>,
    raised: u64,
}

impl Known {
    fn rho(charges: &[Charge]) -> f64 {
        charges.iter().map(|charge| charge.rho().unwrap().upper()).sum()
    }

    fn delta(charges: &[Charge]) -> f64 {
        charges.iter().map(Charge::delta).sum()
    }

    /// The divergence at the order of the cap; infinite where there is none.
    fn at_order(&self, charges: &[Charge], order: f64) -> f64 {
        let one = |charge: &Charge| match charge {
            Charge::Threshold(_) => f64::INFINITY,
            Charge::Gaussian(_) | Charge::Exponential(_) => order * charge.rho().unwrap().upper(),
            _ => {
                let event = charge.event(self.scope.adjacency);
                rdp::curve(&event, self.scope.adjacency).unwrap().at(order).unwrap()
            }
        };
        charges.iter().map(one).sum()
    }

    /// By how much a list of charges uses the cap: up to 1 it is within.
    fn use_of(&self, charges: &[Charge]) -> f64 {
        if let Cap::Renyi { order, rho, .. } = &self.cap {
            return self.at_order(charges, *order) / (order * rho.rho().lower());
        }
        let (rho, fails) = (Self::rho(charges), Self::delta(charges));
        let share = |part: f64, whole: f64| if part == 0.0 { 0.0 } else { part / whole };
        let of_rho = share(rho, self.cap.most_rho().lower());
        let of_claims = self.cap.claims_delta().map_or(0.0, |most| share(fails, most));
        of_rho.max(of_claims)
    }

    /// All that was admitted keeps the epsilon and delta of the cap.
    fn check_promise(&self) {
        if let Cap::Renyi { order, rho, asked } = &self.cap {
            let divergence = self.at_order(&self.charges, *order);
            assert!(divergence <= order * rho.rho().upper() * (1.0 + 1e-9));
            if let Some(asked) = asked {
                let whole = delta_of_renyi(*order, divergence, asked.epsilon);
                assert!(whole <= asked.delta * (1.0 + 1e-7), "{whole:e} for {:?}", self.cap);
            }
            return;
        }
        let (rho, fails) = (Self::rho(&self.charges), Self::delta(&self.charges));
        let most = self.cap.most_rho().upper();
        assert!(rho <= most * (1.0 + 1e-12), "{rho} {most}");
        if let Some(claims) = self.cap.claims_delta() {
            assert!(fails <= claims * (1.0 + 1e-12), "{fails} {claims}");
        }
        if let Some(asked) = self.cap.asked() {
            let whole = match self.cap {
                Cap::Gaussian { .. } => {
                    assert!(self.charges.iter().all(Charge::is_gaussian));
                    delta_of_gaussian(rho, asked.epsilon)
                }
                _ => fails + delta_of_zcdp(rho, asked.epsilon),
            };
            assert!(whole <= asked.delta * (1.0 + 1e-9), "{whole:e} at epsilon {} for {:?}", asked.epsilon, self.cap);
        }
    }
}

fn random_cap(rng: &mut StdRng) -> Cap {
    let epsilon = Epsilon::new(10f64.powf(rng.random_range(-0.7..0.7))).unwrap();
    let delta = delta(10f64.powf(rng.random_range(-6.5..-5.0)));
    let share = *[None, Some(0.0), Some(0.1), Some(0.5), Some(0.9)].choose(rng).unwrap();
    let order = *[2.5, 9.0, 16.0, 30.0].choose(rng).unwrap();
    match rng.random_range(0..11) {
        6 => Cap::renyi(Epsilon::new(1.0).unwrap(), self::delta(1e-6), None).unwrap(),
        // Of few orders, for one ledger has no more than some dozens.
        7 => Cap::renyi(epsilon, delta, Some(order)).unwrap_or_else(|_| Cap::zcdp(epsilon, delta, None).unwrap()),
        8 => Cap::renyi_rho(&Rho::from_f64(rng.random_range(0.01..0.5)).unwrap(), order).unwrap(),
        0 => Cap::gaussian(epsilon, delta).unwrap(),
        1 => Cap::rho(&Rho::from_f64(rng.random_range(0.01..0.5)).unwrap(), delta.value()).unwrap(),
        _ => Cap::zcdp(epsilon, delta, share.map(|share| share * delta.value())).unwrap(),
    }
}

#[derive(Debug, Default)]
struct Seen {
    admitted: u64,
    over_rho: u64,
    over_delta: u64,
    not_gaussian: u64,
    no_divergence: u64,
    over_renyi: u64,
    renyi: u64,
    other_relation: u64,
    raised: u64,
    lowered: u64,
}

#[test]
fn two_hundred_random_sequences_stay_within_their_caps() {
    let pools = [Adjacency::AddRemove, Adjacency::ReplaceOne].map(|adjacency| (adjacency, runs(adjacency)));
    let mut ledger = Ledger::in_memory().unwrap();
    let mut seen = Seen::default();
    for seed in 0..SEQUENCES {
        let mut rng = StdRng::seed_from_u64(seed);
        let (adjacency, pool) = pools.choose(&mut rng).unwrap();
        let scope = Scope::of_rows(DatasetId::new(format!("sequence {seed}")).unwrap(), *adjacency);
        let cap = random_cap(&mut rng);
        ledger.init(&scope, Some(&cap)).unwrap();
        let mut known = Known { scope, cap, charges: Vec::new(), raised: 0 };
        for _ in 0..rng.random_range(5..40) {
            match rng.random_range(0..12) {
                0 => change_cap(&mut known, &mut ledger, random_cap(&mut rng), &mut seen),
                1 => {
                    let (other, pool) = pools.iter().find(|(it, _)| it != adjacency).unwrap();
                    let wrong = Scope { adjacency: *other, ..known.scope.clone() };
                    assert_refused(&mut ledger, &known, &wrong, pool.choose(&mut rng).unwrap());
                    seen.other_relation += 1;
                }
                _ => reserve(&mut known, &mut ledger, pool.choose(&mut rng).unwrap(), &mut seen),
            }
        }
        let summary = ledger.summary(&known.scope.dataset).unwrap();
        assert_eq!((summary.cap_raised, summary.cap.as_ref()), (known.raised, Some(&known.cap)));
    }
    println!("{seen:?}");
    let Seen { admitted, over_rho, over_delta, not_gaussian, other_relation, raised, lowered, .. } = seen;
    let Seen { no_divergence, over_renyi, renyi, .. } = seen;
    let least = [(admitted, 500), (over_rho, 300), (over_delta, 300), (not_gaussian, 30)];
    for (what, least) in least.into_iter().chain([(no_divergence, 50), (over_renyi, 100), (renyi, 100)]) {
        assert!(what >= least, "{what} of {least}");
    }
    assert!(other_relation > 100 && raised > 50 && lowered > 30);
    ledger.verify().unwrap();
}

fn change_cap(known: &mut Known, ledger: &mut Ledger, cap: Cap, seen: &mut Seen) {
    let set = ledger.set_cap(&known.scope.dataset, &cap);
    let fits = match cap {
        Cap::Gaussian { .. } => known.charges.iter().all(Charge::is_gaussian),
        Cap::Renyi { order, .. } => known.at_order(&known.charges, order).is_finite(),
        Cap::Rho { .. } | Cap::Zcdp { .. } => true,
    };
    assert_eq!(set.is_ok(), fits, "{set:?}");
    if fits {
        let raised = cap.raises(&known.cap);
        known.raised += u64::from(raised);
        (seen.raised, seen.lowered) = (seen.raised + u64::from(raised), seen.lowered + u64::from(!raised));
        known.cap = cap;
    }
}

fn reserve(known: &mut Known, ledger: &mut Ledger, run: &[Charge], seen: &mut Seen) {
    let together = [known.charges.as_slice(), run].concat();
    let gaussian = matches!(known.cap, Cap::Gaussian { .. }) && !run.iter().all(Charge::is_gaussian);
    let share = known.use_of(&together);
    // What is computed is recorded a little above itself under an order.
    let room = if known.cap.order().is_some() { 2e-6 } else { 1e-9 };
    if !gaussian && share <= 1.0 - room {
        ledger.reserve(&known.scope, run, true).unwrap();
        known.charges = together;
        known.check_promise();
        seen.admitted += 1;
        seen.renyi += u64::from(known.cap.order().is_some());
    } else if let Some(order) = known.cap.order() {
        if share > 1.0 + 1e-9 {
            let message = assert_refused(ledger, known, &known.scope.clone(), run);
            let finite = known.at_order(run, order).is_finite();
            assert_eq!(message.contains("none that is finite"), !finite, "{message}");
            (seen.no_divergence, seen.over_renyi) =
                (seen.no_divergence + u64::from(!finite), seen.over_renyi + u64::from(finite));
        }
    } else if gaussian || share > 1.0 + 1e-9 {
        let message = assert_refused(ledger, known, &known.scope.clone(), run);
        let over_rho = Known::rho(&together) > known.cap.most_rho().upper();
        seen.not_gaussian += u64::from(gaussian);
        seen.over_rho += u64::from(!gaussian && over_rho);
        seen.over_delta += u64::from(!gaussian && !over_rho);
        assert!(message.contains("left of its"), "{message}");
    }
}

/// A refusal leaves no entry, and changes no account.
fn assert_refused(ledger: &mut Ledger, known: &Known, scope: &Scope, run: &[Charge]) -> String {
    let state = |ledger: &mut Ledger| -> DatasetSummary { ledger.summary(&known.scope.dataset).unwrap() };
    let before = state(ledger);
    let message = ledger.reserve(scope, run, true).unwrap_err().to_string();
    assert!(message.starts_with("refused: "), "{message}");
    assert_eq!(state(ledger), before);
    message
}

#[test]
fn a_sampled_run_counts_by_its_own_divergence() {
    // (1, 1e-6) all at once: the claim of such a run would take 28 times the rho of a cap in zCDP.
    let (epsilon, whole) = (Epsilon::new(1.0).unwrap(), delta(1e-6));
    let scope = Scope::of_rows(DatasetId::new("d").unwrap(), Adjacency::AddRemove);
    let sampled = GaussianCharge { sensitivity: 13 << 24, ..gaussian(28, 1000, NoiseLaw::FlooredNormal) };
    let blank = Claim { epsilon: 1.0, delta: 1e-6, rho: 1.0 };
    // A noise multiplier of 64/13 and a rate of 1 - exp(-1/32).
    let event = PoissonGaussianCharge { sampled, exponent: 1 << 59, claim: blank };
    let run = [Charge::PoissonGaussian(claim::make(event, scope.adjacency, whole, 1.0).unwrap())];
    let mut capped = Ledger::in_memory().unwrap();
    capped.init(&scope, Some(&Cap::zcdp(epsilon, whole, None).unwrap())).unwrap();
    assert!(capped.reserve(&scope, &run, true).is_err());
    let cap = Cap::renyi(epsilon, whole, Some(22.0)).unwrap();
    let mut ledger = Ledger::in_memory().unwrap();
    ledger.init(&scope, Some(&cap)).unwrap();
    ledger.reserve(&scope, &run, true).unwrap();
    // The sum over how often a row is drawn, which is exact for whole orders.
    let (q, z, a) = (-(-1.0f64 / 32.0).exp_m1(), 64.0f64 / 13.0, 22u32);
    let binomial = |k: u32| (0..k).fold(1.0, |product, i| product * f64::from(a - i) / f64::from(i + 1));
    let term = |k: u32| {
        let power = f64::from(k) * (f64::from(k) - 1.0) / (2.0 * z * z);
        binomial(k) * (1.0 - q).powi((a - k) as i32) * q.powi(k as i32) * power.exp_m1()
    };
    let divergence = 1000.0 * (0..=a).map(term).sum::<f64>().ln_1p() / f64::from(a - 1);
    let spent = ledger.summary(&scope.dataset).unwrap().spent_at_order.unwrap().upper() * 22.0;
    assert!(spent >= divergence && spent <= divergence * (1.0 + 3e-6), "{spent} {divergence}");
    // What is spent counts again when the order changes, and an order too large for the run admits none.
    ledger.set_cap(&scope.dataset, &Cap::renyi(epsilon, whole, Some(15.0)).unwrap()).unwrap();
    let fewer = ledger.summary(&scope.dataset).unwrap().spent_at_order.unwrap().upper() * 15.0;
    assert!(fewer < spent && fewer > 0.5 * spent, "{fewer} {spent}");
    ledger.set_cap(&scope.dataset, &Cap::zcdp(epsilon, whole, None).unwrap()).unwrap();
    assert_eq!(ledger.summary(&scope.dataset).unwrap().spent_at_order, None);
    ledger.verify().unwrap();
}

#[test]
fn deltas_fill_their_cap_exactly() {
    let part = 2f64.powi(-24);
    let noised = GaussianCharge { sensitivity: 1, log2_scale: 10, ..gaussian(1, 1, NoiseLaw::FlooredNormal) };
    let claim = |delta: f64| ThresholdCharge { noised: noised.clone(), row: 1, threshold: 1 << 14, delta };
    let mut ledger = Ledger::in_memory().unwrap();
    let scope = Scope::of_rows(DatasetId::new("d").unwrap(), Adjacency::AddRemove);
    // Seven parts and a bit in the last place of a double, which a sum of doubles would lose.
    let tiny = 2f64.powi(-74);
    ledger.init(&scope, Some(&Cap::rho(&Rho::from_f64(1.0).unwrap(), 7.0 * part).unwrap())).unwrap();
    for _ in 0..6 {
        ledger.reserve(&scope, &[claim(part)], true).unwrap();
    }
    ledger.reserve(&scope, &[claim(part - tiny)], true).unwrap();
    assert_eq!(ledger.summary(&scope.dataset).unwrap().left_delta, Some(tiny));
    assert!(ledger.reserve(&scope, &[claim(2.0 * tiny)], true).is_err());
    ledger.reserve(&scope, &[claim(tiny)], true).unwrap();
    assert_eq!(ledger.summary(&scope.dataset).unwrap().left_delta, Some(0.0));
    assert!(ledger.reserve(&scope, &[claim(1e-50)], true).unwrap_err().to_string().contains("for claims"));
    ledger.reserve(&scope, &[noised], true).unwrap();
}
