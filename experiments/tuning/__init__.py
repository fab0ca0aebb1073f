"""Search for good parameters of a clustering method, or of CoHiRF with a base method, with Optuna:
the experiments of the paper tune this way.
"""

from experiments.tuning.search_space import first_trials, paper_space, recommended_space
from experiments.tuning.tune import Tuned, tune

__all__ = ["Tuned", "first_trials", "paper_space", "recommended_space", "tune"]
