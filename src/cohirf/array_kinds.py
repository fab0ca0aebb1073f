"""Kinds of arrays: which library an array belongs to, and conversions between NumPy, torch and CuPy.

This module imports neither torch nor CuPy: whoever passes an array of theirs has imported them already.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

PIECE_BYTES = 2**22  # of pinned memory, for copies from a CUDA device

ArrayKind = Literal["numpy", "torch", "cupy"]


def array_kind(array: Any) -> ArrayKind:
    """Return the library that an array belongs to; "numpy" for everything that is neither of torch nor of CuPy.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.array_kinds import array_kind
    >>> array_kind(np.zeros(3))
    'numpy'
    """
    if is_torch(array):
        return "torch"
    return "cupy" if is_cupy(array) else "numpy"


def is_torch(array: Any) -> bool:
    """Return whether ``array`` is a tensor of torch, on any device."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_cupy(array: Any) -> bool:
    """Return whether ``array`` is an array of CuPy."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(array, cupy.ndarray)


def to_numpy(array: Any) -> NDArray[Any]:
    """Return an array of any kind as one of NumPy; memory is shared if the array is in host memory.

    bfloat16, which NumPy lacks, becomes float32.
    """
    if is_torch(array):
        array = array.detach()
        if str(array.dtype) == "torch.bfloat16":
            array = array.float()
        is_slow = array.is_cuda and array.nbytes > PIECE_BYTES  # memory that is not pinned is copied slowly
        return np.asarray((_copy_in_pieces(array) if is_slow else array.cpu()).numpy())
    if is_cupy(array):
        return np.asarray(array.get())
    return np.asarray(array)


def _copy_in_pieces(tensor: Any) -> Any:
    """Return a tensor of a CUDA device in host memory; its pieces go through a small buffer of pinned memory."""
    flat = tensor.contiguous().view(-1)
    found = flat.new_empty(flat.shape, device="cpu")
    step = PIECE_BYTES // flat.element_size()
    buffer = flat.new_empty(step, device="cpu", pin_memory=True)
    for start in range(0, flat.shape[0], step):
        piece = flat[start : start + step]
        found[start : start + step] = buffer[: piece.shape[0]].copy_(piece)
    return found.view(tensor.shape)


def to_torch(array: Any, device: Any = None) -> Any:
    """Return an array of any kind as a tensor; memory is shared if the array is on the device already.

    Parameters
    ----------
    array : array
        An array of NumPy, torch or CuPy. torch must be installed.
    device : str or torch.device, default=None
        Where the tensor is to be; None keeps an array of torch or CuPy where it is, and puts others on the CPU.
    """
    import torch

    if is_torch(array):
        tensor = array.detach()
    elif is_cupy(array):
        tensor = torch.from_dlpack(array)
    else:
        values = np.asarray(array)
        # torch refuses negative strides, and warns of memory that it must not write to
        is_taken = values.flags.writeable and min(values.strides, default=0) >= 0
        tensor = torch.from_numpy(values if is_taken else values.copy())
    return tensor if device is None else tensor.to(device)


def same_kind(values: Any, like: Any) -> Any:
    """Return an array of any kind in the library of ``like`` and, for torch and CuPy, on its device.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.array_kinds import same_kind
    >>> same_kind([1, 2], like=np.zeros(3))
    array([1, 2])
    """
    if is_torch(like):
        return to_torch(values, like.device)
    if is_cupy(like):
        cupy = sys.modules["cupy"]
        with like.device:
            return cupy.from_dlpack(values) if is_torch(values) and values.is_cuda else cupy.asarray(to_numpy(values))
    return to_numpy(values)
