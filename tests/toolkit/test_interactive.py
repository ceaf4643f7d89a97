import altair as alt
import pytest

from toolkit import figures, interactive

ALT = "One bar whose height follows the slider."


def bars():
    level = alt.param("level", value=1, bind=alt.binding_range(min=0, max=4))
    data = alt.Data(values=[{"key": "a", "score": 2.0}])
    return alt.Chart(data).mark_bar().encode(x="key:N", y="score:Q").add_params(level)


def test_a_chart_without_a_width_is_as_wide_as_its_page():
    for chart in (bars(), alt.layer(bars(), bars()), alt.vconcat(bars(), bars())):
        spec = interactive.house_spec(chart, ALT)
        assert spec["usermeta"]["asWideAsThePage"]
        for view in spec.get("vconcat", [spec]):
            assert view["width"] == interactive.WIDTH
        assert "continuousWidth" not in spec["config"]["view"]


@pytest.mark.parametrize("name", ["width", "height", "padding"])
def test_a_parameter_may_not_take_a_name_of_vega(name):
    taken = bars().add_params(alt.param(name, value=1))
    for chart in (taken, alt.vconcat(bars(), alt.layer(bars(), taken))):
        with pytest.raises(ValueError, match=f"a parameter is called '{name}'"):
            interactive.InteractiveChart(chart, ALT)


def test_charts_have_house_colours_and_keep_what_they_set_themselves():
    chart = bars().configure_axis(labelFontSize=15)
    config = interactive.house_spec(chart, ALT)["config"]
    assert config["mark"]["color"] == figures.WEIGHT
    assert config["axis"]["labelFontSize"] == 15
    assert config["axis"]["titleFontSize"] == interactive.STYLE["axis"]["titleFontSize"]
    assert interactive.STYLE["axis"]["labelFontSize"] == 12
