"""What a fit is worth: how sure it is, what contraction kept, whether the base method alone does better."""

from cohirf.diagnosis.diagnose import Diagnosis
from cohirf.diagnosis.verdict import Finding

__all__ = ["Diagnosis", "Finding"]
