"""From tables to rows for a model: columns kept apart, text coded, missing cells filled, features scaled.

:func:`prepare` learns what to do from the data of a fit; :meth:`Preparation.apply` does it to other data.
"""

from cohirf.preparation.data import Classes, Data
from cohirf.preparation.learn import prepare
from cohirf.preparation.preparation import Preparation, Prepared
from cohirf.preparation.statistics import Statistics, measure

__all__ = ["Classes", "Data", "Preparation", "Prepared", "Statistics", "measure", "prepare"]
