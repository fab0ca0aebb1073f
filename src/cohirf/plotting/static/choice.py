"""How the number of clusters was chosen: silhouette and merge height by number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cohirf.choice import Choice
from cohirf.optional import import_optional
from cohirf.plotting.colours import ACCENT, FAINT, INK, SECOND_ACCENT
from cohirf.plotting.layout import Floats
from cohirf.plotting.static.canvas import FONT, hide_spines, make_axes
from cohirf.plotting.subject import check_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARE = 0.55  # of the height is for the heights of the merges; the silhouettes are above


def plot_choice(model: Any, *, ax: Axes | None = None) -> Axes:
    """Plot how a fit with ``n_clusters="auto"`` chose the number of clusters.

    The upper panel has the mean silhouette of each number of clusters; the chosen number has the highest. The lower
    panel has the height of the merge that would make one cluster fewer, by Ward's criterion: a number of clusters is
    clear if its bar is much higher than the next one.

    Parameters
    ----------
    model : fitted CoHiRF
        The model whose ``choice_`` to plot.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw into. By default, a new figure is created. The silhouettes are drawn into an inset in the upper
        part of the axes.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes; ``ax.figure`` is the figure.

    Raises
    ------
    TypeError
        If ``model`` is not a CoHiRF.
    ValueError
        If the number of clusters was not chosen, or there was nothing to choose from.
    ImportError
        If matplotlib is not installed.

    See Also
    --------
    plot_dendrogram : The tree that the number of clusters was chosen from.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.plotting import plot_choice
    >>> model = CoHiRF(n_clusters="auto", random_state=0).fit(load_iris().data)
    >>> ax = plot_choice(model)
    >>> ax.get_xlabel()
    'number of clusters'
    """
    fitted = check_model(model)
    choice = _check_choice(fitted.choice_)
    ax = make_axes(ax, float(np.clip(2.6 + 0.16 * len(choice.candidates), 4.5, 8)), 4.2)
    _draw_heights(ax, choice)
    _draw_silhouettes(ax.inset_axes((0, SHARE + 0.1, 1, 0.9 - SHARE), sharex=ax), choice)
    return ax


def _check_choice(choice: Choice | None) -> Choice:
    if choice is None:
        raise ValueError('The number of clusters was given, not chosen: fit with n_clusters="auto" to plot the choice.')
    if len(choice.candidates) == 0:
        raise ValueError("There is one cluster, and nothing to choose from: there is no curve to plot.")
    return choice


def _draw_heights(ax: Axes, choice: Choice) -> None:
    ticker = import_optional("matplotlib.ticker", "plotting", "A plot")
    highest = float(choice.heights.max()) or 1.0
    colours = np.where(choice.candidates == choice.n_clusters, ACCENT, FAINT)
    ax.bar(choice.candidates, choice.heights, width=0.6, color=colours)
    ax.set_ylim(0, highest / SHARE)
    ax.set_yticks([tick for tick in ticker.MaxNLocator(4).tick_values(0, highest) if tick <= highest])
    ax.spines["left"].set_bounds(0, highest)
    ax.set_ylabel("height of the\nnext merge", y=SHARE / 2, ha="center")
    ax.set_xlabel("number of clusters", color=FAINT)
    ax.set_xlim(choice.candidates[0] - 0.8, choice.candidates[-1] + 0.8)
    ax.xaxis.set_major_locator(ticker.MaxNLocator(15, integer=True, steps=[1, 2, 5, 10]))
    ax.tick_params(labelsize=FONT + 1)
    hide_spines(ax, "top", "right")


def _draw_silhouettes(panel: Axes, choice: Choice) -> None:
    best = choice.silhouettes[choice.candidates == choice.n_clusters]
    panel.plot(choice.candidates, choice.silhouettes, color=SECOND_ACCENT, marker="o", markersize=3.5, linewidth=1.5)
    panel.plot([choice.n_clusters], best, color=ACCENT, marker="o", markersize=8, markeredgecolor=INK)
    panel.axvline(choice.n_clusters, color=INK, linewidth=0.8, linestyle=(0, (5, 4)), zorder=0)
    panel.annotate(
        f"{choice.n_clusters} clusters: {best[0]:.2f}",
        (choice.n_clusters, best[0]),
        xytext=(8, 2),
        textcoords="offset points",
        color=ACCENT,
        fontsize=FONT + 1,
    )
    panel.set_ylim(*_limits(choice.silhouettes))
    panel.set_ylabel("silhouette")
    panel.tick_params(labelbottom=False, bottom=False, labelsize=FONT + 1)
    hide_spines(panel, "top", "right")


def _limits(values: Floats) -> tuple[float, float]:
    """Return limits with some room above and below the values."""
    low, high = float(values.min()), float(values.max())
    room = max(0.12 * (high - low), 0.02)
    return low - room, high + 2 * room
