//! Rows that draw one step of a pass, exactly evenly.

use rand::RngCore;

use super::sample::SAMPLE_BLOCK;
use super::source::{NoiseSource, NoiseStream};

/// Which rows join which step of a pass: each row one, drawn evenly and independently of all others.
///
/// # Privacy
/// Who joins which step is as secret as the noise; it must not leave the gate.
///
/// ```
/// use rhograd::noise::{Allocation, NoiseSource};
///
/// let source = NoiseSource::insecure_from_seed(1);
/// let pass = Allocation::new(4, 1000, &source, 0);
/// let all: usize = (0..4).map(|step| pass.step(step).len()).sum();
/// assert_eq!(all, 1000);
/// assert!(pass.step(3).is_sorted() && (180..320).contains(&pass.step(3).len()));
/// ```
pub struct Allocation {
    /// The rows of each step in order, step after step.
    rows: Vec<usize>,
    /// Where each step ends.
    ends: Vec<usize>,
}

impl Allocation {
    /// The pass of a source whose first release has this number.
    ///
    /// Each row takes words of the stream until one is accepted: the steps are the high word of `word * steps`, and the words for which
    /// the low word is among the `2^64 mod steps` least are drawn again, so that each step has as many words (Lemire 2019).
    pub fn new(steps: u32, len: usize, source: &NoiseSource, release: u32) -> Self {
        let (steps, mut stream) = (u64::from(steps.max(1)), source.stream(release, SAMPLE_BLOCK));
        let drawn: Vec<u32> = (0..len).map(|_| even(steps, &mut stream)).collect();
        let mut ends = vec![0; steps as usize];
        drawn.iter().for_each(|step| ends[*step as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            (sum, *end) = (sum + *end, sum);
        }
        let mut rows = vec![0; len];
        for (row, step) in drawn.into_iter().enumerate() {
            let end = &mut ends[step as usize];
            rows[*end] = row;
            *end += 1;
        }
        Allocation { rows, ends }
    }

    /// The rows that join a step, in order; none beyond the last step.
    pub fn step(&self, step: u32) -> &[usize] {
        let end = |step: usize| self.ends.get(step).copied().unwrap_or(self.rows.len());
        let from = (step as usize).checked_sub(1).map_or(0, end);
        &self.rows[from..end(step as usize)]
    }
}

/// A number below `count`, each with the same probability, exactly.
fn even(count: u64, stream: &mut NoiseStream) -> u32 {
    let least = count.wrapping_neg() % count;
    loop {
        let product = u128::from(stream.next_u64()) * u128::from(count);
        if product as u64 >= least {
            return (product >> 64) as u32;
        }
    }
}
