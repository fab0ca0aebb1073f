"""Run the program: exceptions become a one-line message and an exit code."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from cohirf.cli import BAD_INPUT, STOPPED, TERMINATED
from cohirf.cli.app import app
from cohirf.cli.errors import Interrupted, Terminated, one_line
from cohirf.cli.explain import explain
from cohirf.cli.invocation import remember

# errors caused by input; all others are bugs
BAD = (ValueError, TypeError, OSError, ImportError, MemoryError, NotImplementedError)


def run(arguments: Sequence[str]) -> int:
    """Run the program with the given arguments and return its exit code."""
    remember(arguments)
    signals: list[int] = []
    try:
        with _stopping_on_sigterm(signals):
            code = typer.main.get_command(app).main(args=list(arguments), prog_name="cohirf", standalone_mode=False)
    except Interrupted as stop:
        return _end(str(stop), TERMINATED if signals else STOPPED)
    except BAD as error:
        return _end(explain(error), BAD_INPUT)
    except Exception as error:
        if not hasattr(error, "format_message"):  # not an error of typer about the command line
            raise
        if error.format_message().startswith("Usage:"):  # a command without arguments: this is its help
            return _end(error.format_message(), BAD_INPUT, name="")
        message = one_line(error.format_message()).rstrip(".")
        path = getattr(getattr(error, "ctx", None), "command_path", "cohirf")
        return _end(f"{message}. Try {path} --help.", BAD_INPUT)
    return code if isinstance(code, int) else 0


@contextmanager
def _stopping_on_sigterm(signals: list[int]) -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does, so that its processes and temporary files go; note that it came."""

    def stop(number: int, frame: object) -> None:
        signals.append(number)
        raise Terminated

    if threading.current_thread() is not threading.main_thread():  # only there, handlers can be set
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(message: str, code: int, name: str = "cohirf: ") -> int:
    print(f"{name}{message}", file=sys.stderr, flush=True)  # noqa: T201 - prints the error
    return code
