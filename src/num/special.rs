//! Normal tails to full double precision.
