"""Updates of a fitted model: add rows, merge models, forget rows, find the clusters anew.

The rows of earlier updates are not needed: only the levels above the groups of rows run again
(``rerun``).
"""

from cohirf.updating.methods import UpdatingMixin

__all__ = ["UpdatingMixin"]
