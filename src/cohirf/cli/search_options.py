"""Options of a parameter search: score, search space and limits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cohirf.cli.options import option

SEARCH = "Search"
METRICS = ("silhouette", "calinski_harabasz", "ari")
SPACES = ("recommended", "paper", "wide")
TIMEOUT = "60"  # seconds


@dataclass(frozen=True)
class SearchOptions:
    """Options of a parameter search."""

    metric: Annotated[
        str,
        option(
            "--metric",
            "The score to maximise: silhouette and calinski_harabasz need no known classes, ari compares the "
            "clusters with "
            "--label-column.",
            SEARCH,
            "NAME",
            choices=METRICS,
            default="silhouette",
        ),
    ] = "silhouette"
    trials: Annotated[
        str, option("--trials", "Number of trials, including those already in --storage.", SEARCH, "INT", default="60")
    ] = "60"
    space: Annotated[
        str,
        option(
            "--space",
            "The search space: recommended has the ranges that we recommend, paper those of the paper, and wide adds "
            "the consensus and, for methods with a radius, --scale-views. Parameters that are given as options are "
            "not searched.",
            SEARCH,
            "NAME",
            choices=SPACES,
            default="recommended",
        ),
    ] = "recommended"
    alone: Annotated[bool, option("--alone", "Tune the base method without CoHiRF.", SEARCH, "")] = False
    storage: Annotated[
        Path | None,
        option(
            "--storage",
            "An SQLite file that stores every trial, so that the same command can resume the search.",
            SEARCH,
            "FILE",
        ),
    ] = None
    study: Annotated[
        str,
        option("--study", "Name of the search, if several searches share --storage.", SEARCH, "NAME", default="cohirf"),
    ] = "cohirf"
    timeout: Annotated[
        str,
        option(
            "--timeout",
            'Number of seconds after which no new trial starts; "none" runs all trials.',
            SEARCH,
            "NUMBER|none",
            default=TIMEOUT,
        ),
    ] = TIMEOUT
    jobs: Annotated[
        str,
        option(
            "--jobs",
            "Number of trials that run in parallel; -1: as many as there are cores. Parallel trials are proposed "
            "independently, so the result of the search depends on this number. It does not depend on --n-jobs, which "
            "is for each fit.",
            SEARCH,
            "INT",
            default="1",
        ),
    ] = "1"
