"""Ctrl-C: exit code 130, and the same command goes on."""

import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cohirf import CoHiRF

COMMAND = "fit data.npy --param n_clusters=6 --param n_init=10 --views 2 --batch-size 500 --out labels.npy"


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("data.npy", np.random.default_rng(0).normal(size=(10_000, 8)))


def start(arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "cohirf", *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def stop_when(process, is_time):
    """Interrupt the process as soon as something is the case."""
    for _ in range(3000):
        if is_time() or process.poll() is not None:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=120)


def test_a_fit_that_is_stopped_goes_on_when_the_same_command_is_run(data, cohirf):
    command = [*COMMAND.split(), "--checkpoint", "my ck"]
    journal = Path("my ck/journal")
    process = start(command)
    _, err = stop_when(process, lambda: journal.exists() and journal.stat().st_size > 5_000)
    assert process.returncode == 130
    assert err.splitlines()[-1] == (
        f"cohirf: Stopped. my ck keeps what is done. To go on, run the same command: cohirf {shlex.join(command)}"
    )
    assert "Traceback" not in err
    assert sorted(path.name for path in Path().iterdir()) == ["data.npy", "my ck"]
    done = journal.stat().st_size
    assert done > 5_000
    assert cohirf(*command, "--quiet").code == 0
    assert journal.stat().st_size > done
    resumed = np.load("labels.npy")
    assert cohirf(*COMMAND.split(), "--force", "--quiet").code == 0
    assert (np.load("labels.npy") == resumed).all()


def test_a_fit_without_a_checkpoint_says_that_nothing_is_left(data, cohirf, monkeypatch):
    def stop(self, X):
        raise KeyboardInterrupt

    monkeypatch.setattr(CoHiRF, "fit", stop)
    outcome = cohirf(*COMMAND.split(), "--quiet")
    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err == (
        "cohirf: Stopped. Nothing was written: with --checkpoint FOLDER, a fit that is stopped can go on.\n"
    )
    assert not Path("labels.npy").exists()


def test_other_commands_stop_in_a_word(data, cohirf, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("cohirf.cli.info.measure", stop)
    outcome = cohirf("info", "data.npy")
    assert (outcome.code, outcome.err) == (130, "cohirf: Stopped.\n")
