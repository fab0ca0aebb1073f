"""The report: a fitted model and its data as one HTML page that needs nothing else."""

from cohirf.report.write import write_report

__all__ = ["write_report"]
