"""The nearest of some points: of landmarks for ``predict``, membership and outlier scores, of rows for base methods."""
