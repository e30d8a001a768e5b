//! Random use of a ledger against a model that counts in whole units.

mod earlier;
mod sequences;
mod units;

use std::collections::BTreeMap;
use std::path::Path;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{Cap, DatasetSummary, Ledger, Reservation};
use crate::privacy::{Adjacency, DatasetId, GaussianCharge, NoiseLaw, PrivacyUnit, Rho, Scope};

/// One unit is rho 2^-21, so that every cost below is a whole number.
const UNIT: f64 = 1.0 / (1 << 21) as f64;

#[derive(Default, PartialEq, Debug)]
struct Account {
    replace_one: bool,
    unit: PrivacyUnit,
    cap: Option<u64>,
    spent: u64,
    runs: u64,
    completed: u64,
    seeded: u64,
    raised: u64,
}

impl Account {
    fn allows(&self, scope: &Scope, units: u64) -> bool {
        let replace_one = scope.adjacency == Adjacency::ReplaceOne;
        self.replace_one == replace_one
            && self.unit == scope.unit
            && self.cap.is_none_or(|cap| self.spent + units <= cap)
    }
}

impl From<&DatasetSummary> for Account {
    fn from(it: &DatasetSummary) -> Self {
        let account = Account {
            replace_one: it.adjacency == Adjacency::ReplaceOne,
            unit: it.unit.clone(),
            cap: it.cap.as_ref().map(|cap| units(cap.most_rho())),
            spent: units(&it.spent),
            runs: it.runs,
            completed: it.completed,
            seeded: it.seeded,
            raised: it.cap_raised,
        };
        let left = account.cap.map(|cap| cap.saturating_sub(account.spent));
        assert_eq!(it.left.as_ref().map(units), left);
        account
    }
}

fn rho(units: u64) -> Rho {
    Rho::from_f64(units as f64 * UNIT).unwrap()
}

fn cap(units: u64) -> Cap {
    Cap::rho(&rho(units), 0.0).unwrap()
}

fn units(rho: &Rho) -> u64 {
    let units = (rho.lower() / UNIT) as u64;
    assert_eq!(&self::rho(units), rho);
    units
}

fn event(sensitivity: u64, log2_scale: u32, count: u64) -> GaussianCharge {
    GaussianCharge { what: "sum".into(), sensitivity, log2_scale, noise: NoiseLaw::DiscreteGaussian, count }
}

/// A ledger, what it should say, and the runs that are not complete.
struct Walk {
    rng: StdRng,
    ledger: Ledger,
    model: BTreeMap<&'static str, Account>,
    open: Vec<(&'static str, Reservation)>,
}

impl Walk {
    fn new(seed: u64, ledger: Ledger) -> Self {
        Walk { rng: StdRng::seed_from_u64(seed), ledger, model: BTreeMap::new(), open: Vec::new() }
    }

    /// Makes random changes; `again` looks at the ledger with fresh eyes now and then.
    fn walk(mut self, again: impl Fn(Ledger) -> Ledger) {
        for _ in 0..self.rng.random_range(1..16) {
            let name = ["a", "b"][self.rng.random_range(0..2)];
            let replace_one = self.rng.random_range(0..8) == 0;
            let adjacency = if replace_one { Adjacency::ReplaceOne } else { Adjacency::AddRemove };
            let person = self.rng.random_range(0..8) == 0;
            let unit = if person { PrivacyUnit::person("id").unwrap() } else { PrivacyUnit::Row };
            let scope = Scope { dataset: DatasetId::new(name).unwrap(), adjacency, unit };
            match self.rng.random_range(0..10) {
                0 => self.init(name, &scope),
                1 => self.set_cap(name, &scope),
                2 => self.complete(),
                3 => self.ledger = again(self.ledger),
                _ => self.reserve(name, &scope),
            }
            self.check();
        }
        self.ledger = again(self.ledger);
        self.check();
    }

    fn check(&mut self) {
        let summaries = self.ledger.summaries().unwrap();
        let found: BTreeMap<&str, Account> = summaries.iter().map(|it| (it.dataset.as_str(), it.into())).collect();
        assert_eq!(found, self.model);
    }

    fn cap(&mut self) -> u64 {
        self.rng.random_range(0..40_000_000)
    }

    fn init(&mut self, name: &'static str, scope: &Scope) {
        let cap = if self.rng.random_bool(0.7) { Some(self.cap()) } else { None };
        let done = self.ledger.init(scope, cap.map(self::cap).as_ref());
        assert_eq!(done.is_ok(), !self.model.contains_key(name));
        let replace_one = scope.adjacency == Adjacency::ReplaceOne;
        let unit = scope.unit.clone();
        self.model.entry(name).or_insert(Account { replace_one, unit, cap, ..Account::default() });
    }

    fn set_cap(&mut self, name: &str, scope: &Scope) {
        let mut cap = self.cap();
        // What is spent, and one unit to either side, are the interesting caps.
        if let Some(account) = self.model.get(name).filter(|_| self.rng.random()) {
            cap = (account.spent + self.rng.random_range(0..3)).saturating_sub(1);
        }
        let done = self.ledger.set_cap(&scope.dataset, &self::cap(cap));
        assert_eq!(done.is_ok(), self.model.contains_key(name));
        if let Some(account) = self.model.get_mut(name) {
            account.raised += u64::from(account.cap.is_some_and(|old| cap > old));
            account.cap = Some(cap);
        }
    }

    fn complete(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let (name, reservation) = self.open.swap_remove(self.rng.random_range(0..self.open.len()));
        self.ledger.complete(&reservation, &"00".repeat(32)).unwrap();
        assert!(self.ledger.complete(&reservation, &"00".repeat(32)).is_err());
        self.model.get_mut(name).unwrap().completed += 1;
    }

    fn events(&mut self, name: &str) -> Vec<GaussianCharge> {
        let left = self.model.get(name).and_then(|it| Some(it.cap?.saturating_sub(it.spent)));
        if let Some(left) = left.filter(|_| self.rng.random_bool(0.3)) {
            // To the last unit, or one more.
            return vec![event(1, 10, left + self.rng.random_range(0..2))];
        }
        let rng = &mut self.rng;
        (0..rng.random_range(0..3))
            .map(|_| event(rng.random_range(0..50), rng.random_range(0..=10), rng.random_range(0..20)))
            .collect()
    }

    fn reserve(&mut self, name: &'static str, scope: &Scope) {
        let events = self.events(name);
        let cost = |e: &GaussianCharge| (e.count * e.sensitivity * e.sensitivity) << (20 - 2 * e.log2_scale);
        let total: u64 = events.iter().map(cost).sum();
        let valid = total > 0 && events.iter().all(|e| e.sensitivity > 0 && e.count > 0);
        let replace_one = scope.adjacency == Adjacency::ReplaceOne;
        let allowed = self.model.get(name).is_none_or(|account| account.allows(scope, total));
        let private = self.rng.random();
        let done = self.ledger.reserve(scope, &events, private);
        assert_eq!(done.is_ok(), valid && allowed, "{events:?} {:?} {done:?}", self.model);
        if let Ok(reservation) = done {
            assert_eq!(units(reservation.rho()), total);
            let unit = scope.unit.clone();
            let account = self.model.entry(name).or_insert(Account { replace_one, unit, ..Account::default() });
            account.spent += total;
            account.runs += 1;
            account.seeded += u64::from(!private);
            self.open.push((name, reservation));
        }
    }
}

#[test]
fn random_use_in_memory_agrees_with_the_model() {
    for seed in 0..3_000 {
        Walk::new(seed, Ledger::in_memory().unwrap()).walk(|mut ledger| {
            ledger.verify().unwrap();
            ledger
        });
    }
}

#[test]
fn random_use_of_a_file_agrees_with_the_model() {
    // In memory where there is such a folder: thousands of fsyncs take long on a disk.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    for seed in 0..100 {
        let path = folder.path().join(format!("{seed}.sqlite"));
        let ledger = Ledger::open_or_create(&path).unwrap();
        Walk::new(10_000 + seed, ledger).walk(|_| Ledger::open_existing(&path).unwrap());
    }
}
