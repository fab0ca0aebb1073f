"""Noise in the last digits of what fits compute with, as if another processor had rounded them.

Every processor adds numbers in an order of its own, so the last digits of sums differ. Here, what a
base method is given, the means of the groups that merge and the scores of medoids are multiplied by
1 + 1e-13 * noise. What stays the same for several seeds does not depend on the processor.

Noise is a function of the seed and of the size of a value alone. So equal rows stay equal, 0 stays
0, -x remains the opposite of x, and a row gets the same noise in any batch, engine or process, and
in ``tests/reference.py``. Values of float32 would lose noise of 1e-13; theirs is a few units of
their last digit.

Nothing heavy is imported here before it is needed: programs whose imports are tested start with
this file, too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

SEED = "COHIRF_PERTURB"  # environment variable; without it there is no noise
SIZE = 1e-13
SIZE_32 = 5e-7
# Functions that are given noise, and in which of their arguments.
TARGETS = {
    "cohirf.algorithm.base_method": ("_fit_labels", 1),
    "cohirf.algorithm.choose_medoids": ("best_by_label", 0),
    "cohirf.beyond.merge_tree": ("_link_scaled", 0),
}


def add_noise(values: Any, seed: int) -> Any:
    """Return an array or CSR matrix of floats with noise in its last digits."""
    import numpy as np
    from scipy import sparse

    from cohirf.rows.arrays import is_here, put_beside, to_host

    if sparse.issparse(values):
        noisy = values.copy()
        noisy.data = add_noise(values.data, seed)
        return noisy
    if not is_here(values):
        return put_beside(add_noise(to_host(values), seed), values)
    if values.dtype.kind != "f":
        return values
    noise = _hash(np.abs(values).astype(np.float64).view(np.uint64), seed)
    size = SIZE if values.dtype == np.float64 else SIZE_32
    return (values * (1 + size * noise)).astype(values.dtype, copy=False)


def _hash(bits: Any, seed: int) -> Any:
    """Return a number between -1 and 1 for each integer of 64 bits, by the mixing steps of
    SplitMix64.
    """
    import numpy as np

    bits = bits + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return (bits ^ (bits >> np.uint64(31))) / 2.0**63 - 1


def install() -> None:
    """Let the functions of ``TARGETS`` see noise, in modules that are imported already and in those
    that will be.
    """
    for name in TARGETS:
        if name in sys.modules:
            _patch(sys.modules[name])
    sys.meta_path.insert(0, _Finder)  # type: ignore[arg-type]


class _Finder:
    """Finds the modules of ``TARGETS``, and patches them when they have been imported."""

    @staticmethod
    def find_spec(name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name in TARGETS else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_patch(module: ModuleType) -> None:
            execute(module)
            _patch(module)

        spec.loader.exec_module = execute_and_patch  # type: ignore[method-assign]
        return spec


def _patch(module: ModuleType) -> None:
    name, position = TARGETS[module.__name__]
    function = getattr(module, name)
    if not hasattr(function, "__wrapped__"):  # workers of pytest-xdist have started with noise
        setattr(module, name, _see_noise(function, position))


def _see_noise(function: Callable[..., Any], position: int) -> Callable[..., Any]:
    @wraps(function)
    def seeing_noise(*arguments: Any, **others: Any) -> Any:
        if SEED in os.environ:
            noisy = add_noise(arguments[position], int(os.environ[SEED]))
            arguments = (*arguments[:position], noisy, *arguments[position + 1 :])
        return function(*arguments, **others)

    return seeing_noise
