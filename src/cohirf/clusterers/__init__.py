"""Base methods that scikit-learn lacks: kernel K-Means, SC-SRGF, and DBSCAN on a grid."""

from typing import TYPE_CHECKING

from cohirf.lazy import lazy_names

if TYPE_CHECKING:
    from cohirf.clusterers.grid_dbscan import GridDBSCAN
    from cohirf.clusterers.kernel_k_means import KernelKMeans
    from cohirf.clusterers.sc_srgf import SCSRGF

__all__ = ["SCSRGF", "GridDBSCAN", "KernelKMeans"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "GridDBSCAN": "cohirf.clusterers.grid_dbscan:GridDBSCAN",
        "KernelKMeans": "cohirf.clusterers.kernel_k_means:KernelKMeans",
        "SCSRGF": "cohirf.clusterers.sc_srgf:SCSRGF",
    },
)
