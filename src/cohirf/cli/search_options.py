"""Options about a search: what is to be high, where to look, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cohirf.cli.options import option

SEARCH = "Search"
METRICS = ("silhouette", "calinski_harabasz", "ari")
SPACES = ("paper", "wide")


@dataclass(frozen=True)
class SearchOptions:
    """What the user says about a search."""

    metric: Annotated[
        str,
        option(
            "--metric",
            "What is to be high: silhouette and calinski_harabasz judge by the data alone, ari compares with "
            "--label-column.",
            SEARCH,
            "NAME",
            choices=METRICS,
            default="silhouette",
        ),
    ] = "silhouette"
    trials: Annotated[
        str, option("--trials", "How many parameters are tried, with those in --storage.", SEARCH, "INT", default="60")
    ] = "60"
    space: Annotated[
        str,
        option(
            "--space",
            "Where to look: paper has the paper's ranges, wide adds options of CoHiRF that are not part of it. What is "
            "given as an option is not searched.",
            SEARCH,
            "NAME",
            choices=SPACES,
            default="paper",
        ),
    ] = "paper"
    alone: Annotated[bool, option("--alone", "Tune the base method without CoHiRF around it.", SEARCH, "")] = False
    storage: Annotated[
        Path | None,
        option(
            "--storage",
            "An SQLite file that keeps every trial: the same command goes on where it was stopped.",
            SEARCH,
            "FILE",
        ),
    ] = None
    study: Annotated[
        str, option("--study", "A name, where several searches share --storage.", SEARCH, "NAME", default="cohirf")
    ] = "cohirf"
    timeout: Annotated[str | None, option("--timeout", "Seconds after which no trial is begun.", SEARCH, "NUMBER")] = (
        None
    )
    jobs: Annotated[
        str,
        option(
            "--jobs",
            "How many trials run at the same time; -1: as many as there are cores. They are proposed without knowing "
            "of each other, so results depend on it; on --n-jobs, which is about each fit, they do not.",
            SEARCH,
            "INT",
            default="1",
        ),
    ] = "1"
