"""The headline: how many groups there are, how large they are, and whether to trust them, in words."""

from __future__ import annotations

from typing import Any

from cohirf.report.study import Study


def write_headline(study: Study, names: list[str], sizes: list[int], line: str) -> dict[str, Any]:
    """Return the headline, and the sentences below it."""
    n_clusters = study.model.n_clusters_
    what = "1 group" if n_clusters == 1 else f"{n_clusters:,} groups"
    return {"head": f"{study.n_rows:,} rows in {what}", "sentences": [line]}
