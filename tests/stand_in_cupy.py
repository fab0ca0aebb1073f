"""A stand-in for CuPy in host memory: what cohirf uses of it, for machines without a GPU."""

from contextlib import nullcontext
from types import ModuleType

import numpy as np


class Array:
    """An array that NumPy and torch do not recognise, and that hands its memory over as CuPy's
    does, by DLPack.
    """

    __array_ufunc__ = None

    def __init__(self, values):
        self._values = np.asarray(values)
        self.shape = self._values.shape
        self.dtype = self._values.dtype
        self.ndim = self._values.ndim
        self.device = nullcontext()

    def __len__(self):
        return len(self._values)

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __dlpack__(self, **kwargs):
        return self._values.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self._values.__dlpack_device__()

    def get(self):
        return self._values.copy()


def make_cupy() -> ModuleType:
    """Return a module to be put into ``sys.modules`` under the name ``cupy``."""
    module = ModuleType("cupy")
    module.ndarray = Array
    module.asarray = Array
    module.from_dlpack = lambda array: Array(np.from_dlpack(array))
    return module
