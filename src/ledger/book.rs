//! The state that the entries add up to, and the rules by which the next entry may be added.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::account::{Account, DatasetSummary};
use super::at_order::Orders;
use super::cap::{Cap, Cost};
use super::exact_rho::ExactRho;
use super::record::{Entry, Position, RawEntry, Record, is_hex};
use crate::accounting::claim;
use crate::error::{Error, Fallible};
use crate::privacy::{Adjacency, Charge, DatasetId, PrivacyUnit, Rho, Scope};

/// Different charges of one run whose cost is claimed, and so is confirmed by the accountant: twice as many as the largest
/// choice among candidates makes.
const MAX_CLAIMS: usize = 128;

#[derive(Debug)]
struct Run {
    dataset: DatasetId,
    /// Where the charge stands.
    charged: Position,
    /// SHA-256 of what it released, once it is complete.
    artefact: Option<String>,
    /// Releases that it had made when it last went on after a stop.
    releases: u64,
}

/// Everything that the entries up to `head` say.
#[derive(Debug)]
pub(super) struct Book {
    head: Position,
    accounts: BTreeMap<DatasetId, Account>,
    /// What each name looks like, and the first that does.
    looks: HashMap<String, DatasetId>,
    runs: BTreeMap<String, Run>,
    /// Claims that the accountant has confirmed, as text: each is computed once, however many entries repeat it.
    confirmed: RefCell<HashSet<String>>,
    /// Costs at the orders of caps, likewise.
    orders: RefCell<Orders>,
}

impl Book {
    /// The book of an empty ledger.
    pub(super) fn new() -> Self {
        let confirmed = RefCell::default();
        Book {
            head: Position::genesis(),
            accounts: BTreeMap::new(),
            looks: HashMap::new(),
            runs: BTreeMap::new(),
            confirmed,
            orders: RefCell::default(),
        }
    }

    /// An empty book that need not compute again what this one has confirmed.
    pub(super) fn restarted(&self) -> Self {
        let orders = RefCell::new(self.orders.borrow().without_orders());
        Book { confirmed: self.confirmed.clone(), orders, ..Book::new() }
    }

    /// The last entry that was read.
    pub(super) fn head(&self) -> &Position {
        &self.head
    }

    /// Believes the next entry if it continues the chain and obeys the rules.
    pub(super) fn read(&mut self, raw: &RawEntry<'_>) -> Result<(), String> {
        let next = self.head.sequence + 1;
        if u64::try_from(raw.sequence) != Ok(next) {
            return Err(format!("entry {next} is missing"));
        }
        let broken = |why: String| format!("entry {next} is broken: {why}");
        let Entry { record, previous, hash, .. } = raw.check().map_err(broken)?;
        if previous != self.head.hash {
            return Err(broken("it does not continue the entry before".into()));
        }
        let cost = self.admit(&record).map_err(|error| broken(error.to_string()))?;
        let place = Position { sequence: next, hash };
        self.apply(record, &cost, &place);
        self.head = place;
        Ok(())
    }

    /// Whether `record` may be the next one, and what it costs.
    ///
    /// One set of rules holds for an entry about to be written and for one read back years later.
    pub(super) fn admit(&self, record: &Record) -> Fallible<Cost> {
        match record {
            Record::Open { dataset, .. } => self.admit_opening(dataset)?,
            Record::OpenCapped { dataset, cap, .. } => {
                self.admit_new_cap(cap)?;
                self.admit_opening(dataset)?;
            }
            Record::SetCap { dataset, .. } => self.account(dataset).map(drop)?,
            Record::ChangeCap { dataset, cap, spent_at_order } => {
                self.admit_new_cap(cap)?;
                let spent = spent_at_order.as_ref().map(ExactRho::rho);
                self.account(dataset)?.admit_cap(dataset, cap, spent, &self.orders)?;
            }
            Record::Reserve { dataset, adjacency, unit, run, events, rho, rho_at_order, .. } => {
                if !is_hex(run, 32) || self.runs.contains_key(run) {
                    return Err(Error::parameter("run", "is not a new 128-bit name", "restore a copy of the ledger"));
                }
                let mut cost = self.cost_of(events, *adjacency)?;
                if cost.rho != *rho.rho() {
                    return Err(Error::parameter("rho", "is not what the events cost", "restore a copy of the ledger"));
                }
                let scope = Scope { dataset: dataset.clone(), adjacency: *adjacency, unit: unit.clone() };
                cost.rho_at_order = rho_at_order.as_ref().map(|rho| rho.rho().clone());
                self.afford(&scope, &cost)?;
                self.confirm_at_order(dataset, events, &cost)?;
                return Ok(cost);
            }
            Record::Resume { run, releases } => self.admit_resumption(run, *releases)?,
            Record::Complete { run, artefact_sha256 } => self.admit_completion(run, artefact_sha256)?,
        }
        Ok(Cost::zero())
    }

    fn admit_opening(&self, dataset: &DatasetId) -> Fallible<()> {
        match self.accounts.get(dataset) {
            None => Ok(()),
            Some(_) => Err(Error::refused(
                format!("data set \"{dataset}\" is in the ledger already"),
                "change its cap instead, or give the other data set another \"name\" in its schema",
            )),
        }
    }

    /// Refuses what the cap of a data set does not allow; a data set that is not known has none.
    pub(super) fn afford(&self, scope: &Scope, cost: &Cost) -> Fallible<()> {
        let Some(account) = self.accounts.get(&scope.dataset) else { return Ok(()) };
        account.admit_scope(scope)?;
        account.afford(&scope.dataset, cost)
    }

    /// Refuses a cap that does not keep what it promises, and one order too many.
    pub(super) fn admit_new_cap(&self, cap: &Cap) -> Fallible<()> {
        cap.check()?;
        cap.order().map_or(Ok(()), |order| self.orders.borrow().admit(order))
    }

    /// Refuses a recorded cost at an order that is not what the events cost; a data set that is not known has no order.
    fn confirm_at_order(&self, dataset: &DatasetId, events: &[Charge], cost: &Cost) -> Fallible<()> {
        let recorded = cost.rho_at_order.as_ref();
        match self.accounts.get(dataset) {
            Some(account) => account.confirm_at_order(events, recorded, &self.orders),
            None => Account::new(Adjacency::AddRemove, PrivacyUnit::Row, None).confirm_at_order(
                events,
                recorded,
                &self.orders,
            ),
        }
    }

    /// What a run to come costs at the order of the cap, as an entry says it; `None` where there is no order, and where the run is refused.
    pub(super) fn rho_at_order(&self, scope: &Scope, events: &[Charge]) -> Fallible<Option<ExactRho>> {
        let account = self.accounts.get(&scope.dataset).filter(|account| account.admit_scope(scope).is_ok());
        account.map_or(Ok(None), |account| account.rho_at_order(events, &self.orders))
    }

    /// What all runs on a data set cost at the order of a cap to come, as an entry says it.
    pub(super) fn spent_at_order(&self, dataset: &DatasetId, cap: &Cap) -> Fallible<Option<ExactRho>> {
        let (Some(order), Some(account)) = (cap.order(), self.accounts.get(dataset)) else { return Ok(None) };
        account.spent_at_order(order, &self.orders)
    }

    /// The cost of all events, recomputed from their integers; what is claimed is confirmed by the accountant.
    pub(super) fn cost_of(&self, events: &[Charge], adjacency: Adjacency) -> Fallible<Cost> {
        // Before any arithmetic: the scale of an unchecked event could overflow an exponent.
        events.iter().try_for_each(Charge::check)?;
        let mut claims = HashSet::new();
        for event in events.iter().filter(|event| event.claim().is_some() || event.delta() > 0.0) {
            let text = serde_json::to_string(&(event, adjacency));
            claims.insert(text.map_err(|error| Error::numerical("charge", error.to_string()))?);
            if claims.len() > MAX_CLAIMS {
                return Err(Error::parameter("events", "claim more than a run can", "restore a copy of the ledger"));
            }
        }
        let mut known = self.confirmed.borrow_mut();
        for event in events.iter().filter(|event| event.claim().is_some() || event.delta() > 0.0) {
            let text = serde_json::to_string(&(event, adjacency)).unwrap_or_default();
            if !known.contains(&text) {
                claim::confirm(event, adjacency)?;
                known.insert(text);
            }
        }
        let cost = Cost::of(events)?;
        if cost.rho.as_dyadic().is_zero() {
            return Err(Error::parameter("events", "release nothing", "reserve for the events that the run will make"));
        }
        Ok(cost)
    }

    fn admit_resumption(&self, run: &str, releases: u64) -> Fallible<()> {
        match self.runs.get(run) {
            Some(Run { artefact: Some(_), .. }) => {
                Err(Error::refused("the run has released its result already", "start another run"))
            }
            Some(known) if releases < known.releases => Err(Error::refused(
                format!("the run had made {} releases when it last went on, and {releases} are shown", known.releases),
                "use the newest checkpoint: going on from an older one would release steps twice",
            )),
            Some(_) => Ok(()),
            None => Err(Error::refused("the run is not in this ledger", "use the ledger that it was charged to")),
        }
    }

    fn admit_completion(&self, run: &str, artefact_sha256: &str) -> Fallible<()> {
        if !is_hex(artefact_sha256, 64) {
            return Err(Error::parameter("artefact hash", "is not a SHA-256", "pass 64 lower-case hexadecimal digits"));
        }
        match self.runs.get(run) {
            Some(Run { artefact: None, .. }) => Ok(()),
            Some(_) => Err(Error::refused("the run has released its result already", "reserve again for another run")),
            None => Err(Error::refused("the run is not in this ledger", "reserve and complete in the same ledger")),
        }
    }

    /// Enters an admitted record.
    fn apply(&mut self, record: Record, cost: &Cost, place: &Position) {
        match record {
            Record::Open { dataset, adjacency, unit, cap } => {
                self.open(dataset, Account::new(adjacency, unit, cap.map(|rho| Cap::Rho { rho })));
            }
            Record::OpenCapped { dataset, adjacency, unit, cap } => {
                self.open(dataset, Account::new(adjacency, unit, Some(cap)));
            }
            Record::SetCap { dataset, cap } => self.set_cap(&dataset, Cap::Rho { rho: cap }, None),
            Record::ChangeCap { dataset, cap, spent_at_order } => {
                self.set_cap(&dataset, cap, spent_at_order.map(|spent| spent.rho().clone()));
            }
            Record::Reserve { dataset, adjacency, unit, run, events, private, .. } => {
                if !self.accounts.contains_key(&dataset) {
                    self.open(dataset.clone(), Account::new(adjacency, unit, None));
                }
                if let Some(account) = self.accounts.get_mut(&dataset) {
                    account.charge(cost, events, private);
                }
                self.runs.insert(run, Run { dataset, charged: place.clone(), artefact: None, releases: 0 });
            }
            Record::Resume { run, releases } => {
                if let Some(run) = self.runs.get_mut(&run) {
                    run.releases = releases;
                }
            }
            Record::Complete { run, artefact_sha256 } => {
                if let Some(run) = self.runs.get_mut(&run) {
                    run.artefact = Some(artefact_sha256);
                    if let Some(account) = self.accounts.get_mut(&run.dataset) {
                        account.completed += 1;
                    }
                }
            }
        }
    }

    fn open(&mut self, dataset: DatasetId, account: Account) {
        account.order().into_iter().for_each(|order| self.orders.get_mut().enter(order));
        self.looks.entry(dataset.look()).or_insert_with(|| dataset.clone());
        self.accounts.insert(dataset, account);
    }

    /// Refuses to open an account whose name could be taken for another's. Not a rule for what is read back: earlier
    /// versions opened such accounts.
    pub(super) fn admit_name(&self, record: &Record) -> Fallible<()> {
        let (Record::Open { dataset, .. } | Record::OpenCapped { dataset, .. } | Record::Reserve { dataset, .. }) =
            record
        else {
            return Ok(());
        };
        match self.looks.get(&dataset.look()) {
            Some(known) if !self.accounts.contains_key(dataset) => Err(Error::refused(
                format!("data set \"{dataset}\" is not in the ledger, and \"{known}\", which looks the same, is"),
                "use that name, letter by letter, if they are the same rows; else give this one a name of its own",
            )),
            _ => Ok(()),
        }
    }

    fn set_cap(&mut self, dataset: &DatasetId, cap: Cap, spent_at_order: Option<Rho>) {
        cap.order().into_iter().for_each(|order| self.orders.get_mut().enter(order));
        if let Some(account) = self.accounts.get_mut(dataset) {
            account.set_cap(cap, spent_at_order);
        }
    }

    fn account(&self, dataset: &DatasetId) -> Fallible<&Account> {
        self.accounts.get(dataset).ok_or_else(|| {
            Error::parameter(
                "data set",
                format!("\"{dataset}\" is not in the ledger"),
                "check its name, or open it with `rhograd ledger init`",
            )
        })
    }

    /// Where a run was charged, and the SHA-256 of what it released if it is complete.
    pub(super) fn run(&self, run: &str) -> Option<(&Position, Option<&str>)> {
        self.runs.get(run).map(|run| (&run.charged, run.artefact.as_deref()))
    }

    /// The account of one data set.
    pub(super) fn summary(&self, dataset: &DatasetId) -> Fallible<DatasetSummary> {
        self.account(dataset).map(|account| account.summarize(dataset, &self.head))
    }

    /// The account of the data set that an entry, which has been read, is about.
    pub(super) fn summary_for(&self, record: &Record) -> Fallible<DatasetSummary> {
        match record {
            Record::Open { dataset, .. }
            | Record::OpenCapped { dataset, .. }
            | Record::SetCap { dataset, .. }
            | Record::ChangeCap { dataset, .. }
            | Record::Reserve { dataset, .. } => self.summary(dataset),
            Record::Resume { run, .. } | Record::Complete { run, .. } => match self.runs.get(run) {
                Some(run) => self.summary(&run.dataset),
                None => Err(Error::refused("the run is not in this ledger", "use the ledger that it was charged to")),
            },
        }
    }

    /// The accounts of all data sets, by name.
    pub(super) fn summaries(&self) -> Vec<DatasetSummary> {
        self.accounts.iter().map(|(dataset, account)| account.summarize(dataset, &self.head)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::record::chain_hash;
    use crate::privacy::{Claim, Delta, GaussianCharge, NoiseLaw, PoissonGaussianCharge};

    fn event(count: u64) -> GaussianCharge {
        GaussianCharge { what: "sum".into(), sensitivity: 1, log2_scale: 1, noise: NoiseLaw::FlooredNormal, count }
    }

    fn reserve(run: char, events: Vec<GaussianCharge>, rho: f64) -> Record {
        let events = events.into_iter().map(Into::into).collect();
        Record::Reserve {
            dataset: DatasetId::new("d").unwrap(),
            adjacency: Adjacency::AddRemove,
            unit: PrivacyUnit::Row,
            run: String::from(run).repeat(32),
            at: 0,
            events,
            rho: ExactRho::new(&Rho::from_f64(rho).unwrap()).unwrap(),
            rho_at_order: None,
            private: true,
        }
    }

    /// Adds a record with correct hashes: only the rules can object.
    fn forge(book: &mut Book, record: &Record) -> Result<(), String> {
        let body = record.body().unwrap();
        let Position { sequence, hash } = book.head().clone();
        let own = chain_hash(&hash, sequence + 1, &body);
        book.read(&RawEntry { sequence: sequence as i64 + 1, body: &body, previous: &hash, hash: &own })
    }

    #[test]
    fn a_consistent_chain_that_lies_about_an_order_is_refused() {
        let dataset = || DatasetId::new("d").unwrap();
        let exact = |x: f64| ExactRho::new(&Rho::from_f64(x).unwrap()).unwrap();
        let at = |run: char, stated: Option<f64>| match reserve(run, vec![event(4)], 0.5) {
            Record::Reserve { dataset, adjacency, unit, run, at, events, rho, private, .. } => {
                let rho_at_order = stated.map(exact);
                Record::Reserve { dataset, adjacency, unit, run, at, events, rho, rho_at_order, private }
            }
            other => other,
        };
        let cap = |spent: Option<f64>| {
            let cap = Cap::renyi_rho(&Rho::from_f64(2.0).unwrap(), 8.0).unwrap();
            Record::ChangeCap { dataset: dataset(), cap, spent_at_order: spent.map(exact) }
        };
        let plain = |spent: Option<f64>| {
            let cap = Cap::rho(&Rho::from_f64(2.0).unwrap(), 0.0).unwrap();
            Record::ChangeCap { dataset: dataset(), cap, spent_at_order: spent.map(exact) }
        };
        let mut book = Book::new();
        assert!(forge(&mut book, &at('a', Some(0.5))).is_err(), "no data set, and so no order");
        assert_eq!(forge(&mut book, &at('a', None)), Ok(()));
        for lie in [at('b', Some(0.5)), cap(None), cap(Some(0.4)), plain(Some(0.5))] {
            assert!(forge(&mut book, &lie).is_err(), "{lie:?}");
        }
        assert_eq!(forge(&mut book, &cap(Some(0.5))), Ok(()));
        for lie in [at('b', None), at('b', Some(0.49)), at('b', Some(1.6))] {
            assert!(forge(&mut book, &lie).is_err(), "{lie:?}");
        }
        assert_eq!(forge(&mut book, &at('b', Some(0.75))), Ok(()), "more than it costs is no lie");
        assert_eq!(forge(&mut book, &at('c', Some(0.75))), Ok(()));
        let summary = book.summary(&dataset()).unwrap();
        assert_eq!((summary.left, summary.spent_at_order.map(|rho| rho.upper())), (Some(Rho::zero()), Some(2.0)));
        assert!(forge(&mut book, &at('d', Some(0.5))).is_err());
        assert_eq!(forge(&mut book, &plain(None)), Ok(()));
        // What a claim costs at the order is computed, and a record of less is a lie.
        let blank = Claim { epsilon: 1.0, delta: 1e-6, rho: 1.0 };
        let sampled = GaussianCharge { sensitivity: 1, log2_scale: 2, ..event(100) };
        let sampled = PoissonGaussianCharge { sampled, exponent: 1 << 58, claim: blank };
        let sampled = claim::make(sampled, Adjacency::AddRemove, Delta::new(1e-6).unwrap(), 0.3).unwrap();
        let (charge, rho) = (Charge::from(sampled.clone()), sampled.claim.rho);
        let Record::Reserve { dataset: name, adjacency, unit, .. } = reserve('e', vec![event(1)], 0.5) else {
            panic!()
        };
        let mut other = Book::new();
        let cap = Cap::renyi_rho(&Rho::from_f64(2.0).unwrap(), 8.0).unwrap();
        let opened = Record::OpenCapped { dataset: dataset(), adjacency, unit: unit.clone(), cap };
        assert_eq!(forge(&mut other, &opened), Ok(()));
        let least = claim::rho_at_order(&charge, adjacency, 8.0).unwrap().unwrap();
        assert!(least < rho / 10.0);
        for (stated, fits) in [(least * (1.0 - 1e-9), false), (least, true)] {
            let record = Record::Reserve {
                dataset: name.clone(),
                adjacency,
                unit: unit.clone(),
                run: "e".repeat(32),
                at: 0,
                events: vec![charge.clone()],
                rho: exact(rho),
                rho_at_order: Some(exact(stated)),
                private: true,
            };
            assert_eq!(forge(&mut other, &record).is_ok(), fits, "{stated}");
        }
        assert_eq!(book.summary(&dataset()).unwrap().left, Some(Rho::from_f64(0.5).unwrap()));
    }

    #[test]
    fn a_consistent_chain_that_lies_about_costs_is_refused() {
        let mut book = Book::new();
        assert_eq!(forge(&mut book, &reserve('a', vec![event(4)], 0.5)), Ok(()));
        for lie in [
            reserve('b', vec![event(4)], 0.25),
            reserve('b', vec![event(4)], 0.75),
            reserve('b', vec![], 0.0),
            reserve('b', vec![event(0)], 0.0),
            reserve('b', vec![GaussianCharge { log2_scale: u32::MAX, ..event(1) }], 0.0),
            reserve('a', vec![event(4)], 0.5),
            reserve('Z', vec![event(4)], 0.5),
            Record::Complete { run: "b".repeat(32), artefact_sha256: "0".repeat(64) },
            Record::Complete { run: "a".repeat(32), artefact_sha256: "0".repeat(63) },
        ] {
            let problem = forge(&mut book, &lie).unwrap_err();
            assert!(problem.starts_with("entry 2 is broken"), "{problem}");
        }
        let summary = book.summary(&DatasetId::new("d").unwrap()).unwrap();
        assert_eq!((summary.runs, summary.sequence, summary.left), (1, 1, None));
    }

    #[test]
    fn an_entry_with_a_right_hash_after_another_one_is_refused() {
        let mut book = Book::new();
        let body = reserve('a', vec![event(4)], 0.5).body().unwrap();
        let foreign = "0".repeat(64);
        let hash = chain_hash(&foreign, 1, &body);
        let raw = RawEntry { sequence: 1, body: &body, previous: &foreign, hash: &hash };
        assert!(book.read(&raw).unwrap_err().contains("does not continue"));
        let hash = chain_hash(&book.head().hash, 2, &body);
        let raw = RawEntry { sequence: 2, body: &body, previous: &book.head().hash.clone(), hash: &hash };
        assert_eq!(book.read(&raw), Err("entry 1 is missing".into()));
    }

    #[test]
    fn a_history_that_broke_its_own_cap_is_refused() {
        let mut book = Book::new();
        let dataset = DatasetId::new("d").unwrap();
        let cap = Some(ExactRho::new(&Rho::from_f64(0.5).unwrap()).unwrap());
        forge(&mut book, &Record::Open { dataset, adjacency: Adjacency::AddRemove, unit: PrivacyUnit::Row, cap })
            .unwrap();
        forge(&mut book, &reserve('a', vec![event(4)], 0.5)).unwrap();
        assert!(forge(&mut book, &reserve('b', vec![event(1)], 0.125)).is_err());
    }
}
