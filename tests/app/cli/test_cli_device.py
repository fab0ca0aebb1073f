"""cohirf fit --device: on the CPU, and on a GPU where there is one."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

torch = pytest.importorskip("torch")

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [(), ("--batch-size", 400)], ids=["one batch", "batches"])
def test_an_array_is_fitted_on_a_device(cohirf, device, size, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = make_blobs(2000, 5, centers=4, random_state=0)
    np.save("points.npy", X)
    outcome = cohirf(
        "fit",
        "points.npy",
        "--clusters",
        4,
        "--estimator",
        "torch-kmeans",
        "--device",
        device,
        *size,
        "--out",
        "labels.npy",
    )
    assert outcome.code == 0, outcome.err
    assert adjusted_rand_score(y, np.load("labels.npy")) == 1


@pytest.mark.parametrize("size", [(), ("--batch-size", "auto")], ids=["one batch", "auto"])
@pytest.mark.parametrize("device", ["abacus", "cuda:99"])
def test_a_device_that_is_not_here_is_refused(cohirf, device, size, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("points.npy", np.eye(20))
    outcome = cohirf("fit", "points.npy", "--estimator", "torch-kmeans", "--device", device, *size)
    assert outcome.code == 2
    last = outcome.err.splitlines()[-1]
    assert last.startswith(f"cohirf: --device {device!r} cannot be used here: ")
    assert last.endswith(". Give a device that torch sees.")
