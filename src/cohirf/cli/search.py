"""A parameter search: the model, the parameters that are searched, and those that the user has fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cohirf.cli.errors import BadInputError
from cohirf.cli.fit import read_assignments, read_base_method
from cohirf.cli.options import MethodOptions
from cohirf.cli.parameters import BASE_METHOD, FLAGS, read_parameters, settle_parameters, to_arguments, to_text
from cohirf.clusterers.names import NAMES, make_base_method
from cohirf.estimator import CoHiRF
from cohirf.tuning import first_trials, paper_space, recommended_space, wide_space
from cohirf.tuning.search_space import INNER, NUMBER_NAMES, RANGES


@dataclass(frozen=True)
class Search:
    """A base method, alone or inside CoHiRF, and the search space of its parameters."""

    method: str  # short name of the base method
    base: Any  # the base method, with the parameters that the user has given; None for CoHiRF without one
    alone: bool  # whether the base method is tuned without CoHiRF
    as_published: bool
    assigned: dict[str, str]  # parameters of the base method that the user has given, as text
    parameters: dict[str, Any]  # parameters of CoHiRF that the user has given
    space: dict[str, Any] = field(default_factory=dict)  # distributions of the parameters that are searched
    given: list[str] = field(default_factory=list)  # options for parameters that would be searched otherwise
    is_recommended: bool = False  # whether the space is the one that we recommend
    first: list[dict[str, Any]] = field(default_factory=list)  # parameters of the first trials

    def settle(self, n_rows: int, n_bytes: int) -> dict[str, Any]:
        """Return the parameters of CoHiRF that are not searched; for a base method alone, only the seed."""
        settled = settle_parameters(self.parameters, n_rows, n_bytes, self.base)
        return {"random_state": settled["random_state"]} if self.alone else settled

    def fit_to(self, X: Any) -> Search:
        """Return the search with ranges that depend on the data, such as those of a radius, and with first trials."""
        if not self.is_recommended:
            return self
        estimator = self.base if self.alone else self.to_estimator({})
        ranges = recommended_space(estimator, X)
        space = {name: ranges[name] for name in self.space}
        seed = settle_parameters(self.parameters, 0)["random_state"]
        return replace(self, space=space, first=first_trials(estimator, X, space, seed))

    def to_estimator(self, settled: Mapping[str, Any]) -> Any:
        """Return the estimator to tune."""
        if self.alone:
            return self.base
        return (CoHiRF.as_published if self.as_published else CoHiRF)(self.base, **settled)

    def to_arguments(self, settled: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
        """Return the arguments of a fit command for the model with the parameters that were found."""
        inner = {name.removeprefix(INNER): to_text(value) for name, value in found.items() if name.startswith(INNER)}
        outer = {name: value for name, value in found.items() if not name.startswith(INNER)}
        words = [] if self.base is None else ["--estimator", self.method]
        words += ["--as-published"] if self.as_published else []
        for name, text in (self.assigned | inner).items():
            words += ["--param", f"{name}={text}"]
        return words + to_arguments({**settled, **outer})

    def called(self, name: str) -> str:
        """Return the name of a searched parameter for output."""
        if self.alone or name.startswith(INNER):
            return name.removeprefix(INNER)
        return FLAGS[name].removeprefix("--")

    def describe(self) -> str:
        """Return the line that lists the searched parameters and their ranges."""
        return "searched: " + ", ".join(
            f"{self.called(name)} {_range_in_words(where)}" for name, where in self.space.items()
        )


def read_search(options: MethodOptions, texts: Mapping[str, str], *, space: str, alone: bool) -> Search:
    """Return the search that the options describe; refuse options that contradict each other."""
    method = options.estimator or BASE_METHOD
    base = read_base_method(options.estimator, options.param)
    if base is None and (alone or options.as_published):
        base = make_base_method(method)
    assigned, parameters = read_assignments(options.param), read_parameters(texts)
    search = Search(method, base, alone, options.as_published, assigned, parameters)
    _refuse_misfits(search, space)
    whole = _whole_space(search, space)
    given = _given(search)
    left = {name: where for name, where in whole.items() if name not in given}
    unsought = list(dict.fromkeys(given[name] for name in whole if name in given))
    if not left:
        wider = "" if alone or space == "wide" else ", or give --space wide"
        raise BadInputError(f"Nothing is left to search, with {' '.join(unsought)}: leave one of them out{wider}.")
    return replace(search, space=left, given=unsought, is_recommended=space == "recommended")


def _whole_space(search: Search, space: str) -> dict[str, Any]:
    known = [name for name, (_, cls) in NAMES.items() if cls in RANGES]
    if search.method not in known:
        raise BadInputError(
            f"--estimator {search.method} has no search space: give one of {', '.join(known)}; or tune it in "
            f"Python, where cohirf.tuning.tune takes a search_space."
        )
    make = {"recommended": recommended_space, "paper": paper_space, "wide": wide_space}[space]
    return make(search.base if search.alone else search.to_estimator({}))


def _given(search: Search) -> dict[str, str]:
    """Return the option of each parameter that the user has given, by the library's parameter name."""
    prefix = "" if search.alone else INNER
    inner = {f"{prefix}{name}": f"--param {name}={text}" for name, text in search.assigned.items()}
    outer = {name: " ".join(to_arguments({name: value})) for name, value in search.parameters.items()}
    if search.parameters.get("n_clusters", "levels") != "levels":  # it overrules the number of the base method
        inner |= {f"{INNER}{name}": outer["n_clusters"] for name in NUMBER_NAMES}
    return inner | outer


def _refuse_misfits(search: Search, space: str) -> None:
    if "random_state" in search.parameters and search.parameters["random_state"] is None:
        raise BadInputError("--seed 'none' is not valid: give a number; all trials have the same seed.")
    if not search.alone:
        return
    outer = [FLAGS[name] for name in search.parameters if name != "random_state"]
    outer += ["--as-published"] if search.as_published else []
    if outer:
        raise BadInputError(
            f"{outer[0]} is an option of CoHiRF, but --alone tunes {search.method} without CoHiRF: leave one of "
            f"them out."
        )
    if space == "wide":
        raise BadInputError("--space wide has options of CoHiRF: leave it out with --alone.")
    if "random_state" in search.assigned:
        raise BadInputError("--param random_state is for the seed of the trials: give --seed.")


def _range_in_words(where: Any) -> str:
    """Return the range of an Optuna distribution as text."""
    if hasattr(where, "choices"):
        *some, last = (str(choice).lower() for choice in where.choices)
        return f"{', '.join(some)} or {last}"
    return f"{where.low:g} to {where.high:g}"
