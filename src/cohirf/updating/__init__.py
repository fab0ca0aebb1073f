"""Models that live: new rows join, models merge, rows are forgotten; only the levels above the rows run again."""

from cohirf.updating.methods import UpdatingMixin, replace_results
from cohirf.updating.update import summarize_fit

__all__ = ["UpdatingMixin", "replace_results", "summarize_fit"]
