"""Plots of a fit and its hierarchy: static ones with matplotlib, interactive ones with plotly."""

from cohirf.plotting.interactive import plot_sunburst
from cohirf.plotting.static import plot_dendrogram, plot_icicle, plot_levels, plot_medoids, plot_scatter

__all__ = ["plot_dendrogram", "plot_icicle", "plot_levels", "plot_medoids", "plot_scatter", "plot_sunburst"]
