//! Trainers that tell more than is claimed, made to see whether an audit notices.

use crate::error::{Error, Fallible};
use crate::train::TrainConfig;

/// What is wrong with a trainer. It is a trainer with a larger budget, judged by the claim of a smaller one, or one that protects
/// rows, judged by a claim about persons; the trusted code has no hook for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Its noise is this times what the claim needs, below one.
    Noise(f64),
    /// It clips at this times the norm that the claim allows, above one; its noise is what the claim needs.
    Clip(f64),
    /// It clips rows and not persons, where persons are the unit: somebody with so many rows counts so many times.
    Rows(u32),
}

impl Fault {
    /// A factor below one is on the noise, a factor above one on the clip.
    ///
    /// # Errors
    /// When the factor is neither.
    pub fn of(factor: f64) -> Fallible<Self> {
        match factor {
            _ if factor > 0.0 && factor < 1.0 => Ok(Fault::Noise(factor)),
            _ if factor > 1.0 && factor.is_finite() => Ok(Fault::Clip(factor)),
            _ => {
                let problem =
                    format!("is {factor}, must be in (0, 1) for too little noise or above 1 for too wide a clip");
                Err(Error::parameter("--fault", problem, "use 0.8 or 1.25"))
            }
        }
    }

    /// The factor.
    pub fn factor(self) -> f64 {
        match self {
            Fault::Noise(factor) | Fault::Clip(factor) => factor,
            Fault::Rows(rows) => f64::from(rows),
        }
    }

    /// The noise over the sensitivity, in units of what the claim needs.
    pub fn ratio(self) -> f64 {
        match self {
            Fault::Noise(factor) => factor,
            Fault::Clip(_) | Fault::Rows(_) => 1.0 / self.factor(),
        }
    }

    /// This fault at another ratio, as a plan came out.
    pub(super) fn at(self, ratio: f64) -> Self {
        match self {
            Fault::Noise(_) => Fault::Noise(ratio),
            Fault::Clip(_) => Fault::Clip(1.0 / ratio),
            Fault::Rows(rows) => Fault::Rows(rows),
        }
    }

    /// The configuration of a trainer whose budget is already large enough for the fault.
    ///
    /// A larger budget makes the noise smaller for every clip norm; a clip that is as much wider makes it what it was.
    ///
    /// # Errors
    /// When the clip is to be wider and there is none.
    pub(super) fn plant(self, config: &TrainConfig) -> Fallible<TrainConfig> {
        let mut config = config.clone();
        if let Fault::Clip(factor) = self {
            let none = || {
                let problem = format!("is {factor}, and --algorithm {} has no clip to widen", config.algorithm.name());
                Error::parameter("--fault", problem, "use 0.8 for too little noise")
            };
            config.settings.clip = Some(config.settings.clip.ok_or_else(none)? * factor);
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::Settings;
    use crate::privacy::Rho;
    use crate::train::Budget;

    #[test]
    fn a_factor_says_what_is_wrong() {
        assert_eq!(Fault::of(0.8).unwrap(), Fault::Noise(0.8));
        assert_eq!(Fault::of(1.25).unwrap(), Fault::Clip(1.25));
        assert_eq!(Fault::Clip(1.25).ratio(), Fault::Noise(0.8).ratio());
        assert_eq!(Fault::Clip(1.25).at(0.5), Fault::Clip(2.0));
        assert_eq!((Fault::Rows(4).factor(), Fault::Rows(4).ratio()), (4.0, 0.25));
        for factor in [0.0, 1.0, -0.8, f64::NAN, f64::INFINITY] {
            assert!(Fault::of(factor).is_err(), "{factor}");
        }
    }

    #[test]
    fn only_a_clip_that_is_there_is_widened() {
        let config = TrainConfig::new(Budget::Rho(Rho::from_f64(1.0).unwrap(), None));
        let clipped = TrainConfig { settings: Settings { clip: Some(2.0), ..Settings::default() }, ..config.clone() };
        assert_eq!(Fault::Clip(1.25).plant(&clipped).unwrap().settings.clip, Some(2.5));
        assert_eq!(Fault::Noise(0.8).plant(&clipped).unwrap().settings.clip, Some(2.0));
        assert!(Fault::Clip(1.25).plant(&config).is_err());
    }
}
