//! What a loss of the margin is: everything that is said of it anywhere, said once by the loss itself.

use super::{BoundedLoss, Curved, Tuning};

/// A loss `l(t, y)` of the margin `t = w . x` and the label `y`.
///
/// Nothing has a default: a new loss answers every question in its own file.
pub trait Loss: Send + Sync {
    /// `l(t, y)`.
    fn value(&self, margin: f64, label: f64) -> f64;

    /// `dl/dt` in single precision, free of branches so that loops over it vectorise.
    ///
    /// Must be a pure function of its arguments. Its error is harmless to privacy: the clip is
    /// decided afterwards, in integers.
    fn slope(&self, margin: f32, label: f32) -> f32;

    /// The largest `|dl/dt|`, infinite if there is none.
    fn lipschitz(&self) -> f64;

    /// The largest `d^2l/dt^2`.
    fn smoothness(&self) -> f64;

    /// What was measured about it.
    fn tuning(&self) -> Tuning;

    /// What a margin predicts: the margin itself, or the rate of a count.
    fn prediction(&self, margin: f64) -> f64;

    /// The loss by which predictions are reported: without smoothing, the deviance of counts, else what training minimises.
    fn reported(&self, margin: f64, label: f64) -> f64;

    /// What the reported loss is called.
    fn metric(&self) -> &'static str;

    /// The loss as second-order methods know it; `None` where they have no theory for it.
    fn curved(&self) -> Option<Curved>;

    /// The loss with slopes in `[-1, 1]` that is minimised in its place where minimisers are certified, if there is one.
    fn bounded(&self) -> Option<BoundedLoss>;
}
