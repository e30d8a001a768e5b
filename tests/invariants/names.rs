//! What a technique that tells which counts reach a bar must keep: no chosen answer is more likely on one of two neighbours than its
//! epsilon allows.
//!
//! False alarms: three attacks, each one-sided at [`LEVEL`].

use rhograd::noise::NoiseSource;
use rhograd::statistics::evidence::{Counts, epsilon_lower};

/// Probability of a false alarm of one attack.
pub const LEVEL: f64 = 1e-6;

/// Runs on each of two neighbours.
const TRIALS: u64 = 20_000;

/// Questions that stay below the bar at 0, their count, and the count of those that come after. On the neighbour the first rise by 1 and
/// the others fall by 1.
const ATTACKS: [(usize, i128, i128); 3] = [(4, -1, 1), (4, -2, 1), (1, 0, 1)];

/// Answers for counts that each move by at most 1 and a bar, with the noise of a source, in order; a technique that ends gives no more of them.
pub type Technique<'a> = &'a dyn Fn(&[i128], i128, &NoiseSource) -> Vec<bool>;

/// Whether the technique shows no more than epsilon.
///
/// # Errors
/// Names what it shows where that is more, or why it could not be asked.
pub fn keeps_epsilon(technique: Technique<'_>, epsilon: f64) -> Result<(), String> {
    for (below, low, high) in ATTACKS {
        // As many above as below: what goes on after an answer shows itself there.
        let counts = |moved: i128| -> Vec<i128> {
            (0..2 * below).map(|place| if place < below { low + moved } else { high - moved }).collect()
        };
        let seen = |moved: i128| {
            let counts = counts(moved);
            let expected = |seed: &u64| {
                let answers = technique(&counts, 0, &NoiseSource::insecure_from_seed(2 * seed + moved as u64));
                answers.len() > below && answers.iter().enumerate().all(|(place, above)| *above == (place >= below))
            };
            (0..TRIALS).filter(expected).count() as u64
        };
        let (here, there) = (seen(0), seen(1));
        let counts =
            Counts { false_positives: there, negatives: TRIALS, false_negatives: TRIALS - here, positives: TRIALS };
        let shown = epsilon_lower(counts, 0.0, 1.0 - LEVEL).map_err(|error| error.to_string())?.epsilon;
        if shown > epsilon {
            return Err(format!(
                "this shows an epsilon of {shown} in the place of {epsilon}: {here} and {there} answers"
            ));
        }
    }
    Ok(())
}
