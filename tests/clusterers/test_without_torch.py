"""Clusterers on torch, where it is not installed: they can be made and described, and fits say what is missing."""

import sys

import numpy as np
import pytest

from cohirf.clusterers import TorchDBSCAN, TorchKernelKMeans, TorchKMeans


@pytest.fixture
def without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.parametrize("kind", [TorchDBSCAN, TorchKMeans, TorchKernelKMeans])
def test_a_fit_names_the_extra_that_installs_torch(kind, without_torch):
    with pytest.raises(ImportError, match=rf'^{kind.__name__} needs torch: install .* "cohirf\[torch\]"'):
        kind().fit(np.eye(3))


def test_parameters_are_those_of_k_means_and_the_device():
    names = {"n_clusters", "init", "n_init", "max_iter", "tol", "random_state", "device", "distance_dtype"}
    assert TorchKMeans().get_params().keys() == names
