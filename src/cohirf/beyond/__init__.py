"""What the paper does not have: consensus of most views, merges to a wanted number of clusters,
local batches.

The packages above choose these functions and pass them to the steps in ``cohirf.algorithm``, which
do not know them.

To change how groups merge into clusters, begin with ``link_groups`` in ``merge_tree`` (compact
merges), ``TreeCutter`` in ``connected`` (parts of a spanning tree) and ``link_along_graph`` in
``along_graph``; the last two follow the ``neighbour_graph``. ``choose_merge`` compares the three;
``Chooser`` in ``fitting/merging.py`` and ``Fit.end`` in ``fitting/fit.py`` use them.
"""
