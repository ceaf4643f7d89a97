"""What students install."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from zipfile import ZipFile


def test_the_wheel_holds_the_autograder_and_the_toolkit_but_no_answers(
    root: Path, tmp_path: Path
):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=root,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    folders = {name.split("/")[0] for name in ZipFile(wheel).namelist()}
    assert {f for f in folders if not f.endswith(".dist-info")} == {
        "autograder",
        "toolkit",
    }


def test_jupyter_finds_the_sandbox_by_its_name():
    (found,) = entry_points(
        group="jupyter_client.kernel_provisioners", name="attention-sandbox"
    )
    assert found.load().__name__ == "SandboxProvisioner"
