"""What happens to the notebooks of honest people, examined in the real sandbox.

Each starts as a right submission. The score is what a person would give who reads it.
"""

from __future__ import annotations

import json

import pytest
from nbformat.v4 import new_markdown_cell

from autograder.notebooks import parse_notebook
from autograder.sandbox.limits import Limits
from tests.autograder.conftest import code_cell, scores
from tests.suites import sweep

LIMITS = Limits(cell_seconds=3, submission_seconds=30)
# The answers call one another, so each cell has its own only.
SOFTMAX = """\
def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
"""


def at(data, grade_id):
    """The number of the cell with a grade id."""
    return next(
        number
        for number, cell in enumerate(data["cells"])
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id
    )


def find(data, grade_id):
    return data["cells"][at(data, grade_id)]


def insert(data, grade_id, *sources):
    """Add cells above one."""
    place = at(data, grade_id)
    data["cells"][place:place] = map(code_cell, sources)


def stub_of(data, name):
    return find(data, name)["metadata"]["attention_from_scratch"]["stub"]


# Each changes a right notebook in which softmax stands in its cell alone.


def a_new_notebook_in_colab(data):
    for cell in data["cells"]:
        cell["metadata"] = {"id": "aBc", "outputId": "x"}
    data["metadata"] = {"colab": {"provenance": []}, "accelerator": "GPU"}
    data["cells"] = [c for c in data["cells"] if c["cell_type"] == "code"]


def odd_metadata_and_large_outputs(data):
    for cell in data["cells"]:
        cell["id"] = "same"
    state = {"model_id": {"model_name": "IntSliderModel", "state": {"value": 7}}}
    data["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": state}
    data["metadata"]["kernelspec"] = {"name": "conda-env-dl-py", "language": "python"}
    image = {"image/png": "A" * 30 * 2**20}
    cell = find(data, "softmax")
    cell["outputs"] = [{"output_type": "display_data", "data": image, "metadata": {}}]


def copied_cells(data):
    cell = find(data, "softmax")
    earlier = {**cell, "source": "def softmax(scores):\n    return scores"}
    data["cells"].insert(at(data, "softmax"), earlier)
    data["cells"].append(find(data, "check-softmax"))
    data["cells"].append(find(data, "check-attend"))


def a_split_cell(data):
    cell = find(data, "softmax")
    rest = {**cell, "source": "softmax(np.zeros(3))"}
    cell["source"] = f"# Mine\n{cell['source']}"
    data["cells"].insert(at(data, "softmax") + 1, rest)


def in_another_cell_above(data):
    insert(data, "softmax", find(data, "softmax")["source"])
    find(data, "softmax")["source"] = stub_of(data, "softmax")


def at_the_very_end(data):
    data["cells"].append(code_cell(find(data, "softmax")["source"]))
    find(data, "softmax")["source"] = stub_of(data, "softmax")


def all_in_one_cell(data):
    names = ("softmax", "alignment_scores", "attend", "soft_lookup")
    texts = [find(data, name)["source"] for name in names]
    insert(data, "alignment_scores", "\n\n".join(texts))
    for name in names:
        find(data, name)["source"] = stub_of(data, name)


def a_name_for_something_else(data):
    source = find(data, "softmax")["source"].replace("softmax", "_softmax")
    find(data, "softmax")["source"] = f"{source}\n\nsoftmax = _softmax"


def deleted_and_edited_cells(data):
    deleted = {"setup-1", "check-alignment_scores"}
    data["cells"] = [
        cell
        for cell in data["cells"]
        if cell["cell_type"] == "code"
        and "demo" not in cell["metadata"]["tags"]
        and cell["metadata"].get("nbgrader", {}).get("grade_id") not in deleted
    ]
    find(data, "check-softmax")["source"] = "print(check(softmax))"
    find(data, "check-attend")["source"] = "# check(attend)"
    find(data, "check-soft_lookup")["source"] = "check(softmax)\ncheck(soft_lookup)"


def a_setup_of_ones_own(data):
    find(data, "setup-1")["source"] = (
        "import numpy as np\nimport seaborn as sns\nsns.set_theme()\ncheck = print"
    )


def libraries_that_are_not_here(data):
    colab = "from google.colab import drive\ndrive.mount('/content/drive')\n"
    insert(data, "setup-1", colab)
    source = find(data, "softmax")["source"].replace(
        "(scores)", "(scores: Float[np.ndarray, 'n']) -> Float | None"
    )
    find(data, "softmax")["source"] = (
        f"{colab}from jaxtyping import Float\nimport numba as nb\n"
        "try:\n    import cupy as np\nexcept ImportError:\n    import numpy as np\n\n"
        f"@nb.njit(cache=True)\n{source}"
    )


def lines_that_fail_here(data):
    insert(data, "softmax", "%cd C:\\Users\\ada", "import os\nos.chdir(r'C:\\x')")
    insert(data, "softmax", "exit()", "quit()", "import sys; sys.exit()")
    insert(data, "softmax", "name = input('Who are you? ')\nprint(name)")
    insert(data, "softmax", "print(softmax(X @ q))\nprint(X.shape)", "%of_nobody")
    head = "print(X.shape)\nopen(r'C:\\Users\\ada\\data.csv')\n1 / 0\n"
    find(data, "softmax")["source"] = head + find(data, "softmax")["source"]


def settings_that_stay(data):
    insert(
        data,
        "softmax",
        "np.seterr(all='raise')",
        "import cProfile\ncProfile.Profile().enable()",
        "import builtins, os\nos.environ.clear()\nbuiltins.open = None",
        "import sys\nsys.stdout.close()\nsys.stdout = sys.stderr = None\n1 / 0",
        "import sys\nsys.setrecursionlimit(60)",
    )


def stops_that_were_left(data):
    stops = (
        "    breakpoint()\n    import pdb; pdb.set_trace()\n"
        "    from IPython.core.debugger import set_trace; set_trace()\n"
    )
    find(data, "softmax")["source"] = SOFTMAX.replace("    e =", f"{stops}    e =")


def star_imports(data):
    insert(data, "softmax", "from math import *\nfrom nowhere import *")
    find(data, "softmax")["source"] = SOFTMAX.replace("np.", "").replace(
        "def", "from numpy import *\ndef"
    )


def magics(data):
    insert(data, "softmax", "%matplotlib inline\n%load_ext autoreload\n!pip install x")
    find(data, "softmax")["source"] = "%%time\n" + find(data, "softmax")["source"]


def a_function_of_a_demonstration(data):
    find(data, "softmax")["source"] += "\n\nremaining_influence, time.time()"
    insert(data, "softmax", "seconds(print)")


def other_line_ends(data):
    for cell in data["cells"]:
        cell["source"] = cell["source"].replace("\n", "\r\n")


def notes_in_code_cells(data):
    insert(data, "softmax", "This is my idea: subtract the maximum first")
    data["cells"].insert(4, new_markdown_cell("$e^x$ <b>"))


COST_NOTHING = [
    *(a_new_notebook_in_colab, odd_metadata_and_large_outputs, copied_cells),
    *(a_split_cell, in_another_cell_above, at_the_very_end, all_in_one_cell),
    *(a_name_for_something_else, deleted_and_edited_cells, a_setup_of_ones_own),
    *(libraries_that_are_not_here, lines_that_fail_here),
    *(settings_that_stay, stops_that_were_left, star_imports),
    *(magics, a_function_of_a_demonstration, other_line_ends, notes_in_code_cells),
]


@pytest.fixture
def honest(solved, right):
    """A right notebook in which softmax is defined in its own cell alone."""
    own = {name: text[text.index(f"def {name}(") :] for name, text in right.items()}
    return lambda **others: solved(**{**own, "softmax": SOFTMAX, **others})


@pytest.fixture
def examine(examined):
    return lambda data: examined(data, LIMITS)


def as_read(data):
    """What a worker makes of the file."""
    content = b"\xef\xbb\xbf" + json.dumps(data).encode()
    return parse_notebook(content)


@sweep("accident", COST_NOTHING, ids=lambda f: f.__name__)
def test_it_costs_nothing(examine, honest, accident):
    data = honest()
    accident(data)
    report = examine(as_read(data))
    assert scores(report) == {e["name"]: e["max_score"] for e in report["exercises"]}


def named(report, name):
    return next(e for e in report["exercises"] if e["name"] == name)


def without_right(report, *names):
    """What the exercises have that lost points; the others have all theirs."""
    lost = {e["name"]: e for e in report["exercises"] if e["score"] < e["max_score"]}
    assert lost.keys() == set(names)
    return [lost[name] for name in names]


def test_a_value_from_outside_a_wrong_helper_and_another_name_are_told(examine, honest):
    reads = "scale = 3.0\ndef softmax(scores):\n    return np.exp(scores) * scale\n"
    renamed = "def look_up(query, keys, values, temperature=1.0):\n    return values[0]"
    report = examine(honest(softmax=reads, soft_lookup=renamed))
    said = {e["name"]: e["message"] for e in report["exercises"]}
    assert said["softmax"].startswith("Your answer reads `scale` from outside.")
    helper = "Your answer calls your own `softmax`, which lost points itself: correct"
    assert helper in said["attend"]
    assert said["alignment_scores"] == ""
    assert said["soft_lookup"].endswith(
        "If look_up is your answer: it has to be called soft_lookup, as in the stub, "
        "which is still there."
    )


def test_a_name_that_is_set_below_its_check_is_named(examine, honest):
    data = honest(softmax=SOFTMAX.replace("np.exp", "exponential"))
    data["cells"].append(code_cell("exponential = np.exp"))
    said = named(examine(data), "softmax")["message"]
    assert "`exponential` cannot be found where your answer is checked" in said


def test_a_later_wrong_attempt_that_was_checked_counts(examine, honest):
    data = honest()
    wrong = "def softmax(scores):\n    return scores * 0"
    data["cells"] += [code_cell(wrong), code_cell("check(softmax)")]
    report = examine(data)
    assert scores(report)["softmax"] == 0


def test_who_ends_the_kernel_when_asked_again_is_asked_no_more(examine, honest):
    """A stub above its check, so open to the end, and below it what ends the kernel."""
    data = honest(soft_lookup=stub_of(honest(), "soft_lookup"))
    killer = "import os\ndef soft_lookup(*_, **__): os._exit(1)"
    data["cells"].append(code_cell(killer))
    report = examine(data)
    without_right(report, "soft_lookup")
    assert sum("calling soft_lookup ended" in note for note in report["notes"]) == 1


def test_who_is_asked_again_is_asked_something_else(examine, honest):
    """A stub that writes down its questions, and is answered from memory at the end."""
    listens = (
        "seen = []\ndef softmax(scores):\n"
        "    seen.append(scores.tobytes())\n    raise NotImplementedError\n"
    )
    remembers = SOFTMAX.replace("softmax", "_mine") + (
        "\ndef softmax(scores):\n    known = scores.tobytes() in seen\n"
        "    return _mine(scores) if known else scores\n"
    )
    data = honest(softmax=listens)
    data["cells"].append(code_cell(remembers))
    assert named(examine(data), "softmax")["score"] == 0
