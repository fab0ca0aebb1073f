"""The levels of a fit: active rows after each level, and agreement of its views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.optional import import_optional
from cohirf.plotting import layout
from cohirf.plotting.colours import ACCENT, FAINT, NOISE, SECOND_ACCENT
from cohirf.plotting.layout import Floats, LevelCurves
from cohirf.plotting.static.canvas import FONT, hide_spines, make_axes, text_width, units_per_inch
from cohirf.plotting.subject import check_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROWS_SHARE = 0.5  # of the height is for the rows, if the agreement is drawn above them


def plot_levels(model: Any, *, ax: Axes | None = None) -> Axes:
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
    ImportError
        If matplotlib is not installed.

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
    curves = layout.level_curves(fitted.diagnostics_, fitted.n_views)
    has_agreement = bool(np.isfinite(curves.agreement).any())
    ax = make_axes(ax, float(np.clip(2.6 + 0.45 * len(curves.rows), 5, 9)), 4.2)
    ax.set_xlim(-0.5, len(curves.level) + 0.5)
    _draw_rows(ax, curves.rows, ROWS_SHARE if has_agreement else 0.9)
    _frame(ax)
    if has_agreement:
        _draw_agreement(ax.inset_axes((0, 0.65, 1, 0.26), sharex=ax), curves)
    return ax


def _draw_rows(ax: Axes, rows: IntArray, share: float) -> None:
    log = layout.needs_log_scale(rows)
    bottom, top = layout.limits_with_room(rows, share, log=log)
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


def _draw_agreement(panel: Axes, curves: LevelCurves) -> None:
    panel.bar(curves.level, curves.kept, width=0.5, color=NOISE, alpha=0.45, label="share of the views kept")
    panel.plot(
        curves.level, curves.agreement, color=SECOND_ACCENT, marker="o", markersize=5, label="agreement of the views"
    )
    measured = np.flatnonzero(np.isfinite(curves.agreement))
    texts = [f"{value:.2f}" for value in curves.agreement[measured].tolist()]
    _write_values(panel, curves.level[measured], curves.agreement[measured], texts, SECOND_ACCENT)
    lowest = float(np.nanmin(curves.agreement))
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


def _frame(ax: Axes) -> None:
    ticker = import_optional("matplotlib.ticker", "plotting", "A plot")
    ax.xaxis.set_major_locator(ticker.MaxNLocator(15, integer=True, steps=[1, 2, 5, 10]))
    ax.tick_params(labelsize=FONT + 1)
    ax.set_xlabel("level", color=FAINT)
    hide_spines(ax, "top", "right")
