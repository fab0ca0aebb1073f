"""Base methods that scikit-learn lacks: kernel K-Means, SC-SRGF, and DBSCAN on a grid."""

from cohirf.clusterers.grid_dbscan import GridDBSCAN
from cohirf.clusterers.kernel_k_means import KernelKMeans
from cohirf.clusterers.sc_srgf import SCSRGF

__all__ = ["SCSRGF", "GridDBSCAN", "KernelKMeans"]
