"""The commands of the program: each is a function, whose parameters and docstring say what the
command takes.

Their files are read as text. They are imported only when a command runs, so that help and
completion are fast.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

import cohirf
from cohirf.app.cli import options
from cohirf.app.cli.errors import Interrupted
from cohirf.app.cli.options import Command, make_command, read_function, read_section

COMMANDS = {  # and the files that they are in
    "fit": "fit",
    "tune": "tune",
    "predict": "new_rows",
    "update": "new_rows",
    "merge": "new_rows",
    "forget": "new_rows",
    "consensus": "voting",
    "curate": "curate",
    "drift": "new_rows",
    "cut": "hierarchy",
    "tree": "hierarchy",
    "report": "hierarchy",
    "info": "info",
}
PARTY_COMMANDS = {"join": "voting", "run": "voting"}  # below cohirf party
NAMES = {**vars(options), "Path": Path}  # in the signatures of commands
CONTEXT = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    help="Cluster the rows of a file with any clustering method, even if the file is too large "
    "for the method alone.",
    context_settings=CONTEXT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"cohirf {cohirf.__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None: ...


def _importing(module: str, name: str) -> Command:
    """Return a function that imports the one that does the work, and calls it."""

    def run(**given: Any) -> int | None:
        try:
            status: int | None = getattr(import_module(f"cohirf.app.cli.{module}"), name)(**given)
        except KeyboardInterrupt:
            raise Interrupted("Stopped.") from None
        return status

    return run


def _add(name: str, module: str, to: typer.Typer) -> None:
    function = read_function(f"app/cli/{module}.py", name, NAMES)
    examples = read_section(function.__doc__, "Examples").replace("\\\n", "")
    epilog = "\n\n".join(["Examples:", *examples.splitlines()])
    to.command(epilog=epilog, context_settings=CONTEXT)(
        make_command(function, _importing(module, name))
    )


for _name, _module in COMMANDS.items():
    _add(_name, _module, app)
party = typer.Typer(
    help="Cluster rows whose columns lie with several owners, who exchange labels and ranks only.",
    context_settings=CONTEXT,
    no_args_is_help=True,
)
app.add_typer(party, name="party")
for _name, _module in PARTY_COMMANDS.items():
    _add(_name, _module, party)
