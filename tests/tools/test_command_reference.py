"""The page of commands has all of them with their options, and follows the code."""

from __future__ import annotations

import argparse
import re
from io import StringIO
from pathlib import Path

import pytest
from docutils import nodes
from sphinx.application import Sphinx

from autograder.__main__ import make_parser
from tests.small_books import build_pages

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Sphinx:
    """The book's own page, built alone."""
    folder = tmp_path_factory.mktemp("commands")
    page = (ROOT / "chapters" / "teaching" / "commands.md").read_text(encoding="utf-8")
    with StringIO() as complaints:
        app = build_pages(
            folder,
            {"index.md": page},
            ["tools.command_reference"],
            builder="dummy",
            complaints=complaints,
        )
        assert complaints.getvalue() == ""
    return app


def test_each_command_stands_there_with_all_its_options(app: Sphinx):
    (group,) = make_parser()._subparsers._group_actions
    assert isinstance(group, argparse._SubParsersAction)
    sections = {
        section.next_node(nodes.title).astext(): section
        for section in app.env.get_doctree("index").findall(nodes.section)
    }
    sections.pop("Commands")
    assert list(sections) == [f"autograder {name}" for name in group.choices]
    for name, command in group.choices.items():
        section = sections[f"autograder {name}"]
        options = set(re.findall(r"--[\w-]+", command.format_help())) - {"--help"}
        usage = section.next_node(nodes.literal_block).astext()
        assert set(re.findall(r"--[\w-]+", usage)) == options
        terms = " ".join(term.astext() for term in section.findall(nodes.term))
        assert set(re.findall(r"--[\w-]+", terms)) <= options


def test_the_page_is_read_again_when_a_command_changes(app: Sphinx):
    (page,) = app.env.dependencies.values()
    read = {Path(app.srcdir, file).resolve() for file in page}
    commands = ROOT / "autograder" / "commands"
    assert {*commands.glob("*.py"), ROOT / "autograder" / "__main__.py"} <= read
