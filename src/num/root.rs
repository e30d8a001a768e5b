//! Bracketed root finding that returns both ends of the final bracket.
