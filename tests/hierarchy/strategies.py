"""Random hierarchies, and a slow way to cut them."""

import numpy as np
from hypothesis import strategies as st

from cohirf import FusionHierarchy


@st.composite
def hierarchies(draw, max_rows=30, max_levels=5):
    """Absorb random active rows into random surviving ones, level by level."""
    n = draw(st.integers(1, max_rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    parents = np.arange(n)
    absorbed_at = np.zeros(n, dtype=int)
    active = np.arange(n)
    for level in range(1, draw(st.integers(0, min(max_levels, 2 * n))) + 1):  # no fit has more
        survives = rng.random(len(active)) < 0.6
        survives[rng.integers(len(active))] = True
        gone = active[~survives]
        parents[gone] = rng.choice(active[survives], len(gone))
        absorbed_at[gone] = level
        active = active[survives]
    return FusionHierarchy(parents, absorbed_at)


def slow_roots(hierarchy, level):
    """Follow parents row by row."""
    roots = []
    for row in range(hierarchy.n_rows):
        while 0 < hierarchy.absorbed_at[row] <= level:
            row = int(hierarchy.parents[row])
        roots.append(row)
    return roots
