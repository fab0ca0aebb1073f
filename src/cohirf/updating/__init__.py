"""Updates of a fitted model: add rows, merge models, forget rows, find the clusters anew.

The rows of earlier updates are not needed: only the levels above the groups of rows run again
(``rerun``).
"""

from cohirf.updating.methods import UpdatingMixin
from cohirf.updating.update import summarize_fit

__all__ = ["UpdatingMixin", "summarize_fit"]
