"""Differentially private convex models with exact arithmetic and an exact ledger.

    >>> from rhograd import DPLogisticRegression
    >>> model = DPLogisticRegression(epsilon=1, schema="fair.schema.json", classes=["0", "1"])
    >>> print(model.fit_csv("fair.csv").privacy_statement_["statement"])
    Model, log and this statement together are 0.268...-Gaussian DP...

Estimators follow scikit-learn's manner without needing it. What is public about the data (bounds, categories, labels)
is given, never looked up in the rows: a missing bound is an error.
"""

from . import accountants, accounting
from ._errors import (
    ChargeWarning,
    DataError,
    DataWarning,
    Error,
    InternalError,
    LedgerError,
    LedgerWarning,
    NotFittedError,
    NotPrivateWarning,
    NumericalError,
    ParameterError,
    RefusedError,
)
from ._load import load
from ._rhograd import ALGORITHMS, Model, __version__, hide_memory, new_key
from ._schema import Categories, Numbers, draft_schema
from ._summary import Summary, summarize
from .classifiers import DPLinearSVC, DPLogisticRegression
from .ledger import Ledger
from .pipelines import check_pipeline
from .regressors import DPHuberRegressor, DPLinearRegression, DPPoissonRegressor, DPQuantileRegressor, DPRidge
from .search import DPSearchCV

__all__ = [
    "ALGORITHMS",
    "Categories",
    "ChargeWarning",
    "DPHuberRegressor",
    "DPLinearRegression",
    "DPLinearSVC",
    "DPLogisticRegression",
    "DPPoissonRegressor",
    "DPQuantileRegressor",
    "DPRidge",
    "DPSearchCV",
    "DataError",
    "DataWarning",
    "Error",
    "InternalError",
    "Ledger",
    "LedgerError",
    "LedgerWarning",
    "Model",
    "NotFittedError",
    "NotPrivateWarning",
    "NumericalError",
    "Numbers",
    "ParameterError",
    "RefusedError",
    "Summary",
    "__version__",
    "accountants",
    "accounting",
    "check_pipeline",
    "draft_schema",
    "hide_memory",
    "load",
    "new_key",
    "summarize",
]
