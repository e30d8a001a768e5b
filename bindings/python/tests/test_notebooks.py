"""The notebooks run as they stand, cell by cell."""

import ast
import json

import pytest

from conftest import ROOT

NOTEBOOKS = ROOT / "bindings" / "python" / "notebooks"
NAMES = ["budgets", "first_model", "reading_a_model"]


def cells(name, kind):
    notebook = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text())
    assert notebook["nbformat"] == 4
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def test_all_notebooks_are_run():
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_holds_no_output(name, monkeypatch):
    monkeypatch.chdir(NOTEBOOKS)
    space = {"__name__": "__main__"}
    code = cells(name, "code")
    assert len(code) >= 5 and len(cells(name, "markdown")) >= 4
    for cell in code:
        assert cell["outputs"] == [] and cell["execution_count"] is None, "outputs are of one machine and one run"
        source = "".join(cell["source"])
        tree = ast.parse(source)
        # What a cell ends with is shown.
        shown = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{name}.ipynb", "exec"), space)
        if shown is not None:
            value = eval(compile(ast.Expression(shown.value), f"{name}.ipynb", "eval"), space)
            assert value is not None or "print(" in source, source
