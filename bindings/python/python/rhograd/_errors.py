"""What the engine refuses, as exceptions."""

import warnings


class Error(Exception):
    """Anything that rhograd refuses; the message says what is wrong and what to do about it."""


class ParameterError(Error, ValueError):
    """A parameter outside its legal range, or a public fact that is missing."""


class DataError(Error, ValueError):
    """A file, a schema or a column that cannot be used."""


class RefusedError(Error, RuntimeError):
    """A budget, a cap or a rule of private training does not allow what was asked."""


class LedgerError(RefusedError):
    """The ledger cannot be read or written, so nothing may be released."""


class NumericalError(Error, ArithmeticError):
    """A computation did not reach a trustworthy answer."""


class InternalError(Error, RuntimeError):
    """The engine stopped at a fault of its own, which is told on standard error; what was charged stays charged."""


class NotFittedError(Error, ValueError, AttributeError):
    """Something of a fitted model was asked of one that is not fitted."""


class NotPrivateWarning(UserWarning):
    """Something around the estimator looks at private rows without paying for it."""


class ChargeWarning(UserWarning):
    """Something around the estimator fits many models, and each of them is charged."""


class DataWarning(UserWarning):
    """Rows do not fit what was declared; for the custodian alone, since it speaks of private rows."""


class LedgerWarning(UserWarning):
    """A ledger does not hold all that the statement of a model speaks of."""


def warn_of_data(text: str) -> None:
    """Warns by :class:`DataWarning`; shown, and no error, where a filter would make it one.

    Whether a fit goes on, and so whether it is charged, must not depend on rows.
    """
    try:
        warnings.warn(text, DataWarning, stacklevel=4)
    except DataWarning as warning:
        warnings.showwarning(warning, DataWarning, __file__, 0)
