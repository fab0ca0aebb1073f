"""Pictures drawn with plotly: what is on them, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plotly.graph_objects import Figure
from sklearn.cluster import DBSCAN
from sklearn.exceptions import NotFittedError

from cohirf import CoHiRF, FusionHierarchy
from cohirf.plotting import plot_sunburst
from hierarchy.strategies import hierarchies


def sectors_of(figure):
    """Return what each sector says, by its id."""
    trace = figure.data[0]
    names = ("parents", "labels", "values", "customdata")
    return {key: {name: getattr(trace, name)[i] for name in names} for i, key in enumerate(trace.ids)}


@pytest.mark.parametrize("k", [1, 3, 30, 300])
def test_it_is_a_figure_with_a_sector_per_final_cluster(k, hierarchies_by_size):
    figure = plot_sunburst(hierarchies_by_size[k])
    sectors = sectors_of(figure)
    assert isinstance(figure, Figure)
    inner = [sector["labels"] for sector in sectors.values() if sector["parents"] == "all"]
    assert inner == [f"cluster {number}" for number in range(k)]


@given(hierarchies(), st.integers(1, 40))
def test_parts_add_up_to_the_cluster_they_make(hierarchy, max_clusters):
    sectors = sectors_of(plot_sunburst(hierarchy, max_clusters=max_clusters))
    for key, sector in sectors.items():
        parts = [other["values"] for other in sectors.values() if other["parents"] == key]
        if key == "all":
            assert sum(parts) <= sector["values"] == hierarchy.n_rows
        elif parts:
            assert sum(parts) == sector["values"]


def test_pointing_at_a_sector_tells_medoid_size_and_level():
    hierarchy = FusionHierarchy(parents=[0, 0, 0, 0, 4, 4], absorbed_at=[0, 1, 1, 2, 0, 1])
    figure = plot_sunburst(hierarchy, max_clusters=3)
    sectors = {sector["labels"]: sector for sector in sectors_of(figure).values()}
    assert tuple(sectors["cluster 0"]["customdata"]) == ("cluster 0, level 2", "<br>medoid: row 0")
    assert tuple(sectors["row 3"]["customdata"]) == ("part of cluster 0, level 1", "<br>medoid: row 3")
    for field in ("%{customdata[0]}", "%{customdata[1]}", "%{value:,}"):
        assert field in figure.data[0].hovertemplate


def test_clusters_left_out_leave_a_gap(hierarchies_by_size):
    sectors = sectors_of(plot_sunburst(hierarchies_by_size[300], max_clusters=20))
    inner = [sector["values"] for sector in sectors.values() if sector["parents"] == "all"]
    assert len(inner) == 20
    assert sum(inner) < sectors["all"]["values"] == 3000


def test_a_model_and_its_hierarchy_give_the_same_plot(model):
    assert plot_sunburst(model) == plot_sunburst(model.hierarchy_)


def test_a_condensed_hierarchy_counts_the_rows_of_the_data(hierarchies_by_size):
    figure = plot_sunburst(hierarchies_by_size[3].condense(10))
    assert sectors_of(figure)["all"]["labels"] == "200 rows"


def test_noise_is_one_grey_sector():
    X = np.r_[np.random.default_rng(0).normal(size=(100, 2)), [[50, 50], [60, 60], [70, 70]]]
    model = CoHiRF(DBSCAN(eps=1)).fit(X)
    n_noise = int((model.labels_ < 0).sum())
    assert n_noise > 1
    for subject in (model, model.hierarchy_):
        trace = plot_sunburst(subject).data[0]
        assert list(trace.labels).count("noise") == 1
        place = list(trace.labels).index("noise")
        assert (trace.marker.colors[place], trace.values[place]) == ("#b3b3b3", n_noise)
        assert sum(value for value, parent in zip(trace.values, trace.parents, strict=True) if parent == "all") == 103


def test_colours_are_those_of_the_other_plots(hierarchies_by_size):
    trace = plot_sunburst(hierarchies_by_size[3]).data[0]
    inner = [colour for colour, parent in zip(trace.marker.colors, trace.parents, strict=True) if parent == "all"]
    assert inner == ["#0072b2", "#e69f00", "#009e73"]


def test_it_can_be_written_as_a_page(model):
    page = plot_sunburst(model).to_html(include_plotlyjs=False)
    assert "sunburst" in page


def test_what_has_no_hierarchy_is_refused():
    with pytest.raises(TypeError, match=r"\[0, 0\] of type list cannot be plotted: pass a fitted CoHiRF"):
        plot_sunburst([0, 0])


def test_a_model_must_be_fitted():
    with pytest.raises(NotFittedError):
        plot_sunburst(CoHiRF.as_published())
