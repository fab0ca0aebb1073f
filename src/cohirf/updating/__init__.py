"""Models that live: new rows join, models merge, rows are forgotten; only the levels above the rows run again."""

from cohirf.updating.methods import UpdatingMixin, replace_results
from cohirf.updating.summarize_fit import fit_model

__all__ = ["UpdatingMixin", "fit_model", "replace_results"]
