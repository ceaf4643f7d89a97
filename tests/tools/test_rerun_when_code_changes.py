"""Which files a chapter's outputs depend on."""

from pathlib import Path

import pytest

from tools.rerun_when_code_changes import code_used_by, digest_of

FENCE = "```"


def chapter(*code: str) -> str:
    cells = "".join(f"\n{FENCE}{{code-cell}} ipython3\n{c}\n{FENCE}\n" for c in code)
    return f"---\nkernelspec: {{name: python3}}\n---\n# Title\n{cells}"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    files = {
        "autograder/__init__.py": "",
        "autograder/check.py": "def check():\n    from autograder import judge",
        "autograder/judge.py": "import numpy",
        "autograder/grade.py": "import sqlalchemy",
        "autograder/exercises/__init__.py": "",
        "autograder/exercises/masking.py": "from autograder.inputs import (\n  tensor)",
        "autograder/exercises/scaling.py": "",
        "autograder/inputs.py": "",
        "solutions/__init__.py": "",
        "solutions/masking.py": "import torch",
        "solutions/mistakes/__init__.py": "",
        "solutions/mistakes/masking.py": "",
        "toolkit/__init__.py": "",
        "toolkit/figures.py": "",
        "toolkit/datasets.py": "",
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def used(source: str, root: Path, topic: str = "masking") -> set[str]:
    return {str(file.relative_to(root)) for file in code_used_by(source, topic, root)}


def test_imports_of_any_cell_count_and_those_of_prose_do_not(checkout):
    source = chapter("import numpy as np", "%time\nfrom toolkit import figures")
    source += "\nfrom toolkit import datasets\n"
    assert used(source, checkout) == {"toolkit/__init__.py", "toolkit/figures.py"}


def test_the_header_of_a_cell_is_not_code(checkout):
    source = chapter("---\ntags: [demo]\n---\nimport toolkit.figures")
    assert "toolkit/figures.py" in used(source, checkout)


def test_a_check_uses_everything_of_its_topic_and_nothing_of_another(checkout):
    assert used(chapter("from autograder.check import check"), checkout) == {
        "autograder/__init__.py",
        "autograder/check.py",
        "autograder/exercises/__init__.py",
        "autograder/exercises/masking.py",
        "autograder/inputs.py",
        "autograder/judge.py",
        "solutions/__init__.py",
        "solutions/masking.py",
        "solutions/mistakes/__init__.py",
        "solutions/mistakes/masking.py",
    }


def test_circular_imports_end(checkout):
    (checkout / "toolkit/figures.py").write_text("import toolkit.datasets")
    (checkout / "toolkit/datasets.py").write_text("import toolkit.figures")
    assert len(used(chapter("import toolkit.figures"), checkout)) == 3


def test_the_digest_changes_with_content_and_with_names(checkout):
    figures, datasets = (
        checkout / "toolkit/figures.py",
        checkout / "toolkit/datasets.py",
    )
    seen = {digest_of([figures], checkout), digest_of([datasets], checkout)}
    seen.add(digest_of([figures, datasets], checkout))
    figures.write_text("x = 1")
    seen.add(digest_of([figures], checkout))
    assert len(seen) == 4


def test_the_chapters_of_this_book_use_what_they_are_about(root):
    for path in (root / "solutions").glob("*.py"):
        page = root / "chapters" / path.name.replace(".py", ".md")
        if page.exists():
            files = used(page.read_text(encoding="utf-8"), root, path.stem)
            assert f"solutions/mistakes/{path.name}" in files
