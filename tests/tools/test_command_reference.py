"""The page of commands says what the commands say themselves, and follows the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from docutils import nodes
from sphinx.application import Sphinx

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


def help_of(*command: str) -> str:
    """What a command prints when it is asked for its help."""
    done = subprocess.run(
        [sys.executable, "-m", "autograder", *command, "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "1000"},
    )
    return done.stdout


def test_each_command_stands_there_with_its_purpose_and_all_its_options(app: Sphinx):
    listed = re.findall(r"^    (\S+)\n? +(.+)$", help_of(), re.M)
    sections = {
        section.next_node(nodes.title).astext(): section
        for section in app.env.get_doctree("index").findall(nodes.section)
        if section.next_node(nodes.title).astext() != "Commands"
    }
    assert list(sections) == [f"autograder {name}" for name, _ in listed]
    for name, purpose in listed:
        section = sections[f"autograder {name}"]
        about = section.next_node(nodes.paragraph).astext()
        assert about.casefold() == f"{purpose}.".casefold()
        printed = help_of(name)
        usage = section.next_node(nodes.literal_block).astext()
        options = set(re.findall(r"--[\w-]+", printed)) - {"--help"}
        assert set(re.findall(r"--[\w-]+", usage)) == options
        for item in section.findall(nodes.definition_list_item):
            called, said = (child.astext() for child in item.children)
            assert re.search(rf"{re.escape(called)}\s+{re.escape(said)}", printed)
        explained = re.findall(r"^  (\S.*?)(?:  +|\n {4,})\S", printed, re.M)
        terms = [term.astext() for term in section.findall(nodes.term)]
        assert terms == [each for each in explained if not each.startswith("-h,")]


def test_the_page_is_read_again_when_a_command_changes(app: Sphinx):
    (page,) = app.env.dependencies.values()
    read = {Path(app.srcdir, file).resolve() for file in page}
    commands = ROOT / "autograder" / "commands"
    assert {*commands.glob("*.py"), ROOT / "autograder" / "__main__.py"} <= read
