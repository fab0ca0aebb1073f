"""Diagnosis of a fit: whether its clusters are usable, and comparison with the base method alone."""

from cohirf.diagnosis.diagnose import Diagnosis
from cohirf.diagnosis.verdict import Finding

__all__ = ["Diagnosis", "Finding"]
