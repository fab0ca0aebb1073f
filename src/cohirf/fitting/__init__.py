"""A fit, from opened data to fitted attributes: settings, levels, results."""

from cohirf.fitting.fit import FinishedFit, Fit, fit_data

__all__ = ["FinishedFit", "Fit", "fit_data"]
