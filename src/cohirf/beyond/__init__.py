"""What the paper does not have: consensus of most views, merges to a wanted number of clusters, local batches.

The packages above choose these functions and pass them to the steps in ``cohirf.algorithm``, which do not know them.
"""
