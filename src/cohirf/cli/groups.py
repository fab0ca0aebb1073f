"""Groups of options: a command parameter that is a dataclass is replaced by one option for each of its fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Any, get_args, get_type_hints

Command = Callable[..., None]


def spread_groups(command: Command) -> Command:
    """Return a command that takes single options, as typer requires, and calls ``command`` with the groups."""
    hints = get_type_hints(command, include_extras=True)
    hints.pop("return")
    parameters: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        hint = hints[parameter.name]
        parameters += _fields(hint) if _is_group(hint) else [_parameter(parameter.name, hint, parameter.default)]

    def spread(**given: Any) -> None:
        command(**{name: _gather(hint, given) if _is_group(hint) else given[name] for name, hint in hints.items()})

    spread.__name__, spread.__doc__ = command.__name__, command.__doc__
    spread.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # functions have it
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread


def flags_of(*groups: Any) -> dict[str, str]:
    """Return the option of each field of the groups."""
    options = {field.name: get_args(field.annotation)[1] for group in groups for field in _fields(group)}
    # in an annotation, typer stores the first option name as the default
    return {name: option.default.partition("/")[0] for name, option in options.items()}


def _is_group(hint: Any) -> bool:
    return is_dataclass(hint)


@cache
def _fields(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        _parameter(field.name, hints[field.name], Parameter.empty if field.default is MISSING else field.default)
        for field in fields(group)
    ]


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _gather(group: Any, given: dict[str, Any]) -> Any:
    return group(**{field.name: given[field.name] for field in fields(group)})
