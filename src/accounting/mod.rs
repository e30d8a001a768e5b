//! Conversions and calibration.
