"""Pictures keep their room free and wait until they are near."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from tools.pages.pictures import size, with_lazy_pictures


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Where Sphinx copies the pictures of a book to."""
    (tmp_path / "_images").mkdir()
    return tmp_path / "_images"


@pytest.fixture
def chapters(tmp_path: Path) -> Path:
    """The folder of the page."""
    (tmp_path / "chapters").mkdir()
    return tmp_path / "chapters"


def test_a_picture_gets_its_size_and_waits(chapters: Path, images: Path):
    Image.new("L", (70, 30)).save(images / "a b.gif")
    body = '<p><img alt="words" src="../_images/a%20b.gif" /></p>'
    assert with_lazy_pictures(body, chapters) == (
        '<p><img loading="lazy" decoding="async" width="70" height="30" alt="words" '
        'src="../_images/a%20b.gif" /></p>'
    )


def test_a_png_becomes_a_webp_with_the_same_pixels(chapters: Path, images: Path):
    numbers = np.random.default_rng(0).integers(0, 256, (30, 70, 4), dtype=np.uint8)
    Image.fromarray(numbers).save(images / "a b.png")
    body = '<img src="../_images/a%20b.png">'
    found = with_lazy_pictures(body, chapters)
    assert 'src="../_images/a%20b.webp"' in found
    with Image.open(images / "a b.webp") as picture:
        assert np.array_equal(np.asarray(picture), numbers)
    assert [file.name for file in images.iterdir()] == ["a b.webp"]
    assert with_lazy_pictures(body, chapters) == found  # in a build that copies nothing


def test_a_figure_becomes_one_for_light_pages_and_one_for_dark(
    chapters: Path, images: Path
):
    figure, ax = plt.subplots(figsize=(7, 3))
    ax.plot([0, 1], color="black")
    figure.savefig(images / "a b.svg")
    plt.close(figure)
    tag = '<img alt="a line" class="wide" src="../_images/a%20b.svg">'
    start = '<img loading="lazy" decoding="async" width="1050" height="450" '
    assert with_lazy_pictures(tag, chapters) == "".join(
        f'{start}alt="a line" class="only-{theme} wide" '
        f'src="../_images/a%20b.{theme}.svg">'
        for theme in ("light", "dark")
    )
    light, dark = (images / f"a b.{theme}.svg" for theme in ("light", "dark"))
    assert light.read_text() != dark.read_text()


def test_a_drawing_that_is_no_figure_stays(chapters: Path, images: Path):
    drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="8"/>'
    (images / "a.svg").write_text(drawing)
    found = with_lazy_pictures('<img src="../_images/a.svg">', chapters)
    assert 'width="9" height="8" src="../_images/a.svg"' in found
    assert (images / "a.svg").is_file()


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
