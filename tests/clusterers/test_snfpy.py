"""Our affinities and their fusion, against those of snfpy.

snfpy 0.2.2 departs from Wang et al. (2014) in three places. There it is put right before it is compared; its distances,
widths, choice of neighbours, sums, products and iterations stay its own.

- A similarity is the density of a normal distribution, with a factor of one over the width. Wang et al. have the
  exponential alone, and so do we.
- After each iteration, one is added to the diagonal and the matrix is symmetrised. Wang et al. normalise the rows, with
  one half on the diagonal, as the documentation of snfpy says, too; we symmetrise the end result alone.
- In the end, one half is added to the diagonal once more.

In the fusion of snfpy a row is its own neighbour. Our fusion takes any neighbours, so here it gets those of snfpy. Our
own neighbours are compared with the formulas written out, in test_fusion.py.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from literal_fusion import literal_status
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.utils import check_array

from cohirf.clusterers.affinity import SCALE, Affinity, build_affinity
from cohirf.clusterers.fusion import fuse_affinities

N_NEIGHBORS = 5


@pytest.fixture
def snfpy(monkeypatch):
    compute = pytest.importorskip("snf.compute", reason="needs snfpy")
    exponential = SimpleNamespace(norm=SimpleNamespace(pdf=lambda x, loc, scale: np.exp(-((x / scale) ** 2) / 2)))
    monkeypatch.setattr(compute, "stats", exponential)
    monkeypatch.setattr(compute, "_B0_normalized", lambda matrix, alpha: literal_status(matrix))
    monkeypatch.setattr(compute, "check_symmetric", lambda matrix, raise_warning: matrix)
    monkeypatch.setattr(compute, "check_array", check_any_scikit_learn)
    return compute


def check_any_scikit_learn(X, *, force_all_finite, **options):
    """Take the argument that scikit-learn has renamed since."""
    return check_array(X, ensure_all_finite=force_all_finite, **options)


@pytest.fixture(scope="module")
def views():
    X, _ = make_blobs(60, 12, centers=3, cluster_std=4.0, random_state=0)
    return [X[:, start : start + 6] for start in range(4)]


def test_status_is_that_of_snfpy(snfpy, views):
    for view in views:
        similarity = snfpy.affinity_matrix(cdist(view, view), K=N_NEIGHBORS, mu=SCALE)
        status = build_affinity(view, N_NEIGHBORS).status
        np.testing.assert_allclose(status, literal_status(similarity), rtol=1e-5)


@pytest.mark.parametrize("n_affinities", [2, 4])
@pytest.mark.parametrize("n_iter", [0, 1, 2, 20])
def test_fusion_is_that_of_snfpy(snfpy, views, n_affinities, n_iter):
    status = [build_affinity(view, N_NEIGHBORS).status for view in views[:n_affinities]]
    neighbors = [sparse.csr_array(snfpy._find_dominate_set(matrix, N_NEIGHBORS)) for matrix in status]
    assert all(np.diff(matrix.indptr).max() == N_NEIGHBORS for matrix in neighbors)
    theirs = snfpy.snf(*(matrix.astype(np.float64) for matrix in status), K=N_NEIGHBORS, t=n_iter)
    ours = fuse_affinities([Affinity(*pair) for pair in zip(status, neighbors, strict=True)], n_iter)
    np.testing.assert_allclose(ours, theirs - np.eye(len(theirs)) / 2, rtol=1e-5)
