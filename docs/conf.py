"""Settings of the documentation: ``python -m sphinx -W --keep-going -b html docs docs/_build/html``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import cohirf

project = "cohirf"
author = "The cohirf developers"
copyright = author
version = release = cohirf.__version__

extensions = [
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

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "ignore_pattern": r"^(?!plot_)",
    "doc_module": ("cohirf",),
    "backreferences_dir": "api/generated/used_in",
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
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": [], "changelog": []}

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"
UNDERLINES = {"#": "=", "##": "-", "###": "~"}


def markdown_to_rst(text: str) -> str:
    """Turn Markdown that has only headings, paragraphs, lists with dashes and `code` into reStructuredText."""
    lines: list[str] = []
    for line in text.splitlines():
        heading = re.fullmatch(r"(#{1,3}) +(.*)", line)
        words = _inline(heading[2] if heading else line)
        if heading:
            lines += ["", words, UNDERLINES[heading[1]] * len(words), ""]
            continue
        if words.startswith("- ") and lines and not lines[-1].startswith(("- ", "  ")):
            lines.append("")  # a list starts a paragraph of its own
        lines.append(words)
    return "\n".join(lines) + "\n"


def _inline(text: str) -> str:
    """Double the backticks of `code`, and keep what surrounds it from being read as markup."""
    parts = text.split("`")
    plain = (re.sub(r"([\\_|])", r"\\\1", part) for part in parts[::2])
    code = (f"``{part}``" for part in parts[1::2])
    return "".join(piece for pair in zip(plain, [*code, ""], strict=True) for piece in pair)


def fill_changelog(app: Any, docname: str, source: list[str]) -> None:
    """Put CHANGELOG.md in the place of the page ``changelog``."""
    if docname == "changelog" and CHANGELOG.exists():
        app.env.note_dependency(str(CHANGELOG))
        source[0] = markdown_to_rst(CHANGELOG.read_text(encoding="utf-8"))


def escape_shapes(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep the underscore of fitted sizes, as in ``shape (n_clusters_,)``, from being read as a link."""
    lines[:] = [re.sub(r"_(?=[,)])", r"\\_", line) if ", shape (" in line else line for line in lines]


def setup(app: Any) -> None:
    """Register the hooks with Sphinx."""
    app.connect("source-read", fill_changelog)
    app.connect("autodoc-process-docstring", escape_shapes, priority=100)  # before numpydoc
