/* Tooltips are drawn by the theme's copy of Bootstrap, which is larger than any other
   script of a page and does nothing else there. It is loaded when somebody points at a
   button that has one, or reaches it by keyboard. */
"use strict";

{
  const EVENTS = ["pointerover", "focusin"];
  const BOOTSTRAP =
    `${document.documentElement.dataset.content_root}_static/scripts/bootstrap.js`;

  async function load({ target }) {
    const button = target.closest('[data-bs-toggle="tooltip"]');
    if (!button) {
      return;
    }
    try {
      await Loader.script(BOOTSTRAP);
    } catch {
      return; // buttons keep their titles, which browsers show; the next event tries again
    }
    EVENTS.forEach((name) => removeEventListener(name, load));
    if (button.matches(":hover, :focus-visible")) {
      bootstrap.Tooltip.getInstance(button).show();
    }
  }

  EVENTS.forEach((name) => addEventListener(name, load));
}
