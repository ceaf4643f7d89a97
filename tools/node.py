"""The Node.js that Playwright comes with, for scripts that run at build time."""

from __future__ import annotations

import subprocess

from sphinx.errors import ExtensionError


class NodeFailed(ExtensionError):
    """Node.js is not there, does not run, or a script failed in it."""


def node_program() -> str:
    """The program of Playwright's driver, which is Node.js as it is released.

    Raises:
        NodeFailed: it is not installed, or does not run.
    """
    try:
        from playwright._impl._driver import compute_driver_executable

        program, _driver = compute_driver_executable()
        subprocess.run([program, "--version"], capture_output=True, check=True)
    except (ImportError, OSError, subprocess.SubprocessError) as error:
        raise NodeFailed(f"Playwright's Node.js does not run ({error})") from error
    return program


def run_script(*arguments: object, text: str) -> str:
    """What a script writes.

    Args:
        arguments: the script, and what it is called with.
        text: what the script reads.

    Raises:
        NodeFailed: Node.js or the script did not run to the end.
    """
    done = subprocess.run(
        [node_program(), *map(str, arguments)],
        input=text,
        capture_output=True,
        encoding="utf-8",
    )
    if done.returncode != 0:
        raise NodeFailed(f"{arguments[0]} failed: {done.stderr}")
    return done.stdout
