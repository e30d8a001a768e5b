//! A run on one data set, and what its neighbour does when it is given the same released values.

/// What went into the releases of a run, and everything else that left it.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The exact integers before noise, one vector for each release that is a noised vector.
    pub inputs: Vec<Option<Vec<i128>>>,
    /// Log, statement, model, layout: whatever leaves beside the released values, in order.
    pub public: Vec<String>,
}

/// The share of the sensitivity by which an input moves.
///
/// # Errors
/// When it moves further, or has another length.
pub fn moved(before: &[i128], after: &[i128], sensitivity: u64) -> Result<f64, String> {
    if before.len() != after.len() {
        return Err(format!("{} integers become {}", before.len(), after.len()));
    }
    let squares = before.iter().zip(after).map(|(a, b)| a.checked_sub(*b).and_then(|d| d.checked_mul(d)));
    let square = squares.sum::<Option<i128>>().ok_or("the input moves beyond all bounds")?;
    let allowed = i128::from(sensitivity) * i128::from(sensitivity);
    let share = (square as f64).sqrt() / sensitivity as f64;
    if square > allowed { Err(format!("the input moves by {share} of the sensitivity")) } else { Ok(share) }
}

/// Whether two runs show the same beside their released values.
///
/// # Errors
/// Names the first difference.
pub fn shows_the_same(before: &[String], after: &[String]) -> Result<(), String> {
    if let Some((a, b)) = before.iter().zip(after).find(|(a, b)| a != b) {
        return Err(format!("this shows the row:\n{a}\n{b}"));
    }
    if before.len() != after.len() {
        return Err(format!("{} things leave one run and {} the other", before.len(), after.len()));
    }
    Ok(())
}

/// Checks a run against its replay on a neighbour; the share of its sensitivity that each release used.
///
/// # Errors
/// When an input moves by more than its stated sensitivity, the number of releases differs, or anything else does.
pub fn agree(recorded: &Run, replayed: &Run, sensitivities: &[u64]) -> Result<Vec<f64>, String> {
    shows_the_same(&recorded.public, &replayed.public)?;
    if recorded.inputs.len() != replayed.inputs.len() || recorded.inputs.len() > sensitivities.len() {
        return Err(format!("{} releases become {}", recorded.inputs.len(), replayed.inputs.len()));
    }
    let mut shares = Vec::new();
    for ((before, after), &sensitivity) in recorded.inputs.iter().zip(&replayed.inputs).zip(sensitivities) {
        shares.push(match (before, after) {
            (Some(before), Some(after)) => moved(before, after, sensitivity)?,
            (None, None) => 0.0,
            _ => return Err("a release changes its kind".into()),
        });
    }
    Ok(shares)
}
