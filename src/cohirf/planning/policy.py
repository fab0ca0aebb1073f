"""The thresholds by which the batch size is planned, with their units.

No benchmark compares their values; ``benchmarks/notes/batch_size.rst`` says how well the plans hold
that are made with them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProbePolicy:
    """Batches that are contracted to measure what batches cost."""

    # of a neighbourhood, from which local batches are taken
    near_rows: int = 2**17
    near_cells: int = 2**23
    # How much larger the next probe is. Three is not a power of two, so a table that doubles its
    # capacity is not measured at the same load each time.
    largest_step: float = 3.0
    smallest_step: float = 1.25
    memory: float = 0.5  # share of the memory of a batch that a probe may need
    seconds: float = 5.0  # for all probes
    time: float = 0.02  # share of the time of the fit that a probe may take, even if that is more
    trusted: int = 3  # fewer probes cannot determine the three or four coefficients of a law
    # resolution of the measurements: pages that the interpreter itself needs, ticks of the clock
    resolution_bytes: int = 500_000
    resolution_seconds: float = 0.002
    # highest powers of the growth laws: the memory of a matrix of all pairs of rows, the time to
    # multiply or decompose it
    memory_degree: int = 2
    time_degree: int = 3
    size_step: float = 2**0.25  # between two candidate sizes


@dataclass(frozen=True)
class PlanPolicy:
    """Which batch size is chosen, and what a fit needs beside its batches."""

    # In smaller batches, most methods find nothing, and the calls themselves cost more than the
    # clustering.
    smallest_batch: int = 100
    rows_per_size: int = 10  # of a batch, for each cluster or neighbour that the method asks for
    reach: float = 4.0  # largest batch size that can be forecast, in units of the largest probe
    # safety factor on the memory of a batch: fragmentation, and rows that differ from the sample
    memory_margin: float = 1.3
    # Times the cheapest fit, or seconds: the largest batches are taken that are not slower.
    slower: float = 2.0
    patience_seconds: float = 60.0
    idle: float = 0.98  # share of its rows; a level that leaves more of them makes no progress
    levels: int = 100  # that are simulated
    usable: float = 0.5  # share of the free memory of a device; the method needs the rest
    # memory: copies of values and means of the first level's survivors at the end of a fit, and
    # bytes that belong to each of them
    leaf_copies: int = 4
    leaf_bytes: int = 64
    # bytes of the samples on which merges and their number are chosen, and clusters described
    ending_bytes: int = 40_000_000
    # bytes of a row: its number, parent, level, mass, stability and label; the same on a device,
    # with codes and scores
    held_bytes: int = 36
    device_bytes: int = 64


PROBE = ProbePolicy()
PLAN = PlanPolicy()
