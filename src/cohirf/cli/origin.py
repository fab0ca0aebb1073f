"""The origin of a model: what a script needs to prepare the same data in the same way."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

from cohirf.cli.data_options import DataOptions
from cohirf.cli.invocation import command_line
from cohirf.preparation import prepare
from cohirf.store import Origin


def find_origin(data: Path, about: DataOptions, scaling: str) -> Origin:
    """Return the file of a fit, the arguments of ``prepare`` that differ from their defaults, and the command."""
    given = about.arguments(scaling)
    options: dict[str, Any] = {}
    for name, parameter in signature(prepare).parameters.items():
        value = given.get(name)
        if (value and value != parameter.default) or value is False:
            options[name] = value
    return Origin(str(data), options, command_line())
