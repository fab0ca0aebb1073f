"""Does a process hang, or does it wait for a busy processor?

The clock cannot tell: where many programs share a processor, a sound process takes ten times as
long. Its processor time can. A process that hangs either takes none, or more than its work needs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import psutil

# a second on the clock within which processes that hang are not looked at again
LOOK_SECONDS = 1.0
# Processes that wait for each other take less than this part of a processor. Twenty that share one
# take more.
LEAST_SHARE = 0.005
STILL_SECONDS = 60.0  # on the clock, for as long as this


def processor_seconds(pids: Sequence[int]) -> float:
    """Return the processor time of processes and of those that they have started and waited for.

    A process that has ended and was waited for counts nothing.
    """
    total = 0.0
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            times = psutil.Process(pid).cpu_times()
            total += times.user + times.system
            total += times.children_user + times.children_system
    return total


class Watch:
    """Watches processes that together do one piece of work.

    Parameters
    ----------
    pids : sequence of int
        The processes.
    most_seconds : float
        Processor time that is far more than their work needs.
    used, clock : callable, optional
        Return the processor time of the processes so far, and the time.
    """

    def __init__(
        self,
        pids: Sequence[int],
        most_seconds: float,
        used: Callable[[Sequence[int]], float] = processor_seconds,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pids = list(pids)
        self._most_seconds = most_seconds
        self._used = used
        self._clock = clock
        self._looked = self._moved = clock()
        self._moved_at = used(self._pids)

    def why_hung(self) -> str | None:
        """Return in words why the processes hang; None if they do not, as far as can be seen."""
        now = self._clock()
        if now - self._looked < LOOK_SECONDS:
            return None
        self._looked = now
        used = self._used(self._pids)
        if used > self._most_seconds:
            return f"more than {self._most_seconds:.0f} seconds of processor time"
        # less than before: one of several has ended
        if not 0 <= used - self._moved_at < LEAST_SHARE * STILL_SECONDS:
            self._moved = now
            self._moved_at = used
        if now - self._moved > STILL_SECONDS:
            return f"no processor time for {STILL_SECONDS:.0f} seconds"
        return None
