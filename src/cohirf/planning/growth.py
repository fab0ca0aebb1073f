"""Growth of an amount (time or memory) with the number of rows of a batch, fitted to a few measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls


@dataclass(frozen=True)
class GrowthLaw:
    """A polynomial in the number of rows, without negative coefficients.

    For large batches, a single power would be enough. In small batches, fixed costs hide it, and an amount that has
    grown slowly so far may contain a higher power that dominates only later, as with the neighbour lists of DBSCAN.

    Attributes
    ----------
    coefficients : tuple of float
        Coefficients of n_rows ** 0, n_rows ** 1 and so on.
    """

    coefficients: tuple[float, ...]

    def __call__(self, n_rows: float) -> float:
        """Return the amount expected for ``n_rows`` rows."""
        return float(np.polynomial.polynomial.polyval(n_rows, self.coefficients))

    def exponent(self, n_rows: float) -> float:
        """Return the local exponent of growth at ``n_rows``: the slope of the law on logarithmic axes."""
        terms = [coefficient * n_rows**power for power, coefficient in enumerate(self.coefficients)]
        return float(np.dot(terms, range(len(terms))) / sum(terms)) if any(terms) else 0.0


def fit_growth(sizes: Sequence[int], amounts: Sequence[float], *, degree: int, resolution: float) -> GrowthLaw:
    """Fit a law to amounts measured at increasing sizes; it is never below the last measurement.

    The fit minimises relative errors, so that small sizes matter, too. Amounts near or below ``resolution`` cannot be
    measured exactly, so their absolute errors are minimised.
    """
    scale = float(sizes[-1])
    powers = np.vander(np.asarray(sizes) / scale, degree + 1, increasing=True)
    weights = 1 / (np.asarray(amounts, dtype=np.float64) + resolution)
    coefficients, _ = nnls(powers * weights[:, None], np.asarray(amounts) * weights)
    at_last = coefficients.sum()
    if 0 < at_last < amounts[-1]:
        coefficients *= amounts[-1] / at_last
    return GrowthLaw(tuple(float(c) for c in coefficients / scale ** np.arange(degree + 1)))
