"""Plots of a fit and its hierarchy; layout (plain numbers) is separate from drawing.

They need matplotlib; without it, they raise an ImportError that names the extra.
"""

from cohirf.plotting.curves import plot_choice, plot_eps
from cohirf.plotting.heatmap import plot_heatmap
from cohirf.plotting.map import plot_map
from cohirf.plotting.trees import plot_dendrogram

__all__ = ["plot_choice", "plot_dendrogram", "plot_eps", "plot_heatmap", "plot_map"]
