"""CoHiRF inside BERTopic, and around EVoC and UMAP: with the real packages, where they are
installed. And what the page for people who come from BERTopic says.
"""

import ast
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

import cohirf
from cohirf import CoHiRF
from cohirf.app.explain import name_topics, write_report

# Their packages are compiled when they are first used, and warn of what they miss
pytestmark = pytest.mark.filterwarnings("ignore")

PAGE = Path(__file__).parents[1] / "docs" / "start" / "coming_from.rst"
SUBJECTS = ["apple", "pear", "plum", "train", "bus", "tram"]


def make_texts():
    rng = np.random.default_rng(0)
    own = np.repeat(np.arange(6), 40)
    X = rng.normal(size=(6, 8))[own] + 0.1 * rng.normal(size=(240, 8))
    return X, own, [f"this one is a {SUBJECTS[number]}" for number in own]


@pytest.fixture
def bertopic():
    return pytest.importorskip("bertopic")


def is_statement_with_a_call(code):
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return False
    return any(isinstance(node, ast.Call) for node in ast.walk(tree))


def calls_of_page(column):
    """Return the code in a column of the table for people who come from BERTopic."""
    table = PAGE.read_text(encoding="utf-8").partition("   * - BERTopic\n")[2]
    rows = re.findall(r"^   \* - (.+?)\n     - (.+?)(?=^   \*|^\w)", table, re.M | re.S)
    literals = [code for row in rows for code in re.findall(r"``(.+?)``", row[column], re.S)]
    return [code for code in literals if is_statement_with_a_call(code)]


def test_the_page_shows_calls_of_cohirf_that_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    embeddings, own, docs = make_texts()
    names = {
        "CoHiRF": CoHiRF,
        "cohirf": cohirf,
        "name_topics": name_topics,
        "write_report": write_report,
        "embeddings": embeddings,
        "docs": docs,
        "new_embeddings": embeddings[::7],
        "function": lambda texts, words: words[0],
        "other": CoHiRF(n_clusters=6, metric="cosine", random_state=1).fit(embeddings),
    }
    calls = calls_of_page(1)
    assert len(calls) == 9
    for call in calls:
        exec(call, names)
    assert (tmp_path / "topics.html").is_file()
    assert adjusted_rand_score(own, names["model"].labels_[: len(own)]) == 1


class Projection(PCA):
    """In place of UMAP, which has no seed in BERTopic: some of its runs leave no outliers."""

    def __init__(self, **_):
        super().__init__(5, random_state=0)

    def fit(self, X, y=None):
        super().fit(X)
        self.embedding_ = self.transform(X)
        return self


@pytest.mark.slow
def test_the_page_shows_calls_of_bertopic_that_work(bertopic, monkeypatch):
    monkeypatch.setattr("umap.UMAP", Projection)
    X, _, texts = make_texts()
    embeddings = np.vstack([X, np.random.default_rng(1).normal(size=(40, 8))])
    docs = texts + [f"something about a {SUBJECTS[number % 6]}" for number in range(40)]
    names = {
        "BERTopic": bertopic.BERTopic,
        "embeddings": embeddings,
        "docs": docs,
        "new_embeddings": embeddings[::7],
        "new_docs": docs[::7],
        "other": bertopic.BERTopic().fit(docs, embeddings),
    }
    calls = calls_of_page(0)
    assert len(calls) == 11
    for call in calls:
        exec(call, names)
        if call.startswith("found"):
            assert set(names["found"]) == set(range(-1, 6))


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_pipeline_of_umap_and_hdbscan_is_a_base_method():
    umap = pytest.importorskip("umap").UMAP
    X, own, _ = make_texts()
    base = make_pipeline(umap(n_components=2, metric="cosine", n_jobs=1), HDBSCAN(copy=True))
    model = CoHiRF(base, n_clusters=6, metric="cosine", random_state=0).fit(X)
    assert adjusted_rand_score(own, model.labels_) == 1
