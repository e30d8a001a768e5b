//! What recorded noise must look like.
//!
//! False alarms: [`has_scale`] raises one with probability `LEVEL`, [`every_coordinate_has_noise`] with `LEVEL` for all
//! coordinates together, [`nothing_repeats`] with far less than `1e-12` at the scales used here.

use std::collections::HashSet;

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Probability of a false alarm of one check.
pub const LEVEL: f64 = 1e-6;

/// Whether the sum of squares is that of normal numbers of the given deviation: two-sided chi-square.
///
/// # Errors
/// When it is not, at [`LEVEL`].
pub fn has_scale(noise: impl IntoIterator<Item = i128>, deviation: f64) -> Result<(), String> {
    let (mut count, mut statistic) = (0u64, 0.0);
    for y in noise {
        count += 1;
        statistic += (y as f64 / deviation).powi(2);
    }
    let law = ChiSquared::new(count as f64).map_err(|e| e.to_string())?;
    let p = 2.0 * law.cdf(statistic).min(law.sf(statistic));
    let ratio = (statistic / count as f64).sqrt();
    if p < LEVEL { Err(format!("noise has {ratio} of its scale over {count} numbers, p = {p:.1e}")) } else { Ok(()) }
}

/// Whether each coordinate of releases of one length varies at least as much as noise of the given deviation would.
///
/// # Errors
/// Names the first coordinate that does not, at [`LEVEL`] shared among them.
pub fn every_coordinate_has_noise(releases: &[Vec<i128>], deviation: f64) -> Result<(), String> {
    let coordinates = releases.first().map_or(0, Vec::len);
    let law = ChiSquared::new(releases.len() as f64).map_err(|e| e.to_string())?;
    let level = LEVEL / coordinates as f64;
    let spread = |j: usize| releases.iter().map(|release| (release[j] as f64 / deviation).powi(2)).sum::<f64>();
    match (0..coordinates).find(|&j| law.cdf(spread(j)) < level) {
        Some(j) => Err(format!("coordinate {j} has too little noise")),
        None => Ok(()),
    }
}

/// Whether no four consecutive numbers occur twice, within one list or in two.
///
/// # Errors
/// Names the list in which something occurs that was there before.
pub fn nothing_repeats(lists: &[Vec<i128>]) -> Result<(), String> {
    let mut seen = HashSet::new();
    for (index, list) in lists.iter().enumerate() {
        if list.windows(4).any(|window| !seen.insert(window)) {
            return Err(format!("list {index} repeats noise"));
        }
    }
    Ok(())
}
