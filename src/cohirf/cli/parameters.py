"""Options made from the docstrings of CoHiRF and of tune: names, allowed values, defaults and texts are theirs.

Their files are read as text and not imported: help does not wait for NumPy and scikit-learn.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any

from cohirf.cli.options import Documented, find_definition, read_docstring, to_option

BASE_METHOD = "kmeans"
DEFAULT_SEED = 0  # the same command gives the same clusters
# From this number of rows on, the default batch size is auto. Without a base method and with K-Means, which take time
# in proportion to the rows, also from this number of bytes on: one batch is faster, and its clusters are better.
BATCHED_ROWS, BATCHED_BYTES = 50_000, 2**30

SHORT = {"n_clusters": "clusters", "random_state": "seed"}
OF_SIZE = ("batch_size", "batches", "checkpoint", "device", "n_jobs")
NOT_OPTIONS = {
    "estimator",  # --estimator and --param
    "verbose",  # --quiet
    *("medoid_weights", "medoid", "max_iter"),  # no page recommends to change them
    "metric",  # --vectors: cosine
}
SEARCHED = ("n_clusters", "views", "max_features", "batch_size", "random_state")
DEFAULTS = {  # where the program's differ from those of the class
    "n_clusters": "that of the base method, else auto",
    "batch_size": f"auto from {BATCHED_ROWS:,} rows on, for K-Means from 1 GB on, none below",
    "random_state": str(DEFAULT_SEED),
}
SEARCH_DEFAULTS = {"timeout": "60"}


def read_file(place: str, name: str) -> dict[str, Documented]:
    """Return the parameters that the docstring of a class or a function in a file of the package describes."""
    return read_docstring(ast.get_docstring(find_definition(place, name)))


DOCUMENTED = {name: found for name, found in read_file("estimator.py", "CoHiRF").items() if name not in NOT_OPTIONS}
FLAGS = {name: f"--{SHORT.get(name, name).replace('_', '-')}" for name in DOCUMENTED}
SEARCH_FLAGS = {
    "metric": "--metric",
    "n_trials": "--trials",
    "timeout": "--timeout",
    "storage": "--storage",
}


def parameter_options(names: Iterable[str] = tuple(DOCUMENTED)) -> dict[str, Any]:
    """Return an option of typer for each of the parameters of CoHiRF, as far as it has them."""
    names = [name for name in names if name in DOCUMENTED]
    panels = {name: "Size" if name in OF_SIZE else "Clustering" for name in names}
    brief = {name: _in_brief(DOCUMENTED[name], FLAGS, DEFAULTS.get(name)) for name in names}
    return {name: to_option(FLAGS[name], brief[name], panels[name]) for name in names}


def search_options() -> dict[str, Any]:
    """Return an option of typer for each of the parameters of ``tune`` that are one."""
    documented = read_file("tuning/tune.py", "tune")
    brief = {name: _in_brief(documented[name], SEARCH_FLAGS, SEARCH_DEFAULTS.get(name)) for name in SEARCH_FLAGS}
    return {name: to_option(flag, brief[name], "Search", checked=True) for name, flag in SEARCH_FLAGS.items()}


def _in_brief(found: Documented, flags: Mapping[str, str], default: str | None) -> Documented:
    """Return the first sentence about a parameter of the library, in words of options, with the program's default."""

    def in_words(match: re.Match[str]) -> str:
        return " ".join(filter(None, [flags.get(match[1], match[1]), match[2]]))

    text = re.split(r"(?<=\.) (?=[A-Z\"])", found.text)[0]
    text = re.sub(r'``(\w+)(?:="?([\w.]+)"?)?``', in_words, text)
    return replace(found, text=text, default=default or found.default)


FitParameters = Annotated[dict[str, str], parameter_options()]  # those that the user gives, as text
SearchedParameters = Annotated[dict[str, str], parameter_options(SEARCHED)]
SearchParameters = Annotated[dict[str, str], search_options()]


def read_parameters(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of CoHiRF that options give as text."""
    from cohirf.clusterers.names import text_parameters  # imports scikit-learn, which help does not need
    from cohirf.estimator import CoHiRF

    known = text_parameters(CoHiRF)
    return {name: known[name].parse(text) for name, text in given.items()}


def settle_parameters(parameters: Mapping[str, Any], n_rows: int, n_bytes: int = 0, base: Any = None) -> dict[str, Any]:
    """Add the defaults of the command line that differ from those of CoHiRF, around a base method or without one."""
    chosen: dict[str, Any] = {"random_state": DEFAULT_SEED}
    is_linear = base is None or type(base).__name__ == "KMeans"
    if n_rows >= BATCHED_ROWS and (n_bytes >= BATCHED_BYTES or not is_linear):
        chosen["batch_size"] = "auto"
    return chosen | dict(parameters)


def to_arguments(parameters: Mapping[str, Any]) -> list[str]:
    """Return parameters of CoHiRF as command-line arguments, which :func:`read_parameters` reads."""
    return [word for name, value in parameters.items() for word in (FLAGS[name], to_text(value))]


def to_text(value: Any) -> str:
    """Return a value as text that parses to the same value."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
