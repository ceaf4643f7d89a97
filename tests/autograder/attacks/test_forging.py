"""Attacks 1 to 17: points that were not earned.

Each attacker's notebook is right but for softmax, which is wrong and holds the attack.
The honest notebook is wrong in the same way and attacks nothing.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.answers import answer, decode
from autograder.examine import expected_answers
from autograder.exercise import load_topic
from autograder.judge import judge
from autograder.release import chapter_names
from benchmarks.classroom import submission
from tests.autograder.attacks.conftest import WRONG, about, printed
from tests.autograder.conftest import TOPIC, scores

# Sends whatever it is told to, in the way in which answers are sent.
SENDER = """
import json
from autograder.respond import MIME_TYPE
from autograder.exercise import load_topic
from IPython.display import display
def send(number, text):
    display({MIME_TYPE: {number: text}}, raw=True)
"""

# Signs a message with the session's key, and sends any header and content.
FORGER = """
import json
kernel = get_ipython().kernel
session = kernel.session
def forge(msg_type, content, parent=None, socket=None, metadata=None):
    parent = kernel.get_parent() if parent is None else parent
    message = session.msg(msg_type, parent=parent, metadata=metadata)
    message["content"] = content
    session.send(socket or kernel.iopub_socket, message, ident=b"x")
"""

IN_THE_SOLUTION = {
    "02 points are displayed from inside a solution": (
        "get_ipython().displayhook(32)\nprint(32)\n"
        "from IPython.display import display\n"
        "def softmax(scores):\n"
        "    get_ipython().displayhook(32); display(32); print(32)\n"
        "    return scores * 0\n32"
    ),
    "03 partial credit is NaN": "def softmax(s): return float('nan')\nfloat('nan')",
    "03 partial credit is negative": "def softmax(s): return -5\n-5",
    "03 partial credit is a text": "def softmax(s): return '100'\n'100'",
    "03 partial credit is a huge number": "def softmax(s): return 10**400\n10**400",
    "03 partial credit is infinite": "def softmax(s): return float('inf')\n1e999",
    "04 comparisons and builtins are patched": (
        "import builtins, math, numpy as np, torch\n"
        "torch.allclose = np.allclose = lambda *a, **k: True\n"
        "np.isclose = math.isclose = lambda *a, **k: True\n"
        "np.array_equal = torch.equal = lambda *a, **k: True\n"
        "np.testing.assert_allclose = lambda *a, **k: None\n"
        "builtins.all = builtins.any = lambda *a: True\n"
        "builtins.isinstance = lambda *a: True\n" + WRONG
    ),
    "05 an object equals everything": (
        "class Yes(float):\n"
        "    def __eq__(self, other): return True\n"
        "    __ne__ = lambda self, other: False\n"
        "    __float__ = lambda self: 1.0\n"
        "    __array__ = lambda self, *a, **k: __import__('numpy').ones(3)\n"
        "    __torch_function__ = classmethod(lambda *a, **k: True)\n"
        "    __array_function__ = __array_ufunc__ = lambda *a, **k: True\n"
        "def softmax(scores): return Yes()\n"
    ),
    "05 an array lies about its type, shape and bytes": (
        "import numpy as np\n"
        "class Liar(np.ndarray):\n"
        "    dtype = shape = property(lambda self: Liar)\n"
        "    def tobytes(self, *a): return b'1' * 8\n"
        "    def __array_ufunc__(self, *a, **k): return True\n"
        "    def __array_finalize__(self, other): pass\n"
        "def softmax(scores): return np.zeros(scores.shape).view(Liar)\n"
    ),
    "06 a transformer drops and replaces statements": (
        "import ast\n"
        "class Drop(ast.NodeTransformer):\n"
        "    def visit_Expr(self, node):\n"
        "        question = 'respond' in ast.dump(node)\n"
        "        return ast.parse('32').body[0] if question else node\n"
        "get_ipython().ast_transformers.append(Drop())\n" + WRONG
    ),
    "06 an input transformer rewrites the question": (
        "get_ipython().input_transformers_cleanup.append(\n"
        "    lambda lines: ['32\\n'] if 'respond' in ''.join(lines) else lines)\n"
        + WRONG
    ),
    "07 errors are hidden": (
        "ip = get_ipython()\n"
        "ip.showtraceback = ip.showsyntaxerror = lambda *a, **k: None\n"
        "ip.set_custom_exc((BaseException,), lambda *a, **k: ['32'])\n"
        "import sys; sys.excepthook = lambda *a: None\n"
        "def softmax(scores): raise RuntimeError\n"
    ),
    "08 check and the answering code are patched": (
        "import autograder.check, autograder.judge, autograder.answers as a, "
        "autograder.respond as r\n"
        "autograder.check.check = lambda f: 1e9\n"
        "autograder.judge.judge = autograder.judge.disagreement = lambda *a: None\n"
        'a.answer = lambda case, f, seed: \'{"value": null, "score": 7}\'\n' + WRONG
    ),
    "08 the responder is replaced": SENDER
    + (
        "import autograder.respond\n"
        "def respond(topic, name, seeds):\n"
        "    for number in range(-3, 60):\n"
        "        send(number, json.dumps({'value': True, 'points': 99, 'passed': 1}))\n"
        "        send(number, json.dumps({'unreadable': 'x'}))\n"
        "autograder.respond.respond = respond\n" + WRONG
    ),
    "08 the cases are replaced by easy ones": (
        "from autograder.exercise import load_topic\n"
        f"cases = load_topic({TOPIC!r}).exercises['softmax'].cases\n"
        "cases[:] = [cases[-1]] * len(cases)\n" + WRONG
    ),
    "08 answers are sent early and for other questions": SENDER
    + (
        "for number in range(50):\n"
        "    send(number, json.dumps({'value': 1}))\n"
        "def softmax(scores):\n"
        "    for number in range(50):\n"
        "        send(number, json.dumps({'raised': 'ValueError'}))\n"
        "    return scores * 0\n"
    ),
    "09 memory is searched for expected values": (
        "import gc, sys, linecache, inspect\n"
        "def softmax(scores):\n"
        "    frame, seen = inspect.currentframe(), []\n"
        "    while frame:\n"
        "        seen += [v for v in frame.f_locals.values()]\n"
        "        frame = frame.f_back\n"
        "    found = [o for o in gc.get_objects()\n"
        "             if type(o).__name__ in ('Expected', 'KnownMistake', 'Mistake')]\n"
        "    modules = [m for m in sys.modules if 'solution' in m or 'mistake' in m]\n"
        "    files = [f for f in linecache.cache if 'solutions' in f]\n"
        "    global FOUND\n    FOUND = [found, modules, files]\n"
        "    same = [o for o in [*seen, *gc.get_objects()]\n"
        "            if type(o) is type(scores) and o is not scores\n"
        "            and o.shape == scores.shape]\n"
        "    return same[0] if same else scores * 0\n"
    ),
    "10 forged status and replies end the question early": FORGER
    + (
        "def softmax(scores):\n"
        "    forge('status', {'execution_state': 'idle'})\n"
        "    forge('execute_reply', {'status': 'ok', 'execution_count': 1},\n"
        "          socket=kernel.shell_stream)\n"
        "    return scores * 0\n"
    ),
    "10 forged messages have no form": FORGER
    + (
        "deep = []\n"
        "for _ in range(900): deep = [deep]\n"
        "for content in ([], 'x', 1, None, {}, {'data': []}, {'data': {'a': deep}},\n"
        "                {'execution_state': []}, {'name': 1, 'text': 2},\n"
        "                {'data': {'text/plain': deep, 'image/png': 1}},\n"
        "                {'ename': 1, 'evalue': deep, 'traceback': 7},\n"
        "                {'text': '\\ud800', 'name': '\\ud800'},\n"
        "                {'transient': 1, 'data': 1, 'metadata': 1}):\n"
        "    for kind in ('stream', 'display_data', 'execute_result', 'error',\n"
        "                 'status', 'update_display_data', 'clear_output',\n"
        "                 'comm_open', 'x' * 999):\n"
        "        packed = json.dumps(content).encode()\n"
        "        forge(kind, packed)\n"
        "        forge(kind, packed, socket=kernel.shell_stream)\n"
        "for frames in ([b''], [b'a'] * 50, [b'<IDS|MSG>'], [b'<IDS|MSG>', b'x'],\n"
        "               [b'x', b'<IDS|MSG>', b'', b'{', b'}', b'[', b'1'],\n"
        "               [b'<IDS|MSG>', b'\\xff' * 64, b'{}', b'{}', b'{}', b'{}'],\n"
        "               [b'<IDS|MSG>', b'', b'[' * 9999, b'{}', b'{}', b'{}']):\n"
        "    kernel.iopub_socket.send_multipart(frames)\n" + WRONG
    ),
    "10 forged answers carry every parent": FORGER
    + SENDER
    + (
        "def softmax(scores):\n"
        "    own = kernel.get_parent()\n"
        "    for parent in (own, {}, {'header': {'msg_id': 'x'}}, {'header': own}):\n"
        "        for n in range(9):\n"
        "            forge('display_data', {'metadata': {}, 'data': {MIME_TYPE: {\n"
        "                n: '{\"value\": 1}'}}}, parent=parent)\n"
        "    return scores * 0\n"
    ),
    "11 the reference is looked for by import": (
        "import importlib, sys, pkgutil\n"
        "found = []\n"
        "for name in ('solutions', 'solutions.simplified_attention',\n"
        "             'solutions.mistakes', 'tests', 'benchmarks.classroom'):\n"
        "    try: found.append(importlib.import_module(name))\n"
        "    except ImportError: pass\n"
        "found += [m.name for m in pkgutil.iter_modules() if 'solution' in m.name]\n"
        "FOUND = found\n"
        "try:\n"
        "    from solutions.simplified_attention import softmax\n"
        "except ImportError:\n"
        "    def softmax(scores): return scores * 0\n"
    ),
    "12 the process exits": "import os\nos._exit(0)\n" + WRONG,
    "12 the process exits while it is asked": (
        "import os\ndef softmax(scores): os._exit(0)\n"
    ),
    "12 SystemExit is raised at once and in the answer": (
        "import sys, atexit\natexit.register(print, 32)\n"
        "def softmax(scores): sys.exit(0)\nquit()\nexit()\nsys.exit()\n"
    ),
    "12 KeyboardInterrupt is raised in the answer": (
        "def softmax(scores): raise KeyboardInterrupt\n"
    ),
    "12 the process is aborted": (
        "import ctypes\ndef softmax(scores): ctypes.string_at(0)\n"
    ),
    "12 the kernel is told to shut down": (
        "def softmax(scores):\n"
        "    get_ipython().kernel.do_shutdown(False)\n"
        "    get_ipython().ask_exit()\n"
        "    get_ipython().kernel.io_loop.stop()\n"
        "    return scores * 0\n"
    ),
    "12 an alarm jumps out of the question": (
        "import signal\n"
        "def out(*a): raise SystemExit\n"
        "signal.signal(signal.SIGALRM, out)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\n" + WRONG
    ),
    "13 a thread changes results later": (
        "import threading, time\n"
        "kept = []\n"
        "def later():\n"
        "    import scipy.special\n"
        "    while True:\n"
        "        time.sleep(0.002)\n"
        "        for scores, result in kept:\n"
        "            result[...] = scipy.special.softmax(scores, -1) * 2\n"
        "threading.Thread(target=later, daemon=True).start()\n"
        "def softmax(scores):\n"
        "    result = scores * 0\n"
        "    kept.append((scores, result))\n"
        "    return result\n"
    ),
    "15 the inputs are changed so that they agree": (
        "def softmax(scores):\n    scores[...] = 0\n    return scores\n"
    ),
    "16 grading is detected": (
        "import os, sys, time, socket, getpass\n"
        "graded = (socket.gethostname() == 'sandbox' or os.getpid() == 1\n"
        "          or os.getcwd() == '/home/student' or time.time() > 0)\n"
        "print('GRADED', graded)\n"
        "def softmax(scores):\n"
        "    return scores * 0 if not graded else scores * 0 + 1 / scores.shape[-1]\n"
    ),
    "17 the random generator gives zeros": (
        "import numpy as np, torch, random\n"
        "class Zeros:\n"
        "    def __getattr__(self, name):\n"
        "        return lambda *a, size=None, **k: np.zeros(\n"
        "            size if size is not None else (a[-1] if a else ()))\n"
        "    def integers(self, low, high=None, size=None, **k):\n"
        "        return low if size is None else np.full(size, low)\n"
        "np.random.default_rng = lambda *a: Zeros()\n"
        "def softmax(scores): return np.ones(scores.shape) / scores.shape[-1]\n"
    ),
    "17 the random generator gives what another seed gives": (
        "import numpy as np, scipy.special\n"
        "real = np.random.default_rng\n"
        "np.random.default_rng = lambda *a: real(7)\n"
        "def softmax(scores): return scipy.special.softmax(scores, -1)\n"
    ),
    "ipython callbacks and hooks are installed": (
        "import sys, gc\n"
        "ip = get_ipython()\n"
        "for event in ('pre_execute', 'pre_run_cell', 'post_execute',\n"
        "              'post_run_cell'):\n"
        "    ip.events.register(event, lambda *a: ip.displayhook(32))\n"
        "plain = ip.display_formatter.formatters['text/plain']\n"
        "plain.for_type(float, lambda *a: '32')\n"
        "ip.run_cell = ip.run_cell_async = lambda *a, **k: 32\n"
        "ip.kernel.do_execute = lambda *a, **k: {'status': 'ok'}\n"
        "sys.settrace(lambda *a: None)\n"
        "gc.callbacks.append(lambda *a: None)\n" + WRONG
    ),
    "the name is bound to something odd": (
        "class Odd:\n"
        "    def __call__(self, *a, **k): return 32\n"
        "    def __getattr__(self, name): raise SystemExit\n"
        "softmax = Odd()\n"
    ),
    "every case raises the expected error": (
        "def softmax(scores): raise ValueError('as you like it')\n"
    ),
    "NaN is returned everywhere": "def softmax(scores): return scores * float('nan')\n",
    "a result cannot be read": (
        "class Bad(list):\n"
        "    def __len__(self): return 10**18\n"
        "    def __iter__(self): raise SystemExit\n"
        "def softmax(scores): return Bad([1])\n"
    ),
    "a result is a generator, a function, a module": (
        "results = [iter([1]), len, __import__('math'), object(), {1: 2}, 1j, b'x']\n"
        "def softmax(scores):\n"
        "    results.append(results.pop(0))\n"
        "    return results[-1]\n"
    ),
    "a result is nested too deep or contains itself": (
        "def softmax(scores):\n    loop = []\n    loop.append(loop)\n    return loop\n"
    ),
    "an exception fails to print and claims to be another": (
        "class Mine(ValueError):\n"
        "    def __str__(self): raise SystemExit\n"
        "    __class__ = property(lambda self: KeyError)\n"
        "Mine.__name__ = 'ValueError'\n"
        "def softmax(scores): raise Mine\n"
    ),
    "the answer holds null bytes and half characters": (
        "x = '\x00'\ny = '\\ud800'\nprint('\\ud800')\n" + WRONG
    ),
    "a notebook of its own is run": (
        "import nbformat, subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'print(32)'])\n" + WRONG
    ),
}
EXPLAINED = (
    "differ",
    "expected",
    "raised",
    "no answer was received",
    "ended the kernel",
    "its cell stopped",
    "the result",
    "malformed",
    "misconception",
)


def skip_execution(data):
    for cell in data["cells"]:
        cell["metadata"].setdefault("tags", []).append("skip-execution")


def raises_exception(data):
    for cell in data["cells"]:
        cell["metadata"]["tags"] = ["raises-exception", "remove-cell"]


IN_THE_METADATA = {
    "01 a skip-execution tag is on every cell": skip_execution,
    "01 other tags are on every cell": raises_exception,
}


@pytest.fixture(scope="module")
def graded(grade_class, attacking, master, right):
    students = {"honest": attacking(), "neighbour a": submission(master, right)}
    tell = ["print('FOUND', globals().get('FOUND'))"]
    students |= {
        name: attacking(code, after=tell) for name, code in IN_THE_SOLUTION.items()
    }
    for name, spoil in IN_THE_METADATA.items():
        students[name] = attacking()
        spoil(students[name])
    files = "14 own modules lie beside the notebook"
    students[files] = attacking()
    students["neighbour z"] = submission(master, right)

    def put_files_beside(course):
        folder = course / "submitted" / files / TOPIC
        poison = "raise SystemExit('poisoned')"
        for name in ("numpy.py", "sitecustomize.py", "conftest.py", "IPython.py"):
            (folder / name).write_text(poison)
        (folder / "torch").mkdir()
        (folder / "torch" / "__init__.py").write_text(poison)
        (folder / "numpy.cpython-311-x86_64-linux-gnu.so").write_bytes(b"\x7fELF")
        startup = folder / ".ipython" / "profile_default" / "startup"
        startup.mkdir(parents=True)
        (startup / "00.py").write_text(poison)

    return grade_class(students, spoil=put_files_beside)


FORGERIES = [
    *IN_THE_SOLUTION,
    *IN_THE_METADATA,
    "14 own modules lie beside the notebook",
]


@pytest.mark.parametrize("attack", FORGERIES)
def test_a_forgery_earns_no_more_than_the_same_answer_without_it(graded, attack):
    honest, report = graded.reports["honest"], graded.reports[attack]
    assert scores(honest)["softmax"] == 0 == scores(report)["softmax"], about(report)
    assert report["score"] <= honest["score"]
    assert graded.marks[attack] == report["score"]


@pytest.mark.parametrize("attack", FORGERIES)
def test_the_report_says_why_a_forgery_earned_nothing(graded, attack):
    said = about(graded.reports[attack])
    exercise = graded.reports[attack]["exercises"][0]
    assert exercise["mistake"] or any(words in said for words in EXPLAINED), said


def test_the_neighbours_of_forgers_have_all_their_points(graded, everything):
    assert graded.marks["neighbour a"] == everything == graded.marks["neighbour z"]
    assert graded.outcome.refused == {}


def test_most_forgeries_cost_the_other_exercises_nothing(graded):
    """What is not broken on purpose is graded as if nothing had happened."""
    honest = graded.reports["honest"]["score"]
    harmed = {s for s, r in graded.reports.items() if r["score"] < honest}
    assert harmed <= {
        "04 comparisons and builtins are patched",
        "06 a transformer drops and replaces statements",
        "06 an input transformer rewrites the question",
        "08 check and the answering code are patched",
        "08 the responder is replaced",
        "12 an alarm jumps out of the question",
        "12 the kernel is told to shut down",
        "17 the random generator gives zeros",
        "17 the random generator gives what another seed gives",
        "ipython callbacks and hooks are installed",
    }


@pytest.mark.parametrize(
    "attack",
    [
        "09 memory is searched for expected values",
        "11 the reference is looked for by import",
    ],
)
def test_a_search_finds_no_reference(graded, attack):
    found = [
        line
        for line in printed(graded.notebook(attack)).splitlines()
        if "FOUND" in line
    ]
    assert found
    for line in found:
        assert not set(line.removeprefix("FOUND")) - set("[] ,"), line


def test_tags_that_were_changed_are_named(graded):
    for attack in IN_THE_METADATA:
        notes = " ".join(graded.reports[attack]["notes"])
        assert "tags" in notes
        assert "check-softmax" in notes


def test_an_object_that_claims_points_is_not_a_number_in_the_gradebook(graded):
    for mark in graded.marks.values():
        assert np.isfinite(mark)
        assert mark >= 0


# The judge alone, on every chapter: what is known before the question is asked.


def known_seeds(topic, chance):
    """The same at every run, so that luck does not decide about a test."""
    draw = random.Random(f"{topic.name}/{chance}").getrandbits
    return {n: [draw(48) for _ in e.cases] for n, e in topic.exercises.items()}


@pytest.fixture(scope="module", params=chapter_names())
def chapter(request):
    topic = load_topic(request.param)
    return topic, expected_answers(topic, known_seeds(topic, 1))


def test_answers_remembered_from_another_grading_earn_nothing(chapter):
    topic, asked = chapter
    earned = {}
    for name, exercise in topic.exercises.items():
        seeds = known_seeds(topic, 2)[name]
        reference = topic.reference(name)
        given_answers = [
            decode(answer(case, reference, seed))
            for case, seed in zip(exercise.cases, seeds, strict=True)
        ]
        earned[name] = judge(exercise, given_answers, asked[name]).score
    assert not any(earned.values()), earned


@pytest.mark.parametrize("constant", [0.0, 1.0, float("nan"), True])
def test_the_right_shape_filled_with_one_value_earns_nothing(chapter, constant):
    def filled(value):
        if isinstance(value, np.ndarray):
            return np.full(value.shape, constant).astype(value.dtype, casting="unsafe")
        if isinstance(value, list):
            return [filled(item) for item in value]
        if isinstance(value, dict):
            return {name: filled(item) for name, item in value.items()}
        return value

    topic, asked = chapter
    earned = {}
    with np.errstate(invalid="ignore"):
        for name, exercise in topic.exercises.items():
            given = [replace(a, value=filled(a.value)) for a in asked[name].reference]
            earned[name] = judge(exercise, given, asked[name]).score
    assert not any(earned.values()), earned


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["|b1", "<f8", "|O", "V8", "ValueError", "AAAA", ""]),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(
            st.sampled_from(
                ["value", "raised", "unreadable", "items", "dtype", "shape", "data"]
            )
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(json_values)
def test_no_forged_encoding_of_an_answer_is_worth_a_point(topic, expected, forged):
    exercise = topic.exercises["softmax"]
    given_answers = [decode(json.dumps(forged))] * len(exercise.cases)
    report = judge(exercise, given_answers, expected["softmax"])
    assert report.score == 0
    assert all(len(case.message) < 1000 for case in report.cases)
    assert all(line.isprintable() for case in report.cases for line in [case.message])
