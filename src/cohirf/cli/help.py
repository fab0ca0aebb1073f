"""Help of commands: plain text for terminals of any width, with the common options first.

A command with many options has two helps: ``--help`` lists its common options, each with one sentence, and
``--help-all`` lists all options by topic.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

WIDEST, NARROWEST = 100, 40
STACKED = 70  # in narrower terminals, the text of an option is below its name
FIRST_COLUMN = 30
OPTIONS, COMMON = "Options", "Common options"
ALL = "cohirf.cli.help.all"  # whether all options were asked for, in the context of a command
DEFAULT = re.compile(r" \[default: .*\]$")


def _show_all(context: typer.Context, asked: bool) -> None:
    if asked:
        context.meta[ALL] = True
        typer.echo(context.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option("--help-all", help="Show all options.", is_eager=True, callback=_show_all, show_default=False),
]


class PlainGroup(TyperGroup):
    """A group of commands with plain help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(_join(write_help(self, ctx)))


class PlainCommand(TyperCommand):
    """A command with plain help. If it has ``common`` options, its help lists only these."""

    common: ClassVar[tuple[str, ...]] = ()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(_join(write_help(self, ctx)))


def with_common(*flags: str) -> type[PlainCommand]:
    """Return a class of commands whose help lists the given options first."""
    return type("PlainCommand", (PlainCommand,), {"common": flags})


def write_help(command: Any, context: Any) -> Iterator[str]:
    """Yield the lines of the help of a command."""
    width = max(NARROWEST, min(shutil.get_terminal_size().columns, WIDEST))
    arguments = [param for param in command.get_params(context) if param.param_type_name == "argument"]
    words = [context.command_path, "[OPTIONS]", *(str(argument.metavar) for argument in arguments)]
    words += ["COMMAND"] if hasattr(command, "commands") else []
    yield from _wrap(f"Usage: {' '.join(words)}", width, later="       ")
    yield ""
    yield from _wrap(str(command.help or ""), width)
    yield from _section("", [(str(argument.metavar), _text(argument)) for argument in arguments], width)
    for title, entries in _sections(command, context):
        yield from _section(title, entries, width)
    if command.epilog:
        yield ""
        yield _bold("Examples:")
        for example in command.epilog.splitlines():
            yield from _wrap_command(example, width)


def _sections(command: Any, context: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the title of each section, and the name and text of each of its entries."""
    if hasattr(command, "commands"):
        commands = [(name, str(sub.help or "")) for name, sub in command.commands.items() if not sub.hidden]
        yield "Commands", commands
    options = [
        param
        for param in command.get_params(context)
        if param.param_type_name == "option" and not param.hidden and param.opts[0] != "--help-all"
    ]
    common = getattr(command, "common", ())
    by_flag = {param.opts[0]: param for param in options}
    chosen = [by_flag[flag] for flag in common]
    shows_all = bool(context.meta.get(ALL)) or not common
    others: dict[str, list[Any]] = {}
    for param in options:
        if param not in chosen:
            others.setdefault(getattr(param, "rich_help_panel", None) or OPTIONS, []).append(param)
    plain = [(_flags(param), _text(param)) for param in others.pop(OPTIONS, [])]
    if common:
        yield COMMON, [(_flags(param), _text(param, short=not shows_all)) for param in chosen]
    else:
        yield OPTIONS, plain
    if shows_all:
        for title, params in others.items():
            yield title, [(_flags(param), _text(param)) for param in params]
    if common:
        more = [] if shows_all else [("--help-all", f"Show all {len(options)} options, with more on each.")]
        yield "Help", [*plain, *more]


def _section(title: str, entries: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    if not entries:
        return
    yield ""
    if title:
        yield _bold(f"{title}:")
    first = min(FIRST_COLUMN, max(len(name) for name, _ in entries) + 4)
    for name, text in entries:
        if width < STACKED or len(name) + 4 > first:
            yield f"  {name}"
            yield from _wrap(text, width, " " * (6 if width < STACKED else first))
        else:
            lines = _wrap(text, width, " " * first)
            head = f"  {name}"
            yield f"{head:{first}}{next(lines, '').strip()}".rstrip()
            yield from lines


def _flags(param: Any) -> str:
    names = (
        "/".join([*param.opts[:1], *param.secondary_opts])
        if param.secondary_opts
        else ", ".join(sorted(param.opts, key=len))
    )
    return f"{names} {param.metavar}" if param.metavar else names


def _text(param: Any, *, short: bool = False) -> str:
    """Return the text of an option; with ``short``, its first sentence and its default."""
    text = str(param.help or "")
    if not short:
        return text
    default = DEFAULT.search(text)
    sentence = re.split(r"(?<=\.) (?=[A-Z\"])", DEFAULT.sub("", text))[0]
    return sentence + (default[0] if default else "")


def _wrap(text: str, width: int, indent: str = "", later: str | None = None) -> Iterator[str]:
    yield from textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent if later is None else later,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _wrap_command(text: str, width: int) -> Iterator[str]:
    """Yield a command that can be copied: its lines end in backslashes, except the last."""
    *lines, last = _wrap(text, width - 2, "  ", "      ")
    yield from (f"{line} \\" for line in lines)
    yield last


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() else text


def _join(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"
