"""Static plots, drawn with matplotlib from the coordinates that ``layout`` computes: one file per plot."""

from cohirf.plotting.static.choice import plot_choice
from cohirf.plotting.static.dendrogram import plot_dendrogram
from cohirf.plotting.static.eps import plot_eps
from cohirf.plotting.static.exemplars import plot_exemplars
from cohirf.plotting.static.heatmap import plot_heatmap
from cohirf.plotting.static.icicle import plot_icicle
from cohirf.plotting.static.levels import plot_levels
from cohirf.plotting.static.map import plot_map

__all__ = [
    "plot_choice",
    "plot_dendrogram",
    "plot_eps",
    "plot_exemplars",
    "plot_heatmap",
    "plot_icicle",
    "plot_levels",
    "plot_map",
]
