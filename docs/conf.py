"""Settings of the documentation: ``python -m sphinx -W --keep-going -b html docs docs/_build/html``."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from sphinx.util import logging

import cohirf

project = "cohirf"
author = "The cohirf developers"
copyright = author
version = release = cohirf.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]

# The class template lists methods; numpydoc would list them a second time.
numpydoc_show_class_members = False
smartquotes = False  # docstrings quote option strings
autosummary_generate = True
autodoc_typehints = "none"  # docstrings say it in words
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"

ROOT = Path(__file__).parents[1]
# Examples run in their own folder, where a path relative to the repository would not be found.
DATA = (ROOT / os.environ.get("COHIRF_DATA", "../shared/data")).resolve()
os.environ["COHIRF_DATA"] = str(DATA)


def missing_data(script: Path) -> list[str]:
    """Return the data sets that an example reads and that are not in the folder of data."""
    named = re.findall(r'"([\w-]+\.parquet)"', script.read_text(encoding="utf-8"))
    return [name for name in named if not (DATA / name).is_file()]


EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
WITHOUT_DATA = {path.stem: missing for path in EXAMPLES if (missing := missing_data(path))}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    # Examples whose data is not here are left out: a page without its picture shows nothing.
    "ignore_pattern": "|".join(["^(?!plot_)", *(rf"^{stem}\.py$" for stem in WITHOUT_DATA)]),
    "doc_module": ("cohirf",),
    "backreferences_dir": "reference/generated/used_in",
    "image_srcset": ["2x"],
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 60,
    "write_computation_times": False,
    "plot_gallery": True,
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"cohirf {version}"
html_static_path = ["_static"]
html_css_files = ["cohirf.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "cohirf"},
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "tutorial": []}


def escape_shapes(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep the underscore of fitted sizes, as in ``shape (n_clusters_,)``, from being read as a link."""
    lines[:] = [re.sub(r"_(?=[,)])", r"\\_", line) if ", shape (" in line else line for line in lines]


def name_missing_data(app: Any) -> None:
    """Say which examples are left out."""
    for name, missing in WITHOUT_DATA.items():
        message = "%s is left out: %s does not have %s. Set COHIRF_DATA to the folder of the data sets."
        logging.getLogger(__name__).info(message, name, DATA, ", ".join(missing))


def setup(app: Any) -> None:
    """Register the hooks with Sphinx."""
    app.connect("builder-inited", name_missing_data)
    app.connect("autodoc-process-docstring", escape_shapes, priority=100)  # before numpydoc
