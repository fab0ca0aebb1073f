"""Options that are parameters of CoHiRF: names, types, defaults and help come from the class itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from cohirf.cli.docstrings import parameter_texts
from cohirf.cli.errors import BadInputError, in_words_of_options
from cohirf.cli.spec import Option
from cohirf.clusterers.names import NAMES, BaseParameter, make_base_method, text_parameters
from cohirf.estimator import CoHiRF

SHORT_NAMES = {"n_views": "views", "random_state": "seed"}
NO_OPTIONS = ("estimator", "verbose")  # a short name and --param make the one; the other follows the screen
PANELS = {"batch_size": "Size", "memory_limit": "Size", "checkpoint": "Size", "n_jobs": "Size"}
PANEL = "Clustering"
BASE_METHOD = "kmeans"
SEED = 0  # the same command gives the same clusters
MANY_ROWS = 50_000  # from which on the batch size is chosen by measurement

DEFAULTS = {"random_state": str(SEED), "batch_size": f"auto from {MANY_ROWS:,} rows on, none below", "n_jobs": "1"}
METAVARS = {"checkpoint": "FOLDER", "memory_limit": "SIZE", "batch_size": "INT|auto"}
# what docstrings say to people who write Python, and what the help says instead
IN_OTHER_WORDS = {
    r" [^.]*\b(callable maps|parallel_config|Pass an int)\b[^.]*\.": "",
    r"; verbose=1 says which": "",
    r" verbose,": "",
    r", or with a smaller sum of sample_weight,": "",
    r', "laplacian" and callables': ' and "laplacian"',
    r"\bNone\b": "none",
}

Estimator = Annotated[
    str | None,
    Option(("--estimator",), f"The base method: {', '.join(NAMES)}.", PANEL, "NAME", tuple(NAMES), BASE_METHOD),
]
BaseParameters = Annotated[
    list[str] | None,
    Option(("--param",), "A parameter of the base method, such as eps=0.2. May be repeated.", PANEL, "KEY=VALUE"),
]


@dataclass(frozen=True)
class EstimatorOption:
    """A parameter of CoHiRF as an option."""

    parameter: BaseParameter
    option: Option

    @property
    def is_switch(self) -> bool:
        """Whether it has no value, and is given or not."""
        return self.parameter.types == (bool,)


def estimator_options() -> dict[str, EstimatorOption]:
    """Return the options that are parameters of CoHiRF, by the name of the parameter."""
    texts = parameter_texts(CoHiRF)
    found = {}
    for name, parameter in text_parameters(CoHiRF).items():
        if name not in NO_OPTIONS:
            option = Option(
                (flag_of(name),),
                _help(texts[name]),
                PANELS.get(name, PANEL),
                METAVARS.get(name, _metavar(parameter)),
                parameter.options,
                None if parameter.types == (bool,) else DEFAULTS.get(name, str(parameter.default).lower()),
            )
            found[name] = EstimatorOption(parameter, option)
    return found


def flag_of(name: str) -> str:
    """Return the option that a parameter of CoHiRF is."""
    return f"--{SHORT_NAMES.get(name, name).replace('_', '-')}"


def flags() -> dict[str, str]:
    """Return all options that are parameters of CoHiRF, by the name of the parameter."""
    return {name: flag_of(name) for name in text_parameters(CoHiRF) if name not in NO_OPTIONS}


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
    """Return what ``--param`` says, by the name of the parameter."""
    texts = {}
    for given in parameters or []:
        key, equals, text = given.partition("=")
        if not equals:
            raise BadInputError(f"--param {given!r} is not valid: give KEY=VALUE, such as --param n_clusters=5.")
        texts[key] = text
    return texts


def read_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of CoHiRF from the options that were given: text, or True."""
    options = estimator_options()
    return {
        name: True if options[name].is_switch else options[name].parameter.parse(value)
        for name, value in given.items()
        if value is not None and value is not False
    }


def settle_parameters(parameters: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """Add what the command line decides where CoHiRF leaves it open."""
    chosen: dict[str, Any] = {"random_state": SEED}
    if n_rows >= MANY_ROWS:
        chosen["batch_size"] = "auto"
    return chosen | dict(parameters)


def to_arguments(parameters: Mapping[str, Any]) -> list[str]:
    """Return parameters of CoHiRF as a command line has them: what :func:`read_parameters` reads."""
    options = estimator_options()
    arguments = []
    for name, value in parameters.items():
        if not options[name].is_switch:
            arguments += [flag_of(name), to_text(value)]
        elif value:
            arguments.append(flag_of(name))
    return arguments


def to_text(value: Any) -> str:
    """Return a value as text that is read as the same value."""
    return "none" if value is None else str(value)


def say_chosen(chosen: Mapping[str, Any]) -> str:
    """Return what was decided for the user, as options that could have been given."""
    return f"chosen: {' '.join(f'{flag} {value}' for flag, value in chosen.items())}"


def _help(text: str) -> str:
    """Return what a docstring says about a parameter, in words of options."""
    for pattern, words in IN_OTHER_WORDS.items():
        text = re.sub(pattern, words, text)
    return in_words_of_options(text, flags())


def _metavar(parameter: BaseParameter) -> str:
    if parameter.types == (bool,):
        return ""
    if parameter.options:
        return "NAME"
    return "NUMBER" if float in parameter.types else "INT"
