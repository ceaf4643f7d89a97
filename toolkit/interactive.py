"""Interactive charts: Vega-Altair charts whose sliders work in the page, offline.

    import altair as alt
    from toolkit import interactive

    slider = alt.binding_range(name="temperature ", min=0.1, max=4, step=0.1)
    temperature = alt.param("temperature", value=1, bind=slider)
    chart = alt.Chart(...).add_params(temperature)
    interactive.show(chart, alt="What is to be seen, in a sentence or two.")

JupyterLab draws the chart itself. On a page of the book the reader's browser does, with
Vega's runtime, which comes with the book: see ``tools/interactive_charts.py``.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from toolkit import figures

WIDTH = 560  # pixels, in notebooks and on paper
MIME = "application/vnd.vegalite.v5+json"  # the newest that JupyterLab draws
TAKEN = {"autosize", "background", "height", "padding", "width"}  # signals of Vega
_FONT = "DejaVu Sans, Verdana, sans-serif"

STYLE: dict[str, Any] = {
    "background": "white",
    "font": _FONT,
    "view": {"stroke": None},
    "axis": {
        "domainColor": figures.NEUTRAL,
        "gridColor": "#E4E4E4",
        "labelColor": "#222222",
        "labelFontSize": 12,
        "tickColor": figures.NEUTRAL,
        "titleColor": "#222222",
        "titleFontSize": 12.5,
        "titleFontWeight": "normal",
    },
    "legend": {
        "labelColor": "#222222",
        "labelFontSize": 12,
        "labelLimit": 0,
        "orient": "top",
        "titleColor": "#222222",
        "titleFontSize": 12.5,
        "titleFontWeight": "normal",
    },
    "title": {"anchor": "start", "color": "#222222", "fontSize": 13.5},
    "mark": {"color": figures.WEIGHT, "tooltip": True},
    "tooltipFormat": {"numberFormat": ".4~g"},
    "line": {"strokeWidth": 2.5},
    "range": {
        "category": list(figures.SERIES),
        "heatmap": ["#FFFFFF", "#C9B2DC", figures.WEIGHT, "#2E1244"],
        "ramp": ["#FFFFFF", "#C9B2DC", figures.WEIGHT, "#2E1244"],
    },
}


class InteractiveChart:
    """A chart with its description, as notebook programs and Sphinx read it.

    Args:
        chart: a Vega-Altair chart, or a Vega-Lite specification as a dictionary.
        alt: says what is to be seen, for readers who cannot see it.

    Raises:
        ValueError: ``alt`` says nothing, or a parameter has a name that Vega needs.
    """

    def __init__(self, chart: Any, alt: str) -> None:
        alt = " ".join(alt.split())
        if len(alt.split()) < 5:
            raise ValueError(
                f"say in a full sentence what the chart shows, not {alt!r}"
            )
        self.spec = house_spec(chart, alt)
        for name in TAKEN & _parameters(self.spec):
            raise ValueError(
                f"a parameter is called {name!r}, which is Vega's name for a measure "
                "of the chart itself; give it another name"
            )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {MIME: self.spec, "text/plain": self.spec["description"]}


def show(chart: Any, alt: str) -> None:
    """Display a chart that reacts to its sliders and selections.

    Args:
        chart: a Vega-Altair chart. A single view (layers are fine) without a width is
            as wide as the page; so are the parts of a vertical concatenation.
        alt: says what is to be seen, for readers who cannot see it: a full sentence.
    """
    from IPython.display import display

    display(InteractiveChart(chart, alt))


def house_spec(chart: Any, alt: str) -> dict[str, Any]:
    """The Vega-Lite specification of ``chart`` in the style of the book.

    It names no schema: JupyterLab's renderer is one version behind the one of the
    book, which matters to nothing but that name.
    """
    spec = deepcopy(chart if isinstance(chart, dict) else chart.to_dict())
    spec.pop("$schema", None)
    config = dict(spec.get("config", {}))
    if not isinstance(chart, dict):
        config.pop("view", None)  # Altair's default: a fixed size
    spec["config"] = _merged(STYLE, config)
    spec["description"] = alt
    _mix_in_rgb(spec)
    if "vconcat" in spec:
        spec["vconcat"] = [dict(part) for part in spec["vconcat"]]
    views = spec.get("vconcat", [spec])
    if not any("width" in view or _is_composed(view) for view in views):
        spec["usermeta"] = {"asWideAsThePage": True}
        for view in views:
            view["width"] = WIDTH
    if views == [spec] and not _is_composed(spec):
        spec.setdefault("height", 260)
        spec.setdefault("autosize", {"type": "fit", "contains": "padding"})
    return spec


def _parameters(spec: Any) -> set[str]:
    """The names of all parameters in a specification."""
    if isinstance(spec, list):
        return set().union(*map(_parameters, spec))
    if not isinstance(spec, dict):
        return set()
    own = {str(each.get("name")) for each in spec.get("params", [])}
    views = ("layer", "vconcat", "hconcat", "concat", "spec")
    return own.union(*(_parameters(spec.get(view)) for view in views))


def _mix_in_rgb(spec: Any) -> None:
    """Let colours between those of a scale keep their hue.

    Vega-Lite mixes them by hue, lightness and chroma. White has no hue, so the light
    half of a scale from white to purple would be pink.
    """
    if isinstance(spec, list):
        for part in spec:
            _mix_in_rgb(part)
    if not isinstance(spec, dict):
        return
    for channel in ("color", "fill", "stroke"):
        how = spec.get("encoding", {}).get(channel)
        if isinstance(how, dict) and how.get("type") == "quantitative":
            scale = how.setdefault("scale", {})
            if isinstance(scale, dict):
                scale.setdefault("interpolate", "rgb")
    for view in ("layer", "vconcat", "hconcat", "concat", "spec"):
        _mix_in_rgb(spec.get(view))


def _is_composed(spec: dict[str, Any]) -> bool:
    return any(key in spec for key in ("hconcat", "concat", "facet", "repeat"))


def _merged(style: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """``style``, in which what the chart says itself comes first."""
    merged = dict(style)
    for key, value in own.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else value
    return merged
