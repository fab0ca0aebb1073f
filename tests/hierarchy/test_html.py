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
    assert "of 6 rows" in page
    assert "smaller ones" not in page


def test_the_eight_largest_clusters_are_shown_and_the_others_counted():
    n = 1200
    first = np.r_[0, np.arange(1, 12), np.full(n - 12, 0)]  # medoid 0 stands for all rows but the next eleven
    hierarchy = FusionHierarchy(first, (np.arange(n) >= 12).astype(int))
    page = hierarchy._repr_html_()
    assert "of 1,200 rows" in page
    clusters = [(name, width, value) for name, _, width, value in bars(page)[2:]]
    assert clusters == [("medoid 0", 100.0, "1,189 rows"), *((f"medoid {k}", 1.0, "1 rows") for k in range(1, 8))]
    assert "and 4 smaller ones" in page
    assert page.count("<div") == page.count("</div>")
