"""Sphinx extension: ``{command-reference}``, the commands as their parser has them.

A section for each command, in the order of ``autograder --help``: what it is for, its
usage, and what its options do. Extensions that do this for any program repeat two
headings and ``--help`` for each command, leave out what a command is for, or keep the
page when the code changes.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import autograder.commands
from autograder import __main__ as command_line

PROGRAM = "autograder"
WIDTH = 80  # characters of a usage


class Command(NamedTuple):
    """A command: its name, a line about it, its usage, its explained arguments."""

    name: str
    about: str
    usage: str
    arguments: list[tuple[str, str]]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("command-reference", CommandReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def commands() -> Iterator[Command]:
    """All commands, in the order in which the parser has them."""
    parser = command_line.make_parser()
    (group,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    for listed in group._get_subactions():
        name, command = listed.dest, group.choices[listed.dest]
        command.prog = f"{PROGRAM} {name}"
        command.formatter_class = partial(argparse.HelpFormatter, width=WIDTH)
        usage = command.format_usage().removeprefix("usage: ").replace("[-h] ", "")
        arguments = [
            (_called(action), action.help)
            for action in command._actions
            if action.help and not isinstance(action, argparse._HelpAction)
        ]
        yield Command(name, listed.help or "", _flush(usage), arguments)


def _called(action: argparse.Action) -> str:
    """How an argument is typed: ``--jobs N``, ``chapters``."""
    if not action.option_strings:
        return str(action.metavar or action.dest)
    values = "{" + ",".join(action.choices) + "}" if action.choices else action.metavar
    value = "" if action.nargs == 0 else f" {values or action.dest.upper()}"
    return ", ".join(f"{option}{value}" for option in action.option_strings)


def _flush(usage: str) -> str:
    """A usage whose further lines are indented by four."""
    return re.sub(r"\n +", "\n    ", usage.strip())


class CommandReference(SphinxDirective):
    """The sections of all commands."""

    def run(self) -> list[nodes.Node]:
        """Make the sections; the page follows the modules that they come from."""
        folder = Path(autograder.commands.__file__).parent
        for file in (Path(command_line.__file__), *sorted(folder.glob("*.py"))):
            self.env.note_dependency(str(file))
        return [self._section(command) for command in commands()]

    def _section(self, command: Command) -> nodes.section:
        title = f"{PROGRAM} {command.name}"
        section = nodes.section(names=[nodes.fully_normalize_name(title)])
        about = command.about[:1].upper() + command.about[1:]
        section += [
            nodes.title("", "", nodes.Text(title)),
            nodes.paragraph("", f"{about}."),
            nodes.literal_block(command.usage, command.usage, language="none"),
        ]
        if command.arguments:
            section += nodes.definition_list(
                "",
                *(
                    nodes.definition_list_item(
                        "",
                        nodes.term("", "", nodes.literal(called, called)),
                        nodes.definition("", nodes.paragraph("", about)),
                    )
                    for called, about in command.arguments
                ),
            )
        self.state.document.note_implicit_target(section, section)
        return section
