//! Values as cells of a CSV line.

use std::fmt::Display;
use std::io::Write;

use num_bigint::{BigInt, Sign};

/// A value as Rust writes it.
pub(super) fn display(value: impl Display, out: &mut Vec<u8>) {
    // A vector takes whatever is written to it.
    let _ = write!(out, "{value}");
}

/// An integer of big-endian bytes over a power of ten.
pub(super) fn decimal(unscaled: &[u8], scale: usize, out: &mut Vec<u8>) {
    let integer = BigInt::from_signed_bytes_be(unscaled);
    if integer.sign() == Sign::Minus {
        out.push(b'-');
    }
    let digits = format!("{:0>1$}", integer.magnitude().to_string(), scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    out.extend_from_slice(whole.as_bytes());
    if scale > 0 {
        out.push(b'.');
        out.extend_from_slice(part.as_bytes());
    }
}

/// A text in quotes where it needs them, on one line.
pub(super) fn quoted(value: &[u8], out: &mut Vec<u8>) {
    if memchr::memchr3(b',', b'"', b'\n', value).is_none() && memchr::memchr(b'\r', value).is_none() {
        return out.extend_from_slice(value);
    }
    out.push(b'"');
    for &byte in value {
        match byte {
            b'"' => out.extend_from_slice(b"\"\""),
            b'\n' | b'\r' => out.push(b' '),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}
