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


def earners(root: Path, *names: str, show: Path | None = None) -> list:
    """What earns points of modules and pages; of all that ship, if none is named."""
    shown = ["--ro-bind", show, show] if show else []
    done = subprocess.run(
        [
            *(*WALLS, "--ro-bind", root, root, "--chdir", root),  # it may lie in /tmp
            *(*shown, sys.executable, "-m", "tests.autograder.borrowed", *names),
        ],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_what_would_earn_points_is_found(needs_sandbox, root, tmp_path):
    page = tmp_path / "added.md"
    page.write_text(PAGE, encoding="utf-8")
    found = earners(root, "solutions.masking", str(page), show=tmp_path)
    names = {(name, exercise) for name, exercise, _ in found}
    assert ("solutions.masking.causal_mask", "causal_mask") in names
    (added,) = [pair for pair in names if pair[0].startswith("added.")]
    assert added == ("added.Sizes.weights_of", "softmax")


def test_nothing_that_ships_earns_points(needs_sandbox, root):
    assert earners(root) == []
