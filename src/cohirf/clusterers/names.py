"""Base methods by their short names, with parameters given as text, for the command line and for searches.

To add a method, add a line to ``NAMES``. Parameters are read from the signature of a class, and their allowed values
from scikit-learn's parameter constraints, if the class has them. Both are imported when they are used, so that a
program can list the names at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, signature
from numbers import Integral, Real
from typing import Any

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
_WORDS = {bool: "true or false", int: "an int", float: "a number", str: "a text", type(None): "none"}
_NO_VALUE = object()


def base_class(name: str) -> Any:
    """Return the class that a short name stands for."""
    if name not in NAMES:
        raise ValueError(f"{name!r} is not the name of a base method: give one of {', '.join(NAMES)}.")
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
    parameters = base_parameters(name)
    unknown = [key for key in texts if key not in parameters]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a parameter of {name}: give some of {', '.join(parameters)}.")
    return base_class(name)(**{key: parameters[key].parse(text) for key, text in texts.items()})


def base_parameters(name: str) -> dict[str, BaseParameter]:
    """Return the parameters of a base method that can be written as text."""
    return text_parameters(base_class(name))


def text_parameters(cls: Any) -> dict[str, BaseParameter]:
    """Return the parameters of an estimator's class that can be written as text."""
    constraints = getattr(cls, "_parameter_constraints", {})
    named = [one for one in signature(cls).parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
    described = [BaseParameter.of(one.name, one.default, constraints.get(one.name)) for one in named]
    return {parameter.name: parameter for parameter in described if parameter.types}


@dataclass(frozen=True)
class BaseParameter:
    """A parameter of a base method that can be written as text."""

    name: str
    default: Any
    types: tuple[type, ...]  # allowed types, among bool, int, float, str and NoneType
    options: tuple[str, ...] = ()  # allowed strings; empty if any string is allowed
    constraints: tuple[Any, ...] = ()  # scikit-learn's constraints on the value; empty if there are none

    @classmethod
    def of(cls, name: str, default: Any, constraints: Any) -> BaseParameter:
        """Return what scikit-learn's constraints allow or, if there are none, the type of the default."""
        limits = tuple(constraints) if isinstance(constraints, list) else ()
        types = {kind for limit in limits or (default,) for kind in _types_of(limit)}
        options = {option for limit in limits for option in getattr(limit, "options", ()) if isinstance(option, str)}
        return cls(name, default, tuple(kind for kind in _WORDS if kind in types), tuple(sorted(options)), limits)

    def parse(self, text: str) -> Any:
        """Return the value that is written as ``text``; raise ValueError if it is not allowed.

        Examples
        --------
        >>> from cohirf.clusterers.names import base_parameters
        >>> base_parameters("dbscan")["eps"].parse("0.2")
        0.2
        """
        value = self._read(text)
        if value is _NO_VALUE or not self._allows(value):
            raise ValueError(f"{self.name}={text!r} is not valid: give {self.expected()}.")
        return value

    def expected(self) -> str:
        """Return the allowed values in words."""
        numbers = [text for limit in self.constraints if (text := _in_words(limit)) is not None]
        said: set[type] = ({str} if self.options else set()) | ({int, float} if numbers else set())
        given = [word for kind, word in _WORDS.items() if kind in self.types and kind not in said]
        return " or ".join([*numbers, *given, *map(repr, self.options)])

    def _read(self, text: str) -> Any:
        if text in self.options:
            return text
        for kind in (type(None), bool, int, float):
            value = _read_as(kind, text) if kind in self.types else _NO_VALUE
            if value is not _NO_VALUE:
                return value
        return text if str in self.types and not self.options else _NO_VALUE

    def _allows(self, value: Any) -> bool:
        from sklearn.utils._param_validation import make_constraint

        return not self.constraints or any(make_constraint(limit).is_satisfied_by(value) for limit in self.constraints)


def _read_as(kind: type, text: str) -> Any:
    """Return text as a value of a type; ``_NO_VALUE`` if it is none."""
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            return _NO_VALUE
    words = {"none": None} if kind is type(None) else {"true": True, "false": False}
    return words.get(text.lower(), _NO_VALUE)


def _in_words(constraint: Any) -> str | None:
    """Return in words the numbers that one of scikit-learn's constraints allows; None if it is not an interval."""
    if not hasattr(constraint, "closed"):
        return None
    kind = "an int" if constraint.type is Integral else "a number"
    low, high = constraint.left, constraint.right
    with_low, with_high = constraint.closed in ("left", "both"), constraint.closed in ("right", "both")
    if low is not None and high is not None:
        return f"{kind} in {'[' if with_low else '('}{low:g}, {high:g}{']' if with_high else ')'}"
    bounds = [] if low is None else [f"{'>=' if with_low else '>'} {low:g}"]
    bounds += [] if high is None else [f"{'<=' if with_high else '<'} {high:g}"]
    return " ".join([kind, *bounds])


def _types_of(constraint: Any) -> set[type]:
    """Return the types that satisfy one of scikit-learn's constraints and can be written as text."""
    from sklearn.utils._param_validation import Interval, Options, RealNotInt

    if isinstance(constraint, Interval | Options):
        numbers: dict[Any, set[type]] = {Integral: {int}, Real: {int, float}, RealNotInt: {float}, str: {str}}
        return numbers.get(constraint.type, set())
    named: dict[Any, set[type]] = {
        None: {type(None)},
        Integral: {int},
        str: {str},
        "boolean": {bool},
        "random_state": {int, type(None)},
        "verbose": {bool, int},
    }
    if isinstance(constraint, str | None) or constraint in (Integral, str):
        return named.get(constraint, set())
    return {kind for kind in (bool, int, float) if type(constraint) is kind}
