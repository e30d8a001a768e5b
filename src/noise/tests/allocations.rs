//! Rows that draw a step of a pass: each one, evenly, on its own, anew in each pass.

use crate::noise::{Allocation, NoiseSource};

/// The step of each row.
fn steps_of(pass: &Allocation, steps: u32, len: usize) -> Vec<u32> {
    let mut drawn = vec![u32::MAX; len];
    for step in 0..steps {
        assert!(pass.step(step).is_sorted());
        for &row in pass.step(step) {
            assert_eq!(drawn[row], u32::MAX, "row {row} joins two steps");
            drawn[row] = step;
        }
    }
    assert!(drawn.iter().all(|step| *step < steps), "a row joins no step");
    assert!(pass.step(steps).is_empty() && pass.step(u32::MAX).is_empty());
    drawn
}

#[test]
fn each_row_joins_one_step() {
    let source = NoiseSource::insecure_from_seed(1);
    for (steps, len) in [(2, 0), (2, 1), (3, 1000), (7, 5), (50, 20_000), (1 << 20, 40)] {
        steps_of(&Allocation::new(steps, len, &source, 3), steps, len);
    }
}

#[test]
fn steps_are_even_and_rows_independent() {
    let (steps, len, passes) = (6u32, 3000, 60);
    let source = NoiseSource::insecure_from_seed(7);
    let mut of_step = vec![0.0; steps as usize];
    // How often a row has the step of the row before it, and the step that it had in the pass before.
    let (mut neighbour, mut again) = (0.0, 0.0);
    let mut before: Option<Vec<u32>> = None;
    for pass in 0..passes {
        let drawn = steps_of(&Allocation::new(steps, len, &source, pass * steps), steps, len);
        drawn.iter().for_each(|step| of_step[*step as usize] += 1.0);
        neighbour += drawn.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64;
        again += before.iter().flatten().zip(&drawn).filter(|(a, b)| a == b).count() as f64;
        before = Some(drawn);
    }
    let even = |seen: f64, trials: f64| {
        let p = 1.0 / f64::from(steps);
        // Five standard deviations.
        assert!((seen - p * trials).abs() < 5.0 * (trials * p * (1.0 - p)).sqrt(), "{seen} of {trials}");
    };
    let rows = f64::from(passes) * len as f64;
    of_step.iter().for_each(|seen| even(*seen, rows));
    even(neighbour, rows - f64::from(passes));
    even(again, rows - len as f64);
}

#[test]
fn a_row_more_leaves_the_draws_of_those_before_it() {
    let source = NoiseSource::insecure_from_seed(2);
    let (few, more) = (Allocation::new(5, 900, &source, 4), Allocation::new(5, 901, &source, 4));
    assert_eq!(steps_of(&few, 5, 900), steps_of(&more, 5, 901)[..900]);
}
