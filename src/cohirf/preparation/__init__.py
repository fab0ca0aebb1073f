"""Prepare tables for a fit: choose features, encode text, fill missing cells and scale features.

:func:`prepare` learns a :class:`Preparation` from the training data; :meth:`Preparation.apply` applies it to other
data.
"""

from cohirf.preparation.data import Classes, Data
from cohirf.preparation.learn import prepare
from cohirf.preparation.preparation import Preparation, Prepared
from cohirf.preparation.statistics import Statistics, measure

__all__ = ["Classes", "Data", "Preparation", "Prepared", "Statistics", "measure", "prepare"]
