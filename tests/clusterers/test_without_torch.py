"""Clusterers on torch, where it is not installed: they can be made and described, and fits say what is missing."""

import sys

import numpy as np
import pytest

from cohirf.clusterers import KernelKMeans, TorchDBSCAN, TorchKernelKMeans, TorchKMeans


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


def test_kernel_k_means_on_torch_has_the_defaults_of_the_methods_it_is_made_of():
    defaults = TorchKernelKMeans().get_params()
    both = {**KernelKMeans().get_params(), **TorchKMeans().get_params()}
    del both["init"]  # always k-means++
    assert defaults == both


@pytest.mark.parametrize(
    ("name", "value"),
    [("gamma", 0.0), ("n_components", 0), ("n_clusters", 0), ("device", 1), ("distance_dtype", "int8")],
)
def test_kernel_k_means_on_torch_checks_the_parameters_of_both(name, value):
    with pytest.raises(ValueError, match=rf"^The '{name}' parameter of TorchKernelKMeans must be"):
        TorchKernelKMeans(**{name: value}).fit(np.eye(3))
