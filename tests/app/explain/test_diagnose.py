"""diagnose: from a fitted model to figures and words."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans, MiniBatchKMeans
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

import cohirf
from cohirf import CoHiRF, ThinBatchesWarning, open_source
from cohirf.algorithm.base_method import BaseMethod
from cohirf.app.explain.diagnose import (
    RULE,
    Comparison,
    agreement_with_classes,
    compare_with_base,
    finds_number,
    judge,
    judge_neighbours,
    rival_of,
    separate_noise,
)
from cohirf.app.explain.policy import SAMPLE
from cohirf.app.explain.study import DiagnosisSample, SampleDistances, draw_diagnosed
from cohirf.facts import FitFacts


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_silhouette_is_that_of_scikit_learn_without_noise(blobs, container):
    X, y = blobs
    noisy = np.where(np.arange(len(y)) % 10 == 0, -1, y)
    kept = noisy >= 0
    distances = SampleDistances.of(container(X))
    assert distances.silhouette(y) == pytest.approx(silhouette_score(X, y))
    assert distances.silhouette(noisy) == pytest.approx(silhouette_score(X[kept], y[kept]))


@pytest.mark.parametrize("labels", [np.zeros(300, dtype=int), np.arange(300), np.full(300, -1)])
def test_silhouette_of_one_cluster_single_rows_or_noise_is_not_defined(blobs, labels):
    assert SampleDistances.of(blobs[0]).silhouette(labels) is None


def test_the_cut_is_that_of_the_graph_of_the_fit_or_of_stored_rows(blobs):
    X = blobs[0]
    compared = CoHiRF(n_clusters=4, random_state=0).fit(X)
    assert FitFacts.of(compared).cut == compared.choice_.cut
    separated = CoHiRF(AgglomerativeClustering(4)).fit(X)
    assert FitFacts.of(separated).cut == pytest.approx(0, abs=0.01)
    split = CoHiRF(AgglomerativeClustering(100)).fit(X)
    assert FitFacts.of(split).cut > 0.3


def test_without_clustered_rows_the_cut_is_not_known():
    with pytest.warns(UserWarning, match="All of the rows are noise"):
        model = CoHiRF(DBSCAN(eps=1e-9)).fit(DIGITS[:50])
    assert np.isnan(FitFacts.of(model).cut)


def test_agreement_is_the_adjusted_rand_index(blobs):
    _, y = blobs
    assert agreement_with_classes(y // 2, y) == adjusted_rand_score(y, y // 2)
    assert agreement_with_classes(y, None) is None


class Failing(KMeans):
    def fit_predict(self, X, y=None, sample_weight=None):
        raise RuntimeError("out of luck")


class Complaining(KMeans):
    def fit_predict(self, X, y=None, sample_weight=None):
        warnings.warn("this method complains", UserWarning, stacklevel=2)
        return super().fit_predict(X)


def compare(method, X, labels, classes=None, compared=None):
    compared = np.arange(len(X)) if compared is None else compared
    sample = DiagnosisSample(np.arange(len(X)), X, compared, is_part=False, has_density=True)
    return compare_with_base(BaseMethod.of(method), sample, labels, classes)


def test_both_are_scored_on_the_same_rows(blobs):
    X, y = blobs
    found = compare(KMeans(4), X, y // 2, y)
    assert (found.base, found.n_rows, found.n_clusters, found.reason) == ("KMeans", 300, (2, 4), "")
    assert found.ari == (adjusted_rand_score(y, y // 2), 1.0)
    assert found.silhouette == pytest.approx((silhouette_score(X, y // 2), silhouette_score(X, y)))
    assert found.same == pytest.approx(adjusted_rand_score(y, y // 2))


def test_labels_are_compared_on_some_rows_of_those_that_the_method_saw(blobs):
    X, y = blobs
    wrong = np.where(np.arange(300) < 100, 0, y)
    inner = np.arange(100, 300)
    found = compare(KMeans(4), X, wrong, y, compared=inner)
    assert (found.n_rows, found.same, found.ari) == (200, 1.0, (1.0, 1.0))
    assert found.agreement == found.reproducibility == 1


def test_a_base_method_that_fails_alone_does_not_stop_the_report(blobs):
    found = compare(Failing(4), *blobs)
    assert found.reason == "Failing failed when it ran alone: out of luck"


def test_warnings_of_the_base_method_alone_are_not_the_users(blobs):
    assert compare(Complaining(4), *blobs).n_clusters == (4, 4)


def test_the_comparison_is_the_same_each_time(blobs):
    first, second = (compare(KMeans(7, n_init=1), *blobs) for _ in range(2))
    assert first == second


def test_runs_leave_out_rows_so_that_a_fixed_method_can_differ_from_itself():
    X = np.random.default_rng(0).random((300, 2))
    method = AgglomerativeClustering(5)
    found = compare(method, X, method.fit_predict(X))
    assert found.same == 1
    assert found.reproducibility == found.agreement < 0.95


def test_rows_of_noise_are_not_together(blobs):
    X = blobs[0]
    one = compare(DBSCAN(eps=1e-9), X, np.zeros(300, int))
    assert (one.same, one.noise, one.n_clusters) == (0, (0.0, 1.0), (1, 0))
    assert compare(DBSCAN(eps=1e-9), X, np.full(300, -1)).same == 1


def test_each_row_of_noise_gets_a_label_of_its_own():
    assert separate_noise(np.array([-1, 0, 2, -1])).tolist() == [3, 0, 2, 4]


def test_k_means_has_ten_starts_and_the_number_of_clusters_of_the_model(blobs):
    X = blobs[0][:100]
    told = rival_of(CoHiRF(KMeans(4, n_init=1), random_state=0).fit(X))
    assert (told.n_told, told.clusterer.n_init) == (4, RULE.rival_starts)
    asked = rival_of(
        CoHiRF(make_pipeline(PCA(2), KMeans(7, n_init=20)), n_clusters=4, random_state=0).fit(X)
    )
    assert (asked.n_told, asked.clusterer.n_init) == (4, 20)
    chosen = CoHiRF(random_state=0).fit(X)
    assert rival_of(chosen).n_told == chosen.n_clusters_
    assert rival_of(CoHiRF(GaussianMixture(6), n_clusters=4, random_state=0).fit(X)).n_told == 4


def test_a_model_as_published_is_compared_with_what_the_user_wrote(blobs):
    model = CoHiRF.as_published(KMeans(8, n_init=1), random_state=0).fit(blobs[0])
    assert rival_of(model).n_told == 8


@pytest.mark.parametrize(
    ("method", "finds"),
    [
        (DBSCAN(), True),
        (AgglomerativeClustering(None, distance_threshold=1), True),
        (make_pipeline(PCA(2), DBSCAN()), True),
        (make_pipeline(PCA(2), KMeans(4)), False),
        (GaussianMixture(4), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_method_that_is_not_told_the_number_of_clusters_finds_it(method, finds):
    assert finds_number(BaseMethod.of(method)) == finds


DIGITS = load_digits(return_X_y=True)[0]


@pytest.fixture(scope="module")
def poor():
    return CoHiRF.as_published(KMeans(10, n_init=1), views=3, random_state=0).fit(DIGITS)


@pytest.fixture(scope="module")
def diagnosis_of_poor(poor):
    return poor.diagnose()


def test_a_fit_that_lost_what_the_base_finds_is_told_to_use_the_base(diagnosis_of_poor):
    diagnosis = diagnosis_of_poor
    assert diagnosis.recommendation == "use the base method alone"
    assert diagnosis.comparison.agreement < diagnosis.comparison.reproducibility
    assert "Use the defaults of CoHiRF, or KMeans alone" in diagnosis.line


@pytest.mark.parametrize("kind", [KMeans, MiniBatchKMeans])
def test_the_defaults_around_k_means_are_not_judged_where_they_differ_from_it(kind):
    X, _ = make_moons(600, noise=0.05, random_state=0)
    diagnosis = CoHiRF(kind(2), random_state=0).fit(X).diagnose()
    found = diagnosis.comparison
    assert found.agreement < found.reproducibility - RULE.lost
    assert found.silhouette[0] < found.silhouette[1] - RULE.worse_silhouette
    assert diagnosis.recommendation == "unknown"


def test_it_prints_as_plain_words(diagnosis_of_poor):
    text = str(diagnosis_of_poor)
    assert text.startswith(
        "Do not trust these clusters: the fit has lost clusters that KMeans finds in 1,000 rows"
    )
    assert (
        "\nWould KMeans alone do better? Probably.\n  In 1,000 rows, KMeans alone with 10 starts "
        "finds" in text
    )
    assert max(map(len, text.splitlines())) <= 100


def test_a_loaded_model_says_the_same(poor, diagnosis_of_poor, tmp_path):
    poor.save(tmp_path / "model")
    assert str(cohirf.load(tmp_path / "model").diagnose()) == str(diagnosis_of_poor)


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        CoHiRF().diagnose()


def test_the_defaults_in_one_batch_have_the_clusters_of_a_deterministic_method():
    diagnosis = CoHiRF(AgglomerativeClustering(10)).fit(DIGITS).diagnose()
    assert diagnosis.recommendation == "either"
    assert diagnosis.line.endswith(
        "the fit is one run of AgglomerativeClustering on all rows, and has its clusters."
    )


@pytest.mark.parametrize("changes", [{"n_clusters": 5}, {"batch_size": 200}, {"max_features": 0.5}])
def test_a_fit_that_did_more_than_one_run_is_not_that_run(changes):
    model = CoHiRF(
        AgglomerativeClustering(None, distance_threshold=50), random_state=0, **changes
    ).fit(DIGITS[:500])
    assert "one run of it" not in model.diagnose().line


def test_of_many_rows_a_sample_is_looked_at():
    X, _ = make_blobs(12_000, 3, centers=5, random_state=0)
    model = CoHiRF(KMeans(5), random_state=0, views=2, batch_size=3000).fit(X)
    assert len(model.landmark_indices_) < len(X)
    assert model.diagnose().n_rows == SAMPLE.diagnosed.most


@pytest.mark.parametrize(
    ("n_features", "n_rows"), [(2, 1000), (500, 1000), (1000, 500), (100_000, 300)]
)
def test_of_many_features_fewer_rows_are_looked_at(n_features, n_rows):
    assert SAMPLE.diagnosed.count(n_features) == n_rows


def test_clusters_have_their_shares_among_the_rows_that_were_kept():
    X = np.r_[np.zeros((29_000, 2)), np.full((1000, 2), 9.0)] + np.random.default_rng(0).random(
        (30_000, 2)
    )
    model = CoHiRF.as_published(KMeans(2), random_state=0, views=1).fit(X)
    kept = np.bincount(model._state.landmarks.labels) / len(model._state.landmarks.labels)
    drawn = np.bincount(model.labels_[draw_diagnosed(model).rows]) / SAMPLE.diagnosed.most
    assert kept.min() > 0.1
    assert drawn.min() == pytest.approx(1 / 30, abs=0.02)


def test_a_region_has_the_density_of_the_data_and_its_inner_half_is_compared():
    X = np.random.default_rng(0).random((4000, 2))
    model = CoHiRF(DBSCAN(eps=0.1), random_state=0).fit(X)
    sample = draw_diagnosed(model, keeps_density=True)
    assert (len(sample.rows), len(sample.compared), sample.has_density) == (
        SAMPLE.diagnosed.most,
        SAMPLE.diagnosed.most // 2,
        True,
    )
    assert sample.features.tolist() == X[sample.rows].tolist()
    area = np.prod(np.ptp(sample.features, axis=0))
    assert SAMPLE.diagnosed.most / area > 0.7 * len(X)
    centre = sample.features[sample.compared].mean(axis=0)
    outer = np.setdiff1d(np.arange(SAMPLE.diagnosed.most), sample.compared)
    inner_distance, outer_distance = (
        np.linalg.norm(sample.features[rows] - centre, axis=1).mean()
        for rows in (sample.compared, outer)
    )
    assert inner_distance < outer_distance


def test_batches_that_thin_out_what_a_density_method_needs_are_found_out():
    X, _ = make_blobs(3000, 2, centers=4, cluster_std=0.5, random_state=0)
    whole = CoHiRF(DBSCAN(eps=0.2), random_state=0).fit(X).diagnose()
    assert whole.recommendation == "either"
    model = CoHiRF(DBSCAN(eps=0.2), batch_size=150, batches="random", random_state=0)
    with pytest.warns(ThinBatchesWarning):
        diagnosis = model.fit(X).diagnose()
    assert diagnosis.recommendation == "use the base method alone"
    ours, alone = diagnosis.comparison.noise
    assert ours > alone + 0.2
    assert 'Use batches="local", because random ones are thinner than the data' in diagnosis.line


def test_batches_of_a_density_method_are_not_judged_by_rows_that_are_thinner_than_the_data():
    X, _ = make_blobs(12_000, 2, centers=3, random_state=0)
    options = {"batch_size": 4000, "batches": "random", "min_cluster_size": 5}
    diagnosis = CoHiRF(DBSCAN(eps=0.5), **options, random_state=0).fit(X).diagnose()
    assert diagnosis.recommendation == "unknown"
    assert "a sample of 1,000 of 12,000 rows is thinner than the data" in diagnosis.line


# of K-Means, about equal rows
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("X", [np.zeros((1, 2)), np.zeros((20, 2)), np.arange(3.0)[:, None]])
def test_tiny_data_is_diagnosed(X):
    assert str(CoHiRF.as_published(KMeans(2, n_init=1), views=2, random_state=0).fit(X).diagnose())


def test_sparse_data_and_sources_are_diagnosed():
    X = sparse.csr_array(np.where(DIGITS[:120] > 8, DIGITS[:120], 0))
    assert CoHiRF(KMeans(4, n_init=1), random_state=0).fit(X).diagnose().comparison.n_rows == 120
    source = CoHiRF(KMeans(4, n_init=1), batch_size=50, random_state=0).fit(
        open_source(DIGITS[:120])
    )
    assert str(source.diagnose())


def test_everything_in_noise_is_diagnosed():
    model = CoHiRF(KMeans(3, n_init=1), min_cluster_size=1000, random_state=0)
    with pytest.warns(UserWarning, match="All of the rows are noise"):
        model.fit(DIGITS[:50])
    assert "Are the clusters usable? Nearly everything is noise." in str(model.diagnose())


def test_a_small_fit_with_rows_of_weight_0_is_compared_with_its_base_method():
    X, _ = make_blobs(100, centers=4, random_state=0)
    weights = np.ones(100)
    weights[::10] = 0
    assert "Not measured" not in str(
        CoHiRF(random_state=0).fit(X, sample_weight=weights).diagnose()
    )


ALIKE = Comparison(
    "KMeans",
    1000,
    "",
    (4, 4),
    (0.0, 0.0),
    (0.6, 0.6),
    same=0.97,
    agreement=0.8,
    reproducibility=0.8,
)
DIFFERENT = replace(ALIKE, same=0.6, silhouette=(0.5, 0.6))
LOST = replace(DIFFERENT, agreement=0.3)
FACTS = FitFacts(None, 0.03, "", "all", 1, as_published=False)
WARD = BaseMethod.of(AgglomerativeClustering(4))
DENSITY = BaseMethod.of(DBSCAN())


def recommend(facts, found, rival=WARD):
    return judge(facts, found, rival)[0]


def test_the_same_clusters_are_a_tie():
    said, line, finding = judge(FACTS, ALIKE, WARD)
    assert (said, finding.answer) == ("either", "It finds the same clusters.")
    assert line.startswith("Trust these clusters as you would trust KMeans: it finds the same ones")


@pytest.mark.parametrize(
    ("agreement", "silhouette", "said"),
    [
        (0.6, (0.5, 0.6), "use the base method alone"),
        (0.6, (None, 0.6), "use the base method alone"),
        (0.6, (0.5, None), "unknown"),
        (0.7, (0.5, 0.6), "unknown"),
        (0.6, (0.59, 0.6), "unknown"),
        (0.6, (0.7, 0.6), "unknown"),
        (1.0, (0.7, 0.6), "unknown"),
    ],
)
def test_the_base_is_better_if_the_fit_agrees_less_with_its_runs_and_has_a_lower_silhouette(
    agreement, silhouette, said
):
    found = replace(DIFFERENT, agreement=agreement, silhouette=silhouette)
    assert recommend(FACTS, found) == said


def test_around_k_means_only_the_published_algorithm_is_judged():
    k_means = BaseMethod.of(KMeans(4))
    assert recommend(FACTS, LOST, k_means) == "unknown"
    assert (
        recommend(replace(FACTS, as_published=True), LOST, k_means) == "use the base method alone"
    )
    assert recommend(FACTS, ALIKE, k_means) == "either"


@pytest.mark.parametrize(("noise", "said"), [(0.3, "use the base method alone"), (0.1, "unknown")])
def test_a_density_method_is_better_if_the_fit_has_more_noise(noise, said):
    found = replace(DIFFERENT, base="DBSCAN", n_clusters=(72, 1), noise=(noise, 0.01), same=0.0)
    assert recommend(FACTS, found) == "unknown"
    assert recommend(FACTS, found, DENSITY) == said
    assert (
        f"finds 1 cluster where the fit has 72, and 1% noise where the fit has {noise:.0%}."
        in found.describe()
    )


def test_local_batches_are_judged_by_noise_alone():
    local = replace(FACTS, kind="local", n_batches=7)
    assert recommend(local, LOST, DENSITY) == "unknown"
    assert recommend(local, replace(LOST, noise=(0.3, 0.1)), DENSITY) == "use the base method alone"


def test_a_fit_that_lost_clusters_is_not_trusted_and_the_line_says_what_to_use():
    facts = replace(FACTS, as_published=True, n_batches=8, kind="random")
    _, line, finding = judge(facts, LOST, WARD)
    assert finding.answer == "Probably."
    assert line == (
        "Do not trust these clusters: the fit has lost clusters that KMeans finds in 1,000 rows "
        "(adjusted Rand index 0.60). Use the defaults of CoHiRF, or larger batches, or "
        "AgglomerativeClustering alone, if it can run on all rows."
    )


def test_clusters_that_differ_without_a_loss_are_not_judged():
    _, line, finding = judge(FACTS, DIFFERENT, WARD)
    assert (finding.answer, finding.tone) == ("Not known.", "unknown")
    assert "nothing in the data tells which of the two is better" in finding.reason
    assert "is not known: in 1,000 rows it finds other clusters" in line


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("one run", "one run of DBSCAN on all rows"),
        ("exact", "find the clusters of DBSCAN"),
        ("spanning", "spanning tree"),
    ],
)
def test_clusters_that_are_those_of_the_base_method_are_a_tie_whatever_a_sample_shows(reason, said):
    facts = replace(FACTS, same_as_base=reason)
    recommendation, line, finding = judge(facts, Comparison("DBSCAN", reason="not run"), DENSITY)
    assert (recommendation, finding.tone) == ("either", "good")
    assert said in line


def test_without_a_comparison_the_reason_is_given():
    said, line, finding = judge(FACTS, Comparison("DBSCAN", reason="It was not run."), DENSITY)
    assert (said, finding.reason) == ("unknown", "It was not run.")
    assert line == "Whether DBSCAN alone would do better is not known: It was not run."


def test_useless_clusters_come_first():
    model = CoHiRF(DBSCAN(eps=1e-9, min_samples=1))
    with pytest.warns(UserWarning, match="Nothing fused"):
        diagnosis = model.fit(DIGITS[:50]).diagnose()
    assert diagnosis.findings[0].answer == "Nothing fused."
    assert diagnosis.line.startswith("Do not trust these clusters: nothing fused: each of the 50")


@pytest.mark.parametrize(
    ("cut", "answer", "tone"),
    [
        (0.03, "Yes.", "good"),
        (0.3, "Mostly.", "fair"),
        (0.5, "Hardly.", "poor"),
        (np.nan, "Not measured.", "unknown"),
    ],
)
def test_neighbours_should_be_in_the_same_cluster(cut, answer, tone):
    finding = judge_neighbours(cut)
    assert (finding.answer, finding.tone) == (answer, tone)
