"""Base methods by their short names, with parameters given as text, for the command line and for
searches.

To add a method, add a line to ``NAMES``. What a parameter takes is known from scikit-learn's
parameter constraints of the class. Both are imported when they are used, so that a program can list
the names at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from inspect import signature
from typing import Any

__all__ = ["NAMES", "make_base_method", "read_parameter"]

NAMES: dict[str, tuple[str, str]] = {
    "affinity-propagation": ("sklearn.cluster", "AffinityPropagation"),
    "agglomerative": ("sklearn.cluster", "AgglomerativeClustering"),
    "birch": ("sklearn.cluster", "Birch"),
    "bisecting-kmeans": ("sklearn.cluster", "BisectingKMeans"),
    "dbscan": ("sklearn.cluster", "DBSCAN"),
    "gmm": ("sklearn.mixture", "GaussianMixture"),
    "grid-dbscan": ("cohirf.clusterers", "GridDBSCAN"),
    "hdbscan": ("sklearn.cluster", "HDBSCAN"),
    "kernel-kmeans": ("cohirf.clusterers", "KernelKMeans"),
    "kmeans": ("sklearn.cluster", "KMeans"),
    "mean-shift": ("sklearn.cluster", "MeanShift"),
    "minibatch-kmeans": ("sklearn.cluster", "MiniBatchKMeans"),
    "optics": ("sklearn.cluster", "OPTICS"),
    "sc-srgf": ("cohirf.clusterers", "SCSRGF"),
    "spectral": ("sklearn.cluster", "SpectralClustering"),
    "torch-kmeans": ("cohirf.clusterers", "TorchKMeans"),
}


def base_class(name: str) -> Any:
    """Return the class that a short name stands for."""
    if name not in NAMES:
        raise ValueError(
            f"{name!r} is not the name of a base method: give one of {', '.join(NAMES)}."
        )
    module, attribute = NAMES[name]
    return getattr(import_module(module), attribute)


def make_base_method(name: str, **texts: str) -> Any:
    """Return a base method by its short name, with parameters given as text.

    Examples
    --------
    >>> from cohirf.clusterers.names import make_base_method
    >>> make_base_method("dbscan", eps="0.2", min_samples="10")
    DBSCAN(eps=0.2, min_samples=10)
    """
    cls = base_class(name)
    parameters = list(signature(cls).parameters)
    unknown = [key for key in texts if key not in parameters]
    if unknown:
        raise ValueError(
            f"{unknown[0]!r} is not a parameter of {name}: give some of {', '.join(parameters)}."
        )
    return cls(**{key: read_parameter(cls, key, text) for key, text in texts.items()})


def read_parameter(cls: Any, name: str, text: str) -> Any:
    """Return the value of a parameter of a class that is written as text.

    Raise ValueError if it is not allowed.

    Examples
    --------
    >>> from sklearn.cluster import DBSCAN
    >>> from cohirf.clusterers.names import read_parameter
    >>> read_parameter(DBSCAN, "eps", "0.2"), read_parameter(DBSCAN, "metric_params", "None")
    (0.2, None)
    """
    from sklearn.utils._param_validation import Options, _Booleans, _VerboseHelper, make_constraint

    limits = [make_constraint(limit) for limit in cls._parameter_constraints[name]]
    takes_words = (Options, _Booleans, _VerboseHelper)
    for value in _readings(text):
        # for Python, True is a number, too
        allowed = [
            limit
            for limit in limits
            if not isinstance(value, bool) or isinstance(limit, takes_words)
        ]
        if any(limit.is_satisfied_by(value) for limit in allowed):
            return value
    expected = " or ".join(str(limit) for limit in limits if not limit.hidden)
    raise ValueError(f"{name}={text!r} is not valid: give {expected}.")


def _readings(text: str) -> Iterator[Any]:
    """Yield the values that a text can stand for."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        yield words[text.lower()]
    for kind in (int, float):
        with suppress(ValueError):
            yield kind(text)
    yield text
