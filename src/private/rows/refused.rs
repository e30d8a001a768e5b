//! What a store says where it cannot give what is asked.

use crate::error::Error;

/// Where rows are asked for that are elsewhere.
pub(super) fn not_at_hand() -> Error {
    Error::refused(
        "this needs all rows in the memory of one machine",
        "leave out --memory-limit, or use --algorithm auto, whitened or dp-gd",
    )
}

/// Where an algorithm asks for rows, and rows are no unit of privacy.
pub(super) fn no_rows_alone() -> Error {
    Error::refused(
        "this has no proof for persons with several rows",
        "use --algorithm auto, whitened, dp-gd, dp-sgd or newton; an algorithm of your own may ask what says `Reads::persons`",
    )
}

/// Where an algorithm asks for rows, and rows have weights.
pub(super) fn no_weights() -> Error {
    Error::refused(
        "this has no proof for rows with weights",
        "use --algorithm auto, whitened, dp-gd, newton, adassp or additive; an algorithm of your own may ask what says `Reads::persons`",
    )
}
