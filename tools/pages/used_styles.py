"""Style sheets without the rules that no page can use.

A rule stays when each tag, class and id that one of its selectors names occurs in the
pages, or as a word in a script that may put it there later. What stands inside
``:not(...)``, ``:is(...)`` or ``[...]`` is not looked at, so a rule is kept in case of
doubt. This is how PurgeCSS works, which needs Node.js and its registry to be installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import tinycss2
from tinycss2.ast import AtRule, Node, QualifiedRule

TAG = re.compile(r"<([a-zA-Z][\w-]*)")
NAMES = re.compile(r"""\b(?:class|id)=(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""")
WORD = re.compile(r"[A-Za-z_][\w-]*")
# Everywhere, though no tag need stand in the source.
ALWAYS = frozenset({"html", "head", "body", "tbody"})
NESTING = frozenset({"media", "supports", "layer", "container"})


def names_in_page(html: str) -> set[str]:
    """Tags, classes and ids of a page."""
    names = {tag.lower() for tag in TAG.findall(html)}
    for found in NAMES.findall(html):
        names.update("".join(found).split())
    return names


def words_in_script(script: str) -> set[str]:
    """Whatever in a script may be a tag, a class or an id."""
    return set(WORD.findall(script))


def used_rules(css: str, names: Iterable[str]) -> str:
    """The part of a style sheet that can apply to something.

    Args:
        css: a style sheet.
        names: tags, classes and ids that can occur.
    """
    known = ALWAYS | set(names)
    rules = tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
    return "\n".join(_kept(rules, known))


def _kept(rules: list[Node], known: set[str]) -> list[str]:
    return [text for rule in rules if (text := _kept_of(rule, known))]


def _kept_of(rule: Node, known: set[str]) -> str:
    """What is left of a rule, or nothing."""
    if isinstance(rule, QualifiedRule):
        selectors = [s for s in _split(rule.prelude) if _needed(s) <= known]
        prelude = ",".join(tinycss2.serialize(s).strip() for s in selectors)
        return f"{prelude}{{{_declarations(rule)}}}" if selectors else ""
    if isinstance(rule, AtRule) and rule.lower_at_keyword in NESTING and rule.content:
        inner = tinycss2.parse_rule_list(
            rule.content, skip_comments=True, skip_whitespace=True
        )
        left = "\n".join(_kept(inner, known))
        prelude = tinycss2.serialize(rule.prelude)
        return f"@{rule.at_keyword}{prelude}{{{left}}}" if left else ""
    is_charset = isinstance(rule, AtRule) and rule.lower_at_keyword == "charset"
    return "" if is_charset else rule.serialize()  # it may only come first


def _declarations(rule: QualifiedRule) -> str:
    found = tinycss2.parse_blocks_contents(
        rule.content, skip_comments=True, skip_whitespace=True
    )
    return "".join(each.serialize() + ";" for each in found)


def _split(prelude: list[Node]) -> list[list[Node]]:
    """The selectors of a list; commas inside brackets do not part them."""
    selectors: list[list[Node]] = [[]]
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            selectors.append([])
        else:
            selectors[-1].append(token)
    return selectors


def _needed(selector: list[Node]) -> set[str]:
    """Tags, classes and ids without which a selector matches nothing."""
    needed = set()
    before = ""  # the literal in front, as in ".class" and ":hover"
    for token in selector:
        if token.type == "hash" or (token.type == "ident" and before == "."):
            needed.add(token.value)
        elif token.type == "ident" and before != ":":
            needed.add(token.lower_value)
        before = token.value if token.type == "literal" else ""
    return needed
