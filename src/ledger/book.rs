//! The state that the entries add up to, and the rules by which the next entry may be added.

use std::collections::{BTreeMap, HashMap};

use super::record::{Entry, Position, RawEntry, Record, is_hex};
use crate::accounting::claim;
use crate::error::{Error, Fallible};
use crate::num::round;
use crate::privacy::{Adjacency, Charge, DatasetId, Rho, add_deltas, total_delta, total_rho};

/// Significant digits of a rho in a message.
const SHOWN_DIGITS: u32 = 6;

/// What one data set has spent and may still spend.
///
/// # Privacy
/// A function of public parameters only: nothing here is computed from rows.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetSummary {
    /// The data set.
    pub dataset: DatasetId,
    /// The relation of all its guarantees.
    pub adjacency: Adjacency,
    /// Largest total rho; `None` counts without refusing.
    pub cap: Option<Rho>,
    /// Sum over all runs, completed or not, with secret noise or a fixed seed.
    pub spent: Rho,
    /// Sum of the deltas of runs whose guarantee is approximate zCDP, rounded upward; zero without such runs.
    pub spent_delta: f64,
    /// What the cap still allows, exactly.
    pub left: Option<Rho>,
    /// Runs that were charged.
    pub runs: u64,
    /// Those that released a result.
    pub completed: u64,
    /// Those with a fixed seed, whose output protects nobody.
    pub seeded: u64,
    /// How often a cap was raised after it had been set.
    pub cap_raised: u64,
    /// Hash of the last entry of the whole ledger.
    pub head_hash: String,
    /// Number of entries in the whole ledger.
    pub sequence: u64,
}

#[derive(Debug)]
struct Account {
    adjacency: Adjacency,
    cap: Option<Rho>,
    spent: Rho,
    spent_delta: f64,
    runs: u64,
    completed: u64,
    seeded: u64,
    cap_raised: u64,
}

impl Account {
    fn new(adjacency: Adjacency, cap: Option<Rho>) -> Self {
        Account {
            adjacency,
            cap,
            spent: Rho::zero(),
            spent_delta: 0.0,
            runs: 0,
            completed: 0,
            seeded: 0,
            cap_raised: 0,
        }
    }
}

#[derive(Debug)]
struct Run {
    dataset: DatasetId,
    completed: bool,
    /// Releases that it had made when it last went on after a stop.
    releases: u64,
}

/// Everything that the entries up to `head` say.
#[derive(Debug)]
pub(super) struct Book {
    head: Position,
    accounts: BTreeMap<DatasetId, Account>,
    runs: HashMap<String, Run>,
}

impl Book {
    /// The book of an empty ledger.
    pub(super) fn new() -> Self {
        Book { head: Position::genesis(), accounts: BTreeMap::new(), runs: HashMap::new() }
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
        self.admit(&record).map_err(|error| broken(error.to_string()))?;
        self.apply(record);
        self.head = Position { sequence: next, hash };
        Ok(())
    }

    /// Whether `record` may be the next one.
    ///
    /// The same rules hold for an entry about to be written and for one read back years later.
    pub(super) fn admit(&self, record: &Record) -> Fallible<()> {
        match record {
            Record::Open { dataset, .. } => match self.accounts.get(dataset) {
                None => Ok(()),
                Some(_) => Err(Error::refused(
                    format!("data set \"{dataset}\" is in the ledger already"),
                    "change its cap instead, or give the other data set another \"name\" in its schema",
                )),
            },
            Record::SetCap { dataset, .. } => self.account(dataset).map(|_| ()),
            Record::Reserve { dataset, adjacency, run, events, rho, .. } => {
                if !is_hex(run, 32) || self.runs.contains_key(run) {
                    return Err(Error::parameter("run", "is not a new 128-bit name", "restore a copy of the ledger"));
                }
                let cost = cost_of(events, *adjacency)?;
                if cost != *rho.rho() {
                    return Err(Error::parameter("rho", "is not what the events cost", "restore a copy of the ledger"));
                }
                self.accounts.get(dataset).map_or(Ok(()), |account| afford(dataset, account, *adjacency, &cost))
            }
            Record::Resume { run, releases } => self.admit_resumption(run, *releases),
            Record::Complete { run, artefact_sha256 } => self.admit_completion(run, artefact_sha256),
        }
    }

    fn admit_resumption(&self, run: &str, releases: u64) -> Fallible<()> {
        match self.runs.get(run) {
            Some(Run { completed: true, .. }) => {
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
            Some(Run { completed: false, .. }) => Ok(()),
            Some(_) => Err(Error::refused("the run has released its result already", "reserve again for another run")),
            None => Err(Error::refused("the run is not in this ledger", "reserve and complete in the same ledger")),
        }
    }

    /// Enters an admitted record.
    fn apply(&mut self, record: Record) {
        match record {
            Record::Open { dataset, adjacency, cap } => {
                self.accounts.insert(dataset, Account::new(adjacency, cap.map(|cap| cap.rho().clone())));
            }
            Record::SetCap { dataset, cap } => {
                if let Some(account) = self.accounts.get_mut(&dataset) {
                    account.cap_raised += u64::from(account.cap.as_ref().is_some_and(|old| cap.rho() > old));
                    account.cap = Some(cap.rho().clone());
                }
            }
            Record::Reserve { dataset, adjacency, run, rho, private, events, .. } => {
                let account = self.accounts.entry(dataset.clone()).or_insert_with(|| Account::new(adjacency, None));
                account.spent = account.spent.plus(rho.rho());
                account.spent_delta = add_deltas(account.spent_delta, total_delta(&events));
                account.runs += 1;
                account.seeded += u64::from(!private);
                self.runs.insert(run, Run { dataset, completed: false, releases: 0 });
            }
            Record::Resume { run, releases } => {
                if let Some(run) = self.runs.get_mut(&run) {
                    run.releases = releases;
                }
            }
            Record::Complete { run, .. } => {
                if let Some(run) = self.runs.get_mut(&run) {
                    run.completed = true;
                    if let Some(account) = self.accounts.get_mut(&run.dataset) {
                        account.completed += 1;
                    }
                }
            }
        }
    }

    fn account(&self, dataset: &DatasetId) -> Fallible<&Account> {
        self.accounts.get(dataset).ok_or_else(|| {
            Error::refused(
                format!("data set \"{dataset}\" is not in the ledger"),
                "check its name, or open it with `rhograd ledger init`",
            )
        })
    }

    /// The account of one data set.
    pub(super) fn summary(&self, dataset: &DatasetId) -> Fallible<DatasetSummary> {
        self.account(dataset).map(|account| self.summarise(dataset, account))
    }

    /// The accounts of all data sets, by name.
    pub(super) fn summaries(&self) -> Vec<DatasetSummary> {
        self.accounts.iter().map(|(dataset, account)| self.summarise(dataset, account)).collect()
    }

    fn summarise(&self, dataset: &DatasetId, account: &Account) -> DatasetSummary {
        DatasetSummary {
            dataset: dataset.clone(),
            adjacency: account.adjacency,
            cap: account.cap.clone(),
            spent: account.spent.clone(),
            spent_delta: account.spent_delta,
            left: account.cap.as_ref().map(|cap| cap.minus(&account.spent)),
            runs: account.runs,
            completed: account.completed,
            seeded: account.seeded,
            cap_raised: account.cap_raised,
            head_hash: self.head.hash.clone(),
            sequence: self.head.sequence,
        }
    }
}

/// The cost of all events, recomputed from their integers; what is claimed is confirmed by the accountant.
pub(super) fn cost_of(events: &[Charge], adjacency: Adjacency) -> Fallible<Rho> {
    // Before any arithmetic: the scale of an unchecked event could overflow an exponent.
    events.iter().try_for_each(Charge::check)?;
    let mut confirmed: Vec<&Charge> = Vec::new();
    for event in events.iter().filter(|event| event.claim().is_some() || event.delta() > 0.0) {
        // Once is enough for a claim that is made many times.
        if !confirmed.contains(&event) {
            claim::confirm(event, adjacency)?;
            confirmed.push(event);
        }
    }
    let cost = total_rho(events)?;
    if cost == Rho::zero() {
        return Err(Error::parameter("events", "release nothing", "reserve for the events that the run will make"));
    }
    Ok(cost)
}

/// Refuses another relation, and a cost that would lift the total above the cap.
fn afford(dataset: &DatasetId, account: &Account, adjacency: Adjacency, cost: &Rho) -> Fallible<()> {
    let counted = account.adjacency;
    if adjacency != counted {
        return Err(Error::refused(
            format!(
                "data set \"{dataset}\" is counted under {counted}, and guarantees under {adjacency} cannot be added"
            ),
            format!("use --adjacency {counted}"),
        ));
    }
    match &account.cap {
        Some(cap) if account.spent.plus(cost) > *cap => Err(Error::refused(
            format!(
                "data set \"{dataset}\" has rho {} left of its cap {}, and this run costs {}",
                shown_down(&cap.minus(&account.spent)),
                shown_down(cap),
                cost.as_dyadic().to_decimal_up(SHOWN_DIGITS),
            ),
            "spend at most what is left (--rho or a smaller --epsilon), or raise the cap, which is recorded",
        )),
        _ => Ok(()),
    }
}

/// A decimal that reads back as a float not above `rho`, so that typing it in is allowed.
fn shown_down(rho: &Rho) -> String {
    // Rounding the negative number up is rounding its size down.
    round::decimal_up(-rho.lower(), SHOWN_DIGITS).trim_start_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::record::{ExactRho, chain_hash};
    use crate::privacy::{GaussianEvent, NoiseLaw};

    fn event(count: u64) -> GaussianEvent {
        GaussianEvent { what: "sum".into(), sensitivity: 1, log2_scale: 1, noise: NoiseLaw::FlooredNormal, count }
    }

    fn reserve(run: char, events: Vec<GaussianEvent>, rho: f64) -> Record {
        let events = events.into_iter().map(Into::into).collect();
        Record::Reserve {
            dataset: DatasetId::new("d").unwrap(),
            adjacency: Adjacency::AddRemove,
            run: String::from(run).repeat(32),
            at: 0,
            events,
            rho: ExactRho::new(&Rho::from_f64(rho).unwrap()).unwrap(),
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
    fn a_consistent_chain_that_lies_about_costs_is_refused() {
        let mut book = Book::new();
        assert_eq!(forge(&mut book, &reserve('a', vec![event(4)], 0.5)), Ok(()));
        for lie in [
            reserve('b', vec![event(4)], 0.25),
            reserve('b', vec![event(4)], 0.75),
            reserve('b', vec![], 0.0),
            reserve('b', vec![event(0)], 0.0),
            reserve('b', vec![GaussianEvent { log2_scale: u32::MAX, ..event(1) }], 0.0),
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
        forge(&mut book, &Record::Open { dataset, adjacency: Adjacency::AddRemove, cap }).unwrap();
        forge(&mut book, &reserve('a', vec![event(4)], 0.5)).unwrap();
        assert!(forge(&mut book, &reserve('b', vec![event(1)], 0.125)).is_err());
    }

    #[test]
    fn what_is_left_is_printed_downwards() {
        for x in [1.3049e-7, 0.1, 1.0 / 3.0, 2.0, 123_456.789, 0.999_999_99] {
            let rho = Rho::from_f64(x).unwrap();
            let typed = Rho::from_f64(shown_down(&rho).parse().unwrap()).unwrap();
            assert!(typed <= rho && typed.upper() >= x * (1.0 - 1e-5), "{x}");
        }
        assert_eq!(shown_down(&Rho::zero()), "0");
        assert_eq!(shown_down(&Rho::from_f64(1.0).unwrap()), "1");
    }
}
