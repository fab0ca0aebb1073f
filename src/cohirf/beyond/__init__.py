"""What the paper does not have: consensus of most views, merges to a wanted number of clusters, local batches.

The packages above choose these functions and pass them to the steps in ``cohirf.algorithm``, which do not know them.

To change how groups merge into clusters, begin with ``link_groups`` in ``merge_tree`` (compact merges) and
``link_connected`` in ``connected`` (merges along a spanning tree). ``choose_merge`` compares the two;
``Chooser`` in ``fitting/merging.py`` and ``Fit.end`` in ``fitting/fit.py`` use them.
"""
