"""What the paper does not have: consensus of most views, merges to a wanted number of clusters,
local batches.

The packages above choose these functions and pass them to the steps in ``cohirf.algorithm``, which
do not know them.

To change how groups merge into clusters, or to add a way, begin with ``merges``: it has a file for
each criterion, and says what one is made of. ``choose_merge`` divides rows by them and compares the
divisions; ``Chooser`` in ``fitting/merging.py`` and ``EndOfLevels`` use it. ``neighbour_graph`` and
``merge_tree`` have what criteria are made from.
"""
