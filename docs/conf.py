"""Settings of the documentation:
``python -m sphinx -W --keep-going -b html docs docs/_build/html``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import cohirf

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "docs" / "_extensions"), str(ROOT)]

project = "cohirf"
author = "The cohirf developers"
copyright = author
version = release = cohirf.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "class_pages",
    "command_pages",
    "figure_role",
    "table_cells",
    "tutorial_data",
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
# Sections of methods on the page of a class. Methods that are in no section come before them.
METHOD_GROUPS = {
    "cohirf.CoHiRF": {
        "Fit": ["fit", "fit_predict", "fit_transform", "as_published"],
        "New rows": [
            "predict",
            "transform",
            "membership",
            "score_outliers",
            "drift",
            "get_feature_names_out",
        ],
        "Understand": ["summary", "explain", "diagnose", "name_clusters", "score"],
        "Update": ["partial_fit", "forget", "recluster"],
        "Keep": ["save", "gather"],
    },
    "cohirf.FusionHierarchy": {
        "Clusters": ["cut", "levels", "cluster_counts", "sizes", "medoids", "members", "lineage"],
        "Smaller trees": ["condense", "sample", "find_leaves", "count_rows"],
        "Other forms": [
            "to_frame",
            "to_linkage",
            "to_networkx",
            "to_newick",
            "to_json",
            "from_json",
            "of_fit",
        ],
    },
}
autosummary_context = {"method_groups": METHOD_GROUPS}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "ignore_pattern": "^(?!plot_)",
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

REPOSITORY = "https://github.com/cohirf/cohirf"
extlinks = {"notes": (f"{REPOSITORY}/blob/main/benchmarks/notes/%s.rst", "notes on %s")}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"cohirf {version}"
html_static_path = ["_static"]
html_favicon = "_static/logo.svg"
html_css_files = ["cohirf.css"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "cohirf", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "github_url": REPOSITORY,
    "header_links_before_dropdown": 9,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "navbar_persistent": ["search-button"],  # a wide field would need a second row
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 3,
    "show_prev_next": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "tutorial": []}


def escape_shapes(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep the underscore of fitted sizes, as in ``shape (n_clusters_,)``, from being read as a
    link.
    """
    lines[:] = [
        re.sub(r"_(?=[,)])", r"\\_", line) if ", shape (" in line else line for line in lines
    ]


def setup(app: Any) -> None:
    """Register the hooks with Sphinx."""
    app.connect("autodoc-process-docstring", escape_shapes, priority=100)  # before numpydoc
