"""The campaign of faults: a process hangs if it takes no processor time, or far too much of it."""

import os
import subprocess
import sys

import pytest

watching = pytest.importorskip("benchmarks.faults._watching")


def watch(used_after, most_seconds=100.0):
    """Return why each second is one of a hang, for processes that have used so much after it."""
    seconds = iter(range(len(used_after)))
    used = iter([0.0, *used_after])
    watched = watching.Watch([], most_seconds, lambda pids: next(used), lambda: next(seconds))
    return [watched.why_hung() for _ in used_after[1:]]


def test_a_process_that_shares_the_processor_with_twenty_others_does_not_hang():
    assert set(watch([second / 20 for second in range(600)])) == {None}


def test_a_process_without_processor_time_hangs_after_a_minute():
    said = watch([7.0] * 100)
    assert said[:59] == [None] * 59
    assert said[62] == "no processor time for 60 seconds"


def test_an_endless_loop_hangs_when_it_has_used_too_much():
    said = watch([float(second) for second in range(150)])
    assert said[90] is None
    assert said[120] == "more than 100 seconds of processor time"


def test_the_end_of_one_of_several_processes_is_progress():
    assert set(watch([50.0] * 50 + [20.0] * 50)) == {None}


def test_processor_time_is_that_of_processes_that_have_not_been_waited_for():
    work = "import time\nwhile time.process_time() < 0.3: pass\ninput()"
    with subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE) as process:
        while watching.processor_seconds([process.pid]) < 0.2:
            pass
        process.communicate(b"\n")
    assert watching.processor_seconds([process.pid]) == 0.0
    assert watching.processor_seconds([os.getpid()]) > 0.0
