"""A fit, from opened data to fitted attributes: settings, levels, results."""

from cohirf.fitting.fit import Fit, Fitted, fit_data
from cohirf.fitting.new_rows import label_new_rows, measure_new_rows

__all__ = ["Fit", "Fitted", "fit_data", "label_new_rows", "measure_new_rows"]
