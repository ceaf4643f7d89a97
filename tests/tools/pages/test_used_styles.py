"""Rules that can apply to something stay, and no others."""

import pytest

from tools.pages.used_styles import names_in_page, used_rules, words_in_script

PAGE = '<main id="top"><p class="lead note">x</p><x-y class=bare></x-y></main>'


@pytest.mark.parametrize(
    "rule",
    [
        "p{color:red}",
        ".lead.note{color:red}",
        "#top > p{color:red}",
        'x-y.bare::before{content:"a}b"}',
        "p:not(.missing){color:red}",
        ":root{--a:1}",
        "[data-theme=dark]{color:red}",
        "*,::before{margin:0}",
        "html body p:hover{color:red}",
        "@keyframes spin{from{left:0}to{left:1px}}",
        "@font-face{font-family:X;src:url(x.woff)}",
    ],
)
def test_a_rule_that_can_apply_stays(rule: str):
    left = used_rules(rule, names_in_page(PAGE))
    assert "".join(left.split()).replace(";}", "}") == "".join(rule.split())


@pytest.mark.parametrize(
    "rule",
    [
        ".missing{color:red}",
        "p.missing{color:red}",
        "#missing p{color:red}",
        "nav p{color:red}",
        "@media print{.missing{color:red}}",
        '@charset "utf-8";',
        "/* nothing */",
    ],
)
def test_a_rule_that_cannot_apply_goes(rule: str):
    assert used_rules(rule, names_in_page(PAGE)) == ""


def test_of_a_list_the_selectors_that_can_apply_stay():
    css = "@media (min-width:1px){.lead,.missing,p:is(.a,.b){color:red}}"
    left = used_rules(css, names_in_page(PAGE))
    assert "missing" not in left
    assert ".lead,p:is(.a,.b){color:red" in left
    assert left.startswith("@media (min-width:1px){")


def test_what_a_script_names_may_come_into_the_page():
    script = "item.classList.add('is-open'); document.createElement('dialog')"
    css = "dialog.is-open{color:red}"
    assert used_rules(css, names_in_page(PAGE)) == ""
    assert used_rules(css, words_in_script(script)) != ""
