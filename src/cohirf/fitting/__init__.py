"""A fit, from opened data to fitted attributes: settings, levels, results."""

from cohirf.fitting.fit import Fit, Fitted, fit_data

__all__ = ["Fit", "Fitted", "fit_data"]
