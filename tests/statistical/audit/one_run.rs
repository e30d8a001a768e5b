//! Audits by a single run: what canaries show is within the claim, and both planted faults are seen for what they are.

use rhograd::audit::{Fault, OneRun, OneRunFinding};
use rhograd::optim::Settings;
use rhograd::privacy::{Adjacency, Delta, Rho};
use rhograd::train::{Algorithm, Budget, ModelKind, TrainConfig};

use super::case::{BOTH, MISS};

/// mu of the runs: relative errors of the noise are cheapest to find where it is large.
const MU: f64 = 4.0;

const CANARIES: usize = 1400;

/// Runs of an honest trainer that are judged in the regular suite; each is refuted, or found not to show its claim, with a
/// probability of at most `2 MISS`.
pub const RUNS: usize = 6;

fn audit(adjacency: Adjacency, algorithm: Algorithm, model: ModelKind) -> OneRun {
    let budget = Budget::Rho(Rho::from_f64(MU * MU / 2.0).unwrap(), Some(Delta::new(1e-6).unwrap()));
    let config = TrainConfig { adjacency, algorithm, model: Some(model), ..TrainConfig::new(budget) };
    OneRun { config, unit: None, fault: 0.8, canaries: CANARIES, confidence: 1.0 - MISS, seed: 1 }
}

/// Within five standard errors of a deviation, or of a difference of means.
fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 0.09
}

fn check(finding: &OneRunFinding, name: &str) {
    assert!(!finding.refuted(), "{name}: the claim is refuted: {:?}", finding.honest.mu);
    assert!(finding.powerful(), "{name}: {:?} {:?}", finding.honest.mu, finding.faulty);
    assert!(finding.share > 0.985 && finding.share < 1.0 && (finding.mu - MU).abs() < 1e-3);
    let own = &finding.honest;
    assert!(near(own.signal, finding.share) && near(own.noise, 1.0), "{name}: {} {}", own.signal, own.noise);
    let [(noise, quiet), (clip, wide)] = finding.faulty.as_slice() else { panic!("two faults are planted") };
    assert!(matches!(noise, Fault::Noise(x) if (x / 0.8 - 1.0).abs() < 1e-3), "{name}: {noise:?}");
    assert!(matches!(clip, Fault::Clip(x) if (x / 1.25 - 1.0).abs() < 1e-3), "{name}: {clip:?}");
    assert!(near(quiet.signal, finding.share) && near(quiet.noise, 0.8), "{name}: {} {}", quiet.signal, quiet.noise);
    assert!(near(wide.signal, 1.25 * finding.share) && near(wide.noise, 1.0), "{name}: {} {}", wide.signal, wide.noise);
    assert!(own.epsilon > 2.0 && own.epsilon < finding.guess_epsilon.value(), "{name}: {}", own.epsilon);
}

#[test]
fn one_run_keeps_its_claim_and_shows_both_faults() {
    let mut runs = 0;
    for adjacency in BOTH {
        for (algorithm, model) in [
            (Algorithm::Auto, ModelKind::Logistic),
            (Algorithm::DpGd, ModelKind::Linear),
            (Algorithm::DpGdTheory, ModelKind::Logistic),
        ] {
            let audit = audit(adjacency, algorithm, model);
            check(&audit.run(|_| ()).unwrap(), &format!("{} {adjacency}", algorithm.name()));
            runs += 1;
        }
    }
    assert_eq!(runs, RUNS);
}

#[test]
fn canaries_that_fit_the_clip_show_nothing() {
    // Rows have a norm of 11.4 and slopes of a half, so a clip of 20 leaves gradients as they are.
    let mut audit = audit(Adjacency::AddRemove, Algorithm::DpGd, ModelKind::Logistic);
    audit.config.settings = Settings { clip: Some(20.0), ..Settings::default() };
    let finding = audit.run(|_| ()).unwrap();
    assert!(!finding.refuted() && !finding.saturated() && !finding.powerful());
    assert!(near(finding.honest.signal, 0.5 * 128f64.sqrt() / 20.0), "{}", finding.honest.signal);
}

#[test]
fn a_guess_needs_a_secret() {
    // So much noise that scores say nothing: half of the guesses are right, and no bound is above zero.
    let mut audit = audit(Adjacency::ReplaceOne, Algorithm::DpGd, ModelKind::Logistic);
    audit.config.budget = Budget::Rho(Rho::from_f64(1e-6).unwrap(), Some(Delta::new(1e-6).unwrap()));
    let finding = audit.run(|_| ()).unwrap();
    assert!(finding.honest.epsilon == 0.0 && finding.honest.mu.lower < 0.0 && !finding.powerful());
}

#[test]
fn algorithms_in_which_canaries_meet_are_refused() {
    for algorithm in Algorithm::ALL {
        let fits = (algorithm.description().audit)(Adjacency::ReplaceOne).one_run.is_none();
        let audit = OneRun { canaries: 50, ..audit(Adjacency::ReplaceOne, algorithm, ModelKind::Logistic) };
        if !fits {
            let text = audit.run(|_| ()).unwrap_err().to_string();
            assert!(text.contains("--one-run") && text.contains(algorithm.name()), "{text}");
        }
    }
    let mut moments = audit(Adjacency::AddRemove, Algorithm::DpGd, ModelKind::Logistic);
    moments.config.standardize = Some(true);
    let text = moments.run(|_| ()).unwrap_err().to_string();
    assert!(text.contains("clipped sums over all rows"), "{text}");
}

#[test]
#[ignore = "prints the power table of docs/audit.md; a minute in the release profile"]
fn power() {
    println!("| canaries | relation | runs | refuted, honest | found, noise times | found, clip times |");
    println!("|---|---|---|---|---|---|");
    for (canaries, fault, runs) in [(600, 0.8, 300), (9000, 0.95, 20)] {
        for adjacency in BOTH {
            let base = audit(adjacency, Algorithm::DpGd, ModelKind::Logistic);
            let base = OneRun { canaries, fault, confidence: 0.998, ..base };
            let mut counts = [0; 3];
            for seed in 1..=runs {
                let finding = OneRun { seed, ..base.clone() }.run(|_| ()).unwrap();
                let found = |index: usize| finding.above(&finding.faulty[index].1);
                let seen = [finding.refuted() || !finding.saturated(), found(0), found(1)];
                counts.iter_mut().zip(seen).for_each(|(count, seen)| *count += u32::from(seen));
            }
            let [refuted, noise, clip] = counts;
            println!(
                "| {canaries} | {adjacency} | {runs} | {refuted} | {fault}: {noise} | {:.3}: {clip} |",
                1.0 / fault
            );
        }
    }
}
