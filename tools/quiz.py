"""Sphinx extension: questions that are answered in the page.

An option is a ``details`` element: choosing it unfolds what there is to say about it.
So a quiz works from a file, by keyboard, with a screen reader and without any script;
``chapters/_static/quiz.js`` makes the first choice count. On paper nothing unfolds;
there the answers stand below the questions. ``autograder.release.quiz`` says how a
``{quiz}`` is written.
"""

from __future__ import annotations

from string import ascii_uppercase
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from autograder.release.quiz import BrokenQuiz, Question, read_quiz
from tools.marked_pages import load_where

MARK = 'class="quiz '


class Choice(nodes.General, nodes.Element):
    """An option and its explanation; ``right`` says which."""


class ChoiceTitle(nodes.General, nodes.TextElement):
    """What is always seen of an option."""


class ChoiceExplanation(nodes.General, nodes.Element):
    """What is seen of an option once it is chosen."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(Choice, html=(_open_choice, _close("</details>\n")), latex=_KEEP)
    app.add_node(
        ChoiceTitle, html=(_open_title, _close("</summary>\n")), latex=_NEW_LINE
    )
    app.add_node(
        ChoiceExplanation,
        html=(_open_explanation, _close("</div>\n")),
        latex=(_skip, None),
    )
    app.setup_extension("tools.kept_work")
    app.add_directive("quiz", Quiz)
    load_where(app, MARK, "quiz.css", "quiz.js")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Quiz(SphinxDirective):
    """``{quiz}``: numbered questions, each with options to choose from."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """The questions, and the answers for readers on paper."""
        try:
            questions = read_quiz(self.content)
        except BrokenQuiz as error:
            raise self.error(f"quiz: {error}") from error
        asked = nodes.enumerated_list(classes=["quiz", "quiz-questions"])
        answers = nodes.enumerated_list()
        for question in questions:
            asked += nodes.list_item("", *self.question(question))
            answers += nodes.list_item("", *self.answer(question))
        on_paper = nodes.container(classes=["quiz", "quiz-answers"])
        on_paper += nodes.paragraph("", "", nodes.strong("", "Answers"))
        on_paper += answers
        return [asked, on_paper]

    def question(self, question: Question) -> list[nodes.Node]:
        """The text of a question and its options."""
        found = self.parse(question.text)
        for letter, option in zip(ascii_uppercase, question.options, strict=False):
            title = ChoiceTitle("", "", nodes.inline("", f"{letter}. "))
            title += self.words(option.text)
            verdict = "Right." if option.right else "No."
            explanation = ChoiceExplanation("", *self.parse(option.explanation))
            _begin_with(explanation, verdict)
            found.append(Choice("", title, explanation, right=option.right))
        return found

    def answer(self, question: Question) -> list[nodes.Node]:
        """The right letter, and what there is to say about every option."""
        found = []
        for letter, option in zip(ascii_uppercase, question.options, strict=False):
            about = nodes.container("", *self.parse(option.explanation))
            _begin_with(
                about, f"{letter} is right." if option.right else f"Not {letter}."
            )
            found += about.children
        return found

    def parse(self, text: str) -> list[nodes.Node]:
        """Nodes for some paragraphs of markdown."""
        container = nodes.container()
        source, _ = self.get_source_info()
        lines = StringList(text.splitlines(), source)
        self.state.nested_parse(lines, self.content_offset, container)
        return container.children

    def words(self, text: str) -> list[nodes.Node]:
        """Nodes for a piece of one line of markdown."""
        (paragraph,) = self.parse(text)
        return paragraph.children


def _begin_with(element: nodes.Element, words: str) -> None:
    """Put bold words in front of the first paragraph."""
    if not isinstance(element[0], nodes.paragraph):
        element.insert(0, nodes.paragraph())
    element[0].insert(0, nodes.Text(" "))
    element[0].insert(0, nodes.strong("", words))


def _open_choice(writer: Any, node: Choice) -> None:
    kind = "right" if node["right"] else "wrong"
    writer.body.append(f'<details class="quiz-option quiz-{kind}">')


def _open_title(writer: Any, node: ChoiceTitle) -> None:
    writer.body.append("<summary>")


def _open_explanation(writer: Any, node: ChoiceExplanation) -> None:
    writer.body.append('<div class="quiz-explanation">')


def _close(tag: str) -> Any:
    def close(writer: Any, node: nodes.Node) -> None:
        writer.body.append(tag)

    return close


def _nothing(writer: Any, node: nodes.Node) -> None:
    """LaTeX shows what is inside and adds nothing."""


def _begin_line(writer: Any, node: nodes.Node) -> None:
    writer.body.append("\n\\par ")


def _skip(writer: Any, node: nodes.Node) -> None:
    raise nodes.SkipNode


_KEEP = (_nothing, _nothing)
_NEW_LINE = (_begin_line, _nothing)
