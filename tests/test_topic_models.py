"""CoHiRF inside BERTopic, and around EVoC and UMAP: with the real packages, where they are
installed.
"""

from itertools import combinations

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from cohirf import CoHiRF

# Its packages are compiled when they are first used, and warn of what they miss
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

SUBJECTS = ["apple", "pear", "plum", "train", "bus", "tram"]


def make_texts():
    rng = np.random.default_rng(0)
    own = np.repeat(np.arange(6), 40)
    X = rng.normal(size=(6, 8))[own] + 0.1 * rng.normal(size=(240, 8))
    return X, own, [f"this one is a {SUBJECTS[number]}" for number in own]


@pytest.fixture
def bertopic():
    return pytest.importorskip("bertopic")


def test_it_is_the_cluster_model_of_bertopic(bertopic):
    from bertopic.backend import BaseEmbedder
    from bertopic.dimensionality import BaseDimensionalityReduction

    X, own, texts = make_texts()
    model = CoHiRF(n_clusters=6, metric="cosine", random_state=0)
    topics = bertopic.BERTopic(
        embedding_model=BaseEmbedder(),
        umap_model=BaseDimensionalityReduction(),
        hdbscan_model=model,
    )
    found, _ = topics.fit_transform(texts, embeddings=X)
    assert adjusted_rand_score(own, found) == 1
    assert {topics.get_topic(topic)[0][0] for topic in range(6)} == set(SUBJECTS)
    again, _ = topics.transform(texts[::7], embeddings=3 * X[::7])
    assert list(again) == list(found[::7])


def agreement(partitions):
    return np.mean([adjusted_rand_score(*pair) for pair in combinations(partitions, 2)])


def test_evoc_leaves_no_fragments_if_the_number_is_given_and_is_steadier_than_alone():
    evoc = pytest.importorskip("evoc").EVoC
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    alone = [evoc(random_state=seed).fit_predict(X) for seed in range(3)]
    models = [
        CoHiRF(evoc(), n_clusters=10, metric="cosine", random_state=seed).fit(X)
        for seed in range(3)
    ]
    assert [model.n_clusters_ for model in models] == [10, 10, 10]
    ours = [model.labels_ for model in models]
    assert agreement(ours) > agreement(alone) + 0.1
    assert np.mean([adjusted_rand_score(y, one) for one in ours]) > 0.45
    fragments = CoHiRF(evoc(), metric="cosine", random_state=0).fit(X)
    assert fragments.n_clusters_ > 1.5 * (alone[0].max() + 1)


def test_a_pipeline_of_umap_and_hdbscan_is_a_base_method():
    umap = pytest.importorskip("umap").UMAP
    X, own, _ = make_texts()
    base = make_pipeline(umap(n_components=2, metric="cosine", n_jobs=1), HDBSCAN(copy=True))
    model = CoHiRF(base, n_clusters=6, metric="cosine", random_state=0).fit(X)
    assert adjusted_rand_score(own, model.labels_) == 1
