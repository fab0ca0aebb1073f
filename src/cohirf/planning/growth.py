"""How an amount grows with the rows of a batch: a law fitted to a few measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls


@dataclass(frozen=True)
class GrowthLaw:
    """A sum of powers of the number of rows, none of which counts negatively.

    A single power would do for large batches. In small ones a fixed cost hides it, and a law that has grown slowly
    so far may hold a higher power that has yet to take over, as the neighbour lists of DBSCAN do.

    Attributes
    ----------
    coefficients : tuple of float
        Those of n_rows ** 0, n_rows ** 1 and so on.
    """

    coefficients: tuple[float, ...]

    def __call__(self, n_rows: float) -> float:
        """Return the amount expected for so many rows."""
        return float(np.polynomial.polynomial.polyval(n_rows, self.coefficients))

    def exponent(self, n_rows: float) -> float:
        """Return the power of ``n_rows`` as which the amount grows there: the slope in logarithmic axes."""
        terms = [coefficient * n_rows**power for power, coefficient in enumerate(self.coefficients)]
        return float(np.dot(terms, range(len(terms))) / sum(terms)) if any(terms) else 0.0


def fit_growth(sizes: Sequence[int], amounts: Sequence[float], *, degree: int, resolution: float) -> GrowthLaw:
    """Fit a law to amounts measured at rising sizes; it never lies below the last one.

    Relative errors count, so that small sizes have their say; but amounts near ``resolution`` or below it, which the
    measurement cannot tell apart, count by their absolute error.
    """
    scale = float(sizes[-1])
    powers = np.vander(np.asarray(sizes) / scale, degree + 1, increasing=True)
    weights = 1 / (np.asarray(amounts, dtype=np.float64) + resolution)
    coefficients, _ = nnls(powers * weights[:, None], np.asarray(amounts) * weights)
    at_last = coefficients.sum()
    if 0 < at_last < amounts[-1]:
        coefficients *= amounts[-1] / at_last
    return GrowthLaw(tuple(float(c) for c in coefficients / scale ** np.arange(degree + 1)))
