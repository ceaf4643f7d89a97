"""The weight of a page is that of all files that it loads."""

import gzip
from pathlib import Path

from PIL import Image

from tools.chromium import headless_chromium, served
from tools.page_weight import weight


def test_weight_counts_what_a_page_loads_as_servers_send_it(
    needs_chromium: None, tmp_path: Path
):
    script = b"/* a comment */" * 1000
    (tmp_path / "a.js").write_bytes(script)
    Image.new("L", (70, 30)).save(tmp_path / "a.png")
    page = b'<script src="a.js"></script><img src="a.png">'
    (tmp_path / "page.html").write_bytes(page)
    with served(tmp_path) as home, headless_chromium() as browser:
        sizes = weight(browser, f"{home}page.html")
    sizes.pop("favicon.ico", None)  # which browsers may ask for by themselves
    assert sizes == {
        "page.html": len(gzip.compress(page)),
        "a.js": len(gzip.compress(script)),
        "a.png": (tmp_path / "a.png").stat().st_size,
    }
