"""The program that fuses graphs on a GPU, made by a C++ compiler: it does what the package does."""

import shutil

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, silhouette_score

pytest.importorskip("optuna")
if shutil.which("g++") is None:
    pytest.skip("needs a C++ compiler", allow_module_level=True)

from experiments.fusion import Fusion, compile_fusion, fused_by
from experiments.published_draws import DrawnAsPublished, SubspacesAsPublished

from cohirf import CoHiRF
from cohirf.clusterers import SCSRGF
from cohirf.clusterers.affinity import build_nearest_affinity, fuse_affinities


@pytest.fixture(scope="module")
def fusion(tmp_path_factory):
    return Fusion(compile_fusion(tmp_path_factory.mktemp("fusion"), "g++"))


@pytest.mark.parametrize(("n_rows", "n_subspaces"), [(61, 12), (50, 1), (4, 3)])
def test_a_graph_is_fused_as_in_the_package(fusion, n_rows, n_subspaces):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n_rows, 4))
    subspaces = [rng.permutation(4)[:2] for _ in range(n_subspaces)]  # some are drawn twice
    affinities = [build_nearest_affinity(X[:, part], 5) for part in subspaces]
    expected = fuse_affinities(affinities, 7, rescale=False)
    np.testing.assert_allclose(fusion.fuse(X, subspaces, 5, 7), expected, atol=1e-5)


def test_more_neighbours_than_the_program_has_are_refused(fusion):
    with pytest.raises(ValueError, match="n_neighbors=6: at most 5"):
        fusion.fuse(np.eye(8), [np.arange(8)], 6, 1)


@pytest.mark.parametrize(
    "model",
    [
        DrawnAsPublished(SubspacesAsPublished(3, n_affinities=6), views=1, batch_size=40),
        CoHiRF.as_published(SCSRGF(3, n_affinities=6, graph="published"), views=1, batch_size=40),
        SCSRGF(3, n_affinities=6, graph="published"),
    ],
)
def test_a_model_finds_the_same_clusters(fusion, model, monkeypatch):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(160, 6)) + 3 * (rng.rand(160, 1) < 0.3)
    expected = model.set_params(random_state=1).fit(X).labels_
    fused = []
    fuse = Fusion.fuse
    monkeypatch.setattr(Fusion, "fuse", lambda *given: fused.append(given) or fuse(*given))
    assert adjusted_rand_score(fused_by(fusion, model).fit(X).labels_, expected) == 1
    assert fused


def test_a_graph_of_more_rows_than_fit_a_block_is_refused(fusion):
    with pytest.raises(ValueError, match="3073 rows: a graph of at most 3072"):
        fusion.fuse(np.zeros((3073, 1)), [np.arange(1)], 5, 1)


@pytest.mark.parametrize("n_features", [3, 1024])  # those of an image of COIL-20
def test_silhouettes_are_those_of_scikit_learn(fusion, n_features):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(200, n_features))
    labels = rng.randint(4, size=200)
    labels[7] = 9  # alone in its cluster
    assert fusion.silhouette(X, labels) == pytest.approx(silhouette_score(X, labels))
