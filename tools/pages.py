"""Run the commands and the Python examples of a page, and write what they print into the page.

    python tools/pages.py docs/tutorial.rst

All of them run in one temporary folder, in the order of the page. Output that only differs in times
and sizes of memory is left as it is. Long lines are broken between words, as on a terminal.
``tests/test_pages.py`` checks that nothing would change.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CONSOLE = ".. code-block:: console"
INSTALL = "pip "  # commands that are not run
WIDTH = 96  # characters of a line of output, for which pages have room
BREAKING = textwrap.TextWrapper(WIDTH, break_long_words=False, break_on_hyphens=False)
# seconds and sizes of memory differ from run to run
MEASURED = re.compile(r"\d[\d.,]* (?:s|MB|GB)\b")


@dataclass(frozen=True)
class Step:
    """A command or a Python example of a page.

    Attributes
    ----------
    source : str
        What is run.
    is_python : bool
        Whether it is Python, and not a command.
    start, end : int
        The lines of the page that have its output.
    indent : str
        What these lines begin with.
    """

    source: str
    is_python: bool
    start: int
    end: int
    indent: str


def find_steps(text: str) -> list[Step]:
    """Return the commands and examples of a page in their order."""
    return sorted(
        [*_find_examples(text), *_find_commands(text.splitlines())], key=lambda step: step.start
    )


def _find_examples(text: str) -> Iterator[Step]:
    for example in doctest.DocTestParser().get_examples(text):
        start = example.lineno + example.source.count("\n")
        yield Step(
            example.source, True, start, start + example.want.count("\n"), " " * example.indent
        )


def _find_commands(lines: list[str]) -> Iterator[Step]:
    for number, line in enumerate(lines):
        if line == CONSOLE:
            end = next(
                (i for i in range(number + 1, len(lines)) if lines[i] and lines[i][0] != " "),
                len(lines),
            )
            while not lines[end - 1]:
                end -= 1
            yield from _commands_of_block(lines, number + 1, end)


def _commands_of_block(lines: list[str], start: int, end: int) -> Iterator[Step]:
    begins = [i for i in range(start, end) if lines[i].startswith("   $ ")]
    for begin, stop in pairwise([*begins, end]):
        output = next((i for i in range(begin + 1, stop) if not lines[i].startswith("   > ")), stop)
        source = " ".join(line[5:].removesuffix("\\").strip() for line in lines[begin:output])
        if not source.startswith(INSTALL):
            yield Step(source, False, output, stop, "   ")


def run_page(text: str) -> str:
    """Return a page with the output of its commands and examples, which run in the current
    folder.
    """
    lines = text.splitlines()
    variables: dict[str, Any] = {"__name__": "__main__"}
    outputs: list[tuple[Step, list[str]]] = []
    for step in find_steps(text):
        printed = (
            _run_python(step.source, variables) if step.is_python else run_command(step.source)
        )
        written = "\n".join(line.removeprefix(step.indent) for line in lines[step.start : step.end])
        kept = written if is_same(written, printed) else printed
        outputs.append((step, [(step.indent + line).rstrip() for line in wrap(kept)]))
    for step, output in reversed(outputs):
        lines[step.start : step.end] = output
    return "\n".join(lines) + "\n"


def wrap(printed: str) -> list[str]:
    """Return the lines of an output, with those that are too long broken between words."""
    lines = printed.rstrip("\n").splitlines()
    return [part for line in lines for part in BREAKING.wrap(line) or [""]]


def is_same(written: str, printed: str) -> bool:
    """Return whether two outputs differ at most in space, in times and in sizes of memory.

    If the written one ends with "...", it is the beginning of the other.
    """
    shown = _without_measurements(written)
    found = _without_measurements(printed)
    if shown[-1:] == ["..."]:
        return found[: len(shown) - 1] == shown[:-1]
    return shown == found


def _without_measurements(text: str) -> list[str]:
    return MEASURED.sub("#", text).split()


def _run_python(source: str, variables: dict[str, Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(source, "<page>", "single"), variables)
    return printed.getvalue()


def run_command(command: str) -> str:
    """Return what a command prints.

    The program runs in this process, which is quicker, unless in a pipe.
    """
    words = shlex.split(command, comments=True)
    if words[0] != "cohirf" or "|" in words:
        python = shlex.quote(sys.executable)
        command = re.sub(r"(^|\| )cohirf ", rf"\1{python} -m cohirf ", command)
        command = re.sub(r"(^|\| )python ", rf"\1{python} ", command)
        # for scripts there
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
        options: Any = {"shell": True, "check": True, "capture_output": True, "env": env}
        run = subprocess.run(command, text=True, encoding="utf-8", **options)
        return run.stdout + run.stderr
    from cohirf.app.cli import main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        main(words[1:])
    return printed.getvalue()


def main(argv: list[str] | None = None) -> None:
    """Write the output of commands and examples into pages."""
    for name in sys.argv[1:] if argv is None else argv:
        path = Path(name).resolve()
        text = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            path.write_text(run_page(text), encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "100")
    main()
