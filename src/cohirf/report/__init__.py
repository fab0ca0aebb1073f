"""The report: a fitted model and its data as one self-contained HTML page."""

from cohirf.report.write import write_report

__all__ = ["write_report"]
