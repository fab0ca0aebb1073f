"""The steps of the paper, as functions from arrays to arrays.

``levels`` has the only loop: Algorithm 1 with batches. It calls, in this order, ``batches`` (which
rows are contracted together), ``get_clusters`` (labels of the base method on random feature views),
``consensus`` (the partition that the views agree on), ``choose_medoids`` (one representative per
cluster) and ``parents`` (the fusion hierarchy). Nothing in this folder depends on files, processes,
plots or the command line.
"""
