//! Loading: from a request and a file to a data set behind the gate, with its plan.

use std::time::Instant;

use serde_json::json;

use super::config::TrainConfig;
use super::files::sha256_hex;
use super::findings::{Finding, findings};
use super::plan::{Plan, Planner, scope_of};
use crate::data::{CsvFile, Schema, Table, Unit};
use crate::error::{Error, Fallible};
use crate::grid::Shape;
use crate::kernel::{Persons, WeightedRows};
use crate::optim::{Algorithm, Planned};
use crate::preprocess::{
    CacheUse, EncodedRows, EncodedTable, Encoder, LoadReport, MemoryLimit, Progress, RowCache, TableEncoder,
    offset_bounds, shape_of,
};
use crate::privacy::PrivacyUnit;
use crate::private::{Cluster, PrivateDataset, RemoteRows, Store};

/// A data set behind the gate, with its plan; nothing has been charged or released yet.
pub struct Loaded {
    pub(super) schema: Schema,
    pub(super) dataset: PrivateDataset,
    pub(super) plan: Plan,
    /// Digest of what was asked for.
    pub(super) request: String,
    /// What the custodian may know about the load; custodian-only.
    pub report: LoadReport,
    /// What the cache did, where one was asked for; custodian-only.
    pub cache: Option<CacheUse>,
    /// Whether the rows stay in a file and every pass reads them from there; custodian-only.
    pub streamed: bool,
    /// Seconds of reading and encoding; custodian-only.
    pub load_seconds: f64,
}

impl Loaded {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What the load found, worst first; custodian-only. `place` as in [`findings`].
    pub fn findings(&self, place: &str) -> Vec<Finding> {
        findings(&self.schema, &self.report, place)
    }

    /// What tells the rows from others, where they are in memory or with workers; custodian-only.
    pub fn rows_digest(&self) -> Option<String> {
        self.dataset.digest()
    }

    /// Digest of what was asked for, by which the checkpoint of a run can be named.
    pub fn request_digest(&self) -> &str {
        &self.request
    }
}

/// Checks the request, reads and encodes the file, and plans the run.
///
/// `progress` hears `(bytes done, bytes in all)`; its error ends the load, before anything is charged.
///
/// # Errors
/// When the request, the schema or the header of the file cannot be used.
pub fn load(
    config: &TrainConfig,
    schema: Schema,
    file: &CsvFile,
    progress: &(dyn Fn(u64, u64) -> Fallible<()> + Sync),
) -> Fallible<Loaded> {
    load_cached(config, schema, file, None, progress)
}

/// Reads a file and plans a run, with the encoded rows taken from a cache where it fits, and kept there where it does not.
///
/// # Errors
/// When the request, the schema or the header of the file cannot be used.
pub fn load_cached(
    config: &TrainConfig,
    schema: Schema,
    file: &CsvFile,
    cache: Option<&RowCache>,
    progress: &(dyn Fn(u64, u64) -> Fallible<()> + Sync),
) -> Fallible<Loaded> {
    if cache.is_some() {
        refuse_in_memory(&schema, "--cache", "leave it out")?;
    }
    let places = Places { algorithm: config.algorithm, cache, limit: None };
    read(config, schema, file, &places, progress, &|schema, public_len| Plan::new(config, schema, public_len))
}

/// Reads a file and plans a run, with no more memory for rows than a limit.
///
/// The rows go line by line to the cache, or to a temporary file without a name that is gone when training ends. Where
/// they fit the limit they are then read as a whole; else every pass streams them from the file. Neither changes any bit
/// of what is released.
///
/// # Errors
/// When the request, the schema or the header of the file cannot be used, when the algorithm needs all rows at hand, and when
/// the rows cannot be written: a full disk is the one
/// fault that their number decides.
pub fn load_within(
    config: &TrainConfig,
    schema: Schema,
    file: &CsvFile,
    cache: Option<&RowCache>,
    limit: MemoryLimit,
    progress: &(dyn Fn(u64, u64) -> Fallible<()> + Sync),
) -> Fallible<Loaded> {
    refuse_at_hand(config, "--memory-limit", "leave it out")?;
    refuse_in_memory(&schema, "--memory-limit", "leave it out")?;
    let places = Places { algorithm: config.algorithm, cache, limit: Some(limit) };
    read(config, schema, file, &places, progress, &|schema, public_len| {
        let plan = Plan::new(config, schema, public_len)?;
        only_sums(&plan, "--memory-limit", "leave it out").map(|()| plan)
    })
}

/// Plans a run on rows on other machines: encoded there by the same schema, see [`crate::private::Worker`].
///
/// # Privacy
/// What is released has the same bits as if all rows were here. Workers hold rows and answer with sums; budget, noise and
/// releases stay here.
///
/// # Errors
/// When the request or the schema cannot be used, the algorithm needs all rows at hand, or a part does not answer.
pub fn load_remote(config: &TrainConfig, schema: Schema, cluster: Box<dyn Cluster>) -> Fallible<Loaded> {
    config.check(&schema)?;
    refuse_at_hand(config, "cluster", "train on one machine")?;
    refuse_in_memory(&schema, "cluster", "train on one machine")?;
    let started = Instant::now();
    let plan = |schema: &Schema, public_len: Option<u64>| plan_of_sums(config, schema, public_len);
    refuse_early(config, &schema, &plan)?;
    let (rows, report) = RemoteRows::new(cluster, &schema)?;
    planned(config, schema, (rows.into(), report, None), &plan, started)
}

/// The plan of a run on rows of other machines.
///
/// # Errors
/// When it asks them for more than sums.
pub(super) fn plan_of_sums(config: &TrainConfig, schema: &Schema, public_len: Option<u64>) -> Fallible<Plan> {
    let plan = Plan::new(config, schema, public_len)?;
    only_sums(&plan, "cluster", "train on one machine").map(|()| plan)
}

/// Encoded rows as they go behind the gate: by person, where persons are protected, and by weight, where they have some.
pub(super) fn grouped(schema: &Schema, encoded: EncodedRows) -> Store {
    if schema.weight.is_some() {
        return WeightedRows::gather(&encoded.rows, offset_bounds(schema)).into();
    }
    let max_rows = schema.unit.as_ref().map_or(Unit::DEFAULT_MAX_ROWS, Unit::max_rows);
    match encoded.persons {
        None => encoded.rows.into(),
        Some(persons) => Persons::gather(encoded.rows, &persons, max_rows).into(),
    }
}

/// Refuses, before a row is looked at, rows with weights, or with public columns, where these are not built.
pub(super) fn refuse_in_memory(schema: &Schema, who: &str, without: &str) -> Fallible<()> {
    let what = match (&schema.weight, schema.public_columns().next()) {
        (None, None) => return Ok(()),
        (Some(_), _) => "weights",
        (None, Some(_)) => "public columns",
    };
    Err(Error::parameter(who, format!("cannot serve rows with {what}, which are kept in memory alone"), without))
}

/// Refuses, before a row is looked at, an algorithm that says it needs them at hand.
fn refuse_at_hand(config: &TrainConfig, who: &str, without: &str) -> Fallible<()> {
    match config.tune.is_empty() && config.algorithm.description().needs.rows_at_hand {
        true => Err(needs_rows(config.algorithm, who, without)),
        false => Ok(()),
    }
}

fn needs_rows(algorithm: Algorithm, who: &str, without: &str) -> Error {
    let problem = format!("cannot serve --algorithm {}, which needs all rows at hand", algorithm.name());
    Error::parameter(who, problem, format!("{without}, or use --algorithm auto, whitened or dp-gd"))
}

/// Refuses plans that rows in a file or on other machines cannot serve, whether or not they will be there: how many there are
/// must not decide. `who` cannot serve them, and `without` is what would.
fn only_sums(plan: &Plan, who: &str, without: &str) -> Fallible<()> {
    let refused = |what: &str, cure: &str| {
        Err(Error::parameter(who, format!("cannot serve {what}"), format!("{without}, or {cure}")))
    };
    if plan.bins.is_some() && plan.scope.unit.is_person() {
        let cure = "use --features linear, or protect rows";
        return refused("additive effects of persons, whose columns are cut into intervals in memory alone", cure);
    }
    if plan.optimizer.planned().iter().all(Planned::is_streamable) {
        return Ok(());
    }
    match plan.algorithm {
        Algorithm::Tuned => refused("--tune, or one of its candidates", "train one of them with --algorithm"),
        algorithm => Err(needs_rows(algorithm, who, without)),
    }
}

/// Where rows may be kept.
struct Places<'a> {
    /// Which trains on the rows, in an encoding of its own perhaps.
    algorithm: Algorithm,
    cache: Option<&'a RowCache>,
    limit: Option<MemoryLimit>,
}

impl Places<'_> {
    /// The encoded rows of a file, by person where the schema has a unit.
    fn rows(&self, schema: &Schema, file: &CsvFile, encoder: &Encoder, hear: &Progress<'_>) -> Fallible<Read> {
        let by_person = schema.unit.is_some();
        let folder = std::env::temp_dir();
        let (rows, report, used) = match (self.cache, self.limit) {
            (Some(cache), Some(limit)) if by_person => {
                cached(cache.stream_persons(schema, file, encoder, limit, hear)?)
            }
            (Some(cache), Some(limit)) => cached(cache.stream(schema, file, encoder, limit, hear)?),
            (None, Some(limit)) if by_person => {
                let (persons, report) = encoder.stream_persons(file, &folder, limit, hear)?;
                (persons.into(), report, None)
            }
            (None, Some(limit)) => {
                let (rows, report) = encoder.stream(file, &folder, limit, hear)?;
                (rows.into(), report, None)
            }
            (Some(cache), None) if by_person => cached(cache.load_persons(schema, file, encoder, hear)?),
            (Some(cache), None) => cached(cache.load(schema, file, encoder, hear)?),
            (None, None) => {
                let (rows, report) = encoder.encode_grouped(file, hear)?;
                (grouped(schema, rows), report, None)
            }
        };
        Ok((in_memory_if_small(rows, |shape| self.algorithm.bytes_beside(shape))?, report, used))
    }
}

/// Rows, what their load counted, and what the cache did.
type Read = (Store, LoadReport, Option<CacheUse>);

fn cached<T: Into<Store>>((rows, report, used): (T, LoadReport, CacheUse)) -> Read {
    (rows.into(), report, Some(used))
}

/// Rows of a file that fit into the memory limit, with so many bytes beside each, are read once and for all.
fn in_memory_if_small(rows: Store, beside: impl Fn(&Shape) -> u64) -> Fallible<Store> {
    Ok(match rows {
        Store::Streamed(rows) if rows.fits_memory(beside(rows.shape())) => rows.read_all()?.into(),
        Store::StreamedPersons(persons) if persons.fits_memory() => persons.read_all()?.into(),
        rows => rows,
    })
}

/// Reads a file and plans a run of an optimizer from outside this crate; `docs/extending.md` has the recipe.
///
/// # Privacy
/// The optimizer sees public facts when it is planned and released values when it runs; the gate charges what it
/// planned and opens no more.
///
/// # Errors
/// When the request, the schema or the header of the file cannot be used, and whatever the planner refuses.
pub fn load_with(
    config: &TrainConfig,
    schema: Schema,
    file: &CsvFile,
    progress: &(dyn Fn(u64, u64) -> Fallible<()> + Sync),
    planner: &Planner<'_>,
) -> Fallible<Loaded> {
    let places = Places { algorithm: config.algorithm, cache: None, limit: None };
    read(config, schema, file, &places, progress, &|schema, public_len| {
        Plan::custom(config, schema, public_len, planner)
    })
}

/// Plans a run on rows that are in memory already; cells mean what they mean in a file. All columns have one length.
///
/// Rows are encoded before this returns, and the table is not needed any more.
///
/// # Errors
/// When the request or the schema cannot be used, a column is missing, or its cells cannot be told apart.
pub fn load_table(config: &TrainConfig, schema: Schema, table: &Table<'_>) -> Fallible<Loaded> {
    config.check(&schema)?;
    let started = Instant::now();
    let encoder = TableEncoder::new(&schema, table)?;
    let plan = |schema: &Schema, public_len: Option<u64>| Plan::new(config, schema, public_len);
    refuse_early(config, &schema, &plan)?;
    let (rows, report) = encoder.encode()?;
    let rows = grouped(&schema, rows);
    planned(config, schema, (rows, report, None), &plan, started)
}

/// Plans a run on a table that came in pieces, see [`crate::preprocess::PiecesEncoder`].
///
/// # Errors
/// When the request or the schema cannot be used, or the rows were encoded by another schema.
pub fn load_encoded(config: &TrainConfig, schema: Schema, table: EncodedTable) -> Fallible<Loaded> {
    config.check(&schema)?;
    let started = Instant::now();
    if table.fingerprint != schema.fingerprint() {
        return Err(Error::parameter("schema", "is not that of the rows", "give the one that encoded them"));
    }
    let plan = |schema: &Schema, public_len: Option<u64>| Plan::new(config, schema, public_len);
    let rows = grouped(&schema, table.rows);
    planned(config, schema, (rows, table.report, None), &plan, started)
}

/// Whether rows in memory can be trained on as asked, as far as that can be told without them.
///
/// # Errors
/// When the request does not fit the schema.
pub fn check_request(config: &TrainConfig, schema: &Schema) -> Fallible<()> {
    config.check(schema)?;
    refuse_early(config, schema, &|schema, public_len| Plan::new(config, schema, public_len))
}

fn read(
    config: &TrainConfig,
    schema: Schema,
    file: &CsvFile,
    places: &Places<'_>,
    progress: &(dyn Fn(u64, u64) -> Fallible<()> + Sync),
    plan: &MakePlan<'_>,
) -> Fallible<Loaded> {
    config.check(&schema)?;
    let started = Instant::now();
    let encoder = Encoder::new(&schema, file, true)?;
    refuse_early(config, &schema, plan)?;
    let total = file.size();
    let hear = |done| progress(done, total);
    let rows = places.rows(&schema, file, &encoder, &hear)?;
    planned(config, schema, rows, plan, started)
}

/// How the plan follows from the schema and the number of rows where that is public.
type MakePlan<'a> = dyn Fn(&Schema, Option<u64>) -> Fallible<Plan> + 'a;

/// Everything that can be refused without the rows is refused before they are read.
fn refuse_early(config: &TrainConfig, schema: &Schema, plan: &MakePlan<'_>) -> Fallible<()> {
    if config.adjacency.row_count_is_public() { Ok(()) } else { plan(schema, None).map(drop) }
}

/// What is public about a request: the same for the same flags and the same schema, whatever version reads them.
pub(super) fn request_digest(config: &TrainConfig, schema: &Schema) -> String {
    sha256_hex(json!({ "schema": schema.fingerprint(), "config": config }).to_string().as_bytes())
}

/// Puts encoded rows behind the gate and plans the run.
fn planned(
    config: &TrainConfig,
    schema: Schema,
    (rows, report, cache): Read,
    plan: &MakePlan<'_>,
    started: Instant,
) -> Fallible<Loaded> {
    // The noise of a plan may take longer to find than rows to read.
    let load_seconds = started.elapsed().as_secs_f64();
    let streamed = matches!(rows, Store::Streamed(_) | Store::StreamedPersons(_) | Store::Remote(_));
    let scope = scope_of(config, &schema)?;
    let dataset = match scope.unit {
        // Encoded by a schema that says so: whether a row is a record does not depend on its label.
        PrivacyUnit::Label => PrivateDataset::of_labels(rows, scope)?,
        PrivacyUnit::PrivateCells { .. } => {
            let columns = schema.public_mask().ok_or_else(|| Error::refused("no column is public", "protect rows"))?;
            PrivateDataset::of_private_cells(rows, scope, &columns, schema.target_bounds().is_none())?
        }
        PrivacyUnit::Row | PrivacyUnit::Person { .. } => PrivateDataset::new(rows, scope),
    };
    if *dataset.shape() != shape_of(&schema) {
        return Err(Error::refused("the rows were encoded by another schema", "encode them by this one"));
    }
    let plan = plan(&schema, dataset.public_len())?;
    let request = request_digest(config, &schema);
    Ok(Loaded { schema, dataset, plan, request, report, cache, streamed, load_seconds })
}
