"""CoHiRF as the cluster model of BERTopic: with the real package, where it is installed."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

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
        embedding_model=BaseEmbedder(), umap_model=BaseDimensionalityReduction(), hdbscan_model=model
    )
    found, _ = topics.fit_transform(texts, embeddings=X)
    assert adjusted_rand_score(own, found) == 1
    assert {topics.get_topic(topic)[0][0] for topic in range(6)} == set(SUBJECTS)
    again, _ = topics.transform(texts[::7], embeddings=3 * X[::7])
    assert list(again) == list(found[::7])
