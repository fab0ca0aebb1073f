"""The curve from which a radius for DBSCAN is read: sorted distances to the k-th nearest neighbour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cohirf.eps import EpsSuggestion
from cohirf.plotting.colours import ACCENT, FAINT, INK, SECOND_ACCENT
from cohirf.plotting.static.canvas import FONT, hide_spines, make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_eps(suggestion: EpsSuggestion, *, ax: Axes | None = None) -> Axes:
    """Plot the sorted distances from which :func:`cohirf.suggest_eps` reads a radius for DBSCAN.

    Rows below the suggested radius, on the left, are core rows of DBSCAN. Choose a radius where the curve turns
    upwards; if it turns at several heights, the data has clusters of several densities.

    Parameters
    ----------
    suggestion : EpsSuggestion
        The return value of :func:`cohirf.suggest_eps`.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes; ``ax.figure`` is the figure.

    Raises
    ------
    TypeError
        If ``suggestion`` is not an EpsSuggestion.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import suggest_eps
    >>> from cohirf.plotting import plot_eps
    >>> ax = plot_eps(suggest_eps(load_iris().data))
    >>> ax.get_ylabel()
    'distance to neighbour 5'
    """
    if not isinstance(suggestion, EpsSuggestion):
        raise TypeError(f"{suggestion!r} cannot be plotted: pass the return value of suggest_eps.")
    ax = make_axes(ax, 5.5, 4)
    shares = (np.arange(len(suggestion.distances)) + 1) / len(suggestion.distances)
    is_core = suggestion.distances <= suggestion.eps
    ax.plot(shares, suggestion.distances, color=FAINT, linewidth=1)
    ax.scatter(shares[is_core], suggestion.distances[is_core], s=5, color=ACCENT, zorder=2)
    ax.scatter(shares[~is_core], suggestion.distances[~is_core], s=5, color=SECOND_ACCENT, zorder=2)
    ax.axhline(suggestion.eps, color=INK, linewidth=0.8, linestyle=(0, (5, 4)), zorder=1)
    ax.annotate(
        f"eps = {suggestion.eps:.4g}: {suggestion.core_share:.0%} are core rows",
        (0, suggestion.eps),
        xytext=(4, 4),
        textcoords="offset points",
        fontsize=FONT + 1,
        color=INK,
    )
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.set_xlabel("share of the rows, sorted by distance", color=FAINT)
    ax.set_ylabel(f"distance to neighbour {suggestion.min_samples}")
    ax.tick_params(labelsize=FONT + 1)
    hide_spines(ax, "top", "right")
    return ax
