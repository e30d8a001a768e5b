//! Candidates that a run chooses among, paid for by its own budget.

use serde::Serialize;

use crate::error::{Error, Fallible};
use crate::optim::{Algorithm, Averaging, Settings};

/// More candidates than any budget can tell apart.
const MOST_CANDIDATES: usize = 64;

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
            if grid.len() * values.len() > MOST_CANDIDATES {
                let problem = format!("has more than {MOST_CANDIDATES} candidates");
                return Err(Error::parameter("--tune", problem, "name fewer values"));
            }
            let with = |candidate: &Candidate| {
                values.iter().map(|value| candidate.with(setting.trim(), value)).collect::<Fallible<Vec<_>>>()
            };
            grid = grid.iter().map(with).collect::<Fallible<Vec<_>>>()?.concat();
        }
        Ok(grid)
    }

    /// The same with one more choice.
    fn with(&self, setting: &str, value: &str) -> Fallible<Candidate> {
        let mut candidate = self.clone();
        let it = &mut candidate.settings;
        let wrong = || {
            let problem = format!("{value:?} is no value of {setting}");
            Error::parameter("--tune", problem, format!("write {setting}=A,B with values that --{setting} takes"))
        };
        let number = || value.parse::<f64>().map_err(|_| wrong());
        match setting {
            "algorithm" => {
                let named = |algorithm: &&Algorithm| algorithm.name() == value;
                candidate.algorithm = *Algorithm::ALL.iter().find(named).ok_or_else(wrong)?;
            }
            "clip" => it.clip = Some(number()?),
            "steps" => it.steps = Some(value.parse().map_err(|_| wrong())?),
            "learning-rate" => it.learning_rate = Some(number()?),
            "momentum" => it.momentum = Some(number()?),
            "l1" => it.l1 = number()?,
            "l2" => it.l2 = Some(number()?),
            "radius" => it.radius = Some(number()?),
            "averaging" => {
                it.averaging = Some(match value {
                    "last" => Averaging::Last,
                    "mean" => Averaging::Mean,
                    "tail" => Averaging::Tail,
                    _ => return Err(wrong()),
                });
            }
            _ => return Err(no_choice(setting)),
        }
        let space = if candidate.name.is_empty() { "" } else { " " };
        candidate.name = format!("{}{space}{setting}={value}", candidate.name);
        Ok(candidate)
    }
}

fn no_choice(part: &str) -> Error {
    Error::parameter(
        "--tune",
        format!("{part:?} is no choice"),
        "write NAME=A,B;NAME=C,D with algorithm, clip, steps, learning-rate, momentum, l1, l2, radius or averaging",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
