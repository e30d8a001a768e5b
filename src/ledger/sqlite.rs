//! The ledger itself: every change is one entry in one transaction, checked before and after it is written.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rand::TryRngCore;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::Reservation;
use super::account::DatasetSummary;
use super::book::Book;
use super::cap::{Cap, Cost, exact};
use super::exact_rho::ExactRho;
use super::file::{self, failed};
use super::place;
use super::record::{Entry, Position, RawEntry, Record, chain_hash, hex};
use crate::error::{Error, Fallible, no_randomness};
use crate::privacy::{Charge, DatasetId, Rho, Scope};

/// An open ledger.
///
/// Several programs may have the same file open. Each change waits for its turn, up to 30 seconds, and
/// sees all changes before it.
#[derive(Debug)]
pub struct Ledger {
    connection: Connection,
    /// What the entries read so far add up to. Entries of other programs are read before each answer.
    book: Book,
    path: PathBuf,
    durable: bool,
}

/// The result of a full check in which nothing was wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifyReport {
    /// The last entry; its number is the number of entries.
    pub head: Position,
    /// The accounts, recomputed from the events of every entry.
    pub datasets: Vec<DatasetSummary>,
}

impl Ledger {
    /// Opens the ledger at `path`, and makes an empty one, readable by its owner only, if nothing is there.
    ///
    /// # Errors
    /// When the file is not a ledger of this format, cannot be created or written, or any entry is broken.
    pub fn open_or_create(path: impl AsRef<Path>) -> Fallible<Self> {
        let path = path.as_ref();
        let ledger = Self::open_by(path, file::open_or_create)?;
        place::note(path);
        Ok(ledger)
    }

    /// Opens the ledger at `path` and checks all its entries.
    ///
    /// # Errors
    /// When the file is missing, is not a ledger of this format, cannot be written, or any entry is
    /// broken. The file is left as it is.
    pub fn open_existing(path: impl AsRef<Path>) -> Fallible<Self> {
        let path = path.as_ref();
        let ledger = Self::open_by(path, file::open_existing)?;
        // Where every entry is whole; a ledger of an earlier version has none yet.
        place::note(path);
        Ok(ledger)
    }

    /// Opens the ledger at `path` to be read, and checks all its entries.
    ///
    /// Neither the file nor its folder need be writable. Where a write was cut off, it is undone first if that is possible.
    ///
    /// # Errors
    /// When the file is missing, is not a ledger of this format, or any entry is broken. Every change of this ledger is refused.
    pub fn open_to_read(path: impl AsRef<Path>) -> Fallible<Self> {
        let path = path.as_ref();
        Self::open_by(path, file::open_to_read)
    }

    fn open_by(path: &Path, open: impl Fn(&Path) -> Fallible<Connection>) -> Fallible<Self> {
        file::twice(path, || Self::read(open(path)?, path, true))
    }

    /// What the custodian should know about the place of the file: that it lies in memory, or on a network.
    pub fn warning(&self) -> Option<String> {
        if self.durable { place::warning(&self.path) } else { None }
    }

    /// A ledger that is forgotten when it is dropped: for tests, experiments and runs that are told to
    /// keep no record.
    ///
    /// # Privacy
    /// Enforces caps between the runs of this one object only. Its reservations have no
    /// [`Reservation::position`], so that no model can claim to be recorded.
    ///
    /// # Errors
    /// When memory is short.
    pub fn in_memory() -> Fallible<Self> {
        let name = Path::new("(in memory)");
        Self::read(file::in_memory(name)?, name, false)
    }

    fn read(connection: Connection, path: &Path, durable: bool) -> Fallible<Self> {
        let mut ledger = Ledger { connection, book: Book::new(), path: path.to_owned(), durable };
        ledger.refresh()?;
        Ok(ledger)
    }

    /// The file; `None` if the ledger lives in memory only.
    pub fn path(&self) -> Option<&Path> {
        self.durable.then_some(self.path.as_path())
    }

    /// Enters a data set with its relation, its unit and, if wanted, a cap.
    ///
    /// # Errors
    /// When the data set is in the ledger already, or the entry cannot be written.
    pub fn init(&mut self, scope: &Scope, cap: Option<&Cap>) -> Fallible<()> {
        let Scope { dataset, adjacency, unit } = scope.clone();
        self.append(&match cap {
            None => Record::Open { dataset, adjacency, unit, cap: None },
            Some(cap) => Record::OpenCapped { dataset, adjacency, unit, cap: cap.clone() },
        })
    }

    /// Changes the cap of a data set; a cap below what is spent refuses every further run.
    ///
    /// # Privacy
    /// A raise is counted in [`DatasetSummary::cap_raised`] for good: from then on the runs together
    /// guarantee the new cap only. Either number larger is a raise, and so is a Gaussian cap that gives way to zCDP, and a Renyi
    /// cap in the place of any other but one at the same order.
    ///
    /// # Errors
    /// When the data set is unknown, a Gaussian cap is to cover runs that were not Gaussian or a Renyi cap runs without a finite
    /// divergence at its order, or the entry cannot be written.
    pub fn set_cap(&mut self, dataset: &DatasetId, cap: &Cap) -> Fallible<()> {
        // Computed before the file is locked, as far as it is known by now; under the lock it is looked up.
        self.refresh()?;
        self.book.admit_new_cap(cap)?;
        self.book.spent_at_order(dataset, cap)?;
        self.append_made(|book| {
            let spent_at_order = book.spent_at_order(dataset, cap)?;
            Ok(Record::ChangeCap { dataset: dataset.clone(), cap: cap.clone(), spent_at_order })
        })
    }

    /// Whether the cap would now allow runs of this cost; nothing is charged.
    ///
    /// `gaussian` says that all their releases are continuous Gaussian noise on all rows.
    ///
    /// # Errors
    /// As the refusal of [`Ledger::reserve`] would be; under a Renyi cap also where only the claim has a delta, for the releases themselves are
    /// not known here.
    pub fn affords(&mut self, scope: &Scope, rho: &Rho, delta: f64, gaussian: bool) -> Fallible<()> {
        self.refresh()?;
        // Plain zCDP bounds the divergence at every order; what fails with a probability has none.
        let rho_at_order = (delta == 0.0).then(|| rho.clone());
        let cost = Cost { rho: rho.clone(), delta: exact(delta)?, gaussian, rho_at_order };
        self.book.afford(scope, &cost)
    }

    /// Charges the whole cost of a run, which is recomputed from the integers of `events`.
    ///
    /// `private` is `false` for a run with a fixed seed. It is charged all the same.
    ///
    /// # Privacy
    /// When this returns, the charge is on the disk; only then may noise be drawn. No failure, crash or
    /// refusal later on gives anything back. Sums are compared with the cap exactly, and all runs on
    /// the data set together satisfy the cap under its relation.
    ///
    /// # Errors
    /// When the cap does not allow the cost, the data set is counted under another relation or by another unit, the events
    /// are invalid or release nothing, or the entry cannot be written. The budget may then be spent
    /// already, but nothing may be released.
    ///
    /// # Reference
    /// Whitehouse, Ramdas, Rogers and Wu 2023: a filter with a fixed cap.
    pub fn reserve<C: Clone + Into<Charge>>(
        &mut self,
        scope: &Scope,
        events: &[C],
        private: bool,
    ) -> Fallible<Reservation> {
        self.reserve_as(&random_name()?, scope, events, private)
    }

    /// Charges a run whose name was drawn and written down before, as [`Ledger::reserve`] does: whoever is stopped in between finds
    /// the charge by it.
    ///
    /// # Errors
    /// When [`Ledger::reserve`] would refuse, and where the name is not new.
    pub(crate) fn reserve_as<C: Clone + Into<Charge>>(
        &mut self,
        run: &str,
        scope: &Scope,
        events: &[C],
        private: bool,
    ) -> Fallible<Reservation> {
        let events: Vec<Charge> = events.iter().cloned().map(Into::into).collect();
        let rho = self.book.cost_of(&events, scope.adjacency)?.rho;
        // Computed before the file is locked; under the lock it is looked up.
        self.book.rho_at_order(scope, &events)?;
        let run = run.to_owned();
        self.append_made(|book| {
            Ok(Record::Reserve {
                dataset: scope.dataset.clone(),
                adjacency: scope.adjacency,
                unit: scope.unit.clone(),
                run: run.clone(),
                at: now(),
                events: events.clone(),
                rho: ExactRho::new(&rho)?,
                rho_at_order: book.rho_at_order(scope, &events)?,
                private,
            })
        })?;
        let position = self.durable.then(|| self.book.head().clone());
        Ok(Reservation { scope: scope.clone(), rho, run, private, position })
    }

    /// The receipt of a run that was charged before and stopped, so that it can go on.
    ///
    /// `releases` is the number of releases that it made and kept.
    ///
    /// # Privacy
    /// Nothing is charged: the whole run was. Whatever it had drawn and not kept is made again with fresh noise, and only
    /// one of the two is ever part of a result, since a run completes once. A run that goes on with fewer releases than it
    /// had when it last went on is refused.
    ///
    /// # Errors
    /// When the ledger holds no such charge at this position, the run is complete, or the entry cannot be written.
    pub fn resume(
        &mut self,
        scope: &Scope,
        events: &[Charge],
        private: bool,
        run: &str,
        position: &Position,
        releases: u64,
    ) -> Fallible<Reservation> {
        let rho = self.book.cost_of(events, scope.adjacency)?.rho;
        let held = self.entry(position.sequence)?.filter(|entry| entry.hash == position.hash);
        let same = held.is_some_and(|entry| match entry.record {
            Record::Reserve { dataset, adjacency, unit, run: charged, events: paid, private: secret, .. } => {
                Scope { dataset, adjacency, unit } == *scope && charged == run && paid == events && secret == private
            }
            _ => false,
        });
        if !same {
            return Err(Error::refused(
                "the ledger holds no charge for this run with these releases",
                "use the ledger, the data, the schema and the flags that the run was started with",
            ));
        }
        self.append(&Record::Resume { run: run.to_owned(), releases })?;
        let position = Some(position.clone());
        Ok(Reservation { scope: scope.clone(), rho, run: run.to_owned(), private, position })
    }

    /// Where a run was charged, and the SHA-256 of what it released if it is complete; `None` for a run that this ledger does
    /// not hold, and for every run of a ledger in memory.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub(crate) fn charge_of(&mut self, run: &str) -> Fallible<Option<(Position, Option<String>)>> {
        self.refresh()?;
        let held = self.book.run(run).filter(|_| self.durable);
        Ok(held.map(|(charged, artefact)| (charged.clone(), artefact.map(String::from))))
    }

    /// What the run that was charged by the entry with this number costs, rounded upward.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub(crate) fn cost_of_run(&mut self, sequence: u64) -> Fallible<Option<f64>> {
        Ok(self.entry(sequence)?.and_then(|entry| match entry.record {
            Record::Reserve { rho, .. } => Some(rho.rho().upper()),
            _ => None,
        }))
    }

    /// Notes that a run has released the file with this SHA-256, unless that is noted already.
    ///
    /// # Privacy
    /// One charge pays for one result: where another one is noted, this one may not be shown.
    ///
    /// # Errors
    /// When the run is unknown or has released something else, or the entry cannot be written.
    pub(crate) fn settle(&mut self, run: &str, artefact_sha256: &str) -> Fallible<()> {
        self.refresh()?;
        match self.book.run(run) {
            Some((_, Some(noted))) if noted == artefact_sha256 => Ok(()),
            Some((_, Some(_))) => Err(Error::refused(
                "the run has released another result already",
                "use that one: a charge pays for one result, and this one stays unseen",
            )),
            _ => self.append(&Record::Complete { run: run.to_owned(), artefact_sha256: artefact_sha256.to_owned() }),
        }
    }

    /// Notes that a run has released the file with this SHA-256 (64 lower-case hexadecimal digits).
    ///
    /// [`crate::train::train`] does so for every run that it makes.
    ///
    /// # Errors
    /// When the run is unknown or complete already, or the entry cannot be written.
    pub fn complete(&mut self, reservation: &Reservation, artefact_sha256: &str) -> Fallible<()> {
        let run = reservation.run().to_owned();
        self.append(&Record::Complete { run, artefact_sha256: artefact_sha256.to_owned() })
    }

    /// The account of one data set.
    ///
    /// # Errors
    /// When the data set is unknown or the ledger cannot be read.
    pub fn summary(&mut self, dataset: &DatasetId) -> Fallible<DatasetSummary> {
        self.refresh()?;
        self.book.summary(dataset)
    }

    /// The account of one data set as it stood after the entry with this number.
    ///
    /// # Errors
    /// When the data set was unknown then, or the ledger cannot be read.
    pub fn summary_at(&mut self, dataset: &DatasetId, sequence: u64) -> Fallible<DatasetSummary> {
        let mut book = self.book.restarted();
        read_until(&self.connection, &mut book, sequence, &self.path, &mut |_, _| Ok(()))?;
        book.summary(dataset)
    }

    /// Every entry in order, each with the account of its data set as it stood right after it.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    ///
    /// # Privacy
    /// A function of public parameters, like the ledger itself.
    pub fn history(&mut self) -> Fallible<Vec<(Entry, DatasetSummary)>> {
        let mut history = Vec::new();
        let mut book = self.book.restarted();
        read_until(&self.connection, &mut book, u64::MAX, &self.path, &mut |book, raw| {
            let entry = raw.check().map_err(|why| Error::ledger(&self.path, why))?;
            let summary = book.summary_for(&entry.record)?;
            history.push((entry, summary));
            Ok(())
        })?;
        Ok(history)
    }

    /// The accounts of all data sets, by name.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn summaries(&mut self) -> Fallible<Vec<DatasetSummary>> {
        self.refresh()?;
        Ok(self.book.summaries())
    }

    /// The last entry.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn head(&mut self) -> Fallible<Position> {
        self.refresh()?;
        Ok(self.book.head().clone())
    }

    /// The entry with this number, counted from 1.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn entry(&mut self, sequence: u64) -> Fallible<Option<Entry>> {
        self.refresh()?;
        let Ok(wanted) = i64::try_from(sequence) else { return Ok(None) };
        let sql = "SELECT sequence, body, previous, hash FROM entries WHERE sequence = ?1";
        let entry = self.connection.query_row(sql, [wanted], |row| Ok(raw(row)?.check())).optional();
        match entry.map_err(failed(&self.path))? {
            None => Ok(None),
            Some(Ok(entry)) => Ok(Some(entry)),
            Some(Err(why)) => Err(Error::ledger(&self.path, format!("entry {sequence} is broken: {why}"))),
        }
    }

    /// Whether the history contains this entry.
    ///
    /// `false` for a position that a model carries means that the ledger was rolled back, or is another.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn contains(&mut self, sequence: u64, hash: &str) -> Fallible<bool> {
        Ok(self.entry(sequence)?.is_some_and(|entry| entry.hash == hash))
    }

    /// Reads the file from its first byte: pages, chain, and the cost of every entry from its events.
    ///
    /// # Errors
    /// When anything is wrong; the message names the first bad entry.
    pub fn verify(&mut self) -> Fallible<VerifyReport> {
        // Finds an older copy in the place of the file: what was read once must still be there.
        self.refresh()?;
        self.book = match self.read_afresh() {
            // A fault of reading can look like damage, and stays with the connection that met it.
            Err(found) if self.durable && file::is_damage(&found) => match self.read_again() {
                Err(again) if file::is_damage(&again) => return Err(found),
                done => done?,
            },
            done => done?,
        };
        Ok(VerifyReport { head: self.book.head().clone(), datasets: self.book.summaries() })
    }

    /// Reads the file anew, with eyes that have seen nothing.
    fn read_again(&self) -> Fallible<Book> {
        Self::read(file::open_to_read(&self.path)?, &self.path, true)?.read_afresh()
    }

    fn read_afresh(&self) -> Fallible<Book> {
        forget_pages(&self.connection, &self.path)?;
        let mut fresh = Book::new();
        catch_up(&self.connection, &mut fresh, &self.path)?;
        let pages: String = self
            .connection
            .pragma_query_value(None, "integrity_check", |row| row.get(0))
            .map_err(failed(&self.path))?;
        match pages.as_str() {
            "ok" => Ok(fresh),
            // SQLite tells a page that it could not read like one that is wrong, but for the number of the error.
            unread if unread.contains("error code 10") || unread.contains("disk I/O error") => {
                Err(Error::ledger(&self.path, format!("could not be read ({unread}); try again, and check the disk")))
            }
            _ => Err(Error::ledger(&self.path, format!("its file is damaged ({pages}); restore a copy"))),
        }
    }

    fn refresh(&mut self) -> Fallible<()> {
        forget_pages(&self.connection, &self.path)?;
        catch_up(&self.connection, &mut self.book, &self.path)
    }

    /// Adds one entry, durably.
    fn append(&mut self, record: &Record) -> Fallible<()> {
        self.append_made(|_| Ok(record.clone()))
    }

    /// Adds one entry that follows from all before it, durably.
    fn append_made(&mut self, make: impl FnOnce(&Book) -> Fallible<Record>) -> Fallible<()> {
        let Ledger { connection, book, path, .. } = self;
        forget_pages(connection, path)?;
        // Immediate: the lock is taken before the tail is read, so nobody spends the same budget twice.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed(path))?;
        catch_up(&transaction, book, path)?;
        let record = make(book)?;
        let body = record.body()?;
        book.admit_name(&record)?;
        book.admit(&record)?;
        let written = insert(&transaction, book.head(), &body)
            .map_err(failed(path))
            // Reads back what was written, so that no entry is committed that would be refused later.
            .and_then(|()| catch_up(&transaction, book, path))
            .and_then(|()| transaction.commit().map_err(failed(path)));
        if written.is_err() {
            // The book may be ahead of the file, or behind it: start again from the first entry.
            *book = book.restarted();
        }
        written
    }
}

/// Makes the next query read the disk.
///
/// SQLite trusts its copies of pages while a counter in the file stands still, and the counters of two
/// branches of one history can agree.
fn forget_pages(connection: &Connection, path: &Path) -> Fallible<()> {
    connection.execute_batch("PRAGMA shrink_memory").map_err(failed(path))
}

/// Reads and checks the entries up to `sequence` into an empty book, and shows each with what the book says then.
fn read_until(
    connection: &Connection,
    book: &mut Book,
    sequence: u64,
    path: &Path,
    each: &mut dyn FnMut(&Book, &RawEntry<'_>) -> Fallible<()>,
) -> Fallible<()> {
    let broken = |problem: String| Error::ledger(path, format!("{problem}; restore a copy that holds every run"));
    let sql = "SELECT sequence, body, previous, hash FROM entries WHERE sequence <= ?1 ORDER BY sequence";
    let mut statement = connection.prepare_cached(sql).map_err(failed(path))?;
    let mut rows = statement.query([i64::try_from(sequence).unwrap_or(i64::MAX)]).map_err(failed(path))?;
    while let Some(row) = rows.next().map_err(failed(path))? {
        let entry = raw(row).map_err(failed(path))?;
        book.read(&entry).map_err(broken)?;
        each(book, &entry)?;
    }
    Ok(())
}

/// Reads and checks the entries that came after the last one in `book`.
fn catch_up(connection: &Connection, book: &mut Book, path: &Path) -> Fallible<()> {
    let broken = |problem: String| Error::ledger(path, format!("{problem}; restore a copy that holds every run"));
    let sql = "SELECT sequence, body, previous, hash FROM entries WHERE sequence >= ?1 ORDER BY sequence";
    let mut statement = connection.prepare_cached(sql).map_err(failed(path))?;
    let known = book.head().sequence;
    // One query, hence one snapshot, for the last known entry and those after it. From the very
    // beginning at first, so that no entry hides below number 1.
    let from = if known == 0 { i64::MIN } else { i64::try_from(known).unwrap_or(i64::MAX) };
    let mut rows = statement.query([from]).map_err(failed(path))?;
    if known > 0 {
        let first = rows.next().map_err(failed(path))?;
        let same = |row| raw(row).is_ok_and(|it| it.sequence == from && it.hash == book.head().hash);
        if !first.is_some_and(same) {
            return Err(broken(format!("entry {known} is not the one that was read before")));
        }
    }
    while let Some(row) = rows.next().map_err(failed(path))? {
        let unreadable = |error| broken(format!("entry {} is broken: {error}", book.head().sequence + 1));
        let entry = raw(row).map_err(unreadable)?;
        book.read(&entry).map_err(broken)?;
    }
    Ok(())
}

fn raw<'a>(row: &'a rusqlite::Row<'_>) -> rusqlite::Result<RawEntry<'a>> {
    let text = |column: usize| row.get_ref(column).and_then(|value| Ok(value.as_str()?));
    Ok(RawEntry { sequence: row.get(0)?, body: text(1)?, previous: text(2)?, hash: text(3)? })
}

fn insert(connection: &Connection, head: &Position, body: &str) -> rusqlite::Result<()> {
    let next = head.sequence + 1;
    let hash = chain_hash(&head.hash, next, body);
    // An out-of-range number becomes one that the trigger refuses.
    let sequence = i64::try_from(next).unwrap_or(-1);
    let sql = "INSERT INTO entries (sequence, body, previous, hash) VALUES (?1, ?2, ?3, ?4)";
    connection.prepare_cached(sql)?.execute((sequence, body, &head.hash, &hash)).map(|_| ())
}

/// 128 bits from the operating system: unlike a counter, two copies of a ledger never give the same name.
pub(crate) fn random_name() -> Fallible<String> {
    let mut bytes = [0; 16];
    rand::rngs::OsRng.try_fill_bytes(&mut bytes).map_err(|error| no_randomness(&error))?;
    Ok(hex(&bytes))
}

/// Seconds since 1970; a clock set before that gives 0, since the time is only for readers.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::{Adjacency, GaussianCharge, NoiseLaw};
    use std::time::Instant;

    fn scope() -> Scope {
        Scope::of_rows(DatasetId::new("d").unwrap(), Adjacency::AddRemove)
    }

    fn events() -> Vec<GaussianCharge> {
        let what = "clipped gradient sum".to_owned();
        let noise = NoiseLaw::FlooredNormal;
        vec![GaussianCharge { what, sensitivity: 34_769_610_577, log2_scale: 40, noise, count: 100 }]
    }

    #[test]
    fn a_ledger_without_room_recovers_when_there_is_some() {
        let mut ledger = Ledger::in_memory().unwrap();
        ledger.connection.pragma_update(None, "max_page_count", 20).unwrap();
        let mut made = 0;
        let error = loop {
            match ledger.reserve(&scope(), &events(), true) {
                Ok(_) => made += 1,
                Err(error) => break error,
            }
        };
        assert!(made > 10 && error.to_string().contains("free some space"), "{made}: {error}");
        assert_eq!(ledger.summary(&scope().dataset).unwrap().runs, made);
        ledger.connection.pragma_update(None, "max_page_count", 1000).unwrap();
        ledger.reserve(&scope(), &events(), true).unwrap();
        assert_eq!(ledger.verify().unwrap().datasets[0].runs, made + 1);
    }

    #[test]
    fn ten_thousand_entries_open_quickly() {
        let mut ledger = Ledger::in_memory().unwrap();
        for _ in 0..5_000 {
            let reservation = ledger.reserve(&scope(), &events(), true).unwrap();
            ledger.complete(&reservation, &"ab".repeat(32)).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        ledger.connection.execute("VACUUM INTO ?1", [path.to_str().unwrap()]).unwrap();
        let start = Instant::now();
        let mut again = Ledger::open_existing(&path).unwrap();
        let taken = start.elapsed();
        println!("opened in {taken:?}");
        assert_eq!(again.head().unwrap(), ledger.head().unwrap());
        // Far above what it takes, so that a busy machine does not fail it.
        assert!(taken.as_secs() < 2, "{taken:?}");
    }
}
