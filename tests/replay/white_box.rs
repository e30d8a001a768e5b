//! Noise alone: a table without rows has sums of zero, so that what a run releases is its noise.
//!
//! False alarms: two checks of scale and one of coordinates for each law, at `1e-6` each, under a fixed seed. Power: 24,000 and
//! more numbers show noise of 0.95 of its scale but for a probability below `1e-8`.

use std::path::Path;

use rhograd::data::Schema;
use rhograd::noise::NoiseSource;
use rhograd::optim::Settings;
use rhograd::privacy::{Charge, Delta, NoiseLaw, Rho};
use rhograd::train::{Algorithm, Budget, TrainConfig};

use crate::invariants::neighbours::Table;
use crate::invariants::noise::{every_coordinate_has_noise, has_scale, nothing_repeats};
use crate::recorder::{Case, Recording, train, values};

/// Gradient descent on a column of 1,200 categories.
fn case(noise: NoiseLaw) -> Case {
    let values: Vec<String> = (0..1200).map(|i| format!("v{i}")).collect();
    let text = format!(
        r#"{{"name":"trial","task":"classification","target":"y","positive":"yes","rows":1000,
        "columns":{{"c":{{"type":"categorical","values":{values:?}}}}}}}"#
    );
    let schema = Schema::parse(&text, Path::new("trial.schema.json")).unwrap();
    let budget = Budget::Rho(Rho::from_f64(1.0).unwrap(), Some(Delta::new(1e-6).unwrap()));
    let settings = Settings { steps: Some(20), ..Settings::default() };
    let config = TrainConfig { algorithm: Algorithm::DpGd, noise, settings, ..TrainConfig::new(budget) };
    Case { name: "noise".into(), schema, config }
}

/// What was released, release by release.
fn released(recording: &Recording) -> Vec<Vec<i128>> {
    recording.kept.iter().skip(1).map(|line| values(line)).collect()
}

fn deviation(charge: &Charge) -> f64 {
    match charge {
        Charge::Gaussian(event) => 2f64.powi(event.log2_scale as i32),
        other => panic!("{other:?}"),
    }
}

#[test]
fn noise_that_passes_through_a_run_has_the_paid_scale() {
    for (seed, law) in [(1, NoiseLaw::FlooredNormal), (2, NoiseLaw::DiscreteGaussian)] {
        let recording = train(&case(law), &Table::of("", 0).bytes(), &[], None, NoiseSource::insecure_from_seed(seed));
        let scale = deviation(&recording.planned[0].charge);
        assert!(recording.planned.iter().all(|planned| deviation(&planned.charge) == scale));
        let releases = released(&recording);
        assert_eq!(releases.len(), 20);
        has_scale(releases.iter().flatten().copied(), scale).unwrap();
        every_coordinate_has_noise(&releases, scale).unwrap();
    }
}

#[test]
fn noise_is_new_in_every_release_run_and_continuation() {
    let fresh = || NoiseSource::from_os().unwrap();
    let case = case(NoiseLaw::FlooredNormal);
    let run = |before: &[String], stop| train(&case, &Table::of("", 0).bytes(), before, stop, fresh());
    // As far as it came, gone on with twice from the same place, and another run.
    let stopped = run(&[], Some(4));
    let mut lists = released(&stopped);
    assert_eq!(lists.len(), 4);
    for again in [run(&stopped.kept, None), run(&stopped.kept, None)] {
        let all = released(&again);
        assert_eq!(all[..4], lists[..4], "what was released stays");
        lists.extend(all.into_iter().skip(4));
    }
    lists.extend(released(&run(&[], None)));
    assert_eq!(lists.len(), 4 + 16 + 16 + 20);
    nothing_repeats(&lists).unwrap();
}
