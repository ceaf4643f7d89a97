"""Only what a student may write is taken from a submission."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import time

import nbformat
import pytest

from autograder import magics
from autograder.errors import GraderFault
from autograder.exercise import load_topic
from autograder.files import Unusable
from autograder.grading import worker
from autograder.notebooks import (
    MAX_FILE_BYTES,
    MAX_WRITTEN,
    METADATA_KEY,
    chapter_of,
    parse_notebook,
    read_notebook,
)
from autograder.sandbox.limits import Limits
from autograder.submissions import by_name, titles
from autograder.submissions.attempts import MAX_SOURCE, is_stub
from autograder.submissions.rebuild import MAX_ADDED, rebuild
from autograder.submissions.submitted import Submission, read
from autograder.submissions.titles import other_chapter
from autograder.submissions.written import written_in
from classroom.submissions import submission
from tests.autograder.conftest import TOPIC, code_cell


def sources(rebuilt, role=None):
    return [
        cell.source
        for cell in rebuilt.notebook.cells
        if role is None or cell.metadata.role == role
    ]


def find(data, grade_id):
    return next(
        cell
        for cell in data["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id
    )


def test_untouched_notebook_gives_back_the_master(master):
    rebuilt = rebuild(master, copy.deepcopy(master))
    assert sources(rebuilt) == [cell.source for cell in master.cells]
    assert rebuilt.notes == []
    assert rebuilt.missing == []


def test_added_cells_stay_where_the_text_before_them_stands_more_than_once(master):
    texts = [cell.source for cell in master.cells]
    twice = next(text for text in texts if texts.count(text) > 1)
    data = copy.deepcopy(master)
    place = texts.index(twice)
    data["cells"].insert(place + 1, code_cell("mine = 1"))
    rebuilt = sources(rebuild(master, data))
    assert rebuilt == [*texts[: place + 1], "mine = 1", *texts[place + 1 :]]


def test_answers_are_taken_by_grade_id(master, solved):
    data = solved(softmax="def softmax(scores): return 1")
    rebuilt = rebuild(master, data)
    assert rebuilt.answers["softmax"] == "def softmax(scores): return 1"


def test_changed_deleted_and_moved_locked_cells_change_nothing(master, solved):
    honest = rebuild(master, solved())
    data = solved()
    find(data, "check-softmax")["source"] = "7"
    find(data, "check-softmax")["metadata"]["nbgrader"]["points"] = 1000
    find(data, "check-attend")["metadata"]["tags"] = ["skip-execution"]
    data["cells"].remove(find(data, "setup-1"))
    data["cells"].reverse()
    data["metadata"]["kernelspec"] = {"name": "bash", "display_name": "x"}
    rebuilt = rebuild(master, data)
    assert sources(rebuilt) == sources(honest)
    assert rebuilt.notebook.metadata == master.metadata


def test_added_cell_stays_behind_the_cell_it_followed(master, solved):
    data = solved()
    place = data["cells"].index(find(data, "softmax"))
    data["cells"].insert(place + 1, code_cell("helper = 1"))
    rebuilt = rebuild(master, data)
    number = sources(rebuilt).index("helper = 1")
    assert rebuilt.notebook.cells[number].metadata.role == "student"
    assert rebuilt.notebook.cells[number - 1].metadata.exercise == "softmax"


def test_added_cell_cannot_pose_as_a_check(master, solved):
    data = solved()
    data["cells"].append(
        code_cell("100", grade=True, grade_id="more", points=100, locked=True)
    )
    rebuilt = rebuild(master, data)
    added = rebuilt.notebook.cells[-1]
    assert added.source == "100"
    assert added.metadata == {"role": "student"}


def test_copied_check_cell_is_dropped(master, solved):
    data = solved()
    data["cells"] += [copy.deepcopy(find(data, "check-softmax")) for _ in range(3)]
    assert sources(rebuild(master, data)) == sources(rebuild(master, solved()))


def test_exercise_retyped_as_markdown_still_counts(master, solved):
    data = solved()
    cell = find(data, "softmax")
    cell["cell_type"] = "markdown"
    rebuilt = rebuild(master, data)
    assert rebuilt.answers["softmax"] == cell["source"]


@pytest.mark.parametrize(
    "begun",
    [
        "def softmax(scores, axis=-1):\n    pass",
        "def softmax(scores):\n    ...",
        "def softmax(scores):\n    raise NotImplementedError('later')",
        "def softmax(scores):\n    return scores",  # a first try
        '"""\ndef softmax(scores):\n    return scores\n"""',
        "%%script false\ndef softmax(scores):\n    return scores",
    ],
)
@pytest.mark.parametrize("gone", [True, False])
def test_of_several_answers_the_last_above_the_check_counts(
    master, solved, begun, gone
):
    """As in the notebook, where the last definition is the one that is checked."""
    data = solved()
    own = find(data, "softmax")
    place, check = data["cells"].index(own), find(data, "check-softmax")
    above = [{**own, "source": begun}, nbformat.v4.new_markdown_cell("Again:")]
    data["cells"][place:place] = above
    data["cells"].append({**own, "source": "def softmax(scores): return 2"})
    if gone:
        data["cells"].remove(check)
        data["cells"].pop()
    assert rebuild(master, data).answers["softmax"] == own["source"]


def test_other_attempts_are_run_where_they_stand(master, solved):
    """Helpers may be in them, and in cells between."""
    data = solved()
    own, check = find(data, "softmax"), find(data, "check-softmax")
    place = data["cells"].index(own)
    first = "def shift(s): return s\ndef softmax(s): return s"
    above = [
        {**own, "source": first},
        code_cell("root = 2"),
        {**own, "source": "def softmax(s): ..."},
    ]
    data["cells"][place:place] = above
    below = {**own, "source": "def softmax(s): return shift(s)"}
    data["cells"].insert(data["cells"].index(check) + 1, below)
    rebuilt = rebuild(master, data)
    texts = sources(rebuilt)
    place = texts.index(own["source"])
    assert texts[place - 2 : place] == [first, "root = 2"]
    assert texts[texts.index(check["source"]) + 1] == below["source"]


def test_an_attempt_that_does_not_compile_is_none(master, solved):
    data = solved()
    own = find(data, "softmax")
    broken = {**own, "source": "def softmax(s):\n    e = s\nreturn e"}
    data["cells"].insert(data["cells"].index(own) + 1, broken)
    assert rebuild(master, data).answers["softmax"] == own["source"]


@pytest.mark.parametrize("stub", ["pass", "raise NotImplementedError('see below')"])
def test_a_stub_in_other_words_is_no_answer_where_another_cell_has_one(
    master, solved, stub
):
    data = solved()
    own = find(data, "softmax")
    answer, own["source"] = own["source"], f"def softmax(scores):\n    {stub}"
    data["cells"].insert(data["cells"].index(own) + 1, code_cell(answer))
    assert rebuild(master, data).answers["softmax"] == answer


def test_a_class_that_has_all_from_another_is_an_answer():
    stub = "class Own(nn.Module):\n    def f(self):\n        raise NotImplementedError"
    assert is_stub("class Own(nn.Module):\n    pass", stub)
    assert not is_stub("class Own(Mine):\n    pass", stub)
    assert not is_stub("class Own(Mine, nn.Module):\n    'As mine.'", stub)


def test_first_of_several_answers_below_the_check_counts(master, solved):
    data = copy.deepcopy(master)
    for text in ("a = 1", "a = 2"):
        cell = copy.deepcopy(find(data, "softmax"))
        cell["source"] = text
        data["cells"].append(cell)
    rebuilt = rebuild(master, data)
    assert rebuilt.answers["softmax"] == "a = 1"
    assert any("2 cells are for it" in note for note in rebuilt.notes)
    assert sources(rebuilt, "student") == ["a = 2"]  # it runs below, as in the notebook


def split(data, *pieces):
    """The exercise cell of softmax in pieces, each with its metadata."""
    cell = find(data, "softmax")
    place = data["cells"].index(cell)
    data["cells"][place : place + 1] = [{**cell, "source": text} for text in pieces]
    return data


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        (["import math", "def softmax(s):\n    return s"], "import math\n\ndef"),
        (["# below", "def softmax(s):\n    return s"], "# below\n\ndef"),
        (["", "def softmax(s):\n    return s"], "\n\ndef softmax"),
    ],
)
def test_an_exercise_cell_that_was_split_counts_as_a_whole(
    master, solved, pieces, whole
):
    rebuilt = rebuild(master, split(solved(), *pieces))
    assert rebuilt.answers["softmax"].startswith(whole)
    assert rebuilt.answers["softmax"].endswith(pieces[-1])
    assert any("they count as one" in note for note in rebuilt.notes)


def test_the_name_of_a_split_answer_may_be_given_to_what_stands_above(master, solved):
    pieces = ["def _softmax(s): return s", "softmax = _softmax"]
    rebuilt = rebuild(master, split(solved(), *pieces))
    assert rebuilt.answers["softmax"] == "\n\n".join(pieces)


def test_pieces_that_are_the_stub_or_no_python_are_not_joined(master, solved):
    stub, right = find(master, "softmax")["source"], "def softmax(s): return 1"
    for pieces in (
        *([right, stub], [stub, right], [right, "def softmax(s) return"]),
        ["def softmax(s): return 2", right],  # two answers, of which the last is run
    ):
        rebuilt = rebuild(master, split(solved(), *pieces))
        assert rebuilt.answers["softmax"] == right


@pytest.mark.parametrize(
    ("above", "answer", "below"),
    [
        (["import math"], "%%time\ndef softmax(s):\n    return s", []),
        (["%%time\nx = 1", "y = x"], "def softmax(s):\n    return s", ["z = y"]),
        (["%%bash\nls"], "def softmax(s):\n    return s", ["!ls", "%%html\nx"]),
        (["only notes, no code"], "def softmax(s):\n    return s", ["more of them"]),
    ],
)
def test_pieces_that_cannot_be_one_cell_run_where_they_stand(
    master, solved, above, answer, below
):
    data = split(solved(), *above, answer, *below)
    rebuilt = rebuild(master, data)
    assert rebuilt.answers["softmax"] == answer
    assert sources(rebuilt, "student") == [*above, *below]
    place = sources(rebuilt).index(answer)
    assert sources(rebuilt)[place - len(above) : place] == above
    assert sources(rebuilt)[place + 1 : place + 1 + len(below)] == below
    assert any("does not define it" in note for note in rebuilt.notes)


@pytest.mark.parametrize("kind", ["markdown", "raw"])
@pytest.mark.parametrize(
    "text", ["Solution", "1. divide", "def softmax(s):\n    return wrong"]
)
def test_text_that_has_the_grade_id_of_an_answer_is_no_part_of_it(
    master, solved, kind, text
):
    data = solved()
    own = find(data, "softmax")
    place = data["cells"].index(own)
    data["cells"].insert(place, {**own, "cell_type": kind, "source": text})
    rebuilt = rebuild(master, data)
    assert rebuilt.answers["softmax"] == own["source"]
    assert sources(rebuilt, "student") == []
    assert [n for n in rebuilt.notes if "run as one" in n or "count as one" in n] == []
    assert any("is text" in note for note in rebuilt.notes)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("between", [[], [code_cell("1")]])
@pytest.mark.parametrize(
    "answer", ["def softmax(s):\n    return s", "softmax = lambda s: s"]
)
def test_a_stub_with_a_comment_of_the_students_own_is_no_answer(
    master, solved, first, between, answer
):
    data = solved()
    own = find(data, "softmax")
    stub = {**own, "source": find(master, "softmax")["source"] + "  # see below"}
    own["source"] = answer
    place = data["cells"].index(own)
    both = [stub, *between, own] if first else [own, *between, stub]
    data["cells"][place : place + 1] = both
    rebuilt = rebuild(master, data)
    assert rebuilt.answers["softmax"] == answer


def test_very_many_copies_of_a_stub_are_read_in_a_moment(master, solved):
    data = solved()
    own, stub = find(data, "softmax"), find(master, "softmax")["source"]
    comments = "# one, two (three)\n" * 200
    data["cells"] += [{**own, "source": f"{comments}{stub}"} for _ in range(1500)]
    data["cells"] += [{**own, "source": f"{stub}\nx = {n}"} for n in range(200)]
    start = time.monotonic()
    assert rebuild(master, data).answers["softmax"] == own["source"]
    assert time.monotonic() - start < 5


def with_task(master):
    """A release with a task of the instructor's own, a text below it, and an essay."""
    asking = copy.deepcopy(master)
    for name, text in (("task", "Draw it."), (None, "A text."), ("essay", "Why?")):
        cell = nbformat.v4.new_markdown_cell(text)
        kinds = {"task": name == "task", "solution": name == "essay"}
        if name:
            cell.metadata["nbgrader"] = {"grade_id": name, "points": 4, **kinds}
        asking.cells.append(cell)
    return asking


def test_what_is_added_below_a_task_is_its_answer(master):
    asking = with_task(master)
    data = copy.deepcopy(asking)
    assert rebuild(asking, data).by_hand.items() >= {
        ("task", ""),
        ("essay", "Why?"),
    }
    place = data["cells"].index(find(data, "task"))
    data["cells"][place + 1 : place + 1] = [code_cell("plot()")]
    data["cells"].insert(place + 3, nbformat.v4.new_markdown_cell("One sees it."))
    data["cells"].append(code_cell("not_of_the_task"))
    rebuilt = rebuild(asking, data)
    assert rebuilt.by_hand["task"] == "plot()\n\nOne sees it."


def test_an_essay_that_was_split_or_copied_is_shown_as_a_whole(master):
    asking = with_task(master)
    data = copy.deepcopy(asking)
    essay = find(data, "essay")
    texts = ("Because of this.", "And of that.", "And of that.", "Why?", "Finally.")
    data["cells"] += [{**essay, "source": text} for text in texts[1:]]
    essay["source"] = texts[0]
    rebuilt = rebuild(asking, data)
    whole = "    Because of this.\n    \n    And of that.\n    \n    Finally."
    assert rebuilt.by_hand["essay"] == sources(rebuilt)[-1] == whole
    assert any("essay: 3 cells" in note for note in rebuilt.notes)


def test_code_for_a_question_of_the_instructor_may_be_split(master):
    asking = copy.deepcopy(master)
    question = nbformat.v4.new_code_cell("# your code")
    question.metadata["nbgrader"] = {"grade_id": "plot", "solution": True}
    asking.cells.append(question)
    data = copy.deepcopy(asking)
    cell = data["cells"].pop()
    data["cells"] += [{**cell, "source": text} for text in ("x = 1", "plot(x)")]
    rebuilt = rebuild(asking, data)
    assert rebuilt.answers["plot"] == "x = 1\n\nplot(x)"
    data["cells"].insert(-1, nbformat.v4.new_markdown_cell("And now:"))
    rebuilt = rebuild(asking, data)
    assert sources(rebuilt)[-3:] == ["x = 1", "    And now:", "plot(x)"]
    assert rebuilt.by_hand["plot"] == "x = 1\n\nAnd now:\n\nplot(x)"
    assert any("plot: several cells" in note for note in rebuilt.notes)


def test_what_is_written_directly_below_a_question_is_marked_with_it(master):
    asking = with_task(master)
    data = copy.deepcopy(asking)
    data["cells"].append(nbformat.v4.new_markdown_cell("Because."))
    assert rebuild(asking, data).by_hand["essay"] == "Why?\n\nBecause."


def test_what_was_written_into_a_task_is_shown_below_it(master):
    asking = with_task(master)
    data = copy.deepcopy(asking)
    find(data, "task")["source"] = "Draw it. I did!"
    rebuilt = rebuild(asking, data)
    place = sources(rebuilt).index("Draw it.")
    assert sources(rebuilt)[place + 1] == "    Draw it. I did!"
    assert rebuilt.by_hand["task"] == "Draw it. I did!"
    assert any("written into the task" in note for note in rebuilt.notes)


def test_a_copy_of_an_exercise_cell_with_something_else_in_it_costs_nothing(
    master, solved
):
    data = solved()
    own, scratch = find(data, "softmax"), copy.deepcopy(find(data, "softmax"))
    scratch["source"] = "helper = abs"
    empty = {**scratch, "source": ""}
    place = data["cells"].index(own)
    data["cells"][place:place] = [
        empty,
        code_cell("1"),
        scratch,
        code_cell("helper(2)"),
    ]
    rebuilt = rebuild(master, data)
    assert rebuilt.answers["softmax"] == own["source"]
    assert sources(rebuilt, "student") == ["1", "helper = abs", "helper(2)"]
    above = sources(rebuilt).index("helper(2)")
    assert above < sources(rebuilt).index(own["source"])


@pytest.mark.parametrize(
    "makes",
    [
        "%%writefile helpme.py\ndef ex(x): return x",
        "with open('helpme.py', 'w') as f:\n    f.write('def ex(x): return x')",
        "import sys, types\nsys.modules['helpme'] = types.ModuleType('helpme')",
        "%%writefile lib/helpme.py\ndef ex(x): return x",
        "%%writefile /tmp/helpme.py\ndef ex(x): return x",
        "from pathlib import Path\n(Path() / 'helpme.py').write_text('ex = 1')",
        "name = 'helpme'\nopen(f'{name}.py', 'w').write('ex = 1')",
        "!printf 'ex = 1' > helpme.py",
        "import sys\nsys.path.append('lib')",
    ],
)
def test_an_import_of_what_the_notebook_makes_itself_stays(master, solved, makes):
    data = solved()
    data["cells"].insert(0, code_cell(makes))
    data["cells"].insert(1, code_cell("from helpme import ex"))
    assert "from helpme import ex" in sources(rebuild(master, data))
    del data["cells"][0]
    assert "from helpme import ex" not in sources(rebuild(master, data))


def test_annotations_of_what_may_be_missing_are_taken_out(master, solved):
    data = solved()
    mine = "def mine(x: T['b'], y: int) -> T['b']:\n    return T(x)"
    for source in ("import sys\nsys.path.append('lib')\nfrom shapes import T", mine):
        data["cells"].append(code_cell(source))
    rebuilt = rebuild(master, data)
    assert sources(rebuilt)[-1] == (
        "def mine(x: None, y: int) -> None:\n    return T(x)"
    )
    assert "from shapes import T" in sources(rebuilt)[-2]
    assert not any("not installed" in note for note in rebuilt.notes)


def test_files_of_python_beside_a_notebook_are_part_of_it(tmp_path, master, right):
    mine = "from helpers import attend\nimport numpy as np, torch"
    data = submission(master, {**right, "attend": mine})
    folder = tmp_path / "ada" / TOPIC
    folder.mkdir(parents=True)
    (folder / f"{TOPIC}.ipynb").write_text(json.dumps(data))
    without = read(tmp_path, "ada", TOPIC)
    (folder / "package").mkdir()
    helper = "import package.core, __init__\nattend = None\n"
    for name in ("helpers.py", "not_named.py", "no name.py"):
        (folder / name).write_text(helper)
    for name in ("package/core.py", "package/__init__.py"):
        (folder / name).write_text("1\n" if "core" in name else "")
    (folder / "numpy.py").symlink_to("/etc/passwd")
    found = read(tmp_path, "ada", TOPIC)
    assert found.modules == (
        ("helpers.py", helper),
        ("package/__init__.py", ""),
        ("package/core.py", "1\n"),
    )
    assert found.note == (
        "used as well: helpers.py, package/__init__.py, package/core.py"
    )
    assert found.digest != without.digest
    rebuilt = rebuild(master, written_in(parse_notebook(found.content), found.modules))
    assert sources(rebuilt, "student") == [
        f"%%writefile helpers.py\n{helper}",
        "__import__('os').makedirs('package', exist_ok=True)",
        "__import__('pathlib').Path('package/__init__.py').touch()",
        "__import__('os').makedirs('package', exist_ok=True)",
        "%%writefile package/core.py\n1\n",
    ]
    assert rebuilt.answers["attend"] == mine


def test_missing_exercise_cell_is_noted(master, solved):
    data = solved()
    data["cells"].remove(find(data, "attend"))
    rebuilt = rebuild(master, data)
    assert rebuilt.missing == ["attend"]
    assert any("attend" in note for note in rebuilt.notes)


def test_students_markdown_is_shown_word_for_word(master, solved):
    data = solved()
    text = "<script>alert(1)</script>\n![x](http://far.away/x.png)"
    data["cells"].append({"cell_type": "markdown", "metadata": {}, "source": text})
    last = rebuild(master, data).notebook.cells[-1]
    assert last.cell_type == "markdown"
    assert all(line.startswith("    ") for line in last.source.splitlines())


@pytest.mark.parametrize(
    "cell",
    [
        None,
        3,
        {},
        {"cell_type": "code"},
        {"cell_type": "code", "source": 7},
        {"cell_type": "code", "source": [1, 2]},
        {"cell_type": ["code"], "source": "x"},
        {"cell_type": "code", "source": "x", "metadata": None},
        {"cell_type": "code", "source": "x", "metadata": {"nbgrader": 3}},
        {
            "cell_type": "code",
            "source": "x",
            "metadata": {"nbgrader": {"grade_id": []}},
        },
        {"cell_type": "code", "source": "x", "id": {}, "metadata": {}},
    ],
)
def test_malformed_cells_do_no_harm(master, solved, cell):
    data = solved()
    data["cells"].insert(0, cell)
    rebuilt = rebuild(master, data)
    assert rebuilt.answers == rebuild(master, solved()).answers


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        (b'{"cells": [', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no notebook"),
        (b"{}", "no notebook"),
        (b'{"nbformat": 3, "worksheets": []}', "format 3"),
        (b'{"nbformat": 99, "cells": []}', "format 99"),
        (
            b'{"nbformat": "4", "cells": []}',
            'format is the text "4", expected the number 4',
        ),
        (b'{"nbformat": ' + b"[" * 900 + b"]" * 900 + b', "cells": []}', "unknown"),
        (b'{"nbformat": 4, "cells": null}', "no list of cells"),
        (json.dumps({"nbformat": 4, "cells": [{}] * 100_000}).encode(), "cells"),
    ],
)
def test_what_is_no_notebook_is_refused_with_a_reason(content, reason):
    with pytest.raises(Unusable, match=reason):
        parse_notebook(content)


def test_byte_order_mark_is_read(solved):
    content = b"\xef\xbb\xbf" + json.dumps(solved()).encode()
    assert parse_notebook(content)["nbformat"] == 4


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.ipynb")
    with pytest.raises(Unusable, match="pipe.ipynb is not a plain file"):
        read_notebook(tmp_path / "pipe.ipynb")
    (tmp_path / "endless.ipynb").symlink_to("/dev/zero")
    with pytest.raises(Unusable, match="not a plain file"):
        read_notebook(tmp_path / "endless.ipynb")


def test_too_large_a_file_is_not_read(tmp_path):
    path = tmp_path / "large.ipynb"
    with path.open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(Unusable, match="1024 MB"):
        read_notebook(path)


def test_chapter_is_found_in_the_metadata_else_in_the_name(master, tmp_path):
    assert chapter_of(master, tmp_path / "renamed.ipynb") == TOPIC
    assert chapter_of({"metadata": {}}, tmp_path / "masking.ipynb") == "masking"
    assert chapter_of({"metadata": 3}, tmp_path / "masking.ipynb") == "masking"


TERMS = "x" + " + x" * 600  # nested more deeply than can be written out again
DIGITS = "0x" + "f" * 5000


# Answers in other cells ---------------------------------------------------------------

SOFTMAX = "def softmax(scores):\n    return shift(scores)"
ATTEND = "def attend(q, X):\n    return softmax(q @ X.T)"


def test_answers_without_any_metadata_are_found_by_name(master, topic):
    answers = {name: f"def {name}(*args):\n    return args" for name in topic.exercises}
    data = submission(master, answers)
    honest = rebuild(master, submission(master, answers))
    for cell in data["cells"]:
        cell["metadata"] = {}
        cell.pop("id", None)
    rebuilt = rebuild(master, data)
    assert sources(rebuilt) == sources(honest)
    assert rebuilt.answers == answers
    names = ", ".join(rebuilt.answers)
    assert f"found in another cell, by name: {names}" in rebuilt.notes
    assert rebuilt.missing == []


def test_an_answer_with_a_number_of_many_digits_is_found_by_name(master):
    answer = f"def softmax(scores):\n    return {DIGITS}"
    data = submission(master, {})
    data["cells"].append(code_cell(answer))
    assert rebuild(master, data).answers["softmax"] == answer


def test_a_stub_without_metadata_is_no_answer(master):
    data = submission(master, {})
    stub = find(master, "softmax").source
    find(data, "softmax").update(source=stub, metadata={})
    rebuilt = rebuild(master, data)
    assert rebuilt.answers["softmax"] == stub
    assert rebuilt.missing == []
    assert sources(rebuilt).count(stub) == 1


def test_two_answers_in_one_cell_are_each_found(master):
    helper = "def shift(scores):\n    return scores - scores.max()"
    data = submission(master, {"attend": f"{helper}\n\n{SOFTMAX}\n\n{ATTEND}\n"})
    rebuilt = rebuild(master, data)
    assert SOFTMAX in rebuilt.answers["softmax"]
    assert helper in rebuilt.answers["softmax"]  # the other cell runs later
    assert "def attend" not in rebuilt.answers["softmax"]
    assert "found in another cell, by name: softmax" in rebuilt.notes


def test_of_a_cell_that_runs_before_only_the_definition_is_run_again(master):
    top = f"%matplotlib inline\nprint('once')\n@keep\n{SOFTMAX}"
    data = submission(master, {})
    data["cells"].insert(0, code_cell(top))
    rebuilt = rebuild(master, data)
    assert rebuilt.answers["softmax"] == f"@keep\n{SOFTMAX}"
    assert sum("print('once')" in source for source in sources(rebuilt)) == 1


def test_an_answer_behind_its_check_is_examined_all_the_same(master):
    data = submission(master, {})
    data["cells"].append(code_cell(f"x = 1\n{SOFTMAX}"))
    rebuilt = rebuild(master, data)
    assert rebuilt.answers["softmax"] == f"x = 1\n{SOFTMAX}"
    assert sum(SOFTMAX in source for source in sources(rebuilt)) == 1


def test_its_own_cell_goes_before_others_and_the_last_before_earlier_ones(master):
    data = submission(master, {"softmax": "softmax = len"})
    data["cells"].insert(0, code_cell(SOFTMAX))
    assert rebuild(master, data).answers["softmax"] == "softmax = len"
    data = submission(master, {"softmax": ""})
    data["cells"][:0] = [code_cell("def softmax(x): return 2"), code_cell(SOFTMAX)]
    data["cells"].append(code_cell("def softmax(x): return 3"))  # below the check
    assert rebuild(master, data).answers["softmax"] == SOFTMAX


def test_a_cell_that_python_cannot_read_is_found_and_taken_whole(master):
    broken = f"{SOFTMAX})"
    data = submission(master, {})
    data["cells"].append(code_cell(broken))
    assert rebuild(master, data).answers["softmax"] == broken


def test_lines_are_counted_as_python_counts_them(master):
    above = "a = 'x\u2028y\x85'\n\x0cb = 1\r\nc = 2\rd = (5\n% 2)\n"
    other = "def attend(q, X):\n    return 1"
    data = submission(master, {})
    data["cells"].insert(0, code_cell(f"{above}\f{SOFTMAX}\n{other}\n"))
    answers = rebuild(master, data).answers
    assert answers["softmax"].strip() == SOFTMAX
    assert answers["attend"] == other


def test_deep_nesting_hides_no_answer_and_stops_nothing(master):
    deep = f"def softmax(x):\n    return {'x + ' * 2000}x"
    data = submission(master, {})
    data["cells"].append(code_cell(deep))
    assert rebuild(master, data).answers["softmax"] == deep


def test_each_cell_is_parsed_once_for_all_exercises_and_not_without_end(
    master, topic, monkeypatch
):
    stubs = "\n\n".join(find(master, name).source for name in topic.exercises)
    lengths = []
    monkeypatch.setattr(
        by_name, "parsed", lambda text: lengths.append(len(text)) or magics.parsed(text)
    )
    filled = stubs + "\n#" + "x" * (MAX_SOURCE - len(stubs) - 2)
    data = submission(master, {})
    data["cells"] += [code_cell(filled) for _ in range(30)]
    rebuilt = rebuild(master, data)
    parses = lengths.count(MAX_SOURCE)
    assert MAX_ADDED // MAX_SOURCE - 1 <= parses <= MAX_ADDED // MAX_SOURCE
    note = f"by name, answers were looked for in {MAX_ADDED} characters only"
    assert note in rebuilt.notes


# What was written into locked cells ---------------------------------------------------


def test_what_was_added_to_a_locked_cell_is_run_above_or_below_it(master, solved):
    data = solved()
    setup = find(data, "setup-1")
    setup["source"] = f"from cmath import *\n{setup['source']}"
    added = ["import math", "EPS = np.finfo(float).eps", "if EPS:\n    half = EPS / 2"]
    setup["source"] += "\n" + "\n".join(added)
    rebuilt = rebuild(master, data)
    assert sources(rebuilt, "student") == ["from cmath import *", *added]
    place = sources(rebuilt).index("import math")
    released = find(master, "setup-1")["source"]
    assert sources(rebuilt)[place - 2 : place] == ["from cmath import *", released]
    assert any("setup-1: what was added" in note for note in rebuilt.notes)


def test_of_a_demonstration_only_what_is_defined_there_is_run(master, solved):
    data = solved()
    added = [
        "import math",
        "EPS = float('1e-9')",
        "half = lambda x: np.divide(x, 2)",
        "def square(x):\n    return x * x  # twice",
    ]
    slow = ["model = train()", "print(1)", "for x in X:\n    print(x)"]
    find(data, "demo-1")["source"] += "\n" + "\n".join([*added, *slow])
    assert sources(rebuild(master, data), "student") == added


@pytest.mark.parametrize(
    "taken_back",
    [
        "def softmax(x):\n    return x\nsoftmax = kept.pop()",
        "total = 0\nfor x in range(3):\n    total += x",
        "total = 0\ndel total",
        "sum = 0",  # what other answers may need
    ],
)
def test_what_a_locked_cell_takes_back_is_not_run(master, solved, taken_back):
    data = solved()
    find(data, "demo-1")["source"] += f"\n{taken_back}"
    assert sources(rebuild(master, data)) == sources(rebuild(master, solved()))


@pytest.mark.parametrize("locked", ["check-softmax", "check-attend", "demo-1"])
@pytest.mark.parametrize("own", ["stub", "gone"])
def test_an_answer_in_a_locked_cell_is_found(master, solved, locked, own):
    data = solved()
    cell = find(data, "softmax")
    answer, cell["source"] = cell["source"], find(master, "softmax")["source"]
    if own == "gone":
        data["cells"].remove(cell)
    find(data, locked)["source"] = f"check(softmax)\n\n{answer}"
    rebuilt = rebuild(master, data)
    assert "return" in rebuilt.answers["softmax"]
    assert "check(" not in rebuilt.answers["softmax"]


def test_what_is_only_changed_in_a_locked_cell_is_left_out(master, solved):
    data = solved()
    find(data, "check-softmax")["source"] = (
        "check(softmax)  # passed!\nok = check(attend)"
    )
    find(data, "demo-1")["source"] += "\nx = np.ones(3)\n%timeit softmax(x)"
    assert sources(rebuild(master, data)) == sources(rebuild(master, solved()))


# What only the student's machine has --------------------------------------------------

COLAB = "from google.colab import drive; drive.mount('/content/drive'); kept = 1"


def test_an_import_of_another_machine_costs_only_what_needs_it(master):
    upload = "import numpy as np\nfrom not_here import files\nup = files.upload()\n"
    data = submission(master, {"softmax": upload + SOFTMAX})
    data["cells"].insert(0, code_cell(f"{COLAB}\nroot = drive.path\n\nhelp_me = 2"))
    data["cells"].insert(1, code_cell("print(root)\n%matplotlib inline\nother = up\n"))
    rebuilt = rebuild(master, data)
    assert sources(rebuilt, "student")[0].split() == [
        "kept",
        "=",
        "1",
        "help_me",
        "=",
        "2",
    ]
    assert sources(rebuilt, "student")[1].split() == [
        "%matplotlib",
        "inline",
        "other",
        "=",
        "up",
    ]
    assert rebuilt.answers["softmax"].split() == f"import numpy as np {SOFTMAX}".split()
    assert rebuilt.answers["softmax"] in sources(rebuilt, "exercise")
    assert rebuilt.notes == [
        "left out, because it is not installed here: google.colab, not_here"
    ]


@pytest.mark.parametrize(
    ("source", "left"),
    [
        (
            "def f(x: Float[int, 'é d'], y: int) -> Float[int, '']: return x",
            "def f(x: None, y: int) -> None: return x",
        ),
        (
            "class C:\n    é: Float[\n  int] = 1\n    def f(self, *a: Float): pass",
            "class C:\n    é: None = 1\n\n    def f(self, *a: None): pass",
        ),
        (
            "@checked(\n  of=Float)\n@keep\nasync def f(x: int): return 1",
            "\n\n@keep\nasync def f(x: int): return 1",
        ),
        (
            "@(  # checked\n  checked\n)\n@keep\ndef f(): return 1",
            "\n\n\n@keep\ndef f(): return 1",
        ),
        ("w: Float[int, 'd'] = 2; v = 3", "w: None = 2; v = 3"),
        ("n = Float(2)\nn += 1\nn", "\n\n"),
        (
            "def f(x): return Float(x)\nf(2)\ny = f(3)",
            "def f(x): return Float(x)\n\ny = f(3)",
        ),
        ("class C:\n    x = Float(2)", "\n"),
        ("w: Float = Float(2)", ""),
        ("def f(x: int): return Float(x)",) * 2,
    ],
)
def test_annotations_and_decorators_of_another_machine_cost_nothing(
    master, source, left
):
    data = submission(master, {})
    data["cells"].insert(0, code_cell(f"from not_here import Float, checked\n{source}"))
    assert sources(rebuild(master, data), "student") == [f"\n{left}"]


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    from google.colab import drive\nexcept ImportError:\n    drive = 0",
        "import not_here)",
        "import torch.nn.functional as F\nfrom os import path\nprint(path)",
        "def late():\n    import not_here\n    return not_here",
    ],
)
def test_what_python_can_run_or_refuse_by_itself_stays(master, source):
    data = submission(master, {})
    data["cells"].insert(0, code_cell(source))
    assert sources(rebuild(master, data), "student") == [source]


def test_a_name_that_is_bound_again_is_no_longer_missing(master):
    data = submission(master, {})
    cells = ["import not_here as np", "np.x", "import numpy as np", "np.arange(3)"]
    data["cells"][:0] = map(code_cell, cells)
    assert [s for s in sources(rebuild(master, data), "student") if s] == cells[2:]


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("import not_here; t = '''\nprint(1)\n'''\nu = 1", ["t = '\\nprint(1)\\n'"]),
        ("t = '''\n1'''; import not_here; v = 2\nu = 1", ["t = '\\n1'; v = 2"]),
        ("w = '\u2028'\nimport not_here\nu = 1", ["w = '\u2028'"]),
        ("import numpy as np, not_here\nnot_here.x\nu = 1", ["import numpy as np"]),
        ("import os, not_here.x as y, re; v = 2\ny\nu = 1", ["import os, re; v = 2"]),
    ],
)
def test_what_shares_a_line_with_such_an_import_stays_whole(master, source, left):
    data = submission(master, {})
    data["cells"].insert(0, code_cell(source))
    (rebuilt,) = sources(rebuild(master, data), "student")
    assert [line for line in rebuilt.split("\n") if line] == [*left, "u = 1"]
    assert rebuilt.count("\n") == source.count("\n")  # a message names the same line


def test_what_cannot_be_written_out_again_stays_as_it_is(master):
    source = f"import not_here; y = {TERMS}"
    data = submission(master, {})
    data["cells"].insert(0, code_cell(source))
    assert sources(rebuild(master, data), "student") == [source]


def test_the_folder_where_the_grader_runs_decides_nothing(
    master, tmp_path, monkeypatch
):
    (tmp_path / "chapters_" / "static").mkdir(parents=True)
    (tmp_path / "of_mine.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    data = submission(master, {})
    cells = ["import of_mine", "import chapters_.static", "import toolkit", "import os"]
    data["cells"][:0] = map(code_cell, cells)
    assert [s for s in sources(rebuild(master, data), "student") if s] == cells[2:]


def test_packages_that_share_a_name_are_looked_into(master, tmp_path, monkeypatch):
    place = tmp_path / "site-packages"
    (place / "shared_" / "one").mkdir(parents=True)
    monkeypatch.syspath_prepend(place)
    data = submission(master, {})
    cells = ["import shared_.one", "import shared_", "import shared_.other"]
    data["cells"][:0] = map(code_cell, cells)
    assert [s for s in sources(rebuild(master, data), "student") if s] == cells[:2]


def test_many_imports_and_uses_of_what_is_missing_are_left_out_quickly(master):
    imports = "\n".join(f"import q{n}" for n in range(2000))
    uses = "import q\n" + "\n".join(f"y{n} = q.a" for n in range(6000))
    beside = ";".join(f"import q{n}" for n in range(1000)) + ";last = 1"
    data = submission(master, {})
    data["cells"][:0] = map(code_cell, (imports, uses, beside))
    start = time.process_time()
    found = sources(rebuild(master, data), "student")
    assert time.process_time() - start < 5  # the square of it takes minutes
    assert [source.strip() for source in found] == ["", "", "last = 1"]


# Copies of released cells -------------------------------------------------------------

WRONG = "def softmax(scores):\n    return 0"
RIGHT = "def softmax(scores):\n    return helper(scores)"
HELPER_OF_IT = "def helper(scores):\n    return scores"


def without_metadata(data):
    for cell in data["cells"]:
        cell["metadata"] = {}
        cell.pop("id", None)
    return data


def value_at_check(rebuilt, name):
    """What a name stands for where its exercise is checked, running cell by cell."""
    space = {}
    for cell in rebuilt.notebook.cells:
        if cell.metadata.role == "check" and cell.metadata.exercise == name:
            return space.get(name)
        if cell.metadata.role in ("student", "exercise"):
            with contextlib.suppress(NameError):
                exec(cell.source, space)
    return None


@pytest.fixture
def worked(master, solved):
    """A notebook in which cells stand above and below the exercise of softmax."""

    def make(answer, *below, above=(), bare=False, after_check=()):
        data = solved(softmax=answer)
        place = data["cells"].index(find(data, "softmax"))
        check = data["cells"].index(find(data, "check-softmax"))
        data["cells"][check + 1 : check + 1] = after_check
        data["cells"][place + 1 : place + 1] = below
        data["cells"][place:place] = above
        return rebuild(master, without_metadata(data) if bare else data)

    return make


@pytest.mark.parametrize("bare", [True, False])
@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize(("first", "last"), [(WRONG, RIGHT), (RIGHT, WRONG)])
def test_attempts_are_checked_one_by_one(master, worked, bare, copied, first, last):
    check = copy.deepcopy(find(master, "check-softmax"))
    own = check if copied else code_cell("check(softmax)")
    again = [code_cell(HELPER_OF_IT), own, code_cell(last)]
    rebuilt = worked(first, own, *again, bare=bare)
    found = value_at_check(rebuilt, "softmax")
    assert found(7) == (7 if last == RIGHT else 0)
    assert sources(rebuilt).count("check(softmax)") == 1


@pytest.mark.parametrize("bare", [True, False])
@pytest.mark.parametrize("is_above", [True, False])
@pytest.mark.parametrize(
    "last", [[RIGHT], [RIGHT, f"kept = softmax\n{WRONG}", "softmax = kept"]]
)
def test_attempts_beside_a_stub_run_in_their_order(
    master, worked, bare, is_above, last
):
    own = [code_cell(WRONG), code_cell("check(softmax)"), code_cell(HELPER_OF_IT)]
    own += map(code_cell, last)
    stub = find(master, "softmax").source
    if is_above:
        rebuilt = worked("", above=own, bare=bare)
    else:
        rebuilt = worked(stub, *own, bare=bare)
    assert value_at_check(rebuilt, "softmax")(7) == 7


@pytest.mark.parametrize("bare", [True, False])
def test_what_stands_below_all_copies_of_a_check_comes_too_late(worked, bare):
    rebuilt = worked(
        WRONG, code_cell("check(softmax)"), bare=bare, after_check=[code_cell("x = 3")]
    )
    assert sources(rebuilt).index("x = 3") > sources(rebuilt).index("check(softmax)")


@pytest.mark.parametrize("bare", [True, False])
@pytest.mark.parametrize("name", ["setup-1", "demo-1", "check-attend", "text"])
@pytest.mark.parametrize("with_id", [True, False])
def test_a_pasted_copy_moves_nothing_that_follows_it(
    master, worked, bare, name, with_id
):
    if name == "text":
        pasted = nbformat.v4.new_markdown_cell(master.cells[0].source)
    elif with_id:
        pasted = copy.deepcopy(find(master, name))
    else:
        pasted = code_cell(find(master, name).source)
    pasted["id"] = "pasted"
    first = code_cell("one = helper(1)")
    rebuilt = worked(RIGHT, pasted, first, above=[code_cell(HELPER_OF_IT)], bare=bare)
    texts = sources(rebuilt)
    assert texts.index(HELPER_OF_IT) < texts.index(first.source)
    assert texts.index(first.source) < texts.index("check(softmax)")
    pastes = texts.count(pasted["source"])
    assert pastes == texts.count(first.source) + (name == "setup-1")


def test_a_check_that_is_repeated_at_the_end_takes_along_nothing(master, solved):
    data = solved()
    later = [code_cell("late = attend"), code_cell("check(softmax)")]
    data["cells"] += [*later, code_cell("later = late")]
    texts = sources(rebuild(master, without_metadata(data)))
    assert texts.index("check(attend)") < texts.index("later = late")


def test_an_attempt_and_its_check_at_the_end_count_without_metadata(master, solved):
    data = solved(softmax=WRONG)
    again = "def softmax(scores):\n    return scores"
    data["cells"] += [code_cell(again), code_cell("check(softmax)")]
    assert rebuild(master, without_metadata(data)).answers["softmax"] == again


@pytest.mark.parametrize("bare", [True, False])
def test_an_added_cell_stays_below_the_last_text_of_a_repeated_one(master, bare):
    texts = [cell.source for cell in master.cells]
    twice = next(text for text in texts if texts.count(text) > 1)
    data = copy.deepcopy(master)
    places = [n for n, text in enumerate(texts) if text == twice]
    data["cells"].insert(places[-1] + 1, code_cell("mine = 1"))
    for n in places[-2::-1]:  # all but the last are gone
        del data["cells"][n]
    if bare:
        without_metadata(data)
    rebuilt = sources(rebuild(master, data))
    assert rebuilt.index("mine = 1") == places[-1] + 1


# Answers that are no def --------------------------------------------------------------

OTHER = "def other(scores):\n    return scores"
NO_DEF = {
    "a lambda": ["softmax = lambda scores: scores"],
    "an alias": [f"{OTHER}\nsoftmax = other"],
    "an alias in another cell": [OTHER, "softmax = other"],
    "several at once": [f"{OTHER}\nx, softmax = 1, other"],
    "annotated": ["softmax: object = lambda scores: scores"],
    "partial": [
        "from functools import partial\nsoftmax = partial(lambda x, scores: scores, 1)"
    ],
    "under a condition": ["if True:\n    def softmax(scores):\n        return scores"],
    "tried": [
        "try:\n    def softmax(scores):\n        return scores\nexcept Exception: pass"
    ],
    "imported": ["from operator import pos as softmax"],
    "kept aside": [
        "def softmax(scores):\n    return scores",
        "kept = softmax\ndef softmax(scores):\n    return 0",
        "softmax = kept",
    ],
}


@pytest.mark.parametrize("way", NO_DEF)
@pytest.mark.parametrize("bare", [True, False])
def test_an_answer_that_is_no_def_stands_where_its_cell_is_gone(
    master, solved, way, bare
):
    data = solved()
    place = data["cells"].index(find(data, "softmax"))
    data["cells"][place : place + 1] = map(code_cell, NO_DEF[way])
    rebuilt = rebuild(master, without_metadata(data) if bare else data)
    assert value_at_check(rebuilt, "softmax")(7) == 7
    assert "softmax" not in rebuilt.missing
    assert not any("is not in the notebook" in note for note in rebuilt.notes)


@pytest.mark.parametrize(
    "other",
    ["print(softmax)", "# softmax = 1", "softmax(X).sum()", "%%bash\nsoftmax=1"],
)
def test_a_cell_that_only_mentions_an_exercise_does_not_answer_it(master, other):
    data = submission(master, {})
    place = data["cells"].index(find(data, "softmax"))
    data["cells"][place] = code_cell(other)
    assert rebuild(master, data).missing == ["softmax"]


MODULES = {
    "my_answers.py": ("my_answers", "def softmax(scores):\n    return scores\n"),
    "./my_answers.py": ("my_answers", "softmax = abs\n"),
    "package/core.py": ("package.core", "from operator import pos as softmax\n"),
    "package/__init__.py": ("package", "def softmax(scores):\n    return scores\n"),
}


@pytest.mark.parametrize("file", MODULES)
def test_an_answer_may_come_with_all_that_a_file_of_the_student_defines(master, file):
    module, text = MODULES[file]
    data = submission(master, {})
    data["cells"].remove(find(data, "softmax"))
    data["cells"][:0] = map(
        code_cell, [f"%%writefile {file}\n{text}", f"from {module} import *"]
    )
    rebuilt = rebuild(master, data)
    assert rebuilt.missing == []
    assert rebuilt.answers["softmax"] == ""  # what was imported stands
    assert "found in another cell, by name: softmax" in rebuilt.notes


@pytest.mark.parametrize(
    "cells",
    [
        ["%%writefile mine.py\ndef softmax(x): return x", "import mine"],
        ["%%writefile mine.py\ndef softmax(x): return x", "from other import *"],
        ["%%writefile mine.py\ndef other(x): return x", "from mine import *"],
        ["%%writefile mine.py\ndef softmax(x): pass  # TODO", "from mine import *"],
        ["%%writefile mine.py\ndef softmax(x) return x", "from mine import *"],
        ["%%writefile mine.py\ndef softmax(x): return x", "# from mine import *"],
    ],
    ids=["not its names", "another", "without it", "a stub", "no Python", "a comment"],
)
def test_a_file_that_does_not_bring_an_answer_leaves_it_missing(master, cells):
    data = submission(master, {})
    data["cells"].remove(find(data, "softmax"))
    data["cells"][:0] = map(code_cell, cells)
    assert rebuild(master, data).missing == ["softmax"]


def test_what_is_given_to_a_name_below_its_check_is_no_answer(master):
    data = submission(master, {})
    data["cells"].remove(find(data, "softmax"))
    data["cells"].append(code_cell("softmax = abs"))
    assert rebuild(master, data).missing == ["softmax"]


# An attempt that was set aside as text ------------------------------------------------


@pytest.mark.parametrize("kind", ["markdown", "raw"])
@pytest.mark.parametrize("is_above", [True, False])
@pytest.mark.parametrize("aside", [WRONG, None])
@pytest.mark.parametrize("way", ["def", "a lambda", "an alias"])
def test_code_goes_before_an_attempt_that_was_set_aside_as_text(
    master, solved, kind, is_above, aside, way
):
    data = solved()
    own = find(data, "softmax")
    own["source"] = aside or find(master, "softmax").source
    own["cell_type"] = kind
    text = NO_DEF.get(way, ["def softmax(scores):\n    return scores"])[0]
    place = data["cells"].index(own)
    data["cells"].insert(place + (not is_above), code_cell(text))
    rebuilt = rebuild(master, data)
    assert value_at_check(rebuilt, "softmax")(7) == 7
    assert "softmax" not in rebuilt.missing
    assert any("is text" in note for note in rebuilt.notes)


def test_a_text_is_the_answer_where_other_code_has_only_the_name(master, solved):
    data = solved(attend=ATTEND)
    own = find(data, "softmax")
    own["cell_type"] = "markdown"
    data["cells"][:0] = [code_cell("print(softmax)"), code_cell("%%bash\nsoftmax=1")]
    data["cells"].append(code_cell("softmax = abs"))  # below the check
    assert rebuild(master, data).answers["softmax"] == own["source"]


# What is said -------------------------------------------------------------------------


def test_cells_without_metadata_are_not_said_to_be_missing(master, solved):
    rebuilt = rebuild(master, without_metadata(solved()))
    assert not any("missing" in note for note in rebuilt.notes)


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_other_line_ends_are_no_change(master, solved, end):
    data = solved()
    for cell in data["cells"]:
        cell["source"] = cell["source"].replace("\n", end)
    rebuilt, honest = rebuild(master, data), rebuild(master, solved())
    assert rebuilt.notes == honest.notes
    assert sources(rebuilt) == sources(honest)


def test_very_many_copies_of_released_cells_are_placed_in_a_moment(master, solved):
    data = solved()
    data["cells"] += [copy.deepcopy(cell) for cell in data["cells"]] * 60
    start = time.process_time()
    rebuild(master, data)
    rebuild(master, without_metadata(data))
    assert time.process_time() - start < 5


# Size, and the chapter ----------------------------------------------------------------


def as_bytes(data):
    return json.dumps(data).encode()


def test_what_cells_showed_does_not_count_towards_the_size(master):
    data = submission(master, {})
    picture = {"image/png": "A" * (MAX_WRITTEN + 1)}
    data["cells"].append(code_cell("x"))
    data["cells"][-1]["outputs"] = [{"output_type": "display_data", "data": picture}]
    assert len(as_bytes(data)) < MAX_FILE_BYTES
    parse_notebook(as_bytes(data))
    data["cells"][-1]["source"] = ["#" * (MAX_WRITTEN // 2)] * 3
    with pytest.raises(Unusable, match="10 MB without its outputs"):
        parse_notebook(as_bytes(data))


def test_the_notebook_of_another_chapter_is_named_as_that(master):
    assert other_chapter(master, TOPIC) is None
    assert other_chapter(master, "masking") == TOPIC  # its metadata say so
    bare = {
        "cells": [{"cell_type": "code", "source": ["def causal_mask(n):\n", "  1"]}]
    }
    assert other_chapter(bare, TOPIC) == "masking"
    assert other_chapter(bare, "masking") is None
    assert (
        other_chapter({"cells": [{"cell_type": "code", "source": "x"}, 3]}, TOPIC)
        is None
    )
    both = {**master, "cells": [*master["cells"], *bare["cells"]]}
    assert other_chapter(both, "masking") is None  # something of it is there


def test_what_nobody_looks_at_is_dropped_before_anything_runs(
    master, topic, monkeypatch
):
    data = submission(master, {"softmax": SOFTMAX})
    small = len(as_bytes(data))
    bulk = [{}] * 100_000
    data["more"] = data["metadata"]["more"] = bulk
    data["metadata"]["kernelspec"] = {"name": "bash", "more": bulk}
    cell = find(data, "attend")
    cell["outputs"] = cell["id"] = cell["metadata"]["tags"] = bulk
    cell["metadata"]["nbgrader"] |= {"points": bulk, "more": bulk}
    data["cells"] += bulk[:5] + [{**cell, "cell_type": bulk}]
    data["cells"].append(code_cell("x = 1", grade_id="y" * 1_000_000, grade=bulk))
    held = []
    monkeypatch.setattr(
        worker, "examine", lambda master, data, *_, **__: held.append(data)
    )
    monkeypatch.setattr(worker, "expected_by_all", lambda *_: {})
    monkeypatch.setattr(worker, "fork_servers", lambda *_: None)
    job = worker.Job(topic.name, nbformat.writes(master), b"", Limits())
    with pytest.raises(GraderFault, match="AttributeError"):  # there is no report
        worker.examine_submission(job, Submission("ada", as_bytes(data)))
    assert len(as_bytes(held[0])) < small
    whole, left = rebuild(master, data), rebuild(master, held[0])
    assert sources(left) == sources(whole)
    assert left.answers == whole.answers
    assert left.notes == whole.notes


def test_only_what_may_be_the_name_of_an_exercise_is_looked_up(monkeypatch):
    asked = []
    monkeypatch.setattr(
        titles, "find_topic", lambda n: asked.append(n) or load_topic(TOPIC)
    )
    names = ["a" * 1_000_000, "a b", "a.b", "", "fine", "x" * 60, "x" * 61]
    data = {"cells": [code_cell("1", grade_id=name) for name in names]}
    data["cells"].append(code_cell(f"def {'y' * 61}(): pass"))
    other_chapter(data, "masking")
    assert asked == ["fine", "x" * 60]


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        (["masking final.ipynb", "notes.ipynb"], "masking final.ipynb"),
        (["Masking-Copy1.ipynb", "my masking.ipynb"], "Masking-Copy1.ipynb"),
        (["old.ipynb", "scaling.ipynb", "masking (2).ipynb"], "masking (2).ipynb"),
        (["scaling.ipynb", "multi_head.ipynb"], None),
        (["a.ipynb", "b.ipynb"], None),
        (["masking.ipynb.txt", "b.ipynb"], "masking.ipynb.txt"),
        (["masking.ipynb.json", "b.ipynb"], "masking.ipynb.json"),
        (["MASKING.IPYNB", "b.ipynb"], "MASKING.IPYNB"),
        (["homework/masking.ipynb", "homework/b.ipynb"], "homework/masking.ipynb"),
        (["masking.pdf", "b.txt"], None),
        ([], None),
    ],
)
def test_of_several_notebooks_the_best_named_is_taken_and_said(tmp_path, names, taken):
    folder = tmp_path / "ada" / "masking"
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    found = read(tmp_path, "ada", "masking")
    assert found.content.decode() == (taken or "")
    if taken is None:
        there = f"; found {', '.join(sorted(names))}" if names else ""
        assert found.unusable == f"no notebook masking.ipynb was submitted{there}"
    else:
        assert found.note.startswith(f"the notebook was named {taken}; not looked at: ")
        assert all(name.split("/")[-1] in found.note for name in names)


@pytest.fixture
def folder_with(tmp_path, master):
    """What is read of a folder with notebooks: blank ones, and some with work."""

    def ask(**names):
        folder = tmp_path / "ada" / TOPIC
        folder.mkdir(parents=True)
        for name, has_work in names.items():
            data = copy.deepcopy(master)
            if has_work:
                cell = next(c for c in data.cells if c.metadata.get(METADATA_KEY))
                cell.source += "\n# mine"
            data.metadata["called"] = name
            (folder / f"{name}.ipynb").write_text(json.dumps(data))
        found = read(tmp_path, "ada", TOPIC)
        return json.loads(found.content)["metadata"]["called"], found.note

    return ask


def test_of_a_blank_notebook_and_a_copy_with_work_the_copy_is_examined(folder_with):
    called, note = folder_with(
        **{TOPIC: False, f"{TOPIC}-Copy1": False, f"{TOPIC} solved": True}
    )
    assert called == f"{TOPIC} solved"
    assert note == (
        f"{TOPIC}.ipynb is as it was released, so {TOPIC} solved.ipynb was examined; "
        f"not looked at: {TOPIC}-Copy1.ipynb"
    )


def test_a_notebook_with_work_is_examined_whatever_lies_beside_it(folder_with):
    called, note = folder_with(**{TOPIC: True, f"{TOPIC}-Copy1": True})
    assert (called, note) == (TOPIC, f"not looked at: {TOPIC}-Copy1.ipynb")


def test_work_under_another_name_is_no_copy(folder_with):
    called, note = folder_with(**{TOPIC: False, "notes": True, "scaling": True})
    assert called == TOPIC
    assert note == "not looked at: notes.ipynb, scaling.ipynb"


def test_a_folder_of_very_many_notebooks_is_read_in_a_moment(tmp_path):
    folder = tmp_path / "ada" / "masking"
    folder.mkdir(parents=True)
    for number in range(3000):
        (folder / f"{number}{'x' * 200}.ipynb").touch()
    (folder / "my masking.ipynb").write_text("mine")
    before = time.process_time()
    assert read(tmp_path, "ada", "masking").content == b"mine"
    assert time.process_time() - before < 2  # reading the contents for each took 30
