"""Vector figures for light and for dark pages.

Matplotlib draws on white. Here the white behind a figure is taken away, and for dark
pages each colour is replaced by one of the same hue that is as far from their
background as the first is from white. That makes two files, because not all browsers
tell a picture which theme the reader has chosen on the page.

Source:
    Ottosson (2020), "A perceptual color space for image processing", for OKLab.
"""

from __future__ import annotations

import base64
import io
import re
from functools import cache
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from matplotlib.colors import to_hex, to_rgb
from PIL import Image

from toolkit import figures

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
HREF = f"{{{XLINK}}}href"
PIXELS_PER_POINT = 150 / 72  # those of a figure as PNG, so that both are equally wide

BLACK = "#000000"
DARK_PAGE = "#121212"  # behind the text of a dark page
# As in chapters/_static/house.css, so that a figure has the colours of its caption.
HOUSE = {
    figures.QUERY: "#5aa9f0",
    figures.KEY: "#ff9a5c",
    figures.VALUE: "#5fe0a8",
}
# Lines of these colours are fainter on white than they could be on a dark page.
BRIGHT = ("#CC79A7", "#56B4E9", "#E69F00")
# White on a dark page is closer to it than black is to white. Areas give way to words:
# with this exponent, a number can still be read in each cell of a heat map.
SOFTER = 0.92

LARGE, QUALITY = 40_000, 50  # bytes of a photograph; of WebP
ROUNDING = 2  # of 255, by which the colours of a heat map may be off its scale

COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
DECIMALS = re.compile(r"\d+\.\d{3,}")
# From linear light to the responses of the eye's cones, and from their roots to OKLab.
CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def is_figure(svg: str) -> bool:
    """Whether matplotlib drew this, as it does for the cells of a chapter."""
    return 'id="figure_1"' in svg


def themed(svg: str, dark: bool) -> str:
    """A figure on nothing, in colours for light or for dark pages.

    Args:
        svg: a figure as matplotlib draws it, on white.
        dark: whether the page is. Heat maps become darker then; photographs stay as
            they are.
    """
    root = ElementTree.fromstring(svg)
    for side in ("width", "height"):
        points = float(root.get(side).removesuffix("pt"))
        root.set(side, f"{points * PIXELS_PER_POINT:.0f}")
    _leave_out(root)
    for image in root.iter(f"{{{SVG}}}image"):
        _replace_pixels(image, dark)
    if dark:
        _darken(root, text=False)
        root.set("style", f"fill: {on_dark(BLACK, text=False)}")
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    return ElementTree.tostring(root, encoding="unicode")


def _leave_out(root: Element) -> None:
    """Take out the background, notes about the file, and needless decimals."""
    for notes in root.findall(f"{{{SVG}}}metadata"):
        root.remove(notes)
    figure = root.find(f"{{{SVG}}}g[@id='figure_1']")
    background = figure.find(f"{{{SVG}}}g[@id='patch_1']")
    if background is not None:
        figure.remove(background)
    for path in root.iter(f"{{{SVG}}}path"):
        line = " ".join(path.get("d", "").split())
        path.set("d", DECIMALS.sub(lambda n: f"{float(n[0]):.2f}", line))


def _darken(element: Element, text: bool) -> None:
    """Replace the colours of an element, and of all in it."""
    group = element.get("id", "") if element.tag == f"{{{SVG}}}g" else ""
    if group:
        text = group.startswith("text_")
    for name in ("style", "fill", "stroke"):
        value = element.get(name, "")
        if value:
            new = COLOUR.sub(lambda found: on_dark(found[0].lower(), text), value)
            element.set(name, new)
    if group and text:  # black, where nothing else is said
        element.set("style", f"fill: {on_dark(BLACK, text)}")
    for child in element:
        _darken(child, text)


def _replace_pixels(image: Element, dark: bool) -> None:
    """Compress a large photograph, and darken a heat map, whose colours stay exact."""
    large = len(image.get(HREF)) > LARGE
    if not (large or dark):
        return
    pixels = _pixels(image)
    heat_map = dark_heat_map(pixels)
    if heat_map is None and large:
        _embed(image, pixels, "webp", quality=QUALITY, method=6)
    elif heat_map is not None and dark:
        _embed(image, heat_map, "png")


def _pixels(image: Element) -> np.ndarray:
    """(H, W, 4) red, green, blue and opacity of an image, 0 to 255."""
    data = base64.b64decode(image.get(HREF).partition(",")[2])
    with Image.open(io.BytesIO(data)) as picture:
        return np.asarray(picture.convert("RGBA"))


def _embed(image: Element, pixels: np.ndarray, kind: str, **options: int) -> None:
    written = io.BytesIO()
    Image.fromarray(pixels).save(written, kind, **options)
    encoded = base64.b64encode(written.getvalue()).decode()
    image.set(HREF, f"data:image/{kind};base64,{encoded}")


def dark_heat_map(pixels: np.ndarray) -> np.ndarray | None:
    """The pixels of a heat map for a dark page; None for those of another picture.

    A heat map is what has no other colours than the scales of ``toolkit.figures``.
    Matplotlib's own scale of greys is none of them, since nothing tells its pixels from
    those of a photograph, or of digits in ink, which stay on their paper.

    Args:
        pixels: (H, W, 4) red, green, blue and opacity, 0 to 255.

    Returns:
        (H, W, 4), or None.
    """
    colours, places = np.unique(
        pixels.reshape(-1, 4), axis=0, return_inverse=True
    )  # (n, 4), (H * W,)
    light, dark = _scales()  # (m, 3), (m, 3)
    if len(colours) > len(light):
        return None
    apart = np.abs(colours[:, None, :3].astype(int) - light).max(axis=2)  # (n, m)
    if (apart.min(axis=1) > ROUNDING)[colours[:, 3] > 0].any():
        return None
    found = np.column_stack([dark[apart.argmin(axis=1)], colours[:, 3]])  # (n, 4)
    return found.astype(np.uint8)[places.ravel()].reshape(pixels.shape)


@cache
def _scales() -> tuple[np.ndarray, np.ndarray]:
    """(m, 3) the colours of the scales of heat maps, and (m, 3) those on dark pages."""
    steps = np.arange(256)
    scales = (figures.WEIGHT_MAP, figures.SCORE_MAP, figures.QUANTITY_MAP)
    light = np.unique(
        np.concatenate([scale(steps, bytes=True)[:, :3] for scale in scales]), axis=0
    ).astype(int)
    dark = [to_rgb(on_dark(to_hex(colour / 255), text=False)) for colour in light]
    return light, np.round(255 * np.array(dark))


@cache
def on_dark(colour: str, text: bool) -> str:
    """A colour for a dark page that stands out from it as another does from white.

    Args:
        colour: on a white page, as hex.
        text: whether it is that of words, which keep their contrast as far as there is
            any. White words, which stand on something dark, become black.

    Returns:
        A colour of the same hue, as hex.
    """
    for house, dark in HOUSE.items():
        if colour.lower() in (house.lower(), figures.ink(house)):
            return dark
    if colour.upper() in BRIGHT and not text:
        return colour
    rgb = np.array(to_rgb(colour))
    contrast = 1.05 / (_luminance(rgb) + 0.05)
    if text and contrast < 1.05:
        return "#000000"
    wanted = contrast if text else contrast**SOFTER
    target = wanted * (_luminance(np.array(to_rgb(DARK_PAGE))) + 0.05) - 0.05
    _, a, b = _oklab(rgb)
    return to_hex(_with_luminance(min(target, 1.0), a, b))


def _with_luminance(target: float, a: float, b: float) -> np.ndarray:
    """The colour of a luminance with a hue, and as much of its chroma as there is."""
    for share in np.linspace(1, 0, 21):
        low, high = 0.0, 1.0
        for _ in range(30):
            middle = (low + high) / 2
            linear = _linear_of_oklab(middle, share * a, share * b)
            if linear @ [0.2126, 0.7152, 0.0722] < target:
                low = middle
            else:
                high = middle
        if share == 0 or (linear.min() >= -1e-3 and linear.max() <= 1 + 1e-3):
            break
    linear = np.clip(linear, 0, 1)
    return np.where(
        linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055
    )


def _oklab(rgb: np.ndarray) -> np.ndarray:
    """(3,) lightness and two axes of colour, of red, green and blue from 0 to 1."""
    return OKLAB @ np.cbrt(CONES @ _linear(rgb))


def _linear_of_oklab(lightness: float, a: float, b: float) -> np.ndarray:
    roots = np.linalg.solve(OKLAB, [lightness, a, b])
    return np.linalg.solve(CONES, roots**3)


def _linear(rgb: np.ndarray) -> np.ndarray:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _luminance(rgb: np.ndarray) -> float:
    """Relative luminance of WCAG 2."""
    return float(_linear(rgb) @ [0.2126, 0.7152, 0.0722])
