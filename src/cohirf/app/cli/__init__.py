"""The command-line program ``cohirf``: exceptions become a one-line message and an exit code."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cohirf.app.cli.errors import (
    INPUT_ERRORS,
    ExitCode,
    Interrupted,
    Terminated,
    arguments_of_run,
    as_option,
    explain,
    one_line,
)
from cohirf.optional import import_optional
from cohirf.wording import writing_settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program ``cohirf`` and return its exit code.

    0, 2 for bad input, 3 if ``cohirf drift`` finds that rows have drifted, 130 after Ctrl-C, 143
    after SIGTERM.
    """
    arguments_of_run.set(tuple(sys.argv[1:] if arguments is None else arguments))
    try:
        typer = import_optional("typer", "cli", "The program cohirf")
    except ImportError as error:
        return _end(str(error), ExitCode.BAD_INPUT)
    signals: list[int] = []
    try:
        from cohirf.app.cli.app import app

        with _stopping_on_sigterm(signals), writing_settings(as_option):
            program = typer.main.get_command(app)
            code = program.main(
                args=list(arguments_of_run.get()), prog_name="cohirf", standalone_mode=False
            )
    except Interrupted as stop:
        return _end(str(stop), ExitCode.TERMINATED if signals else ExitCode.STOPPED)
    except INPUT_ERRORS as error:
        return _end(explain(error), ExitCode.BAD_INPUT)
    except Exception as error:
        if not hasattr(error, "format_message"):  # not an error of typer about the command line
            raise
        if not error.format_message():  # without a command there is help, which typer has printed
            return ExitCode.BAD_INPUT
        message = one_line(error.format_message()).rstrip(".")
        path = getattr(getattr(error, "ctx", None), "command_path", "cohirf")
        return _end(f"{message}. Try {path} --help.", ExitCode.BAD_INPUT)
    return code if isinstance(code, int) else 0


@contextmanager
def _stopping_on_sigterm(signals: list[int]) -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does, so that its processes and temporary files go.

    Note that it came.
    """

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


def _end(message: str, code: int) -> int:
    print(f"cohirf: {message}", file=sys.stderr, flush=True)  # noqa: T201 - prints the error
    return code
