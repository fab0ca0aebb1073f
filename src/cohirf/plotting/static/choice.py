"""How the number of clusters was chosen: its prediction strength, and that of other numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cohirf.choice import NEARLY, Choice
from cohirf.optional import import_optional
from cohirf.plotting.colours import ACCENT, FAINT, INK, SECOND_ACCENT
from cohirf.plotting.static.canvas import FONT, hide_spines, make_axes
from cohirf.plotting.subject import check_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_choice(model: Any, *, ax: Axes | None = None) -> Axes:
    """Plot how a fit with ``n_clusters="auto"`` chose the number of clusters.

    The curve has the prediction strength of each number of clusters: how well clusters of one half of the rows predict
    those of the other half, from 0 to 1. The chosen number is the largest whose strength is nearly the highest: above
    the dashed line. If all strengths are low, the curve has silhouettes, and the chosen number has the highest.

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
    _draw_curve(ax, choice)
    return ax


def _check_choice(choice: Choice | None) -> Choice:
    if choice is None or choice.is_given:
        raise ValueError('The number of clusters was given, not chosen: fit with n_clusters="auto" to plot the choice.')
    if len(choice.candidates) == 0:
        raise ValueError("There is one cluster, and nothing to choose from: there is no curve to plot.")
    return choice


def _draw_curve(ax: Axes, choice: Choice) -> None:
    ticker = import_optional("matplotlib.ticker", "plotting", "A plot")
    figures = choice.strengths if choice.is_strong else choice.silhouettes
    chosen = figures[choice.candidates == choice.n_clusters]
    if choice.is_strong:
        ax.axhline(float(figures.max()) - NEARLY, color=FAINT, linewidth=1, linestyle="--")
    ax.plot(choice.candidates, figures, color=SECOND_ACCENT, marker="o", markersize=3.5, linewidth=1.5)
    ax.plot([choice.n_clusters], chosen, color=ACCENT, marker="o", markersize=8, markeredgecolor=INK)
    ax.annotate(
        f"{choice.n_clusters} clusters",
        (choice.n_clusters, float(chosen[0])),
        xytext=(8, 6),
        textcoords="offset points",
        color=INK,
        fontsize=FONT + 1,
    )
    if choice.is_strong:
        ax.set_ylim(0, 1.08)
    ax.set_ylabel("prediction strength" if choice.is_strong else "silhouette", color=FAINT)
    ax.set_xlabel("number of clusters", color=FAINT)
    ax.set_xlim(choice.candidates[0] - 0.8, choice.candidates[-1] + 0.8)
    ax.xaxis.set_major_locator(ticker.MaxNLocator(15, integer=True, steps=[1, 2, 5, 10]))
    ax.tick_params(labelsize=FONT + 1)
    hide_spines(ax, "top", "right")
