"""The command-line program ``cohirf``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cohirf.optional import import_optional

BAD_INPUT, STOPPED, TERMINATED = 2, 130, 143


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program ``cohirf`` and return its exit code: 0, 2 for bad input, 130 after Ctrl-C, 143 after SIGTERM."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        import_optional("typer", "cli", "The program cohirf")
    except ImportError as error:
        print(f"cohirf: {error}", file=sys.stderr)  # noqa: T201 - the only way to report it
        return BAD_INPUT
    from cohirf.cli.run import run

    return run(given)
