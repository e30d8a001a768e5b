//! From records to encoded rows by public rules alone: bounds, declared categories, fixed rules for gaps.
//!
//! A file, as it is loaded and as the custodian looks at it:
//!
//! ```
//! use rhograd::data::{CsvFile, SchemaBuilder};
//! use rhograd::preprocess::{Count, EncodedRows, Encoder, Fault, LoadReport, Loss, Met, Survey, TargetRule, Whole};
//!
//! let schema = SchemaBuilder::classification("visits", "ill").numeric("age", 0.0, 100.0).positive("yes").negative("no").build()?;
//! let path = tempfile::NamedTempFile::new().unwrap();
//! std::fs::write(path.path(), "age,ill\n30,yes\nold,no\n40,perhaps\n").unwrap();
//! let file = CsvFile::open(path.path())?;
//! let encoder = Encoder::new(&schema, &file, true)?;
//! let (rows, report): (_, LoadReport) = encoder.encode(&file, &|_bytes| Ok(()))?;
//! // A line that is no record stays as a null row, which adds nothing to any sum.
//! assert_eq!((rows.len(), report.lines, report.unusable), (3, 3, 1));
//! // What was lost, and why: a label that is not declared, and a cell that holds no number.
//! let undeclared: &Count = &report.lost[&Loss::Target];
//! assert_eq!((undeclared.count, undeclared.line, report.cells(0, Fault::Unreadable)), (1, 4, 1));
//! assert_eq!(TargetRule::of(&schema).value(b"yes"), Some(1.0));
//! // A slower pass that only looks.
//! let (survey, EncodedRows { rows, .. }): (Survey, _) = encoder.survey(&file, &|_bytes| Ok(()))?;
//! let labels: &Met = &survey.met;
//! assert!(!rows.is_empty() && labels.texts.len() == 3 && matches!(survey.whole[0], Whole::Few(_)));
//! # Ok::<(), rhograd::error::Error>(())
//! ```
//!
//! Rows kept in a cache, held in memory or streamed from there, alone or by person:
//!
//! ```
//! use rhograd::data::{Cells, CsvFile, Numbers, SchemaBuilder, Unit};
//! use rhograd::preprocess::{
//!     CacheUse, Encoder, LoadReport, MemoryLimit, PersonSizes, PersonStream, PersonsMet, Progress, RowCache, RowStream, SegmentReader,
//!     SegmentWriter,
//! };
//!
//! let folder = tempfile::tempdir().unwrap();
//! let path = folder.path().join("visits.csv");
//! std::fs::write(&path, "who,age,ill\na,30,yes\nb,40,no\na,31,no\n").unwrap();
//! let schema = SchemaBuilder::classification("visits", "ill").numeric("age", 0.0, 100.0).positive("yes");
//! let rows_alone = schema.clone().ignore("who").build()?;
//! let by_person = schema.unit(Unit::new("who")).build()?;
//! let (file, limit) = (CsvFile::open(&path)?, MemoryLimit::new(1_000_000)?);
//! let hear: &Progress<'_> = &|_bytes| Ok(());
//!
//! let cache = RowCache::new(&folder.path().join("visits.rows"), false)?;
//! let encoder = Encoder::new(&rows_alone, &file, true)?;
//! let (rows, _, used) = cache.load(&rows_alone, &file, &encoder, hear)?;
//! assert_eq!((rows.len(), used), (3, CacheUse::Made));
//! let (stream, _, used): (RowStream, LoadReport, _) = cache.stream(&rows_alone, &file, &encoder, limit, hear)?;
//! assert!(stream.rows() == 3 && stream.fits_memory(0) && used == CacheUse::Used);
//!
//! let encoder = Encoder::new(&by_person, &file, true)?;
//! let (persons, _): (PersonStream, _) = encoder.stream_persons(&file, folder.path(), limit, hear)?;
//! assert_eq!(persons.persons(), 2);
//! let met: Option<PersonsMet> = encoder.survey(&file, hear)?.0.persons;
//! assert_eq!(met.map(|met| (met.persons, met.most)), Some((2, 2)));
//! // Of rows in parts, each of whose persons are in one of them, the same is found part by part.
//! let column = |places: &'static [f64]| Cells::Texts { list: vec!["a".into(), "b".into()], places: Numbers::F64(places.into()) };
//! let mut sizes = PersonSizes::of(&column(&[0.0, 0.0]));
//! sizes.merge(&PersonSizes::of(&column(&[1.0])))?;
//! assert_eq!(Some(sizes.met(1000)), met);
//!
//! // The form in which rows lie in such a file.
//! let mut writer = SegmentWriter::new(Vec::new(), "rows".as_ref(), rows.shape())?;
//! writer.append(&rows)?;
//! let bytes = writer.finish(&())?;
//! assert_eq!(SegmentReader::of_bytes(&bytes, "rows")?.read_all()?.len(), 3);
//! # Ok::<(), rhograd::error::Error>(())
//! ```
//!
//! Tables in memory, whole or in pieces, and rows encoded anew by what was released of them:
//!
//! ```
//! use rhograd::data::{Cells, Numbers, SchemaBuilder, Table};
//! use rhograd::ndarray::ArrayView1;
//! use rhograd::preprocess::{Affine, Binner, EncodedTable, PiecesEncoder, Recoding, Scores, Standardizer, TableEncoder, Waves};
//!
//! let schema = SchemaBuilder::regression("wages", "wage", 0.0, 100.0).numeric("age", 0.0, 100.0).build()?;
//! let (ages, wages) = ([30.0, 50.0, 70.0], [10.0, 20.0, 30.0]);
//! let column = |values| Cells::Numbers(Numbers::F64(ArrayView1::from(values)));
//! let table = Table::new(vec![("age".into(), column(&ages)), ("wage".into(), column(&wages))])?;
//! let (encoded, report) = TableEncoder::new(&schema, &table)?.encode()?;
//! let mut pieces = PiecesEncoder::new(&schema, 3);
//! pieces.add(&table)?;
//! let whole: EncodedTable = pieces.finish();
//! assert_eq!((whole.rows()?.len(), report.lines), (encoded.rows.len(), 3));
//!
//! // Ages between the bounds are at -1 to 1; a mean of 50 and a deviation of 20 years are at 0 and 0.4.
//! let age = Affine { centre: 0.0, scale: 0.4, limit: 3.0 };
//! assert_eq!(age.apply(0.8), 2.0);
//! let maps = Recoding::Standardized(Standardizer { features: vec![age], target: None, limit: 3.0 });
//! assert_eq!(maps.recode(encoded.rows).len(), 3);
//! // Two intervals, which meet in the middle of the grid.
//! let bins = Binner::new(vec![vec![128]], Vec::new(), None)?;
//! assert_eq!(bins.pieces().collect::<Vec<_>>(), [2]);
//! // One wave through their scores.
//! let scores = Scores { numeric: vec![vec![-Scores::ONE, Scores::ONE]], levels: Vec::new() };
//! let waves = Waves::new(scores, vec![vec![1 << 29]], vec![0])?;
//! assert_eq!(waves.shape().numeric(), 1);
//! # Ok::<(), rhograd::error::Error>(())
//! ```

mod bins;
mod buckets;
mod cache;
mod codes;
mod columns;
mod encode;
mod footer;
mod lines;
mod load;
mod person_stream;
mod persons;
mod pieces;
mod quantize;
mod recoding;
mod report;
mod segments;
mod standardize;
mod stream;
mod survey;
mod tally;
mod target;
#[cfg(test)]
mod tests;
mod waves;

pub(crate) use codes::Codes;

pub use bins::Binner;
pub use cache::{CacheUse, RowCache};
pub use columns::{TableEncoder, label_codes, numbers_of};
pub use encode::{Encoder, Progress, shape_of};
pub(crate) use encode::{identifier_column, offset_bounds};
pub use person_stream::PersonStream;
pub(crate) use persons::identifier;
pub use persons::{EncodedRows, PersonSizes, PersonsMet, person_places};
pub use pieces::{EncodedTable, PiecesEncoder};
pub(crate) use quantize::quantize;
pub use recoding::Recoding;
pub use report::{Fault, LoadReport, Loss};
pub use segments::{SegmentReader, SegmentWriter};
pub use standardize::{Affine, Standardizer};
pub use stream::{MemoryLimit, RowStream};
pub use survey::{Survey, Whole, is_numbers_with_gaps};
pub use tally::{Count, Met};
pub use target::TargetRule;
pub use waves::{Scores, Waves};
