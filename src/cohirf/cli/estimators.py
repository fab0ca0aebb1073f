"""Convert the options of a command to a base method and parameters of CoHiRF, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cohirf.cli.errors import BadInputError
from cohirf.cli.estimator_options import BASE_METHOD, FLAGS, MANY_ROWS, SEED
from cohirf.clusterers.names import NAMES, make_base_method, text_parameters
from cohirf.estimator import CoHiRF


def read_base_method(name: str | None, parameters: list[str] | None) -> Any:
    """Return the base method that ``--estimator`` and ``--param`` describe; None if neither is given."""
    if name is None and not parameters:
        return None
    texts = read_assignments(parameters)
    try:
        return make_base_method(name or BASE_METHOD, **texts)
    except ValueError as error:
        flag = "--estimator" if name not in (*NAMES, None) else "--param"
        raise BadInputError(f"{flag}: {error}") from error


def read_assignments(parameters: list[str] | None) -> dict[str, str]:
    """Return the values of ``--param`` options by the name of the parameter."""
    texts = {}
    for given in parameters or []:
        key, equals, text = given.partition("=")
        if not equals:
            raise BadInputError(f"--param {given!r} is not valid: give KEY=VALUE, such as --param n_clusters=5.")
        texts[key] = text
    return texts


def read_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Parse the given options, which are text or True, to parameters of CoHiRF."""
    parameters = text_parameters(CoHiRF)
    return {name: value if value is True else parameters[name].parse(value) for name, value in given.items()}


def settle_parameters(parameters: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """Add the defaults of the command line that differ from those of CoHiRF."""
    chosen: dict[str, Any] = {"random_state": SEED}
    if n_rows >= MANY_ROWS:
        chosen["batch_size"] = "auto"
    return chosen | dict(parameters)


def to_arguments(parameters: Mapping[str, Any]) -> list[str]:
    """Return parameters of CoHiRF as command-line arguments, which :func:`read_parameters` reads."""
    arguments = []
    for name, value in parameters.items():
        if not isinstance(value, bool):
            arguments += [FLAGS[name], to_text(value)]
        else:
            arguments += [FLAGS[name], str(value).lower()]
    return arguments


def to_text(value: Any) -> str:
    """Return a value as text that parses to the same value."""
    return "none" if value is None else str(value)


def say_chosen(chosen: Mapping[str, Any]) -> str:
    """Return the line that lists the defaults that were chosen, as options."""
    return f"chosen: {' '.join(f'{flag} {value}' for flag, value in chosen.items())}"
