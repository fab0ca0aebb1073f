"""Every test file can be imported on Windows and macOS."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# Packages are imported first: on Windows they have their own ways, and those are not ours to test.
IMPORT_WITHOUT_POSIX = """
import os, runpy, signal, sys
from pathlib import Path
import distributed, joblib, numba, optuna, pytest
import cohirf.app.cli, cohirf.app.plotting, cohirf.app.explain.report, cohirf.store.checkpoint, filelock

for module in ("fcntl", "resource"):
    sys.modules[module] = None
for name in ("fork", "mkfifo", "geteuid", "seteuid"):
    delattr(os, name)
for name in ("SIGKILL", "SIGALRM"):
    delattr(signal, name)
for path in sorted(Path.cwd().rglob("test_*.py")):
    sys.path[0] = str(path.parent)
    try:
        runpy.run_path(str(path))
    except pytest.skip.Exception:
        pass
    except Exception as error:
        print(f"{path}: {error!r}")
"""


@pytest.mark.slow
def test_test_files_are_imported_without_what_only_posix_has():
    command = [sys.executable, "-c", IMPORT_WITHOUT_POSIX]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, cwd=TESTS, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
