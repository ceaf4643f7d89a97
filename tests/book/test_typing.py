"""Each character that a keyboard has arrives in the editor of a page."""

from string import printable

from playwright.sync_api import Browser, expect

TYPED = printable[:95]  # with the space, without what moves to another line


def test_whatever_is_typed_stands_in_the_editor(browser: Browser, site: str):
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{site}chapters/simplified_attention.html", wait_until="load")
        region = page.locator('.in-page[data-exercise="softmax"]')
        region.scroll_into_view_if_needed()
        editor = region.locator(".cm-content")
        expect(editor).to_be_visible()
        editor.focus()
        page.keyboard.press("Control+a")
        page.keyboard.type(TYPED)
        expect(editor).to_have_text(TYPED)
