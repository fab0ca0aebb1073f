"""Ctrl-C and SIGTERM: exit code 130 or 143, nothing is left behind, and the same command goes
on.
"""

import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

from cohirf import CoHiRF

COMMAND = "fit data.npy --param n_clusters=6 --views 2 --batch-size 150 --out labels.npy"


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("data.npy", np.random.default_rng(0).normal(size=(600, 8)))


STOPPED_BY_A_SIGNAL = """
import os, signal, sys
from sklearn.cluster import KMeans
from cohirf.app.cli import main

fit, calls = KMeans.fit, []

def fit_and_stop(self, *arguments, **options):
    calls.append(self)
    if len(calls) == 5:
        os.kill(os.getpid(), signal.SIGINT)
    return fit(self, *arguments, **options)

KMeans.fit = fit_and_stop
sys.exit(main(sys.argv[1:]))
"""


def test_a_fit_that_is_interrupted_goes_on_when_the_same_command_is_run(data, cohirf, monkeypatch):
    command = [*COMMAND.split(), "--checkpoint", "my ck", "--quiet"]
    fit = KMeans.fit
    calls = []

    def fit_and_stop(self, *arguments, **options):
        calls.append(self)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return fit(self, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(KMeans, "fit", fit_and_stop)
        outcome = cohirf(*command)
    assert outcome.code == 130
    assert outcome.err == (
        "cohirf: Stopped. my ck keeps what is done. To go on, run the same command: cohirf "
        f"{shlex.join(command)}\n"
    )
    done = Path("my ck/journal").stat().st_size
    assert cohirf(*command).code == 0
    assert Path("my ck/journal").stat().st_size > done > 0


@pytest.mark.slow
def test_a_fit_that_is_stopped_goes_on_when_the_same_command_is_run(data, cohirf):
    command = [*COMMAND.split(), "--checkpoint", "my ck"]
    journal = Path("my ck/journal")
    process = subprocess.run(
        [sys.executable, "-c", STOPPED_BY_A_SIGNAL, *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 130
    assert process.stderr.splitlines()[-1] == (
        "cohirf: Stopped. my ck keeps what is done. To go on, run the same command: cohirf "
        f"{shlex.join(command)}"
    )
    assert "Traceback" not in process.stderr
    assert "\x1b" not in process.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["data.npy", "my ck"]
    done = journal.stat().st_size
    assert done > 0
    assert cohirf(*command, "--quiet").code == 0
    assert journal.stat().st_size > done
    resumed = np.load("labels.npy")
    assert cohirf(*COMMAND.split(), "--force", "--quiet").code == 0
    assert (np.load("labels.npy") == resumed).all()


def test_a_fit_without_a_checkpoint_says_that_nothing_is_left(data, cohirf, monkeypatch):
    def stop(self, X, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(CoHiRF, "fit", stop)
    outcome = cohirf(*COMMAND.split(), "--quiet")
    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err == (
        "cohirf: Stopped. Nothing was written: with --checkpoint FOLDER, a fit that is stopped "
        "can go on.\n"
    )
    assert not Path("labels.npy").exists()


def test_other_commands_stop_in_a_word(data, cohirf, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("cohirf.app.cli.info.gather_numbers", stop)
    outcome = cohirf("info", "data.npy")
    assert (outcome.code, outcome.err) == (130, "cohirf: Stopped.\n")


TERMINATED_IN_PROCESSES = """
import os, signal, sys, threading, time
import psutil
from cohirf.app.cli import main

def terminate():
    while len(psutil.Process().children()) < 3:  # two workers, and joblib's tracker of resources
        time.sleep(0.05)
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)

threading.Thread(target=terminate, daemon=True).start()
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no SIGTERM that a process can handle"
)
def test_a_fit_in_processes_that_is_terminated_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("data.npy", np.random.default_rng(0).normal(size=(60_000, 20)))
    command = (
        "fit data.npy --param n_clusters=50 --views 20 --batch-size 1000 --n-jobs 2 --out "
        "labels.npy"
    )
    process = subprocess.run(
        [sys.executable, "-c", TERMINATED_IN_PROCESSES, *command.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert process.returncode == 143
    assert process.stderr.splitlines()[-1].startswith("cohirf: Stopped. Nothing was written")
    assert "leaked" not in process.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.npy"]
