//! Exact clipped sums over encoded rows, at the speed of memory.
//!
//! A row is a vector of small integers: one `i16` per numeric feature, one code per category, a constant
//! for the intercept. The gradient of a generalized linear loss at a row is a scalar times the row, so
//! a clipped gradient on an integer grid is an integer times an integer vector, and sums of those are
//! exact whatever the order, the blocks and the number of threads. See [`Rows`], [`Caps`] and
//! [`clipped_sum`]; [`naive`] holds ten-line twins of the fast loops.

mod bulk;
mod caps;
mod classes;
mod definite;
mod exact;
mod fixed;
mod gram;
mod groups;
mod joint;
mod lines;
mod losses;
mod map;
mod margins;
pub mod naive;
mod partition;
mod persons;
mod rows;
mod scores;
mod simd;
mod step;
mod sums;
mod totals;

pub(crate) use bulk::{BulkBuilder, TileMut, TilesMut};
pub use caps::Caps;
pub use classes::{ClassStep, MAX_CLASSES, clipped_class_sum, clipped_class_sum_on};
pub use definite::definite_solve;
pub use exact::{LOG2_LARGEST_COORDINATE, MAX_EXACT, ScaledRows};
pub use fixed::{FixedStep, fixed_batch, fixed_pass, largest_row, rounding};
pub use gram::{gram_sum, hessian_sum};
pub use losses::loss_sums;
pub use persons::{NOBODY, PersonClips, Persons, clipped_person_class_sum, clipped_person_sum};
pub use rows::{RawRow, Rows, RowsBuilder};
pub use scores::score_sum;
pub use simd::{LANES, Level};
pub use step::{Step, clipped_sum, clipped_sum_on};
pub use sums::moment_sum;
