"""The verdict on thin batches."""

import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS, KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.choose_medoids import choose_central_medoids, cosine_centrality
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.fusions import Fusions
from cohirf.algorithm.get_clusters import Views
from cohirf.algorithm.levels import ActiveRows, LevelRecord, Resources, contract_level
from cohirf.algorithm.population import Population
from cohirf.algorithm.storage import ArrayRows, MemoryStorage
from cohirf.algorithm.thin_batches import (
    Probe,
    Setting,
    ThinBatches,
    ThinBatchesWarning,
    advise,
    find_eps,
    judge_first_level,
    largest_sample,
)
from cohirf.datasets import make_spheres

SPHERES = make_spheres(8000, random_state=0)


class CountingRows(ArrayRows):
    """Counts the rows that are read."""

    n_read = 0

    def take(self, rows):
        type(self).n_read += len(rows)
        return super().take(rows)


def contraction_with(base, batch_size, X):
    views = Views(BaseMethod.of(base), n_views=1, n_features=X.shape[1], entropy=(0,))
    medoids = partial(choose_central_medoids, centrality=cosine_centrality)
    return Contraction(views, strict_consensus, medoids, batch_size, sum_mass=False)


def first_record(contraction, X):
    fusions = Fusions.unwritten(len(X), 1, MemoryStorage())
    survivors = contract_level(ActiveRows(ArrayRows(X)), 1, contraction, Resources(), fusions)
    return LevelRecord.of(1, len(X), survivors)


def judge(base, batch_size, X=SPHERES[0]):
    contraction = contraction_with(base, batch_size, X)
    return judge_first_level(Population(ArrayRows(X)), first_record(contraction, X), contraction, Resources())


def fit(base, batch_size, X=SPHERES[0], **options):
    return CoHiRF.as_published(base, n_views=1, batch_size=batch_size, random_state=0, **options).fit(X)


@pytest.fixture(scope="module")
def thin():
    return judge(DBSCAN(eps=0.2), 500)


LINE = np.array([0.0, 10.0, 0.1, 20.0, 10.1, 0.2, 30.0, 10.2])[:, None]  # groups of 3, 3, 1 and 1 rows


def probe(eps=1.0, rows=(6, 0, 2, 3, 1, 4, 5, 7)):
    base = DBSCAN(eps=eps, min_samples=1)
    return Probe(Population(ArrayRows(LINE)), np.array(rows), contraction_with(base, 2, LINE), "eps", Resources())


def test_a_sample_consists_of_the_first_rows_that_were_drawn():
    samples = probe()
    assert samples.n_rows == 8
    for n_rows in (2, 5, 8):
        islands = LINE[[6, 0, 2, 3, 1, 4, 5, 7][:n_rows], 0] // 10
        labels = samples.labels(Setting(n_rows, 1.0))
        assert ((labels[:, None] == labels) == (islands[:, None] == islands)).all()
    assert samples.share_alone(Setting(5, 1.0)) == 3 / 5
    assert samples.share_alone(Setting(8, 1.0)) == 2 / 8


def test_a_sample_is_clustered_with_the_radius_of_the_setting():
    samples = probe()
    assert samples.share_alone(Setting(8, 0.01)) == 1
    assert samples.share_alone(Setting(8, 100.0)) == 0


def test_samples_agree_if_they_cluster_their_common_rows_in_the_same_way():
    samples = probe()
    assert samples.agree(Setting(4, 1.0), Setting(8, 1.0))
    assert samples.agree(Setting(8, 1.0), Setting(4, 1.0))
    assert not samples.agree(Setting(8, 1.0), Setting(8, 10.0))


def test_singletons_are_noise_if_a_larger_sample_has_about_as_many():
    samples = probe()
    shares = {n_rows: samples.share_alone(Setting(n_rows, 1.0)) for n_rows in (1, 2, 4, 8)}
    assert shares == {1: 1.0, 2: 1.0, 4: 0.5, 8: 0.25}
    assert samples.is_noise(Setting(1, 1.0), Setting(2, 1.0))
    assert not samples.is_noise(Setting(2, 1.0), Setting(4, 1.0))


def test_a_setting_serves_if_twice_as_many_rows_give_the_same_clusters():
    samples = probe()
    assert samples.serves(Setting(4, 30.0))
    assert not samples.serves(Setting(4, 1.0))  # half of the rows are alone, and fewer in twice as many rows
    assert samples.serves(Setting(8, 10.0))  # there are not twice as many rows
    assert not samples.serves(Setting(8, 1.0))


def settings_that(serve=(), replace=()):
    """Stand for a probe of 1,000 rows on which some settings work, and some work with a larger radius."""
    return SimpleNamespace(
        n_rows=1000,
        serves=lambda setting: (setting.batch_size, setting.eps) in serve,
        can_replace=lambda setting, reference: (setting.batch_size, setting.eps, reference) in replace,
    )


def test_the_smallest_larger_batch_and_the_smallest_larger_radius_are_advised():
    larger, wider = Setting(400, 0.1), Setting(100, 0.175)
    probe = settings_that(serve={(400, 0.1), (800, 0.1)}, replace={(100, 0.175, larger), (100, 0.2, larger)})
    assert advise(probe, Setting(100, 0.1)) == (larger, wider)
    assert advise(settings_that(serve={(400, 0.1)}), Setting(100, 0.1)) == (larger,)
    assert advise(settings_that(replace={(100, 0.175, None)}), Setting(100, 0.1)) == (wider,)


def test_batches_larger_than_the_sample_are_not_advised():
    everything = {(size, None) for size in (500, 1000, 2000, 4000, 8000)}
    assert advise(settings_that(serve=everything), Setting(500, None)) == (Setting(1000, None),)
    assert advise(settings_that(serve=everything), Setting(501, None)) == ()
    assert advise(settings_that(serve={(960, None)}), Setting(60, None)) == (Setting(960, None),)  # 16 times as large
    assert advise(settings_that(serve={(960, None)}), Setting(30, None)) == ()


def test_the_smallest_batch_that_works_with_a_larger_radius_is_advised_if_neither_is_enough():
    probe = settings_that(replace={(200, 0.4, None), (200, 0.8, None), (400, 0.125, None)})
    assert advise(probe, Setting(100, 0.1)) == (Setting(200, 0.4),)
    assert advise(settings_that(), Setting(100, 0.1)) == ()


def test_radii_have_three_digits():
    assert advise(settings_that(replace={(100, 0.154, None)}), Setting(100, 0.1234)) == (Setting(100, 0.154),)


def test_a_radius_that_joins_separate_clusters_cannot_replace_another():
    samples = probe()
    assert samples.can_replace(Setting(8, 10.0), Setting(8, 10.0))
    assert not samples.can_replace(Setting(8, 10.0), Setting(8, 9.0))
    assert not samples.can_replace(Setting(8, 10.0), None)  # everything in one cluster
    assert not samples.can_replace(Setting(8, 1.0), None)  # too many rows alone


def test_comfortable_batches_pass():
    assert judge(DBSCAN(eps=0.2), 2000) is None


def test_one_batch_passes():
    assert judge(DBSCAN(eps=0.02), 8000) is None


def test_thin_batches_are_found(thin):
    assert thin.now == Setting(500, 0.2)
    record = first_record(contraction_with(DBSCAN(eps=0.2), 500, SPHERES[0]), SPHERES[0])
    n_contracted, n_left = (n - record.rows_held_aside for n in (record.rows_in, record.rows_out))
    assert thin.share_left == n_left / n_contracted
    assert not thin.is_hopeless
    assert (thin.largest_sample, thin.eps_name) == (8000, "eps")
    assert thin.largest_sample_alone < 0.01


def test_each_advice_repairs_the_fit(thin):
    assert len(thin.advised) == 2
    for setting in thin.advised:
        model = fit(DBSCAN(eps=setting.eps), setting.batch_size)
        assert adjusted_rand_score(SPHERES[1], model.labels_) > 0.95


def test_advice_raises_one_thing_at_a_time_where_that_helps(thin):
    larger, wider = thin.advised
    assert larger.batch_size > 500
    assert larger.eps == 0.2
    assert wider.batch_size == 500
    assert 0.2 < wider.eps < 0.5  # the gap between the spheres


def test_a_radius_is_not_advised_where_it_would_join_the_spheres():
    verdict = judge(DBSCAN(eps=0.2), 100)
    assert [setting.eps for setting in verdict.advised] == [0.2]


def test_both_are_raised_where_neither_alone_is_enough():
    X, _ = make_spheres(2000, random_state=0)
    (setting,) = judge(DBSCAN(eps=0.1), 100, X).advised
    assert setting.batch_size > 100
    assert setting.eps > 0.1


def test_noise_is_not_thinness():
    noise = np.random.default_rng(0).uniform(-4, 4, (800, 3))
    assert judge(DBSCAN(eps=0.2), 2200, np.concatenate([SPHERES[0], noise])) is None


def test_clusters_of_small_batches_are_not_thinness():
    X = np.concatenate([SPHERES[0][:300] + 10 * shift for shift in range(6)])
    assert judge(DBSCAN(eps=2.5), 60, X) is None


def test_a_method_that_fuses_nothing_at_any_size_is_not_thinness():
    assert judge(DBSCAN(eps=1e-9), 500) is None


def test_a_method_that_is_told_the_number_of_clusters_passes_unread():
    views = Views(BaseMethod.of(KMeans(3)), 1, 3, (0,))
    contraction = Contraction(views, strict_consensus, None, 100, sum_mass=False)
    record = CoHiRF.as_published(DBSCAN(eps=0.5), batch_size=2000, random_state=0).fit(SPHERES[0]).diagnostics_[0]
    assert judge_first_level(Population(CountingRows(SPHERES[0])), record, contraction, Resources()) is None
    assert CountingRows.n_read == 0


@pytest.mark.parametrize(
    ("base", "name"),
    [
        (DBSCAN(), "eps"),
        (make_pipeline(StandardScaler(), DBSCAN()), "dbscan__eps"),
        (make_pipeline(make_pipeline(StandardScaler(), DBSCAN())), "pipeline__dbscan__eps"),
        (OPTICS(), None),  # its eps is None
        (HDBSCAN(copy=True), None),
    ],
)
def test_the_radius_is_found_by_its_name(base, name):
    assert find_eps(BaseMethod.of(base)) == name


class NearPairs(BaseEstimator):
    """DBSCAN by another name: its radius is not called eps."""

    def fit_predict(self, X):
        return DBSCAN(eps=0.2).fit_predict(X)


def test_without_a_radius_larger_batches_are_advised():
    verdict = judge(NearPairs(), 500)
    assert [setting.eps for setting in verdict.advised] == [None]
    assert verdict.advised[0].batch_size > 500


def test_the_message_says_what_to_use():
    verdict = ThinBatches(Setting(500, 0.2), 0.29, (Setting(2000, 0.2), Setting(500, 0.3)), 8000, 0.001, "eps")
    assert verdict.message == (
        "Batches of 500 rows are too thin for the base method: the first level left 29% of their rows active, and "
        "larger batches would fuse more of them. Use batch_size=2000, or eps=0.3, or redraws=20."
    )


def test_the_message_says_that_the_fit_stops():
    verdict = ThinBatches(Setting(200, 0.1), 0.97, (Setting(1600, 0.175),), 2000, 0.4, "eps")
    assert verdict.message == (
        "Batches of 200 rows are too thin for the base method: the first level left 97% of their rows active, and "
        "larger batches would fuse more of them. Use batch_size=1600 with eps=0.175. The fit stops here."
    )


def test_redraws_are_advised_only_where_rows_connect_within_a_radius():
    verdict = ThinBatches(Setting(500, None), 0.29, (Setting(2000, None),), 8000, 0.001, None)
    assert verdict.message.endswith("Use batch_size=2000.")


def test_the_message_admits_that_nothing_was_found():
    verdict = ThinBatches(Setting(200, None), 0.97, (), 3200, 0.4, None)
    assert verdict.message == (
        "Batches of 200 rows are too thin for the base method: the first level left 97% of their rows active, and "
        "larger batches would fuse more of them. Even in a sample of 3,200 rows, 40% fuse with no other row: raise "
        "batch_size. The fit stops here."
    )


def test_a_fit_warns_and_goes_on():
    with pytest.warns(ThinBatchesWarning, match=r"Batches of 500 rows are too thin .* or redraws=20\.$") as caught:
        model = fit(DBSCAN(eps=0.2), 500)
    assert caught[0].filename == __file__
    assert model.n_iter_ > 2


def test_a_hopeless_fit_stops_after_the_first_level():
    with pytest.warns(ThinBatchesWarning, match=r"The fit stops here\.$"):
        model = fit(DBSCAN(eps=0.1), 200, redraws=20)
    assert model.n_iter_ == 1


def test_a_comfortable_fit_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(DBSCAN(eps=0.2), 2000)


@pytest.mark.parametrize(
    ("batch_size", "has_radius", "n_rows"),
    [(100, True, 1600), (100, False, 400), (5000, True, 20_000), (5000, False, 20_000), (100_000, True, 150_000)],
)
def test_samples_take_not_much_more_than_a_batch(batch_size, has_radius, n_rows):
    assert largest_sample(batch_size, has_radius=has_radius) == n_rows
