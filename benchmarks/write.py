"""How many tokens a second the page for writing writes, in a headless Chromium.

    python -m benchmarks.write [_build/html]

Each line is the median of several runs from one prompt. With the cache, a token is read
once; without it, the whole text is read again for each token, up to a full context. As
played, the page also draws what it shows, and keeps to a pace of 25 tokens a second.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from playwright.sync_api import Page

from tools.chromium import NoChromium, headless_chromium, served

RUNS = 5
TOKENS = 60  # a context, after a short prompt
RATE = """([cached, tokens]) => {
  const weights = new Playground.Weights("write", "LanguageModel");
  const written = new Playground.WrittenText(new Playground.LanguageModel(weights));
  written.setText("The ");
  const start = performance.now();
  for (let n = 0; n < tokens; n++) {
    const cut = Playground.filterLogits(written.logits, 50, 0.9);
    const shares = Playground.distribution(cut, 0.8);
    if (!cached) {
      written.cache.truncate(0);
      [written.known, written.steps] = [[], []];
    }
    written.append(Playground.sampleToken(shares, (n * 0.618) % 1));
  }
  return tokens / ((performance.now() - start) / 1000);
}"""


def main(arguments: list[str]) -> None:
    """Print what was measured on a built book."""
    html = Path(arguments[0] if arguments else "_build/html")
    if not (html / "chapters" / "playground_write.html").is_file():
        sys.exit(f"no page for writing in {html}: make book")
    try:
        with served(html) as home, headless_chromium() as browser:
            page = browser.new_page()
            page.goto(f"{home}chapters/playground_write.html")
            page.locator("#write-text").hover()
            page.wait_for_selector(".playground.has-model")
            for name, cached in [("with the cache", True), ("without", False)]:
                rates = [page.evaluate(RATE, [cached, TOKENS]) for _ in range(RUNS)]
                print(f"{name:16}{statistics.median(rates):7.0f} tokens/s")
            print(f"{'as played':16}{played(page):7.0f} tokens/s")
    except NoChromium as error:
        sys.exit(f"needs Chromium; {error}")


def played(page: Page) -> float:
    """Tokens a second from pressing “play” until the page pauses by itself."""
    start = time.perf_counter()
    page.get_by_role("button", name="play").click()
    status = page.locator("#write-status")
    status.filter(has_text="and paused").wait_for()
    seconds = time.perf_counter() - start
    return int(status.inner_text().split()[2]) / seconds


if __name__ == "__main__":
    main(sys.argv[1:])
