"""Pictures keep their room free and wait until they are near."""

from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from tools.lazy_pictures import leave_out_originals, size, with_lazy_pictures


def test_a_picture_gets_its_size_and_waits(tmp_path: Path):
    Image.new("L", (70, 30)).save(tmp_path / "drawn.gif")
    body = '<p><img alt="words" src="../_images/a%20b.gif" /></p>'
    files = {"a b.gif": tmp_path / "drawn.gif"}
    assert with_lazy_pictures(body, files, tmp_path) == (
        '<p><img loading="lazy" decoding="async" width="70" height="30" alt="words" '
        'src="../_images/a%20b.gif" /></p>'
    )


def test_a_png_becomes_a_webp_with_the_same_pixels(tmp_path: Path):
    numbers = np.random.default_rng(0).integers(0, 256, (30, 70, 4), dtype=np.uint8)
    Image.fromarray(numbers).save(tmp_path / "drawn.png")
    body = '<img src="../_images/a%20b.png">'
    files = {"a b.png": tmp_path / "drawn.png"}
    found = with_lazy_pictures(body, files, tmp_path / "out")
    assert 'src="../_images/a%20b.webp"' in found
    with Image.open(tmp_path / "out" / "a b.webp") as picture:
        assert np.array_equal(np.asarray(picture), numbers)


def test_what_is_shown_as_webp_is_not_copied_as_png_too(tmp_path: Path):
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images" / "a b.webp").touch()
    images = {"x/1.png": "a b.png", "x/2.png": "kept.png", "x/3.svg": "a b.svg"}
    app = SimpleNamespace(builder=SimpleNamespace(images=images), outdir=tmp_path)
    assert list(leave_out_originals(app)) == []
    assert images == {"x/2.png": "kept.png", "x/3.svg": "a b.svg"}


def test_a_figure_becomes_one_for_light_pages_and_one_for_dark(tmp_path: Path):
    figure, ax = plt.subplots(figsize=(7, 3))
    ax.plot([0, 1], color="black")
    figure.savefig(tmp_path / "drawn.svg")
    plt.close(figure)
    tag = '<img alt="a line" class="wide" src="../_images/a%20b.svg">'
    out = tmp_path / "out"
    found = with_lazy_pictures(tag, {"a b.svg": tmp_path / "drawn.svg"}, out)
    start = '<img loading="lazy" decoding="async" width="1050" height="450" '
    assert found == "".join(
        f'{start}alt="a line" class="only-{theme} wide" '
        f'src="../_images/a%20b.{theme}.svg">'
        for theme in ("light", "dark")
    )
    light, dark = (out / f"a b.{theme}.svg" for theme in ("light", "dark"))
    assert light.read_text() != dark.read_text()


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ('width="72pt" height="36pt" viewBox="0 0 72 36"', (96, 48)),
        ('width="40" height="20px"', (40, 20)),
        ('width="100%" viewBox="0 0 300 150"', (300, 150)),
        ("", (0, 0)),
    ],
)
def test_a_drawing_says_how_large_it_is(tmp_path: Path, attributes: str, expected):
    file = tmp_path / "a.svg"
    file.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}/>')
    assert size(file) == expected
