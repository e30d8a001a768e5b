//! The gate: the only place where a value computed from a private data set is opened, and only against a paid permit.
//!
//! - [`PrivateDataset`] holds encoded rows and hands out no row.
//! - A query on it returns a [`Sensitive`] value, which cannot be read, printed, copied or compared.
//! - [`charge_run`] charges the whole plan to the ledger, durably, and returns a [`ChargedRun`].
//! - Each [`Permit`] of a charged run opens one sensitive value, once, by the [`Mechanism`] that was paid
//!   for, and turns it into a [`Released`] one. Everything computed from released values is
//!   post-processing and free.
//! - A [`LoggedRun`] is what an optimizer gets: a release is one call, with its line in the log and its record.
//!
//! Rows and what passes over them lie in `rows`, what may be asked of them in [`query`], charges, permits and releases in `release`.
//!
//! The kernel and the encoder below work on rows they are handed and guard nothing; it is [`PrivateDataset`] that
//! takes rows in and gives none back. A [`crate::loss::Loss`] sees every margin and label, so the losses of
//! this crate are trusted code; one from elsewhere is a table, see [`crate::loss::OwnLoss`].
//!
//! The compiler rejects reading a raw sum, using a permit twice, releasing without a permit, and
//! releasing a value whose sensitivity is known in another norm.
//!
//! ```compile_fail
//! # use rhograd::{privacy::L2, private::Sensitive};
//! fn read(sum: Sensitive<L2>) -> Vec<i128> {
//!     sum.values // private field
//! }
//! ```
//!
//! Pay, ask, open:
//!
//! ```
//! use rhograd::error::Fallible;
//! use rhograd::grid::{FULL_SCALE, Shape};
//! use rhograd::kernel::{RawRow, RowsBuilder};
//! use rhograd::ledger::Ledger;
//! use rhograd::loss::Glm;
//! use rhograd::ndarray::Array1;
//! use rhograd::noise::NoiseSource;
//! use rhograd::privacy::{Adjacency, DatasetId, GaussianCharge, L2, NoiseLaw, Scope};
//! use rhograd::private::{
//!     ChargedRun, ClippedRows, Gradient, HoldOut, Listener, LoggedRun, Mechanism, Permit, Planned, PrivateDataset, Query, Release,
//!     ReleaseRecord, Released, Sensitive, Store, charge_run, query,
//! };
//!
//! /// Of the mechanism that was paid for, or an error.
//! fn next_permit<M: Mechanism>(run: &mut ChargedRun) -> Fallible<Permit<M>> {
//!     run.permit()
//! }
//! # fn main() -> rhograd::error::Fallible<()> {
//! let mut builder = RowsBuilder::new(Shape::new(1, &[]));
//! for i in 0..1000 {
//!     builder.push(&RawRow { numeric: vec![i % 200 * 100], codes: vec![], label: i % 2, null: false });
//! }
//!
//! let scope = Scope::of_rows(DatasetId::new("example")?, Adjacency::AddRemove);
//! let data = PrivateDataset::new(Store::Whole(builder.build()), scope);
//! let clip_steps = 100 * FULL_SCALE as u64;
//! let noise = NoiseLaw::FlooredNormal;
//! let charge = GaussianCharge { what: "gradient".into(), sensitivity: clip_steps, log2_scale: 26, noise, count: 2 };
//! let mut run: ChargedRun = charge_run(&mut Ledger::in_memory()?, data.scope(), &[charge.clone()], NoiseSource::from_os()?)?;
//!
//! let weights = Array1::zeros(2);
//! let gradient = Gradient { loss: Glm::Logistic.into(), weights: &weights, label_scale: 1.0, clip_norm: 0.5 };
//! let rows: ClippedRows<'_> = data.clipped(clip_steps)?;
//! let sum: Sensitive<L2> = rows.gradient_sum(&gradient)?;
//! let permit: Permit<GaussianCharge> = next_permit(&mut run)?;
//! let released: Released = permit.release(sum)?;
//! assert_eq!(released.values().len(), 2);
//!
//! // As an optimizer gets it: each release is heard and recorded. The second of the two that were paid for.
//! let planned = Planned { charge: charge.clone().into(), query: Query::from(query::ClippedSum { clip_steps }) };
//! let mut heard = 0;
//! let listener: &mut Listener<'_> = &mut |release: &Release<'_>| {
//!     heard += release.released.values().len();
//!     Ok(())
//! };
//! let mut logged: LoggedRun<'_> = run.logged(listener);
//! logged.release(&planned, 0.5 / clip_steps as f64, || rows.gradient_sum(&gradient))?;
//! let records: Vec<ReleaseRecord> = logged.finish()?;
//! assert_eq!((records.len(), heard), (1, 2));
//!
//! // About a fifth of the rows for a hold-out, by a coin for each.
//! let (held_out, rest) = run.hold_out(data, HoldOut::Coins { exponent: 1 << 61 })?;
//! assert_eq!(held_out.shape(), rest.shape());
//! # Ok(())
//! # }
//! ```
//!
//! Choose among models, or among runs of which the best alone is opened:
//!
//! ```
//! use rhograd::grid::{MomentWeights, Shape};
//! use rhograd::kernel::{RawRow, RowsBuilder};
//! use rhograd::ledger::Ledger;
//! use rhograd::loss::Glm;
//! use rhograd::ndarray::array;
//! use rhograd::noise::NoiseSource;
//! use rhograd::privacy::{
//!     Adjacency, Charge, Claim, DatasetId, ExponentialCharge, GaussianCharge, NoiseLaw, PrivateSelectionCharge, Scope,
//! };
//! use rhograd::private::{CandidateRun, Candidates, ChargedRun, CutLoss, LoggedCandidate, Planned, PrivateDataset, charge_run, query};
//! # fn main() -> rhograd::error::Fallible<()> {
//! let mut builder = RowsBuilder::new(Shape::new(1, &[]));
//! for i in 0..1000 {
//!     builder.push(&RawRow { numeric: vec![i % 200 * 100], codes: vec![], label: i % 2, null: false });
//! }
//!
//! let scope = Scope::of_rows(DatasetId::new("example")?, Adjacency::AddRemove);
//! let data = PrivateDataset::new(builder.build(), scope);
//! let choice = ExponentialCharge { what: "model".into(), sensitivity: 100, log2_scale: 10, candidates: 3, count: 1 };
//! let claim = Claim { epsilon: 9.0, delta: 1e-6, rho: 40.0 };
//! let best = PrivateSelectionCharge { what: "best of two".into(), rho: 2f64.powi(-20), stop: 1 << 30, claim };
//! let charges = [Charge::Exponential(choice), Charge::PrivateSelection(best)];
//! let mut run = charge_run(&mut Ledger::in_memory()?, data.scope(), &charges, NoiseSource::from_os()?)?;
//!
//! let scoring = CutLoss { loss: Glm::Logistic, label_scale: 1.0, cap: 2.0, most: 100 };
//! let models = Candidates { points: array![[0.0, 0.0], [0.0, 1.0], [0.0, -1.0]] };
//! let chosen = run.permit::<ExponentialCharge>()?.choose(data.losses(&scoring, &models)?)?;
//! assert!((0..3).contains(&chosen.values()[0]));
//!
//! let weights = MomentWeights { count: 1, ..MomentWeights::default() };
//! let noise = NoiseLaw::FlooredNormal;
//! let count = GaussianCharge { what: "count".into(), sensitivity: 1, log2_scale: 10, noise, count: 1 };
//! let planned = Planned { charge: count.into(), query: query::Moments { weights, columns: 1 }.into() };
//! let make: &mut CandidateRun<'_, i128> = &mut |_candidate, run: &mut ChargedRun| {
//!     let count = run.permit::<GaussianCharge>()?.release(data.moments(&weights)?)?.values()[0];
//!     Ok((count as f64, count))
//! };
//! let (candidate, _count, _released) = run.best_run(&[vec![planned.clone()], vec![planned]], make)?;
//! assert!(candidate < 2);
//! // What a run is handed that others hear of.
//! let _logged: &mut LoggedCandidate<'_, ()> = &mut |_candidate, _run| Ok((0.0, ()));
//! # Ok(())
//! # }
//! ```
//!
//! Go on with a run that was stopped:
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use rhograd::grid::{MomentWeights, Shape};
//! use rhograd::kernel::RowsBuilder;
//! use rhograd::ledger::Ledger;
//! use rhograd::noise::NoiseSource;
//! use rhograd::privacy::{Adjacency, DatasetId, GaussianCharge, NoiseLaw, Scope};
//! use rhograd::private::{Keep, PrivateDataset, Stopped, charge_run, resume};
//! # fn main() -> rhograd::error::Fallible<()> {
//! let scope = Scope::of_rows(DatasetId::new("example")?, Adjacency::AddRemove);
//! let data = PrivateDataset::new(RowsBuilder::new(Shape::new(1, &[])).build(), scope.clone());
//! let weights = MomentWeights { count: 1, ..MomentWeights::default() };
//! let noise = NoiseLaw::FlooredNormal;
//! let plan = [GaussianCharge { what: "count".into(), sensitivity: 1, log2_scale: 10, noise, count: 2 }];
//! let mut run = charge_run(&mut Ledger::in_memory()?, &scope, &plan, NoiseSource::from_os()?)?;
//! // To a file in real life.
//! let kept = Arc::new(Mutex::new(Vec::new()));
//! let copy = kept.clone();
//! let keep: Keep = Box::new(move |values| Ok(copy.lock().unwrap().push(values.to_vec())));
//! run.keep_in(keep);
//! let first = run.permit::<GaussianCharge>()?.release(data.moments(&weights)?)?;
//!
//! let stopped = Stopped { run: "example".into(), position: None, released: kept.lock().unwrap().clone() };
//! let charges = plan.map(Into::into);
//! let mut run = resume(&mut Ledger::in_memory()?, &scope, &charges, NoiseSource::from_os()?, stopped)?;
//! let again = run.permit::<GaussianCharge>()?.release_of(|| unreachable!("it was released before"))?;
//! assert_eq!(again.values(), first.values());
//! # Ok(())
//! # }
//! ```
//!
//! Cells that no schema describes yet:
//!
//! ```
//! use std::path::Path;
//!
//! use rhograd::data::CsvFile;
//! use rhograd::privacy::{Adjacency, DatasetId, Range, Scope};
//! use rhograd::private::{ColumnValues, Grid, GridPrice, PrivateCells, Proposal, Sensitive};
//! # fn main() -> rhograd::error::Fallible<()> {
//! let file = CsvFile::open(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/datasets/fair.csv")))?;
//! let cells = PrivateCells::new(file, Scope::of_rows(DatasetId::new("fair")?, Adjacency::AddRemove));
//! // Each of these is opened by a permit for what it is.
//! let price = GridPrice { allowed: 30, halving: 2.0 };
//! let scores: Vec<Sensitive<Range>> = cells.intervals(&[(1, Grid::within(0.0, 128.0)?, price)], 1)?;
//! let values: Vec<ColumnValues> = cells.vocabularies(&[1], 1)?;
//! let _mode: Proposal<Option<String>> = cells.mode(1, 1)?;
//! assert_eq!((scores.len(), values.len()), (1, 1));
//! # Ok(())
//! # }
//! ```
//!
//! Columns that a schema describes, one by one:
//!
//! ```
//! use std::path::Path;
//!
//! use rhograd::data::CsvFile;
//! use rhograd::ledger::Ledger;
//! use rhograd::noise::NoiseSource;
//! use rhograd::privacy::{Adjacency, Charge, DatasetId, LaplaceCharge, Scope, SparseVectorCharge};
//! use rhograd::private::{CellColumn, CellCounts, CountsAbove, PrivateCells, StableMedian, charge_run, query};
//! # fn main() -> rhograd::error::Fallible<()> {
//! let file = CsvFile::open(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/datasets/fair.csv")))?;
//! let cells = PrivateCells::new(file, Scope::of_rows(DatasetId::new("fair")?, Adjacency::AddRemove));
//! let counts: Vec<CellCounts> = cells.cell_counts(&[CellColumn::line(), CellColumn::number(1, 17.5, 42.0)?])?;
//! // A count with epsilon 1/2 by two-sided geometric noise, and whether it reaches 5,000 by sparse vector.
//! let noised = LaplaceCharge { what: "rows".into(), l1_sensitivity: 1, rate: 1, log2_scale: 1, count: 1 };
//! let above = SparseVectorCharge { what: "many".into(), sensitivity: 1, log2_scale: 2, questions: 1, count: 1 };
//! let plan: [Charge; 2] = [noised.into(), above.into()];
//! let mut run = charge_run(&mut Ledger::in_memory()?, cells.scope(), &plan, NoiseSource::from_os()?)?;
//! let rows = run.permit::<LaplaceCharge>()?.release_laplace(|| counts[0].histogram_l1(1, 1))?;
//! assert!((6000..6700).contains(&rows.values()[0]));
//! let many: CountsAbove = counts[0].above(5000, 1);
//! assert_eq!(run.permit::<SparseVectorCharge>()?.first_above(|| Ok(many))?.values(), [0]);
//! // A median that is opened if no few rows can make it jump by more than ten codes.
//! let _: StableMedian = counts[1].stable_median(1, query::NearMedian { step: 1, bound: 10 })?;
//! # Ok(())
//! # }
//! ```
//!
//! Rows that workers hold:
//!
//! ```
//! use std::sync::Mutex;
//!
//! use rhograd::data::SchemaBuilder;
//! use rhograd::error::Fallible;
//! use rhograd::grid::{FULL_SCALE, Shape};
//! use rhograd::kernel::{RawRow, RowsBuilder};
//! use rhograd::preprocess::LoadReport;
//! use rhograd::private::{Cluster, RemoteRows, Worker};
//!
//! /// One worker, in this process.
//! struct Here(Vec<u8>, Mutex<Option<Worker>>);
//!
//! impl Cluster for Here {
//!     fn ask(&self, question: &[u8]) -> Fallible<Vec<Vec<u8>>> {
//!         let mut place = self.1.lock().unwrap();
//!         let worker = place.take().map_or_else(|| Worker::new(&self.0), Ok)?;
//!         let (worker, answer) = worker.answer(&self.0, question)?;
//!         *place = Some(worker);
//!         Ok(vec![answer])
//!     }
//! }
//! # fn main() -> rhograd::error::Fallible<()> {
//! let schema = SchemaBuilder::classification("example", "y").positive("1").numeric("x", 0.0, 1.0).build()?;
//! let mut builder = RowsBuilder::new(Shape::new(1, &[]));
//! builder.push(&RawRow { numeric: vec![FULL_SCALE], codes: vec![], label: 1, null: false });
//! let packed = Worker::pack(&builder.build(), &LoadReport::default(), &schema, 0)?;
//! let cluster = Here(packed, Mutex::new(None));
//! let (_rows, report): (RemoteRows, LoadReport) = RemoteRows::new(Box::new(cluster), &schema)?;
//! assert_eq!(report.lines, 0);
//! # Ok(())
//! # }
//! ```
//!
//! Passes in a secret order, and problems that are solved inside the gate:
//!
//! ```
//! use rhograd::grid::{FULL_SCALE, MAX_MULTIPLIER, Shape};
//! use rhograd::kernel::{RawRow, RowsBuilder};
//! use rhograd::ledger::Ledger;
//! use rhograd::loss::{BoundedLoss, Curved, Glm};
//! use rhograd::ndarray::Array1;
//! use rhograd::noise::NoiseSource;
//! use rhograd::privacy::{Adjacency, DatasetId, GaussianCharge, NoiseLaw, Scope};
//! use rhograd::private::{
//!     Curvature, DescribeQuery, DirectionInputs, Gradient, Minimization, OfPasses, PassPlan, Perturbation, PhasePlan, PhasedPass,
//!     PrefixPasses, PrivateDataset, Reads, Role, RowAccess, charge_run, query,
//! };
//! # fn main() -> rhograd::error::Fallible<()> {
//! let mut builder = RowsBuilder::new(Shape::new(1, &[]));
//! for i in 0..1000 {
//!     builder.push(&RawRow { numeric: vec![i % 200 * 100], codes: vec![], label: i % 2, null: false });
//! }
//!
//! let scope = Scope::of_rows(DatasetId::new("example")?, Adjacency::ReplaceOne);
//! let data = PrivateDataset::new(builder.build(), scope);
//! let (loss, one) = (Curved::Logistic, FULL_SCALE);
//! let phases = PhasePlan { lipschitz: 1 << 46, shift: 30, rows: 1000, dimension: 2, max_phases: 8 };
//! let pass = PassPlan::largest(1 << 46, 30, 1000, 2, 10);
//! let prefix = query::PrefixSums { clip_steps: 1 << 20, batches: 4 };
//! let curvature = Curvature { row_bound: 2 * one as u64 * MAX_MULTIPLIER as u64, regularization: 1 << 33, tolerance: 1 << 32 };
//! let minimizer = query::Minimizer { curvature, dimension: 2 };
//! let of = |sensitivity| GaussianCharge { what: "example".into(), sensitivity, log2_scale: 45, noise: NoiseLaw::FlooredNormal, count: 1 };
//! let moves = [phases.sensitivity(), pass.sensitivity()];
//! let others = [prefix.sensitivity(Adjacency::ReplaceOne), minimizer.sensitivity(Adjacency::ReplaceOne)];
//! let charges = [moves, others].concat().into_iter().map(of).collect::<Vec<_>>();
//! let mut run = charge_run(&mut Ledger::in_memory()?, data.scope(), &charges, NoiseSource::from_os()?)?;
//!
//! let mut phased: PhasedPass<'_> = run.permit::<GaussianCharge>()?.phases(&data, phases, loss, 1.0)?;
//! assert_eq!(phased.next(&[0, 0])?.len(), 2);
//! let last = run.permit::<GaussianCharge>()?.one_pass(&data, pass, loss, 1.0)?;
//! assert_eq!(last.values().len(), 2);
//! assert_eq!((charges[2].release().count, charges[2].exponent()), (1, None), "all rows, without a coin");
//! let mut batches = PrefixPasses::open(vec![run.permit::<GaussianCharge>()?], &data, prefix)?;
//! let weights = Array1::zeros(2);
//! let gradient = Gradient { loss: Glm::Logistic.into(), weights: &weights, label_scale: 1.0, clip_norm: 0.5 };
//! assert_eq!(batches.next(&gradient)?.len(), 2);
//! let log2_margin = Minimization::margin_for(10.0, &curvature, one);
//! let problem = Minimization { loss: BoundedLoss::Logistic, label_scale: 1.0, log2_margin, curvature };
//! let answer = run.permit::<GaussianCharge>()?.release(data.minimizer(&problem)?)?;
//! assert_eq!(answer.values().len(), 2);
//! // Noise on the objective, and a Newton direction, as queries describe them.
//! let noised: Perturbation = problem.perturbation(1 << 50);
//! assert!(noised.movement() > 0);
//! let inputs = DirectionInputs { gradient: &[1 << 30, 0], clip_steps: 1 << 27, ridge: 1 << 25, l2_sensitivity: 1 << 40 };
//! assert!(inputs.scale()? > 0);
//! let Reads { rows, role, .. } = minimizer.reads();
//! assert_eq!((rows, role), (RowAccess::InMemory, Role::Steps(1)));
//! # Ok(())
//! # }
//! ```

pub mod query;
mod release;
mod rows;
mod sensitive;
#[cfg(test)]
mod tests;

pub use query::{
    CellColumn, CellCounts, ClippedRows, ColumnValues, CountsAbove, Curvature, DescribeQuery, DirectionInputs,
    Gradient, Grid, GridPrice, LOG2_REGULARIZATION, MAX_BATCHES, MAX_SOLVED, Minimization, OfPasses, PassPlan,
    Perturbation, PhasePlan, PhasedPass, Planned, PrefixPasses, Query, Reads, Role, RowAccess, StableMedian,
    prefix_coefficients,
};
pub(crate) use query::{batch_of, order_of};
pub use release::{
    CandidateRun, ChargedRun, HoldOut, Keep, Listener, LoggedCandidate, LoggedRun, Mechanism, Permit, Proposal,
    Release, ReleaseRecord, Released, Stopped, charge_run, resume,
};
pub(crate) use release::{MAX_HOLDOUT, charge_run_as, training_rows};
pub use rows::{Candidates, Cluster, CutLoss, PrivateCells, PrivateDataset, RemoteRows, Store, Worker};
pub use sensitive::Sensitive;
