"""Search for good parameters of a clustering method, or of CoHiRF with a base method, with Optuna
(extra ``tune``).
"""

from cohirf.tuning.search_space import first_trials, paper_space, recommended_space
from cohirf.tuning.tune import Tuned, tune

__all__ = ["Tuned", "first_trials", "paper_space", "recommended_space", "tune"]
