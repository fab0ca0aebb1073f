"""HDBSCAN in batches that overlap: its labels from the spanning trees of the batches.

HDBSCAN is a function of the minimum spanning tree of mutual reachability distances. An edge of the
tree of all rows is an edge of the tree of each batch that contains both its rows, because no batch
has a lighter way around it. So the trees of the batches contain the tree of all rows, except for
edges between rows that share no batch.

All modules but ``settings`` and ``spanning_labels`` need numba.
"""
