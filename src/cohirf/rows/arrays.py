"""Rows in the library and on the device of the user's data: NumPy's, or those of torch, CuPy and
other array libraries.

Rows, and what belongs to each row, stay where the data is. What is small, with an entry for each
label or each code, is a NumPy array. The functions in this file go from one to the other.
Operations that the array API standard has are taken from there; ``scatter.py`` has the few that
each library does in its own way. torch and CuPy are imported only if they are needed: whoever
passes an array of theirs has imported them already.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.error_contexts import replacing_errors
from cohirf.optional import import_optional
from cohirf.rows.blocks import IntArray as IntArray
from cohirf.rows.containers.container import container_of
from cohirf.rows.policy import BLOCK

Floats = NDArray[np.floating[Any]]


def is_here(array: Any) -> bool:
    """Return whether an array is one of NumPy or SciPy, and not of another library."""
    return isinstance(array, np.ndarray) or sparse.issparse(array)


def is_torch(array: Any) -> bool:
    """Return whether ``array`` is a tensor of torch, on any device."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_cupy(array: Any) -> bool:
    """Return whether ``array`` is an array of CuPy."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(array, cupy.ndarray)


def is_dask(X: Any) -> bool:
    """Return whether ``X`` is a Dask collection."""
    return type(X).__module__.startswith(("dask.", "dask_expr."))


def is_on_device(X: Any) -> bool:
    """Return whether ``X`` is an array of a library other than NumPy, such as torch or CuPy."""
    if is_here(X):
        return False
    return is_torch(X) or is_cupy(X) or (hasattr(X, "__array_namespace__") and hasattr(X, "device"))


def namespace(array: Any) -> Any:
    """Return the functions of the array API standard for the library of ``array``."""
    if isinstance(array, np.ndarray):
        return np
    compat = import_optional("array_api_compat", "torch", f"Data of type {type(array).__name__}")
    return compat.array_namespace(array)


def to_host(array: Any) -> Any:
    """Return an array of any library as one of NumPy.

    Arrays of NumPy and SciPy, and None, are returned unchanged.

    Memory is shared if the array is in host memory. bfloat16, which NumPy lacks, becomes float32.
    """
    if array is None or is_here(array):
        return array
    if is_torch(array):
        array = array.detach()
        if str(array.dtype) == "torch.bfloat16":
            array = array.float()
        # memory that is not pinned is copied slowly
        is_slow = array.is_cuda and array.nbytes > BLOCK.pinned_bytes
        return np.asarray((_copy_in_pieces(array) if is_slow else array.cpu()).numpy())
    if is_cupy(array):
        return np.asarray(array.get())
    if not hasattr(array, "to_device"):  # a list, or a column of a table
        return np.asarray(array)
    return np.asarray(array.to_device(namespace(array).__array_namespace_info__().default_device()))


def from_device(X: Any) -> Any:
    """Return data on a device as an array of NumPy, and any other data as it is."""
    return to_host(X) if is_on_device(X) else X


def _copy_in_pieces(tensor: Any) -> Any:
    """Return a tensor of a CUDA device in host memory.

    Its pieces go through a small buffer of pinned memory.
    """
    flat = tensor.contiguous().view(-1)
    found = flat.new_empty(flat.shape, device="cpu")
    step = BLOCK.pinned_bytes // flat.element_size()
    buffer = flat.new_empty(step, device="cpu", pin_memory=True)
    for start in range(0, flat.shape[0], step):
        piece = flat[start : start + step]
        found[start : start + step] = buffer[: piece.shape[0]].copy_(piece)
    return found.view(tensor.shape)


def to_torch(array: Any, device: Any = None) -> Any:
    """Return an array of NumPy, torch or CuPy as a tensor.

    Memory is shared if the array is on the device already.

    Without a ``device``, an array of torch or CuPy stays where it is, and others are put on the
    CPU.
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
    """Return an array of any kind in the library of ``like`` and, for torch and CuPy, on its
    device.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.rows.arrays import same_kind
    >>> same_kind([1, 2], like=np.zeros(3))
    array([1, 2])
    """
    if is_torch(like):
        return to_torch(values, like.device)
    if is_cupy(like):
        cupy = sys.modules["cupy"]
        with like.device:
            if is_torch(values) and values.is_cuda:
                return cupy.from_dlpack(values)
            return cupy.asarray(to_host(values))
    return to_host(values)


def put_beside(values: Any, rows: Any) -> Any:
    """Return an array of NumPy, or None, in the library and on the device of ``rows``.

    A float keeps its precision.
    """
    if values is None or is_here(rows) or not is_here(values):
        return values
    values = as_array(values)
    if is_torch(rows) or is_cupy(rows):
        return same_kind(values, rows)
    return namespace(rows).asarray(values, device=rows.device)


def put_on_device(X: Any, device: Any) -> Any:
    """Return an array of NumPy on a device, which is a name that torch knows, or an array that is
    there already.

    What is on a device stays there, and so does everything if ``device`` is None.
    """
    if device is None or X is None or not is_here(X):
        return X
    if sparse.issparse(X):
        raise TypeError(
            "A sparse matrix cannot be fitted on a device: leave the parameter device out."
        )
    if not isinstance(device, str):
        return put_beside(X, device)
    return torch_with(device).as_tensor(np.ascontiguousarray(X)).to(device)


def torch_with(device: str) -> Any:
    """Return torch; raise if it cannot use the device of this name."""
    torch = import_optional("torch", "torch", f"device={device!r}")
    try:
        torch.empty(0, device=device)
    except (AssertionError, RuntimeError) as error:  # the first if torch was built without CUDA
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(
            f"device={device!r} cannot be used here: {reason}. Give a device that torch sees."
        ) from None
    return torch


def take_rows(X: Any, rows: Any) -> Any:
    """Return the given rows of ``X``, where ``X`` is.

    ``rows`` is a slice, or an array of NumPy or beside ``X``.
    """
    return container_of(X).take(X, rows)


def fetch_rows(X: Any, rows: IntArray | slice) -> Any:
    """Return the given rows of ``X`` as an array of NumPy."""
    return to_host(take_rows(X, rows))


def look_up(table: NDArray[Any], index: Any) -> Any:
    """Return the entry of ``table``, an array of NumPy, at each ``index``, where the indices
    are.
    """
    return container_of(index).look_up(table, index)


def as_array(X: Any) -> Any:
    """Return a CSR matrix as an array of NumPy, and an array as it is."""
    return container_of(X).dense(X)


def as_rows(X: Any) -> Any:
    """Return a matrix, such as a product, as rows: a CSR matrix if it is sparse, or an array."""
    return X.tocsr() if sparse.issparse(X) else np.asarray(X)


def stored_cells(X: Any) -> Any:
    """Return the cells that a matrix stores: of an array all, of a CSR matrix as a vector."""
    return container_of(X).stored(X)


def narrow_indices(X: Any) -> Any:
    """Return a CSR matrix with 32-bit indices if they suffice, as most base methods require them;
    an array as it is.
    """
    return container_of(X).narrow(X)


def join_rows(blocks: list[Any]) -> Any:
    """Concatenate blocks of rows, all of which are in the same place."""
    return container_of(blocks[0]).join(blocks)


def alike(*blocks: Any) -> tuple[Any, ...]:
    """Return blocks of rows in this process in one container: CSR matrices if one of them is."""
    for block in blocks:
        if sparse.issparse(block):
            return tuple(container_of(block).like(block, each) for each in blocks)
    return blocks


def in_blocks(work: Callable[[slice], None], n_rows: int, block_rows: int) -> None:
    """Call ``work`` with slices of about ``block_rows`` rows.

    If memory runs out, go on with blocks of half the size.

    ``work`` must not have changed anything when memory runs out.
    """
    start = 0
    step = max(1, block_rows)
    while start < n_rows:
        block = slice(start, min(start + step, n_rows))
        try:
            work(block)
        except Exception as error:
            if not is_full(error) or step == 1:
                raise
            step = (block.stop - block.start + 1) // 2
            _free_cached_memory()
            warnings.warn(
                f"The memory of the device is full: the fit goes on with blocks of {step:,} rows, "
                "which takes longer.",
                RuntimeWarning,
                stacklevel=2,
            )
            continue
        start = block.stop


def is_full(error: Exception) -> bool:
    """Return whether an error says that the memory of a device is full."""
    return type(error).__name__ in ("OutOfMemoryError",)


@replacing_errors
def naming_full_memory(n_rows: int, device: Any) -> Iterator[None]:
    """Replace the error that the memory of a device is full by one with a remedy.

    A batch of ``n_rows`` rows is contracted on the device, which is a name that torch knows, or an
    array that is there.
    """
    try:
        yield
    except Exception as error:
        if not is_full(error):
            raise
        raise MemoryError(
            f"A batch of {n_rows:,} rows does not fit into the memory of the "
            f"device{_say_free(device)}: lower "
            'batch_size, or give batch_size="auto" or, if other programs use the device, the '
            'memory to use ("8GB").'
        ) from error


def free_on_device(device: Any) -> int | None:
    """Return the free memory of a device, a name that torch knows or an array that is there, in
    bytes; None if the device is the processor.
    """
    if is_cupy(device):
        with device.device:
            return int(sys.modules["cupy"].cuda.runtime.memGetInfo()[0])
    name = _name_of_device(device)
    if not name.startswith("cuda"):
        return None
    return int(torch_with(name).cuda.mem_get_info(name)[0])


def _name_of_device(device: Any) -> str:
    """Return the name by which torch knows a device, or ""."""
    if is_torch(device):
        return str(device.device)
    return device if isinstance(device, str) else ""


def _say_free(device: Any) -> str:
    name = _name_of_device(device)
    if not name.startswith("cuda"):
        return ""
    free, total = sys.modules["torch"].cuda.mem_get_info(name)
    return f", of which {free / 2**30:.1f} of {total / 2**30:.1f} GiB are free"


def _free_cached_memory() -> None:
    """Return memory that the libraries hold for later use to the device."""
    torch = sys.modules.get("torch")
    cupy = sys.modules.get("cupy")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
    if cupy is not None:
        cupy.get_default_memory_pool().free_all_blocks()
