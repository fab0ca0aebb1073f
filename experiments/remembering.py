"""Fits that are done once: searches for several metrics begin with the same parameters and
seeds.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple, Self

from cohirf.fit_identity import describe
from cohirf.rows.grouping import IntArray


class Fit(NamedTuple):
    """What a fit found, and the CPU seconds it took."""

    labels: IntArray
    seconds: float


Fits = dict[str, Fit]  # by the parameters of the model; all are of the same data


def remembering(model: Any, fits: Fits) -> Any:
    """Return a model like this one that is fitted once for the same parameters.

    Afterwards it has labels alone.
    """

    class Remembering(type(model)):  # type: ignore[misc]  # the class of the model is known when it is there
        def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
            key = key_of(self)
            if key not in fits:
                fitted = type(model)(**self.get_params(deep=False))
                started = time.process_time()
                fitted.fit(X, **options)
                fits[key] = Fit(fitted.labels_, time.process_time() - started)
            self.labels_ = fits[key].labels
            return self

    return Remembering(**model.get_params(deep=False))


def key_of(model: Any) -> str:
    """Return what the fit of a model is found again by."""
    return describe(model.get_params())
