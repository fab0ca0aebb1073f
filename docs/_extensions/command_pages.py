"""The directive ``commands``: a section for each command of the program, made from the program
itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

from cohirf.app.cli.app import app as program

ARGUMENTS = "Arguments"
OPTIONS = "Options"  # of a parameter that the program puts under no heading


def write_commands() -> str:
    """Return reStructuredText on all commands, with those of groups below the commands of the
    program.
    """
    return "\n".join(
        line for path, command in _find_commands() for line in _write_command(path, command)
    )


def _find_commands() -> Iterator[tuple[str, Any]]:
    pending = list(typer.main.get_command(program).commands.items())
    while pending:
        path, command = pending.pop(0)
        members = getattr(command, "commands", None)
        if members is None:
            yield path, command
        else:
            pending += [(f"{path} {name}", member) for name, member in members.items()]


def _write_command(path: str, command: Any) -> Iterator[str]:
    title = f"cohirf {path}"
    yield from (title, "-" * len(title), "", _escape(command.help), "")
    examples = [
        line for line in str(command.epilog or "").split("\n\n") if line.startswith("cohirf ")
    ]
    if examples:
        yield from (".. code-block:: console", "", *(f"   $ {line}" for line in examples), "")
    for heading, parameters in _group(command.params).items():
        yield from (f".. list-table:: {heading}", "   :widths: 35 65", "")
        for parameter in parameters:
            yield f"   * - {_name(parameter)}"
            yield f"     - {_describe(parameter)}"
        yield ""


def _group(parameters: list[Any]) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for parameter in parameters:
        is_argument = parameter.param_type_name == "argument"
        heading = (
            ARGUMENTS if is_argument else getattr(parameter, "rich_help_panel", None) or OPTIONS
        )
        if "--help" not in parameter.opts:
            groups.setdefault(heading, []).append(parameter)
    return groups


def _name(parameter: Any) -> str:
    """Return an argument, or the flags of an option and the placeholder of its value."""
    placeholder = parameter.metavar or ""
    if parameter.param_type_name == "argument":
        return f"``{placeholder or parameter.name.upper()}``"
    flags = "/".join([*parameter.opts, *parameter.secondary_opts])
    return f"``{flags}``" + (f" {_escape(placeholder)}" if placeholder else "")


def _describe(parameter: Any) -> str:
    text = _escape(parameter.help.replace(r"\[", "["))
    is_option = parameter.param_type_name == "option"
    return f"{text} **Required.**" if is_option and parameter.required else text


def _escape(text: str) -> str:
    """Return text whose characters have no meaning in reStructuredText.

    The bars of choices may end a line.
    """
    for character in "\\*`|_":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split()).replace("\\|", " \\| ")


class Commands(Directive):
    """The directive."""

    def run(self) -> list[nodes.Node]:
        """Return the sections of all commands."""
        lines = StringList(write_commands().splitlines(), source="cohirf.app.cli.app")
        parent = nodes.Element()
        self.state.nested_parse(lines, self.content_offset, parent, match_titles=1)
        return parent.children


def setup(app: Any) -> dict[str, bool]:
    """Register the directive with Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
