"""Base methods by their short names, with parameters given as text, for the command line and for searches.

Parameters are read from the signature of a class, and their allowed values from scikit-learn's parameter constraints,
if the class has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import Parameter, signature
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, Options, RealNotInt, make_constraint

from cohirf.clusterers.short_names import base_class


@dataclass(frozen=True)
class BaseParameter:
    """A parameter of a base method that can be written as text.

    Attributes
    ----------
    name : str
        Name of the parameter.
    default : object
        Default value.
    types : tuple of type
        Allowed types, among bool, int, float, str and NoneType.
    options : tuple of str
        Allowed strings; empty if any string is allowed.
    constraints : tuple
        Scikit-learn's constraints on the value; empty if there are none.
    """

    name: str
    default: Any
    types: tuple[type, ...]
    options: tuple[str, ...] = ()
    constraints: tuple[Any, ...] = ()

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
        words = {bool: "true or false", int: "an int", float: "a number", str: "a text", type(None): "none"}
        said: set[type] = ({str} if self.options else set()) | ({int, float} if numbers else set())
        given = [words[kind] for kind in self.types if kind not in said]
        return " or ".join([*numbers, *given, *map(repr, self.options)])

    def _read(self, text: str) -> Any:
        if text in self.options:
            return text
        for kind in (type(None), bool, int, float):
            value = _READERS[kind](text) if kind in self.types else _NO_VALUE
            if value is not _NO_VALUE:
                return value
        return text if str in self.types and not self.options else _NO_VALUE

    def _allows(self, value: Any) -> bool:
        return not self.constraints or any(make_constraint(limit).is_satisfied_by(value) for limit in self.constraints)


def base_parameters(name: str) -> dict[str, BaseParameter]:
    """Return the parameters of a base method that can be written as text."""
    return text_parameters(base_class(name))


def text_parameters(cls: Any) -> dict[str, BaseParameter]:
    """Return the parameters of an estimator's class that can be written as text."""
    constraints = getattr(cls, "_parameter_constraints", {})
    found = {}
    for parameter in signature(cls).parameters.values():
        if parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
            described = _describe(parameter, constraints.get(parameter.name))
            if described.types:
                found[parameter.name] = described
    return found


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


_NO_VALUE = object()


def _read_number(kind: type) -> Any:
    def read(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            return _NO_VALUE

    return read


_READERS: dict[type, Any] = {
    type(None): lambda text: None if text.lower() == "none" else _NO_VALUE,
    bool: lambda text: {"true": True, "false": False}.get(text.lower(), _NO_VALUE),
    int: _read_number(int),
    float: _read_number(float),
}


def _describe(parameter: Parameter, constraints: Any) -> BaseParameter:
    types: set[type] = set()
    options: set[str] = set()
    limits = tuple(constraints) if isinstance(constraints, list) else ()
    for constraint in limits or (parameter.default,):
        types |= _types_of(constraint)
        if isinstance(constraint, Options):
            options |= {option for option in constraint.options if isinstance(option, str)}
    ordered = tuple(kind for kind in (bool, int, float, str, type(None)) if kind in types)
    return BaseParameter(parameter.name, parameter.default, ordered, tuple(sorted(options)), limits)


def _in_words(constraint: Any) -> str | None:
    """Return in words the numbers that one of scikit-learn's constraints allows; None if it is not an interval."""
    if not isinstance(constraint, Interval):
        return None
    kind = "an int" if constraint.type is Integral else "a number"
    low, high = constraint.left, constraint.right
    if low is not None and high is not None:
        opening = "[" if constraint.closed in ("left", "both") else "("
        closing = "]" if constraint.closed in ("right", "both") else ")"
        return f"{kind} in {opening}{low:g}, {high:g}{closing}"
    bounds = [] if low is None else [f"{'>=' if constraint.closed in ('left', 'both') else '>'} {low:g}"]
    bounds += [] if high is None else [f"{'<=' if constraint.closed in ('right', 'both') else '<'} {high:g}"]
    return " ".join([kind, *bounds])


def _types_of(constraint: Any) -> set[type]:
    """Return the types that satisfy one of scikit-learn's constraints and can be written as text."""
    named: dict[Any, set[type]] = {
        None: {type(None)},
        Integral: {int},
        str: {str},
        "boolean": {bool},
        "random_state": {int, type(None)},
        "verbose": {bool, int},
    }
    if isinstance(constraint, Interval | Options):
        numbers: dict[Any, set[type]] = {Integral: {int}, Real: {int, float}, RealNotInt: {float}, str: {str}}
        return numbers.get(constraint.type, set())
    if isinstance(constraint, str | None) or constraint in (Integral, str):
        return named.get(constraint, set())
    return {kind for kind in (bool, int, float) if type(constraint) is kind}
