"""A book without solutions: its pages check from keys, and nothing tells an answer."""

import ast
import base64
import gzip
import html
import io
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, Locator, expect

from tools.packed_runtime import runtime_files
from tools.page_course import topics
from tools.pyodide import PyodideMissing

# With torch, or with references that a page prints.
ALSO = ("seq2seq", "playground_dates", "playground_digits", "playground_write")
STARTS = 120_000  # milliseconds; for a machine that does other things as well
PIECE = re.compile(r'"([A-Za-z0-9+/=]+)"\);')
TELLING = 25  # characters of a line without its blanks
NO_SHIFT = """\
def softmax(scores):
    powers = np.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)
"""
SHIFTED = NO_SHIFT.replace("exp(scores)", "exp(scores - scores.max(-1, keepdims=True))")


@pytest.fixture(scope="module")
def hidden(
    artefact: None, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The pages of a book with the setting of the teacher's guide, not executed."""
    try:
        runtime_files(solutions=False)
    except PyodideMissing as missing:
        pytest.fail(str(missing)) if os.environ.get("CI") else pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("hidden")
    for name in ("chapters", "solutions", "tools"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(root / name, folder / name, ignore=ignored)
    settings = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    settings["execute"]["execute_notebooks"] = "off"
    guide = (root / "chapters" / "teachers_guide.md").read_text(encoding="utf-8")
    setting = yaml.safe_load(re.search(r"```yaml\n(.*?)```", guide, re.S)[1])
    settings["sphinx"]["config"].update(setting)
    (folder / "_config.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    first, *others = [f"chapters/{name}" for name in (*topics(), *ALSO)]
    table = {"format": "jb-book", "root": first}
    table["chapters"] = [{"file": name} for name in others]
    (folder / "_toc.yml").write_text(yaml.safe_dump(table), encoding="utf-8")
    program = Path(sys.executable).with_name("jupyter-book")
    done = subprocess.run(
        [program, "build", ".", "--quiet"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return folder / "_build" / "html"


def files_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    """All files of a book but Pyodide's, and those of the course that pages load."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "python" not in path.parts:
            yield str(path.relative_to(folder)), path.read_bytes()
    pieces = (folder / "_static" / "in_page" / "python").glob("course.zip.*.js")
    in_order = sorted(pieces, key=lambda piece: int(piece.name.split(".")[2]))
    text = "".join(PIECE.search(piece.read_text("ascii"))[1] for piece in in_order)
    course = gzip.decompress(base64.b64decode(text))
    with zipfile.ZipFile(io.BytesIO(course)) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            packed = name.endswith(".key")
            yield name, gzip.decompress(content) if packed else content


def lines_of(text: str) -> set[str]:
    """Lines of code without blanks and remarks, as they are or in the text of JSON."""
    found = re.split(r"\n|\\n", text.replace('\\"', '"'))
    long = [line for line in found if len(line) >= TELLING]  # they only get shorter
    lines = ("".join(line.partition("#")[0].split()).strip('",') for line in long)
    return {line for line in lines if len(line) >= TELLING}


def code_of(file: Path) -> str:
    """A module without its docstrings: those of mistakes are the hints."""
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            for number in range(node.lineno - 1, node.end_lineno):
                lines[number] = ""
    return "\n".join(lines)


@pytest.fixture(scope="module")
def telling(root: Path) -> set[str]:
    """Lines of references and mistakes that nobody gets to see anywhere else."""
    sources = (root / "solutions").rglob("*.py")
    secret = set().union(*(lines_of(code_of(file)) for file in sources))
    public = [*(root / "chapters").glob("*.md"), *(root / "toolkit").rglob("*.py")]
    public += (root / "autograder").rglob("*.py")
    return secret.difference(*(lines_of(f.read_text(encoding="utf-8")) for f in public))


def what_tells(files: Iterable[tuple[str, bytes]], telling: set[str]) -> list[str]:
    """Files that hold a line of a reference or of a mistake, or are named like one."""
    found = []
    for name, content in files:
        text = content.decode("utf-8", errors="ignore")
        lines = lines_of(text) & telling
        if "<" in text:
            lines |= lines_of(html.unescape(re.sub(r"<[^>]*>", "", text))) & telling
        if lines or name.startswith("solutions/"):
            found.append(f"{name}: {sorted(lines)[:3]}")
    return found


def test_no_file_of_it_holds_a_reference_or_a_mistake(hidden: Path, telling: set[str]):
    assert len(telling) > 500
    files = dict(files_in(hidden))
    assert {"autograder/in_page.py", "simplified_attention.key"} <= files.keys()
    assert what_tells(files.items(), telling) == []


def check(exercise: Locator, code: str, points: str) -> None:
    """Write an answer and check it; it gets as many points as the pattern says."""
    exercise.scroll_into_view_if_needed()
    exercise.locator(".cm-content").focus()
    exercise.page.keyboard.press("Control+a")
    exercise.page.keyboard.insert_text(code)
    exercise.page.keyboard.press("Control+Enter")
    expect(exercise).to_have_attribute("data-score", re.compile(points), timeout=STARTS)


def test_a_page_checks_from_keys_and_offers_no_solution(browser: Browser, hidden: Path):
    with browser.new_context(offline=True) as context:
        page = context.new_page()
        page.goto((hidden / "chapters" / "simplified_attention.html").as_uri())
        assert page.get_by_role("button", name=re.compile("^Check:")).count() == 5
        assert page.get_by_role("button", name=re.compile("^Solution")).count() == 0
        softmax = page.locator('.in-page[data-exercise="softmax"]')
        check(softmax, NO_SHIFT, "^[1-6]$")
        expect(softmax).to_have_attribute("data-mistake", "exponential_overflows")
        check(softmax, SHIFTED, "^7$")
        cell = page.locator(".in-page[data-cell]", has_text="order = np.array").first
        cell.get_by_role("button", name=re.compile("^Run")).click()
        said = cell.locator(".in-page-output")
        expect(said).to_contain_text("attend, an exercise above: solve it first")
