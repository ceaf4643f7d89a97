"""Beside ``make``: on Linux, the extra ``cpu`` takes PyTorch's CPU build by uv."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest


def test_the_extra_cpu_takes_pytorch_from_its_cpu_index(
    artefact: None, root: Path, tmp_path: Path
):
    uv = shutil.which("uv", path=Path(sys.executable).parent) or shutil.which("uv")
    if not uv:
        pytest.skip("uv is not installed")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, tmp_path)
    command = [uv, "lock", "--python", sys.executable]
    locked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    if "download.pytorch.org" in locked.stderr:
        pytest.skip("PyTorch's index of CPU builds cannot be reached")
    assert not locked.returncode, locked.stderr
    packages = tomllib.loads((tmp_path / "uv.lock").read_text())["package"]
    builds = [package["version"] for package in packages if package["name"] == "torch"]
    assert any(version.endswith("+cpu") for version in builds), builds
