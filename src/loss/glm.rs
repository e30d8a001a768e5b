//! The losses by name, chosen at run time.

use super::Loss;

/// Calls the same code with the loss that a [`super::Glm`] names, so that loops are compiled for it.
pub trait LossVisitor {
    /// What the code returns.
    type Output;

    /// Runs with one loss.
    fn visit<L: Loss>(self, loss: L) -> Self::Output;
}

/// Writes the enum of losses and the only two ways from a name to a loss.
macro_rules! losses {
    ($($plain:ident),* ; $($name:ident($type:ident)),* $(,)?) => {
        /// A loss of the margin, chosen at run time; all else is said by the loss itself, see [`Glm::as_loss`].
        #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub enum Glm {
            $(
                #[doc = concat!("[`", stringify!($plain), "`].")]
                $plain,
            )*
            $(
                #[doc = concat!("[`", stringify!($type), "`].")]
                $name($type),
            )*
        }

        impl Glm {
            /// Runs `visitor` with the loss itself.
            pub fn with<V: LossVisitor>(self, visitor: V) -> V::Output {
                match self {
                    $(Glm::$plain => visitor.visit($plain),)*
                    $(Glm::$name(loss) => visitor.visit(loss),)*
                }
            }

            /// The loss itself, to be asked what it is; loops over rows use [`Glm::with`].
            pub fn as_loss(&self) -> &dyn Loss {
                match self {
                    $(Glm::$plain => &$plain,)*
                    $(Glm::$name(loss) => loss,)*
                }
            }
        }
    };
}
