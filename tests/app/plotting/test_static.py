"""Pictures drawn with matplotlib: what is on them, where they go, and what is refused."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from cohirf import CoHiRF, FusionHierarchy, suggest_eps
from cohirf.app.plotting import (
    plot_choice,
    plot_dendrogram,
    plot_eps,
    plot_heatmap,
    plot_map,
)
from cohirf.app.plotting.canvas import cluster_colours
from cohirf.optional import is_installed

SIZES = [1, 30, *(pytest.param(size, marks=pytest.mark.slow) for size in (3, 300))]


@pytest.fixture(params=SIZES)
def hierarchy(request, hierarchies_by_size):
    return hierarchies_by_size[request.param]


@pytest.fixture(scope="module")
def noisy():
    """A model with two clusters and some noise."""
    X, _ = make_blobs(200, 2, centers=[(0, 0), (9, 9)], cluster_std=0.5, random_state=0)
    X[:3] = [(20, 0), (0, 20), (20, 20)]
    model = CoHiRF.as_published(DBSCAN(eps=0.8), views=1, min_cluster_size=5, random_state=0).fit(X)
    assert set(model.labels_.tolist()) == {-1, 0, 1}
    return model, X


@pytest.fixture(scope="module")
def many():
    """Models by their number of clusters."""
    X = np.random.default_rng(0).normal(size=(600, 12))
    return {
        k: CoHiRF.as_published(KMeans(k, n_init=1), views=1, random_state=0).fit(X)
        for k in (1, 3, 30, 300)
    }


@pytest.fixture(scope="module")
def chosen(blobs):
    """A model that has chosen the number of its clusters."""
    return CoHiRF(n_clusters="auto", random_state=0).fit(blobs[0])


def texts_of(ax):
    return [text.get_text() for text in ax.texts]


def collections_of(ax, kind):
    return [collection for collection in ax.collections if type(collection) is kind]


def boxes_overlap(texts):
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    return any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def scatter_labels(ax):
    """Return the number of points in each cloud, from the first drawn to the last."""
    return [len(cloud.get_offsets()) for cloud in ax.collections]


@pytest.mark.parametrize("plot", [plot_dendrogram, plot_heatmap])
def test_axes_are_made_or_taken_as_given(plot, model):
    made = plot(model)
    figure, (left, right) = plt.subplots(1, 2)
    assert plot(model, ax=right) is right
    assert made.figure is not figure
    assert not left.has_data()


@pytest.mark.parametrize("plot", [plot_dendrogram, plot_heatmap])
def test_settings_of_matplotlib_stay_as_they_are(plot, model):
    before = dict(mpl.rcParams)
    plot(model).figure.canvas.draw()
    assert dict(mpl.rcParams) == before


def test_a_model_and_its_hierarchy_give_the_same_plot(model):
    of_model = plot_dendrogram(model)
    of_hierarchy = plot_dendrogram(model.hierarchy_)
    assert texts_of(of_model) == texts_of(of_hierarchy)
    assert len(of_model.collections) == len(of_hierarchy.collections)


@pytest.mark.parametrize("given", [[0, 0, 1], None, KMeans()])
def test_what_has_no_hierarchy_is_refused(given):
    with pytest.raises(
        TypeError, match=r"cannot be plotted: pass a fitted CoHiRF or a FusionHierarchy"
    ):
        plot_dendrogram(given)


def test_a_hierarchy_does_not_do_where_a_model_is_needed(model):
    with pytest.raises(
        TypeError, match=r"FusionHierarchy.* cannot be plotted: pass a fitted CoHiRF"
    ):
        plot_heatmap(model.hierarchy_)


@pytest.mark.parametrize("plot", [plot_dendrogram, plot_heatmap])
def test_a_model_must_be_fitted(plot):
    with pytest.raises(NotFittedError):
        plot(CoHiRF.as_published())


class TestDendrogram:
    def test_it_has_a_bar_per_cluster_that_was_absorbed_and_final_clusters_stay_apart(
        self, hierarchy
    ):
        top = hierarchy.condense(1000)
        ax = plot_dendrogram(hierarchy, max_clusters=1000)
        stems, bars = (len(lines.get_segments()) for lines in collections_of(ax, LineCollection))
        assert bars == np.count_nonzero(top.absorbed_at)
        assert stems == top.n_rows + bars

    def test_labels_do_not_overlap(self, hierarchy):
        for max_clusters in (50, 500):
            ax = plot_dendrogram(hierarchy, max_clusters=max_clusters)
            ax.figure.canvas.draw()
            assert not boxes_overlap(ax.get_xticklabels())
            assert not boxes_overlap(ax.texts)

    def test_all_fifty_leaves_are_labelled(self, make_hierarchy):
        ax = plot_dendrogram(make_hierarchy(900, 48, 5))
        assert len(ax.get_xticklabels()) == 48

    def test_few_labels_lie_flat_and_many_stand_upright(self, make_hierarchy):
        few = plot_dendrogram(make_hierarchy(90, 4, 2))
        many = plot_dendrogram(make_hierarchy(90, 40, 2))
        assert {label.get_rotation() for label in few.get_xticklabels()} == {0}
        assert {label.get_rotation() for label in many.get_xticklabels()} == {90}

    def test_heights_are_levels_of_the_whole_hierarchy(self, make_hierarchy):
        ax = plot_dendrogram(make_hierarchy(900, 100, 40, 9, 3))
        assert sorted(ax.get_yticks()) == [2, 3, 4]
        assert ax.get_ylabel() == "level"

    def test_many_levels_have_few_ticks(self):
        ax = plot_dendrogram(FusionHierarchy(np.zeros(40, dtype=int), np.arange(40)))
        assert len(ax.get_yticks()) <= 12

    def test_leaves_are_named_by_medoid_and_size(self, make_hierarchy):
        hierarchy = make_hierarchy(90, 4, 2)
        wanted = {
            f"row {row} ({size})"
            for row, size in zip(hierarchy.medoids(1), hierarchy.sizes(1), strict=True)
        }
        assert {
            label.get_text() for label in plot_dendrogram(hierarchy).get_xticklabels()
        } == wanted

    def test_names_of_rows_replace_their_numbers(self):
        hierarchy = FusionHierarchy([0, 0, 2], [0, 1, 0])
        ax = plot_dendrogram(hierarchy, leaf_labels=["ant", "bee", "cat"])
        assert [label.get_text() for label in ax.get_xticklabels()] == ["ant", "bee", "cat"]
        ax = plot_dendrogram(hierarchy, leaf_labels=np.array(["ant", "bee", "cat"]), max_clusters=2)
        assert [label.get_text() for label in ax.get_xticklabels()] == ["ant (2)", "cat (1)"]

    def test_names_must_be_as_many_as_rows(self):
        with pytest.raises(
            ValueError,
            match="leaf_labels has 2 names, but there is a row 2: pass one name for each row",
        ):
            plot_dendrogram(FusionHierarchy([0, 0, 2], [0, 1, 0]), leaf_labels=["ant", "bee"])

    def test_a_function_makes_labels(self):
        ax = plot_dendrogram(
            FusionHierarchy([0, 0, 2], [0, 1, 0]), leaf_labels="{}:{}".format, max_clusters=2
        )
        assert [label.get_text() for label in ax.get_xticklabels()] == ["0:2", "2:1"]

    def test_it_says_when_it_merges_clusters(self, many):
        ax = plot_dendrogram(many[300])
        assert ax.get_xlabel() == "300 clusters of level 1, merged to 50: medoid (number of rows)"

    def test_merges_go_up_to_one_cluster_and_final_clusters_are_numbered_at_the_cut(self, model):
        ax = plot_dendrogram(model, max_clusters=20)
        stems, bars = (lines.get_segments() for lines in collections_of(ax, LineCollection)[:2])
        n_leaves = min(20, model.hierarchy_.tree.n_leaves)
        assert (len(stems), len(bars)) == (2 * n_leaves - 1, n_leaves - 1)
        assert max(bar[0, 1] for bar in bars) == model.hierarchy_.tree.linkage[-1, 2]
        cut = ax.lines[0].get_ydata()[0]
        assert {text.xy[1] for text in ax.texts} == {cut}
        assert sum(bar[0, 1] > cut for bar in bars) == model.n_clusters_ - 1

    def test_noise_rows_outside_the_tree_are_counted(self):
        X = np.r_[
            make_blobs(100, 2, centers=[(0, 0), (9, 9)], cluster_std=0.5, random_state=0)[0],
            [(30, 0), (0, 30)],
        ]
        model = CoHiRF(DBSCAN(eps=1.0), random_state=0).fit(X)
        assert "2 noise rows not shown" in plot_dendrogram(model).get_xlabel()

    def test_noise_is_grey_and_has_no_number(self, noisy):
        ax = plot_dendrogram(noisy[0])
        assert sorted(texts_of(ax)) == ["0", "1"]
        colours = collections_of(ax, LineCollection)[0].get_colors()[:, :3]
        assert (colours == cluster_colours([-1])).all(axis=1).any()

    def test_a_hierarchy_without_fusions_is_drawn(self):
        ax = plot_dendrogram(FusionHierarchy([0, 1, 2], [0, 0, 0]))
        assert texts_of(ax) == ["0", "1", "2"]

    def test_a_condensed_hierarchy_is_drawn(self, hierarchies_by_size):
        ax = plot_dendrogram(hierarchies_by_size[30].condense(60))
        assert len(collections_of(ax, LineCollection)[0].get_segments()) > 48


class TestChoice:
    def test_it_has_a_curve_of_figures(self, chosen):
        curve, _ = plot_choice(chosen).lines
        assert curve.get_xdata().tolist() == chosen.choice_.candidates.tolist()
        assert curve.get_ydata().tolist() == chosen.choice_.figures.tolist()

    def test_without_clear_groups_a_line_marks_the_highest_figure(self):
        model = CoHiRF(random_state=0).fit(np.random.default_rng(0).normal(size=(300, 4)))
        assert not model.choice_.is_clear
        limit, _, _ = plot_choice(model).lines
        assert set(limit.get_ydata()) == {model.choice_.figures.max()}

    def test_the_chosen_number_is_marked(self, chosen):
        ax = plot_choice(chosen)
        assert ax.lines[1].get_xdata() == [chosen.n_clusters_]
        assert ax.texts[0].get_text() == f"{chosen.n_clusters_} clusters"

    def test_a_number_that_was_given_has_no_curve(self, blobs):
        model = CoHiRF(n_clusters=3, random_state=0).fit(blobs[0])
        with pytest.raises(ValueError, match=r'given, not chosen: fit with n_clusters="auto"'):
            plot_choice(model)

    def test_one_cluster_leaves_nothing_to_choose(self):
        model = CoHiRF(random_state=0).fit(np.eye(3))  # halves are too small for two clusters
        with pytest.raises(ValueError, match="nothing to choose from"):
            plot_choice(model)

    def test_it_draws_into_given_axes(self, chosen):
        _, ax = plt.subplots()
        assert plot_choice(chosen, ax=ax) is ax

    @pytest.mark.parametrize("given", [None, KMeans()])
    def test_what_is_not_a_model_is_refused(self, given):
        with pytest.raises(TypeError, match="cannot be plotted: pass a fitted CoHiRF"):
            plot_choice(given)


class TestEps:
    def test_it_draws_the_curve_and_the_radius(self, blobs):
        suggestion = suggest_eps(blobs[0])
        ax = plot_eps(suggestion)
        assert ax.lines[0].get_ydata().tolist() == suggestion.distances.tolist()
        assert set(ax.lines[1].get_ydata()) == {suggestion.eps}
        core, others = (len(points.get_offsets()) for points in ax.collections)
        assert core == round(suggestion.core_share * 300)
        assert core + others == 300

    def test_it_draws_into_given_axes(self, blobs):
        _, ax = plt.subplots()
        assert plot_eps(suggest_eps(blobs[0]), ax=ax) is ax

    def test_what_is_not_a_suggestion_is_refused(self):
        with pytest.raises(
            TypeError, match=r"0\.5 cannot be plotted: pass the return value of suggest_eps"
        ):
            plot_eps(0.5)


class TestMap:
    def test_axes_are_made_or_taken_as_given(self, model, blobs):
        _, (left, right) = plt.subplots(1, 2, sharex=True, sharey=True)
        assert plot_map(model, blobs[0], ax=right) is right
        right.figure.canvas.draw()
        assert not left.collections
        assert plot_map(model, blobs[0]).figure is not right.figure

    def test_rows_and_medoids_are_drawn_and_numbered(self, model, blobs):
        ax = plot_map(model, blobs[0])
        assert scatter_labels(ax) == [300, 4]
        assert sorted(texts_of(ax)) == ["0", "1", "2", "3"]
        assert "principal component 1" in ax.get_xlabel()

    @pytest.mark.parametrize("k", SIZES)
    def test_a_hierarchy_gives_clusters_as_well(self, k, hierarchies_by_size):
        hierarchy = hierarchies_by_size[k]
        X = np.random.default_rng(0).normal(size=(hierarchy.n_rows, 2))
        ax = plot_map(hierarchy, X)
        assert scatter_labels(ax) == [hierarchy.n_rows, k]
        ax.figure.canvas.draw()
        assert not boxes_overlap(ax.texts)

    def test_points_have_the_colour_of_their_cluster(self, noisy):
        model, X = noisy
        ax = plot_map(model, X)
        noise, points, discs = ax.collections
        assert (noise.get_facecolors()[:, :3] == cluster_colours([-1])).all()
        assert (
            points.get_facecolors()[:, :3] == cluster_colours(model.labels_[model.labels_ >= 0])
        ).all()
        assert (discs.get_offsets() == X[model.exemplar_indices_]).all()

    def test_a_level_has_its_own_clusters(self, hierarchies_by_size):
        hierarchy = hierarchies_by_size[3]
        X = np.random.default_rng(0).normal(size=(200, 2))
        points, medoids = plot_map(hierarchy, X, level=2).collections
        assert (points.get_facecolors()[:, :3] == cluster_colours(hierarchy.cut(level=2))).all()
        assert (medoids.get_offsets() == X[hierarchy.medoids(2)]).all()

    def test_names_of_columns_are_on_the_axes(self, noisy):
        model, X = noisy
        ax = plot_map(model, pd.DataFrame(X, columns=["width", "height"]))
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")

    def test_lists_of_lists_are_data_too(self, noisy):
        model, X = noisy
        assert scatter_labels(plot_map(model, X.tolist())) == scatter_labels(plot_map(model, X))

    def test_large_data_is_sampled_and_all_medoids_are_drawn(self, model, blobs):
        ax = plot_map(model, blobs[0], max_points=50)
        assert scatter_labels(ax) == [50, 4]
        assert ax.get_title(loc="right") == "50 of 300 rows"

    def test_the_sample_is_seeded(self, model, blobs):
        first, second = (plot_map(model, blobs[0], max_points=50) for _ in range(2))
        assert (first.collections[0].get_offsets() == second.collections[0].get_offsets()).all()

    @pytest.mark.filterwarnings("ignore:All of the rows are noise")
    def test_a_model_of_noise_alone_is_drawn(self, noisy):
        X = noisy[1]
        model = CoHiRF.as_published(
            DBSCAN(eps=0.8), views=1, min_cluster_size=500, random_state=0
        ).fit(X)
        ax = plot_map(model, X)
        ax.figure.canvas.draw()
        assert scatter_labels(ax) == [200, 0]

    def test_other_data_is_refused(self, model, blobs):
        with pytest.raises(
            ValueError, match="X has 10 rows, but the hierarchy has 300: pass the data of the fit"
        ):
            plot_map(model, blobs[0][:10])

    def test_the_top_of_a_hierarchy_is_refused(self, model, blobs):
        with pytest.raises(
            ValueError, match="is a condensed hierarchy: pass the hierarchy of all rows"
        ):
            plot_map(model.hierarchy_.condense(), blobs[0])

    def test_a_model_must_be_fitted(self, blobs):
        with pytest.raises(NotFittedError):
            plot_map(CoHiRF.as_published(), blobs[0])

    def test_what_has_no_hierarchy_is_refused(self, blobs):
        with pytest.raises(TypeError, match="'labels' of type str cannot be plotted"):
            plot_map("labels", blobs[0])

    def test_names_are_in_a_legend(self, model, blobs):
        ax = plot_map(model, blobs[0], names=["north", "south", "east", "west"])
        assert [text.get_text() for text in ax.get_legend().get_texts()] == [
            "0  north",
            "1  south",
            "2  east",
            "3  west",
        ]

    def test_a_legend_names_the_largest_clusters_only(self, many):
        X = np.random.default_rng(0).normal(size=(600, 12))
        legend = plot_map(many[30], X, names=[f"c{i}" for i in range(30)]).get_legend()
        assert len(legend.get_texts()) == 10
        assert legend.get_title().get_text() == "the 10 largest of 30 clusters"

    def test_too_few_names_are_refused(self, model, blobs):
        with pytest.raises(ValueError, match="names has 1 names for 4 clusters"):
            plot_map(model, blobs[0], names=["a"])

    def test_an_unknown_method_is_refused(self, model, blobs):
        with pytest.raises(ValueError, match="method='tsne' is not valid: pass one of pca, umap"):
            plot_map(model, blobs[0], method="tsne")

    @pytest.mark.skipif(is_installed("umap"), reason="umap-learn is installed")
    def test_a_map_by_umap_says_what_it_needs(self, model, blobs):
        with pytest.raises(ImportError, match=r"umap.*cohirf\[umap\]"):
            plot_map(model, blobs[0], method="umap")

    @pytest.mark.slow
    def test_a_map_by_umap_is_drawn(self, model, blobs):
        pytest.importorskip("umap")
        assert plot_map(model, blobs[0], method="umap").get_xlabel() == "UMAP 1"


class TestHeatmap:
    def test_a_row_for_each_cluster_and_a_column_for_each_feature(self, model, blobs):
        ax = plot_heatmap(model, blobs[0])
        names = model.summary(blobs[0])["name"]
        shown = [label.get_text() for label in ax.get_yticklabels()]
        assert sorted(text.split("  ")[1] for text in shown) == sorted(names)
        assert len(ax.get_xticklabels()) == blobs[0].shape[1]

    def test_colours_are_effects_of_the_clusters(self, model, blobs):
        X = blobs[0]
        ax = plot_heatmap(model, X)
        cluster = int(ax.get_yticklabels()[0].get_text().split()[0])
        feature = int(ax.get_xticklabels()[0].get_text().removeprefix("feature "))
        inside = model.labels_ == cluster
        values = X[:, feature]
        expected = (values[inside].mean() - values[~inside].mean()) / values.std()
        assert ax.collections[0].get_array().reshape(4, -1)[0, 0] == pytest.approx(expected)

    def test_only_the_largest_clusters_and_strongest_features_are_drawn(self, many):
        ax = plot_heatmap(many[30], max_clusters=5, max_features=3)
        assert (len(ax.get_yticklabels()), len(ax.get_xticklabels())) == (5, 3)
        assert ax.get_title(loc="left") == "the 5 largest of 30 clusters"

    def test_a_table_in_other_units_is_drawn_with_its_categories(self, noisy):
        model, X = noisy
        frame = pd.DataFrame(
            {"width": X[:, 0] * 100, "side": np.where(X[:, 1] > 4, "right", "left")}
        )
        shown = [label.get_text() for label in plot_heatmap(model, frame).get_xticklabels()]
        assert sorted(shown) == ["side: left", "side: right", "width"]

    @pytest.mark.filterwarnings("ignore:All of the rows are noise")
    def test_a_model_without_clusters_has_no_heat_map(self):
        X = np.random.default_rng(0).normal(size=(50, 3))
        model = CoHiRF(DBSCAN(eps=1e-6), random_state=0).fit(X)
        with pytest.raises(
            ValueError, match=r"no clusters to plot: every row is noise. To find some, raise eps"
        ):
            plot_heatmap(model, X)

    def test_one_cluster_has_nothing_to_compare(self, many):
        with pytest.raises(ValueError, match="do not differ in any feature"):
            plot_heatmap(many[1])

    def test_axes_are_taken_as_given(self, model):
        _, ax = plt.subplots()
        assert plot_heatmap(model, ax=ax) is ax
