"""What takes long to read must not keep the grader from the rest of a class.

Each shape is read by everything that looks at a source before and after it runs, and
parsed, as for a class report. What took the square of a length, or more, was found
among them: f-strings of many parts, which Python before 3.12 itself reads so.
"""

from __future__ import annotations

import ast
from random import Random

import pytest
from nbformat import NotebookNode

from autograder import parsing
from autograder.extras.oral import edits
from autograder.grading.kept import kept_notebook
from autograder.magics import parsed
from autograder.parsing import UNREADABLE, parse
from autograder.submissions.cells import as_handed_in
from autograder.submissions.completed import answers_by_hand, completed
from autograder.submissions.titles import other_chapter
from autograder.submissions.written import written_in
from classroom.submissions import submission
from tests.autograder.conftest import TOPIC, code_cell
from tests.work import work

# What stands first, again and again, and last.
SHAPES = {
    "brackets": ("x = ", "(", ""),
    "brackets that close": ("x = [", "(1), ", "]"),
    "signs": ("x = ", "-", "1"),
    "nots": ("x = ", "not ", "1"),
    "attributes": ("x = a", ".b", ""),
    "calls": ("x = f", "()", ""),
    "calls of methods": ("x = f", ".a()", ""),
    "arguments": ("x = f(", "a, ", ")"),
    "keywords": ("x = f(", "**a, ", ")"),
    "subscripts": ("x = a", "[0]", ""),
    "sums": ("x = 1", " + 1", ""),
    "powers": ("x = 1", " ** 1", ""),
    "comparisons": ("x = 1", " < 1", ""),
    "and": ("x = 1", " and 1", ""),
    "lambdas": ("x = ", "lambda: ", "1"),
    "conditions": ("x = ", "1 if 1 else ", "1"),
    "branches": ("if 1: pass\n", "elif 1: pass\n", ""),
    "matches": ("", "match x:\n case 1: pass\n", ""),
    "patterns": ("match x:\n case ", "1 | ", "1: pass\n"),
    "comprehensions": ("x = [1 ", "for a in b ", "]"),
    "awaits": ("x = ", "await ", "1"),
    "decorators": ("", "@a\n", "def f(): pass"),
    "functions": ("", "def f(): return f()\n", ""),
    "answers": ("", "def softmax(x): return x\n", ""),
    "classes of that name": ("", "class softmax: pass\n", ""),
    "uses": ("", "softmax\n", ""),
    "statements": ("", "a = 1\n", ""),
    "semicolons": ("", "a = 1;", ""),
    "targets": ("", "a = ", "1"),
    "deleted": ("", "del a;", ""),
    "walrus": ("(", "(a := ", "1"),
    "imports": ("", "import not_here\n", ""),
    "imports of many": ("import a", ", not_here", ""),
    "a long import": ("import a", ".b", ""),
    "imports and uses": ("import not_here; ", "v = not_here.a; ", ""),
    "uses over lines": ("import not_here\n", "v = not_here.a\n", ""),
    "everything imported": ("", "from torch import *\n", ""),
    "names as text": ("globals()[", "'a', ", "]"),
    "texts": ("globals(); ", "'a'; ", ""),
    "texts side by side": ("x = ", "'a'", ""),
    "parts": ("x = f'", "{1}", "'"),
    "parts with names": ('x = f"', "{a!r:>{b}} ", '"'),
    "parts on lines": ("x = f'''", "{1}\n", "'''"),
    "raw parts": ("x = rf'", "{1}", "'"),
    "large letters": ("x = Fr'", "{1}", "'"),
    "parts behind a comment": ("# it's\nx = f'", "{1}", "'"),
    "parts behind a text": ("'''it's\n''' 'a' \"'\"\nx = f'", "{1}", "'"),
    "parts behind an escape": ("'\\'' '\\\\'\nx = f'", "{1}", "'"),
    "f-strings": ("", "f'{1}'\n", ""),
    "f-strings side by side": ("x = ", "f'{1}'", ""),
    "f-strings in each other": ("x = ", "f'{", "1"),
    "braces": ("x = f'", "{{", "'"),
    "dictionaries": ("x = [", "{1: 2}, ", "]"),
    "half a text": ("x = ", "'", ""),
    "three quotes": ("", "\"\"\"'''", ""),
    "texts that are not closed": ("", "'\n", ""),
    "backslashes": ("x = ", "\\\n", "1"),
    "escapes": ("x = '", "\\x41", "'"),
    "names of letters": ("x = '", "\\N{SPACE}", "'"),
    "digits": ("x = ", "9", ""),
    "hexadecimal": ("x = 0x", "f", ""),
    "underscores": ("x = 1", "_1", ""),
    "comments": ("", "#\n", ""),
    "a comment": ("", "#", ""),
    "magics": ("", "%x\n", ""),
    "timed": ("%timeit ", "%timeit ", "x"),
    "timed lines": ("", "%timeit -n 1 x\n", ""),
    "options": ("%timeit", " -n 1", ""),
    "magic values": ("", "a = %x\n", ""),
    "magic targets": ("", "a, ", "= %x"),
    "shell": ("", "!git config user.name ", ""),
    "questions": ("", "a?\n", ""),
    "help": ("", "?", ""),
    "prompts": ("", ">>> ", ""),
    "numbered prompts": ("", "In [1]: ", ""),
    "cell magics": ("%%", "a", ""),
    "equals": ("", "=", ""),
    "equals and blanks": ("a =", " ", ""),
    "stars": ("", "*", ""),
    "dots": ("", "...", ""),
    "words": ("", "word ", ""),
    "a word": ("", "a", ""),
    "blanks": ("", " ", ""),
    "wide blanks": ("", "\u3000", ""),
    "tabs": ("", "\t", ""),
    "lines": ("", "\n", ""),
    "returns": ("", "a = 1\r", ""),
    "pages": ("", "\f\n", ""),
    "other lines": ("", "a = 1\u2028", ""),
    "marks of order": ("", "\ufeff", ""),
    "zeros": ("", "\0", ""),
    "accents": ("a", "\u0301", " = 1"),
    "rare letters": ("", "\U00020000 = ", "1"),
    "from the right": ("", "\u202e", ""),
    "addresses": ("", "a@b.c ", ""),
    "half addresses": ("", "a.", "@b"),
    "links": ("", "http://", ""),
    "homes": ("", "/home/", ""),
    "drives": ("", "C:\\Users\\", ""),
    "dates": ("", "2024-01-01 ", ""),
    "tildes": ("", "~", ""),
}
NAMES = ("softmax", "attend")


def text_of(shape: str, length: int) -> str:
    """A source of a shape that is this long."""
    first, again, last = SHAPES[shape]
    return first + again * ((length - len(first) - len(last)) // len(again)) + last


@pytest.fixture(scope="module")
def read(master):
    """Reads notebooks in all ways in which a grader does; how much work that was."""

    def read(text: str) -> int:
        answers = f"{text}\ndef softmax(scores): return attend(a, x, v)"
        data = submission(master, {"softmax": answers})
        data["cells"].append(code_cell(f"def a(x):\n  return x\n{text}"))

        def go() -> None:
            known = written_in(data)
            other_chapter(known, TOPIC)
            handed_in = as_handed_in(master, known, NAMES)
            handed_in.defined_again("softmax")
            runs = [NotebookNode(outputs=[]) for _ in handed_in.cells]
            cells = completed(handed_in, runs)
            answers_by_hand(cells, NAMES)
            kept_notebook(master, cells, [])
            parsed(text)
            next(edits(answers, "softmax", Random(0)), None)

        return work(go)

    read("x = 1")  # what is read once only
    return read


@pytest.mark.parametrize("shape", SHAPES)
def test_work_of_reading_grows_as_the_length_does(read, shape):
    """Four times the text is four times the work; the square would be 16 times.

    What is nested too deeply is read in another way, which is twice the work.
    """
    nothing = read("")
    small, large = (read(text_of(shape, length)) - nothing for length in (1500, 6000))
    assert large < 12 * max(small, nothing / 3)


LEXED = [
    *("x = f'{a}'", 'x = F"""{a}\n"""', "x = rf'{a}' f'{b}'", "f'{{}}'"),
    *("# f'{a}\nx = 1", "x = 'it' 's' '''a'b''c'''", "x = '\\'' \"'\"", "a = b''"),
]


@pytest.mark.parametrize("source", LEXED)
def test_few_parts_are_read_as_python_reads_them(source):
    filler = "\n" + "y = {1: {2}}\n" * 700  # so that texts are looked at
    assert ast.dump(parse(source + filler)) == ast.dump(ast.parse(source + filler))


@pytest.mark.parametrize("shape", [name for name in SHAPES if "parts" in name])
def test_an_f_string_of_very_many_parts_is_not_read_where_that_takes_the_square(
    monkeypatch, shape
):
    monkeypatch.setattr(parsing, "_TAKES_THE_SQUARE", True)
    assert parse(text_of(shape, 3000)).body
    with pytest.raises(UNREADABLE, match="f-string has"):
        parse(text_of(shape, 30_000))
    first, again, last = SHAPES[shape]
    assert parse(f"{first}{'{{}}' * 3000}{last}").body  # braces that are no parts
