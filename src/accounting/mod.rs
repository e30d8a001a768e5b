//! What mechanisms cost, by every notion of privacy: one folder or file a notion, formulas and type together.
//!
//! Every result errs to the safe side: epsilon, delta and sigma come out at or above the true value,
//! the rho, mu and number of steps that a budget allows come out at or below it. What cannot be
//! answered is an error or infinity, never a smaller number.
//!
//! Three conversions of the same rho, from the loosest to the tightest:
//!
//! | | holds for | module |
//! |---|---|---|
//! | classical | every zCDP mechanism | [`zcdp`] |
//! | optimal order | every zCDP mechanism | [`zcdp`] |
//! | exact | Gaussian mechanisms and their post-processing only | [`gaussian`] |
//!
//! [`Conversion`] picks one by name; [`crate::calculator`] turns a budget into noise or steps.
//!
//! Other mechanisms than the Gaussian, and finer notions:
//!
//! | module | what it answers |
//! |---|---|
//! | [`notion`] | notions of privacy as types: composition, groups, conversions |
//! | [`rdp`] | Renyi curves at real orders, sampling included, from a recorded event |
//! | [`pld`] | certified bounds by privacy-loss distributions |
//! | [`claim`] | what recorded charges guarantee together |
//! | [`compose`] | composition theorems, filters and an odometer |
//! | [`subsample`], [`selection`], [`erm`], [`perturbed_objective`] | single theorems |
//! | [`bounded`] | noise that never leaves an interval: no error of many counts exceeds it |
//! | [`belief`] | what an attacker with a belief beforehand comes to believe and guess |
//! | [`generalization`] | how far rows that were trained on can differ from new ones |
//! | [`last_iterate`], [`sampled_last_iterate`] | steps of which only the last iterate is released |
//! | [`mean_concentrated`] | the notion that is not closed under post-processing |
//! | [`packing`] | how many answers an accurate zCDP mechanism can tell apart |
//! | [`profile`] | from (epsilon, delta) at every delta back to zCDP |
//! | [`stable`] | thresholds that hide what one row holds |
//! | [`finite`] | small laws exactly |

pub mod approximate;
pub mod belief;
pub mod bounded;
pub mod claim;
pub mod compose;
mod conversion;
pub(crate) mod directed;
pub mod erm;
mod event;
pub mod finite;
pub mod gaussian;
pub mod generalization;
pub mod last_iterate;
pub mod mean_concentrated;
mod memo;
pub mod notion;
pub mod packing;
pub mod perturbed_objective;
pub mod pld;
pub mod profile;
pub mod pure;
pub mod ratio;
pub mod rdp;
pub mod sampled_last_iterate;
pub mod selection;
pub mod stable;
pub mod subsample;
pub mod trade_off;
pub mod zcdp;

pub use conversion::Conversion;
