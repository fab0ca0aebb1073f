"""The display of a hierarchy in notebooks: its levels, and its largest final clusters."""

from __future__ import annotations

import math

import numpy as np

from cohirf.algorithm.grouping import IntArray

N_CLUSTERS = 8
BLUE, GREEN = "#0072B2", "#009E73"


def summarize(counts: IntArray, sizes: IntArray, medoids: IntArray, n_rows: int) -> str:
    """Return HTML with a bar for each level and for each of the largest clusters."""
    levels = [
        _bar(f"level {level}", f"{count:,} clusters", math.log(count + 1) / math.log(counts[0] + 1), BLUE)
        for level, count in enumerate(counts.tolist())
    ]
    largest = np.argsort(-sizes, kind="stable")[:N_CLUSTERS]
    clusters = [
        _bar(f"medoid {medoids[k]}", f"{sizes[k]:,} rows", sizes[k] / sizes.max(), GREEN) for k in largest.tolist()
    ]
    rest = len(sizes) - len(largest)
    note = f"<div style='opacity:.7'>and {rest:,} smaller ones</div>" if rest else ""
    return (
        "<div style='font-family:sans-serif;font-size:13px;max-width:640px'>"
        f"<b>Cluster Fusion Hierarchy</b> of {n_rows:,} rows"
        f"<div style='display:flex;flex-wrap:wrap;gap:24px;margin-top:6px'>"
        f"<div style='flex:1 1 260px'>{''.join(levels)}</div>"
        f"<div style='flex:1 1 260px'>{''.join(clusters)}{note}</div></div></div>"
    )


def _bar(name: str, value: str, share: float, colour: str) -> str:
    width = max(1.0, 100 * share)
    return (
        "<div style='display:grid;grid-template-columns:90px 1fr 110px;gap:8px;align-items:center'>"
        f"<span>{name}</span>"
        f"<span style='background:{colour};height:10px;width:{width:.1f}%;border-radius:2px'></span>"
        f"<span style='text-align:right'>{value}</span></div>"
    )
