"""Choice of the batch size by measuring the base method, as ``batch_size="auto"`` and ``"2GB"`` do
it.
"""

from cohirf.planning.memory import (
    format_bytes,
    peak_bytes,
    read_memory_limit,
    reset_peak,
    resident_bytes,
    resolve_memory_limit,
)
from cohirf.planning.plan import BatchPlan, Room, plan_batches, plan_for_device
from cohirf.planning.probe import Neighbourhood, Probe, draw_rows

__all__ = [
    "BatchPlan",
    "Neighbourhood",
    "Probe",
    "Room",
    "draw_rows",
    "format_bytes",
    "peak_bytes",
    "plan_batches",
    "plan_for_device",
    "read_memory_limit",
    "reset_peak",
    "resident_bytes",
    "resolve_memory_limit",
]
