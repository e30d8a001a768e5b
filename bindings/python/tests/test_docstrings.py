"""Every parameter of what is public is told by its name where it is asked for."""

import inspect
import re

import pytest

import rhograd
from rhograd import accountants, accounting, spark
from rhograd._base import Estimator

#: Rows, wherever they are given, need no words.
PLAIN = {"self", "cls", "X", "args", "kwargs"}


def public():
    """Public functions and classes, and the methods that are ours, by name."""
    found = {"Estimator": Estimator}
    for module in (rhograd, accounting, accountants, spark):
        for name in getattr(module, "__all__", [name for name in dir(module) if not name.startswith("_")]):
            it = getattr(module, name)
            ours = getattr(it, "__module__", None) or ""
            if callable(it) and ours.startswith("rhograd") and (hasattr(module, "__all__") or ours == module.__name__):
                found[f"{module.__name__}.{name}"] = it
    for name, it in list(found.items()):
        if inspect.isclass(it):
            for method, function in inspect.getmembers(it, inspect.isfunction):
                if not method.startswith("_") and function.__module__.startswith("rhograd"):
                    found[f"{name}.{method}"] = function
    return found


EXCEPTIONS = [name for name, it in public().items() if inspect.isclass(it) and issubclass(it, (Exception, Warning))]


@pytest.mark.parametrize("name", sorted(set(public()) - set(EXCEPTIONS)))
def test_parameters_are_told(name):
    it = public()[name]
    text = inspect.getdoc(it) or ""
    assert text, "nothing is said of it"
    try:
        parameters = inspect.signature(it).parameters
    except ValueError:
        return
    named = [it.name for it in parameters.values() if it.kind not in (it.VAR_KEYWORD, it.VAR_POSITIONAL)]
    missing = [it for it in named if it not in PLAIN and not re.search(rf"\b{re.escape(it)}\b", text)]
    assert not missing, f"{name} does not tell {missing}"


def test_a_class_says_in_one_place_what_it_takes():
    text = inspect.getdoc(rhograd.DPRidge)
    assert text.startswith("Linear regression with an l2 penalty") and "target_bounds" in text
    assert text.count("Parameters\n----------") == 1 and text.count("progress :") == 1
    assert list(inspect.signature(rhograd.DPRidge).parameters)[0] == "target_bounds"
