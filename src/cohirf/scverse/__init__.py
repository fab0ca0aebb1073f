"""Functions on AnnData, as packages of scverse have them: ``cohirf.scverse.tl.cohirf(adata)``."""

from cohirf.scverse import tl

__all__ = ["tl"]
