"""Search for good parameters of a clustering method or of CoHiRF around it, on Optuna (extra ``tune``)."""

from cohirf.tuning.search_space import paper_space, wide_space
from cohirf.tuning.tune import Tuned, tune

__all__ = ["Tuned", "paper_space", "tune", "wide_space"]
