"""The paper, step by step: arrays in, arrays out.

``levels`` is Algorithm 1 and the batching levels, the only loop. It calls, in this order, ``batches`` (which rows
are contracted together), ``get_clusters`` (labels of the base method on random feature views), ``consensus`` (what
the views agree on), ``choose_medoids`` (one representative per cluster) and ``parents`` (the fusion hierarchy).
Nothing here knows of files, processes, plots or the command line.
"""
