"""Plots of a fit and its hierarchy; layout (plain numbers) is separate from drawing.

They need matplotlib; without it, they raise an ImportError that names the extra.
"""

from cohirf.app.plotting.curves import plot_choice, plot_eps
from cohirf.app.plotting.heatmap import plot_heatmap
from cohirf.app.plotting.map import plot_map
from cohirf.app.plotting.trees import plot_dendrogram

__all__ = ["plot_choice", "plot_dendrogram", "plot_eps", "plot_heatmap", "plot_map"]
