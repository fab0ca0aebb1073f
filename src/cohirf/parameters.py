"""Which values the parameters of CoHiRF take."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from cohirf.fitting.contraction import CENTRALITY, SIMILARITY

# Larger values would run for ever or fill the memory. The limits also apply to models that are loaded from disk.
MAX_VIEWS, MAX_LEVELS = 100_000, 100_000

CONSTRAINTS: dict[str, Any] = {
    "estimator": "no_validation",  # check_base_method has clearer messages
    "n_clusters": [None, StrOptions({"auto", "levels"}), Interval(Integral, 1, None, closed="left")],
    "merge": [StrOptions({"auto", "compact", "connected"})],
    "n_views": [Interval(Integral, 1, MAX_VIEWS, closed="both")],
    "max_features": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="right")],
    "consensus": [StrOptions({"auto", "strict", "relaxed", "majority"}), Interval(Real, 0, 1, closed="both")],
    "medoid": [StrOptions({*CENTRALITY, *SIMILARITY}), callable],
    "medoid_weights": ["boolean"],
    "batch_size": [None, str, Interval(Integral, 2, None, closed="left")],  # _check_resources reads the text
    "batches": [StrOptions({"auto", "random", "local"})],
    "min_cluster_size": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="neither")],
    "small_clusters": [StrOptions({"noise", "nearest"})],
    "max_iter": [Interval(Integral, 1, MAX_LEVELS, closed="both")],
    "checkpoint": [None, str, os.PathLike],
    "device": [None, str],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}
