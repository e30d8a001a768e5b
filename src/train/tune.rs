//! Candidates that a run chooses among, paid for by its own budget.

use serde::Serialize;

use crate::error::{Error, Fallible};
use crate::optim::{Algorithm, SETTINGS, Setting, Settings};

/// More candidates than any budget can tell apart.
const MAX_CANDIDATES: usize = 64;

/// What `--tune` tries without a grid of its own: they win on different data, and rarely by much.
pub const DEFAULT_GRID: &str = "algorithm=whitened,dp-gd";

/// An algorithm with its settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// What the statement calls it: the choices that set it apart.
    pub name: String,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Choices that it would otherwise make by its own rule.
    pub settings: Settings,
}

impl Candidate {
    /// Every combination of a grid such as `algorithm=whitened,dp-gd;steps=8,16`, all else as here.
    pub(super) fn combined(self, text: &str) -> Fallible<Vec<Candidate>> {
        let mut grid = vec![self];
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let (setting, values) = part.split_once('=').ok_or_else(|| no_choice(part))?;
            let values: Vec<&str> = values.split(',').map(str::trim).collect();
            if grid.len() * values.len() > MAX_CANDIDATES {
                let problem = format!("has more than {MAX_CANDIDATES} candidates");
                return Err(Error::parameter("--tune", problem, "name fewer values"));
            }
            let with = |candidate: &Candidate| {
                values.iter().map(|value| candidate.with(setting.trim(), value)).collect::<Fallible<Vec<_>>>()
            };
            grid = grid.iter().map(with).collect::<Fallible<Vec<_>>>()?.concat();
        }
        Ok(grid)
    }

    /// This candidate with one more choice.
    fn with(&self, setting: &str, value: &str) -> Fallible<Candidate> {
        let mut candidate = self.clone();
        let wrong = || {
            let problem = format!("{value:?} is no value of {setting}");
            Error::parameter("--tune", problem, format!("write {setting}=A,B with values that --{setting} takes"))
        };
        match setting {
            "algorithm" => candidate.algorithm = Algorithm::named(value).ok_or_else(wrong)?,
            name => {
                let row = Setting::named(name).ok_or_else(|| no_choice(name))?;
                row.read(&mut candidate.settings, value).map_err(|_| wrong())?;
            }
        }
        let space = if candidate.name.is_empty() { "" } else { " " };
        candidate.name = format!("{}{space}{setting}={value}", candidate.name);
        Ok(candidate)
    }
}

fn no_choice(part: &str) -> Error {
    let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
    let cure = format!("write NAME=A,B;NAME=C,D with algorithm, {}", names.join(", "));
    Error::parameter("--tune", format!("{part:?} is no choice"), cure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::Averaging;

    fn grid(text: &str) -> Fallible<Vec<Candidate>> {
        let bare = Candidate { name: String::new(), algorithm: Algorithm::Auto, settings: Settings::default() };
        bare.combined(text)
    }

    #[test]
    fn a_grid_has_every_combination_once() {
        let all = grid(" steps=1,2 ; clip=0.5,1,2;averaging=mean").unwrap();
        assert_eq!(all.len(), 6);
        let pairs: std::collections::BTreeSet<String> = all.iter().map(|c| c.name.clone()).collect();
        assert_eq!(pairs.len(), 6);
        assert!(all.iter().all(|c| c.settings.averaging == Some(Averaging::Mean) && c.algorithm == Algorithm::Auto));
        assert_eq!((all[5].settings.steps, all[5].settings.clip), (Some(2), Some(2.0)));
        assert_eq!(grid(DEFAULT_GRID).unwrap().len(), 2);
    }

    #[test]
    fn what_is_no_choice_is_named() {
        for (text, named) in [
            ("steps", "\"steps\""),
            ("pace=1", "\"pace\""),
            ("steps=1,two", "\"two\""),
            ("algorithm=custom", "\"custom\""),
            ("averaging=best", "\"best\""),
            ("steps=1,2,3,4,5,6,7,8,9;clip=1,2,3,4,5,6,7,8", "more than 64"),
        ] {
            let message = grid(text).unwrap_err().to_string();
            assert!(message.contains(named) && message.contains("--tune"), "{message}");
        }
    }
}
