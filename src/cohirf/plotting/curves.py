"""Curves of a fit: its levels, the choice of the number of clusters, and distances to neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.levels import LevelRecord
from cohirf.choice import NEARLY, Choice
from cohirf.eps import EpsSuggestion
from cohirf.optional import import_optional
from cohirf.plotting.canvas import FONT, hide_spines, make_axes, text_width, units_per_inch
from cohirf.plotting.colours import ACCENT, FAINT, INK, NOISE, SECOND_ACCENT
from cohirf.plotting.layout import Floats, check_model
from cohirf.summary.model import Model
from cohirf.validation import count_views

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROWS_SHARE = 0.5  # of the height is for the rows, if the agreement is drawn above them


def plot_levels(model: Model, *, ax: Axes | None = None) -> Axes:
    """Plot the number of active rows after each level, and the agreement of the views at each level.

    The number of rows has a logarithmic scale if it spans a large range. The agreement is the mean adjusted Rand index
    between pairs of views; it is left out if there is a single view. Relaxed consensus may drop views: grey bars show
    the share of views that it kept.

    Parameters
    ----------
    model : fitted CoHiRF
        The model whose ``diagnostics_`` to plot.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw into. By default, a new figure is created. The agreement is drawn into an inset in the upper
        third of the axes.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes; ``ax.figure`` is the figure.

    Raises
    ------
    TypeError
        If ``model`` is not a CoHiRF.

    See Also
    --------
    cohirf.CoHiRF.diagnose : Explains these figures in words.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.plotting import plot_levels
    >>> model = CoHiRF(KMeans(3), random_state=0).fit(load_iris().data)
    >>> ax = plot_levels(model)
    >>> ax.get_ylabel()
    'active rows'
    """
    fitted = check_model(model)
    records = fitted.diagnostics_
    rows = np.array([records[0].rows_in, *(record.rows_out for record in records)])
    has_agreement = any(np.isfinite(record.agreement) for record in records)  # there is none of a single view
    ax = make_axes(ax, float(np.clip(2.6 + 0.45 * len(rows), 5, 9)), 4.2)
    ax.set_xlim(-0.5, len(records) + 0.5)
    _draw_rows(ax, rows, ROWS_SHARE if has_agreement else 0.9)
    _frame_numbers(ax, "level")
    if has_agreement:
        _draw_agreement(ax.inset_axes((0, 0.65, 1, 0.26), sharex=ax), records, count_views(fitted.views))
    return ax


def _draw_rows(ax: Axes, rows: IntArray, share: float) -> None:
    log = needs_log_scale(rows)
    bottom, top = limits_with_room(rows, share, log=log)
    ax.set_yscale("log" if log else "linear")
    ax.set_ylim(bottom, top)
    ax.plot(rows, color=ACCENT, marker="o", markersize=5, linewidth=1.8)
    _write_values(ax, np.arange(len(rows)), rows.astype(np.float64), [f"{count:,}" for count in rows.tolist()], ACCENT)
    ticker = import_optional("matplotlib.ticker", "plotting", "A plot")
    locator = (
        ticker.LogLocator(subs=(1, 2, 5) if rows.max() < 200 * rows.min() else (1,))
        if log
        else ticker.MaxNLocator(4, integer=True)
    )
    ticks = [tick for tick in locator.tick_values(bottom, rows.max()) if bottom <= tick <= rows.max()]
    ax.set_yticks(ticks)
    ax.yaxis.set_minor_locator(ticker.NullLocator())
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.spines["left"].set_bounds(bottom, rows.max())
    ax.set_ylabel("active rows", y=share / 2, ha="center")


def _draw_agreement(panel: Axes, records: Sequence[LevelRecord], n_views: int) -> None:
    levels = np.array([record.level for record in records])
    agreement = np.array([record.agreement for record in records], dtype=np.float64)
    kept = [record.views_kept / n_views for record in records]
    panel.bar(levels, kept, width=0.5, color=NOISE, alpha=0.45, label="share of the views kept")
    panel.plot(levels, agreement, color=SECOND_ACCENT, marker="o", markersize=5, label="agreement of the views")
    measured = np.flatnonzero(np.isfinite(agreement))
    texts = [f"{value:.2f}" for value in agreement[measured].tolist()]
    _write_values(panel, levels[measured], agreement[measured], texts, SECOND_ACCENT)
    lowest = float(np.nanmin(agreement))
    panel.set_ylim(0 if lowest >= 0 else lowest - 0.1, 1.25)
    panel.set_yticks([0, 0.5, 1])
    panel.tick_params(labelbottom=False, bottom=False, labelsize=FONT + 1)
    panel.spines["left"].set_bounds(panel.get_ylim()[0], 1)
    hide_spines(panel, "top", "right")
    panel.legend(
        loc="lower left", bbox_to_anchor=(0, 0.98), ncols=2, frameon=False, fontsize=FONT, borderaxespad=0, reverse=True
    )


def _write_values(ax: Axes, x: IntArray, y: Floats, texts: list[str], colour: str) -> None:
    """Write values above their points, if there is room for all of them."""
    if 1.2 * text_width(texts) * units_per_inch(ax) > 1:
        return
    halo = import_optional("matplotlib.patheffects", "plotting", "A plot").withStroke(linewidth=2.5, foreground="white")
    for place, height, text in zip(x.tolist(), y.tolist(), texts, strict=True):
        ax.annotate(
            text,
            (place, height),
            xytext=(4, 4),
            textcoords="offset points",
            color=colour,
            fontsize=FONT,
            path_effects=[halo],
        )


def _frame_numbers(ax: Axes, name: str) -> None:
    """Frame axes whose x axis has whole numbers."""
    ticker = import_optional("matplotlib.ticker", "plotting", "A plot")
    ax.xaxis.set_major_locator(ticker.MaxNLocator(15, integer=True, steps=[1, 2, 5, 10]))
    ax.tick_params(labelsize=FONT + 1)
    ax.set_xlabel(name, color=FAINT)
    hide_spines(ax, "top", "right")


def limits_with_room(values: IntArray, share: float, *, log: bool) -> tuple[float, float]:
    """Return limits of an axis such that the values occupy the lower ``share`` of it."""
    low, high = (float(values.min()) / 2, float(values.max())) if log else (0.0, float(max(values.max(), 1)))
    return (low, low * (high / low) ** (1 / share)) if log else (low, high / share)


def needs_log_scale(values: IntArray) -> bool:
    """Return whether small values could not be distinguished on a linear scale."""
    return bool(values.min() > 0 and values.max() > 20 * values.min())


def plot_choice(model: Model, *, ax: Axes | None = None) -> Axes:
    """Plot how a fit with ``n_clusters="auto"`` chose the number of clusters.

    The curve has the prediction strength of each number of clusters: how well clusters of one half of the rows predict
    those of the other half, from 0 to 1. The chosen number is the largest whose strength is nearly the highest: above
    the dashed line. If all strengths are low, the curve has silhouettes, and the chosen number is the strongest of
    those whose silhouette is nearly the highest.

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
    ax.set_xlim(choice.candidates[0] - 0.8, choice.candidates[-1] + 0.8)
    _frame_numbers(ax, "number of clusters")


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
