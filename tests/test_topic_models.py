"""CoHiRF inside BERTopic, and around EVoC and UMAP with HDBSCAN: with the real packages, where they are installed."""

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from cohirf import CoHiRF

# These packages are compiled when they are first used, and warn of what they miss
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
        embedding_model=BaseEmbedder(), umap_model=BaseDimensionalityReduction(), hdbscan_model=model
    )
    found, _ = topics.fit_transform(texts, embeddings=X)
    assert adjusted_rand_score(own, found) == 1
    assert {topics.get_topic(topic)[0][0] for topic in range(6)} == set(SUBJECTS)
    again, _ = topics.transform(texts[::7], embeddings=3 * X[::7])
    assert list(again) == list(found[::7])


def test_evoc_inside_it_leaves_no_fragments():
    evoc = pytest.importorskip("evoc")
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    alone = evoc.EVoC(random_state=0).fit_predict(X)
    model = CoHiRF(evoc.EVoC(), views=3, random_state=0).fit(X)
    assert model.n_clusters_ <= 1.25 * (alone.max() + 1)
    assert adjusted_rand_score(y, model.labels_) >= adjusted_rand_score(y, alone) - 0.05


def test_umap_with_hdbscan_is_a_base_method():
    umap = pytest.importorskip("umap")
    X, y = load_digits(return_X_y=True)
    base = make_pipeline(umap.UMAP(min_dist=0.0), HDBSCAN(min_cluster_size=30, copy=True))
    model = CoHiRF(base, views=3, random_state=0).fit(X)
    assert 8 <= model.n_clusters_ <= 16
    assert adjusted_rand_score(y, model.labels_) > 0.7
