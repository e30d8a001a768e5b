//! Exact clipped sums over encoded rows, at the speed of memory.
//!
//! A row is a vector of small integers: one `i16` per numeric feature, one code per category, a constant
//! for the intercept. The gradient of a generalized linear loss at a row is a scalar times the row, so
//! a clipped gradient on an integer grid is an integer times an integer vector, and sums of those are
//! exact whatever the order, the blocks and the number of threads. See [`Rows`], [`Caps`] and
//! [`clipped_sum`]; [`naive`] holds ten-line twins of the fast loops.
//!
//! ```
//! use rhograd::grid::{FULL_SCALE, Shape};
//! use rhograd::kernel::{Caps, Level, RawRow, Rows, RowsBuilder, Step, clipped_sum, clipped_sum_on};
//! // A number and a category of two values; two records with the labels 0 and 1.
//! let mut builder = RowsBuilder::new(Shape::new(1, &[2]));
//! for (number, code, label) in [(FULL_SCALE, 0, 0), (-FULL_SCALE, 1, 1)] {
//!     builder.push(&RawRow { numeric: vec![number], codes: vec![code], label, null: false });
//! }
//! let rows: Rows = builder.build();
//! // No row adds a vector of norm above 1000; a row here has norm sqrt(3), so its multiplier is cut at 577.
//! let caps = Caps::new(&rows, 1000 * FULL_SCALE as u64);
//! let step = Step { weights: &[0.0; 4], label_scale: 1.0, multiplier_scale: 4095.0 };
//! let slope = |margin: f32, label: f32| margin - label;
//! let sum = clipped_sum(&rows, &caps, &step, slope);
//! assert_eq!(sum, [577, 0, -577, -577].map(|m| m * i64::from(FULL_SCALE)));
//! // The same integers on every instruction set.
//! assert!(Level::available().into_iter().all(|level| clipped_sum_on(level, &rows, &caps, &step, slope) == sum));
//! ```
//!
//! Labels apart from the rest, where features are public: the two sides of a score.
//!
//! ```
//! use rhograd::grid::{FULL_SCALE, LabelCoding, Shape};
//! use rhograd::kernel::{Caps, MeanStep, RawRow, RowsBuilder, label_sum, mean_sum};
//! let mut builder = RowsBuilder::new(Shape::new(1, &[]));
//! for (number, label) in [(FULL_SCALE, 1), (-FULL_SCALE, 0)] {
//!     builder.push(&RawRow { numeric: vec![number], codes: vec![], label, null: false });
//! }
//! let rows = builder.build();
//! let caps = Caps::entrywise(&rows, 100);
//! assert_eq!(label_sum(&rows, &caps, LabelCoding::Two), [1600, 1600].map(|m| m * i64::from(FULL_SCALE)));
//! // A model that says 1/2 of either row; labels have no part in it.
//! let step = MeanStep { weights: &[0.0, 0.5], outputs: 1, scale: 1.0, most: 100 };
//! assert_eq!(mean_sum(&rows, &caps, &step, &|_margins| ()), [0, 100].map(|m| m * i64::from(FULL_SCALE)));
//! ```
//!
//! Several labels under one clip, and all rows of a person under one:
//!
//! ```
//! use rhograd::grid::{FULL_SCALE, Shape};
//! use rhograd::kernel::{
//!     Caps, ClassStep, PersonClips, Persons, RawRow, RowsBuilder, Step, clipped_class_sum, clipped_person_sum,
//! };
//! use rhograd::loss::Softmax;
//! let mut builder = RowsBuilder::new(Shape::new(1, &[]));
//! for label in [0, 1] {
//!     builder.push(&RawRow { numeric: vec![FULL_SCALE], codes: vec![], label, null: false });
//! }
//! let (rows, bound) = (builder.build(), 1000 * FULL_SCALE as u64);
//! let step = ClassStep { weights: &[0.0; 4], classes: 2, multiplier_scale: 100.0 };
//! let sums = clipped_class_sum(&rows, &Caps::new(&rows, bound), &step, Softmax::slopes);
//! assert_eq!(sums, [0; 4], "what one row pulls up for a label the other pulls down");
//! // Both are rows of person 0, whose gradients are averaged before the clip.
//! let persons = Persons::gather(rows, &[0, 0], 10);
//! let clips = PersonClips::new(&persons, None, bound);
//! let step = Step { weights: &[0.0; 2], label_scale: 1.0, multiplier_scale: 4095.0 };
//! let sum = clipped_person_sum(&persons, &clips, &step, |margin, label| margin - label);
//! assert!(sum.iter().map(|v| v * v).sum::<i128>() <= i128::from(bound).pow(2));
//! ```
//!
//! Passes whose every rounding is known, for solvers and for iterates that stay secret:
//!
//! ```
//! use rhograd::grid::{FULL_SCALE, Shape};
//! use rhograd::kernel::{FixedStep, RawRow, RowsBuilder, ScaledRows, fixed_pass};
//! use rhograd::loss::{Curved, LOG2_SLOPE, MonotoneSlope};
//! let mut builder = RowsBuilder::new(Shape::new(1, &[]));
//! builder.push(&RawRow { numeric: vec![FULL_SCALE], codes: vec![], label: 1, null: false });
//! let rows = builder.build();
//! let step = FixedStep { lipschitz: 1 << 50, shift: 20, log2_slope: LOG2_SLOPE, log2_smooth: Curved::Squared.log2_smooth() };
//! let slope = MonotoneSlope::new(Curved::Squared, i128::from(FULL_SCALE) << 40, 1.0);
//! let mut weights = [0; 2];
//! fixed_pass(&rows, &[0], &mut weights, &step, |margin, label| slope.at(margin, label));
//! assert_eq!(weights, [1 << 10; 2].map(|m| m * i64::from(FULL_SCALE)));
//! // A row that is short enough counts whole.
//! let scaled = ScaledRows::new(&rows, 4095 * 2 * FULL_SCALE as u64);
//! let labels = scaled.weighted_sum(&[0; 2], |_margin, label| label.into());
//! assert_eq!(labels, [i128::from(ScaledRows::whole()) * i128::from(FULL_SCALE); 2]);
//! ```

mod bulk;
mod caps;
mod classes;
mod definite;
mod exact;
mod fixed;
mod gram;
mod groups;
mod joint;
mod labels;
mod lines;
mod losses;
mod map;
mod marginals;
mod margins;
pub mod naive;
mod partition;
mod persons;
mod products;
mod public;
mod quadratic;
mod rows;
mod scores;
mod simd;
mod slopes;
mod step;
mod sums;
mod totals;
mod weighted;

pub(crate) use bulk::{BulkBuilder, TileMut, TilesMut};
pub use caps::Caps;
pub use classes::{ClassStep, MAX_CLASSES, clipped_class_sum, clipped_class_sum_on};
pub use definite::definite_solve;
pub use exact::{LOG2_LARGEST_COORDINATE, MAX_EXACT, ScaledRows};
pub use fixed::{FixedStep, fixed_batch, fixed_pass, largest_row, rounding};
pub use gram::{cross_gram_sum, gram_sum, hessian_sum};
pub use labels::{MeanStep, label_sum, mean_sum};
pub use losses::loss_sums;
pub use marginals::marginal_counts;
pub use persons::clips::PersonClips;
pub use persons::pass::{clipped_person_class_sum, clipped_person_sum};
pub use persons::{NOBODY, Persons};
pub(crate) use persons::{person_lanes, person_tiles, row_digest};
pub use public::DividedRows;
pub use rows::{RawRow, Rows, RowsBuilder};
pub use scores::score_sum;
pub use simd::{LANES, Level};
pub use step::{Step, clipped_sum, clipped_sum_on};
pub use sums::moment_sum;
pub(crate) use weighted::Part;
pub use weighted::WeightedRows;
