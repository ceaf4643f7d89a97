"""What ships to students answers nothing: all that can be called is tried."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("attacker")

WALLS = [
    *("bwrap", "--unshare-pid", "--unshare-net", "--die-with-parent", "--new-session"),
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    *("--tmpfs", "/tmp"),
]


PAGE = """---
kernelspec: {name: python3}
---

# A page

```{code-cell} ipython3
:tags: [demo]
import numpy as np

large = 1e4

class Sizes:
    def weights_of(scores):
        raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return raised / raised.sum(axis=-1, keepdims=True)

    def too_large(scores):
        return np.exp(scores - large)
```

```{code-cell} ipython3
:tags: [book-only, remove-cell]
def softmax(scores):
    return Sizes.weights_of(scores)
```
"""


@pytest.fixture(scope="module")
def earners(needs_sandbox: None, root: Path, tmp_path_factory) -> set[tuple[str, str]]:
    """What earns points for which exercise: of all that ships, and of two answers."""
    page = tmp_path_factory.mktemp("pages") / "added.md"
    page.write_text(PAGE, encoding="utf-8")
    done = subprocess.run(
        [
            *(*WALLS, "--ro-bind", root, root, "--chdir", root),  # it may lie in /tmp
            *("--ro-bind", page.parent, page.parent),
            *(sys.executable, "-m", "tests.autograder.borrowed"),
            *("solutions.masking", str(page)),
        ],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = map(json.loads, done.stdout.splitlines())
    return {(name, exercise) for name, exercise, _ in lines}


def test_what_would_earn_points_is_found(earners):
    assert ("solutions.masking.causal_mask", "causal_mask") in earners
    added = {pair for pair in earners if pair[0].startswith("added.")}
    assert added == {("added.Sizes.weights_of", "softmax")}


def test_nothing_that_ships_earns_points(earners):
    staged = ("solutions.", "added.")
    assert {pair for pair in earners if not pair[0].startswith(staged)} == set()
