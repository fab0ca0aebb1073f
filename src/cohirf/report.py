"""One HTML page on a fitted model, and one on its updates."""

from cohirf.explain.report import write_report, write_update_report

__all__ = ["write_report", "write_update_report"]
