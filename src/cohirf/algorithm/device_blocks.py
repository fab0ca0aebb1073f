"""Work through rows on a device in blocks that fit into its memory; say what to do if a whole batch does not."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from cohirf.algorithm.arrays import is_torch
from cohirf.error_contexts import replacing_errors

OUT_OF_MEMORY = ("OutOfMemoryError",)  # the name of the error in torch and in CuPy


def in_blocks(work: Callable[[slice], None], n_rows: int, block_rows: int) -> None:
    """Call ``work`` with slices of about ``block_rows`` rows; if memory runs out, go on with blocks of half the size.

    ``work`` must not have changed anything when memory runs out.
    """
    start, step = 0, max(1, block_rows)
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
                f"The memory of the device is full: the fit goes on with blocks of {step:,} rows, which takes longer.",
                RuntimeWarning,
                stacklevel=2,
            )
            continue
        start = block.stop


def is_full(error: Exception) -> bool:
    """Return whether an error says that the memory of a device is full."""
    return type(error).__name__ in OUT_OF_MEMORY


@replacing_errors
def naming_full_memory(n_rows: int, device: Any) -> Iterator[None]:
    """Replace the error that the memory of a device is full by one with a remedy.

    A batch of ``n_rows`` rows is contracted on the device, which is a name that torch knows, or an array that is there.
    """
    try:
        yield
    except Exception as error:
        if not is_full(error):
            raise
        raise MemoryError(
            f"A batch of {n_rows:,} rows does not fit into the memory of the device{_say_free(device)}: lower "
            f'batch_size, or give batch_size="auto" or, if other programs use the device, the memory to use ("8GB").'
        ) from error


def _say_free(device: Any) -> str:
    name = str(device.device) if is_torch(device) else device
    if not (isinstance(name, str) and name.startswith("cuda")):
        return ""
    free, total = sys.modules["torch"].cuda.mem_get_info(name)
    return f", of which {free / 2**30:.1f} of {total / 2**30:.1f} GiB are free"


def _free_cached_memory() -> None:
    """Return memory that the libraries hold for later use to the device."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
    if cupy is not None:
        cupy.get_default_memory_pool().free_all_blocks()
