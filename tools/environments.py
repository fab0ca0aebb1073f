"""Install the package with no extra, with [cli] and with [cli,fast], and use each as README and the
pages say.

    python -m tools.environments

Each installation has a new environment below a temporary folder, with the wheel of this source and
the versions of constraints.txt. The program needs Python and a package index, and nothing else. It
ends with exit code 1 if something that should be enough is not.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST_CODE, FIRST_OUTPUT = re.findall(
    r"```python\n(.+?)```\n\n```text\n(.+?)```", README, re.DOTALL
)[0]
BLOCKS = re.findall(r"```python\n(.+?)```", README, re.DOTALL)
[CONSOLE] = re.findall(r"```console\n(.+?)```", README, re.DOTALL)
PIP = ("pip", "install", "--quiet", "--disable-pip-version-check")


@dataclass(frozen=True)
class Use:
    """A command, or Python code, that runs in the folder of an environment.

    Attributes
    ----------
    what : str
        What is used, in words.
    words : tuple of str
        The command; "python" is that of the environment.
    says : str
        A part of its output.
    code : int
        Its exit code.
    n_lines : int or None
        Number of lines of its output; None if it may have any number.
    """

    what: str
    words: tuple[str, ...]
    says: str = ""
    code: int = 0
    n_lines: int | None = None


def python(what: str, code: str, says: str = "") -> Use:
    """Return the use of Python code."""
    return Use(what, ("python", "-c", code), says)


def program(line: str, says: str = "") -> Use:
    """Return the use of a command line, such as those that README shows."""
    return Use(line, ("sh", "-c", line), says)


def commands_of(console: str) -> list[str]:
    """Return the commands of a block of console lines, without their comments and without those
    that install.
    """
    lines = re.sub(r"\\\n *", "", console).splitlines()
    commands = [line.removeprefix("$ ").partition("  # ")[0].strip() for line in lines]
    return [command for command in commands if not command.startswith("pip ")]


MAKE_DATA = """
import sys
from pathlib import Path

import numpy as np
from examples.synthetic import main, write_data, write_table

write_data("spheres", "points.npy", 4000, noise=0, random_state=0)
points = np.load("points.npy")
if "--tables" in sys.argv:
    main(["customers", "1000", "data.csv"])
    columns = {name: points[:, j] for j, name in enumerate("xyz")}
    write_table(Path("points.parquet"), columns)
    write_table(Path("new.parquet"), {name: values[:500] for name, values in columns.items()})
"""

USE_LIBRARY = """
import cohirf
from sklearn.cluster import DBSCAN, HDBSCAN

source = cohirf.open_source("points.npy")
for method in (DBSCAN(eps=0.2), HDBSCAN(min_cluster_size=100, copy=True)):
    model = cohirf.CoHiRF(method, random_state=0).fit(source)
    model.save("points.cohirf", overwrite=True)
    again = cohirf.load("points.cohirf")
    assert (again.predict(source) == model.labels_).all()
    assert again.hierarchy_.cut(n_clusters=1).max() == 0
    print(model.n_clusters_, end=" ")
"""

LIBRARY = (
    python("import cohirf", "import cohirf; print(cohirf.__version__)"),
    python("README's first lines", FIRST_CODE, FIRST_OUTPUT),
    python("points.npy", MAKE_DATA),
    python("DBSCAN and HDBSCAN of a file; save, load, predict, cut", USE_LIBRARY, "2 2"),
)
NO_PROGRAM = tuple(
    Use(
        f"{' '.join(words)} --help",
        (*words, "--help"),
        'pip install "cohirf[cli]"',
        code=2,
        n_lines=1,
    )
    for words in (("cohirf",), ("python", "-m", "cohirf"))
)
PROGRAM = (
    program("cohirf --help", "fit"),
    Use(
        "points.npy, data.csv, points.parquet, new.parquet", ("python", "-c", MAKE_DATA, "--tables")
    ),
    *map(program, commands_of(CONSOLE)),
    program(
        "cohirf fit points.npy --estimator dbscan --param eps=0.2 --out dbscan.npy", "2 clusters"
    ),
    program(
        "cohirf fit points.npy --estimator hdbscan --param min_cluster_size=100 --out hdbscan.csv",
        "2 clusters",
    ),
)
COMPILED = (
    *(
        python("README's lines on data beyond memory", block)
        for block in BLOCKS
        if "GridDBSCAN" in block
    ),
    program("cohirf fit points.npy --estimator hdbscan --batch-size 1000 --out batches.csv"),
)
# By extras: "" is an installation without any.
ENVIRONMENTS = {
    "": (*LIBRARY, *NO_PROGRAM),
    "cli": PROGRAM,  # the library is as without extras
    "cli,fast": (*LIBRARY, *COMPILED),  # the tests use the rest of the program with compiled loops
}


@dataclass(frozen=True)
class Environment:
    """A virtual environment in a folder of its own."""

    extras: str
    folder: Path

    @property
    def name(self) -> str:
        """The requirement that is installed."""
        return f"cohirf[{self.extras}]" if self.extras else "cohirf"

    def install(self, wheel: Path) -> None:
        """Make the environment, and install the wheel with the extras into it."""
        subprocess.run([sys.executable, "-m", "venv", self.folder / "env"], check=True)
        required = f"{wheel}[{self.extras}]" if self.extras else str(wheel)
        constraints = ("--constraint", str(ROOT / "constraints.txt"))
        self.run(("python", "-m", *PIP, "--no-compile", *constraints, required)).check_returncode()

    def run(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a command with the programs of the environment, and the examples of this source."""
        path = os.pathsep.join([str(self.folder / "env" / "bin"), os.environ["PATH"]])
        variables = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
        return subprocess.run(
            ["env", *words],  # finds the command by the path of the environment
            cwd=self.folder,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )

    def try_out(self, use: Use) -> str | None:
        """Return what is wrong with a use; None if nothing is."""
        done = self.run(use.words)
        n_lines = len(done.stdout.splitlines())
        is_of_length = use.n_lines is None or n_lines == use.n_lines
        if done.returncode == use.code and use.says in done.stdout and is_of_length:
            return None
        return (
            f"exit code {done.returncode}, expected {use.code} and {use.says!r} in:\n{done.stdout}"
        )


def check(environment: Environment, wheel: Path) -> int:
    """Install an environment, use it, and return how many uses failed."""
    started = time.monotonic()
    environment.install(wheel)
    print(f"{environment.name}: installed ({time.monotonic() - started:.0f} s)", flush=True)
    n_wrong = 0
    for use in ENVIRONMENTS[environment.extras]:
        started = time.monotonic()
        wrong = environment.try_out(use)
        n_wrong += wrong is not None
        end = f"ok ({time.monotonic() - started:.0f} s)" if wrong is None else f"WRONG: {wrong}"
        print(f"{environment.name}: {use.what}: {end}", flush=True)
    return n_wrong


def build_wheel(folder: Path) -> Path:
    """Return the wheel of this source, in a folder."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        *PIP[2:],
        "--no-deps",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(command, check=True)
    [wheel] = folder.glob("cohirf-*.whl")
    return wheel


def main() -> int:
    """Check all environments at the same time; return 1 if something failed."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as threads:
        wheel = build_wheel(Path(folder))
        environments = [
            Environment(extras, Path(folder) / (extras or "base")) for extras in ENVIRONMENTS
        ]
        for environment in environments:
            environment.folder.mkdir()
        n_wrong = sum(threads.map(check, environments, [wheel] * len(environments)))
    print(f"{n_wrong} uses failed." if n_wrong else "All uses work.")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
