"""Diagnosis of a fit: stability, preservation of the base method's clusters, comparison with the base method alone."""

from cohirf.diagnosis.diagnose import Diagnosis
from cohirf.diagnosis.verdict import Finding

__all__ = ["Diagnosis", "Finding"]
