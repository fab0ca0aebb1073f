"""Work through rows on a device in blocks that fit into its memory."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

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
            if type(error).__name__ not in OUT_OF_MEMORY or step == 1:
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


def _free_cached_memory() -> None:
    """Return memory that the libraries hold for later use to the device."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
    if cupy is not None:
        cupy.get_default_memory_pool().free_all_blocks()
