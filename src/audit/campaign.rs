//! The attacks on one configuration as its user would run it, each first proved able to find a planted fault.

use super::attack::{Attack, Verdict, View, attack};
use super::craft::Craft;
use super::fault::Fault;
use super::guarantee::Guarantee;
use super::neighbours::{Instance, Neighbours, Worlds};
use crate::data::Unit;
use crate::error::{Error, Fallible};
use crate::num::root::bisect;
use crate::privacy::{Adjacency, Charge, Epsilon, Rho};
use crate::train::{Budget, TrainConfig};

/// Largest factor on the budget that is tried for a planted fault.
const LOUDEST: f64 = 1024.0;

/// An audit of one configuration.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The configuration, budget included. Records and schema are made up, and settings that are left open are chosen so that
    /// the record that differs counts most: short steps, a clip that it reaches, no moments.
    pub config: TrainConfig,
    /// The person as the unit of privacy: the one who differs has as many rows as count. `None` for single rows.
    pub unit: Option<Unit>,
    /// Whether some columns are public: the data sets differ in private cells of one row.
    pub public: bool,
    /// The planted fault: noise over what the claim needs, in `(0, 1)`, or the clip over what the claim allows, above 1.
    pub fault: f64,
    /// Runs in each world by which an attack is judged; half as many are learned from.
    pub trials: usize,
    /// Confidence that no honest trainer is refuted by any of the attacks.
    pub confidence: f64,
    /// Seed of all noise.
    pub seed: u64,
}

/// One attack of a campaign.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The crafted pair.
    pub instance: Instance,
    /// What the adversary looked at.
    pub view: View,
    /// What is claimed.
    pub guarantee: Guarantee,
    /// The verdict on the trainer.
    pub honest: Verdict,
    /// The verdict on the trainer with the planted fault, against the claim of the honest one.
    pub faulty: Verdict,
    /// The planted fault as it came out.
    pub fault: Fault,
    /// The verdict on a trainer that clips rows and not persons, against the claim about persons; `None` where rows are the unit.
    pub by_rows: Option<Verdict>,
}

impl Campaign {
    /// The pairs and views that suit the model and the algorithm.
    ///
    /// # Errors
    /// When there is no crafted pair for the model.
    pub fn attacks(&self) -> Fallible<Vec<(Instance, View)>> {
        self.craft().attacks()
    }

    fn craft(&self) -> Craft {
        Craft { public: self.public, ..Craft::of(&self.config, self.unit.as_ref()) }
    }

    /// How many trainers each attack is made on: the faulty ones, and this one.
    pub fn trainers(&self) -> usize {
        if self.unit.is_some() { 3 } else { 2 }
    }

    /// Makes all attacks, on the trainers with a planted fault first; `hear` is told how many are done.
    ///
    /// # Errors
    /// When there is no crafted pair for the model, the request cannot be planned, or no budget plants the fault.
    pub fn run(&self, mut hear: impl FnMut(usize)) -> Fallible<Vec<Finding>> {
        let wanted = Fault::of(self.fault)?;
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            let problem = format!("is {}, must be in (0, 1)", self.confidence);
            return Err(Error::parameter("--confidence", problem, "use 0.9999"));
        }
        let craft = self.craft();
        let attacks = craft.attacks()?;
        let confidence = 1.0 - (1.0 - self.confidence) / attacks.len() as f64;
        let mut findings = Vec::new();
        let mut done = 0;
        let mut heard = || {
            done += 1;
            hear(done);
        };
        for (instance, view) in attacks {
            let honest = worlds(&craft, instance)?;
            let claim = Guarantee::of(honest.absent().plan())?;
            let (louder, fault) = self.louder(&craft, instance, wanted, multiplier(&honest)?)?;
            let size = Attack {
                view,
                draws: craft.draws,
                learn: self.trials.div_ceil(2),
                judge: self.trials,
                confidence,
                seed: self.seed,
            };
            let mut made = |worlds: &Worlds| -> Fallible<Verdict> {
                let verdict = attack(worlds, &claim, &size)?;
                heard();
                Ok(verdict)
            };
            let faulty = made(&louder)?;
            let by_rows = self.unit.is_some().then(|| made(&blind(&craft, instance)?)).transpose()?;
            let honest = made(&honest)?;
            findings.push(Finding { instance, view, guarantee: claim, honest, faulty, fault, by_rows });
        }
        Ok(findings)
    }

    /// The trainer with a budget so large that its noise is too small for its sensitivity by the fault, and by how much it is.
    fn louder(&self, craft: &Craft, instance: Instance, fault: Fault, honest: f64) -> Fallible<(Worlds, Fault)> {
        let planted = fault.plant(&craft.config)?;
        let with = |factor: f64| -> Fallible<Worlds> {
            let budget = match &self.config.budget {
                Budget::Rho(rho, delta) => Budget::Rho(Rho::from_f64(rho.lower() * factor * factor)?, *delta),
                Budget::Epsilon(epsilon, delta) => Budget::Epsilon(Epsilon::new(epsilon.value() * factor)?, *delta),
            };
            worlds(&Craft { config: TrainConfig { budget, ..planted.clone() }, ..craft.clone() }, instance)
        };
        // A budget too large to be planned with is too large for the fault, too.
        let enough = |factor: f64| Some(with(factor).map_or(true, |louder| beyond(&louder, fault.ratio() * honest)));
        let found = bisect(1.0, LOUDEST, 2e-3, enough).map(|root| root.holds);
        let none = || Error::numerical("planted fault", "no larger budget makes the noise so small");
        let worlds = with(found.ok_or_else(none)?)?;
        let came_out = fault.at(multiplier(&worlds)? / honest);
        Ok((worlds, came_out))
    }
}

fn neighbours(craft: &Craft, instance: Instance) -> Fallible<Neighbours> {
    let replaced = craft.config.adjacency == Adjacency::ReplaceOne;
    let neighbours = instance.neighbours(craft.pairs, craft.null, replaced);
    if craft.public {
        return neighbours.beside_public();
    }
    craft.unit.as_ref().map_or(Ok(neighbours.clone()), |unit| neighbours.of_persons(unit))
}

fn worlds(craft: &Craft, instance: Instance) -> Fallible<Worlds> {
    Worlds::load(&craft.config, &neighbours(craft, instance)?)
}

/// Both worlds before a trainer that does not know whose the lines are.
fn blind(craft: &Craft, instance: Instance) -> Fallible<Worlds> {
    Worlds::load(&craft.by_rows(), &neighbours(craft, instance)?.by_rows())
}

fn beyond(worlds: &Worlds, most: f64) -> bool {
    multiplier(worlds).is_ok_and(|multiplier| multiplier <= most)
}

/// The noise over the sensitivity of the last kind of release.
fn multiplier(worlds: &Worlds) -> Fallible<f64> {
    let charges = worlds.absent().plan().charges();
    let last = charges.last().map(Charge::noise_multiplier);
    last.ok_or_else(|| Error::numerical("audit", "a run that releases nothing cannot be attacked"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::{Algorithm, ModelKind};

    #[test]
    fn a_plain_run_keeps_its_claim_and_its_fault_is_found() {
        let budget = Budget::Rho(Rho::from_f64(4.5).unwrap(), None);
        let config = TrainConfig { algorithm: Algorithm::DpGd, ..TrainConfig::new(budget) };
        let campaign =
            Campaign { config, unit: None, public: false, fault: 0.8, trials: 3000, confidence: 0.9999, seed: 3 };
        let mut heard = 0;
        let findings = campaign.run(|done| heard = done).unwrap();
        assert_eq!((findings.len(), heard), (3, 6));
        for finding in &findings {
            assert!(!finding.honest.shown.refutes(), "{:?} {:?}", finding.instance, finding.honest.shown);
            assert!(
                finding.faulty.shown.refutes(),
                "{:?} {:?} {:?}",
                finding.instance,
                finding.view,
                finding.faulty.shown
            );
            assert!(matches!(finding.fault, Fault::Noise(_)) && (finding.fault.ratio() / 0.8 - 1.0).abs() < 0.01);
            let (first, last) = (finding.honest.errors[0], finding.honest.errors[finding.honest.errors.len() - 1]);
            assert!(first.0 <= last.0 && first.1 >= last.1, "{first:?} {last:?}");
        }
    }

    #[test]
    fn persons_keep_their_claim_and_a_trainer_that_clips_rows_does_not() {
        let budget = Budget::Rho(Rho::from_f64(4.5).unwrap(), None);
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            let config = TrainConfig { algorithm: Algorithm::DpGd, adjacency, ..TrainConfig::new(budget.clone()) };
            let unit = Some(Unit { max_rows: Some(5), ..Unit::new("patient") });
            let campaign =
                Campaign { config, unit, public: false, fault: 0.8, trials: 1500, confidence: 0.9999, seed: 3 };
            let mut heard = 0;
            let findings = campaign.run(|done| heard = done).unwrap();
            assert_eq!((findings.len(), heard), (3, 3 * campaign.trainers()));
            for Finding { instance, view, honest, faulty, by_rows, .. } in &findings {
                let by_rows = by_rows.as_ref().unwrap();
                assert!(!honest.shown.refutes(), "{adjacency} {instance:?} {view:?}: {:?}", honest.shown);
                // Somebody with five rows counts like one: the whole clip is used.
                assert!((honest.effect / 3.0 - 1.0).abs() < 0.1, "{adjacency} {instance:?} {view:?}: {honest:?}");
                assert!(faulty.shown.refutes(), "{adjacency} {instance:?} {view:?}: {:?}", faulty.shown);
                assert!(by_rows.shown.refutes(), "{adjacency} {instance:?} {view:?}: {:?}", by_rows.shown);
                assert!(by_rows.effect > 4.0 * honest.effect, "{adjacency} {instance:?} {view:?}: {}", by_rows.effect);
            }
        }
    }

    #[test]
    fn what_cannot_be_attacked_is_refused() {
        let config = TrainConfig::new(Budget::Rho(Rho::from_f64(1.0).unwrap(), None));
        let campaign =
            Campaign { config, unit: None, public: false, fault: 0.8, trials: 100, confidence: 0.99, seed: 1 };
        let poisson = TrainConfig { model: Some(ModelKind::poisson()), ..campaign.config.clone() };
        assert!(Campaign { config: poisson, ..campaign.clone() }.run(|_| ()).is_err());
        assert!(Campaign { fault: 1.0, ..campaign.clone() }.run(|_| ()).is_err());
        assert!(Campaign { confidence: 1.0, ..campaign }.run(|_| ()).is_err());
    }
}
