"""Curves of a fit: the choice of the number of clusters, and distances to neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cohirf import Choice, CoHiRF, EpsSuggestion
from cohirf.app.plotting.canvas import check_plotted, hide_spines, make_axes
from cohirf.app.plotting.style import STYLE
from cohirf.optional import import_optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_choice(model: CoHiRF, *, ax: Axes | None = None) -> Axes:
    """Plot how a fit with ``n_clusters="auto"`` chose the number of clusters.

    The curve has what the numbers of clusters were compared by: the silhouette of the clusters, and
    how many near neighbours they keep together. The number with the highest figure is chosen. If
    halves of the rows have nothing in common, it is the smallest number. Without clear groups, a
    dashed line marks the highest figure.

    Parameters
    ----------
    model : fitted CoHiRF
        The model whose ``choice_`` to plot.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes; ``ax.figure`` is the figure.

    See Also
    --------
    plot_dendrogram : The tree that the number of clusters was chosen from.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.app.plotting import plot_choice
    >>> model = CoHiRF(n_clusters="auto", random_state=0).fit(load_iris().data)
    >>> ax = plot_choice(model)
    >>> ax.get_xlabel()
    'number of clusters'
    """
    fitted = check_plotted(model)
    choice: Choice | None = fitted.choice_
    if choice is None or choice.is_given:
        raise ValueError(
            'The number of clusters was given, not chosen: fit with n_clusters="auto" to plot the '
            "choice."
        )
    if len(choice.candidates) == 0:
        raise ValueError(
            "There is one cluster, and nothing to choose from: there is no curve to plot."
        )
    ax = make_axes(ax, float(np.clip(2.6 + 0.16 * len(choice.candidates), 4.5, 8)), 4.2)
    figures = choice.figures
    chosen = figures[choice.candidates == choice.n_clusters]
    if not choice.is_clear:
        ax.axhline(float(figures.max()), color=STYLE.faint, linewidth=1, linestyle="--")
    ax.plot(
        choice.candidates,
        figures,
        color=STYLE.second_accent,
        marker="o",
        markersize=3.5,
        linewidth=1.5,
    )
    ax.plot(
        [choice.n_clusters],
        chosen,
        color=STYLE.accent,
        marker="o",
        markersize=8,
        markeredgecolor=STYLE.ink,
    )
    _write(ax, f"{choice.n_clusters} clusters", (choice.n_clusters, float(chosen[0])), (8, 6))
    ax.set_ylim(min(0.0, float(figures.min()) - 0.05), float(figures.max()) + 0.08)
    ax.set_ylabel("silhouette and near neighbours together", color=STYLE.faint)
    ax.set_xlim(choice.candidates[0] - 0.8, choice.candidates[-1] + 0.8)
    ticker = import_optional("matplotlib.ticker", "plotting", "A plot")
    ax.xaxis.set_major_locator(ticker.MaxNLocator(15, integer=True, steps=[1, 2, 5, 10]))
    ax.tick_params(labelsize=STYLE.font + 1)
    ax.set_xlabel("number of clusters", color=STYLE.faint)
    hide_spines(ax, "top", "right")
    return ax


def _write(ax: Axes, text: str, place: tuple[float, float], offset: tuple[int, int]) -> None:
    ax.annotate(
        text,
        place,
        xytext=offset,
        textcoords="offset points",
        color=STYLE.ink,
        fontsize=STYLE.font + 1,
    )


def plot_eps(suggestion: EpsSuggestion, *, ax: Axes | None = None) -> Axes:
    """Plot the sorted distances from which :func:`cohirf.suggest_eps` reads a radius for DBSCAN.

    Rows below the suggested radius, on the left, are core rows of DBSCAN. Choose a radius where the
    curve turns upwards; if it turns at several heights, the data has clusters of several densities.

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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import suggest_eps
    >>> from cohirf.app.plotting import plot_eps
    >>> ax = plot_eps(suggest_eps(load_iris().data))
    >>> ax.get_ylabel()
    'distance to neighbour 5'
    """
    if not isinstance(suggestion, EpsSuggestion):
        raise TypeError(f"{suggestion!r} cannot be plotted: pass the return value of suggest_eps.")
    ax = make_axes(ax, 5.5, 4)
    shares = (np.arange(len(suggestion.distances)) + 1) / len(suggestion.distances)
    is_core = suggestion.distances <= suggestion.eps
    ax.plot(shares, suggestion.distances, color=STYLE.faint, linewidth=1)
    for some, colour in ((is_core, STYLE.accent), (~is_core, STYLE.second_accent)):
        ax.scatter(shares[some], suggestion.distances[some], s=5, color=colour, zorder=2)
    ax.axhline(suggestion.eps, color=STYLE.ink, linewidth=0.8, linestyle=(0, (5, 4)), zorder=1)
    text = f"eps = {suggestion.eps:.4g}: {suggestion.core_share:.0%} are core rows"
    _write(ax, text, (0, suggestion.eps), (4, 4))
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.set_xlabel("share of the rows, sorted by distance", color=STYLE.faint)
    ax.set_ylabel(f"distance to neighbour {suggestion.min_samples}")
    ax.tick_params(labelsize=STYLE.font + 1)
    hide_spines(ax, "top", "right")
    return ax
