"""Run the program: exceptions become a one-line message and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from cohirf.cli import BAD_INPUT, STOPPED
from cohirf.cli.app import app
from cohirf.cli.errors import Interrupted, one_line
from cohirf.cli.explain import explain
from cohirf.cli.invocation import remember

# errors caused by input; all others are bugs
BAD = (ValueError, TypeError, OSError, ImportError, MemoryError, NotImplementedError)


def run(arguments: Sequence[str]) -> int:
    """Run the program with the given arguments and return its exit code."""
    remember(arguments)
    try:
        code = typer.main.get_command(app).main(args=list(arguments), prog_name="cohirf", standalone_mode=False)
    except Interrupted as stop:
        return _end(str(stop), STOPPED)
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


def _end(message: str, code: int, name: str = "cohirf: ") -> int:
    print(f"{name}{message}", file=sys.stderr, flush=True)  # noqa: T201 - prints the error
    return code
