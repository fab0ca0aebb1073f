"""The sampler of the authors' searches, which is that of Optuna before version 5.

A multivariate search draws from kernels around the best trials. Until version 4 of Optuna all kernels
of a parameter have one width, which shrinks slowly with the number of trials. In version 5 each has
its own, from the distance to its neighbours, so a search stays closer to its best trials. The
authors' searches ended before version 5 was released.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.samplers import TPESampler
from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator


class OneWidth(_ParzenEstimator):
    """Kernels of one width for each parameter, as in Optuna 4."""

    def _calculate_numerical_distributions(
        self, observations: NDArray[np.float64], *search_space: Any
    ) -> Any:
        kernels = super()._calculate_numerical_distributions(observations, *search_space)
        n_trials = len(observations)
        share = 0.2 * max(n_trials, 1) ** (-1 / (len(self._search_space) + 4))
        span = kernels.high - kernels.low + getattr(kernels, "step", 0)
        width = span * np.clip(share, 1 / min(100, n_trials + 2), 1)
        # the last kernel is that of the whole range
        return kernels._replace(sigma=np.append(np.full(n_trials, width), span))


def authors_sampler(seed: int) -> TPESampler:
    """Return the sampler of a search."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is experimental, in Optuna 4
        sampler = TPESampler(multivariate=True, constant_liar=True, seed=seed)
    sampler._parzen_estimator_cls = OneWidth
    return sampler
