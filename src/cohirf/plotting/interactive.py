"""Interactive plots, drawn with plotly from the coordinates that ``layout`` computes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray
from cohirf.optional import import_optional
from cohirf.plotting import layout
from cohirf.plotting.colours import NOISE, PAPER, cluster_colours, mix, readable_on, to_hex
from cohirf.plotting.subject import find_subject

RINGS = 4  # shown at a time, counting the disc in the middle
HEIGHT = 600  # pixels
HOVER = "<b>%{customdata[0]}</b>%{customdata[1]}<br>%{value:,} rows (%{percentRoot:.1%})<extra></extra>"


def plot_sunburst(hierarchy_or_model: Any, *, max_clusters: int = 300) -> Any:
    """Plot the top of a hierarchy as rings: final clusters inside, and around each the clusters that fused into it.

    The angle of a sector is proportional to the number of rows; the colour is that of the final cluster. Noise is one
    grey sector.
    Hover over a cluster to see its medoid, its size and the level at which it was formed. Click a cluster to zoom in,
    and click the middle to go back.

    Parameters
    ----------
    hierarchy_or_model : FusionHierarchy or fitted CoHiRF
        The hierarchy to plot.
    max_clusters : int, default=300
        Largest number of clusters in the outermost ring. The finest level with at most this many clusters is used. If
        even the last level has more, its largest clusters are drawn, and the place of the others is left blank.

    Returns
    -------
    figure : plotly.graph_objects.Figure
        The figure; ``figure.show()`` displays it, ``figure.write_html(path)`` writes it.

    Raises
    ------
    ValueError
        If ``max_clusters`` is below 1.
    ImportError
        If plotly is not installed.

    See Also
    --------
    plot_icicle : The same hierarchy as a static plot.
    cohirf.report.write_report : A page with an interactive hierarchy.

    Examples
    --------
    >>> from cohirf import FusionHierarchy
    >>> from cohirf.plotting import plot_sunburst
    >>> hierarchy = FusionHierarchy(parents=[0, 0, 0, 0, 4, 4], absorbed_at=[0, 1, 1, 2, 0, 1])
    >>> figure = plot_sunburst(hierarchy, max_clusters=3)
    >>> figure.data[0].values
    array([6, 4, 3, 1, 2])
    """
    graph_objects = import_optional("plotly.graph_objects", "plotting", "An interactive plot")
    subject = find_subject(hierarchy_or_model)
    top = layout.readable_top(subject, max_clusters, largest_only=True)
    tree = layout.fusion_tree(top)
    order = layout.preorder(tree)
    order = order[tree.cluster[order] >= 0]
    is_final = tree.parent[order] < 0
    n_rows, n_noise = layout.count_rows(subject.hierarchy), layout.count_noise(subject)
    colours = mix(cluster_colours(tree.cluster[order]), np.minimum(0.14 * layout.rings(tree)[order], 0.6))
    sectors: dict[str, list[Any]] = {
        "id": ["all", *map(str, order)],
        "parent": ["", *("all" if parent < 0 else str(parent) for parent in tree.parent[order].tolist())],
        "label": [f"{n_rows:,} rows", *_labels(tree, order, is_final)],
        "value": [n_rows, *tree.size[order].tolist()],
        "hover": [("all rows", ""), *_hovers(tree, order, is_final)],
        "colour": [PAPER, *to_hex(colours)],
        "ink": ["black", *readable_on(colours)],
    }
    if n_noise:
        noise = {"id": "noise", "parent": "all", "label": "noise", "value": n_noise, "hover": ("noise", "")}
        noise |= {"colour": NOISE.lower(), "ink": "black"}
        sectors = {name: [*values, noise[name]] for name, values in sectors.items()}
    sunburst = graph_objects.Sunburst(
        ids=sectors["id"],
        parents=sectors["parent"],
        labels=sectors["label"],
        values=np.array(sectors["value"]),
        customdata=sectors["hover"],
        marker={"colors": sectors["colour"], "line": {"color": "white", "width": 0.7}},
        insidetextfont={"color": sectors["ink"]},
        leaf={"opacity": 1},
        branchvalues="total",
        sort=False,
        maxdepth=RINGS,
        insidetextorientation="auto",
        hovertemplate=HOVER,
    )
    figure = graph_objects.Figure(sunburst)
    # hide text that does not fit, instead of shrinking it
    margin = dict.fromkeys("tlrb", 10)
    figure.update_layout(height=HEIGHT, margin=margin, uniformtext={"minsize": 10, "mode": "hide"})
    return figure


def _labels(tree: layout.FusionTree, order: IntArray, is_final: NDArray[np.bool_]) -> list[str]:
    """Return the text on each sector: the number of a final cluster, the medoid of other clusters."""
    parts = zip(is_final.tolist(), tree.cluster[order].tolist(), tree.medoid[order].tolist(), strict=True)
    return [f"cluster {cluster}" if final else f"row {medoid}" for final, cluster, medoid in parts]


def _hovers(tree: layout.FusionTree, order: IntArray, is_final: NDArray[np.bool_]) -> list[tuple[str, str]]:
    """Return the two texts shown when hovering over a sector: its cluster and level, and its medoid."""
    levels, clusters, medoids = (values[order].tolist() for values in (tree.level, tree.cluster, tree.medoid))
    return [
        (f"{'' if final else 'part of '}cluster {cluster}, level {level}", f"<br>medoid: row {medoid}")
        for final, cluster, level, medoid in zip(is_final.tolist(), clusters, levels, medoids, strict=True)
    ]
