"""What axe finds serious on a page that is open, without asking the same twice."""

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

CONTRAST = "color-contrast"
# Rules that are not serious, or not yet part of axe's own choice.
CAREFUL = ["empty-table-header", "label-content-name-mismatch", "region"]
EVERYTHING = {"rules": {rule: {"enabled": True} for rule in CAREFUL}}
# What depends on the theme or on the width.
LOOKS = {"runOnly": [CONTRAST, "link-in-text-block", "scrollable-region-focusable"]}
# Axe takes milliseconds to say whether a text stands out, and a chapter has thousands.
# The answer depends on how the text looks, on what is painted behind it and, for a
# link, on the words around it. So of texts that are alike in this, the first and the
# last are asked about, on the first page that has any. Each box that scrolls is asked
# about as well. Returned are the kinds that are new.
MARK_DIFFERENT = """(known) => {
  const PAINT = ['backgroundColor', 'backgroundImage', 'opacity', 'filter',
    'mixBlendMode', 'position'];
  const INK = ['color', 'fontSize', 'fontWeight', 'textShadow', 'visibility'];
  const read = (e, names) => {
    const style = getComputedStyle(e);
    return names.map((name) => style[name]).join();
  };
  const grounds = new Map([[null, '']]);
  const plain = read(document.head, PAINT);
  const ground = (e) => {
    if (!grounds.has(e)) {
      const own = read(e, PAINT);
      const disabled = e.matches(':disabled, [aria-disabled=true]') ? 'disabled' : '';
      const painted = own === plain ? '' : `|${own}`;
      grounds.set(e, ground(e.parentElement) + painted + disabled);
    }
    return grounds.get(e);
  };
  const old = new Set(known), kinds = new Map(), boxes = [];
  document.querySelectorAll('[data-asked]').forEach((e) => delete e.dataset.asked);
  for (const e of document.body.querySelectorAll('*')) {
    if (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight) boxes.push(e);
    const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!text && !e.matches('input, select, textarea')) continue;
    if (!e.getClientRects().length || e.closest('[aria-hidden=true]')) continue;
    const kind = [e.tagName, e.getAttribute('class'), ground(e), read(e, INK),
      read(e.parentElement, INK)].join();
    if (!old.has(kind)) kinds.set(kind, [kinds.get(kind)?.[0] ?? e, e]);
  }
  const scrolls = (e) => /auto|scroll/.test(getComputedStyle(e).overflow);
  const asked = [...kinds.values()].flat().concat(boxes.filter(scrolls));
  asked.forEach((e) => { e.dataset.asked = ''; });
  return [[...kinds.keys()], asked.length];
}"""
ASK_DIFFERENT = f"""axe.configure({{
  rules: [{{ id: "{CONTRAST}", selector: "[data-asked], [data-asked] *" }}],
}});"""


def violations(
    tab: Page,
    context: Any = None,
    options: dict[str, Any] | None = None,
    configure: str = "",
) -> list[dict]:
    """The rules that a page breaks, as axe reports them.

    Args:
        tab: the page.
        context: the part of it that is looked at.
        options: of axe.
        configure: a script that changes axe's rules before they are asked.
    """
    # Style sheets are not fetched once more: no rule that is asked needs their text.
    asked = {"resultTypes": ["violations"], "preload": False, **(options or {})}
    axe = Axe(AXE_SCRIPT + configure)
    return axe.run(tab, context=context, options=asked).response["violations"]


def serious(found: list[dict]) -> list[tuple]:
    """What of it is serious: rule, place and reason."""
    return [
        (rule["id"], node["target"], node["failureSummary"])
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


def mark(tab: Page, known: set[str] | None) -> int:
    """Mark what is to be asked about, and take its kinds to the known ones."""
    new, count = tab.evaluate(MARK_DIFFERENT, sorted(known or ()))
    if known is not None:
        known.update(new)
    return count


def everything(tab: Page, known: set[str] | None = None) -> list[dict]:
    """What any rule finds in a page; whether texts stand out is asked as in ``looks``.

    All at once: finding out where everything is takes axe as long as most rules.

    Args:
        tab: the page.
        known: kinds of text that were asked about on other pages, to which those of
            this page are added.
    """
    mark(tab, known)
    return violations(tab, None, EVERYTHING, configure=ASK_DIFFERENT)


def looks(tab: Page, known: set[str] | None = None) -> list[tuple]:
    """What is serious in how a page looks in the theme and at the width that it has.

    Args:
        tab: the page.
        known: see ``everything``.
    """
    if not mark(tab, known):
        return []
    return serious(violations(tab, {"include": [["[data-asked]"]]}, LOOKS))
