//! Attacks on a trainer with neighbours made for the purpose, and what they prove about its claim.
//!
//! [`Neighbours`] are two small data sets that differ in one record, or in all rows of one person, crafted so that what differs
//! saturates its clip.
//! [`Worlds`] plans a training run on both. [`attack`] trains many times in each world, learns on some of the runs how to
//! tell the worlds apart, from all [releases](View::Releases) or from the [model](View::Model) alone, and guesses the
//! world of the others. The errors it makes bound from below what the run gives away, with a stated confidence; a
//! bound above the [`Guarantee`] refutes it.
//!
//! [`Campaign`] does all of this for one configuration. [`OneRun`] audits plain clipped sums by a single run with many records,
//! each there or not by a coin of its own.
//!
//! An audit refutes and never certifies. It is worth something where the same attack refutes a trainer with a planted
//! [`Fault`]: too little noise, too wide a clip, or, where persons are the unit, rows clipped one by one; `docs/audit.md` has a table.
//!
//! A trainer that is attacked through all that it releases, by the claim of its own plan:
//!
//! ```
//! use rhograd::audit::{Attack, Draws, Guarantee, Instance, Neighbours, Shown, Verdict, View, Worlds, attack};
//! use rhograd::privacy::Rho;
//! use rhograd::train::{Algorithm, Budget, TrainConfig};
//!
//! let config = TrainConfig { algorithm: Algorithm::DpGd, ..TrainConfig::new(Budget::Rho(Rho::from_f64(0.5)?, None)) };
//! let neighbours: Neighbours = Instance::Labels.neighbours(2, 0, false);
//! let worlds = Worlds::load(&config, &neighbours)?;
//! let claim = Guarantee::of(worlds.absent().plan())?;
//! let (view, draws) = (View::Releases, Draws::Secret);
//! let verdict: Verdict = attack(&worlds, &claim, &Attack { view, draws, learn: 10, judge: 20, confidence: 0.9999, seed: 1 })?;
//! let Shown { claimed, proved, .. } = verdict.shown;
//! assert!(proved <= claimed && !verdict.shown.refutes());
//! # Ok::<(), rhograd::error::Error>(())
//! ```
//!
//! All attacks on a configuration, each of them also on a trainer with a planted fault, and the audit by one run:
//!
//! ```
//! use rhograd::audit::{Campaign, Fault, Finding, OneRun, OneRunFinding, Reading};
//! use rhograd::privacy::Rho;
//! use rhograd::train::{Algorithm, Budget, TrainConfig};
//!
//! let config = TrainConfig { algorithm: Algorithm::DpGd, ..TrainConfig::new(Budget::Rho(Rho::from_f64(4.5)?, None)) };
//! let campaign = Campaign { config: config.clone(), unit: None, public: false, fault: 0.8, trials: 20, confidence: 0.9999, seed: 1 };
//! let findings: Vec<Finding> = campaign.run(|_done| ())?;
//! assert_eq!(findings.len(), campaign.attacks()?.len());
//! assert!(findings.iter().all(|it| !it.honest.shown.refutes() && matches!(it.fault, Fault::Noise(_))));
//!
//! let audit = OneRun { config, unit: None, fault: 0.8, canaries: 200, confidence: 0.9999, seed: 1 };
//! let finding: OneRunFinding = audit.run(|_done| ())?;
//! let honest: &Reading = &finding.honest;
//! assert!(!finding.refuted() && honest.mu.lower <= finding.mu);
//! # Ok::<(), rhograd::error::Error>(())
//! ```
//!
//! # Reference
//! Jagielski, Ullman and Oprea 2020; Nasr et al. 2023, "Tight auditing of differentially private machine learning"; Steinke, Nasr
//! and Jagielski 2023, "Privacy auditing with one (1) training run".

mod attack;
mod campaign;
mod canaries;
mod craft;
mod distinguish;
mod draws;
mod fault;
mod guarantee;
mod neighbours;
mod observe;
mod one_run;

pub use attack::{Attack, Verdict, View, attack};
pub use campaign::{Campaign, Finding};
pub use draws::Draws;
pub use fault::Fault;
pub use guarantee::{Guarantee, Shown};
pub use neighbours::{Instance, Neighbours, Worlds};
pub use one_run::{OneRun, OneRunFinding, Reading};
