"""The site: `python -m sphinx -W -b html bindings/python/docs OUT`, with the wheel installed."""

import shutil
from pathlib import Path

import rhograd

# Pages of algorithms link to pages beside their folder, as they do in the repository.
here = Path(__file__).parent
shutil.copytree(here.parents[2] / "docs" / "algorithms", here / "algorithms", dirs_exist_ok=True)

project = "rhograd"
version = release = rhograd.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
# Pages of the engine point to files of the repository beside them, which are no pages here.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
html_theme = "alabaster"
html_theme_options = {"description": "Differentially private convex models with exact arithmetic and an exact ledger"}
html_copy_source = False
