"""Base methods that scikit-learn lacks: kernel K-Means, SC-SRGF, DBSCAN on a grid, and K-Means on
torch.
"""

from typing import TYPE_CHECKING

from cohirf.optional import lazy_names

if TYPE_CHECKING:
    from cohirf.clusterers.grid_dbscan import GridDBSCAN
    from cohirf.clusterers.kernel_k_means import KernelKMeans
    from cohirf.clusterers.sc_srgf import SCSRGF
    from cohirf.clusterers.torch_k_means import TorchKMeans

__all__ = ["SCSRGF", "GridDBSCAN", "KernelKMeans", "TorchKMeans"]

_PLACES = {
    "GridDBSCAN": "cohirf.clusterers.grid_dbscan",
    "KernelKMeans": "cohirf.clusterers.kernel_k_means",
    "SCSRGF": "cohirf.clusterers.sc_srgf",
    "TorchKMeans": "cohirf.clusterers.torch_k_means",
}

__getattr__, __dir__ = lazy_names(__name__, _PLACES)
