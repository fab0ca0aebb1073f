"""What a notebook shows of a hierarchy."""

import re

import numpy as np

from cohirf import FusionHierarchy


def bars(page):
    """Return name, colour, width in per cent and value of each bar."""
    bar = (
        r"<span>([^<]*)</span><span style='background:([^;]*);[^>]*width:([^%]*)%[^>]*></span><span[^>]*>([^<]*)</span>"
    )
    return [(name, colour, float(width), value) for name, colour, width, value in re.findall(bar, page)]


def texts(page):
    return [text.strip() for text in re.split("<[^>]*>", page) if text.strip()]


def test_levels_and_clusters_have_bars():
    page = FusionHierarchy(parents=[0, 0, 0, 3, 3, 5], absorbed_at=[0, 1, 1, 0, 1, 0])._repr_html_()
    blue, green = "#0072B2", "#009E73"
    assert bars(page) == [
        ("level 0", blue, 100.0, "6 clusters"),
        ("level 1", blue, 71.2, "3 clusters"),  # log(3 + 1) / log(6 + 1)
        ("medoid 0", green, 100.0, "3 rows"),
        ("medoid 3", green, 66.7, "2 rows"),
        ("medoid 5", green, 33.3, "1 rows"),
    ]
    assert texts(page)[:3] == ["Cluster Fusion Hierarchy", "of 6 rows", "level 0"]
    assert len(texts(page)) == 2 + 2 * 5  # nothing beside a title, and name and value of each bar


def test_the_eight_largest_clusters_are_shown_and_the_others_counted():
    n, n_alone = 1200, 40
    parents = np.where(np.arange(n) <= n_alone, np.arange(n), 0)  # medoid 0 stands for all rows but the next forty
    page = FusionHierarchy(parents, (np.arange(n) > n_alone).astype(int))._repr_html_()
    assert "of 1,200 rows" in texts(page)
    clusters = [(name, width, value) for name, _, width, value in bars(page)[2:]]
    assert clusters == [("medoid 0", 100.0, "1,160 rows"), *((f"medoid {k}", 1.0, "1 rows") for k in range(1, 8))]
    assert texts(page)[-1] == "and 33 smaller ones"
    assert page.count("<div") == page.count("</div>")
