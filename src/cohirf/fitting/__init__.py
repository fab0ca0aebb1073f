"""A fit, from opened data to a fitted state: settings, levels, results."""

from cohirf.fitting.fit import Fit, fit_data

__all__ = ["Fit", "fit_data"]
