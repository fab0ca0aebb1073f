"""Plots of a fit and its hierarchy: static ones with matplotlib, interactive ones with plotly."""

from cohirf.plotting.interactive import plot_sunburst
from cohirf.plotting.static import (
    plot_choice,
    plot_dendrogram,
    plot_eps,
    plot_exemplars,
    plot_heatmap,
    plot_icicle,
    plot_levels,
    plot_map,
)

__all__ = [
    "plot_choice",
    "plot_dendrogram",
    "plot_eps",
    "plot_exemplars",
    "plot_heatmap",
    "plot_icicle",
    "plot_levels",
    "plot_map",
    "plot_sunburst",
]
