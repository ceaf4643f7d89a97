"""Formulas on a page: wait until they are set."""

from playwright.sync_api import Page

# The settings of MathJax are there before its script, which adds ``startup``.
BEGUN = "() => !window.MathJax || Boolean(window.MathJax.startup?.promise)"
DONE = "async () => { await window.MathJax?.startup.promise; }"


def typeset(tab: Page) -> None:
    """Wait until MathJax has set the formulas of a page, if it has some."""
    tab.wait_for_function(BEGUN)
    tab.evaluate(DONE)
