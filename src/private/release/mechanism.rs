//! The ways in which values are opened, each paid for by a kind of charge of its own.

use crate::error::{Error, Fallible};
use crate::privacy::{
    AllocatedGaussianCharge, Charge, ExponentialCharge, GaussianCharge, LaplaceCharge, ObjectiveCharge,
    PoissonGaussianCharge, PrivateSelectionCharge, SparseVectorCharge, ThresholdCharge,
};

mod sealed {
    pub trait Sealed {}
}

/// What is paid for releases of one kind; closed, since each kind is a theorem about how its permit opens values.
pub trait Mechanism: sealed::Sealed + Sized {
    /// What a charge pays for, if it is of this kind.
    ///
    /// # Errors
    /// When it is of another one.
    fn of(charge: Charge) -> Fallible<Self>;

    /// The charge.
    fn charge(&self) -> Charge;
}

macro_rules! mechanisms {
    ($($event:ident of $kind:ident),*) => {$(
        impl sealed::Sealed for $event {}

        impl Mechanism for $event {
            fn of(charge: Charge) -> Fallible<Self> {
                match charge {
                    Charge::$kind(event) => Ok(event),
                    other => Err(otherwise(&other)),
                }
            }

            fn charge(&self) -> Charge {
                Charge::$kind(self.clone())
            }
        }
    )*};
}

mechanisms!(
    GaussianCharge of Gaussian, PoissonGaussianCharge of PoissonGaussian, ObjectiveCharge of Objective, ExponentialCharge of Exponential,
    PrivateSelectionCharge of PrivateSelection, ThresholdCharge of Threshold, LaplaceCharge of Laplace,
    SparseVectorCharge of SparseVector, AllocatedGaussianCharge of AllocatedGaussian
);

/// Refuses a permit of another kind than was paid for.
fn otherwise(charge: &Charge) -> Error {
    let problem = format!("the next release was paid for {}", charge.manner());
    Error::refused(problem, "use the permit of its kind")
}
