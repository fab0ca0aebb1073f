"""Graphs as data: distances or similarities between some pairs of nodes, and no coordinates (not
part of the paper).

``graph.py`` opens what the user passes, ``density.py`` has DBSCAN and HDBSCAN on sparse graphs,
``merging.py`` merges along edges and chooses the number of clusters, ``moves.py`` moves groups
afterwards, ``fit.py`` makes a fitted state, ``new_nodes.py`` labels new nodes by their edges.
"""
