"""The option --perturb: noise changes last digits and nothing else, and reaches other processes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from perturbed.last_digits import SEED, add_noise

ROOT = Path(__file__).parents[1]
VALUES = np.random.default_rng(0).normal(size=(50, 4))
COUNT_CHANGES = """
import numpy as np
from cohirf.algorithm import base_method
class Keep:
    def fit_predict(self, X):
        self.seen = X
X, keep = np.linspace(1, 2, 100)[:, None], Keep()
base_method._fit_labels(keep, X, {})
print((keep.seen != X).sum())
"""


def test_noise_changes_the_last_digits_only():
    noisy = add_noise(VALUES, 1)
    assert (noisy != VALUES).mean() > 0.9
    assert np.abs(noisy / VALUES - 1).max() < 1.01e-13
    assert (add_noise(VALUES, 2) != noisy).any()


def test_noise_depends_on_the_size_of_a_value_alone():
    noisy = add_noise(VALUES, 1)
    assert (add_noise(VALUES[7:9, 1:3], 1) == noisy[7:9, 1:3]).all()
    assert (add_noise(-VALUES, 1) == -noisy).all()
    assert (add_noise(np.zeros(3), 1) == 0).all()
    assert (add_noise(sparse.csr_array(VALUES), 1).toarray() == noisy).all()


def test_noise_of_float32_is_a_few_units_of_the_last_digit():
    values = VALUES.astype(np.float32)
    noisy = add_noise(values, 1)
    assert noisy.dtype == np.float32
    assert (noisy != values).mean() > 0.5
    assert np.abs(noisy / values - 1).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "n_changed"), [(None, 0), ("1", 100)])
def test_other_processes_have_noise_if_their_environment_says_so(seed, n_changed):
    folders = [str(ROOT / "tests" / "perturbed"), str(ROOT / "src")]
    environment = {name: value for name, value in os.environ.items() if name != SEED}
    environment |= {"PYTHONPATH": os.pathsep.join(folders)} | ({} if seed is None else {SEED: seed})
    run = subprocess.run(
        [sys.executable, "-c", COUNT_CHANGES],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(run.stdout) == n_changed
