"""Settings and data shared by all tests."""

import os

# scikit-learn's array API check runs only with this set before scipy is imported.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from sklearn.datasets import make_blobs

settings.register_profile("cohirf", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("cohirf")


@pytest.fixture(scope="session")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Four separated clusters in ten dimensions."""
    return make_blobs(300, 10, centers=4, cluster_std=0.5, random_state=0)
