"""All chapters have one form: goals, figures, exercises, summary, quiz."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from myst_nb.core.read import read_myst_markdown_notebook
from nbformat import NotebookNode

from autograder.book import chapter_names, chapters_folder
from autograder.exercise import load_topic
from autograder.release.quiz import Question, read_quiz

END = [
    "Summary",
    "Quiz",
    "What we still cannot do",
]


def source(name: str) -> str:
    return (chapters_folder() / f"{name}.md").read_text(encoding="utf-8")


@cache
def cells(name: str) -> list[NotebookNode]:
    return read_myst_markdown_notebook(source(name)).cells


def prose(name: str) -> str:
    """The chapter without its code cells."""
    texts = (cell.source for cell in cells(name) if cell.cell_type == "markdown")
    return "\n\n".join(texts)


def section(name: str, heading: str) -> str:
    """The text of a section, without its heading, up to the next one of its level."""
    found = re.search(
        rf"^## {heading}\n(.*?)(?=^## |\Z)", prose(name), re.MULTILINE | re.DOTALL
    )
    assert found, heading
    return found[1]


def items(text: str) -> int:
    return len(re.findall(r"^[*-] ", text, re.MULTILINE))


def quiz(name: str) -> list[Question]:
    (body,) = re.findall(r"^````\{quiz\}\n(.*?)^````$", source(name), re.M | re.S)
    return read_quiz(body.splitlines())


@pytest.fixture(params=chapter_names())
def name(request: pytest.FixtureRequest) -> str:
    """Each chapter in turn."""
    return request.param


def test_a_chapter_begins_with_what_it_is_good_for(name):
    opening = prose(name).split("\n## ")[0]
    _, _, goals = " ".join(opening.split()).partition("you can * ")
    assert goals, "no goals before the first heading"
    assert 2 <= goals.count("* ") <= 7


def test_a_chapter_has_a_figure_and_every_figure_says_what_it_shows(name):
    figures = [
        cell for cell in cells(name) if "figure" in cell.metadata.get("mystnb", {})
    ]
    assert figures
    for cell in figures:
        mystnb = cell.metadata["mystnb"]
        assert len(mystnb["figure"]["caption"].split()) >= 5
        described = (
            mystnb.get("image", {}).get("alt") or "interactive.show(" in cell.source
        )
        assert described, mystnb["figure"]["name"]


def test_every_exercise_says_how_hard_it_is_and_how_long_it_takes(name):
    tasks = re.findall(
        r"^````\{exercise\} .+\n:label: exercise-(\w+)\n\n(.+)$", source(name), re.M
    )
    assert {exercise for exercise, _ in tasks} == set(load_topic(name).exercises)
    for exercise, first_line in tasks:
        assert re.match(r"(★★★|★★☆|★☆☆) · \d+ minutes\. \S", first_line), exercise


# What stands before a task: its effort, and what kind of work it asks for.
LEAD = re.compile(
    r"[★☆]+ · \d+ minutes?\.\s+(\*\*[^*]+(\.\*\*|\*\*, then design\.)\s+)?"
)
END_OF_SENTENCE = re.compile(r"[.?!][)*]*(?=\s|$)|:$")


def test_a_task_begins_with_a_paragraph_of_at_most_two_sentences(name):
    """A card shows this paragraph, and folds what else is promised."""
    for task in re.findall(
        r"^:label: exercise-\w+\n\n?(.+?)\n(?:\n|`{3})", prose(name), re.M | re.S
    ):
        said = re.sub(r"`[^`]*`|\$[^$]*\$", "x", LEAD.sub("", task))
        assert 1 <= len(END_OF_SENTENCE.findall(said)) <= 2, task


def test_a_chapter_ends_with_summary_quiz_and_what_is_missing(name):
    headings = re.findall(r"^## (.+)$", prose(name), re.MULTILINE)
    assert headings[-len(END) :] == END
    assert 3 <= items(section(name, "Summary")) <= 7
    assert "{doc}`" in section(name, END[-1])  # it leads on


def test_a_quiz_has_three_to_five_questions_and_explains_each_option(name):
    questions = quiz(name)
    assert 3 <= len(questions) <= 5
    for question in questions:
        explanations = [option.explanation for option in question.options]
        assert len(set(explanations)) == len(explanations)


def test_neither_place_nor_length_gives_the_answer_away():
    places, longest, questions = Counter(), 0, 0
    for name in chapter_names():
        for question in quiz(name):
            by_length = sorted(question.options, key=lambda option: len(option.text))
            places[[option.right for option in question.options].index(True)] += 1
            longest += by_length[-1].right
            questions += 1
    assert max(places.values()) < questions / 2
    assert longest < questions / 2


def seeds_compared(code: str) -> Iterator[int]:
    """How many seeds each loop over seeds takes, where the code says so."""
    tree = ast.parse(code)
    named = {
        ast.unparse(node.targets[0]): node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.For | ast.comprehension):
            continue
        taken = named.get(ast.unparse(node.iter), node.iter)
        if ast.unparse(node.target) != "seed":
            continue
        if isinstance(taken, ast.Tuple):
            yield len(taken.elts)
        elif found := re.fullmatch(r"range\((\d+)\)", ast.unparse(taken)):
            yield int(found[1])


def test_a_comparison_of_models_has_at_least_three_seeds(name):
    code = "\n".join(c.source for c in cells(name) if c.cell_type == "code")
    seeds = list(seeds_compared(code))
    assert all(number >= 3 for number in seeds)
    assert seeds or "@kept" not in code


def test_loops_over_seeds_are_found_however_they_are_written():
    code = "SEEDS = (4, 5)\nfor seed in SEEDS: 1\n[seed for seed in range(3)]"
    assert list(seeds_compared(code)) == [2, 3]
