"""Choice of the batch size for a device: as many rows as its memory has room for.

The memory that the base method needs is not measured there. It is assumed to be linear in the number of rows, as for
K-Means, which works through distances in blocks.
"""

from __future__ import annotations

from typing import Any

from cohirf.algorithm.arrays import torch_with
from cohirf.array_kinds import is_cupy, is_torch
from cohirf.engines.streaming import RUNS_AHEAD
from cohirf.optional import import_optional
from cohirf.planning.memory import available_bytes

USABLE = 0.5  # of the free memory; the rest is for temporary arrays of the base method
ROW_BYTES = 64  # for each row: codes, labels, mass, stability and scores
LARGEST_BATCH = 1.5  # in units of batch_size; see count_batches


def plan_for_device(
    device: Any, row_bytes: int, view_share: float, memory_limit: int | None, n_rows: int
) -> int | None:
    """Return the batch size for ``n_rows`` rows on a device: a name that torch knows, or an array that is there.

    A batch needs memory for its rows, of ``row_bytes`` bytes, unless they are there already, and for a view of them,
    which has a share of their features. If all rows fit, the result is None: they are one batch. Of several
    batches, some are on the device before they are needed, and one is there with and without its held-aside rows.
    """
    free = free_bytes(device) if memory_limit is None else memory_limit
    copies = view_share + isinstance(device, str)
    if n_rows * (row_bytes * copies + ROW_BYTES) <= USABLE * free:
        return None
    copies += (1 + RUNS_AHEAD) * isinstance(device, str)
    return max(2, int(USABLE * free / (LARGEST_BATCH * (row_bytes * copies + ROW_BYTES))))


def free_bytes(device: Any) -> int:
    """Return the free memory of a device; of this machine, if the device is the processor."""
    if is_cupy(device):
        with device.device:
            return int(import_optional("cupy", "torch", "An array of CuPy").cuda.runtime.memGetInfo()[0])
    name = device if isinstance(device, str) else str(getattr(device, "device", "cpu"))
    if (is_torch(device) or isinstance(device, str)) and name.startswith("cuda"):
        return int(torch_with(name).cuda.mem_get_info(name)[0])
    return available_bytes()
